/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/keyring: the form of keys, finding them, what a check costs, rows that are refused, lack
 * of memory, thousands of keys.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/stat.h"
#include "memfail.h"
#include "policy/keyring.h"

static const unsigned char pepper[KEYRING_PEPPER_BYTES] = "pepper of the tests, 32 bytes..";

/* The key that a number stands for. */
static struct span make_key(unsigned number, char *dst)
{
    unsigned char random[KEYRING_RANDOM_BYTES];
    for (size_t i = 0; i < sizeof(random); i++)
        random[i] = (unsigned char)(number >> (i % 4 * 5) & 31);
    keyring_make(random, dst);
    dst[KEYRING_KEY_LEN] = '\0';
    return span_of(dst, KEYRING_KEY_LEN);
}

static struct keyring_key row_of(struct span key)
{
    struct keyring_key k = {.tenant = "t", .note = "", .created_s = 1};
    memcpy(k.id, key.p + 4, KEYRING_ID_LEN);
    assert_int_equal(keyring_hash(pepper, key, k.hash), 0);
    return k;
}

static struct keyring *ring_of(const struct keyring_key *keys, size_t n)
{
    struct keyring *r = NULL;
    assert_int_equal(keyring_new(pepper, keys, n, &r, NULL, NULL), 0);
    return r;
}

static void keys_have_a_form(void **state)
{
    (void)state;
    static const char good[] = "ifm-abcdefgh-0123456789012345678901234567890123456789-_Z";
    char text[sizeof(good)];
    unsigned char zeros[KEYRING_RANDOM_BYTES] = {0};
    unsigned char ones[KEYRING_RANDOM_BYTES];
    assert_true(keyring_is_form(span_cstr(good)));
    assert_false(keyring_is_form(span_of(good, sizeof(good) - 2)));
    assert_false(keyring_is_form(span_of(good, sizeof(good))));
    assert_false(keyring_is_form((struct span){0}));
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        memcpy(text, good, sizeof(good));
        text[i] = '.';
        assert_false(keyring_is_form(span_cstr(text)));
    }
    memset(ones, 0xff, sizeof(ones));
    keyring_make(zeros, text);
    assert_memory_equal(text, "ifm-aaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                        KEYRING_KEY_LEN);
    keyring_make(ones, text);
    assert_memory_equal(text, "ifm-99999999-__________________________________________8",
                        KEYRING_KEY_LEN);
    assert_true(keyring_is_form(span_of(text, KEYRING_KEY_LEN)));
}

/* As `openssl dgst -sha256 -mac HMAC` computes it. */
static void the_hash_is_hmac_sha256(void **state)
{
    (void)state;
    static const char want[] = "f7bafdab70d954f5f6e0ac60a711e8ebd8b77818e0982477828660eeb11bae91";
    unsigned char zero_pepper[KEYRING_PEPPER_BYTES] = {0};
    unsigned char hash[KEYRING_HASH_BYTES];
    char text[2 * KEYRING_HASH_BYTES + 1];
    assert_int_equal(keyring_hash(zero_pepper, SPAN("ifm"), hash), 0);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(text, want);
}

