/* SPDX-License-Identifier: Apache-2.0 */
#include "series/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "harness.h"
#include "memfail.h"

static struct labels labels_number(struct label *pair, char *text, size_t cap, int i)
{
    snprintf(text, cap, "%d", i);
    *pair = (struct label){SPAN("i"), span_cstr(text)};
    return (struct labels){pair, 1};
}

static void append_many(struct memory *m, int n_series, int n_samples)
{
    for (int k = 0; k < n_samples; k++)
        for (int i = 0; i < n_series; i++) {
            struct label pair;
            char text[12];
            struct labels l = labels_number(&pair, text, sizeof(text), i);
            assert_int_equal(memory_append(m, l, 1000 * k, i + k, NULL), 0);
        }
}

static size_t select_count(struct memory *m, const char *pattern, int64_t from_ms, int64_t to_ms)
{
    struct arena a;
    struct matcher matcher;
    struct series_ref *refs;
    size_t n;
    struct reader *r = memory_reader(m);
    arena_init(&a, NULL);
    assert_int_equal(matcher_init(&a, MATCH_RE, SPAN("i"), span_cstr(pattern), &matcher, NULL), 0);
    struct series_select what = {&matcher, 1, from_ms, to_ms};
    assert_int_equal(r->ops->select(r, &what, &a, &refs, &n), 0);
    for (size_t i = 0; i < n; i++)
        assert_true(matcher_matches(&matcher, labels_get(refs[i].labels, SPAN("i"))));
    matcher_done(&matcher);
    arena_done(&a);
    return n;
}

static void test_select(void **state)
{
    struct memory *m;
    (void)state;
    assert_int_equal(memory_new(&m), 0);
    append_many(m, 1000, 3);
    assert_int_equal(memory_n_series(m), 1000);
    assert_int_equal(select_count(m, ".*", 0, 5000), 1000);
    assert_int_equal(select_count(m, "1.", 0, 5000), 10);
    assert_int_equal(select_count(m, ".*", 2001, 5000), 0);
    assert_int_equal(select_count(m, ".*", 2000, 2000), 1000);
    assert_int_equal(select_count(m, ".*", -10, -1), 0);
    memory_clear(m);
    assert_int_equal(memory_n_series(m), 0);
    assert_int_equal(select_count(m, ".*", 0, 5000), 0);
    append_many(m, 2, 1);
    assert_int_equal(select_count(m, ".*", 0, 5000), 2);
    assert_null(memory_free(m));
    assert_null(memory_free(NULL));
}

static void test_samples(void **state)
{
    static struct fhist_bucket buckets[] = {{1, 2}, {3, 4}};
    struct fhist h = {.count = 6, .sum = 9, .positive = {buckets, 2}};
    struct memory *m;
    struct samples s;
    struct label pair;
    char text[12];
    struct labels l = labels_number(&pair, text, sizeof(text), 0);
    (void)state;
    assert_int_equal(memory_new(&m), 0);
    struct reader *r = memory_reader(m);
    append_many(m, 1, 40);
    assert_int_equal(memory_append(m, l, 39000, 1, NULL), -EINVAL);
    assert_int_equal(memory_append(m, l, 0, 1, &h), -EINVAL);
    assert_int_equal(memory_append(m, l, 50000, 0, &h), 0);
    assert_int_equal(memory_append(m, l, 51000, series_stale(), NULL), 0);
    buckets[0].count = 99; /* it was copied */
    samples_init(&s, NULL);
    assert_int_equal(r->ops->samples(r, 0, 2000, 5000, SERIES_LAST, &s), 0);
    assert_int_equal(s.n, 4);
    assert_null(s.h);
    assert_true(s.t[0] == 2000 && s.t[3] == 5000 && s.v[3] == 5);
    samples_clear(&s);
    assert_int_equal(r->ops->samples(r, 0, INT64_MIN, INT64_MAX, SERIES_LAST, &s), 0);
    assert_int_equal(s.n, 42);
    assert_null(s.h[39]);
    assert_true(s.h[40]->positive.n == 2 && s.h[40]->positive.at[0].count == 2 && s.v[40] == 9);
    assert_true(s.h[41] == NULL && series_is_stale(s.v[41]));
    assert_int_equal(r->ops->resolution(r, 0), 0);
    samples_done(&s);
    memory_free(m);
}

static void test_stale(void **state)
{
    (void)state;
    assert_true(series_is_stale(series_stale()) && isnan(series_stale()));
    assert_false(series_is_stale((double)NAN) || series_is_stale(0) ||
                 series_is_stale(-(double)NAN));
}

/* Columns count for the budget, whatever they hold. */
static void test_same_bits(void **state)
{
    (void)state;
    assert_true(series_same_bits((double)NAN, (double)NAN) && series_same_bits(0.5, 0.5));
    assert_false(series_same_bits(series_stale(), (double)NAN));
    assert_false(series_same_bits(0.0, -0.0) || series_same_bits(1, 2));
}

static void test_samples_have_a_budget(void **state)
{
    struct arena_budget budget = {.max_bytes = 10000};
    struct fhist h = {.sum = 1};
    struct samples s;
    int64_t n = 0;
    (void)state;
    samples_init(&s, &budget);
    while (samples_add(&s, n, 1) == 0)
        n++;
    assert_true(budget.is_exceeded);
    assert_in_range(n, 256, 625);
    assert_int_equal(s.n, n);
    samples_done(&s);
    assert_int_equal(budget.n_bytes, 0);
    budget = (struct arena_budget){.max_bytes = 300};
    assert_int_equal(samples_add(&s, 0, 1), 0);
    assert_int_equal(samples_add_hist(&s, 1, &h), -ENOMEM);
    assert_int_equal(s.n, 1); /* not half added */
    samples_done(&s);
    assert_int_equal(budget.n_bytes, 0);
}

static int use_without_memory(void *ctx)
{
    struct memory *m = NULL;
    struct fhist h = {.sum = 1};
    int r = memory_new(&m);
    (void)ctx;
    for (int i = 0; i < 100 && r == 0; i++) {
        struct label pair;
        char text[12];
        struct labels l = labels_number(&pair, text, sizeof(text), i / 25);
        r = memory_append(m, l, i, i, i % 2 ? &h : NULL);
    }
    if (r == 0)
        assert_int_equal(memory_n_series(m), 4);
    memory_free(m);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_in_range(memfail_each(use_without_memory, NULL), 20, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_samples_have_a_budget),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("series/memory", tests, NULL, NULL);
}
