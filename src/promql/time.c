/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/time.c - see time.h.
 */
#include "promql/time.h"

#include <errno.h>

int time_duration_ms(struct eval *e, const struct duration *d, bool may_be_negative, int64_t *ret)
{
    const struct promql_options *o = e->options;
    int64_t range_ms = o->end_ms - o->start_ms;
    int r = promql_duration_ms(d, range_ms > 0 ? o->step_ms : 0, range_ms, may_be_negative, ret,
                               e->err);
    if (r == 0 && *ret == 0 && !may_be_negative)
        return eval_fail(e, -EINVAL, NULL, "a range must be at least 1 ms");
    return r;
}

int moment_init(struct eval *e, const struct when *w, struct moment *ret)
{
    const struct promql_options *o = e->options;
    *ret = (struct moment){.is_fixed = w->at != AT_NONE};
    if (w->at == AT_TIME)
        ret->at_ms = w->at_ms > TIME_MAX_MS    ? TIME_MAX_MS
                     : w->at_ms < -TIME_MAX_MS ? -TIME_MAX_MS
                                               : w->at_ms;
    else if (w->at != AT_NONE)
        ret->at_ms = w->at == AT_START ? o->start_ms : o->end_ms;
    return w->offset ? time_duration_ms(e, w->offset, true, &ret->offset_ms) : 0;
}

static int64_t widened(struct eval *e, int64_t at_ms, int64_t back_ms)
{
    int64_t apart_ms = e->reader->ops->resolution(e->reader, at_ms - back_ms);
    return 2 * apart_ms > back_ms ? 2 * apart_ms : back_ms;
}

/* Older data is never denser, so where the oldest moment needs nothing wider, none does. */
int reach_init(struct eval *e, const struct node *n, const struct grid *g, const struct moment *m,
               int64_t back_ms, struct arena *a, struct reach *ret)
{
    *ret = (struct reach){
        .back_ms = back_ms, .widest_ms = back_ms, .is_closed = e->options->is_range_closed};
    if (!e->reader->ops->resolution || widened(e, moment_at(m, g, 0), back_ms) <= back_ms)
        return 0;
    int64_t *per_step = arena_array(a, g->n, sizeof(*per_step));
    if (!per_step)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        per_step[i] = widened(e, moment_at(m, g, i), back_ms);
        if (per_step[i] > ret->widest_ms)
            ret->widest_ms = per_step[i];
    }
    ret->_per_step = per_step;
    if (ret->widest_ms > e->widened_ms)
        e->widened_ms = ret->widest_ms;
    return notes_info(&e->notes, n->from,
                      "samples are held as summaries only for a part of this query, and it looked "
                      "back up to %.0f s instead of %.0f s",
                      (double)ret->widest_ms / 1000, (double)back_ms / 1000);
}

/* Steps of a subquery are multiples of its step, whatever the outer steps are. */
int time_subquery_grid(struct eval *e, const struct node *n, const struct grid *g,
                       const struct moment *m, int64_t range_ms, struct grid *ret)
{
    int64_t step_ms = e->options->default_step_ms;
    int64_t first = moment_at(m, g, 0) - range_ms;
    int64_t last = moment_at(m, g, g->n - 1);
    int r = n->subquery.step ? time_duration_ms(e, n->subquery.step, false, &step_ms) : 0;
    if (r < 0)
        return r;
    int64_t start = step_ms * (first / step_ms);
    if (start < first || (start == first && !e->options->is_range_closed))
        start += step_ms;
    *ret = (struct grid){.start_ms = start, .step_ms = step_ms};
    ret->n = last < start ? 0 : (size_t)((last - start) / step_ms) + 1;
    return eval_check_cells(e, 1, ret->n);
}
