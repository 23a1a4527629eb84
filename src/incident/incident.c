/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/incident.h"

#include <errno.h>

#include "base/mem.h"
#include "base/utf8.h"

enum {
    TEXT_MAX_BYTES = 4096, /* of one annotation, of an expression */
    EVIDENCE_TIMES = 4,
    SAVE_UNTIL_MS = 10 * 60 * 1000,
};

int incident_new(int64_t from_ms, struct incident **ret)
{
    struct incident *c = mem_zalloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->from_ms = from_ms;
    c->is_dirty = true;
    arena_init(&c->arena, NULL);
    for (size_t i = 0; i < CURVES_MAX; i++)
        buf_init(&c->curves[i].packed, INCIDENT_PACKED_MAX);
    *ret = c;
    return 0;
}

struct incident *incident_free(struct incident *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < CURVES_MAX; i++)
        buf_done(&c->curves[i].packed);
    arena_done(&c->arena);
    mem_free(c->episodes);
    mem_free(c);
    return NULL;
}

/* --- tiers --- */

static bool is_tier(struct labels alert, struct span tier)
{
    return span_eq(labels_get(alert, SPAN("tier")), tier);
}

bool incident_is_grave(struct labels alert)
{
    return is_tier(alert, SPAN("P0")) || is_tier(alert, SPAN("P1"));
}

struct span incident_tier(const struct incident *c)
{
    for (size_t i = 0; i < c->n_episodes; i++) {
        if (is_tier(c->episodes[i].labels, SPAN("P0")))
            return SPAN("P0");
    }
    return SPAN("P1");
}

/* --- copies --- */

static struct span cut(struct span s)
{
    size_t n = 0;
    bool is_valid;
    if (s.n <= TEXT_MAX_BYTES)
        return s;
    while (n < s.n) {
        size_t step = utf8_step(span_from(s, n), &is_valid);
        if (n + step > TEXT_MAX_BYTES)
            break;
        n += step;
    }
    return span_of(s.p, n);
}

static int copy_text(struct arena *a, struct span s, struct span *ret)
{
    struct span copy = arena_dup(a, cut(s));
    if (!copy.p)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static int copy_texts(struct arena *a, struct labels l, struct labels *ret)
{
    struct label *at = arena_array(a, l.n, sizeof(*at));
    int r = at ? 0 : -ENOMEM;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        r = copy_text(a, l.at[i].name, &at[i].name);
        if (r == 0)
            r = copy_text(a, l.at[i].value, &at[i].value);
    }
    if (r == 0)
        *ret = (struct labels){at, l.n};
    return r;
}

/* --- episodes --- */

int incident_add_episode(struct incident *c, const struct incident_episode *e)
{
    if (c->n_episodes == c->_cap) {
        size_t cap = c->_cap ? c->_cap * 2 : 4;
        struct incident_episode *at = mem_realloc(c->episodes, cap * sizeof(*at));
        if (!at)
            return -ENOMEM;
        c->episodes = at;
        c->_cap = cap;
    }
    c->episodes[c->n_episodes++] = *e;
    c->n_firing += e->to_ms == 0;
    return 0;
}

struct incident_episode *incident_find(const struct incident *c, struct labels alert)
{
    uint64_t hash = labels_hash(alert);
    for (size_t i = c->n_episodes; i > 0; i--) {
        struct incident_episode *e = &c->episodes[i - 1];
        if (e->hash == hash && labels_eq(e->labels, alert))
            return e;
    }
    return NULL;
}

static int add_new(struct incident *c, const struct alert_notice *n)
{
    struct incident_episode e = {.hash = labels_hash(n->labels),
                                 .from_ms = n->starts_ms,
                                 .told_until_ms = n->ends_ms,
                                 .value = n->value,
                                 .last_value = n->value,
                                 .is_dirty = true};
    if (labels_copy(&c->arena, n->labels, &e.labels) < 0 ||
        copy_texts(&c->arena, n->annotations, &e.annotations) < 0 ||
        copy_text(&c->arena, n->expr, &e.expr) < 0 ||
        copy_text(&c->arena, n->generator_url, &e.url) < 0)
        return -ENOMEM;
    return incident_add_episode(c, &e);
}

