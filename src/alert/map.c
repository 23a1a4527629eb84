/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/map.h"

#include "base/attr.h"
#include "base/mem.h"

enum { HEADS_MIN = 64 };

void alert_map_init(struct alert_map *m)
{
    *m = (struct alert_map){.n = 0};
}

void alert_map_done(struct alert_map *m)
{
    mem_free(m->_heads);
    alert_map_init(m);
}

static size_t slot(const struct alert_map *m, uint64_t hash)
{
    /* FNV's low bits are its weakest. */
    uint64_t mixed = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed >> 32) & (m->_n_heads - 1);
}

static struct alert_map_node **head(struct alert_map *m, uint64_t hash)
{
    return m->_heads ? &m->_heads[slot(m, hash)] : &m->_first;
}

static void grow(struct alert_map *m)
{
    size_t n = m->_heads ? 2 * m->_n_heads : HEADS_MIN;
    struct alert_map_node **heads = mem_zalloc(n, sizeof(struct alert_map_node *));
    struct alert_map old = *m;
    if (!heads)
        return;
    m->_heads = heads;
    m->_n_heads = n;
    m->_first = NULL;
    for (size_t i = 0; i < (old._heads ? old._n_heads : 1); i++) {
        struct alert_map_node *next, *node = old._heads ? old._heads[i] : old._first;
        for (; node; node = next) {
            struct alert_map_node **to = head(m, node->hash);
            next = node->_next;
            node->_next = *to;
            *to = node;
        }
    }
    mem_free(old._heads);
}

void alert_map_add(struct alert_map *m, struct alert_map_node *node, uint64_t hash)
{
    if (m->n >= (m->_heads ? m->_n_heads : HEADS_MIN / 16))
        grow(m);
    struct alert_map_node **to = head(m, hash);
    node->hash = hash;
    node->_next = *to;
    *to = node;
    m->n++;
}

void alert_map_remove(struct alert_map *m, struct alert_map_node *node)
{
    struct alert_map_node **at = head(m, node->hash);
    while (*at && *at != node)
        at = &(*at)->_next;
    if (!*at)
        return;
    *at = node->_next;
    node->_next = NULL;
    m->n--;
}

static struct alert_map_node *same(struct alert_map_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->_next;
    return node;
}

struct alert_map_node *alert_map_first(const struct alert_map *m, uint64_t hash)
{
    return same(m->_heads ? m->_heads[slot(m, hash)] : m->_first, hash);
}

struct alert_map_node *alert_map_next(const struct alert_map_node *node)
{
    return same(node->_next, node->hash);
}

int alert_map_each(const struct alert_map *m, int (*visit)(void *ctx, struct alert_map_node *node),
                   void *ctx)
{
    int r = 0;
    for (size_t i = 0; i < (m->_heads ? m->_n_heads : 1) && r == 0; i++) {
        struct alert_map_node *next, *node = m->_heads ? m->_heads[i] : m->_first;
        for (; node && r == 0; node = next) {
            next = node->_next;
            r = visit(ctx, node);
        }
    }
    return r;
}
