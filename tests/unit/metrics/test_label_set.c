/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "memfail.h"
#include "metrics/label_set.h"

static struct label_set *labels_of(uint32_t max_values)
{
    struct label_set *t = NULL;
    assert_int_equal(label_set_new(max_values, &t), 0);
    return t;
}

static void test_intern_and_find(void **state)
{
    (void)state;
    struct label_set *t = labels_of(10);
    assert_int_equal(label_set_find(t, LABEL_MODEL, "a"), -ENOENT);
    uint32_t a = label_set_intern(t, LABEL_MODEL, "a");
    assert_true(a > LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_MODEL, "a"), a);
    assert_int_equal(label_set_find(t, LABEL_MODEL, "a"), a);
    assert_int_equal(label_set_find(t, LABEL_UPSTREAM, "a"), -ENOENT); /* labels are apart */
    assert_string_equal(label_set_text(t, LABEL_MODEL, a), "a");
    assert_int_equal(label_set_count(t, LABEL_MODEL), 1);
    label_set_free(t);
}

static void test_fixed_values(void **state)
{
    (void)state;
    struct label_set *t = labels_of(10);
    assert_int_equal(label_set_intern(t, LABEL_UPSTREAM, NULL), LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_UPSTREAM, ""), LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_UPSTREAM, "none"), LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_UPSTREAM, "other"), LABELS_OTHER);
    assert_string_equal(label_set_text(t, LABEL_UPSTREAM, LABELS_OTHER), "other");
    assert_string_equal(label_set_text(t, LABEL_UPSTREAM, LABELS_NONE), "none");
    assert_int_equal(label_set_count(t, LABEL_UPSTREAM), 0);
    label_set_free(t);
}

static void test_texts(void **state)
{
    (void)state;
    char longest[300], cut[LABELS_TEXT_MAX + 1];
    memset(longest, 'm', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(cut, 'm', LABELS_TEXT_MAX);
    cut[LABELS_TEXT_MAX] = '\0';
    char split[LABELS_TEXT_MAX + 2]; /* a two-byte character over the limit */
    memset(split, 's', sizeof(split));
    memcpy(split + LABELS_TEXT_MAX - 1, "\xc3\xa9", 3);
    char split_cut[LABELS_TEXT_MAX];
    memset(split_cut, 's', sizeof(split_cut));
    split_cut[LABELS_TEXT_MAX - 1] = '\0';
    const struct {
        const char *in, *want;
    } rows[] = {
        {"plain", "plain"},
        {"\xe6\xa8\xa1\xe5\x9e\x8b", "\xe6\xa8\xa1\xe5\x9e\x8b"},
        {"\xf0\x9f\xa6\x99", "\xf0\x9f\xa6\x99"},
        {"bad\xff", "bad?"},
        {"\xc0\xaf", "??"},           /* overlong */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"cut\xe6\xa8", "cut??"},     /* ends inside a character */
        {longest, cut},
        {split, split_cut},
    };
    struct label_set *t = labels_of(100);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t id = label_set_intern(t, LABEL_MODEL, rows[i].in);
        assert_string_equal(label_set_text(t, LABEL_MODEL, id), rows[i].want);
        /* What looks the same is the same: two series of one name would break a scrape. */
        assert_int_equal(label_set_intern(t, LABEL_MODEL, rows[i].want), id);
    }
    label_set_free(t);
}

static void test_cap(void **state)
{
    (void)state;
    struct label_set *t = labels_of(3);
    int64_t n_dropped = stat_sum(STAT_DROP_LABEL_CAP);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        uint32_t id = label_set_intern(t, LABEL_MODEL, names[i]);
        assert_int_equal(id == LABELS_OTHER, i >= 3);
    }
    assert_int_equal(stat_sum(STAT_DROP_LABEL_CAP), n_dropped + 2);
    assert_int_equal(label_set_count(t, LABEL_MODEL), 3);
    assert_true(label_set_find(t, LABEL_MODEL, "b") > 0);
    assert_true(label_set_intern(t, LABEL_UPSTREAM, "d") >
                LABELS_NONE); /* each label has its own cap */
    label_set_free(t);
}

