/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_list.c - what is active, for people.
 */
#include <errno.h>
#include <stdlib.h>

#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"

struct listing {
    const struct dispatch *d;
    const struct silences *s;
    int64_t now_ms;
    int (*visit)(void *ctx, const struct dispatch_seen *one);
    void *ctx;
};

uint64_t dispatch_fingerprint(struct labels l)
{
    return alert_fingerprint(l);
}

void dispatch_counts(const struct dispatch *d, size_t *ret_alerts, size_t *ret_groups)
{
    *ret_alerts = d->n_placed;
    *ret_groups = d->board->n_heap;
}

bool dispatch_has(const struct dispatch *d, uint64_t fingerprint)
{
    struct alert_map_node *node = alert_map_first(&d->items, fingerprint);
    while (node && !ALERT_MAP_ENTRY(node, struct dispatch_item, node)->place)
        node = alert_map_next(node);
    return node != NULL;
}

static bool fires(const struct dispatch_item *item, int64_t now_ms)
{
    return item->place && !item->is_resolved && item->ends_ms > now_ms;
}

static int visit_item(const struct listing *l, struct dispatch_item *item,
                      const struct span *receivers, size_t n_receivers)
{
    const struct inhibit_source *by = inhibit_find(l->d->board->inhibit, item->labels, l->now_ms);
    struct alert_view view = dispatch_message_view(item);
    view.ends_ms = item->ends_ms;
    struct dispatch_seen seen = {
        .alert = &view,
        .updated_ms = item->updated_ms,
        .silenced_by = l->s ? silence_match(l->s, &item->silences, item->labels, l->now_ms) : NULL,
        .inhibited_by = by ? &by->fingerprint : NULL,
        .n_inhibited_by = by ? 1 : 0,
        .receivers = receivers,
        .n_receivers = n_receivers,
    };
    return l->visit(l->ctx, &seen);
}

/* Names of the receivers of its groups, each once; at has room for all. */
static size_t receivers_of(const struct dispatch_place *place, struct span *at)
{
    size_t n = 0, unique = 0;
    for (const struct dispatch_member *m = place->members; m; m = m->next)
        at[n++] = m->group->route->receiver;
    qsort(at, n, sizeof(*at), span_sort_cmp);
    for (size_t i = 0; i < n; i++) {
        if (unique == 0 || !span_eq(at[i], at[unique - 1]))
            at[unique++] = at[i];
    }
    return unique;
}

struct collection {
    struct dispatch_item **at;
    size_t n, most_members;
    int64_t now_ms;
};

static int collect(void *ctx, struct alert_map_node *node)
{
    struct collection *c = ctx;
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    if (!fires(item, c->now_ms))
        return 0;
    c->at[c->n++] = item;
    if (item->place->n_members > c->most_members)
        c->most_members = item->place->n_members;
    return 0;
}

static int fingerprint_order(const void *a, const void *b)
{
    const struct dispatch_item *const *x = a, *const *y = b;
    return ((*x)->fingerprint > (*y)->fingerprint) - ((*x)->fingerprint < (*y)->fingerprint);
}

int dispatch_each_alert(const struct dispatch *d, const struct silences *s, int64_t now_ms,
                        int (*visit)(void *ctx, const struct dispatch_seen *one), void *ctx)
{
    struct listing l = {d, s, now_ms, visit, ctx};
    struct arena a;
    arena_init(&a, NULL);
    struct collection c = {arena_array(&a, d->items.n, sizeof(struct dispatch_item *)), 0, 0,
                           now_ms};
    int r = c.at ? alert_map_each(&d->items, collect, &c) : -ENOMEM;
    struct span *receivers = arena_array(&a, c.most_members, sizeof(*receivers));
    if (!receivers)
        r = -ENOMEM;
    if (r == 0 && c.n > 1)
        qsort(c.at, c.n, sizeof(struct dispatch_item *), fingerprint_order);
    for (size_t i = 0; i < c.n && r == 0; i++)
        r = visit_item(&l, c.at[i], receivers, receivers_of(c.at[i]->place, receivers));
    arena_done(&a);
    return r;
}

/* --- groups --- */

static int label_order(const void *a, const void *b)
{
    const struct dispatch_item *const *x = a, *const *y = b;
    struct alert_view v = dispatch_message_view(*x), w = dispatch_message_view(*y);
    return dispatch_message_order(&v, &w);
}

static int set_order(const void *a, const void *b)
{
    const struct dispatch_set *const *x = a, *const *y = b;
    int r = labels_cmp((*x)->labels, (*y)->labels);
    if (r == 0)
        r = span_cmp((*x)->route->receiver, (*y)->route->receiver);
    return r != 0 ? r : ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static int visit_group(const struct listing *l, const struct dispatch_set *set, struct arena *a,
                       const struct dispatch_group_visitor *v)
{
    struct dispatch_item **items = arena_array(a, set->n_members, sizeof(struct dispatch_item *));
    size_t n = 0;
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < set->n_members; i++) {
        if (fires(set->members[i]->item, l->now_ms))
            items[n++] = set->members[i]->item;
    }
    if (n == 0)
        return 0;
    qsort(items, n, sizeof(struct dispatch_item *), label_order);
    struct dispatch_group g = {
        .receiver = set->route->receiver,
        .labels = set->labels,
        .muted_by = alert_route_muted_by(l->d->board->file, set->route, l->now_ms),
    };
    int r = v->group(v->ctx, &g);
    if (r != 0)
        return r < 0 ? r : 0;
    for (size_t i = 0; i < n && r >= 0; i++)
        r = visit_item(l, items[i], &set->route->receiver, 1);
    return r < 0 ? r : v->end(v->ctx);
}

int dispatch_each_group(const struct dispatch *d, const struct silences *s, int64_t now_ms,
                        const struct dispatch_group_visitor *v)
{
    const struct dispatch_board *b = d->board;
    struct listing l = {d, s, now_ms, v->alert, v->ctx};
    struct arena a, lists;
    arena_init(&a, NULL);
    arena_init(&lists, NULL);
    struct dispatch_set **sets = arena_array(&lists, b->n_heap, sizeof(struct dispatch_set *));
    int r = sets ? 0 : -ENOMEM;
    if (sets && b->n_heap > 0) {
        memcpy(sets, b->heap, b->n_heap * sizeof(struct dispatch_set *));
        qsort(sets, b->n_heap, sizeof(struct dispatch_set *), set_order);
    }
    for (size_t i = 0; i < b->n_heap && r >= 0; i++) {
        arena_reset(&a);
        r = visit_group(&l, sets[i], &a, v);
    }
    arena_done(&a);
    arena_done(&lists);
    return r < 0 ? r : 0;
}
