/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/chunked.h - incremental decoder of the chunked transfer coding (RFC 9112, 7.1), strict.
 *
 * Role:      coded bytes -> data spans (views into the input), trailer section, end.
 * Strict:    sizes are 1..16 hex digits; extensions are skipped (at most CHUNKED_EXT_MAX bytes per
 *            chunk, no bare CR or LF, no control characters); chunk data ends in CRLF; trailers are
 *            checked like fields, passed over and not delivered (at most LIMIT_HEAD_BYTES).
 * Memory:    none. Result does not depend on how the input was split.
 */
#ifndef WIRE_CHUNKED_H
#define WIRE_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { CHUNKED_EXT_MAX = 4096 };

enum chunked_status {
    CHUNKED_ERROR = -1, /* malformed; only the connection's end may follow */
    CHUNKED_MORE = 0,   /* all input consumed */
    CHUNKED_DATA = 1,   /* *ret_data holds body bytes; call again with the rest */
    CHUNKED_END = 2,    /* the body is over; *in holds what follows it */
};

struct chunked_decoder {
    uint64_t _left; /* of the current chunk */
    uint32_t _n;    /* digits, extension or trailer bytes so far */
    int _state;
};

void chunked_init(struct chunked_decoder *d);
enum chunked_status chunked_next(struct chunked_decoder *d, struct span *in, struct span *ret_data);

/* Writes "1a2b\r\n" (chunk of n bytes; "0\r\n\r\n" for n = 0) to dst, >= 20 B; returns the length.
 */
size_t chunked_head(size_t n, char *dst);

#endif
