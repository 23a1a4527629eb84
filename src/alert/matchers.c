/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/matchers.c - two grammars for one text. The classic one is tried first: Alertmanager
 * prefers what it says wherever both can read a text and disagree.
 */
#include "alert/matchers.h"

#include <errno.h>

#include "base/err_list.h"
#include "base/utf8.h"

static const struct {
    const char *text;
    enum matcher_op op;
} ops[] = {
    {"=~", MATCH_RE},
    {"=", MATCH_EQ},
    {"!=", MATCH_NE},
    {"!~", MATCH_NRE},
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(struct span *s)
{
    while (s->n > 0 && is_space(s->p[0]))
        (void)span_take(s, 1);
}

bool alert_matchers_is_name(struct span s)
{
    return s.n > 0 && utf8_is_valid(s);
}

static bool take_op(struct span *s, enum matcher_op *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct span text = span_cstr(ops[i].text);
        if (span_starts_with(*s, text)) {
            (void)span_take(s, text.n);
            *ret = ops[i].op;
            return true;
        }
    }
    return false;
}

static void truncate_to(struct alert_matchers *m, size_t n)
{
    while (m->n > n)
        matcher_done(&m->at[--m->n]);
}

int alert_matchers_add(struct arena *a, struct alert_matchers *to, enum matcher_op op,
                       struct span name, struct span value, struct err *reterr)
{
    size_t cap = to->_cap;
    struct matcher *at = arena_grow(a, to->at, to->n, 1, &cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    to->at = at;
    to->_cap = cap;
    int r = matcher_init(a, op, name, value, &to->at[to->n], reterr);
    if (r < 0)
        return r;
    struct matcher *m = &to->at[to->n++];
    /* The first match takes memory, and without it nothing would match: an alert would take the
     * wrong route. Later ones go without. */
    (void)matcher_matches(m, SPAN("x"));
    if (matcher_error(m) != -ENOMEM)
        return 0;
    truncate_to(to, to->n - 1);
    return -ENOMEM;
}

void alert_matchers_done(struct alert_matchers *m)
{
    truncate_to(m, 0);
}

/* --- the classic grammar --- */

/* A value: escapes that are none stand for themselves; false: a quote where none may be. */
static bool classic_value(struct span raw, char *out, size_t *ret_n)
{
    bool is_quoted = raw.n > 0 && raw.p[0] == '"';
    bool is_closed = !is_quoted;
    size_t n = 0;
    if (is_quoted)
        (void)span_take(&raw, 1);
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i], next = span_at(raw, i + 1);
        if (c == '\\' && (next == 'n' || next == '"' || next == '\\')) {
            if (next == 'n')
                next = '\n';
            out[n++] = next;
            i++;
        } else if (c == '"') {
            if (is_closed || i + 1 < raw.n)
                return false;
            is_closed = true;
        } else {
            out[n++] = c;
        }
    }
    *ret_n = n;
    return is_closed;
}

