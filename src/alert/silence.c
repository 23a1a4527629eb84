/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence.c - silences come, change, end and go. Each is in an index by one value that it
 * asks for: of the matchers that are plain equations the one with the longest value names its
 * place.
 */
#include "alert/silence.h"

#include <errno.h>

#include "alert/silence_impl.h"
#include "base/mem.h"

enum { ID_BYTES = 36 };

static const int64_t keep_ms = INT64_C(5) * 24 * 3600 * 1000;

int silences_new(struct silences **ret)
{
    struct silences *s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    alert_map_init(&s->by_id);
    alert_map_init(&s->by_value);
    list_init(&s->loose);
    rng_seed_random(&s->rng);
    *ret = s;
    return 0;
}

static void entry_free(struct silence_entry *e)
{
    alert_matchers_done(&e->matchers);
    arena_done(&e->arena);
    mem_free(e);
}

struct silences *silences_free(struct silences *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        entry_free(s->all[i]);
    alert_map_done(&s->by_id);
    alert_map_done(&s->by_value);
    mem_free(s->all);
    mem_free(s);
    return NULL;
}

static struct silence_entry *find(const struct silences *s, struct span id)
{
    struct alert_map_node *node = alert_map_first(&s->by_id, silence_hash(id, SPAN("")));
    for (; node; node = alert_map_next(node)) {
        struct silence_entry *e = ALERT_MAP_ENTRY(node, struct silence_entry, by_id);
        if (span_eq(span_cstr(e->s.id), id))
            return e;
    }
    return NULL;
}

/* The equation that says most, or NULL. */
static const struct matcher *telling(const struct silence *s)
{
    const struct matcher *best = NULL;
    for (size_t i = 0; i < s->n_matchers; i++) {
        const struct matcher *m = &s->matchers[i];
        if (m->op == MATCH_EQ && m->value.n > 0 && (!best || m->value.n > best->value.n))
            best = m;
    }
    return best;
}

static void link_entry(struct silences *s, struct silence_entry *e)
{
    const struct matcher *m = telling(&e->s);
    alert_map_add(&s->by_id, &e->by_id, silence_hash(span_cstr(e->s.id), SPAN("")));
    list_init(&e->loose);
    e->number = ++s->number;
    e->asks_for = m;
    if (m)
        alert_map_add(&s->by_value, &e->by_value, silence_hash(m->name, m->value));
    else
        list_push_back(&s->loose, &e->loose);
}

static void unlink_entry(struct silences *s, struct silence_entry *e)
{
    alert_map_remove(&s->by_id, &e->by_id);
    if (e->asks_for)
        alert_map_remove(&s->by_value, &e->by_value);
    list_remove(&e->loose);
}

static int reserve(struct silences *s)
{
    if (s->n < s->cap)
        return 0;
    size_t cap = s->cap ? 2 * s->cap : 16;
    struct silence_entry **all = mem_realloc(s->all, cap * sizeof(struct silence_entry *));
    if (!all)
        return -ENOMEM;
    s->all = all;
    s->cap = cap;
    return 0;
}

static void add(struct silences *s, struct silence_entry *e)
{
    e->at = s->n;
    s->all[s->n++] = e;
    link_entry(s, e);
}

static void drop(struct silences *s, struct silence_entry *e)
{
    unlink_entry(s, e);
    s->all[e->at] = s->all[--s->n];
    s->all[e->at]->at = e->at;
    entry_free(e);
}

/* --- states --- */

enum silence_state silence_state(const struct silence *one, int64_t now_ms)
{
    if (now_ms >= one->ends_ms)
        return SILENCE_EXPIRED;
    return now_ms < one->starts_ms ? SILENCE_PENDING : SILENCE_ACTIVE;
}

static void expire(struct silence *one, int64_t now_ms)
{
    enum silence_state state = silence_state(one, now_ms);
    if (state == SILENCE_EXPIRED)
        return;
    if (state == SILENCE_PENDING)
        one->starts_ms = now_ms;
    one->ends_ms = now_ms;
    one->updated_ms = now_ms;
}

static bool has_same_matchers(const struct silence *a, const struct silence *b)
{
    if (a->n_matchers != b->n_matchers)
        return false;
    for (size_t i = 0; i < a->n_matchers; i++) {
        const struct matcher *x = &a->matchers[i], *y = &b->matchers[i];
        if (x->op != y->op || !span_eq(x->name, y->name) || !span_eq(x->value, y->value))
            return false;
    }
    return true;
}

