/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - a buffer that ends at an inaccessible page: reading one byte past the end faults, in
 * every build, where a sanitizer would miss a read inside a larger allocation.
 *
 *   struct guard g; guard_init(&g, 4096);
 *   struct span s = guard_copy(&g, SPAN("data: x"));   valid until the next guard_copy
 *   guard_done(&g);
 */
#ifndef GUARD_H
#define GUARD_H

#include <stddef.h>

#include "base/span.h"

struct guard {
    char *_map;
    size_t _map_bytes;
    size_t _room_bytes; /* before the inaccessible page */
};

/* Fails the test when the pages cannot be had. */
void guard_init(struct guard *g, size_t max_bytes);
void guard_done(struct guard *g);

/* Copies s (at most max_bytes) to the end of the room and returns where it is now. */
struct span guard_copy(struct guard *g, struct span s);

#endif
