/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/err_list.h - every mistake of a configuration at once, each with its place.
 *
 * Role:      what readers of configuration fill and people read:
 *                FILE:LINE:COLUMN: what is wrong
 *                  hint: what to do about it
 * Memory:    none is allocated; ERR_LIST_MAX mistakes are kept, more are only counted.
 * Threading: plain values.
 */
#ifndef BASE_ERR_LIST_H
#define BASE_ERR_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/span.h"

enum { ERR_LIST_MAX = 40, ERR_LIST_SHOWN_MAX = 64 };

struct err_item {
    const char *where; /* file or flag, borrowed: the caller of the reader owns it */
    int line, column;  /* from 1; 0: the place is all of `where` */
    struct err err;
};

struct err_list {
    size_t n;         /* items */
    size_t n_dropped; /* mistakes beyond ERR_LIST_MAX */
    struct err_item items[ERR_LIST_MAX];
    struct err _scratch;
};

void err_list_init(struct err_list *l);

static inline bool err_list_is_empty(const struct err_list *l)
{
    return l->n == 0;
}

static inline bool err_list_is_full(const struct err_list *l)
{
    return l->n == ERR_LIST_MAX;
}

/* Room for one mistake, to be filled with err_set and err_hint at once. Never NULL. */
struct err *err_list_add(struct err_list *l, const char *where, int line, int column);

/* Orders items [first, n) by line and column, otherwise as they came. */
void err_list_sort(struct err_list *l, size_t first);

/* One or two lines per mistake. */
void err_list_print(const struct err_list *l, FILE *out);

/*
 * A user's text for a message: control bytes become '?', long texts are cut with "...". dst has
 * ERR_LIST_SHOWN_MAX bytes; returns it.
 */
const char *err_list_shown(struct span text, char *dst);

#endif
