/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_log.c - what was told to whom.
 */
#include <errno.h>

#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"
#include "base/mem.h"

enum { HOUR_MS = 3600 * 1000, SWEEP_MS = 15 * 60 * 1000 };

/* What was told longer ago than this, and than two repeat intervals, says nothing any more. */
static const int64_t keep_ms = INT64_C(120) * HOUR_MS;

static uint64_t hash_of(struct span group_key, struct span receiver, int integration)
{
    uint64_t h = alert_fingerprint_add(ALERT_FINGERPRINT_NONE, group_key);
    h = alert_fingerprint_add(h, receiver);
    return (h ^ (uint64_t)(unsigned int)integration) * UINT64_C(0x100000001b3);
}

struct dispatch_entry *dispatch_entry_find(const struct dispatch *d, struct span group_key,
                                           struct span receiver, int integration)
{
    struct alert_map_node *node =
        alert_map_first(&d->entries, hash_of(group_key, receiver, integration));
    for (; node; node = alert_map_next(node)) {
        struct dispatch_entry *e = ALERT_MAP_ENTRY(node, struct dispatch_entry, node);
        if (e->log.integration == integration && span_eq(e->log.group_key, group_key) &&
            span_eq(e->log.receiver, receiver))
            return e;
    }
    return NULL;
}

static uint64_t *put_numbers(uint64_t *at, const uint64_t *from, size_t n)
{
    if (n > 0)
        memcpy(at, from, n * sizeof(*at));
    return at + n;
}

int dispatch_entry_new(const struct dispatch_log *l, struct dispatch_entry **ret)
{
    size_t numbers = (l->n_firing + l->n_resolved) * sizeof(uint64_t);
    struct dispatch_entry *e = mem_alloc(sizeof(*e) + numbers + l->group_key.n + l->receiver.n + 1);
    if (!e)
        return -ENOMEM;
    *e = (struct dispatch_entry){.log = *l, .firing = (void *)(e + 1)};
    list_init(&e->changed);
    e->log.firing = e->firing;
    e->log.resolved = put_numbers(e->firing, l->firing, l->n_firing);
    char *at = (void *)put_numbers(e->firing + l->n_firing, l->resolved, l->n_resolved);
    e->log.group_key = span_of(at, span_copy(l->group_key, at, l->group_key.n + 1));
    at += l->group_key.n;
    e->log.receiver = span_of(at, span_copy(l->receiver, at, l->receiver.n + 1));
    *ret = e;
    return 0;
}

static void entry_drop(struct dispatch *d, struct dispatch_entry *e)
{
    list_remove(&e->changed);
    alert_map_remove(&d->entries, &e->node);
    mem_free(e);
}

void dispatch_entry_mark(struct dispatch *d, struct dispatch_entry *e)
{
    list_remove(&e->changed);
    list_push_back(&d->changed, &e->changed);
}

void dispatch_entry_put(struct dispatch *d, struct dispatch_entry *e)
{
    struct dispatch_entry *old =
        dispatch_entry_find(d, e->log.group_key, e->log.receiver, e->log.integration);
    if (old)
        entry_drop(d, old);
    alert_map_add(&d->entries, &e->node,
                  hash_of(e->log.group_key, e->log.receiver, e->log.integration));
    dispatch_entry_mark(d, e);
}

void dispatch_entry_forget(struct dispatch *d, struct dispatch_entry *e, uint64_t fingerprint)
{
    for (size_t i = 0; i < e->log.n_firing; i++) {
        if (e->firing[i] != fingerprint)
            continue;
        memmove(e->firing + i, e->firing + i + 1, (e->log.n_firing - i - 1) * sizeof(uint64_t));
        e->log.n_firing--;
        dispatch_entry_mark(d, e);
        return;
    }
}

/* --- old ones --- */

struct sweep {
    struct dispatch *d;
    int64_t before_ms;
};

/* Gone is told once (dispatch_each_changed_log), then forgotten. */
static int sweep_one(void *ctx, struct alert_map_node *node)
{
    struct sweep *s = ctx;
    struct dispatch_entry *e = ALERT_MAP_ENTRY(node, struct dispatch_entry, node);
    if (e->is_gone) {
        entry_drop(s->d, e);
    } else if (e->log.told_ms < s->before_ms) {
        e->is_gone = true;
        e->log.told_ms = -1;
        dispatch_entry_mark(s->d, e);
    }
    return 0;
}

static int64_t longest_repeat(const struct alert_route *r)
{
    int64_t longest = r->repeat_interval_ms;
    for (size_t i = 0; i < r->n_routes; i++) {
        int64_t below = longest_repeat(&r->routes[i]); /* ALERT_FILE_DEPTH_MAX deep */
        longest = below > longest ? below : longest;
    }
    return longest;
}

void dispatch_entry_sweep(struct dispatch *d, int64_t now_ms)
{
    if (d->swept_ms != 0 && now_ms - d->swept_ms < SWEEP_MS && now_ms >= d->swept_ms)
        return;
    int64_t longest = 2 * longest_repeat(d->board->file->route);
    struct sweep s = {d, now_ms - (longest > keep_ms ? longest : keep_ms)};
    d->swept_ms = now_ms;
    (void)alert_map_each(&d->entries, sweep_one, &s); /* never ends early */
}

static int free_one(void *ctx, struct alert_map_node *node)
{
    (void)ctx;
    mem_free(ALERT_MAP_ENTRY(node, struct dispatch_entry, node));
    return 0;
}

void dispatch_entry_free_all(struct dispatch *d)
{
    (void)alert_map_each(&d->entries, free_one, NULL); /* never ends early */
    alert_map_done(&d->entries);
}

/* --- for the next start --- */

struct visitor {
    int (*visit)(void *ctx, const struct dispatch_log *l);
    void *ctx;
};

static int visit_one(void *ctx, struct alert_map_node *node)
{
    const struct visitor *v = ctx;
    const struct dispatch_entry *e = ALERT_MAP_ENTRY(node, struct dispatch_entry, node);
    return e->is_gone ? 0 : v->visit(v->ctx, &e->log);
}

int dispatch_each_log(const struct dispatch *d,
                      int (*visit)(void *ctx, const struct dispatch_log *l), void *ctx)
{
    struct visitor v = {visit, ctx};
    return alert_map_each(&d->entries, visit_one, &v);
}

int dispatch_each_changed_log(struct dispatch *d,
                              int (*visit)(void *ctx, const struct dispatch_log *l), void *ctx)
{
    int r = 0;
    while (!list_is_empty(&d->changed) && r == 0) {
        struct dispatch_entry *e = CONTAINER_OF(d->changed.next, struct dispatch_entry, changed);
        r = visit(ctx, &e->log);
        if (r == 0 && e->is_gone)
            entry_drop(d, e);
        else if (r == 0)
            list_remove(&e->changed);
    }
    return r;
}

int dispatch_restore(struct dispatch *d, const struct dispatch_log *l)
{
    struct dispatch_entry *e = dispatch_entry_find(d, l->group_key, l->receiver, l->integration);
    if (e && e->log.told_ms >= l->told_ms)
        return 0;
    int r = dispatch_entry_new(l, &e);
    if (r < 0)
        return r;
    dispatch_entry_put(d, e);
    list_remove(&e->changed);
    return 0;
}
