/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/burn.h - how fast an error budget may go before somebody is told: pairs of windows and
 * factors.
 *
 * Terms:     the budget of a target is 1 - target, a fraction of requests that may be bad. A burn
 *            rate of f is a fraction of f * budget bad: the budget of 30 d is gone in 30 d / f.
 * Reach:     a factor that needs more than 100 % bad never comes, one that needs more than 50 %
 *            comes late. The factors here are capped at 50 %; those of people are checked with
 *            slo_factor_check.
 * Units:     seconds; targets are fractions.
 * Threading: pure.
 */
#ifndef SLO_BURN_H
#define SLO_BURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Both windows have to be over the factor: the long one for weight, the short one so that it ends
 * soon after the trouble does. */
struct slo_burn {
    bool is_page; /* else a ticket */
    const char *long_text, *short_text;
    int64_t long_s, short_s;
    double factor;
    double weight; /* of min_bad */
};
enum { SLO_BURNS = 4, SLO_BURN_PAGES = 2 }; /* the pages come first */
extern const struct slo_burn slo_burns[SLO_BURNS];

/* The part of the requests that has to be bad, at most 0.5; and the factor that this is. */
double slo_burn_part(const struct slo_burn *b, double target);
double slo_burn_factor(const struct slo_burn *b, double target);
bool slo_burn_is_capped(const struct slo_burn *b, double target);

/*
 * How many have to be bad in the long window: min_bad and more. The nearer a factor is to the
 * budget, the more often chance reaches it: half as many more for the slower page (with 6 it would
 * come 0.4 times in 30 days where just the budget is bad, with 9 it does 0.01 times:
 * bench/slo_pages), and where a factor is capped, more by as much as it is.
 */
uint32_t slo_burn_min_bad(const struct slo_burn *b, double target, uint32_t min_bad);

/*
 * Seconds from the begin of a total outage until the pair is over its factor, at a steady number of
 * requests per hour; -1: never, too few requests.
 */
double slo_burn_reach_s(const struct slo_burn *b, double target, uint32_t min_bad, double per_hour);

/* The soonest of the pages. */
double slo_page_reach_s(double target, uint32_t min_bad, double per_hour);

/* With fewer requests an hour, steadily, nothing pages. */
double slo_page_least_per_hour(double target, uint32_t min_bad);

/*
 * Whether a factor that somebody wrote can ever be reached with that target. 0; 1: hardly (over
 * 50 % have to be bad), *ret says so; -ERANGE: never, *ret names the targets that would work.
 */
int slo_factor_check(double target, double factor, struct err *ret);

/* Whether pages are possible for a target at all. 0 or -ERANGE. */
int slo_target_check(double target, struct err *reterr) WARN_UNUSED;

#endif
