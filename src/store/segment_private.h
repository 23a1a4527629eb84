/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/segment_private.h - what making segments writes beside the columns.
 *
 * Threading: pure.
 */
#ifndef STORE_SEGMENT_PRIVATE_H
#define STORE_SEGMENT_PRIVATE_H

#include "store/segment.h"

int segment_put_zone(struct buf *zones, int64_t field, const struct column_zone *z) WARN_UNUSED;
/* Of all that is in b. */
int segment_put_checksum(struct buf *b) WARN_UNUSED;
/* Replaces what is in out. */
int segment_make_filter(const struct span *ids, size_t n_ids, struct buf *out) WARN_UNUSED;

#endif