static void keys_are_found(void **state)
{
    (void)state;
    char a[KEYRING_KEY_LEN + 1], b[KEYRING_KEY_LEN + 1], c[KEYRING_KEY_LEN + 1];
    struct keyring_key rows[] = {row_of(make_key(7, a)), row_of(make_key(3, b))};
    rows[1].expires_s = 1000;
    struct keyring *r = ring_of(rows, 2);
    const struct keyring_key *k = NULL;
    assert_int_equal(keyring_n(r), 2);
    assert_int_equal(keyring_find(r, span_cstr(a), 999, &k), KEYRING_FOUND);
    assert_string_equal(k->id, rows[0].id);
    assert_int_equal(keyring_find(r, span_cstr(b), 999, &k), KEYRING_FOUND);
    assert_string_equal(k->id, rows[1].id);
    k = NULL;
    assert_int_equal(keyring_find(r, span_cstr(b), 1000, &k), KEYRING_EXPIRED);
    assert_string_equal(k->id, rows[1].id);
    k = NULL;
    (void)make_key(9, c);
    assert_int_equal(keyring_find(r, span_cstr(c), 0, &k), KEYRING_UNKNOWN);
    memcpy(c, a,
           sizeof(c)); /* a known id with another secret, and one letter of a secret changed */
    memcpy(c + 13, b + 13, KEYRING_SECRET_LEN);
    assert_int_equal(keyring_find(r, span_cstr(c), 0, &k), KEYRING_UNKNOWN);
    memcpy(c, a, sizeof(c));
    c[KEYRING_KEY_LEN - 1] = c[KEYRING_KEY_LEN - 1] == 'A' ? 'B' : 'A';
    assert_int_equal(keyring_find(r, span_cstr(c), 0, &k), KEYRING_UNKNOWN);
    assert_int_equal(keyring_find(r, SPAN("sk-123"), 0, &k), KEYRING_MALFORMED);
    assert_null(k);
    assert_true(strcmp(keyring_at(r, 0)->id, keyring_at(r, 1)->id) < 0);
    assert_null(keyring_at(r, 2));
    assert_ptr_equal(keyring_by_id(r, span_cstr(rows[1].id)), keyring_at(r, 0));
    assert_null(keyring_by_id(r, SPAN("zzzzzzzz")));
    assert_null(keyring_by_id(r, SPAN("z")));
    keyring_unref(r);
}

static void an_empty_ring_knows_nobody(void **state)
{
    (void)state;
    char a[KEYRING_KEY_LEN + 1];
    struct keyring *r = ring_of(NULL, 0);
    const struct keyring_key *k = NULL;
    assert_int_equal(keyring_find(r, make_key(1, a), 0, &k), KEYRING_UNKNOWN);
    assert_null(keyring_at(r, 0));
    assert_null(keyring_unref(keyring_ref(r)));
    assert_null(keyring_unref(r));
    assert_null(keyring_unref(NULL));
    assert_null(keyring_ref(NULL));
}

/* A known id, an unknown one, a wrong secret, an expired key: one hash each. */
static void every_check_costs_one_hash(void **state)
{
    (void)state;
    char a[KEYRING_KEY_LEN + 1], b[KEYRING_KEY_LEN + 1], c[KEYRING_KEY_LEN + 1];
    struct keyring_key rows[] = {row_of(make_key(7, a)), row_of(make_key(3, b))};
    rows[1].expires_s = 1;
    struct keyring *r = ring_of(rows, 2);
    const struct keyring_key *k;
    (void)make_key(9, c);
    const char *shown[] = {a, b, c, "ifm-aaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        int64_t before = stat_sum(STAT_KEY_CHECKS);
        (void)keyring_find(r, span_cstr(shown[i]), 10, &k);
        assert_int_equal(stat_sum(STAT_KEY_CHECKS), before + 1);
    }
    int64_t before = stat_sum(STAT_KEY_CHECKS);
    (void)keyring_find(r, SPAN("ifm-"), 10, &k);
    assert_int_equal(stat_sum(STAT_KEY_CHECKS), before);
    keyring_unref(r);
}

static void models_are_names_or_prefixes(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt-4", "llama-*", "a"};
    static const struct {
        const char *model;
        bool is_allowed;
    } rows[] = {{"gpt-4", true},    {"gpt-4o", false}, {"gpt-", false},  {"GPT-4", false},
                {"llama-7b", true}, {"llama-", true},  {"llama", false}, {"", false},
                {"a", true},        {"llama-*", true}, {"*", false},     {"gpt-4 ", false}};
    struct keyring_key k = {.models = models, .n_models = ARRAY_LEN(models)};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].model,
                   keyring_allows(&k, span_cstr(rows[i].model)) == rows[i].is_allowed);
    k.n_models = 0;
    assert_true(keyring_allows(&k, SPAN("anything")));
    static const char *const all[] = {"*"};
    k.models = all;
    k.n_models = 1;
    assert_true(keyring_allows(&k, SPAN("anything")));
}

