/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/time.h - when a selector looks: @, offset, ranges, and how far back.
 *
 * Units:     ms. Times are within +-2^60, durations within +-2^53, so that sums do not overflow.
 * Errors:    -EINVAL with a text (a duration that may not be).
 * Threading: pure.
 */
#ifndef PROMQL_TIME_H
#define PROMQL_TIME_H

#include "promql/eval.h"

#define TIME_MAX_MS (INT64_C(1) << 60)

/* The value of a duration; may_be_negative: offsets. */
int time_duration_ms(struct eval *e, const struct duration *d, bool may_be_negative,
                     int64_t *ret) WARN_UNUSED;

/* The moment a selector means at a step. */
struct moment {
    bool is_fixed; /* @ */
    int64_t at_ms, offset_ms;
};
int moment_init(struct eval *e, const struct when *w, struct moment *ret) WARN_UNUSED;

static inline int64_t moment_at(const struct moment *m, const struct grid *g, size_t i)
{
    return (m->is_fixed ? m->at_ms : grid_at(g, i)) - m->offset_ms;
}

/*
 * How far back from a moment samples count: (moment - back, moment], with closed ranges
 * [moment - back, moment]. Where the reader holds sparser data than that, it is widened.
 */
struct reach {
    int64_t back_ms;
    int64_t widest_ms;
    const int64_t *_per_step; /* NULL: back_ms at every step */
    const int64_t *_apart_ms; /* distance of samples that far back, per step; NULL: as scraped */
    bool is_closed;
    bool is_sparse; /* summaries are read, at some step at least */
};
int reach_init(struct eval *e, const struct node *n, const struct grid *g, const struct moment *m,
               int64_t back_ms, struct arena *a, struct reach *ret) WARN_UNUSED;

static inline int64_t reach_back(const struct reach *r, size_t i)
{
    return r->_per_step ? r->_per_step[i] : r->back_ms;
}

/* How far apart summaries are where a step's reach begins; 0: there are none. */
static inline int64_t reach_apart(const struct reach *r, size_t i)
{
    return r->_apart_ms ? r->_apart_ms[i] : 0;
}

/* The steps of a subquery of that range which the steps of g need. */
int time_subquery_grid(struct eval *e, const struct node *n, const struct grid *g,
                       const struct moment *m, int64_t range_ms, struct grid *ret) WARN_UNUSED;

#endif
