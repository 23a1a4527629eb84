/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/chunked.c - see chunked.h.
 *
 * Why byte by byte: only framing is read that way, some seven bytes per chunk; data is handed out
 * as it lies. Each state consumes one byte and names the next state, so that an input may end
 * anywhere.
 */
#include "wire/chunked.h"

#include <stdbool.h>

#include "base/limits.h"
#include "wire/scan.h"

enum state {
    SIZE_FIRST,    /* a digit must come */
    SIZE,          /* more digits, an extension or the line's end */
    EXT,           /* inside an extension */
    SIZE_LF,       /* behind the CR of the size line */
    DATA,          /* _left bytes of data */
    DATA_CR,       /* behind the data */
    DATA_LF,       /* behind the CR after the data */
    TRAILER_START, /* first byte of a trailer line or the last CR */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF, /* behind the CR of a trailer line */
    END_LF,     /* behind the last CR */
    END,
    BROKEN,
};

enum { SIZE_DIGITS_MAX = 16 };

void chunked_init(struct chunked_decoder *d)
{
    *d = (struct chunked_decoder){._state = SIZE_FIRST};
}

static int hex_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Visible, space, tab or beyond ASCII. */
static bool is_text(unsigned char c)
{
    return (c >= 0x20 && c != 0x7f) || c == '\t';
}

/* Counts one more byte of what is limited to max; the state it leaves behind. */
static enum state counted(struct chunked_decoder *d, size_t max, enum state next)
{
    return d->_n++ < max ? next : BROKEN;
}

static enum state expect(unsigned char c, unsigned char wanted, enum state next)
{
    return c == wanted ? next : BROKEN;
}

static enum state on_size(struct chunked_decoder *d, unsigned char c)
{
    int digit = hex_value(c);
    if (digit >= 0) {
        d->_left = d->_left << 4 | (unsigned)digit;
        return counted(d, SIZE_DIGITS_MAX, SIZE);
    }
    if (d->_n == 0)
        return BROKEN;
    if (c != ';')
        return expect(c, '\r', SIZE_LF);
    d->_n = 1;
    return EXT;
}

/* The size line is over. */
static enum state on_size_end(struct chunked_decoder *d)
{
    d->_n = 0;
    return d->_left > 0 ? DATA : TRAILER_START;
}

static enum state in_trailer(struct chunked_decoder *d, bool is_allowed, enum state next)
{
    return is_allowed ? counted(d, LIMIT_HEAD_BYTES, next) : BROKEN;
}

/* The state behind the framing byte c. */
static enum state step(struct chunked_decoder *d, unsigned char c)
{
    switch ((enum state)d->_state) {
    case SIZE_FIRST:
    case SIZE:
        return on_size(d, c);
    case EXT:
        if (c == '\r')
            return SIZE_LF;
        return is_text(c) ? counted(d, CHUNKED_EXT_MAX, EXT) : BROKEN;
    case SIZE_LF:
        return c == '\n' ? on_size_end(d) : BROKEN;
    case DATA_CR:
        return expect(c, '\r', DATA_LF);
    case DATA_LF:
        return expect(c, '\n', SIZE_FIRST);
    case TRAILER_START:
        if (c == '\r')
            return END_LF;
        return in_trailer(d, scan_is_token_char(c), TRAILER_NAME);
    case TRAILER_NAME:
        if (c == ':')
            return in_trailer(d, true, TRAILER_VALUE);
        return in_trailer(d, scan_is_token_char(c), TRAILER_NAME);
    case TRAILER_VALUE:
        if (c == '\r')
            return in_trailer(d, true, TRAILER_LF);
        return in_trailer(d, is_text(c), TRAILER_VALUE);
    case TRAILER_LF:
        return in_trailer(d, c == '\n', TRAILER_START);
    case END_LF:
        return expect(c, '\n', END);
    case DATA:
    case END:
    case BROKEN:
        break;
    }
    return BROKEN;
}

enum chunked_status chunked_next(struct chunked_decoder *d, struct span *in, struct span *ret_data)
{
    for (;;) {
        if (d->_state == END)
            return CHUNKED_END;
        if (d->_state == BROKEN)
            return CHUNKED_ERROR;
        if (in->n == 0)
            return CHUNKED_MORE;
        if (d->_state == DATA)
            break;
        d->_state = (int)step(d, (unsigned char)*span_take(in, 1).p);
    }
    size_t n = d->_left < in->n ? (size_t)d->_left : in->n;
    d->_left -= n;
    if (d->_left == 0)
        d->_state = DATA_CR;
    *ret_data = span_take(in, n);
    return CHUNKED_DATA;
}

size_t chunked_head(size_t n, char *dst)
{
    static const char hex[] = "0123456789abcdef";
    if (n == 0) {
        static const char last[] = {'0', '\r', '\n', '\r', '\n'};
        memcpy(dst, last, sizeof(last));
        return sizeof(last);
    }
    unsigned shift = 0;
    while (n >> shift > 0xf)
        shift += 4;
    size_t len = 0;
    for (;; shift -= 4) {
        dst[len++] = hex[(n >> shift) & 0xf];
        if (shift == 0)
            break;
    }
    dst[len++] = '\r';
    dst[len++] = '\n';
    return len;
}
