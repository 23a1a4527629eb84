/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/timestamp: both forms, against the C library's calendar, and what is neither.
 */
#include "harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/timestamp.h"

static void both_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us; /* 0: it is none */
    } rows[] = {
        {"1764434739272", INT64_C(1764434739272000)},
        {"1", 1000},
        {"0", 0},
        {"253402300799999", INT64_C(253402300799999000)},
        {"253402300800000", 0},
        {"18446744073709551615", 0},
        {"1764434739272.5", 0},
        {"-1", 0},
        {"", 0},
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000001Z", 1},
        {"2026-11-29T16:25:39.272460Z", INT64_C(1795969539272460)},
        {"2026-11-29T16:25:39.2724609Z", INT64_C(1795969539272460)},
        {"2026-11-29t16:25:39z", INT64_C(1795969539000000)},
        {"2026-11-30 00:25:39+08:00", INT64_C(1795969539000000)},
        {"2026-11-29T10:55:39-05:30", INT64_C(1795969539000000)},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800000000)},
        {"2023-02-29T00:00:00Z", 0},
        {"2100-02-29T00:00:00Z", 0},
        {"2026-13-01T00:00:00Z", 0},
        {"2026-00-01T00:00:00Z", 0},
        {"2026-11-31T00:00:00Z", 0},
        {"2026-11-29T24:00:00Z", 0},
        {"2026-11-29T16:60:00Z", 0},
        {"2026-11-29T16:25:39", 0},
        {"2026-11-29T16:25:39.Z", 0},
        {"2026-11-29T16:25:39Zx", 0},
        {"2026-11-29T16:25:39+0800", 0},
        {"2026-11-29T16:25:39+24:00", 0},
        {"2026-11-29", 0},
        {"2026-11-2", 0},
        {"26-11-29T16:25:39Z", 0},
        {"0000-11-29T16:25:39Z", 0},
        {"tomorrow", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        wall_t t = {-7};
        int r = timestamp_parse(span_cstr(rows[i].text), &t);
        assert_row(rows[i].text, r == (rows[i].us > 0 ? 0 : -EINVAL));
        assert_row(rows[i].text, t.us == (rows[i].us > 0 ? rows[i].us : -7));
    }
}

/* Every day of four centuries, as the C library counts them. */
static void every_day(void **state)
{
    (void)state;
    for (int64_t day = 1; day < INT64_C(146097); day += 1) {
        time_t s = (time_t)(day * 86400);
        struct tm tm;
        char text[64];
        wall_t t = {0};
        assert_non_null(gmtime_r(&s, &tm));
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
        assert_row(text, timestamp_parse(span_cstr(text), &t) == 0);
        assert_row(text, t.us == day * 86400 * US_PER_S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms),
        cmocka_unit_test(every_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
