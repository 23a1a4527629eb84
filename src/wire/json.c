/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/json.c - see json.h.
 *
 * Why a reader of our own: it runs once per streamed event, so it must not allocate, and it must
 * cope with the first window of a larger body. Every byte that is passed over is checked; a skipped
 * value is no less validated than one that is taken.
 *
 * Invariants: _at says what must come next: one value, the first member of a bracket, or a comma
 * or closing bracket. _closer repeats the innermost bit of _is_array as the byte that ends the
 * bracket. After a failure _closer is 0 and _at is AT_NEXT, which no call accepts, so that nothing
 * else has to be asked first.
 *
 * json_key and json_skip begin with a fast way for text without white space. It calls nothing and
 * changes nothing until it has succeeded; whatever it does not know is left to the general way.
 */
#include "wire/json.h"

#include "base/num.h"
#include "base/utf8.h"
#include "wire/scan.h"

/* Keeps results in registers where a call would pass them through memory. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* json._at */
enum at {
    AT_VALUE, /* a value */
    AT_FIRST, /* behind an opening bracket: a member or the closing one */
    AT_NEXT,  /* behind a value: a comma or the closing bracket; at depth 0 nothing */
};

void json_init(struct json *j, struct span text)
{
    const char *p = text.p ? text.p : "";
    *j = (struct json){._p = p, ._end = p + text.n, ._base = p, ._at = AT_VALUE};
}

enum json_status json_status(const struct json *j)
{
    return j->_status;
}

size_t json_offset(const struct json *j)
{
    return (size_t)(j->_p - j->_base);
}

/* p: the token at fault, or where the input ended. Returns NULL for those who hand out a place. */
static const char *fail(struct json *j, const char *p, enum json_status status)
{
    j->_p = p;
    j->_status = status;
    j->_closer = 0;
    j->_at = AT_NEXT;
    return NULL;
}

/* A call that does not fit what comes next. */
static bool refuse_call(struct json *j)
{
    if (j->_status == JSON_OK)
        (void)fail(j, j->_p, JSON_ERROR);
    return false;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline const char *pass_space(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ' && is_space(*p))
        p++;
    return p;
}

/* Length of the escape at p ("\n", "\u00e9"), 0 when the input ends inside it, -1 when invalid. */
static int escape_length(const char *p, const char *end)
{
    if (end - p < 2)
        return 0;
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return 2;
    case 'u':
        break;
    default:
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        if (p + i == end)
            return 0;
        if (!is_hex(p[i]))
            return -1;
    }
    return 6;
}

/* The rest of a string from an escape or a fault at p on. start: behind the opening quote. */
static const char *pass_escapes(struct json *j, const char *start, const char *p)
{
    for (;;) {
        if (p == j->_end)
            return fail(j, start - 1, JSON_MORE);
        if (*p == '"')
            return p;
        if (*p != '\\')
            return fail(j, start - 1, JSON_ERROR); /* a control character */
        int n = escape_length(p, j->_end);
        if (n <= 0)
            return fail(j, start - 1, n == 0 ? JSON_MORE : JSON_ERROR);
        p = scan_find(SCAN_STRING, p + n, j->_end);
    }
}

/* The closing quote of the string that begins at start, behind its opening quote; NULL: failed. */
static ALWAYS_INLINE const char *pass_string(struct json *j, const char *start,
                                             bool *ret_has_escape)
{
    const char *p = scan_find(SCAN_STRING, start, j->_end);
    *ret_has_escape = false;
    if (LIKELY(p < j->_end && *p == '"'))
        return p;
    *ret_has_escape = true; /* or it fails */
    return pass_escapes(j, start, p);
}

/* Whether a word or number may end at p: nothing may stand there that continues it. */
static inline bool is_bare_end(const char *p, const char *end)
{
    return p == end || *p == ',' || *p == '}' || *p == ']' || is_space(*p);
}

/* The end of the word at p. */
static ALWAYS_INLINE const char *pass_word(struct json *j, const char *p, const char *word,
                                           size_t n)
{
    size_t left = (size_t)(j->_end - p);
    if (LIKELY(left >= n && memcmp(p, word, n) == 0 && is_bare_end(p + n, j->_end)))
        return p + n;
    return fail(j, p, left < n && memcmp(p, word, left) == 0 ? JSON_MORE : JSON_ERROR);
}

static inline const char *pass_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

