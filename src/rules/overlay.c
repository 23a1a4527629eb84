/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/overlay.c - see overlay.h.
 *
 * Ids: those of the store's reader have OURS clear and are passed through; a series that has
 * samples on their way has OURS set and its place among them, which does not change during a query.
 */
#include "rules/overlay.h"

#include <errno.h>

#include "base/mem.h"

#define OURS (UINT64_C(1) << 63)

static const struct reader_ops overlay_ops;

void overlay_init(struct overlay *o)
{
    *o = (struct overlay){.reader = {&overlay_ops}};
}

/* --- samples on their way --- */

/* Room for one more of an array. */
static int reserve(void **at, size_t n, size_t *cap, size_t size)
{
    enum { CAP_MIN = 4 };
    size_t larger = *cap > 0 ? 2 * *cap : CAP_MIN;
    if (n < *cap)
        return 0;
    void *p = mem_realloc(*at, larger * size);
    if (!p)
        return -ENOMEM;
    *at = p;
    *cap = larger;
    return 0;
}

static int reserve_all(struct overlay *o, struct recorded *s)
{
    void *pending = o->pending, *series = o->at, *samples = s->at;
    int r = reserve(&pending, o->n_pending, &o->cap_pending, sizeof(*o->pending));
    o->pending = pending;
    if (r == 0)
        r = reserve(&series, o->n, &o->cap, sizeof(struct recorded *));
    o->at = series;
    if (r == 0)
        r = reserve(&samples, s->n, &s->cap, sizeof(*s->at));
    s->at = samples;
    return r;
}

static void push(struct overlay *o, struct recorded *s, const struct on_way *sample)
{
    if (s->n == 0) {
        s->i_overlay = o->n;
        o->at[o->n++] = recorded_ref(s);
    }
    s->at[s->n++] = *sample;
    o->n_samples++;
}

/* Drops the oldest or the newest n samples of a series, and it with its last. */
static void drop(struct overlay *o, struct recorded *s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        arena_done(&s->at[i].arena);
    memmove(&s->at[from], &s->at[from + n], (s->n - from - n) * sizeof(*s->at));
    s->n -= n;
    o->n_samples -= n;
    if (s->n > 0 || n == 0)
        return;
    o->at[s->i_overlay] = o->at[--o->n];
    o->at[s->i_overlay]->i_overlay = s->i_overlay;
    recorded_unref(&o->table, s);
}

int overlay_add(struct overlay *o, struct recorded *s, int64_t t_ms, double v,
                const struct fhist *h)
{
    struct on_way sample = {.t_ms = t_ms, .v = v, .number = UINT64_MAX};
    struct fhist *copy = NULL;
    bool is_shown = o->n_samples < OVERLAY_SAMPLES_MAX;
    int r = reserve_all(o, s);
    if (r < 0)
        return r;
    arena_init(&sample.arena, NULL);
    if (is_shown && h && (r = fhist_copy(&sample.arena, h, &copy)) < 0) {
        arena_done(&sample.arena);
        return r;
    }
    sample.h = copy;
    if (is_shown)
        push(o, s, &sample);
    o->pending[o->n_pending++] =
        (struct overlay_pending){recorded_ref(s), t_ms, v, h != NULL, is_shown};
    return 0;
}

void overlay_commit(struct overlay *o, uint64_t number)
{
    for (size_t i = 0; i < o->n_pending; i++) {
        const struct overlay_pending *p = &o->pending[i];
        if (p->is_shown)
            p->s->at[p->s->n - 1].number = number;
        p->s->last_ms = p->t_ms;
        p->s->last_v = p->v;
        p->s->was_hist = p->is_hist;
        recorded_unref(&o->table, p->s);
    }
    o->n_pending = 0;
}

void overlay_cancel(struct overlay *o)
{
    for (size_t i = 0; i < o->n_pending; i++) {
        const struct overlay_pending *p = &o->pending[i];
        if (p->is_shown)
            drop(o, p->s, p->s->n - 1, 1);
        recorded_unref(&o->table, p->s);
    }
    o->n_pending = 0;
}

/* Drops what the store shows by now. */
static void prune(struct overlay *o, uint64_t written)
{
    for (size_t i = o->n; i-- > 0;) {
        struct recorded *s = o->at[i];
        size_t n = 0;
        while (n < s->n && s->at[n].number <= written)
            n++;
        drop(o, s, 0, n);
    }
}

void overlay_done(struct overlay *o)
{
    overlay_cancel(o);
    prune(o, UINT64_MAX);
    mem_free(o->at);
    mem_free(o->pending);
    recorded_done(&o->table);
}

void overlay_open(struct overlay *o, struct reader *below, uint64_t written)
{
    prune(o, written);
    o->below = below;
    o->session++;
}

