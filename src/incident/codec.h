/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/codec.h - of this module only: labels and numbers as bytes, and back.
 *
 * Errors:    sticky where it reads: after -EBADMSG everything is empty or 0.
 * Threading: pure.
 */
#ifndef INCIDENT_CODEC_H
#define INCIDENT_CODEC_H

#include "base/buf.h"
#include "series/labels.h"

int codec_put_number(struct buf *out, uint64_t n) WARN_UNUSED;
int codec_put_labels(struct buf *out, struct labels l) WARN_UNUSED;

struct codec_reader {
    struct span rest;
    int error; /* 0, -EBADMSG, -ENOMEM */
};
uint64_t codec_number(struct codec_reader *r);
struct span codec_bytes(struct codec_reader *r, size_t n);
/* A copy in the arena. */
struct labels codec_labels(struct codec_reader *r, struct arena *a);

#endif