/* A label of the operator's: "none" is a text like any other, and its cap is its own. */
static void test_business(void **state)
{
    (void)state;
    struct label_set *t = labels_of(10);
    assert_int_equal(label_set_add(t, "", 1), -EINVAL);
    assert_int_equal(label_set_add(t, "tenant", 0), -EINVAL);
    assert_int_equal(label_set_add(t, "tenant", 2), 0);
    assert_int_equal(label_set_n_business(t), 1);
    assert_string_equal(label_set_name(t, LABEL_BUSINESS), "tenant");
    assert_int_equal(label_set_intern(t, LABEL_BUSINESS, ""), LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_BUSINESS, NULL), LABELS_NONE);
    uint32_t none = label_set_intern(t, LABEL_BUSINESS, "none");
    assert_true(none > LABELS_NONE);
    assert_string_equal(label_set_text(t, LABEL_BUSINESS, none), "none");
    assert_int_equal(label_set_intern(t, LABEL_BUSINESS, "other"), LABELS_OTHER);
    assert_true(label_set_intern(t, LABEL_BUSINESS, "acme") > LABELS_NONE);
    assert_int_equal(label_set_intern(t, LABEL_BUSINESS, "more"), LABELS_OTHER);
    for (int i = 1; i < FAMILY_BUSINESS_MAX; i++)
        assert_int_equal(label_set_add(t, "more", 1), 0);
    assert_int_equal(label_set_add(t, "too_many", 1), -ENOSPC);
    label_set_free(t);
}

static void test_sizes_refused(void **state)
{
    (void)state;
    struct label_set *t = NULL;
    assert_int_equal(label_set_new(0, &t), -EINVAL);
    assert_int_equal(label_set_new(100001, &t), -EINVAL);
    assert_null(t);
}

static int attempt_new(void *ctx)
{
    (void)ctx;
    struct label_set *t = NULL;
    int r = label_set_new(10, &t);
    assert_true((r == 0) == (t != NULL));
    if (r == 0)
        r = label_set_add(t, "tenant", 10);
    label_set_free(t);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt_new, NULL) > 3);
    struct label_set *t = labels_of(10);
    mem_fail_from(1);
    assert_int_equal(label_set_intern(t, LABEL_MODEL, "a"), LABELS_OTHER);
    mem_fail_off();
    assert_true(label_set_intern(t, LABEL_MODEL, "a") > LABELS_NONE);
    label_set_free(t);
}

/* --- threads --- */

enum { THREADS = 4, VALUES = 150, ROUNDS = 20 };

struct racer {
    struct label_set *t;
    uint32_t ids[VALUES];
};

static void *intern_all(void *arg)
{
    struct racer *r = arg;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < VALUES; i++) {
            char text[32];
            snprintf(text, sizeof(text), "model-%d", i);
            r->ids[i] = label_set_intern(r->t, LABEL_MODEL, text);
        }
    }
    return NULL;
}

static void test_threads_agree(void **state)
{
    (void)state;
    static struct racer racers[THREADS];
    pthread_t threads[THREADS];
    struct label_set *t = labels_of(100);
    for (int i = 0; i < THREADS; i++) {
        racers[i].t = t;
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &racers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(racers[i].ids, racers[0].ids, sizeof(racers[0].ids));
    assert_int_equal(label_set_count(t, LABEL_MODEL), 100);
    label_set_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern_and_find), cmocka_unit_test(test_fixed_values),
        cmocka_unit_test(test_texts),           cmocka_unit_test(test_cap),
        cmocka_unit_test(test_business),        cmocka_unit_test(test_sizes_refused),
        cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_threads_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
