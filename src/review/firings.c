/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/firings.c - from the samples of ALERTS to times during which an alert was active.
 *
 * A sample stands for the evaluation that wrote it; a summary of a coarser tier for as many as it
 * counts, the last of them at its own time. A stale marker ends what was there, at its time exactly
 * and in every tier; without one it ends LOOKBACK_MS behind the last sample, as in queries. Pending
 * and firing follow each other without a gap: at the moment when the one is stale, the other has
 * its first sample.
 *
 * After a restart of the evaluator an alert with a `for` fires again without having waited for it:
 * that is the same firing.
 */
#include <errno.h>
#include <stdlib.h>

#include "review/review_private.h"

enum { LOOKBACK_MS = 5 * 60 * 1000, RESTART_MS = 10 * 60 * 1000 };

struct found {
    struct labels labels;
    uint64_t id;
    bool is_firing;
};

/* Samples of one state without a break. */
struct piece {
    int64_t from_ms, to_ms;
    bool is_firing, is_cut;
};

struct work {
    struct review *r;
    struct samples samples;
    struct arena scratch; /* pieces of one alert */
    struct piece *pieces;
    size_t n, cap;
};

/* --- pieces --- */

static int piece_add(struct work *w, struct piece p)
{
    struct piece *at = arena_grow(&w->scratch, w->pieces, w->n, 1, &w->cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    w->pieces = at;
    at[w->n++] = p;
    return 0;
}

/* When the first evaluation was that a sample stands for. */
static int64_t begin_of(int64_t t_ms, double n_evaluations, int64_t step_ms)
{
    enum { MOST = 100000 };
    return n_evaluations > 1 && n_evaluations < MOST ? t_ms - (int64_t)(n_evaluations - 1) * step_ms
                                                     : t_ms;
}

static void see_alerts_at(struct review *r, int64_t t_ms)
{
    if (t_ms < r->alerts_first_ms)
        r->alerts_first_ms = t_ms;
    if (t_ms > r->alerts_last_ms)
        r->alerts_last_ms = t_ms;
}

/* The last one: what is still active goes up to the end of the period. */
static int piece_end(struct work *w, struct piece p, int64_t last_ms, int64_t step_ms)
{
    bool is_active = w->r->q.to_ms - last_ms <= LOOKBACK_MS;
    p.to_ms = is_active ? w->r->q.to_ms : last_ms + step_ms;
    p.is_cut = p.is_cut || is_active;
    return piece_add(w, p);
}

static int pieces_of(struct work *w, bool is_firing, int64_t step_ms)
{
    const struct samples *s = &w->samples;
    struct piece p = {.is_firing = is_firing};
    int64_t last_ms = 0, floor_ms = w->r->q.from_ms;
    bool is_open = false;
    int error = 0;
    for (size_t i = 0; i < s->n && error == 0; i++) {
        int64_t t = s->t[i], begin_ms = begin_of(t, s->v[i], step_ms);
        bool is_stale = series_is_stale(s->v[i]);
        if (begin_ms < floor_ms)
            begin_ms = floor_ms;
        see_alerts_at(w->r, t);
        if (is_open && (is_stale || begin_ms - last_ms > LOOKBACK_MS)) {
            p.to_ms = is_stale && t - last_ms <= LOOKBACK_MS ? t : last_ms + step_ms;
            floor_ms = p.to_ms;
            error = piece_add(w, p);
            is_open = false;
        }
        if (!is_stale && !is_open) {
            p.from_ms = begin_ms;
            p.is_cut = begin_ms - w->r->q.from_ms < 2 * step_ms;
            is_open = true;
        }
        if (!is_stale)
            last_ms = t;
    }
    return is_open && error == 0 ? piece_end(w, p, last_ms, step_ms) : error;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->from_ms != y->from_ms)
        return x->from_ms < y->from_ms ? -1 : 1;
    return x->is_firing - y->is_firing;
}

/* --- firings --- */

static int firing_add(struct work *w, struct alert_series *s, const struct piece *p)
{
    struct firing *at = arena_grow(&w->r->arena, s->at, s->n, 1, &s->cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    s->at = at;
    at[s->n++] = (struct firing){.from_ms = p->from_ms, .to_ms = p->from_ms};
    return 0;
}

static int firing_take(struct work *w, struct alert_series *s, const struct piece *p,
                       int64_t step_ms)
{
    struct firing *f = s->n > 0 ? &s->at[s->n - 1] : NULL;
    if (!f || p->from_ms > f->to_ms + step_ms / 2) {
        int error = firing_add(w, s, p);
        if (error < 0)
            return error;
        f = &s->at[s->n - 1];
    }
    if (p->is_firing && f->firing_ms == 0)
        f->fired_ms = p->from_ms;
    if (p->is_firing)
        f->firing_ms += p->to_ms - p->from_ms;
    if (p->to_ms > f->to_ms)
        f->to_ms = p->to_ms;
    f->is_cut = f->is_cut || p->is_cut;
    return 0;
}

/* Whether next fires without having been pending for as long as it has to. */
static bool is_resumed(const struct rule_row *row, const struct firing *f,
                       const struct firing *next)
{
    if (!row->rule || row->rule->for_ms == 0 || f->firing_ms == 0 || next->firing_ms == 0)
        return false;
    return next->from_ms - f->to_ms <= RESTART_MS &&
           next->fired_ms - next->from_ms < row->rule->for_ms - row->step_ms;
}

static void join_resumed(const struct rule_row *row, struct alert_series *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct firing *f = n > 0 ? &s->at[n - 1] : NULL;
        if (f && is_resumed(row, f, &s->at[i])) {
            f->to_ms = s->at[i].to_ms;
            f->firing_ms += s->at[i].firing_ms;
            f->is_cut = f->is_cut || s->at[i].is_cut;
        } else {
            s->at[n++] = s->at[i];
        }
    }
    s->n = n;
}

