/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/jsonw.c - compact JSON writer.
 *
 * Strings are copied in runs of bytes that need no change; only the byte that ends a run is looked
 * at closely. What comes in may be a peer's text (a model name), so UTF-8 is validated here and
 * the output is valid JSON whatever the input is.
 */
#include "base/jsonw.h"

#include <endian.h>
#include <math.h>

#include "base/num.h"
#include "base/utf8.h"

enum { NUMBER_BYTES = 32 };

void jsonw_init(struct jsonw *w, struct buf *b)
{
    *w = (struct jsonw){._b = b};
}

int jsonw_error(const struct jsonw *w)
{
    return w->_error;
}

void jsonw_fail(struct jsonw *w, int error)
{
    if (w->_error == 0 && error < 0)
        w->_error = error;
}

static void put(struct jsonw *w, struct span s)
{
    if (w->_error == 0)
        w->_error = buf_append(w->_b, s);
}

static void before_value(struct jsonw *w)
{
    if (w->_need_comma)
        put(w, SPAN(","));
    w->_need_comma = true;
}

static void open_container(struct jsonw *w, struct span bracket)
{
    before_value(w);
    put(w, bracket);
    w->_need_comma = false;
}

static void close_container(struct jsonw *w, struct span bracket)
{
    put(w, bracket);
    w->_need_comma = true;
}

void jsonw_begin_object(struct jsonw *w)
{
    open_container(w, SPAN("{"));
}

void jsonw_end_object(struct jsonw *w)
{
    close_container(w, SPAN("}"));
}

void jsonw_begin_array(struct jsonw *w)
{
    open_container(w, SPAN("["));
}

void jsonw_end_array(struct jsonw *w)
{
    close_container(w, SPAN("]"));
}

void jsonw_key(struct jsonw *w, const char *key)
{
    size_t n = strlen(key);
    char *p = NULL;

    if (w->_error == 0)
        w->_error = buf_reserve(w->_b, n + 4, &p);
    if (w->_error != 0)
        return;
    /* One piece: keys are most of what a record writes. */
    char *at = p;
    if (w->_need_comma)
        *at++ = ',';
    *at++ = '"';
    at = mempcpy(at, key, n);
    *at++ = '"';
    *at++ = ':';
    buf_commit(w->_b, (size_t)(at - p));
    w->_need_comma = false;
}

void jsonw_quoted_key(struct jsonw *w, struct span quoted)
{
    before_value(w);
    put(w, quoted);
    w->_need_comma = false;
}

static void put_escape(struct jsonw *w, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    switch (c) {
    case '"':
        put(w, SPAN("\\\""));
        break;
    case '\\':
        put(w, SPAN("\\\\"));
        break;
    case '\n':
        put(w, SPAN("\\n"));
        break;
    case '\r':
        put(w, SPAN("\\r"));
        break;
    case '\t':
        put(w, SPAN("\\t"));
        break;
    default:
        put(w, span_of(text, sizeof(text)));
        break;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/*
 * Top bits of the bytes of word that are not plain. Each test is a sum over all bytes at once, made
 * so that its result has the top bit where the byte is odd; a carry or borrow comes only from an
 * odd byte, so that what it may make of the bytes above does not matter to who looks at the lowest.
 */
static uint64_t odd_bytes(uint64_t word)
{
    const uint64_t ones = UINT64_MAX / 0xff;
    uint64_t is_control = word - ones * 0x20;
    uint64_t is_quote = (word ^ ones * '"') - ones;
    uint64_t is_backslash = (word ^ ones * '\\') - ones;
    uint64_t is_del = word + ones;
    return (word | is_control | is_quote | is_backslash | is_del) & (ones * 0x80);
}

size_t jsonw_copy_plain(char *to, const char *from, size_t max)
{
    size_t i = 0;
    for (; max - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from + i, sizeof(word));
        memcpy(to + i, &word, sizeof(word));
        uint64_t odd = odd_bytes(le64toh(word));
        if (odd != 0)
            return i + (size_t)__builtin_ctzll(odd) / 8;
    }
    for (; i < max && is_plain((unsigned char)from[i]); i++)
        to[i] = from[i];
    return i;
}

void jsonw_str(struct jsonw *w, struct span s)
{
    size_t run = 0; /* bytes at the front of s that go out unchanged */
    before_value(w);
    put(w, SPAN("\""));
    while (run < s.n && w->_error == 0) {
        unsigned char c = (unsigned char)s.p[run];
        if (is_plain(c)) {
            run++;
            continue;
        }
        bool is_valid;
        size_t len = utf8_step(span_from(s, run), &is_valid);
        if (is_valid && c >= 0x80) {
            run += len;
            continue;
        }
        put(w, span_take(&s, run));
        run = 0;
        if (is_valid)
            put_escape(w, c);
        else
            put(w, SPAN("\xef\xbf\xbd"));
        (void)span_take(&s, len);
    }
    put(w, s);
    put(w, SPAN("\""));
}

void jsonw_key_str(struct jsonw *w, struct span key)
{
    jsonw_str(w, key);
    put(w, SPAN(":"));
    w->_need_comma = false;
}

void jsonw_cstr(struct jsonw *w, const char *s)
{
    jsonw_str(w, span_cstr(s));
}

void jsonw_i64(struct jsonw *w, int64_t v)
{
    char text[NUMBER_BYTES] UNINITIALIZED;
    before_value(w);
    put(w, span_of(text, num_format_i64(v, text)));
}

void jsonw_u64(struct jsonw *w, uint64_t v)
{
    char text[NUMBER_BYTES] UNINITIALIZED;
    before_value(w);
    put(w, span_of(text, num_format_u64(v, text)));
}

void jsonw_double(struct jsonw *w, double v)
{
    char text[NUMBER_BYTES] UNINITIALIZED;
    if (!isfinite(v)) {
        jsonw_null(w);
        return;
    }
    before_value(w);
    put(w, span_of(text, num_format_double(v, text)));
}

void jsonw_bool(struct jsonw *w, bool v)
{
    before_value(w);
    put(w, v ? SPAN("true") : SPAN("false"));
}

void jsonw_null(struct jsonw *w)
{
    before_value(w);
    put(w, SPAN("null"));
}

void jsonw_raw(struct jsonw *w, struct span json)
{
    before_value(w);
    put(w, json);
}

/* --- members --- */

void jsonw_put_str(struct jsonw *w, const char *key, struct span s)
{
    jsonw_key(w, key);
    jsonw_str(w, s);
}

void jsonw_put_cstr(struct jsonw *w, const char *key, const char *s)
{
    jsonw_key(w, key);
    jsonw_cstr(w, s);
}

void jsonw_put_i64(struct jsonw *w, const char *key, int64_t v)
{
    jsonw_key(w, key);
    jsonw_i64(w, v);
}

void jsonw_put_u64(struct jsonw *w, const char *key, uint64_t v)
{
    jsonw_key(w, key);
    jsonw_u64(w, v);
}

void jsonw_put_double(struct jsonw *w, const char *key, double v)
{
    jsonw_key(w, key);
    jsonw_double(w, v);
}

void jsonw_put_bool(struct jsonw *w, const char *key, bool v)
{
    jsonw_key(w, key);
    jsonw_bool(w, v);
}
