/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_slo_bounds.c - thresholds of objectives among the bounds of histograms, so that
 * dashboards and rules on a histogram can name them and count exactly.
 */
#include <errno.h>

#include "base/mem.h"
#include "daemon/config_slos.h"

enum metric config_slo_family(enum slo_objective o)
{
    static const enum metric families[SLO_ERRORS] = {[SLO_TTFT] = METRIC_TTFT,
                                                     [SLO_TPOT] = METRIC_TPOT,
                                                     [SLO_QUEUE] = METRIC_QUEUE,
                                                     [SLO_E2E] = METRIC_E2E};
    return slo_objective_is_duration(o) ? families[o] : METRIC_COUNT_;
}

/* As configured, else as by default. */
static struct metrics_bounds bounds_of(const struct config *c, enum metric m)
{
    for (size_t i = 0; i < c->bounds.n; i++) {
        if (c->bounds.items[i].metric == m)
            return c->bounds.items[i];
    }
    return (struct metrics_bounds){m, family_table[m].default_bounds,
                                   family_table[m].n_default_bounds};
}

size_t config_slo_bounds(const struct config *c, const struct slo *slos, size_t n,
                         enum slo_objective o, int64_t ret[HIST_BOUNDS_MAX])
{
    struct metrics_bounds base = bounds_of(c, config_slo_family(o));
    int64_t thresholds[SLO_MAX];
    size_t n_thresholds = slo_bounds(slos, n, o, thresholds);
    size_t i = 0, k = 0, n_all = 0;

    while (i < base.n || k < n_thresholds) {
        bool is_base = k == n_thresholds || (i < base.n && base.values[i] <= thresholds[k]);
        int64_t v = is_base ? base.values[i] : thresholds[k];

        k += k < n_thresholds && thresholds[k] == v;
        i += is_base;
        if (n_all < HIST_BOUNDS_MAX)
            ret[n_all] = v;
        n_all++;
    }
    return n_all;
}

static int bounds_add(struct config_bounds *b, enum metric m, const int64_t *values, size_t n)
{
    int64_t *copy = mem_alloc(n * sizeof(*copy) + 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, values, n * sizeof(*copy));
    b->items[b->n++] = (struct metrics_bounds){.metric = m, .values = copy, .n = n};
    return 0;
}

static bool is_objective(enum metric m)
{
    int o = 0;

    while (o < SLO_ERRORS && config_slo_family((enum slo_objective)o) != m)
        o++;
    return o < SLO_ERRORS;
}

int config_slo_bounds_build(struct config *c, const struct slo *slos, size_t n)
{
    struct config_bounds all = {.items = mem_zalloc(c->bounds.n + SLO_ERRORS, sizeof(*all.items))};
    int64_t values[HIST_BOUNDS_MAX];
    int r = all.items ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < c->bounds.n; i++) {
        const struct metrics_bounds *b = &c->bounds.items[i];

        if (!is_objective(b->metric))
            r = bounds_add(&all, b->metric, b->values, b->n);
    }
    for (int o = 0; r == 0 && o < SLO_ERRORS; o++) {
        size_t n_values = config_slo_bounds(c, slos, n, (enum slo_objective)o, values);

        r = bounds_add(&all, config_slo_family((enum slo_objective)o), values, n_values);
    }
    if (r < 0) {
        config_bounds_clear(&all);
        return r;
    }
    c->all_bounds = all;
    return 0;
}
