/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include "harness.h"

static void test_distance(void **state)
{
    static const struct {
        const char *a, *b;
        int distance;
    } rows[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"tokens", "tokens", 0},
        {"tokens", "tokns", 1},
        {"tokens", "tokenss", 1},
        {"tokens", "tokans", 1},
        {"tokens", "toknes", 1},
        {"error-after", "error_after", 0},
        {"Usage", "usage", 0},
        {"kitten", "sitting", 3},
        {"ab", "ba", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct span a = span_cstr(rows[i].a), b = span_cstr(rows[i].b);
        assert_row(rows[i].b, suggest_distance(a, b) == rows[i].distance);
        assert_row(rows[i].b, suggest_distance(b, a) == rows[i].distance);
    }
}

static void test_best(void **state)
{
    static const char *const names[] = {"tokens", "tokens-per-event", "usage", "cut", "cut-after"};
    static const struct {
        const char *typed, *best;
    } rows[] = {
        {"tokns", "tokens"},
        {"cut_afer", "cut-after"},
        {"usages", "usage"},
        {"something-else", NULL},
        {"x", NULL},
        {"cutt", "cut"},
        {"tokens-per-evnet", "tokens-per-event"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct suggest s;
        suggest_init(&s, span_cstr(rows[i].typed));
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            suggest_offer(&s, span_cstr(names[k]));
        if (rows[i].best)
            assert_span_equal(rows[i].typed, s.best, span_cstr(rows[i].best));
        else
            assert_int_equal(s.best.n, 0);
    }
}

static void test_long_names(void **state)
{
    static const char text[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789";
    struct suggest s;
    (void)state;
    suggest_init(&s, span_cstr(text));
    suggest_offer(&s, span_cstr(text));
    suggest_offer(&s, SPAN("tokens"));
    assert_int_equal(s.best.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests_name("base/suggest", tests, NULL, NULL);
}
