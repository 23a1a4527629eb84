/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/quote.c - strings of the language.
 */
#include "promql/quote.h"

#include <errno.h>
#include <stdio.h>

#include "base/utf8.h"

/* Letters of short escapes, in the order of their bytes: \a \b \t \n \v \f \r. */
static const char short_escapes[] = "abtnvfr";

/* Takes one character off *s and writes it as it stands between quotes; returns its length. */
static size_t escape_one(struct span *s, char dst[8])
{
    bool is_valid;
    size_t n = utf8_step(*s, &is_valid);
    unsigned char c = (unsigned char)s->p[0];
    if (is_valid && n > 1) {
        memcpy(dst, s->p, n);
        (void)span_take(s, n);
        return n;
    }
    (void)span_take(s, 1);
    if (is_valid && c >= ' ' && c != 0x7f) {
        size_t at = 0;
        if (c == '"' || c == '\\')
            dst[at++] = '\\';
        dst[at++] = (char)c;
        return at;
    }
    if (c >= '\a' && c <= '\r') {
        dst[0] = '\\';
        dst[1] = short_escapes[c - '\a'];
        return 2;
    }
    static const char hex[] = "0123456789abcdef";
    dst[0] = '\\';
    dst[1] = 'x';
    dst[2] = hex[c >> 4];
    dst[3] = hex[c & 15];
    return 4;
}

int quote_print(struct span s, struct buf *out)
{
    int r = buf_append(out, SPAN("\""));
    while (r == 0 && s.n > 0) {
        char one[8];
        r = buf_append(out, span_of(one, escape_one(&s, one)));
    }
    return r ? r : buf_append(out, SPAN("\""));
}

void quote_copy(struct span s, size_t max_runes, char *dst, size_t cap)
{
    size_t at = 0;
    dst[at++] = '"';
    for (size_t n = 0; s.n > 0 && (max_runes == 0 || n < max_runes); n++) {
        char one[8];
        size_t len = escape_one(&s, one);
        if (at + len + 2 > cap)
            break;
        memcpy(dst + at, one, len);
        at += len;
    }
    dst[at++] = '"';
    dst[at] = '\0';
}

void quote_rune(int32_t rune, char dst[16])
{
    uint32_t c = rune < 0 ? 0xfffd : (uint32_t)rune;
    if (c >= '\a' && c <= '\r')
        (void)snprintf(dst, 16, "'\\%c'", short_escapes[c - '\a']);
    else if (c < ' ' || c == 0x7f)
        (void)snprintf(dst, 16, "'\\x%02x'", c);
    else if (c == '\'' || c == '\\')
        (void)snprintf(dst, 16, "'\\%c'", (char)c);
    else {
        char text[4];
        int n = (int)utf8_put(c, text);
        (void)snprintf(dst, 16, "'%.*s'", n, text);
    }
}

/* Digits of an escape behind its letter, in base 8 or 16. */
static uint32_t digits(struct span *s, size_t n, uint32_t base)
{
    uint32_t v = 0;
    for (; n > 0 && s->n > 0; n--) {
        char c = span_take(s, 1).p[0];
        v = v * base + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

/* One escape, the backslash taken already. */
static size_t unescape_one(struct span *s, char dst[4])
{
    char c = s->p[0];
    if (c >= '0' && c <= '7') {
        dst[0] = (char)digits(s, 3, 8);
        return 1;
    }
    (void)span_take(s, 1);
    if (c == 'x') {
        dst[0] = (char)digits(s, 2, 16);
        return 1;
    }
    if (c == 'u' || c == 'U')
        return utf8_put(digits(s, c == 'u' ? 4 : 8, 16), dst);
    const char *known = memchr(short_escapes, c, sizeof(short_escapes) - 1);
    dst[0] = c;
    if (known)
        dst[0] = (char)('\a' + (known - short_escapes));
    return 1;
}

int quote_read(struct span s, struct arena *a, struct span *ret)
{
    char quote = s.p[0];
    struct span inner = span_of(s.p + 1, s.n - 2);
    if (quote == '`' || span_find_char(inner, '\\') == inner.n) {
        *ret = inner;
        return 0;
    }
    char *p = arena_alloc(a, inner.n); /* an escape is longer than what it stands for */
    if (!p)
        return -ENOMEM;
    size_t n = 0;
    while (inner.n > 0) {
        char c = span_take(&inner, 1).p[0];
        if (c == '\\' && inner.n > 0)
            n += unescape_one(&inner, p + n);
        else
            p[n++] = c;
    }
    *ret = span_of(p, n);
    return 0;
}
