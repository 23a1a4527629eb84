/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents_read.c - lists, one whole, alerts for reviews: of memory for those that live,
 * else of the file.
 */
#include <errno.h>

#include "base/limits.h"
#include "incident/incidents_private.h"

enum { LIMIT_DEFAULT = 100 };

int incidents_seen(struct incidents *i, int r)
{
    if (r == -EBADMSG)
        atomic_store(&i->is_damaged, true);
    return r;
}

int incidents_reader(struct incidents *i, struct db **ret)
{
    int r = i->reader ? 0 : incident_db_open_reader(i->path, &i->reader);
    if (r == 0)
        *ret = i->reader;
    return incidents_seen(i, r == -ENOENT ? -EIO : r); /* it is gone: the next tick makes another */
}

struct incident *incidents_find_live(const struct incidents *i, struct span id)
{
    struct incident *c = i->live;
    while (c && !span_eq(span_cstr(c->id), id))
        c = c->next;
    return c;
}

/* --- lists --- */

/* Summaries of those that live, newest first, and where to put all. */
struct listing {
    struct incident_summary live[INCIDENTS_LIVE_MAX + 1];
    size_t n_live, n_told; /* of those */
    size_t n_left;         /* of the limit */
    struct jsonw *w;
};

static int summarise(const struct incident *c, struct arena *a, struct incident_summary *ret)
{
    struct buf names;
    buf_init(&names, MIB);
    int r = incident_db_names(c, &names);
    *ret = (struct incident_summary){.row = c->row,
                                     .id = arena_dup(a, span_cstr(c->id)),
                                     .state = c->state,
                                     .from_ms = c->from_ms,
                                     .to_ms = c->to_ms,
                                     .tier = incident_tier(c),
                                     .n_alerts = (int64_t)c->n_episodes,
                                     .n_firing = (int64_t)c->n_firing,
                                     .names = arena_dup(a, buf_span(&names))};
    if (r == 0 && (!ret->id.p || !ret->names.p))
        r = -ENOMEM;
    buf_done(&names);
    return r;
}

static bool is_wanted(const struct incidents_filter *f, const struct incident *c)
{
    return (f->from_ms == 0 || c->to_ms == 0 || c->to_ms >= f->from_ms) &&
           (f->to_ms == 0 || c->from_ms <= f->to_ms) &&
           (!f->only_open || c->state == INCIDENT_OPEN);
}

static bool is_newer(const struct incident_summary *a, const struct incident_summary *b)
{
    return a->from_ms != b->from_ms ? a->from_ms > b->from_ms : a->row > b->row;
}

static int take_live(const struct incidents *i, const struct incidents_filter *f, struct arena *a,
                     struct listing *l)
{
    int r = 0;
    for (const struct incident *c = i->live; c && r == 0; c = c->next) {
        struct incident_summary one;
        if (!is_wanted(f, c) || l->n_live == ARRAY_LEN(l->live))
            continue;
        r = summarise(c, a, &one);
        size_t k = l->n_live++;
        for (; k > 0 && is_newer(&one, &l->live[k - 1]); k--)
            l->live[k] = l->live[k - 1];
        l->live[k] = one;
    }
    return r;
}

static void tell(struct listing *l, const struct incident_summary *s)
{
    if (l->n_left == 0)
        return;
    l->n_left--;
    incident_write_summary(s, l->w);
}

static bool is_live(const struct listing *l, int64_t row)
{
    for (size_t k = 0; k < l->n_live; k++) {
        if (l->live[k].row == row)
            return true;
    }
    return false;
}

static int visit(void *ctx, const struct incident_summary *s)
{
    struct listing *l = ctx;
    if (is_live(l, s->row))
        return 0;
    while (l->n_told < l->n_live && is_newer(&l->live[l->n_told], s))
        tell(l, &l->live[l->n_told++]);
    tell(l, s);
    return jsonw_error(l->w);
}

static int list(struct incidents *i, struct incidents_filter *f, struct arena *a, struct listing *l)
{
    struct db *d;
    int r = incidents_reader(i, &d);
    for (size_t k = 0; k < l->n_live && r == 0; k++)
        r = incident_db_add_acts(d, a, &l->live[k]);
    if (r == 0)
        r = incident_db_list(d, f, visit, l);
    return incidents_seen(i, r);
}

int incidents_write(struct incidents *i, const struct incidents_filter *f, struct jsonw *w)
{
    struct arena a;
    struct listing l = {.n_left = f->limit ? f->limit : LIMIT_DEFAULT, .w = w};
    struct incidents_filter wanted = *f;
    arena_init(&a, NULL);
    pthread_mutex_lock(&i->lock);
    int r = take_live(i, f, &a, &l);
    pthread_mutex_unlock(&i->lock);
    wanted.limit = l.n_left + l.n_live; /* some of the file's are told from memory */
    jsonw_begin_array(w);
    pthread_mutex_lock(&i->read_lock);
    if (r == 0)
        r = list(i, &wanted, &a, &l);
    pthread_mutex_unlock(&i->read_lock);
    while (r == 0 && l.n_told < l.n_live)
        tell(&l, &l.live[l.n_told++]);
    jsonw_end_array(w);
    arena_done(&a);
    return r < 0 ? r : jsonw_error(w);
}

