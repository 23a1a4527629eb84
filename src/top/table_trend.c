/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/table_trend.c - one stage's quantile in each slot of the minutes before.
 *
 * Slots are equally long; moments need not be. A slot takes what came between the moments that are
 * the last ones before its ends, so that nothing is counted twice or left out.
 */
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "top/table_private.h"

struct trending {
    const struct top_feed *feed;
    const struct top_wish *wish;
    const struct top_orders *orders;
    const uint16_t *row_of;
    double (*counts)[TOP_BOUNDS_MAX]; /* by row; the last is the total */
    size_t n_rows;
};

static void slot_fill(struct trending *g, size_t slot, const struct top_moment *from,
                      const struct top_moment *to, struct top_table *t)
{
    const struct top_feed *f = g->feed;
    enum top_family stage = g->wish->trend;
    double q = top_quantiles[g->wish->quantile];
    memset(g->counts, 0, (g->n_rows + 1) * sizeof(*g->counts));
    for (size_t i = 0; i < f->n_series && from != to; i++) {
        if (f->series[i].family != stage)
            continue;
        double d = top_table_increase(from, to, i);
        g->counts[g->n_rows][f->series[i].bound] += d;
        if (g->row_of[i] < TOP_ROWS_MAX)
            g->counts[g->row_of[i]][f->series[i].bound] += d;
    }
    for (size_t k = 0; k <= g->n_rows; k++) {
        struct top_row *row = k < g->n_rows ? &t->rows[k] : &t->total;
        row->trend[slot] =
            (float)top_table_quantile(f, stage, g->orders->at[stage], g->counts[k], q);
    }
}

/* Before the first moment there is nothing to see. */
static const struct top_moment *at_or_none(const struct top_feed *f, int64_t t_ms)
{
    return f->moments[0].t_ms > t_ms ? NULL : top_feed_at(f, t_ms);
}

static void slot_clear(size_t slot, struct top_table *t)
{
    t->total.trend[slot] = NAN;
    for (size_t k = 0; k < t->n; k++)
        t->rows[k].trend[slot] = NAN;
}

int top_table_trends(const struct top_feed *f, const struct top_wish *w, const struct top_orders *o,
                     const uint16_t *row_of, struct top_table *t)
{
    struct trending g = {f, w, o, row_of, NULL, t->n};
    size_t n = w->n_trend < TOP_TREND_MAX ? w->n_trend : TOP_TREND_MAX;
    if (n == 0 || f->n_moments == 0)
        return 0;
    g.counts = mem_zalloc(t->n + 1, sizeof(*g.counts));
    if (!g.counts)
        return -ENOMEM;
    int64_t end_ms = f->moments[f->n_moments - 1].t_ms;
    for (size_t i = 0; i < n; i++) {
        int64_t from_ms = end_ms - w->trend_ms * (int64_t)(n - i) / (int64_t)n;
        int64_t to_ms = end_ms - w->trend_ms * (int64_t)(n - i - 1) / (int64_t)n;
        const struct top_moment *from = at_or_none(f, from_ms), *to = at_or_none(f, to_ms);
        if (from && to)
            slot_fill(&g, i, from, to, t);
        else
            slot_clear(i, t);
    }
    mem_free(g.counts);
    return 0;
}
