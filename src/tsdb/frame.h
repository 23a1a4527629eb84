/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/frame.h - a blob on disk: compressed where that helps, and with a checksum.
 *
 * Role:      every blob of the database is one: chunks, rows of the journal.
 * Errors:    -ENOMEM; frame_open: -EBADMSG for what is damaged, torn or no frame.
 * Limits:    FRAME_MAX_BYTES uncompressed.
 * Threading: one owner.
 */
#ifndef TSDB_FRAME_H
#define TSDB_FRAME_H

#include "tsdb/bytes.h"

enum { FRAME_MAX_BYTES = 256 << 20 };

struct frame; /* the compressor's memory, used again and again */
int frame_new(struct frame **ret) WARN_UNUSED;
struct frame *frame_free(struct frame *f);

/* The frame of raw: valid until the next call. level: zstd's. */
int frame_seal(struct frame *f, struct span raw, int level, struct span *ret) WARN_UNUSED;
/* What is in the frame: valid until the next call, and as long as blob where nothing was
 * compressed. */
int frame_open(struct frame *f, struct span blob, struct span *ret) WARN_UNUSED;

#endif
