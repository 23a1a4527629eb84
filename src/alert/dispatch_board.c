/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_board.c - groups, who is in them, and when they are due.
 */
#include <errno.h>

#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"
#include "base/mem.h"

void dispatch_board_move(struct dispatch_board *b, struct dispatch_set *set)
{
    set->due_ms = set->next_ms;
    for (size_t i = 0; i < set->n_channels; i++) {
        const struct dispatch_channel *c = &set->channels[i];
        if (c->state == CHANNEL_WAITING && c->due_ms < set->due_ms)
            set->due_ms = c->due_ms;
    }
    dispatch_heap_restore(b, set);
}

static uint64_t set_hash(const struct alert_route *r, struct labels l)
{
    uint64_t h = r->group_by_all ? alert_fingerprint(l)
                                 : alert_fingerprint_of(l, r->group_by, r->n_group_by);
    return h * UINT64_C(0x100000001b3) ^ r->number;
}

/* Whether an alert with these labels belongs into it. */
static bool holds(const struct dispatch_set *set, const struct alert_route *r, struct labels l)
{
    if (set->route != r)
        return false;
    if (r->group_by_all)
        return labels_eq(set->labels, l);
    for (size_t i = 0; i < r->n_group_by; i++) {
        if (!span_eq(labels_get(set->labels, r->group_by[i]), labels_get(l, r->group_by[i])))
            return false;
    }
    return true;
}

static struct dispatch_set *set_find(const struct dispatch_board *b, const struct alert_route *r,
                                     struct labels l, uint64_t hash)
{
    struct alert_map_node *node = alert_map_first(&b->sets, hash);
    for (; node; node = alert_map_next(node)) {
        struct dispatch_set *set = ALERT_MAP_ENTRY(node, struct dispatch_set, node);
        if (holds(set, r, l))
            return set;
    }
    return NULL;
}

/* Labels and key of a new group, in one block. */
static int set_texts(struct dispatch_set *set, struct labels l)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 4); /* as long as its labels are */
    int r = buf_append(&b, set->route->key);
    if (r == 0)
        r = buf_append(&b, SPAN(":"));
    if (r == 0)
        r = labels_print_pairs(l, &b);
    if (r == 0) {
        set->texts = mem_alloc(dispatch_labels_bytes(l) + buf_len(&b) + 1);
        r = set->texts ? 0 : -ENOMEM;
    }
    if (r == 0) {
        struct label *pairs = (void *)set->texts;
        char *at = set->texts + l.n * sizeof(*pairs);
        set->labels = dispatch_put_labels(pairs, &at, l);
        set->key = dispatch_put_span(&at, buf_span(&b));
    }
    buf_done(&b);
    return r == -EMSGSIZE ? -ENOMEM : r;
}

static void set_free(struct dispatch_set *set)
{
    mem_free(set->members);
    mem_free(set->texts);
    mem_free(set);
}

static int set_new(struct dispatch_board *b, const struct alert_route *route, struct labels l,
                   struct dispatch_set **ret)
{
    size_t n = route->to->n;
    struct labels group = {0};
    struct arena a;
    struct dispatch_set *set = mem_zalloc(1, sizeof(*set) + n * sizeof(struct dispatch_channel));
    if (!set)
        return -ENOMEM;
    set->route = route;
    set->n_channels = n;
    arena_init(&a, NULL);
    int r = alert_route_group(route, l, &a, &group);
    if (r == 0)
        r = set_texts(set, group);
    if (r == 0)
        r = dispatch_heap_reserve(b);
    arena_done(&a);
    if (r < 0)
        set_free(set);
    else
        *ret = set;
    return r;
}

/* An alert that began long ago (it was told before a restart) does not wait once more. */
static void set_link(struct dispatch *d, struct dispatch_board *b, struct dispatch_set *set,
                     uint64_t hash, const struct dispatch_item *first, int64_t now_ms)
{
    bool is_old = first->starts_ms + set->route->group_wait_ms < now_ms;
    set->order = ++d->order;
    for (size_t i = 0; i < set->n_channels; i++)
        set->channels[i].token = ++d->token;
    set->next_ms = is_old ? now_ms : now_ms + set->route->group_wait_ms;
    alert_map_add(&b->sets, &set->node, hash);
    dispatch_heap_add(b, set);
    dispatch_board_move(b, set);
}

/* A message that is out for it goes on without it. */
static void set_unlink(struct dispatch *d, struct dispatch_board *b, struct dispatch_set *set)
{
    for (size_t i = 0; i < set->n_channels; i++) {
        struct alert_map_node *node = set->channels[i].state == CHANNEL_OUT
                                          ? alert_map_first(&d->outs, set->channels[i].token)
                                          : NULL;
        if (node)
            ALERT_MAP_ENTRY(node, struct dispatch_out, node)->set = NULL;
    }
    alert_map_remove(&b->sets, &set->node);
    dispatch_heap_remove(b, set);
    set_free(set);
}

/* --- members --- */

static int member_add(struct dispatch_set *set, struct dispatch_item *item,
                      struct dispatch_place *place)
{
    struct dispatch_member *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    if (set->n_members == set->cap) {
        size_t cap = set->cap ? 2 * set->cap : 4;
        struct dispatch_member **members =
            mem_realloc(set->members, cap * sizeof(struct dispatch_member *));
        if (!members) {
            mem_free(m);
            return -ENOMEM;
        }
        set->members = members;
        set->cap = cap;
    }
    *m = (struct dispatch_member){item, set, set->n_members, place->members};
    set->members[set->n_members++] = m;
    place->members = m;
    place->n_members++;
    return 0;
}

