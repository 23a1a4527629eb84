/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "base/zone.h"
#include "memfail.h"

static const char *const names[] = {
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Asia/Shanghai",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Pacific/Apia",
    "America/St_Johns",
    "Europe/Dublin",
};

static const struct zone *load(struct arena *a, const char *name)
{
    const struct zone *z = NULL;
    int r = zone_load(a, span_cstr(name), &z);
    if (r == -ENOENT) {
        print_message("no zone files here\n");
        exit(HARNESS_SKIPPED);
    }
    assert_int_equal(r, 0);
    return z;
}

/* What the C library says of the same moment. */
static void test_agrees_with_the_library(void **state)
{
    struct rng rng;
    (void)state;
    rng_seed(&rng, 7);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct arena a;
        arena_init(&a, NULL);
        const struct zone *z = load(&a, names[i]);
        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int k = 0; k < 3000; k++) {
            /* 1920 to 2090: behind the last change of a file, too */
            time_t t = (time_t)(rng_below(&rng, 5364662400) - 1577923200);
            struct tm tm = {0};
            assert_non_null(localtime_r(&t, &tm));
            struct zone_civil c = zone_civil(z, t);
            if (zone_offset_s(z, t) != tm.tm_gmtoff)
                fail_msg("%s at %lld: %d, not %ld", names[i], (long long)t,
                         (int)zone_offset_s(z, t), tm.tm_gmtoff);
            assert_int_equal(c.year, tm.tm_year + 1900);
            assert_int_equal(c.month, tm.tm_mon + 1);
            assert_int_equal(c.day, tm.tm_mday);
            assert_int_equal(c.weekday, tm.tm_wday);
            assert_int_equal(c.minute, tm.tm_hour * 60 + tm.tm_min);
        }
        arena_done(&a);
    }
}

/* Berlin, 2026: clocks go forward on 29 March at 01:00 UTC and back on 25 October at 01:00 UTC. */
static void test_a_day_with_a_change(void **state)
{
    struct arena a;
    int64_t at[2];
    (void)state;
    arena_init(&a, NULL);
    const struct zone *z = load(&a, "Europe/Berlin");
    assert_int_equal(zone_offset_s(z, 1774746000 - 1), 3600);
    assert_int_equal(zone_offset_s(z, 1774746000), 7200);
    assert_int_equal(zone_offset_s(z, 1792890000 - 1), 7200);
    assert_int_equal(zone_offset_s(z, 1792890000), 3600);
    /* 02:30 on those days: never; twice */
    assert_int_equal(zone_moments(z, 1774746000 + 3600 + 1800, at), 0);
    assert_int_equal(zone_moments(z, 1792890000 + 3600 + 1800, at), 2);
    assert_int_equal(at[0], 1792890000 - 1800);
    assert_int_equal(at[1], 1792890000 + 1800);
    assert_int_equal(zone_moments(z, 1792890000 + 12 * 3600, at), 1);
    assert_int_equal(at[0], 1792890000 + 11 * 3600);
    assert_int_equal(zone_moments(NULL, 86400, at), 1);
    assert_int_equal(at[0], 86400);
    arena_done(&a);
}

/* A header as of version 2 without changes, with one kind of time, and a rule. */
static size_t tiny(char *dst, const char *rule)
{
    static const char header[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1"
                                 "\0\0\0\0\0\0\0";
    size_t n = sizeof(header) - 1;
    memcpy(dst, header, n);
    memcpy(dst + n, header, n);
    return 2 * n + (size_t)snprintf(dst + 2 * n, 100, "\n%s\n", rule);
}

static void test_rules(void **state)
{
    static const struct {
        const char *rule;
        int64_t t_s;
        int32_t offset_s;
    } rows[] = {
        {"CET-1", 1774746000, 3600},
        {"<-03>3", 1774746000, -10800},
        {"<+0545>-5:45", 1774746000, 20700},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1792889999, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 3600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1767225600, 39600}, /* 1 January: summer */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1782864000, 36000},
        {"AAA0BBB-2,J60/0,J61/0", 1772323200, 7200}, /* 1 March 2026; 29 February does not count */
        {"AAA0BBB-2,J60/0,J61/0", 1835481600, 7200}, /* 1 March 2028 */
        {"AAA0BBB-2,59/0,60/0", 1835395200, 7200},   /* 29 February 2028 */
        {"nonsense", 1774746000, 0},
        {"CET-1CEST,M3.5.0", 1774746000, 0},
        {"CET-1CEST,M13.5.0,M10.5.0", 1774746000, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct zone *z = NULL;
        struct arena a;
        char file[300];
        size_t n = tiny(file, rows[i].rule);
        arena_init(&a, NULL);
        assert_int_equal(zone_parse(&a, span_of(file, n), &z), 0);
        assert_row(rows[i].rule, zone_offset_s(z, rows[i].t_s) == rows[i].offset_s);
        arena_done(&a);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *name;
        int r;
    } rows[] = {
        {"Europe/Atlantis", -ENOENT},
        {"", -EINVAL},
        {"/etc/passwd", -EINVAL},
        {"../../etc/passwd", -EINVAL},
        {"Europe", -ENOENT},
        {"Europe/Berlin/x", -ENOENT},
        {"a b", -EINVAL},
    };
    char file[300];
    struct arena a;
    const struct zone *z = NULL;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].name, zone_load(&a, span_cstr(rows[i].name), &z) == rows[i].r);
    size_t n = tiny(file, "CET-1"), body = n - strlen("\nCET-1\n");
    for (size_t i = 0; i < n; i++) /* every prefix */
        assert_int_equal(zone_parse(&a, span_of(file, i), &z), i < body ? -EINVAL : 0);
    memset(file + 32, 0xff, 4);
    assert_int_equal(zone_parse(&a, span_of(file, n), &z), -EINVAL);
    arena_done(&a);
}

static int load_one(void *ctx)
{
    struct arena a;
    const struct zone *z = NULL;
    (void)ctx;
    arena_init(&a, NULL);
    int r = zone_load(&a, SPAN("Europe/Berlin"), &z);
    assert_true((r == 0) == (z != NULL));
    arena_done(&a);
    return r;
}

static void test_without_memory(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    (void)load(&a, "Europe/Berlin");
    arena_done(&a);
    assert_true(memfail_each(load_one, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_the_library),
        cmocka_unit_test(test_a_day_with_a_change),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