static struct span trim_space(struct span s)
{
    skip_space(&s);
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool is_classic_byte(char c, size_t i)
{
    char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || c == '_' || c == ':' ||
           (i > 0 && c >= '0' && c <= '9');
}

/* 1: it is one; 0: not of this grammar. */
static int classic_one(struct arena *a, struct span s, struct alert_matchers *to,
                       struct err *reterr)
{
    enum matcher_op op = MATCH_EQ;
    size_t n = 0;
    s = trim_space(s);
    while (n < s.n && is_classic_byte(s.p[n], n))
        n++;
    struct span name = span_take(&s, n);
    skip_space(&s);
    if (n == 0 || !take_op(&s, &op) || !utf8_is_valid(s))
        return 0;
    s = trim_space(s);
    char *value = arena_alloc(a, s.n + 1);
    if (!value)
        return -ENOMEM;
    if (!classic_value(s, value, &n))
        return 0;
    int r = alert_matchers_add(a, to, op, name, span_of(value, n), reterr);
    return r < 0 ? r : 1;
}

/* Up to the next comma that is not between quotes. */
static struct span classic_token(struct span *s)
{
    bool is_quoted = false, is_escaped = false;
    size_t i = 0;
    for (; i < s->n && (s->p[i] != ',' || is_quoted); i++) {
        if (s->p[i] == '"' && !is_escaped)
            is_quoted = !is_quoted;
        is_escaped = s->p[i] == '\\' && !is_escaped;
    }
    struct span token = span_take(s, i);
    return token;
}

static int classic(struct arena *a, struct span s, struct alert_matchers *to, struct err *reterr)
{
    if (s.n > 0 && s.p[0] == '{')
        (void)span_take(&s, 1);
    if (s.n > 0 && s.p[s.n - 1] == '}')
        s.n--;
    for (;;) {
        struct span token = classic_token(&s);
        if (s.n == 0 && trim_space(token).n == 0)
            return 1;
        int r = classic_one(a, token, to, reterr);
        if (r <= 0 || s.n == 0)
            return r;
        (void)span_take(&s, 1);
    }
}

/* --- the grammar with quoted names --- */

bool alert_matchers_is_reserved(char c)
{
    return is_space(c) || (c != '\0' && strchr("{}!=~,\\\"'`", c) != NULL);
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits of an escape in that base; -1: there are not as many, or it is too large. */
static int64_t take_digits(struct span *s, size_t n, int base)
{
    int64_t v = 0;
    if (s->n < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_of(s->p[i]);
        if (digit < 0 || digit >= base)
            return -1;
        v = v * base + digit;
    }
    (void)span_take(s, n);
    return v;
}

/* What stands behind a backslash, as in Go's strings. */
static bool unescape(struct span *s, char **out)
{
    static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
    if (s->n == 0)
        return false;
    char c = s->p[0];
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        (void)span_take(s, 1);
        *(*out)++ = to[simple - from];
        return true;
    }
    bool is_octal = c >= '0' && c <= '7';
    if (!is_octal)
        (void)span_take(s, 1);
    if (is_octal || c == 'x') {
        int64_t byte = take_digits(s, is_octal ? 3 : 2, is_octal ? 8 : 16);
        *(*out)++ = (char)byte;
        return byte >= 0 && byte <= 255;
    }
    int64_t point = c == 'u' ? take_digits(s, 4, 16) : c == 'U' ? take_digits(s, 8, 16) : -1;
    if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return false;
    *out += utf8_put((uint32_t)point, *out);
    return true;
}

/* A name or value at the front of s. 1: taken; 0: there is none, or its quotes are wrong. */
static int take_word(struct arena *a, struct span *s, struct span *ret)
{
    size_t n = 0;
    if (s->n == 0 || s->p[0] != '"') {
        while (n < s->n && !alert_matchers_is_reserved(s->p[n]))
            n++;
        *ret = span_take(s, n);
        return n > 0 && utf8_is_valid(*ret);
    }
    char *text = arena_alloc(a, s->n + 4), *out = text;
    if (!text)
        return -ENOMEM;
    (void)span_take(s, 1);
    while (s->n > 0 && s->p[0] != '"') {
        char c = s->p[0];
        (void)span_take(s, 1);
        if (c == '\\' ? !unescape(s, &out) : c == '\n')
            return 0;
        if (c != '\\')
            *out++ = c;
    }
    *ret = span_of(text, (size_t)(out - text));
    if (s->n == 0)
        return 0;
    (void)span_take(s, 1);
    return utf8_is_valid(*ret);
}

/* One matcher; 0: *ret_wanted is what should stand at the front of *s. */
static int quoted_one(struct arena *a, struct span *s, struct alert_matchers *to,
                      const char **ret_wanted, struct err *reterr)
{
    struct span name = {0}, value = {0};
    enum matcher_op op = MATCH_EQ;
    *ret_wanted = "the name of a label, in quotes where it is not letters, digits and _";
    int r = take_word(a, s, &name);
    if (r == 1 && name.n == 0)
        r = 0;
    if (r == 1) {
        skip_space(s);
        *ret_wanted = "=, !=, =~ or !~";
        r = take_op(s, &op);
    }
    if (r == 1) {
        skip_space(s);
        *ret_wanted = "a value, in quotes where it holds a blank or one of {}!=~,\\\"'`";
        r = take_word(a, s, &value);
    }
    if (r == 1)
        r = alert_matchers_add(a, to, op, name, value, reterr) < 0 ? -1 : 1;
    return r;
}

/* 1: read; 0: *s stands where *ret_wanted should be; negative: as matcher_init. */
static int quoted(struct arena *a, struct span *s, struct alert_matchers *to,
                  const char **ret_wanted, struct err *reterr)
{
    skip_space(s);
    bool has_brace = s->n > 0 && s->p[0] == '{';
    if (has_brace)
        (void)span_take(s, 1);
    skip_space(s);
    while (s->n > 0 && s->p[0] != '}') {
        int r = quoted_one(a, s, to, ret_wanted, reterr);
        if (r <= 0)
            return r;
        skip_space(s);
        *ret_wanted = has_brace ? "a comma or }" : "a comma";
        if (s->n == 0 || s->p[0] != ',')
            break;
        (void)span_take(s, 1);
        skip_space(s);
    }
    if (has_brace) {
        *ret_wanted = "}";
        if (s->n == 0 || s->p[0] != '}')
            return 0;
        (void)span_take(s, 1);
        skip_space(s);
        *ret_wanted = "the end";
    }
    return s->n == 0;
}

int alert_matchers_parse(struct arena *a, struct span text, struct alert_matchers *to,
                         struct err *reterr)
{
    const char *wanted = "a matcher";
    struct err err = {.code = 0};
    size_t n = to->n;
    int r = classic(a, text, to, &err);
    if (r == 1)
        return 0;
    truncate_to(to, n);
    if (r == -ENOMEM)
        return r;
    struct span rest = text;
    struct err of_pattern = err; /* a pattern that does not compile: both say the same */
    r = quoted(a, &rest, to, &wanted, &of_pattern);
    if (r == 1)
        return 0;
    truncate_to(to, n);
    if (r < 0 && of_pattern.code == 0)
        return -ENOMEM;
    if (of_pattern.code != 0) {
        if (reterr)
            *reterr = of_pattern;
    } else {
        (void)err_set(reterr, -EINVAL, "matcher: expected %s at byte %zu", wanted,
                      text.n - rest.n + 1);
        err_hint(reterr, "write name=\"value\", name!=\"value\", name=~\"pattern\" or "
                         "name!~\"pattern\", with commas between them");
    }
    return -EINVAL;
}

int alert_matcher_parse(struct span text, struct arena *a, struct matcher *ret, struct err *reterr)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct alert_matchers m = {NULL, 0, 0};
    int r = alert_matchers_parse(a, text, &m, reterr);
    if (r < 0)
        return r;
    if (m.n == 1) {
        *ret = m.at[0];
        return 0;
    }
    alert_matchers_done(&m);
    (void)err_set(reterr, -EINVAL, "\"%s\" is not one matcher", err_list_shown(text, shown));
    err_hint(reterr, "write name=\"value\", name!=\"value\", name=~\"pattern\" or "
                     "name!~\"pattern\"");
    return -EINVAL;
}
