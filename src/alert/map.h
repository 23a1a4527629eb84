/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/map.h - finds things by a hash; its nodes live inside of them.
 *
 * for (n = alert_map_first(&m, hash); n; n = alert_map_next(n)) if it is the one ...
 *
 * Role:      alerts, groups, sources of inhibitions, silences, what was told: each found by what
 *            names it, however many there are.
 * Memory:    one array of heads, doubled as it fills. Where there is no memory for that the map
 *            goes on with the old one, slower: adding never fails.
 * Threading: one owner.
 */
#ifndef ALERT_MAP_H
#define ALERT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct alert_map_node {
    struct alert_map_node *_next;
    uint64_t hash;
};

struct alert_map {
    struct alert_map_node **_heads; /* NULL: only _first */
    struct alert_map_node *_first;
    size_t _n_heads;
    size_t n;
};

/* The thing that a node lives in. */
#define ALERT_MAP_ENTRY(node, type, member)                                                        \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

void alert_map_init(struct alert_map *m);
void alert_map_done(struct alert_map *m); /* forgets the nodes */

void alert_map_add(struct alert_map *m, struct alert_map_node *node, uint64_t hash);
void alert_map_remove(struct alert_map *m, struct alert_map_node *node);

/* Nodes with this hash, the latest added first. */
struct alert_map_node *alert_map_first(const struct alert_map *m, uint64_t hash);
struct alert_map_node *alert_map_next(const struct alert_map_node *node);

/*
 * All of them, in no order: visit may remove and free the node it is given, and nothing else. Ends
 * at the first value that is not 0, and returns it.
 */
int alert_map_each(const struct alert_map *m, int (*visit)(void *ctx, struct alert_map_node *node),
                   void *ctx);

#endif
