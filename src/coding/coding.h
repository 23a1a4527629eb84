/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coding/coding.h - undoes HTTP content codings, for reading a copy of what passes.
 *
 * Role:      coded bytes of an answer -> its bytes, in step with the reads: what a flush point
 *            makes decodable comes out with the read that brought it. The client always gets the
 *            original.
 * Codings:   gzip (several members too), deflate (zlib, and bare as some servers send it), br,
 *            zstd.
 * Limits:    a bomb is cut off: more than LIMIT_DECODED_RATIO times what came in (once there is
 *            enough to judge) or more than LIMIT_DECODED_BYTES in all. Windows of at most 8 MiB
 *            (zstd; RFC 9659) and 16 MiB (br) are kept per answer.
 * Threading: a decoder belongs to one. No I/O, no clock, no logging.
 * Source:    RFC 1950-1952, RFC 7932, RFC 8878; libraries zlib, brotli, zstd.
 */
#ifndef CODING_CODING_H
#define CODING_CODING_H

#include "base/attr.h"
#include "base/span.h"

enum coding {
    CODING_IDENTITY,
    CODING_GZIP,
    CODING_DEFLATE,
    CODING_BR,
    CODING_ZSTD,
    CODING_OTHER, /* unknown, or several on top of each other */
};

/* What a Content-Encoding header says; empty: identity. */
enum coding coding_of(struct span content_encoding);

enum decode_status {
    DECODE_MORE = 0,       /* all input was used */
    DECODE_END = 1,        /* the coded data ended; what follows it is no part of the answer */
    DECODE_MALFORMED = -1, /* sticky, like the following */
    DECODE_TOO_LARGE = -2,
    DECODE_NO_MEMORY = -3,
};

struct decoder;

/* c: neither CODING_IDENTITY nor CODING_OTHER. 0 or -ENOMEM. */
int decoder_new(enum coding c, struct decoder **ret) WARN_UNUSED;
struct decoder *decoder_free(struct decoder *d);

/* Decodes in, calling on_bytes with each piece (valid during the call). Pieces come before the
 * status: those in front of malformed data count (br, zstd: those of earlier calls do). */
enum decode_status decoder_feed(struct decoder *d, struct span in,
                                void (*on_bytes)(void *arg, struct span bytes), void *arg);

#endif