/* --- rows that are refused --- */

static char long_text[300];
static const char *too_many[KEYRING_MODELS_MAX + 1];

static void odd_rows_are_refused(void **state)
{
    (void)state;
    static const char *const empty_model[] = {""};
    static const char *const star_inside[] = {"a*b"};
    static const char *const two_stars[] = {"a**"};
    const char *const long_model[] = {long_text};
    static const char *const fine_models[] = {"m"};
    static const struct keyring_label digit[] = {{"1a", "v"}};
    static const struct keyring_label empty[] = {{"", "v"}};
    static const struct keyring_label upper[] = {{"Team", "v"}};
    static const struct keyring_label twice[] = {{"a", "v"}, {"a", "w"}};
    static const struct keyring_label line[] = {{"a", "v\nw"}};
    static const struct keyring_label nine[9] = {{"a", "1"}, {"b", "1"}, {"c", "1"},
                                                 {"d", "1"}, {"e", "1"}, {"f", "1"},
                                                 {"g", "1"}, {"h", "1"}, {"i", "1"}};
    char a[KEYRING_KEY_LEN + 1];
    struct keyring_key good = row_of(make_key(1, a));
    memset(long_text, 'x', sizeof(long_text) - 1);
    for (size_t i = 0; i < ARRAY_LEN(too_many); i++)
        too_many[i] = "m";
    struct keyring_key rows[] = {
        {.tenant = "t", .note = "", .id = ""},
        {.tenant = "t", .note = "", .id = "ABCDEFGH"},
        {.tenant = "t", .note = "", .id = "abc-efgh"},
        {.tenant = "t", .note = "", .id = "abc"},
        {.tenant = "", .note = "", .id = "abcdefgh"},
        {.tenant = NULL, .note = "", .id = "abcdefgh"},
        {.tenant = "a\nb", .note = "", .id = "abcdefgh"},
        {.tenant = long_text, .note = "", .id = "abcdefgh"},
        {.tenant = "t", .note = long_text, .id = "abcdefgh"},
        {.tenant = "t", .note = NULL, .id = "abcdefgh"},
        {.tenant = "t", .note = "", .id = "abcdefgh", .class = KEYRING_CLASS_COUNT_},
        {.tenant = "t", .note = "", .id = "abcdefgh", .created_s = -1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .expires_s = -1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .models = empty_model, .n_models = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .models = star_inside, .n_models = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .models = two_stars, .n_models = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .models = long_model, .n_models = 1},
        {.tenant = "t",
         .note = "",
         .id = "abcdefgh",
         .models = too_many,
         .n_models = KEYRING_MODELS_MAX + 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = digit, .n_labels = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = empty, .n_labels = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = upper, .n_labels = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = twice, .n_labels = 2},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = line, .n_labels = 1},
        {.tenant = "t", .note = "", .id = "abcdefgh", .labels = nine, .n_labels = 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct keyring_key two[] = {good, rows[i]};
        struct keyring *r = NULL;
        struct err e = {0};
        size_t at = 99;
        char name[16];
        (void)snprintf(name, sizeof(name), "row %zu", i);
        assert_row(name, keyring_new(pepper, two, 2, &r, &at, &e) == -EINVAL);
        assert_row(name, at == 1 && e.text[0] != '\0' && r == NULL);
    }
    struct keyring_key fine = {.tenant = "t",
                               .note = "",
                               .id = "abcdefgh",
                               .models = fine_models,
                               .n_models = 1,
                               .labels = nine,
                               .n_labels = KEYRING_LABELS_MAX};
    keyring_unref(ring_of(&fine, 1));
}