/* The end of the number at p. */
static const char *pass_number(struct json *j, const char *p)
{
    const char *end = j->_end;
    const char *q = p + (*p == '-');
    const char *part = q; /* at least one digit must follow each of these */
    q = pass_digits(q, end);
    if (q - part > 1 && *part == '0')
        return fail(j, p, JSON_ERROR); /* a leading zero */
    if (q > part && q < end && *q == '.') {
        part = ++q;
        q = pass_digits(q, end);
    }
    if (q > part && q < end && (*q == 'e' || *q == 'E')) {
        q++;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        part = q;
        q = pass_digits(q, end);
    }
    /* Inside a bracket the input was cut, and more digits may have been lost with it. */
    if (q == end && (q == part || j->_depth > 0))
        return fail(j, p, JSON_MORE);
    return q > part && is_bare_end(q, end) ? q : fail(j, p, JSON_ERROR);
}

/* Enters the bracket at p; false: too deep. */
static bool enter(struct json *j, const char *p)
{
    if (j->_depth == JSON_DEPTH_MAX) {
        (void)fail(j, p, JSON_ERROR);
        return false;
    }
    uint64_t bit = UINT64_C(1) << j->_depth++;
    bool is_array = *p == '[';
    j->_is_array = is_array ? j->_is_array | bit : j->_is_array & ~bit;
    j->_closer = is_array ? ']' : '}';
    j->_at = AT_FIRST;
    j->_p = p + 1;
    return true;
}

/* Leaves the innermost bracket, whose end is at p. */
static void leave(struct json *j, const char *p)
{
    j->_depth--;
    if (j->_depth == 0)
        j->_closer = 0;
    else
        j->_closer = (j->_is_array >> (j->_depth - 1)) & 1 ? ']' : '}';
    j->_at = AT_NEXT;
    j->_p = p + 1;
}

/* The end of the string, number or word at p; NULL: failed. */
static ALWAYS_INLINE const char *pass_scalar(struct json *j, const char *p, bool *ret_has_escape)
{
    *ret_has_escape = false;
    switch (*p) {
    case '"':
        p = pass_string(j, p + 1, ret_has_escape);
        return p ? p + 1 : NULL;
    case 't':
        return pass_word(j, p, "true", 4);
    case 'f':
        return pass_word(j, p, "false", 5);
    case 'n':
        return pass_word(j, p, "null", 4);
    default:
        return pass_number(j, p);
    }
}

/* By its first byte, which was checked. */
static inline enum json_type type_of(char c)
{
    if (c == '"')
        return JSON_STRING;
    if (c == '{' || c == '[')
        return c == '{' ? JSON_OBJECT : JSON_ARRAY;
    if (c == 't' || c == 'f')
        return JSON_BOOL;
    return c == 'n' ? JSON_NULL : JSON_NUMBER;
}

/* The first byte of the value that must come next; NULL: failed. */
static inline const char *value_start(struct json *j)
{
    if (UNLIKELY(j->_at != AT_VALUE)) {
        (void)refuse_call(j);
        return NULL;
    }
    const char *p = pass_space(j->_p, j->_end);
    return LIKELY(p < j->_end) ? p : fail(j, p, JSON_MORE);
}

bool json_next(struct json *j, struct json_value *ret)
{
    const char *p = value_start(j);
    if (!p)
        return false;
    const char *end = j->_end;
    bool has_escape = false;
    if (*p == '{' || *p == '[') {
        if (!enter(j, p))
            return false;
    } else {
        end = pass_scalar(j, p, &has_escape);
        if (!end)
            return false;
        j->_p = end;
        j->_at = AT_NEXT;
    }
    ret->type = type_of(*p);
    ret->has_escape = has_escape;
    ret->is_true = *p == 't';
    size_t n_quote = *p == '"';
    ret->raw = (struct span){p + n_quote, (size_t)(end - p) - 2 * n_quote};
    return true;
}

/*
 * The first byte of the next member of the innermost bracket, behind the comma; NULL: the bracket
 * was closed, or failed.
 */
static const char *member_start(struct json *j)
{
    const char *end = j->_end;
    const char *p = pass_space(j->_p, end);
    if (p == end)
        return fail(j, p, JSON_MORE);
    if (*p == j->_closer) {
        leave(j, p);
        return NULL;
    }
    if (j->_at == AT_FIRST)
        return p;
    if (*p != ',')
        return fail(j, p, JSON_ERROR);
    p = pass_space(p + 1, end);
    return p < end ? p : fail(j, p, JSON_MORE);
}

/* The next key however it is written. */
static __attribute__((noinline)) bool any_key(struct json *j, struct span *ret_key)
{
    if (j->_closer != '}')
        return refuse_call(j);
    if (j->_at == AT_VALUE && !json_skip(j))
        return false;
    const char *p = member_start(j);
    if (!p)
        return false;
    bool has_escape;
    const char *start = p + 1;
    const char *quote = *p == '"' ? pass_string(j, start, &has_escape) : fail(j, p, JSON_ERROR);
    if (!quote)
        return false;
    p = pass_space(quote + 1, j->_end);
    if (p == j->_end || *p != ':')
        return fail(j, p, p == j->_end ? JSON_MORE : JSON_ERROR) != NULL;
    j->_p = p + 1;
    j->_at = AT_VALUE;
    *ret_key = (struct span){start, (size_t)(quote - start)};
    return true;
}