static void go_on(struct incident *c)
{
    if (c->to_ms == 0)
        return;
    c->to_ms = 0;
    c->over_ms = 0;
    c->is_dirty = true;
}

/* The incident begins with its first alert, also where that is told late. */
static void include(struct incident *c, int64_t from_ms)
{
    c->is_dirty = c->is_dirty || from_ms < c->from_ms;
    c->from_ms = from_ms < c->from_ms ? from_ms : c->from_ms;
}

/* NaN is as good as NaN: what is told again changes nothing. */
static bool is_same(double a, double b)
{
    return a == b || (a != a && b != b);
}

static void fire_again(struct incident *c, struct incident_episode *e, const struct alert_notice *n)
{
    if (e->to_ms != 0) {
        e->to_ms = 0;
        e->is_dirty = true;
        c->n_firing++;
        go_on(c);
    }
    if (!is_same(e->last_value, n->value)) {
        e->last_value = n->value;
        e->is_dirty = true;
    }
    e->told_until_ms = n->ends_ms;
    if (e->told_until_ms - e->saved_until_ms > SAVE_UNTIL_MS)
        e->is_dirty = true;
}

int incident_fire(struct incident *c, const struct alert_notice *n)
{
    struct incident_episode *e = incident_find(c, n->labels);
    bool is_full = c->n_episodes >= INCIDENT_ALERTS_MAX;
    if (e && (e->to_ms == 0 || e->from_ms == n->starts_ms || is_full)) {
        fire_again(c, e, n);
        return 0;
    }
    if (is_full) {
        c->is_dirty = c->is_dirty || !c->is_cut;
        c->is_cut = true;
        return 0;
    }
    int r = add_new(c, n);
    if (r < 0)
        return r;
    go_on(c);
    include(c, n->starts_ms);
    c->is_dirty = true; /* its summary */
    return 0;
}

/* --- the end --- */

static void end(struct incident *c, struct incident_episode *e, int64_t to_ms, int64_t now_ms)
{
    e->to_ms = to_ms > e->from_ms ? to_ms : e->from_ms;
    e->to_ms = e->to_ms > 0 ? e->to_ms : 1; /* 0 would be: it fires */
    e->is_dirty = true;
    c->is_dirty = true;
    if (--c->n_firing > 0)
        return;
    c->over_ms = now_ms;
    for (size_t i = 0; i < c->n_episodes; i++)
        c->to_ms = c->episodes[i].to_ms > c->to_ms ? c->episodes[i].to_ms : c->to_ms;
}

void incident_resolve(struct incident *c, const struct alert_notice *n, int64_t now_ms)
{
    struct incident_episode *e = incident_find(c, n->labels);
    if (!e || e->to_ms != 0)
        return;
    if (n->starts_ms < e->from_ms && n->ends_ms < e->from_ms)
        return; /* of the time before */
    e->last_value = n->value;
    end(c, e, n->ends_ms, now_ms);
}

void incident_expire(struct incident *c, int64_t now_ms)
{
    for (size_t i = 0; i < c->n_episodes; i++) {
        struct incident_episode *e = &c->episodes[i];
        if (e->to_ms == 0 && e->told_until_ms <= now_ms)
            end(c, e, e->told_until_ms, now_ms);
    }
}

/* --- evidence --- */

int incident_add_evidence(struct incident *c, struct labels alert, struct labels evidence,
                          bool *ret_is_there)
{
    struct incident_episode *e = incident_find(c, alert);
    struct labels copy;
    *ret_is_there = e != NULL;
    if (!e || labels_eq(e->evidence, evidence) || e->n_evidence == EVIDENCE_TIMES)
        return 0;
    if (copy_texts(&c->arena, evidence, &copy) < 0)
        return -ENOMEM;
    e->evidence = copy;
    e->n_evidence++;
    e->is_dirty = true;
    return 0;
}

int64_t incident_curves_end(const struct incident *c)
{
    return c->to_ms + INCIDENT_AFTER_MS;
}

bool incident_is_unsaved(const struct incident *c)
{
    bool is = c->is_dirty;
    for (size_t i = 0; i < c->n_episodes && !is; i++)
        is = c->episodes[i].is_dirty;
    for (size_t i = 0; i < curves_n && !is; i++)
        is = c->curves[i].is_dirty;
    return is;
}