static void member_remove(struct dispatch_place *place, struct dispatch_member *m)
{
    struct dispatch_set *set = m->group;
    struct dispatch_member **at = &place->members;
    set->members[m->at] = set->members[--set->n_members];
    set->members[m->at]->at = m->at;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    place->n_members--;
    mem_free(m);
}

static bool is_member(const struct dispatch_place *place, const struct dispatch_set *set)
{
    const struct dispatch_member *m = place->members;
    while (m && m->group != set)
        m = m->next;
    return m != NULL;
}

struct placing {
    struct dispatch *d;
    struct dispatch_board *b;
    struct dispatch_item *item;
    struct dispatch_place *place;
    int64_t now_ms;
    size_t n_routes;
};

static int place_in(void *ctx, const struct alert_route *route)
{
    struct placing *p = ctx;
    uint64_t hash = set_hash(route, p->item->labels);
    struct dispatch_set *set = set_find(p->b, route, p->item->labels, hash);
    int r = 0;
    p->n_routes++;
    if (set)
        return is_member(p->place, set) ? 0 : member_add(set, p->item, p->place);
    r = set_new(p->b, route, p->item->labels, &set);
    if (r < 0)
        return r;
    r = member_add(set, p->item, p->place);
    if (r < 0)
        set_free(set);
    else
        set_link(p->d, p->b, set, hash, p->item, p->now_ms);
    return r;
}

static int place_new(struct dispatch_board *b, const struct dispatch_item *item,
                     struct dispatch_place **ret)
{
    struct dispatch_place *place = mem_zalloc(1, sizeof(*place));
    if (!place)
        return -ENOMEM;
    place->source = (struct inhibit_source){
        .labels = item->labels, .fingerprint = item->fingerprint, .until_ms = INT64_MIN};
    int r = inhibit_add(b->inhibit, &place->source);
    if (r < 0)
        mem_free(place);
    else
        *ret = place;
    return r;
}

/* Members that were added by a call that then failed: the first n. */
static void unplace_first(struct dispatch *d, struct dispatch_board *b,
                          struct dispatch_place *place, size_t n)
{
    for (; n > 0; n--) {
        struct dispatch_set *set = place->members->group;
        member_remove(place, place->members);
        if (set->n_members == 0)
            set_unlink(d, b, set);
    }
}

int dispatch_board_place(struct dispatch *d, struct dispatch_board *b, struct dispatch_item *item,
                         struct dispatch_place **to, int64_t now_ms)
{
    bool is_new = !*to;
    if (!is_new && (*to)->n_members == (*to)->n_routes)
        return 0;
    int r = is_new ? place_new(b, item, to) : 0;
    if (r < 0)
        return r;
    size_t n = (*to)->n_members;
    struct placing p = {d, b, item, *to, now_ms, 0};
    r = alert_route_each(b->file, item->labels, place_in, &p);
    if (r == 0) {
        (*to)->n_routes = p.n_routes;
        return 0;
    }
    unplace_first(d, b, *to, (*to)->n_members - n);
    if (is_new)
        dispatch_board_unplace(b, to);
    return r;
}

void dispatch_board_unplace(struct dispatch_board *b, struct dispatch_place **place)
{
    inhibit_remove(b->inhibit, &(*place)->source);
    mem_free(*place);
    *place = NULL;
}

void dispatch_board_reheap(struct dispatch_board *b)
{
    size_t n = b->n_heap;
    b->n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        dispatch_heap_add(b, b->heap[i]);
        dispatch_board_move(b, b->heap[i]);
    }
}

void dispatch_board_settle(struct dispatch *d, struct dispatch_set *set, int64_t now_ms)
{
    uint64_t settled = UINT64_MAX;
    for (size_t i = 0; i < set->n_channels; i++) {
        if (set->channels[i].settled < settled)
            settled = set->channels[i].settled;
    }
    for (size_t i = set->n_members; i-- > 0;) {
        struct dispatch_item *item = set->members[i]->item;
        if (!item->is_resolved || item->version > settled)
            continue;
        member_remove(item->place, set->members[i]);
        if (item->place->n_members == 0) {
            dispatch_board_unplace(d->board, &item->place);
            d->n_placed--;
            item->quiet_ms = now_ms;
            list_push_back(&d->quiet, &item->quiet);
        }
    }
    if (set->n_members == 0)
        set_unlink(d, d->board, set);
    else
        dispatch_board_move(d->board, set);
}

/* --- the board --- */

int dispatch_board_new(struct alert_file *file, struct dispatch_board **ret)
{
    struct dispatch_board *b = mem_zalloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    int r = inhibit_new(file, &b->inhibit);
    if (r < 0) {
        mem_free(b);
        return r;
    }
    b->file = alert_file_ref(file);
    *ret = b;
    return 0;
}

struct dispatch_board *dispatch_board_free(struct dispatch_board *b)
{
    if (!b)
        return NULL;
    for (size_t i = 0; i < b->n_heap; i++) {
        for (size_t k = 0; k < b->heap[i]->n_members; k++)
            mem_free(b->heap[i]->members[k]);
        set_free(b->heap[i]);
    }
    mem_free(b->heap);
    alert_map_done(&b->sets);
    inhibit_free(b->inhibit);
    alert_file_unref(b->file);
    mem_free(b);
    return NULL;
}
