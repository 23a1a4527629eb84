/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/rng.h"
#include "guard.h"
#include "harness.h"
#include "scrape/text_private.h"

static uint64_t bits(double v)
{
    uint64_t n;
    memcpy(&n, &v, sizeof(n));
    return n;
}

static void assert_as_strtod(const char *text)
{
    double v = 0, want = strtod(text, NULL);
    int r = text_value(span_cstr(text), &v);
    if (isinf(want)) {
        if (r != -EINVAL)
            fail_msg("%s: %d", text, r);
    } else if (r != 0 || bits(v) != bits(want)) {
        fail_msg("%s: %d %.17g, not %.17g", text, r, v, want);
    }
}

static void test_taken(void **state)
{
    static const char *const cases[] = {
        "0",
        "-0",
        "+0",
        "00",
        "1",
        "-1",
        "+1",
        "1.",
        ".5",
        "-.5",
        "1e3",
        "1E3",
        "1e+3",
        "1.5e-3",
        "0.1",
        "0.30000000000000004",
        "8.969000",
        "1.67837e+06",
        "128996013",
        "161721.0",
        "9223372036854775794",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "1.7537953269352946e+09",
        "1.74262400557e+09",
        "9999999999999999999e19",
        "1e22",
        "1e23",
        "123456789012345678e-19",
        "9999999999999999999e-19",
        "1e-19",
        "3e-20",
        "1e308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "1e99999999999",
        "1e-99999999999",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "0e99999",
        "0.000000000000000000001",
        "000000000000000000000000000001",
        "10000000000000000000000000000000000000000",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "0.1234567890123456789012345678901234567890",
        "179769313486231580793728971405301e276",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_as_strtod(cases[i]);
}

static void test_specials(void **state)
{
    static const struct {
        const char *text;
        double v;
    } cases[] = {
        {"Inf", HUGE_VAL},      {"+Inf", HUGE_VAL},       {"-Inf", -HUGE_VAL}, {"inf", HUGE_VAL},
        {"Infinity", HUGE_VAL}, {"-infinity", -HUGE_VAL}, {"+INF", HUGE_VAL},
    };
    static const char *const nans[] = {"NaN", "nan", "NAN"};
    double v;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_row(cases[i].text, text_value(span_cstr(cases[i].text), &v) == 0);
        assert_row(cases[i].text, v == cases[i].v);
    }
    for (size_t i = 0; i < ARRAY_LEN(nans); i++) {
        v = 0;
        assert_row(nans[i], text_value(span_cstr(nans[i]), &v) == 0 && isnan(v));
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "",      "+",    "-",     ".",    "e",       "e5",   ".e5",      "1e",     "1e+",   "1e-",
        "--1",   "+-1",  "1.2.3", "1,5",  "1x",      "0x10", "0x1p3",    "0X1P-2", "1_000", "_1",
        "1e1_0", "1e5.", "1e5e5", "infi", "infinit", "in",   "nanx",     "+nan",   "-NaN",  "i",
        " 1",    "1 ",   "1\r",   "one",  "0b1",     "1f",   "\xd9\xa1",
    };
    struct guard g;
    double v = 42;
    (void)state;
    guard_init(&g, 64);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_row(cases[i], text_value(guard_copy(&g, span_cstr(cases[i])), &v) == -EINVAL);
    assert_true(v == 42);
    guard_done(&g);
}

/* Any double as other programs print it, and digits with a point and an exponent anywhere. */
static void test_random(void **state)
{
    struct rng rng;
    char text[400];
    (void)state;
    rng_seed(&rng, 6);
    for (int i = 0; i < 200000; i++) {
        uint64_t n = rng_u64(&rng);
        double v;
        memcpy(&v, &n, sizeof(v));
        if (isfinite(v)) {
            (void)snprintf(text, sizeof(text), "%.*g", 1 + (int)rng_below(&rng, 17), v);
            assert_as_strtod(text);
        }
        uint64_t some = rng_u64(&rng) >> rng_below(&rng, 64);
        int n_text = snprintf(text, sizeof(text), "%llu", (unsigned long long)some);
        int at = (int)rng_below(&rng, (uint64_t)n_text + 1);
        (void)snprintf(text, sizeof(text), "%.*f", at % 20, (double)some / 1e6);
        assert_as_strtod(text);
        (void)snprintf(text, sizeof(text), "%llu.%llue%d", (unsigned long long)(some >> 20),
                       (unsigned long long)(some & 0xfffff), (int)rng_below(&rng, 60) - 30);
        assert_as_strtod(text);
        (void)snprintf(text, sizeof(text), "%llue%d", (unsigned long long)some,
                       (int)rng_below(&rng, 50) - 25);
        assert_as_strtod(text);
    }
}

/* Halfway between two doubles, a digit more, a digit less: divided by powers of ten. */
static void test_halves(void **state)
{
    struct rng rng;
    char text[64];
    (void)state;
    rng_seed(&rng, 7);
    for (int i = 0; i < 100000; i++) {
        uint64_t odd = (UINT64_C(1) << 53 | rng_u64(&rng) >> 11) * 2 + 1; /* 55 bits */
        for (int d = -1; d <= 1; d++) {
            (void)snprintf(text, sizeof(text), "%llue%d", (unsigned long long)odd + (uint64_t)d,
                           (int)rng_below(&rng, 40) - 20);
            assert_as_strtod(text);
        }
    }
}

static void test_long(void **state)
{
    char text[3000];
    double v;
    (void)state;
    memset(text, '0', sizeof(text));
    text[1] = '.';
    text[2999] = '1';
    assert_int_equal(text_value(span_of(text, sizeof(text)), &v), 0);
    assert_true(v == 0); /* 1e-2998 */
    memset(text, '1', sizeof(text));
    assert_int_equal(text_value(span_of(text, sizeof(text)), &v), -EINVAL);
    assert_int_equal(text_value(span_of(text, 300), &v), 0);
    assert_true(v > 1e299 && v < 1.2e299);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),   cmocka_unit_test(test_specials),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_random),
        cmocka_unit_test(test_halves),  cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests_name("scrape/text_value", tests, NULL, NULL);
}
