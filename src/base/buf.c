/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/buf.c - growing byte buffer.
 *
 * Invariants: _off + _len <= _cap <= _max; _p is NULL exactly when _cap is 0. Bytes are moved to
 * the front only when the consumed part is at least as large as what is moved, or when growing is
 * not possible any more, so appending stays linear in the bytes appended.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

/* First allocation: holds a typical head or event; doubling gets to the rest quickly. */
enum { BUF_FIRST_BYTES = 512 };

/* An emptied buffer above this gives its memory back: thousands of idle connections have one. */
#define BUF_KEEP_BYTES (16 * KIB)

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){._max = max_bytes};
}

void buf_done(struct buf *b)
{
    mem_free(b->_p);
    buf_init(b, b->_max);
}

static void move_to_front(struct buf *b)
{
    if (b->_off > 0 && b->_len > 0)
        memmove(b->_p, b->_p + b->_off, b->_len);
    b->_off = 0;
}

static int grow(struct buf *b, size_t need)
{
    size_t cap = b->_cap > 0 ? b->_cap : BUF_FIRST_BYTES;
    while (cap < need && cap <= SIZE_MAX / 2)
        cap *= 2;
    if (cap < need || cap > b->_max)
        cap = b->_max;
    char *p = mem_realloc(b->_p, cap);
    if (!p)
        return -ENOMEM;
    b->_p = p;
    b->_cap = cap;
    return 0;
}

int buf_reserve_grow(struct buf *b, size_t n, char **ret_p)
{
    if (n > b->_max - b->_len)
        return -EMSGSIZE;
    size_t need = b->_len + n;
    bool is_moving_cheap = b->_off >= b->_len;
    if (n > b->_cap - b->_off - b->_len) {
        if (need <= b->_cap && (is_moving_cheap || b->_cap == b->_max)) {
            move_to_front(b);
        } else {
            /* Twice the content, so that growing also leaves room behind it. */
            int r = grow(b, need <= b->_cap ? b->_cap + 1 : need);
            if (r < 0)
                return r;
            if (n > b->_cap - b->_off - b->_len)
                move_to_front(b);
        }
    }
    /* n == 0 on a buffer without memory: any non-NULL pointer does. */
    static char nothing[1];
    *ret_p = b->_p ? b->_p + b->_off + b->_len : nothing;
    return 0;
}

void buf_commit(struct buf *b, size_t n)
{
    ASSERT(n <= b->_cap - b->_off - b->_len);
    b->_len += n;
}

int buf_append_grow(struct buf *b, struct span s)
{
    char *p;
    int r = buf_reserve(b, s.n, &p);
    if (r < 0)
        return r;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    buf_commit(b, s.n);
    return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    /* First try in the room that is there: most texts fit. */
    size_t room = b->_cap - b->_off - b->_len;
    char *at = room > 0 ? b->_p + b->_off + b->_len : NULL;
    va_start(args, fmt);
    int n = vsnprintf(at, room, fmt, args);
    va_end(args);
    if (n < 0)
        return -EINVAL;
    if ((size_t)n < room) {
        b->_len += (size_t)n;
        return 0;
    }

    /* vsnprintf wants a byte for its NUL, which the maximum does not count: use the last one. */
    size_t want = (size_t)n;
    if (want > b->_max - b->_len)
        return -EMSGSIZE;
    if (want == b->_max - b->_len) {
        char *text = mem_alloc(want + 1);
        if (!text)
            return -ENOMEM;
        va_start(args, fmt);
        (void)vsnprintf(text, want + 1, fmt, args);
        va_end(args);
        int r = buf_append(b, span_of(text, want));
        mem_free(text);
        return r;
    }
    int r = buf_reserve(b, want + 1, &at);
    if (r < 0)
        return r;
    va_start(args, fmt);
    (void)vsnprintf(at, want + 1, fmt, args);
    va_end(args);
    b->_len += want;
    return 0;
}

void buf_consume(struct buf *b, size_t n)
{
    ASSERT(n <= b->_len);
    b->_off += n;
    b->_len -= n;
    if (b->_len > 0)
        return;
    b->_off = 0;
    if (b->_cap > BUF_KEEP_BYTES)
        buf_done(b);
}

void buf_clear(struct buf *b)
{
    b->_off = 0;
    b->_len = 0;
}

void buf_truncate(struct buf *b, size_t len)
{
    ASSERT(len <= b->_len);
    b->_len = len;
}
