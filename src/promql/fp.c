/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/fp.c - see fp.h.
 */
#include "promql/fp.h"

#include <stdlib.h>

void fp_mean_add(struct fp_mean *m, double v)
{
    m->n++;
    if (m->n <= 1) {
        m->s = (struct fp_sum){v, 0};
        return;
    }
    if (!m->is_incremental) {
        struct fp_sum next = m->s;
        fp_add(&next, v);
        if (!isinf(next.sum)) {
            m->s = next;
            return;
        }
        m->is_incremental = true;
        m->s.sum /= m->n - 1;
        m->s.c /= m->n - 1;
    }
    double q = (m->n - 1) / m->n;
    m->s.sum *= q;
    m->s.c *= q;
    fp_add(&m->s, v / m->n);
}

double fp_mean_get(const struct fp_mean *m)
{
    return m->is_incremental ? m->s.sum + m->s.c : m->s.sum / m->n + m->s.c / m->n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return isnan(y) - isnan(x);
    return (x > y) - (x < y);
}

/* Most windows and groups are small; qsort's calls would cost more than its order gains. */
void fp_sort(double *v, size_t n)
{
    if (n > 32) {
        qsort(v, n, sizeof(*v), compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        double x = v[i];
        size_t k = i;
        for (; k > 0 && compare(&v[k - 1], &x) > 0; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

double fp_quantile(double *v, size_t n, double q)
{
    if (n == 0 || isnan(q))
        return (double)NAN;
    if (q < 0)
        return -(double)INFINITY;
    if (q > 1)
        return (double)INFINITY;
    fp_sort(v, n);
    double rank = q * (double)(n - 1);
    size_t lower = (size_t)floor(rank);
    size_t upper = lower + 1 < n ? lower + 1 : n - 1;
    double weight = rank - floor(rank);
    return v[lower] * (1 - weight) + v[upper] * weight;
}