bool json_key(struct json *j, struct span *ret_key)
{
    const char *end = j->_end;
    const char *p = j->_p;
    if (UNLIKELY(j->_closer != '}' || j->_at == AT_VALUE || p == end))
        return any_key(j, ret_key);
    if (j->_at == AT_NEXT) {
        if (*p == '}') {
            leave(j, p);
            return false;
        }
        if (UNLIKELY(*p++ != ',' || p == end))
            return any_key(j, ret_key);
    }
    if (UNLIKELY(*p++ != '"'))
        return any_key(j, ret_key);
    const char *quote = scan_find(SCAN_STRING, p, end);
    if (UNLIKELY(end - quote < 2 || quote[0] != '"' || quote[1] != ':'))
        return any_key(j, ret_key);
    j->_p = quote + 2;
    j->_at = AT_VALUE;
    *ret_key = (struct span){p, (size_t)(quote - p)};
    return true;
}

bool json_item(struct json *j)
{
    if (UNLIKELY(j->_closer != ']'))
        return refuse_call(j);
    if (UNLIKELY(j->_at == AT_VALUE) && !json_skip(j))
        return false;
    const char *p = member_start(j);
    if (!p)
        return false;
    if (*p == ']') { /* behind a comma */
        (void)fail(j, p, JSON_ERROR);
        return false;
    }
    j->_p = p;
    j->_at = AT_VALUE;
    return true;
}

/* Passes over the value that must come next, or enters it when it is a bracket. */
static bool pass_value(struct json *j)
{
    bool has_escape;
    const char *p = value_start(j);
    if (!p)
        return false;
    if (*p == '{' || *p == '[')
        return enter(j, p);
    p = pass_scalar(j, p, &has_escape);
    if (!p)
        return false;
    j->_p = p;
    j->_at = AT_NEXT;
    return true;
}

/* Passes over everything until only `depth` brackets are open. A loop, so that depth costs no
 * stack. */
static bool skip_to(struct json *j, int depth)
{
    while (j->_depth > depth) {
        struct span key;
        bool is_member = j->_closer == ']' ? json_item(j) : json_key(j, &key);
        if (is_member ? !pass_value(j) : j->_status != JSON_OK)
            return false;
    }
    return true;
}

/* The next value whatever it is. */
static __attribute__((noinline)) bool skip_any(struct json *j)
{
    int depth = j->_depth;
    return pass_value(j) && skip_to(j, depth);
}

bool json_skip(struct json *j)
{
    const char *end = j->_end;
    const char *p = j->_p;
    if (UNLIKELY(j->_at != AT_VALUE || p == end))
        return skip_any(j);
    if (*p == '"') {
        p = scan_find(SCAN_STRING, p + 1, end);
        if (UNLIKELY(p == end || *p != '"'))
            return skip_any(j);
        p++;
    } else if (is_digit(*p)) { /* an integer; anything more goes the general way */
        p = *p == '0' ? p + 1 : pass_digits(p + 1, end);
        if (UNLIKELY(p == end || (*p != ',' && *p != '}')))
            return skip_any(j);
    } else if (end - p > 4 && memcmp(p, "null", 4) == 0 && (p[4] == ',' || p[4] == '}')) {
        p += 4;
    } else {
        return skip_any(j);
    }
    j->_p = p;
    j->_at = AT_NEXT;
    return true;
}

bool json_leave(struct json *j)
{
    if (j->_closer == 0)
        return refuse_call(j);
    if (j->_at == AT_VALUE && !json_skip(j))
        return false;
    return skip_to(j, j->_depth - 1);
}

bool json_is_done(struct json *j)
{
    if (j->_status != JSON_OK || j->_depth > 0 || j->_at == AT_VALUE)
        return false;
    j->_p = pass_space(j->_p, j->_end);
    return j->_p == j->_end;
}

/* A number's text as +-digits * 10^scale: its digits lie in [first, last), with a '.' maybe among
 * them, and neither the first nor the last of them is a zero. */
struct decimal {
    const char *first;
    const char *last;
    int64_t n_digits;
    int64_t scale;
    bool is_negative;
};

enum { EXPONENT_MAX = 1000000000 }; /* beyond it a number is zero or out of range anyway */

static int64_t parse_exponent(const char *p, const char *end)
{
    bool is_negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    int64_t e = 0;
    for (; p < end; p++)
        e = e > EXPONENT_MAX ? e : e * 10 + (*p - '0');
    return is_negative ? -e : e;
}

