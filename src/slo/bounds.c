/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/bounds.c - thresholds as bucket bounds.
 */
#include <string.h>

#include "slo/slo.h"

/* Keeps ret ascending and without doubles; returns how many there are then. */
static size_t insert(int64_t *ret, size_t n, int64_t v)
{
    size_t i = n;

    while (i > 0 && ret[i - 1] > v)
        i--;
    if (i > 0 && ret[i - 1] == v)
        return n;
    memmove(&ret[i + 1], &ret[i], (n - i) * sizeof(ret[0]));
    ret[i] = v;
    return n + 1;
}

size_t slo_bounds(const struct slo *slos, size_t n, enum slo_objective o, int64_t ret[SLO_MAX])
{
    size_t n_bounds = 0;

    for (size_t i = 0; i < n && n_bounds < SLO_MAX; i++) {
        const struct slo_target *t = &slos[i].targets[o];

        if (t->is_set && slo_objective_is_duration(o))
            n_bounds = insert(ret, n_bounds, t->threshold_ns);
    }
    return n_bounds;
}
