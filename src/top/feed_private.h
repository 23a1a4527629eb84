/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/feed_private.h - how values get into a moment. Private to feed*.c.
 */
#ifndef TOP_FEED_PRIVATE_H
#define TOP_FEED_PRIVATE_H

#include "series/labels.h"
#include "top/feed.h"

/* 1: *ret is the number of the series that these labels belong to; 0: to none. -ENOMEM. */
int top_feed_number(struct top_feed *f, struct labels l, size_t *ret) WARN_UNUSED;
/* Adds: several series of the gateway may be one here. cap: of m->v. */
int top_feed_moment_add(struct top_moment *m, size_t *cap, size_t series, double v) WARN_UNUSED;

#endif
