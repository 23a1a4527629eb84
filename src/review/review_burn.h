/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review_burn.h - private to review/: the requests of one objective over time.
 *
 * Windows:   of REVIEW_WINDOW_MS, (from, to], beginning at whole multiples since the epoch. What a
 *            counter grew by between two samples belongs to the window of the later one; where they
 *            are more than two windows apart, evenly to all between. Behind a reset it grew by what
 *            it shows.
 * Ownership: the arena that it is read into.
 */
#ifndef REVIEW_REVIEW_BURN_H
#define REVIEW_REVIEW_BURN_H

#include "review/review_private.h"

struct burn_windows {
    int64_t from_ms;
    size_t n;
    double *total, *bad;         /* of window i */
    double *total_sum, *bad_sum; /* of those before i; n + 1 */
    int64_t first_ms, last_ms;   /* of samples; first > last: there are none */
    double target;
};

int review_burn_read(struct review *r, const struct slo *slo, enum slo_objective o, struct arena *a,
                     struct burn_windows *ret) WARN_UNUSED;

struct burn_part {
    double total, bad;
};
/* Of all windows that [from_ms, to_ms] touches. */
struct burn_part review_burn_between(const struct burn_windows *b, int64_t from_ms, int64_t to_ms);
/* How many times faster than the budget allows; 0 where nothing was counted. */
double review_burn_rate(struct burn_part p, double target);

/* missed.c: adds what no alert told of. waking: firings of P0 and P1, in order of from_ms. */
struct time_range {
    int64_t from_ms, to_ms;
};
struct time_ranges {
    struct time_range *at;
    size_t n;
};
int missed_waking(struct review *r, struct time_ranges *ret) WARN_UNUSED;
int missed_find(struct review *r, const struct burn_windows *b, const struct review_budget *budget,
                const struct time_ranges *waking) WARN_UNUSED;
void missed_sort(struct review *r);

#endif