/* --- one --- */

bool incident_view_is_noise(const struct incident_view *v, struct span name)
{
    for (size_t k = v->n_acts; k > 0; k--) {
        const struct incident_act *act = &v->acts[k - 1];
        if (act->kind >= INCIDENT_NOISE && (act->text.n == 0 || span_eq(act->text, name)))
            return act->kind == INCIDENT_NOISE;
    }
    return false;
}

const struct incident_act *incident_view_acknowledged(const struct incident_view *v)
{
    for (size_t k = 0; k < v->n_acts; k++) {
        if (v->acts[k].kind == INCIDENT_ACK)
            return &v->acts[k];
    }
    return NULL;
}

/* What people did, in v. */
static int add_acts(struct incidents *i, int64_t row, struct arena *a, struct incident_view *v)
{
    struct incident_act *acts = NULL;
    struct db *d;
    int r = incidents_reader(i, &d);
    if (r == 0)
        r = incident_db_acts(d, row, a, &acts, &v->n_acts);
    v->acts = acts;
    return incidents_seen(i, r);
}

typedef int (*shower)(const struct incident_view *v, void *out);

/* 0: it does not live. */
static int64_t live_row(struct incidents *i, struct span id, int64_t *ret_now_ms)
{
    pthread_mutex_lock(&i->lock);
    const struct incident *c = incidents_find_live(i, id);
    int64_t row = c ? c->row : 0;
    *ret_now_ms = i->last_ms;
    pthread_mutex_unlock(&i->lock);
    return row;
}

/* Whoever waits for the reading connection holds up nobody who has alerts to tell, so one lock
 * after the other. What people did may be missing where the file cannot be read. -ENOENT: it does
 * not live, or not any more. */
static int show_live(struct incidents *i, struct span id, struct incident_view *v, shower show,
                     void *out)
{
    struct arena a;
    int64_t row = live_row(i, id, &v->now_ms);
    if (row == 0)
        return -ENOENT;
    arena_init(&a, NULL);
    pthread_mutex_lock(&i->read_lock);
    int r = add_acts(i, row, &a, v);
    pthread_mutex_unlock(&i->read_lock);
    if (r != -ENOMEM) {
        pthread_mutex_lock(&i->lock);
        v->incident = incidents_find_live(i, id);
        r = v->incident ? show(v, out) : -ENOENT;
        pthread_mutex_unlock(&i->lock);
    }
    arena_done(&a);
    return r;
}

static int show_kept(struct incidents *i, struct span id, struct incident_view *v, shower show,
                     void *out)
{
    struct arena a;
    struct incident *c = NULL;
    struct db *d;
    arena_init(&a, NULL);
    pthread_mutex_lock(&i->read_lock);
    int r = incidents_reader(i, &d);
    if (r == 0)
        r = incidents_seen(i, incident_db_load_one(d, id, &c));
    v->incident = c;
    if (r == 0)
        r = add_acts(i, c->row, &a, v);
    pthread_mutex_unlock(&i->read_lock);
    if (r == 0)
        r = show(v, out);
    (void)incident_free(c);
    arena_done(&a);
    return r;
}

static int show(struct incidents *i, struct span id, shower how, void *out)
{
    struct incident_view v = {.range_ms = i->range_ms};
    int r = show_live(i, id, &v, how, out);
    return r == -ENOENT ? show_kept(i, id, &v, how, out) : r;
}

static int as_json(const struct incident_view *v, void *out)
{
    return incident_write_view(v, out);
}

static int as_markdown(const struct incident_view *v, void *out)
{
    return incident_markdown_print(v, out);
}

int incidents_write_one(struct incidents *i, struct span id, struct jsonw *w)
{
    return show(i, id, as_json, w);
}

int incidents_print_markdown(struct incidents *i, struct span id, struct buf *out)
{
    return show(i, id, as_markdown, out);
}

/* --- reviews --- */

struct review {
    int64_t now_ms;
    int (*visit)(void *ctx, const struct incident_alert *a);
    void *ctx;
};

static int visit_alert(void *ctx, const struct incident_alert *a)
{
    const struct review *v = ctx;
    struct incident_alert one = *a;
    if (one.is_firing)
        one.to_ms = v->now_ms > one.from_ms ? v->now_ms : one.from_ms;
    return v->visit(v->ctx, &one);
}

int incidents_each_alert(struct incidents *i, int64_t from_ms, int64_t to_ms,
                         int (*visit_one)(void *ctx, const struct incident_alert *a), void *ctx)
{
    struct review v = {.visit = visit_one, .ctx = ctx};
    struct db *d;
    pthread_mutex_lock(&i->lock);
    v.now_ms = i->last_ms;
    int r = incidents_flush(i, i->last_ms);
    pthread_mutex_unlock(&i->lock);
    if (r < 0)
        return r;
    pthread_mutex_lock(&i->read_lock);
    r = incidents_reader(i, &d);
    if (r == 0)
        r = incidents_seen(i, incident_db_each_alert(d, from_ms, to_ms, visit_alert, &v));
    pthread_mutex_unlock(&i->read_lock);
    return r;
}
