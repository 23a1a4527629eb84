/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_configure.c - another file: a new board is made from the alerts that are there,
 * and takes over what its groups have in common with the old one.
 */
#include <errno.h>

#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"
#include "base/mem.h"

struct rebuild {
    struct dispatch *d;
    struct dispatch_board *to;
};

static int place_item(void *ctx, struct alert_map_node *node)
{
    struct rebuild *rb = ctx;
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    if (!item->place)
        return 0;
    int r = dispatch_board_place(rb->d, rb->to, item, &item->_placed, rb->d->seen_ms);
    if (r == 0)
        inhibit_set(&item->_placed->source, item->place->source.until_ms);
    return r;
}

static int forget_new(void *ctx, struct alert_map_node *node)
{
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    (void)ctx;
    mem_free(item->_placed);
    item->_placed = NULL;
    return 0;
}

static int take_new(void *ctx, struct alert_map_node *node)
{
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    (void)ctx;
    mem_free(item->place);
    item->place = item->_placed;
    item->_placed = NULL;
    return 0;
}

/* A group is the same where its key and its receiver are. */
static uint64_t key_hash(const struct dispatch_set *set)
{
    return alert_fingerprint_add(ALERT_FINGERPRINT_NONE, set->key);
}

struct old_set {
    struct alert_map_node node;
    struct dispatch_set *set; /* NULL: taken */
};

static struct dispatch_set *take_same(const struct alert_map *old, const struct dispatch_set *set)
{
    struct alert_map_node *node = alert_map_first(old, key_hash(set));
    for (; node; node = alert_map_next(node)) {
        struct old_set *o = ALERT_MAP_ENTRY(node, struct old_set, node);
        struct dispatch_set *found = o->set;
        if (found && span_eq(found->key, set->key) &&
            span_eq(found->route->receiver, set->route->receiver)) {
            o->set = NULL;
            return found;
        }
    }
    return NULL;
}

static struct dispatch_out *out_of(struct dispatch *d, const struct dispatch_channel *c)
{
    struct alert_map_node *node =
        c->state == CHANNEL_OUT ? alert_map_first(&d->outs, c->token) : NULL;
    return node ? ALERT_MAP_ENTRY(node, struct dispatch_out, node) : NULL;
}

static size_t channel_of(const struct alert_receiver *r, int log_number)
{
    size_t i = 0;
    while (i < r->n && r->integrations[i].log_number != log_number)
        i++;
    return i;
}

/* What is on its way or waits for its next attempt goes on, if the receiver still has it. */
static void take_over(struct dispatch *d, struct dispatch_set *to, struct dispatch_set *from)
{
    int64_t latest_ms = d->seen_ms + to->route->group_interval_ms;
    to->next_ms = from->next_ms < latest_ms ? from->next_ms : latest_ms;
    for (size_t i = 0; i < from->n_channels; i++) {
        struct dispatch_out *out = out_of(d, &from->channels[i]);
        size_t k = channel_of(to->route->to, from->route->to->integrations[i].log_number);
        if (k == to->n_channels)
            continue;
        to->channels[k] = from->channels[i];
        to->channels[k].settled = 0; /* who is in the group may be new */
        if (out) {
            out->set = to;
            out->channel = k;
        }
        from->channels[i].state = CHANNEL_QUIET;
    }
}

/* Messages of groups that are no more. */
static void detach(struct dispatch *d, struct dispatch_board *old)
{
    for (size_t i = 0; i < old->n_heap; i++) {
        for (size_t k = 0; k < old->heap[i]->n_channels; k++) {
            struct dispatch_out *out = out_of(d, &old->heap[i]->channels[k]);
            if (out)
                out->set = NULL;
        }
    }
}

static void take_over_all(struct dispatch *d, struct dispatch_board *to,
                          struct dispatch_board *from, struct old_set *list)
{
    struct alert_map old;
    alert_map_init(&old);
    for (size_t i = 0; i < from->n_heap; i++) {
        list[i].set = from->heap[i];
        alert_map_add(&old, &list[i].node, key_hash(from->heap[i]));
    }
    for (size_t i = 0; i < to->n_heap; i++) {
        struct dispatch_set *same = take_same(&old, to->heap[i]);
        if (same)
            take_over(d, to->heap[i], same);
    }
    alert_map_done(&old);
    detach(d, from);
}

int dispatch_configure(struct dispatch *d, struct alert_file *file)
{
    struct rebuild rb = {.d = d};
    int r = dispatch_board_new(file, &rb.to);
    if (r < 0)
        return r;
    struct old_set *list = mem_zalloc(d->board->n_heap + 1, sizeof(*list));
    r = list ? alert_map_each(&d->items, place_item, &rb) : -ENOMEM;
    if (r < 0) {
        dispatch_board_free(rb.to);
        (void)alert_map_each(&d->items, forget_new, NULL); /* never ends early */
        mem_free(list);
        return r;
    }
    take_over_all(d, rb.to, d->board, list);
    dispatch_board_free(d->board);
    (void)alert_map_each(&d->items, take_new, NULL);
    d->board = rb.to;
    dispatch_board_reheap(rb.to);
    mem_free(list);
    return 0;
}
