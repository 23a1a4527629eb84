/* SPDX-License-Identifier: Apache-2.0 */
#include "slo/simulate.h"

#include <string.h>

#include "base/rng.h"
#include "slo/burn.h"

enum { STEPS_PER_DAY = 24 * 3600 / SIMULATE_STEP_S, DAYS = 30 };

const double simulate_rates[SIMULATE_RATES] = {5, 10, 20, 50, 100, 200, 500};

void simulate_pager_init(struct simulate_pager *p, double target, uint32_t min_bad)
{
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        const struct slo_burn *b = &slo_burns[i];

        p->pairs[i] = (struct simulate_pair){.n_long = (uint32_t)(b->long_s / SIMULATE_STEP_S),
                                             .n_short = (uint32_t)(b->short_s / SIMULATE_STEP_S),
                                             .part = slo_burn_part(b, target),
                                             .min_bad = slo_burn_min_bad(b, target, min_bad)};
    }
}

/* A window of n steps moves on by one: what comes in, what falls out at its other end. */
static void window_move(struct simulate_step *sum, const struct simulate_pager *p, uint32_t n,
                        struct simulate_step in)
{
    uint32_t at = p->at >= n ? p->at - n : p->at + SIMULATE_STEPS - n;
    struct simulate_step out = p->steps[at];

    sum->total += in.total - out.total;
    sum->bad += in.bad - out.bad;
}

static bool is_over(const struct simulate_pair *pair)
{
    struct simulate_step l = pair->in_long, s = pair->in_short;

    return l.bad >= pair->min_bad && l.bad > pair->part * l.total && s.total > 0 &&
           (double)s.bad / s.total > pair->part;
}

bool simulate_pager_step(struct simulate_pager *p, struct simulate_step counted)
{
    bool is_firing = false;

    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        struct simulate_pair *pair = &p->pairs[i];

        window_move(&pair->in_long, p, pair->n_long, counted);
        window_move(&pair->in_short, p, pair->n_short, counted);
        is_firing = is_over(pair) || is_firing;
    }
    p->steps[p->at] = counted;
    p->at = (p->at + 1) % SIMULATE_STEPS;
    return is_firing;
}

uint64_t simulate_pages(const struct simulate_wish *w)
{
    double mean_s = 3600 / w->per_hour;
    struct simulate_pager pager;
    struct rng rng;
    bool was_firing = false;
    uint64_t n_pages = 0;
    double next_s;

    simulate_pager_init(&pager, w->target, w->min_bad);
    rng_seed(&rng, w->seed);
    next_s = rng_exponential(&rng, mean_s);
    for (int64_t step = 1; step <= (int64_t)w->days * STEPS_PER_DAY; step++) {
        struct simulate_step counted = {0, 0};
        bool is_firing;

        while (next_s < (double)(step * SIMULATE_STEP_S)) {
            counted.total++;
            counted.bad += rng_unit(&rng) < w->bad_part;
            next_s += rng_exponential(&rng, mean_s);
        }
        is_firing = simulate_pager_step(&pager, counted);
        n_pages += is_firing && !was_firing;
        was_firing = is_firing;
        if (w->on_step)
            w->on_step(w->ctx, counted, is_firing);
    }
    return n_pages;
}

double simulate_false_pages(double target, uint32_t min_bad, int n_months, double *ret_per_hour)
{
    double worst = -1;

    for (int i = 0; i < SIMULATE_RATES; i++) {
        struct simulate_wish w = {.target = target,
                                  .min_bad = min_bad,
                                  .per_hour = simulate_rates[i],
                                  .bad_part = 1 - target,
                                  .days = DAYS * n_months,
                                  .seed = (uint64_t)i + 1};
        double pages = (double)simulate_pages(&w) / n_months;

        if (pages > worst) {
            worst = pages;
            *ret_per_hour = w.per_hour;
        }
    }
    return worst;
}
