/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/list.h - circular doubly linked list whose nodes live inside the listed structs.
 *
 * The head is a node too. A node that is in no list links to itself, so list_remove is idempotent.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_insert_before(struct list *at, struct list *node)
{
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

/* Behind the last / before the first node of the list with this head. */
static inline void list_push_back(struct list *head, struct list *node)
{
    list_insert_before(head, node);
}

static inline void list_push_front(struct list *head, struct list *node)
{
    list_insert_before(head->next, node);
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

#endif
