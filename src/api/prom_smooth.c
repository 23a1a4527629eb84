/* SPDX-License-Identifier: Apache-2.0 */
#include "api/prom_smooth.h"

#include <errno.h>
#include <math.h>

#include "promql/parse.h"

int prom_smooth_parse(struct span text, struct smooth *ret)
{
    struct span window = text;
    struct span kind = span_split(&window, ':');
    *ret = (struct smooth){0};
    if (text.n == 0)
        return 0;
    ret->kind = span_eq(kind, SPAN("sma"))   ? SMOOTH_SMA
                : span_eq(kind, SPAN("ema")) ? SMOOTH_EMA
                                             : SMOOTH_NONE;
    if (ret->kind == SMOOTH_NONE || window.n == 0)
        return -EINVAL;
    int r = promql_parse_duration(window, &ret->window_ms);
    return r == -ENOMEM ? r : r < 0 || ret->window_ms <= 0 ? -EINVAL : 0;
}

static bool is_float(const struct column *c, size_t i)
{
    return c->has[i] && !(c->h && c->h[i]);
}

/* Means of the points in (t - window, t]; before: a copy of the column. */
static void mean(struct column *c, const double *before, size_t n_steps, size_t n_window)
{
    for (size_t i = 0; i < n_steps; i++) {
        double sum = 0;
        size_t n = 0;
        for (size_t k = i + 1 > n_window ? i + 1 - n_window : 0; k <= i; k++) {
            if (is_float(c, k)) {
                sum += before[k];
                n++;
            }
        }
        if (is_float(c, i))
            c->v[i] = sum / (double)n;
    }
}

/* weight: of the point now. */
static void decay(struct column *c, size_t n_steps, double weight)
{
    for (size_t i = 1; i < n_steps; i++) {
        if (is_float(c, i) && is_float(c, i - 1))
            c->v[i] = weight * c->v[i] + (1 - weight) * c->v[i - 1];
    }
}

int prom_smooth_value(const struct smooth *s, struct value *v, struct arena *a,
                      int (*is_over)(void *ctx), void *ctx)
{
    if (s->kind == SMOOTH_NONE || v->n_steps < 2 || v->step_ms <= 0)
        return 0;
    double *before = arena_array(a, v->n_steps, sizeof(*before));
    if (!before)
        return -ENOMEM;
    size_t n_window = (size_t)((s->window_ms - 1) / v->step_ms + 1);
    double weight = 1 - exp2(-(double)v->step_ms / (double)s->window_ms);
    for (size_t i = 0; i < v->n_columns; i++) {
        int r = is_over ? is_over(ctx) : 0;
        if (r < 0)
            return r;
        memcpy(before, v->columns[i].v, v->n_steps * sizeof(*before));
        if (s->kind == SMOOTH_SMA)
            mean(&v->columns[i], before, v->n_steps, n_window);
        else
            decay(&v->columns[i], v->n_steps, weight);
    }
    return 0;
}