static struct decimal parse_decimal(struct span raw)
{
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    struct decimal d = {.is_negative = raw.n > 0 && *p == '-'};
    p += d.is_negative;
    const char *point = NULL;
    const char *q = p;
    for (; q < end && *q != 'e' && *q != 'E'; q++) {
        if (*q == '.')
            point = q;
    }
    d.scale = q < end ? parse_exponent(q + 1, end) : 0;
    if (point)
        d.scale -= q - point - 1;
    while (p < q && (*p == '0' || *p == '.'))
        p++;
    for (; p < q && (q[-1] == '0' || q[-1] == '.'); q--)
        d.scale += q[-1] == '0';
    d.first = p;
    d.last = q;
    d.n_digits = q - p - (point && point > p && point < q);
    return d;
}

bool json_i64(const struct json_value *v, int64_t *ret)
{
    if (v->type != JSON_NUMBER)
        return false;
    struct decimal d = parse_decimal(v->raw);
    if (d.n_digits == 0) {
        *ret = 0;
        return true;
    }
    if (d.scale < 0 || d.n_digits + d.scale > 19)
        return false;
    uint64_t u = 0; /* at most 19 digits: fits */
    for (const char *p = d.first; p < d.last; p++) {
        if (*p != '.')
            u = u * 10 + (uint64_t)(*p - '0');
    }
    for (int64_t i = 0; i < d.scale; i++)
        u *= 10;
    if (u > (uint64_t)INT64_MAX + d.is_negative)
        return false;
    *ret = d.is_negative ? (int64_t)(UINT64_C(0) - u) : (int64_t)u;
    return true;
}

bool json_double(const struct json_value *v, double *ret)
{
    return v->type == JSON_NUMBER && num_parse_double(v->raw, ret) == 0;
}

static uint32_t parse_hex4(const char *p)
{
    uint32_t u = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        u = u << 4 | (uint32_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return u;
}

/*
 * Decodes the escape in front of *s (which starts with a backslash) into dst (4 bytes) and takes it
 * off. What is no escape or a lone surrogate becomes U+FFFD.
 */
static size_t decode_escape(struct span *s, char *dst)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *p = s->p;
    const char *end = p + s->n;
    int n = escape_length(p, end);
    uint32_t c = 0xfffd;
    if (n == 2) {
        const char *at = strchr(from, p[1]);
        c = at ? (unsigned char)to[at - from] : c;
    } else if (n == 6) {
        c = parse_hex4(p + 2);
        if (c >= 0xd800 && c < 0xdc00 && end - p > 6 && p[6] == '\\' &&
            escape_length(p + 6, end) == 6) {
            uint32_t low = parse_hex4(p + 8);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                n = 12;
            }
        }
        if (c >= 0xd800 && c < 0xe000)
            c = 0xfffd;
    }
    span_take(s, n > 0 ? (size_t)n : 1);
    return utf8_put(c, dst);
}

/* The bytes in front of the first backslash of s. */
static struct span plain_run(struct span s)
{
    const char *slash = s.n > 0 ? memchr(s.p, '\\', s.n) : NULL;
    return (struct span){s.p, slash ? (size_t)(slash - s.p) : s.n};
}

/* Largest n <= room that does not cut a UTF-8 sequence of s in two. */
static size_t whole_characters(struct span s, size_t room)
{
    if (s.n <= room)
        return s.n;
    size_t n = room;
    for (int i = 0; i < 3 && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80; i++)
        n--;
    return ((unsigned char)s.p[n] & 0xc0) == 0x80 ? room : n; /* no UTF-8 at all: cut anywhere */
}

size_t json_unescape(struct span raw, char *dst, size_t cap)
{
    if (cap == 0)
        return 0;
    size_t len = 0;
    while (raw.n > 0) {
        struct span run = plain_run(raw);
        size_t n = whole_characters(run, cap - 1 - len);
        if (n > 0)
            memcpy(dst + len, run.p, n);
        len += n;
        span_take(&raw, n);
        if (n < run.n || raw.n == 0)
            break;
        char c[4];
        n = decode_escape(&raw, c);
        if (n > cap - 1 - len)
            break;
        memcpy(dst + len, c, n);
        len += n;
    }
    dst[len] = '\0';
    return len;
}

bool json_str_eq(struct span raw, struct span text)
{
    for (;;) {
        struct span run = plain_run(raw);
        if (!span_starts_with(text, run))
            return false;
        span_take(&raw, run.n);
        span_take(&text, run.n);
        if (raw.n == 0)
            return text.n == 0;
        char c[4];
        size_t n = decode_escape(&raw, c);
        if (!span_starts_with(text, (struct span){c, n}))
            return false;
        span_take(&text, n);
    }
}
