/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/buf.h - a growing byte buffer that names its maximum when it is born.
 *
 * Role:      request windows, send queues, partial events, rendered answers.
 * Memory:    nothing until the first byte; doubles up to max_bytes; consuming from the front is
 *            O(1) (bytes move only when room is needed).
 * Errors:    -EMSGSIZE when max_bytes would be exceeded, -ENOMEM; the content is then unchanged.
 * Threading: one owner.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

#include "base/attr.h"
#include "base/span.h"

struct buf {
    char *_p;
    size_t _off; /* consumed bytes in front */
    size_t _len; /* bytes held, behind _off */
    size_t _cap;
    size_t _max;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_done(struct buf *b); /* frees; b is as after buf_init */

/* The ways of buf_append and buf_reserve without room. */
int buf_append_grow(struct buf *b, struct span s) WARN_UNUSED;
int buf_reserve_grow(struct buf *b, size_t n, char **ret_p) WARN_UNUSED;

static inline int WARN_UNUSED buf_append(struct buf *b, struct span s)
{
    if (UNLIKELY(s.n == 0 || s.n > b->_cap - b->_off - b->_len))
        return buf_append_grow(b, s);
    memcpy(b->_p + b->_off + b->_len, s.p, s.n);
    b->_len += s.n;
    return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3) WARN_UNUSED;

/*
 * Room for n more bytes at *ret_p (valid until the next call on b); buf_commit then takes the
 * first n of them into the content.
 */
static inline int WARN_UNUSED buf_reserve(struct buf *b, size_t n, char **ret_p)
{
    if (UNLIKELY(!b->_p || n > b->_cap - b->_off - b->_len))
        return buf_reserve_grow(b, n, ret_p);
    *ret_p = b->_p + b->_off + b->_len;
    return 0;
}

void buf_commit(struct buf *b, size_t n);

/* Where the content ends and what was reserved begins; after a buf_reserve only. */
static inline char *buf_end(struct buf *b)
{
    return b->_p + b->_off + b->_len;
}

/* Drops n bytes (<= length) from the front; frees the memory when b becomes empty and large. */
void buf_consume(struct buf *b, size_t n);
void buf_clear(struct buf *b);                /* empty, memory kept */
void buf_truncate(struct buf *b, size_t len); /* keeps the first len bytes */

static inline size_t buf_len(const struct buf *b)
{
    return b->_len;
}

/* The content; valid until the next call that appends, reserves, consumes or frees. */
static inline struct span buf_span(const struct buf *b)
{
    return (struct span){b->_p ? b->_p + b->_off : "", b->_len};
}

#endif
