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

static int64_t apart(struct eval *e, int64_t at_ms)
{
    return e->reader->ops->resolution ? e->reader->ops->resolution(e->reader, at_ms) : 0;
}

static int say_widened(struct eval *e, const struct node *n, const struct reach *r)
{
    if (r->widest_ms <= r->back_ms)
        return 0;
    if (r->widest_ms > e->widened_ms)
        e->widened_ms = r->widest_ms;
    return notes_info(&e->notes, n->from,
                      "samples are held as summaries only for a part of this query, and it looked "
                      "back up to %.0f s instead of %.0f s",
                      (double)r->widest_ms / 1000, (double)r->back_ms / 1000);
}

/* Older data is never denser, so where the oldest moment finds samples as scraped, all do. */
int reach_init(struct eval *e, const struct node *n, const struct grid *g, const struct moment *m,
               int64_t back_ms, struct arena *a, struct reach *ret)
{
    *ret = (struct reach){
        .back_ms = back_ms, .widest_ms = back_ms, .is_closed = e->options->is_range_closed};
    if (g->n == 0 || apart(e, moment_at(m, g, 0) - back_ms) == 0)
        return 0;
    int64_t *back = arena_array(a, g->n, sizeof(*back));
    int64_t *apart_ms = arena_array(a, g->n, sizeof(*apart_ms));
    if (!back || !apart_ms)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        apart_ms[i] = apart(e, moment_at(m, g, i) - back_ms);
        back[i] = 2 * apart_ms[i] > back_ms ? 2 * apart_ms[i] : back_ms;
        if (back[i] > ret->widest_ms)
            ret->widest_ms = back[i];
    }
    ret->_per_step = back;
    ret->_apart_ms = apart_ms;
    ret->is_sparse = true;
    return say_widened(e, n, ret);
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
