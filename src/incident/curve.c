/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void curve_init(struct curve *c, int64_t start_ms, struct arena *a)
{
    *c = (struct curve){.start_ms = start_ms, .step_ms = CURVE_STEP_MS, .arena = a};
}

static float together(float a, float b, bool is_mean)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return is_mean ? (a + b) / 2 : fmaxf(a, b);
}

static void rank(struct curve_series *s)
{
    s->max = -INFINITY;
    for (size_t k = 0; k < INCIDENT_POINTS_MAX; k++)
        s->max = fmaxf(s->max, s->at[k]);
}

static void fold(struct curve *c, bool is_mean)
{
    for (size_t i = 0; i < c->n_series; i++) {
        float *at = c->series[i].at;
        for (size_t k = 0; k < INCIDENT_POINTS_MAX / 2; k++)
            at[k] = together(at[2 * k], at[2 * k + 1], is_mean);
        for (size_t k = INCIDENT_POINTS_MAX / 2; k < INCIDENT_POINTS_MAX; k++)
            at[k] = NAN;
        rank(&c->series[i]);
    }
    c->step_ms *= 2;
    c->n_points = (c->n_points + 1) / 2;
}

void curve_reach(struct curve *c, int64_t until_ms, bool is_mean)
{
    while ((until_ms - c->start_ms) / c->step_ms >= INCIDENT_POINTS_MAX)
        fold(c, is_mean);
    if (until_ms < c->start_ms)
        return;
    size_t n = (size_t)((until_ms - c->start_ms) / c->step_ms) + 1;
    c->n_points = n > c->n_points ? n : c->n_points;
}

/* --- values --- */

static bool is_point(const struct column *col, size_t k)
{
    return col->has[k] && !(col->h && col->h[k]) && isfinite((float)col->v[k]);
}

static float largest(const struct column *col, size_t n)
{
    float max = -INFINITY;
    for (size_t k = 0; k < n; k++) {
        if (is_point(col, k))
            max = fmaxf(max, (float)col->v[k]);
    }
    return max;
}

/* Steps that fall on one point, first: a mean of many is none of means of two. */
static void add_points(const struct curve *c, const struct value *v, const struct column *col,
                       float *at, bool is_mean)
{
    for (size_t k = 0; k < v->n_steps;) {
        int64_t first_ms = v->start_ms + (int64_t)k * v->step_ms;
        size_t point = (size_t)((first_ms - c->start_ms) / c->step_ms);
        int64_t end_ms = c->start_ms + (int64_t)(point + 1) * c->step_ms;
        double sum = 0, max = -(double)INFINITY;
        size_t n = 0;
        for (; k < v->n_steps && v->start_ms + (int64_t)k * v->step_ms < end_ms; k++) {
            if (!is_point(col, k))
                continue;
            sum += col->v[k];
            max = fmax(max, col->v[k]);
            n++;
        }
        if (n > 0)
            at[point] = together(at[point], (float)(is_mean ? sum / (double)n : max), is_mean);
    }
}

static struct curve_series *find(struct curve *c, struct labels l)
{
    for (size_t i = 0; i < c->n_series; i++) {
        if (labels_eq(c->series[i].labels, l))
            return &c->series[i];
    }
    return NULL;
}

/* A place for a series with that maximum, or NULL. */
static struct curve_series *place_for(struct curve *c, float max)
{
    if (c->n_series < INCIDENT_SERIES_MAX)
        return &c->series[c->n_series];
    struct curve_series *least = &c->series[0];
    for (size_t i = 1; i < c->n_series; i++) {
        if (c->series[i].max < least->max)
            least = &c->series[i];
    }
    return max > least->max ? least : NULL;
}

static int add_new(struct curve *c, const struct value *v, const struct column *col, bool is_mean)
{
    float max = largest(col, v->n_steps);
    struct curve_series *place = place_for(c, max);
    struct curve_series s = {.max = max};
    if (max == -INFINITY || !place)
        return 0;
    bool is_taken = place < c->series + c->n_series;
    s.at = is_taken ? place->at : arena_array(c->arena, INCIDENT_POINTS_MAX, sizeof(*s.at));
    if (!s.at || labels_copy(c->arena, col->labels, &s.labels) < 0)
        return -ENOMEM;
    for (size_t k = 0; k < INCIDENT_POINTS_MAX; k++)
        s.at[k] = NAN;
    add_points(c, v, col, s.at, is_mean);
    *place = s;
    c->n_series += !is_taken;
    return 0;
}

static int by_max(const void *a, const void *b)
{
    const struct curve_series *x = a, *y = b;
    if (x->max != y->max)
        return x->max > y->max ? -1 : 1;
    return labels_cmp(x->labels, y->labels);
}

int curve_add(struct curve *c, const struct value *v, bool is_mean)
{
    size_t n_seen = 0;
    int r = 0;
    for (size_t i = 0; i < v->n_columns; i++) {
        struct curve_series *s = find(c, v->columns[i].labels);
        n_seen += largest(&v->columns[i], v->n_steps) != -INFINITY;
        if (!s)
            continue;
        add_points(c, v, &v->columns[i], s->at, is_mean);
        rank(s);
    }
    for (size_t i = 0; i < v->n_columns && r == 0; i++) {
        if (!find(c, v->columns[i].labels))
            r = add_new(c, v, &v->columns[i], is_mean);
    }
    if (n_seen > INCIDENT_SERIES_MAX && n_seen - INCIDENT_SERIES_MAX > c->n_left_out)
        c->n_left_out = n_seen - INCIDENT_SERIES_MAX;
    qsort(c->series, c->n_series, sizeof(c->series[0]), by_max);
    return r;
}
