/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/downsample.c - from a day of raw samples to few.
 *
 * A counter's increase over any time is the sum of its steps up, so the last sample of each window
 * and the two at each reset give the same increases between windows as all samples do. The first
 * sample of a day or behind a stale marker is kept as well: what came before it is no step.
 */
#include <math.h>

#include "tsdb/tsdb_private.h"

static int64_t window_of(int64_t t_ms, int64_t resolution_ms)
{
    return t_ms / resolution_ms - (t_ms % resolution_ms < 0);
}

/* --- cumulative: the last of each window, and those around resets --- */

/* A sample that was read, with memory for its histogram. */
struct held {
    struct arena arena;
    const struct fhist *hist;
    int64_t t;
    double v;
    bool is_stale, is_written;
};

struct thinning {
    struct tschunk *out;
    int64_t resolution_ms;
    struct held held[2];
    int at; /* the sample before */
    bool has_before;
};

static int hold(struct held *h, const struct tschunk_walk *w)
{
    struct fhist *copy = NULL;
    arena_reset(&h->arena);
    if (w->hist && fhist_copy(&h->arena, w->hist, &copy) < 0)
        return -ENOMEM;
    h->hist = copy;
    h->t = w->t;
    h->v = w->values[0];
    h->is_stale = series_is_stale(h->v);
    h->is_written = false;
    return 0;
}

static int write_held(struct tschunk *out, struct held *h)
{
    if (h->is_written)
        return 0;
    h->is_written = true;
    return h->hist ? tschunk_append_hist(out, h->t, h->hist) : tschunk_append(out, h->t, h->v);
}

static bool is_reset(const struct held *now, const struct held *before)
{
    if (now->is_stale || before->is_stale)
        return false;
    if (!now->hist != !before->hist)
        return true;
    return now->hist ? fhist_is_reset(now->hist, before->hist) : now->v < before->v;
}

static int thin(struct thinning *x, const struct tschunk_walk *w)
{
    struct held *before = &x->held[x->at], *now = &x->held[1 - x->at];
    int r = hold(now, w);
    if (r < 0)
        return r;
    bool is_new = !x->has_before || now->is_stale || before->is_stale || is_reset(now, before);
    bool is_next_window = x->has_before && window_of(now->t, x->resolution_ms) !=
                                               window_of(before->t, x->resolution_ms);
    if (x->has_before && (is_new || is_next_window))
        r = write_held(x->out, before);
    if (r == 0 && is_new)
        r = write_held(x->out, now);
    x->at = 1 - x->at;
    x->has_before = true;
    return r;
}

static int downsample_cumulative(struct tschunk_walk *w, int64_t resolution_ms, struct tschunk *out)
{
    struct thinning x = {.out = out, .resolution_ms = resolution_ms};
    int r;
    arena_init(&x.held[0].arena, NULL);
    arena_init(&x.held[1].arena, NULL);
    while ((r = tschunk_walk_next(w)) == 1)
        if ((r = thin(&x, w)) < 0)
            break;
    if (r == 0 && x.has_before)
        r = write_held(out, &x.held[x.at]);
    arena_done(&x.held[0].arena);
    arena_done(&x.held[1].arena);
    return r;
}

/* --- gauges: a summary of each window --- */

static void summary_of_one(double v, double *values)
{
    values[TSCHUNK_LAST] = values[TSCHUNK_MIN] = values[TSCHUNK_MAX] = values[TSCHUNK_SUM] = v;
    values[TSCHUNK_COUNT] = 1.0;
}

/* As min_over_time and its kin do: NaN only while there is nothing else. */
static void summary_add(double v, double *values)
{
    values[TSCHUNK_LAST] = v;
    values[TSCHUNK_SUM] += v;
    values[TSCHUNK_COUNT] += 1.0;
    if (isnan(values[TSCHUNK_MIN]) || v < values[TSCHUNK_MIN])
        values[TSCHUNK_MIN] = v;
    if (isnan(values[TSCHUNK_MAX]) || v > values[TSCHUNK_MAX])
        values[TSCHUNK_MAX] = v;
}

struct summing {
    struct tschunk *out;
    double values[TSCHUNK_SUMMARY];
    int64_t t;
    bool has_any;
};

static int summary_write(struct summing *x)
{
    if (!x->has_any)
        return 0;
    x->has_any = false;
    return tschunk_append_summary(x->out, x->t, x->values);
}

static int summary_take(struct summing *x, int64_t t_ms, double v, int64_t resolution_ms)
{
    int r = 0;
    bool is_stale = series_is_stale(v);
    if (x->has_any &&
        (is_stale || window_of(t_ms, resolution_ms) != window_of(x->t, resolution_ms)))
        r = summary_write(x);
    if (r < 0)
        return r;
    if (x->has_any)
        summary_add(v, x->values);
    else
        summary_of_one(v, x->values);
    x->t = t_ms;
    x->has_any = true;
    return is_stale ? summary_write(x) : 0;
}

static int downsample_gauge(struct tschunk_walk *w, int64_t resolution_ms, struct tschunk *out)
{
    struct summing x = {.out = out};
    int r;
    while ((r = tschunk_walk_next(w)) == 1)
        if (!w->hist && (r = summary_take(&x, w->t, w->values[0], resolution_ms)) < 0)
            break;
    return r < 0 ? r : summary_write(&x);
}

int downsample_day(struct span day, int64_t resolution_ms, struct tschunk *out)
{
    struct tschunk_walk w;
    int r = tschunk_walk_begin(&w, day);
    if (r < 0)
        return r;
    r = out->n_columns == TSCHUNK_SUMMARY ? downsample_gauge(&w, resolution_ms, out)
                                          : downsample_cumulative(&w, resolution_ms, out);
    tschunk_walk_end(&w);
    return r;
}

/* --- chunk to chunk --- */

static int carry_one(const struct tschunk_walk *w, struct tschunk *out)
{
    double values[TSCHUNK_SUMMARY];
    if (out->n_columns == TSCHUNK_PLAIN)
        return w->hist ? tschunk_append_hist(out, w->t, w->hist)
                       : tschunk_append(out, w->t, w->values[TSCHUNK_LAST]);
    if (w->hist)
        return 0; /* no summary has room for it */
    if (w->n_columns == TSCHUNK_SUMMARY)
        return tschunk_append_summary(out, w->t, w->values);
    summary_of_one(w->values[0], values);
    return tschunk_append_summary(out, w->t, values);
}

int downsample_carry(struct span chunk, int64_t from_ms, int64_t to_ms, struct tschunk *out)
{
    struct tschunk_walk w;
    int r = tschunk_walk_begin(&w, chunk);
    if (r < 0)
        return r;
    while ((r = tschunk_walk_next(&w)) == 1) {
        bool is_newer = out->n == 0 || w.t > out->t_last;
        if (w.t >= from_ms && w.t < to_ms && is_newer && (r = carry_one(&w, out)) < 0)
            break;
    }
    tschunk_walk_end(&w);
    return r < 0 ? r : 0;
}
