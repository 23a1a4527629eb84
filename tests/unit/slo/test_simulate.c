/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages over months: none to speak of where just the budget is bad, and soon where everything is.
 * bench/slo_pages is the long form.
 */
#include "harness.h"

#include <math.h>

#include "slo/burn.h"
#include "slo/simulate.h"
#include "slo/slo.h"

enum { MONTHS = 3 };

/* The goal is 0.2 in 30 days per SLO, with all of its objectives. */
static void test_false_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < slo_n_presets; i++) {
        double sum = 0;

        for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
            const struct slo_target *t = &slo_presets[i].targets[o];
            double per_hour;

            if (t->is_set)
                sum += simulate_false_pages(t->target, SLO_MIN_BAD_DEFAULT, MONTHS, &per_hour);
        }
        if (sum > 0.2)
            print_error("%g\n", sum);
        assert_row(slo_presets[i].name, sum <= 0.2);
    }
}

/* The guard is why: with half of it chance pages. */
static void test_guard_matters(void **state)
{
    double per_hour;

    (void)state;
    assert_true(simulate_false_pages(0.995, 3, MONTHS, &per_hour) > 0.5);
}

/* Seconds until it fires when from 6 h on everything is bad, one request every every_s. */
static double fires_after_s(double target, uint32_t every_s)
{
    struct simulate_pager pager;
    uint32_t outage = SIMULATE_STEPS, step = 0;
    bool is_firing = false;

    simulate_pager_init(&pager, target, SLO_MIN_BAD_DEFAULT);
    while (!is_firing && step < 3 * SIMULATE_STEPS) {
        struct simulate_step counted = {0, 0};

        step++;
        if (every_s <= SIMULATE_STEP_S)
            counted.total = SIMULATE_STEP_S / every_s;
        else
            counted.total = step * SIMULATE_STEP_S % every_s == 0;
        counted.bad = step > outage ? counted.total : 0;
        is_firing = simulate_pager_step(&pager, counted);
    }
    return is_firing ? (double)(step - outage) * SIMULATE_STEP_S : -1;
}

/* What burn.h foretells comes true, to the step. */
static void test_outage(void **state)
{
    static const double targets[] = {0.999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.85};
    static const uint32_t every_s[] = {1, 5, 30, 60, 300, 600, 1200};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        for (size_t k = 0; k < ARRAY_LEN(every_s); k++) {
            double want = slo_page_reach_s(targets[i], SLO_MIN_BAD_DEFAULT, 3600.0 / every_s[k]);
            double got = fires_after_s(targets[i], every_s[k]);

            if (fabs(got - want) > SIMULATE_STEP_S + every_s[k])
                print_error("%g, every %u s: %g s, not %g\n", targets[i], every_s[k], got, want);
            assert_true(fabs(got - want) <= SIMULATE_STEP_S + every_s[k]);
        }
    }
}

static void test_same_seed(void **state)
{
    struct simulate_wish w = {
        .target = 0.99, .min_bad = 2, .per_hour = 50, .bad_part = 0.1, .days = 30, .seed = 7};
    uint64_t n = simulate_pages(&w);

    (void)state;
    assert_true(n > 0);
    assert_int_equal(simulate_pages(&w), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_pages),
        cmocka_unit_test(test_guard_matters),
        cmocka_unit_test(test_outage),
        cmocka_unit_test(test_same_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