/* Whether the old one may become the new one; else it stays as what was, and a new one begins. */
static bool may_change(const struct silence *from, const struct silence *to, int64_t now_ms)
{
    if (!has_same_matchers(from, to))
        return false;
    switch (silence_state(from, now_ms)) {
    case SILENCE_ACTIVE:
        return from->starts_ms / 1000 == to->starts_ms / 1000 && to->ends_ms >= now_ms;
    case SILENCE_PENDING:
        return to->starts_ms >= now_ms;
    default:
        return false;
    }
}

/* A random UUID, version 4. */
static void make_id(struct rng *rng, char id[ID_BYTES + 1])
{
    static const int parts[] = {8, 4, 4, 4, 12};
    char *at = id;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (i > 0)
            *at++ = '-';
        rng_hex(rng, at, parts[i]);
        at += parts[i];
    }
    *at = '\0';
    id[14] = '4';
    id[19] = "89ab"[rng_below(rng, 4)];
}

/* --- changes --- */

static void replace(struct silences *s, struct silence_entry *old, struct silence_entry *e)
{
    unlink_entry(s, old);
    e->at = old->at;
    s->all[e->at] = e;
    link_entry(s, e);
    entry_free(old);
}

static int set(struct silences *s, struct silence_entry *e, int64_t now_ms, struct err *reterr)
{
    struct silence_entry *old = e->s.id[0] ? find(s, span_cstr(e->s.id)) : NULL;
    if (e->s.id[0] && !old) {
        (void)err_set(reterr, -ENOENT, "there is no silence %s", e->s.id);
        err_hint(reterr, "leave \"id\" out to make a new one");
        return -ENOENT;
    }
    e->s.updated_ms = now_ms;
    if (old && may_change(&old->s, &e->s, now_ms)) {
        replace(s, old, e);
        return 0;
    }
    if (s->n >= SILENCES_MAX) {
        (void)err_set(reterr, -ENOSPC, "there are %d silences already", SILENCES_MAX);
        err_hint(reterr, "those that ended go after 5 days; use fewer, with patterns");
        return -ENOSPC;
    }
    int r = reserve(s);
    if (r < 0)
        return r;
    make_id(&s->rng, e->s.id);
    if (e->s.starts_ms < now_ms)
        e->s.starts_ms = now_ms;
    if (old)
        expire(&old->s, now_ms);
    add(s, e);
    return 0;
}

static struct silence_entry *entry_new(void)
{
    struct silence_entry *e = mem_zalloc(1, sizeof(*e));
    if (e) {
        arena_init(&e->arena, NULL);
        list_init(&e->loose);
    }
    return e;
}

int silences_set(struct silences *s, struct span json, int64_t now_ms, const struct silence **ret,
                 struct err *reterr)
{
    struct silence_entry *e = entry_new();
    if (!e)
        return -ENOMEM;
    int r = silence_read(json, now_ms, &e->arena, &e->matchers, &e->s, reterr);
    if (r == 0)
        r = set(s, e, now_ms, reterr);
    if (r < 0) {
        entry_free(e);
        return r;
    }
    *ret = &e->s;
    return 0;
}

int silences_expire(struct silences *s, struct span id, int64_t now_ms)
{
    struct silence_entry *e = find(s, id);
    if (!e)
        return -ENOENT;
    expire(&e->s, now_ms);
    return 0;
}

int silences_restore(struct silences *s, const struct silence *one)
{
    if (find(s, span_cstr(one->id)))
        return 0;
    if (s->n >= SILENCES_MAX)
        return -ENOSPC;
    struct silence_entry *e = entry_new();
    if (!e)
        return -ENOMEM;
    int r = silence_copy(one, &e->arena, &e->matchers, &e->s);
    if (r == 0)
        r = reserve(s);
    if (r < 0)
        entry_free(e);
    else
        add(s, e);
    return r;
}

void silences_clean(struct silences *s, int64_t now_ms, void (*gone)(void *ctx, const char *id),
                    void *ctx)
{
    for (size_t i = s->n; i-- > 0;) {
        struct silence_entry *e = s->all[i];
        if (e->s.ends_ms > now_ms - keep_ms)
            continue;
        if (gone)
            gone(ctx, e->s.id);
        drop(s, e);
    }
}

/* --- look up --- */

const struct silence *silences_get(const struct silences *s, struct span id)
{
    const struct silence_entry *e = find(s, id);
    return e ? &e->s : NULL;
}

size_t silences_n(const struct silences *s)
{
    return s->n;
}

const struct silence *silences_at(const struct silences *s, size_t i)
{
    return &s->all[i]->s;
}
