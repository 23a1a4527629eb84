/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/delivery_held.c - integrations, what is held for each of them, and the rates that they
 * share.
 */
#include <errno.h>

#include "alert/delivery_private.h"
#include "alert/fingerprint.h"
#include "base/mem.h"

enum { RESTORED_FOR_MS = 10 * 60 * 1000 };

/* --- integrations, and what is held for them --- */

static struct integration *find_integration(const struct delivery *y, struct span receiver,
                                            int index, const char *kind)
{
    for (struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node))
        if (to->index == index && span_eq(to->receiver, receiver) && strcmp(to->kind, kind) == 0)
            return to;
    return NULL;
}

static const char *kind_name(struct span name)
{
    for (size_t i = 0; i < receiver_table_n; i++)
        if (span_eq(name, span_cstr(receiver_table[i]->name)))
            return receiver_table[i]->name;
    return NULL;
}

struct integration *delivery_get_integration(struct delivery *y, struct span receiver, int index,
                                             const char *kind)
{
    struct integration *to = find_integration(y, receiver, index, kind);
    if (to)
        return to;
    to = mem_alloc(sizeof(*to) + receiver.n + 1);
    if (!to)
        return NULL;
    *to = (struct integration){.kind = kind, .index = index};
    (void)span_copy(receiver, to->_text, receiver.n + 1);
    to->receiver = span_of(to->_text, receiver.n);
    list_init(&to->held);
    alert_map_init(&to->by_group);
    list_push_back(&y->integrations, &to->node);
    return to;
}

void delivery_held_free(struct integration *to, struct held *h)
{
    alert_map_remove(&to->by_group, &h->by_group);
    list_remove(&h->node);
    mem_free(h);
}

void delivery_integration_free(struct integration *to)
{
    while (!list_is_empty(&to->held))
        delivery_held_free(to, CONTAINER_OF(to->held.next, struct held, node));
    alert_map_done(&to->by_group);
    list_remove(&to->node);
    mem_free(to);
}

static uint64_t hash(struct span s)
{
    return alert_fingerprint_add(ALERT_FINGERPRINT_NONE, s);
}

static struct held *find_held(const struct integration *to, struct span group_key)
{
    struct alert_map_node *node = alert_map_first(&to->by_group, hash(group_key));
    for (; node; node = alert_map_next(node)) {
        struct held *h = ALERT_MAP_ENTRY(node, struct held, by_group);
        if (span_eq(h->group_key, group_key))
            return h;
    }
    return NULL;
}

struct held *delivery_held_get(struct integration *to, struct span group_key)
{
    struct held *h = find_held(to, group_key);
    if (h)
        return h;
    h = mem_alloc(sizeof(*h) + group_key.n + 1);
    if (!h)
        return NULL;
    *h = (struct held){.state = HELD_WAITING};
    (void)span_copy(group_key, h->_text, group_key.n + 1);
    h->group_key = span_of(h->_text, group_key.n);
    list_push_back(&to->held, &h->node);
    alert_map_add(&to->by_group, &h->by_group, hash(group_key));
    return h;
}

/* --- the rate of an address --- */

static uint64_t hash_address(const struct receiver_request *r)
{
    /* Up to what is different each time. */
    return hash(span_of(r->url.p, span_find(r->url, SPAN("timestamp="))));
}

/* The rate that a request has to keep to; without memory for it that of before. */
void delivery_find_rate(struct delivery *y, struct integration *to, const struct attempt *at)
{
    uint64_t address = hash_address(&at->request);
    if (at->integration->kind->rate_per_min == 0 || (to->rate && to->rate->address == address))
        return;
    for (struct list *i = y->rates.next; i != &y->rates; i = i->next) {
        struct shared_rate *one = CONTAINER_OF(i, struct shared_rate, node);
        if (one->address == address) {
            to->rate = one;
            return;
        }
    }
    struct shared_rate *rate = mem_zalloc(1, sizeof(*rate));
    if (!rate)
        return;
    rate->address = address;
    rate->rate.per_min = at->integration->kind->rate_per_min;
    rate->rate.not_before_ms = INT64_MIN;
    list_push_back(&y->rates, &rate->node);
    to->rate = rate;
}

int64_t delivery_free_ms(const struct integration *to)
{
    if (to->attempt)
        return INT64_MAX;
    int64_t rate_ms = to->rate ? rate_next_ms(&to->rate->rate) : INT64_MIN;
    return rate_ms > to->not_before_ms ? rate_ms : to->not_before_ms;
}

void delivery_free_rates(struct delivery *y)
{
    for (struct list *i = y->rates.next, *next; i != &y->rates; i = next) {
        struct shared_rate *rate = CONTAINER_OF(i, struct shared_rate, node);
        bool is_used = false;
        next = i->next;
        for (struct integration *to = integration_after(y, &y->integrations); to;
             to = integration_after(y, &to->node))
            is_used = is_used || to->rate == rate;
        if (is_used)
            continue;
        list_remove(&rate->node);
        mem_free(rate);
    }
}

/* --- lists --- */

int delivery_each_held(const struct delivery *y, struct moment now,
                       int (*visit)(void *ctx, const struct delivery_held *h), void *ctx)
{
    for (struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node))
        for (struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node)) {
            int64_t free_ms = to->attempt ? now.mono_ms : delivery_free_ms(to);
            int64_t at = h->ready_ms > free_ms ? h->ready_ms : free_ms;
            struct delivery_held one = {to->receiver,
                                        h->group_key,
                                        to->kind,
                                        to->index,
                                        h->first_ms,
                                        h->last_ms,
                                        now.wall_ms + (at > now.mono_ms ? at - now.mono_ms : 0),
                                        h->n_attempts,
                                        h->is_given_up,
                                        span_cstr(h->why.text),
                                        span_cstr(h->why.hint),
                                        span_cstr(h->shown)};
            int r = h->n_attempts > 0 ? visit(ctx, &one) : 0;
            if (r < 0)
                return r;
        }
    return 0;
}

int delivery_restore(struct delivery *y, const struct delivery_held *one, struct moment now)
{
    const char *kind = kind_name(span_cstr(one->kind));
    if (!kind)
        return 0; /* of a program that knew more */
    struct integration *to = delivery_get_integration(y, one->receiver, one->integration, kind);
    if (to && find_held(to, one->group_key))
        return 0; /* it is tried already */
    struct held *h = to ? delivery_held_get(to, one->group_key) : NULL;
    if (!h)
        return -ENOMEM;
    h->state = HELD_RESTORED;
    h->ready_ms = now.mono_ms + RESTORED_FOR_MS;
    h->first_ms = one->first_ms;
    h->last_ms = one->last_ms;
    h->n_attempts = one->n_attempts;
    h->is_given_up = one->is_given_up;
    err_set(&h->why, -EIO, "%.*s", SPAN_ARG(one->why));
    err_hint(&h->why, "%.*s", SPAN_ARG(one->hint));
    (void)span_copy(one->shown, h->shown, sizeof(h->shown));
    return 0;
}
