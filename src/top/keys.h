/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/keys.h - what keys do to a live table.
 *
 * Ownership: wish.filter points into the struct, which stays where it is.
 * Threading: pure.
 */
#ifndef TOP_KEYS_H
#define TOP_KEYS_H

#include "top/view.h"

enum { TOP_FILTER_BYTES = 64, TOP_GROUPINGS_MAX = TOP_DIMS_MAX + 3 };

struct top_keys {
    struct top_wish wish;
    struct top_view view;
    bool groupings[TOP_GROUPINGS_MAX][TOP_DIMS_MAX]; /* g goes round */
    size_t n_groupings, grouping;
    char _filter[TOP_FILTER_BYTES];
};

/* by: which of the feed's labels rows stand for at first. */
void top_keys_init(struct top_keys *k, const struct top_feed *f, const bool by[TOP_DIMS_MAX]);
/* An ASCII character or one of enum top_key. n_items: of the focused pane. false: quit. */
bool top_keys_press(struct top_keys *k, int key, size_t n_items);
void top_keys_filter(struct top_keys *k, struct span text); /* cut at TOP_FILTER_BYTES - 1 */

#endif