/* --- series --- */

static int read_state(struct work *w, const struct found *f, int64_t step_ms)
{
    struct reader *reader = w->r->q.reader;
    int error = review_is_over(w->r);
    samples_clear(&w->samples);
    if (error == 0)
        error = reader->ops->samples(reader, f->id, w->r->q.from_ms, w->r->q.to_ms, SERIES_COUNT,
                                     &w->samples);
    return error == 0 ? pieces_of(w, f->is_firing, step_ms) : error;
}

/* All of one label set: up to two states. */
static int read_alert(struct work *w, const struct found *f, size_t n, struct alert_series *s)
{
    *s = (struct alert_series){.labels = f->labels};
    int error = rule_rows_find(w->r, f->labels, &s->row);
    int64_t step_ms = error == 0 ? w->r->rows[s->row].step_ms : 0;
    arena_reset(&w->scratch);
    w->pieces = NULL;
    w->n = w->cap = 0;
    for (size_t i = 0; i < n && error == 0; i++)
        error = read_state(w, &f[i], step_ms);
    if (w->n > 0)
        qsort(w->pieces, w->n, sizeof(*w->pieces), compare_pieces);
    for (size_t i = 0; i < w->n && error == 0; i++)
        error = firing_take(w, s, &w->pieces[i], step_ms);
    if (error == 0)
        join_resumed(&w->r->rows[s->row], s);
    return error;
}

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int r = labels_cmp(x->labels, y->labels);
    return r != 0 ? r : x->is_firing - y->is_firing;
}

static int found_take(struct review *r, const struct series_ref *refs, size_t n, struct found **ret)
{
    static const struct span names[] = {SPAN_INIT(LABEL_NAME), SPAN_INIT("alertstate")};
    struct found *at = arena_array(&r->arena, n, sizeof(*at));
    struct labels l;
    int error = at ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && error == 0; i++) {
        struct span state = labels_get(refs[i].labels, names[1]);
        error = labels_without(&r->arena, refs[i].labels, names, ARRAY_LEN(names), &l);
        at[i] = (struct found){l, refs[i].id, span_eq(state, SPAN("firing"))};
    }
    if (error == 0 && n > 0)
        qsort(at, n, sizeof(*at), compare_found);
    *ret = at;
    return error;
}

static int read_all(struct work *w, const struct found *at, size_t n)
{
    struct review *r = w->r;
    int error = 0;
    r->series = arena_zalloc(&r->arena, n, sizeof(*r->series));
    if (!r->series)
        return -ENOMEM;
    for (size_t i = 0, next; i < n && error == 0; i = next) {
        for (next = i + 1; next < n && labels_eq(at[next].labels, at[i].labels); next++)
            ;
        error = read_alert(w, &at[i], next - i, &r->series[r->n_series]);
        r->n_series += error == 0;
    }
    return error;
}

int firings_read(struct review *r, struct err *reterr)
{
    struct work w = {.r = r};
    struct matcher m;
    struct series_ref *refs = NULL;
    struct found *at = NULL;
    size_t n = 0;
    r->alerts_first_ms = INT64_MAX;
    r->alerts_last_ms = INT64_MIN;
    int error = matcher_init(&r->arena, MATCH_EQ, SPAN(LABEL_NAME), SPAN("ALERTS"), &m, reterr);
    if (error < 0)
        return review_fail(r, error, reterr);
    samples_init(&w.samples, &r->budget);
    arena_init(&w.scratch, &r->budget);
    const struct series_select what = {&m, 1, r->q.from_ms, r->q.to_ms};
    error = r->q.reader->ops->select(r->q.reader, &what, &r->arena, &refs, &n);
    if (error == 0)
        error = found_take(r, refs, n, &at);
    if (error == 0)
        error = read_all(&w, at, n);
    samples_done(&w.samples);
    arena_done(&w.scratch);
    matcher_done(&m);
    return error < 0 ? review_fail(r, error, reterr) : 0;
}
