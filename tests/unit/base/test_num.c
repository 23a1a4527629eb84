/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "guard.h"
#include "harness.h"

#define UNTOUCHED 4711

static struct guard guard;

/* The text in front of an inaccessible page: parsers must not look for a NUL. */
static struct span text(const char *s)
{
    return guard_copy(&guard, span_cstr(s));
}

static void test_parse_u64(void **state)
{
    static const struct {
        const char *in;
        int r;
        uint64_t expect;
    } rows[] = {
        {"0", 0, 0},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"18446744073709551625", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = UNTOUCHED;
        assert_row(rows[i].in, num_parse_u64(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, v == (rows[i].r == 0 ? rows[i].expect : UNTOUCHED));
    }
}

static void test_parse_i64(void **state)
{
    static const struct {
        const char *in;
        int r;
        int64_t expect;
    } rows[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"-1", 0, -1},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -ERANGE, 0},
        {"-9223372036854775809", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"--1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"- 1", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = UNTOUCHED;
        assert_row(rows[i].in, num_parse_i64(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, v == (rows[i].r == 0 ? rows[i].expect : UNTOUCHED));
    }
}

static void test_parse_hex(void **state)
{
    static const struct {
        const char *in;
        int r;
        uint64_t expect;
    } rows[] = {
        {"0", 0, 0},
        {"fF", 0, 255},
        {"ffffffffffffffff", 0, UINT64_MAX},
        {"fffffffffffffffff", -ERANGE, 0},
        {"00000000000000001", -ERANGE, 0}, /* 17 digits are too many, whatever they are */
        {"", -EINVAL, 0},
        {"0x1", -EINVAL, 0},
        {"g", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"-1", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = UNTOUCHED;
        assert_row(rows[i].in, num_parse_hex(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, v == (rows[i].r == 0 ? rows[i].expect : UNTOUCHED));
    }
}

static void test_parse_double(void **state)
{
    static const struct {
        const char *in;
        int r;
        double expect;
    } rows[] = {
        {"0", 0, 0.0},
        {"0.1", 0, 0.1},
        {"-2.5", 0, -2.5},
        {"1e3", 0, 1000.0},
        {"1E-3", 0, 0.001},
        {"1.5e+2", 0, 150.0},
        {"123456789012345678901234567890", 0, 123456789012345678901234567890.0},
        {"1.7976931348623157e308", 0, DBL_MAX},
        {"1e-400", 0, 0.0},
        {"1e309", -ERANGE, 0},
        {"-1e309", -ERANGE, 0},
        {"", -EINVAL, 0},
        {".", -EINVAL, 0},
        {".5", -EINVAL, 0},
        {"5.", -EINVAL, 0},
        {"1e", -EINVAL, 0},
        {"1e+", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"0x1p3", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"nan", -EINVAL, 0},
        {"1,5", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1.5x", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double v = UNTOUCHED;
        double expect = rows[i].r == 0 ? rows[i].expect : UNTOUCHED;
        assert_row(rows[i].in, num_parse_double(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, memcmp(&v, &expect, sizeof(v)) == 0);
    }
    char digits[1300];
    double v;
    memset(digits, '1', sizeof(digits));
    digits[1] = '.';
    assert_int_equal(num_parse_double(span_of(digits, 1200), &v), 0);
    assert_true(v > 1.1 && v < 1.2);
    assert_int_equal(num_parse_double(span_of(digits, 1201), &v), -ERANGE);
}

static void test_parse_duration(void **state)
{
    static const struct {
        const char *in;
        int r;
        int64_t expect;
    } rows[] = {
        {"0", 0, 0},
        {"0s", 0, 0},
        {"20us", 0, 20 * NS_PER_US},
        {"250ms", 0, 250 * NS_PER_MS},
        {"1.5s", 0, 1500 * NS_PER_MS},
        {"90s", 0, 90 * NS_PER_S},
        {"5m", 0, 300 * NS_PER_S},
        {"1h", 0, 3600 * NS_PER_S},
        {"7d", 0, 7 * 86400 * NS_PER_S},
        {"0.001us", 0, 1},
        {"0.0010us", 0, 1},
        {"0.0001us", -ERANGE, 0},
        {"0.5m", 0, 30 * NS_PER_S},
        {"1.000000001s", 0, NS_PER_S + 1},
        {"106751d", 0, INT64_C(106751) * 86400 * NS_PER_S},
        {"106752d", -ERANGE, 0},
        {"9223372036854775808us", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"5", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {".5s", -EINVAL, 0},
        {"1.s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1m30s", -EINVAL, 0},
        {"1e3s", -EINVAL, 0},
        {"0.0", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = UNTOUCHED;
        assert_row(rows[i].in, num_parse_duration(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, v == (rows[i].r == 0 ? rows[i].expect : UNTOUCHED));
    }
}

static void test_parse_bytes(void **state)
{
    static const struct {
        const char *in;
        int r;
        uint64_t expect;
    } rows[] = {
        {"512", 0, 512},
        {"0", 0, 0},
        {"64KiB", 0, 65536},
        {"1MiB", 0, 1048576},
        {"2GiB", 0, UINT64_C(2147483648)},
        {"3KB", 0, 3000},
        {"3MB", 0, 3000000},
        {"3GB", 0, UINT64_C(3000000000)},
        {"18446744073709551615", 0, UINT64_MAX},
        {"17179869184GiB", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"KiB", -EINVAL, 0},
        {"1.5MiB", -EINVAL, 0},
        {"1 MiB", -EINVAL, 0},
        {"1mib", -EINVAL, 0},
        {"1B", -EINVAL, 0},
        {"-1", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = UNTOUCHED;
        assert_row(rows[i].in, num_parse_bytes(text(rows[i].in), &v) == rows[i].r);
        assert_row(rows[i].in, v == (rows[i].r == 0 ? rows[i].expect : UNTOUCHED));
    }
}

static void assert_formats(double v, const char *expect)
{
    char dst[32];
    size_t n = num_format_double(v, dst);
    assert_span_equal(expect, span_of(dst, n), span_cstr(expect));
}

static void test_format_double(void **state)
{
    (void)state;
    assert_formats(0, "0");
    assert_formats(-0.0, "-0");
    assert_formats(0.1, "0.1");
    assert_formats(0.1 + 0.2, "0.30000000000000004");
    assert_formats(1e-6, "1e-06");
    assert_formats(100000, "100000");
    assert_formats(1e300, "1e+300");
    assert_formats(-DBL_MAX, "-1.7976931348623157e+308");
    assert_formats(5e-324, "4.94065645841247e-324");
    assert_formats((double)INFINITY, "+Inf");
    assert_formats(-(double)INFINITY, "-Inf");
    assert_formats((double)NAN, "NaN");
    assert_formats(9007199254740993.0, "9007199254740992");
}

static void test_format_fraction(void **state)
{
    static const struct {
        double v;
        const char *expect;
    } rows[] = {{0, "0.0"},
                {1, "1.0"},
                {-20, "-20.0"},
                {0.5, "0.5"},
                {1e-6, "1e-06"},
                {1e300, "1e+300"},
                {(double)INFINITY, "+Inf"},
                {-(double)INFINITY, "-Inf"},
                {(double)NAN, "NaN"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dst[32];
        size_t n = num_format_fraction(rows[i].v, dst);
        assert_span_equal(rows[i].expect, span_of(dst, n), span_cstr(rows[i].expect));
    }
}

static void test_double_round_trip(void **state)
{
    struct rng rng;
    (void)state;
    rng_seed(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_u64(&rng);
        double v;
        double back;
        char dst[32];
        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v))
            continue;
        size_t n = num_format_double(v, dst);
        assert_true(n < sizeof(dst));
        assert_int_equal(num_parse_double(span_of(dst, n), &back), 0);
        assert_memory_equal(&back, &v, sizeof(v));
    }
}

static void test_other_locale(void **state)
{
    static const char *const comma_locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                                "de_DE"};
    const char *found = NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(comma_locales) && !found; i++)
        found = setlocale(LC_ALL, comma_locales[i]);
    if (!found)
        skip(); /* no locale with a decimal comma is installed */
    double v;
    assert_formats(1.5, "1.5");
    assert_int_equal(num_parse_double(SPAN("1.5"), &v), 0);
    assert_true(v > 1.4 && v < 1.6);
    assert_int_equal(num_parse_double(SPAN("1,5"), &v), -EINVAL);
    assert_string_equal(localeconv()->decimal_point, ","); /* restored for everybody else */
    (void)setlocale(LC_ALL, "C");
}

static void test_format_integers(void **state)
{
    static const int64_t values[] = {0, 1, -1, 9, 10, 99, 100, 1234567890, INT64_MAX, INT64_MIN};
    char dst[24];
    char expect[32];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        (void)snprintf(expect, sizeof(expect), "%" PRId64, values[i]);
        size_t n = num_format_i64(values[i], dst);
        assert_span_equal("i64", span_of(dst, n), span_cstr(expect));
        (void)snprintf(expect, sizeof(expect), "%" PRIu64, (uint64_t)values[i]);
        n = num_format_u64((uint64_t)values[i], dst);
        assert_span_equal("u64", span_of(dst, n), span_cstr(expect));
    }
}

/* Each number of digits, at both of its ends and on both sides of each power of two. */
static void test_format_all_lengths(void **state)
{
    char dst[24];
    char expect[32];
    uint64_t power = 1;
    (void)state;
    for (int digits = 1; digits <= 20; digits++, power *= 10) {
        const uint64_t values[] = {power - 1, power, power + 1, power * 2 - 1, power * 5};
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            (void)snprintf(expect, sizeof(expect), "%" PRIu64, values[i]);
            size_t n = num_format_u64(values[i], dst);
            assert_span_equal(expect, span_of(dst, n), span_cstr(expect));
        }
    }
    for (int bit = 0; bit < 64; bit++) {
        for (int64_t step = -1; step <= 1; step++) {
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)step;
            (void)snprintf(expect, sizeof(expect), "%" PRIu64, v);
            size_t n = num_format_u64(v, dst);
            assert_span_equal(expect, span_of(dst, n), span_cstr(expect));
        }
    }
}

static void test_format_decimal(void **state)
{
    static const struct {
        double v;
        int decimals;
        const char *expect;
    } rows[] = {
        {0, 6, "0"},
        {1, 6, "1"},
        {1.25, 6, "1.25"},
        {1.0 / 3, 6, "0.333333"},
        {2.0 / 3, 3, "0.667"},
        {0.9999996, 6, "1"},
        {10.000001, 6, "10.000001"},
        {1e-9, 6, "0"},
        {123456789, 9, "123456789"},
        {1e12, 6, "1000000000000"},
        {-1.5, 6, "-1.5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[40];
        size_t n = num_format_decimal(rows[i].v, rows[i].decimals, text);
        assert_span_equal(rows[i].expect, span_of(text, n), span_cstr(rows[i].expect));
    }
}

static void test_format_padded(void **state)
{
    char text[8];
    (void)state;
    num_format_padded(7, 1, text);
    assert_span_equal("1", span_of(text, 1), SPAN("7"));
    num_format_padded(7, 3, text);
    assert_span_equal("3", span_of(text, 3), SPAN("007"));
    num_format_padded(42, 2, text);
    assert_span_equal("2", span_of(text, 2), SPAN("42"));
    num_format_padded(0, 4, text);
    assert_span_equal("4", span_of(text, 4), SPAN("0000"));
    num_format_padded(123456, 6, text);
    assert_span_equal("6", span_of(text, 6), SPAN("123456"));
}

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *want;
    } rows[] = {
        {0, "0"},
        {1.5, "1.5"},
        {1e-6, "0.000001"},
        {-1.25e-7, "-0.000000125"},
        {1e21, "1000000000000000000000"},
        {-1.5e17, "-150000000000000000"},
        {1.2345678901234567e16, "12345678901234568"},
    };
    char text[NUM_PLAIN_BYTES];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_span_equal(rows[i].want, span_of(text, num_format_plain(rows[i].v, text)),
                          span_cstr(rows[i].want));
    static const double odd[] = {DBL_MAX, DBL_MIN, 5e-324, -DBL_MAX};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        size_t n = num_format_plain(odd[i], text);
        assert_true(n < NUM_PLAIN_BYTES && !memchr(text, 'e', n));
        double back = 0;
        assert_int_equal(num_parse_double(span_of(text, n), &back), 0);
        assert_true(back == odd[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format_decimal),
        cmocka_unit_test(test_format_padded),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_parse_u64),
        cmocka_unit_test(test_parse_i64),
        cmocka_unit_test(test_parse_hex),
        cmocka_unit_test(test_parse_double),
        cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_parse_bytes),
        cmocka_unit_test(test_format_double),
        cmocka_unit_test(test_format_fraction),
        cmocka_unit_test(test_double_round_trip),
        cmocka_unit_test(test_other_locale),
        cmocka_unit_test(test_format_integers),
        cmocka_unit_test(test_format_all_lengths),
    };
    guard_init(&guard, 4096);
    int r = cmocka_run_group_tests_name("base/num", tests, NULL, NULL);
    guard_done(&guard);
    return r;
}
