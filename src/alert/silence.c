/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence.c - silences, found by one value that they ask for: of the matchers that are plain
 * equations the one with the longest value names the place in the index. Those that have none are
 * looked at one by one. What that found is remembered with the labels, so that a look at all alerts
 * does not cost silences times alerts.
 */
#include "alert/silence.h"

#include <errno.h>

#include "alert/fingerprint.h"
#include "alert/map.h"
#include "alert/silence_impl.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"

enum { ID_BYTES = 36 };

static const int64_t keep_ms = INT64_C(5) * 24 * 3600 * 1000;

struct entry {
    struct silence s;
    struct arena arena; /* of all that s points to */
    struct alert_matchers matchers;
    struct alert_map_node by_id;
    const struct matcher *asks_for; /* the equation that says most, or NULL */
    struct alert_map_node by_value; /* where there is one */
    struct list loose;              /* else */
    size_t at;                      /* in all */
    uint64_t number;                /* of when it came or was changed, from 1 */
};

struct silences {
    struct entry **all;
    size_t n, cap;
    struct alert_map by_id, by_value;
    struct list loose; /* by number */
    uint64_t number;   /* of the last one */
    struct rng rng;
};

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

static void entry_free(struct entry *e)
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

static uint64_t hash_of(struct span a, struct span b)
{
    return alert_fingerprint_add(alert_fingerprint_add(ALERT_FINGERPRINT_NONE, a), b);
}

static struct entry *find(const struct silences *s, struct span id)
{
    struct alert_map_node *node = alert_map_first(&s->by_id, hash_of(id, SPAN("")));
    for (; node; node = alert_map_next(node)) {
        struct entry *e = ALERT_MAP_ENTRY(node, struct entry, by_id);
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

static void link_entry(struct silences *s, struct entry *e)
{
    const struct matcher *m = telling(&e->s);
    alert_map_add(&s->by_id, &e->by_id, hash_of(span_cstr(e->s.id), SPAN("")));
    list_init(&e->loose);
    e->number = ++s->number;
    e->asks_for = m;
    if (m)
        alert_map_add(&s->by_value, &e->by_value, hash_of(m->name, m->value));
    else
        list_push_back(&s->loose, &e->loose);
}

static void unlink_entry(struct silences *s, struct entry *e)
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
    struct entry **all = mem_realloc(s->all, cap * sizeof(struct entry *));
    if (!all)
        return -ENOMEM;
    s->all = all;
    s->cap = cap;
    return 0;
}

static void add(struct silences *s, struct entry *e)
{
    e->at = s->n;
    s->all[s->n++] = e;
    link_entry(s, e);
}

static void drop(struct silences *s, struct entry *e)
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

static void replace(struct silences *s, struct entry *old, struct entry *e)
{
    unlink_entry(s, old);
    e->at = old->at;
    s->all[e->at] = e;
    link_entry(s, e);
    entry_free(old);
}

static int set(struct silences *s, struct entry *e, int64_t now_ms, struct err *reterr)
{
    struct entry *old = e->s.id[0] ? find(s, span_cstr(e->s.id)) : NULL;
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

static struct entry *entry_new(void)
{
    struct entry *e = mem_zalloc(1, sizeof(*e));
    if (e) {
        arena_init(&e->arena, NULL);
        list_init(&e->loose);
    }
    return e;
}

int silences_set(struct silences *s, struct span json, int64_t now_ms, const struct silence **ret,
                 struct err *reterr)
{
    struct entry *e = entry_new();
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
    struct entry *e = find(s, id);
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
    struct entry *e = entry_new();
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
        struct entry *e = s->all[i];
        if (e->s.ends_ms > now_ms - keep_ms)
            continue;
        if (gone)
            gone(ctx, e->s.id);
        drop(s, e);
    }
}

/* --- look up --- */

void silence_memo_done(struct silence_memo *memo)
{
    mem_free(memo->matching);
    *memo = (struct silence_memo){.n = 0};
}

static bool remember(struct silence_memo *memo, const struct entry *e)
{
    for (size_t i = 0; i < memo->n; i++) {
        if (memo->matching[i] == e->by_id.hash)
            return true; /* it was changed */
    }
    if (memo->n == memo->cap) {
        size_t cap = memo->cap ? 2 * memo->cap : 4;
        uint64_t *matching = mem_realloc(memo->matching, cap * sizeof(*matching));
        if (!matching)
            return false;
        memo->matching = matching;
        memo->cap = cap;
    }
    memo->matching[memo->n++] = e->by_id.hash;
    return true;
}

static bool is_match(const struct entry *e, struct labels l)
{
    return matcher_matches_all(e->s.matchers, e->s.n_matchers, l);
}

/* An active one of those that are remembered. */
static const char *match_known(const struct silences *s, struct silence_memo *memo, struct labels l,
                               int64_t now_ms)
{
    for (size_t i = memo->n; i-- > 0;) {
        struct alert_map_node *node = alert_map_first(&s->by_id, memo->matching[i]);
        const struct entry *e = node ? ALERT_MAP_ENTRY(node, struct entry, by_id) : NULL;
        enum silence_state state = e ? silence_state(&e->s, now_ms) : SILENCE_EXPIRED;
        if (state == SILENCE_EXPIRED)
            memo->matching[i] = memo->matching[--memo->n];
        else if (state == SILENCE_ACTIVE && is_match(e, l)) /* another id may have that hash */
            return e->s.id;
    }
    return NULL;
}

struct look {
    struct silence_memo *memo;
    struct labels l;
    int64_t now_ms;
    const char *id;
    bool is_forgotten; /* there was no memory for one */
};

static void look_at(struct look *k, const struct entry *e)
{
    enum silence_state state = silence_state(&e->s, k->now_ms);
    if (e->number <= k->memo->seen || state == SILENCE_EXPIRED || !is_match(e, k->l))
        return;
    if (state == SILENCE_ACTIVE)
        k->id = e->s.id;
    if (!remember(k->memo, e))
        k->is_forgotten = true;
}

/* Those that ask for this value; hashes of others may be the same. */
static void look_at_value(struct look *k, const struct silences *s, const struct label *pair)
{
    struct alert_map_node *node = alert_map_first(&s->by_value, hash_of(pair->name, pair->value));
    for (; node; node = alert_map_next(node)) {
        const struct entry *e = ALERT_MAP_ENTRY(node, struct entry, by_value);
        if (span_eq(e->asks_for->name, pair->name))
            look_at(k, e);
    }
}

/* An active one of those that came or were changed since the last look. */
static const char *match_new(const struct silences *s, struct silence_memo *memo, struct labels l,
                             int64_t now_ms)
{
    struct look k = {.memo = memo, .l = l, .now_ms = now_ms};
    size_t n_known = memo->n;
    for (size_t i = 0; i < l.n && s->by_value.n > 0; i++)
        look_at_value(&k, s, &l.at[i]);
    for (struct list *at = s->loose.prev; at != &s->loose; at = at->prev) {
        const struct entry *e = CONTAINER_OF(at, struct entry, loose);
        if (e->number <= memo->seen)
            break;
        look_at(&k, e);
    }
    if (k.is_forgotten)
        memo->n = n_known; /* the next look begins where this one did */
    else
        memo->seen = s->number;
    return k.id;
}

const char *silences_match(const struct silences *s, struct silence_memo *memo, struct labels l,
                           int64_t now_ms)
{
    const char *id = match_known(s, memo, l, now_ms);
    return id || memo->seen == s->number ? id : match_new(s, memo, l, now_ms);
}

const struct silence *silences_get(const struct silences *s, struct span id)
{
    const struct entry *e = find(s, id);
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
