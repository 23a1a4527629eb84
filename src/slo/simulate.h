/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/simulate.h - what the generated pages do over months of made-up requests.
 *
 * Role:      the condition of slo_rules.c's SLOBurnPage over counts in steps of 30 s, which is how
 *            often its group is evaluated. Much faster than PromQL, and the same where samples lie
 *            on the steps (tests/integration/slo_rules.test.mjs compares them).
 * Model:     requests come independently of each other (Poisson), each is bad with one probability.
 * Threading: pure; a simulation has one owner.
 */
#ifndef SLO_SIMULATE_H
#define SLO_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

enum { SIMULATE_STEP_S = 30, SIMULATE_STEPS = 6 * 3600 / SIMULATE_STEP_S };

struct simulate_step {
    uint32_t total, bad;
};

/* One pair of windows (slo_burns[0], [1]), and the sums in them. */
struct simulate_pair {
    uint32_t n_long, n_short; /* steps */
    double part;
    uint32_t min_bad;
    struct simulate_step in_long, in_short;
};

/* Counts of the last 6 h. */
struct simulate_pager {
    uint32_t at;
    struct simulate_step steps[SIMULATE_STEPS];
    struct simulate_pair pairs[2];
};

void simulate_pager_init(struct simulate_pager *p, double target, uint32_t min_bad);

/* One more step; whether the alert is firing at its end. */
bool simulate_pager_step(struct simulate_pager *p, struct simulate_step counted);

struct simulate_wish {
    double target;
    uint32_t min_bad;
    double per_hour;
    double bad_part; /* of the requests */
    int days;
    uint64_t seed;
    /* NULL, or told every step. */
    void (*on_step)(void *ctx, struct simulate_step counted, bool is_firing);
    void *ctx;
};

/* How often the alert began to fire. */
uint64_t simulate_pages(const struct simulate_wish *w);

/* Rates at which the false pages of a target are looked at. */
enum { SIMULATE_RATES = 7 };
extern const double simulate_rates[SIMULATE_RATES]; /* 5 to 500 per hour */

/* False pages in 30 days where exactly the budget is bad, mean of n_months, at the worst rate. */
double simulate_false_pages(double target, uint32_t min_bad, int n_months, double *ret_per_hour);

#endif