struct reader *overlay_reader(struct overlay *o)
{
    return o->n > 0 ? &o->reader : o->below;
}

/* --- reading --- */

static bool has_sample(const struct recorded *s, int64_t from_ms, int64_t to_ms)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].t_ms >= from_ms && s->at[i].t_ms <= to_ms)
            return true;
    return false;
}

/* The hash of the one name that a selector means; false: it may mean several. */
static bool wanted_name(const struct series_select *what, uint64_t *ret)
{
    for (size_t i = 0; i < what->n_matchers; i++)
        if (what->matchers[i].op == MATCH_EQ && span_eq(what->matchers[i].name, SPAN(LABEL_NAME))) {
            *ret = recorded_name_hash(what->matchers[i].value);
            return true;
        }
    return false;
}

/* Marks those on their way that match; returns how many. */
static size_t select_ours(struct overlay *o, const struct series_select *what)
{
    uint64_t name;
    bool is_one_name = wanted_name(what, &name);
    size_t n = 0;
    o->n_selects++;
    for (size_t i = 0; i < o->n; i++) {
        struct recorded *s = o->at[i];
        if ((is_one_name && s->name_hash != name) || !has_sample(s, what->from_ms, what->to_ms) ||
            !matcher_matches_all(what->matchers, what->n_matchers, s->labels))
            continue;
        s->selected = o->n_selects;
        n++;
    }
    return n;
}

static int matching_error(const struct series_select *what)
{
    for (size_t i = 0; i < what->n_matchers; i++)
        if (matcher_error(&what->matchers[i]) != 0)
            return matcher_error(&what->matchers[i]);
    return 0;
}

/* Those that the store has as well: read through us, and not listed again. Returns how many. */
static size_t meet(struct overlay *o, struct series_ref *refs, size_t n)
{
    size_t n_met = 0;
    for (size_t i = 0; i < n; i++) {
        struct recorded *s = recorded_find(&o->table, refs[i].labels);
        if (!s || s->n == 0)
            continue;
        s->below = refs[i].id;
        s->session = o->session;
        refs[i].id = OURS | s->i_overlay;
        if (s->selected == o->n_selects) {
            s->selected = 0;
            n_met++;
        }
    }
    return n_met;
}

static int on_select(struct reader *r, const struct series_select *what, struct arena *a,
                     struct series_ref **ret, size_t *ret_n)
{
    struct overlay *o = CONTAINER_OF(r, struct overlay, reader);
    size_t n = select_ours(o, what);
    int x = matching_error(what);
    if (x == 0)
        x = o->below->ops->select(o->below, what, a, ret, ret_n);
    if (x < 0 || n == 0)
        return x;
    n -= meet(o, *ret, *ret_n);
    if (n == 0)
        return 0;
    struct series_ref *refs = arena_array(a, *ret_n + n, sizeof(*refs));
    if (!refs)
        return -ENOMEM;
    if (*ret_n > 0)
        memcpy(refs, *ret, *ret_n * sizeof(*refs));
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i]->selected == o->n_selects)
            refs[(*ret_n)++] = (struct series_ref){o->at[i]->labels, OURS | i};
    *ret = refs;
    return 0;
}

static int add_sample(struct samples *out, const struct on_way *sample, enum series_aspect aspect)
{
    if (sample->h)
        return samples_add_hist(out, sample->t_ms, sample->h);
    bool is_counted = aspect == SERIES_COUNT && !series_is_stale(sample->v);
    return samples_add(out, sample->t_ms, is_counted ? 1 : sample->v);
}

static int on_samples(struct reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                      enum series_aspect aspect, struct samples *out)
{
    struct overlay *o = CONTAINER_OF(r, struct overlay, reader);
    if ((id & OURS) == 0)
        return o->below->ops->samples(o->below, id, from_ms, to_ms, aspect, out);
    const struct recorded *s = o->at[id & ~OURS];
    int x = 0;
    if (s->session == o->session)
        x = o->below->ops->samples(o->below, s->below, from_ms, to_ms, aspect, out);
    for (size_t i = 0; i < s->n && x == 0; i++) {
        const struct on_way *sample = &s->at[i];
        bool is_newer = out->n == 0 || sample->t_ms > out->t[out->n - 1];
        if (is_newer && sample->t_ms >= from_ms && sample->t_ms <= to_ms)
            x = add_sample(out, sample, aspect);
    }
    return x;
}

static int64_t on_resolution(struct reader *r, int64_t t_ms)
{
    const struct overlay *o = CONTAINER_OF(r, struct overlay, reader);
    return o->below->ops->resolution(o->below, t_ms);
}

static const struct reader_ops overlay_ops = {
    .select = on_select,
    .samples = on_samples,
    .resolution = on_resolution,
};