static void ids_stand_once(void **state)
{
    (void)state;
    char a[KEYRING_KEY_LEN + 1], b[KEYRING_KEY_LEN + 1];
    struct keyring_key rows[] = {row_of(make_key(5, a)), row_of(make_key(1, b)),
                                 row_of(make_key(5, a))};
    struct keyring *r = NULL;
    struct err e;
    size_t at = 0;
    assert_int_equal(keyring_new(pepper, rows, 3, &r, &at, &e), -EEXIST);
    assert_int_equal(at, 2);
    assert_non_null(strstr(e.text, rows[2].id));
    assert_null(r);
}

/* What comes out is what went in, and is the ring's own. */
static void a_ring_owns_its_texts(void **state)
{
    (void)state;
    char tenant[] = "tenant", note[] = "a note", m1[] = "m1", m2[] = "m2*", name[] = "team",
         value[] = "x";
    const char *models[] = {m1, m2};
    struct keyring_label labels[] = {{name, value}};
    char a[KEYRING_KEY_LEN + 1];
    struct keyring_key row = row_of(make_key(1, a));
    row.tenant = tenant;
    row.note = note;
    row.models = models;
    row.n_models = 2;
    row.labels = labels;
    row.n_labels = 1;
    row.class = KEYRING_BATCH;
    row.max_inflight = 3;
    row.max_requests_per_minute = 4;
    struct keyring *r = ring_of(&row, 1);
    memset(tenant, '#', sizeof(tenant));
    memset(note, '#', sizeof(note));
    memset(m1, '#', sizeof(m1));
    memset(m2, '#', sizeof(m2));
    memset(name, '#', sizeof(name));
    memset(value, '#', sizeof(value));
    models[0] = models[1] = NULL;
    labels[0] = (struct keyring_label){0};
    const struct keyring_key *k = keyring_at(r, 0);
    assert_string_equal(k->tenant, "tenant");
    assert_string_equal(k->note, "a note");
    assert_string_equal(k->models[0], "m1");
    assert_string_equal(k->models[1], "m2*");
    assert_string_equal(k->labels[0].name, "team");
    assert_string_equal(k->labels[0].value, "x");
    assert_string_equal(keyring_class_name(k->class), "batch");
    assert_int_equal(k->max_inflight, 3);
    assert_int_equal(k->max_requests_per_minute, 4);
    keyring_unref(r);
}

static void thousands_of_keys(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct keyring_key *rows = mem_zalloc(N, sizeof(*rows));
    char text[KEYRING_KEY_LEN + 1];
    const struct keyring_key *k = NULL;
    for (unsigned i = 0; i < N; i++) {
        rows[i] = (struct keyring_key){.tenant = "tenant", .note = ""};
        memcpy(rows[i].id, make_key(i, text).p + 4, KEYRING_ID_LEN);
        if (i % 1000 == 0)
            rows[i] = row_of(make_key(i, text));
    }
    struct keyring *r = ring_of(rows, N);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(keyring_find(r, make_key(i, text), 0, &k),
                         i % 1000 == 0 ? KEYRING_FOUND : KEYRING_UNKNOWN);
    keyring_unref(r);
    mem_free(rows);
}

static int build_once(void *ctx)
{
    struct keyring *r = NULL;
    int error = keyring_new(pepper, ctx, 1, &r, NULL, NULL);
    assert_true((error == 0) == (r != NULL));
    keyring_unref(r);
    return error;
}

static void without_memory(void **state)
{
    (void)state;
    char a[KEYRING_KEY_LEN + 1];
    struct keyring_key row = row_of(make_key(1, a));
    assert_int_equal(memfail_each(build_once, &row), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_a_form),
        cmocka_unit_test(the_hash_is_hmac_sha256),
        cmocka_unit_test(keys_are_found),
        cmocka_unit_test(an_empty_ring_knows_nobody),
        cmocka_unit_test(every_check_costs_one_hash),
        cmocka_unit_test(models_are_names_or_prefixes),
        cmocka_unit_test(odd_rows_are_refused),
        cmocka_unit_test(ids_stand_once),
        cmocka_unit_test(a_ring_owns_its_texts),
        cmocka_unit_test(thousands_of_keys),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
