/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon pages come, what is capped, and which factors and targets are refused with which advice.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "slo/burn.h"

static void assert_near(const char *name, double got, double want)
{
    if (fabs(got - want) > 0.005 * fabs(want) + 1e-9)
        print_error("%s: %.9g, not %.9g\n", name, got, want);
    assert_row(name, fabs(got - want) <= 0.005 * fabs(want) + 1e-9);
}

/* Seconds of a total outage until the 1 h and the 6 h page, with traffic enough. */
static void test_reach(void **state)
{
    static const struct {
        const char *name;
        double target, hour_s, six_hours_s;
    } rows[] = {
        {"99.9 %", 0.999, 51.84, 129.6}, {"99.5 %", 0.995, 259.2, 648}, {"99 %", 0.99, 518.4, 1296},
        {"95 %", 0.95, 1800, 6480},      {"90 %", 0.9, 1800, 10800},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_near(rows[i].name, slo_burn_reach_s(&slo_burns[0], rows[i].target, 6, 1e6),
                    rows[i].hour_s);
        assert_near(rows[i].name, slo_burn_reach_s(&slo_burns[1], rows[i].target, 6, 1e6),
                    rows[i].six_hours_s);
        assert_near(rows[i].name, slo_page_reach_s(rows[i].target, 6, 1e6), rows[i].hour_s);
    }
}

static void test_reach_with_few_requests(void **state)
{
    (void)state;
    assert_near("6 in an hour", slo_burn_reach_s(&slo_burns[0], 0.999, 6, 6), 3600);
    assert_near("5 in an hour", slo_burn_reach_s(&slo_burns[0], 0.999, 6, 5), -1);
    assert_near("then nine in six", slo_page_reach_s(0.999, 6, 5), 9 * 3600 / 5.0);
    assert_near("nine in six", slo_page_reach_s(0.999, 6, 1.5), 6 * 3600);
    assert_near("less", slo_page_reach_s(0.999, 6, 1.49), -1);
}

static void test_caps(void **state)
{
    static const struct {
        const char *name;
        double target;
        int burn;
        bool is_capped;
        double part, factor;
        uint32_t min_bad;
    } rows[] = {
        {"99 %", 0.99, 0, false, 0.144, 14.4, 6},   {"96.6 %", 0.966, 0, false, 0.4896, 14.4, 6},
        {"96.5 %", 0.965, 0, true, 0.5, 14.286, 7}, {"95 %", 0.95, 0, true, 0.5, 10, 9},
        {"95 %", 0.95, 1, false, 0.3, 6, 9},        {"90 %", 0.9, 0, true, 0.5, 5, 18},
        {"90 %", 0.9, 1, true, 0.5, 5, 11},         {"90 %", 0.9, 2, false, 0.3, 3, 6},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct slo_burn *b = &slo_burns[rows[i].burn];

        assert_row(rows[i].name, slo_burn_is_capped(b, rows[i].target) == rows[i].is_capped);
        assert_near(rows[i].name, slo_burn_part(b, rows[i].target), rows[i].part);
        assert_near(rows[i].name, slo_burn_factor(b, rows[i].target), rows[i].factor);
        assert_row(rows[i].name, slo_burn_min_bad(b, rows[i].target, 6) == rows[i].min_bad);
    }
    assert_true(slo_burn_part(&slo_burns[0], 0.99) == 0.144); /* as it is written */
}

static void test_factors(void **state)
{
    static const struct {
        const char *name;
        double target, factor;
        int result;
        const char *text, *hint;
    } rows[] = {
        {"fine", 0.99, 14.4, 0, NULL, NULL},
        {"exactly half", 0.95, 10, 0, NULL, NULL},
        {"hardly", 0.95, 14.4, 1, "14.4 needs 72 %", "96.53 %"},
        {"the largest that would do", 0.95, 14.4, 1, "72 %", "a factor of 10,"},
        {"exactly all", 0.9, 10, 1, "needs 100 %", "95 %"},
        {"never", 0.9, 14.4, -ERANGE, "target of 90 % it never comes", "93.06 % and more"},
        {"never, in time", 0.9, 14.4, -ERANGE, "144 %", "in time with 96.53 %"},
        {"never", 0.8, 6, -ERANGE, "120 %", "83.34 % and more, and in time with 91.67 %"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err e = {0};

        assert_row(rows[i].name,
                   slo_factor_check(rows[i].target, rows[i].factor, &e) == rows[i].result);
        if (!rows[i].text)
            continue;
        if (!strstr(e.text, rows[i].text) || !strstr(e.hint, rows[i].hint))
            print_error("%s: %s; %s\n", rows[i].name, e.text, e.hint);
        assert_row(rows[i].name, strstr(e.text, rows[i].text) != NULL);
        assert_row(rows[i].name, strstr(e.hint, rows[i].hint) != NULL);
    }
}

/* What the advice names works, and a little less does not. */
static void test_advice_works(void **state)
{
    struct err e = {0};

    (void)state;
    assert_true(slo_factor_check(0.9306, 14.4, &e) >= 0);
    assert_int_equal(slo_factor_check(0.9305, 14.4, &e), -ERANGE);
    assert_int_equal(slo_factor_check(0.9653, 14.4, &e), 0);
    assert_int_equal(slo_factor_check(0.9652, 14.4, &e), 1);
    assert_true(fabs(slo_page_least_per_hour(0.99, 6) - 1.5) < 1e-9);
    assert_true(slo_page_reach_s(0.99, 6, 1.5) > 0 && slo_page_reach_s(0.99, 6, 1.49) < 0);
    assert_int_equal(slo_target_check(0.8334, &e), 0);
    assert_int_equal(slo_target_check(0.8333, &e), -ERANGE);
}

static void test_targets(void **state)
{
    struct err e = {0};

    (void)state;
    assert_int_equal(slo_target_check(0.999999, &e), 0);
    assert_int_equal(slo_target_check(0.9, &e), 0);
    assert_int_equal(slo_target_check(0.8, &e), -ERANGE);
    assert_non_null(strstr(e.text, "80 % can never page"));
    assert_non_null(strstr(e.text, "120 %"));
    assert_non_null(strstr(e.hint, "83.34%"));
    assert_int_equal(slo_target_check(1, &e), -ERANGE);
    assert_non_null(strstr(e.text, "no budget"));
    assert_int_equal(slo_target_check((double)NAN, &e), -ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reach),   cmocka_unit_test(test_reach_with_few_requests),
        cmocka_unit_test(test_caps),    cmocka_unit_test(test_factors),
        cmocka_unit_test(test_targets), cmocka_unit_test(test_advice_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
