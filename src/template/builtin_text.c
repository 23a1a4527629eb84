/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_text.c - texts: cases, regular expressions, escaping for HTML and JavaScript.
 */
#include "base/casing.h"
#include "base/utf8.h"
#include "series/pattern.h"
#include "template/builtin.h"
#include "template/verb.h"

/* What patterns may make of a template's time: some seconds at worst. */
enum {
    PATTERN_STEPS = 100, /* to make one and to look for it once */
    PATTERN_WEIGHT = 16, /* of the text */
    FOUND_STEPS = 10,    /* for each match that is replaced */
    SLOW_STEPS = 10000,  /* for a text that needs the matcher that does not backtrack */
};

static int call_upper(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)n;
    return builtin_text(c, casing_upper(args[0].s, &c->scratch), ret);
}

static int call_lower(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)n;
    return builtin_text(c, casing_lower(args[0].s, &c->scratch), ret);
}

static int call_title(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)n;
    return builtin_text(c, casing_title(args[0].s, &c->scratch), ret);
}

/* Patterns are made anew for each call: a parsed template may be run by several threads. */
static int call_match(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    struct pattern *p;
    int r = pattern_new_search(args[0].s, &p, &c->err);
    (void)n;
    if (r != 0)
        return r;
    r = pattern_matches(p, args[1].s);
    c->n_steps = SLOW_STEPS * (size_t)pattern_n_slow(p);
    pattern_free(p);
    if (r < 0)
        return r;
    *ret = tvalue_bool(r > 0);
    return 0;
}

static int call_replace(struct builtin_call *c, const struct tvalue *args, size_t n,
                        struct tvalue *ret)
{
    struct pattern *p;
    int r = pattern_new_search(args[0].s, &p, &c->err);
    (void)n;
    if (r != 0)
        return r;
    r = pattern_replace_all(p, args[2].s, args[1].s, &c->scratch);
    pattern_free(p);
    c->n_steps = r > 0 ? FOUND_STEPS * (size_t)r : 0;
    return builtin_text(c, r < 0 ? r : 0, ret);
}

/* In Prometheus' text templates, HTML is never escaped: there is nothing to keep from it. */
static int call_safe_html(struct builtin_call *c, const struct tvalue *args, size_t n,
                          struct tvalue *ret)
{
    (void)c, (void)n;
    *ret = args[0];
    return 0;
}

/* What stands for a byte; for others they stand themselves. */
struct escape {
    char c;
    const char *text;
};

static const struct escape html[] = {{'\0', "\xef\xbf\xbd"}, {'"', "&#34;"}, {'\'', "&#39;"},
                                     {'&', "&amp;"},         {'<', "&lt;"},  {'>', "&gt;"}};
static const struct escape js[] = {{'\\', "\\\\"},   {'\'', "\\'"},    {'"', "\\\""},
                                   {'<', "\\u003C"}, {'>', "\\u003E"}, {'&', "\\u0026"},
                                   {'=', "\\u003D"}};

static const char *escaped(const struct escape *rows, size_t n, char c)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].c == c)
            return rows[i].text;
    return NULL;
}

static int call_html(struct builtin_call *c, const struct tvalue *args, size_t n,
                     struct tvalue *ret)
{
    struct span s = {NULL, 0};
    int r = builtin_join(c, args, n, &s);
    while (s.n > 0 && r == 0) {
        struct span byte = span_take(&s, 1);
        const char *text = escaped(html, ARRAY_LEN(html), byte.p[0]);
        r = buf_append(&c->scratch, text ? span_cstr(text) : byte);
    }
    return builtin_text(c, r, ret);
}

static int put_js(struct span *s, struct buf *out)
{
    const char *text = escaped(js, ARRAY_LEN(js), s->p[0]);
    uint32_t c = utf8_take(s);
    char plain[4];
    if (text)
        return buf_append(out, span_cstr(text));
    if (c < ' ' || (c >= 0x80 && !verb_is_shown(c)))
        return buf_printf(out, "\\u%04X", (unsigned)c);
    return buf_append(out, span_of(plain, utf8_put(c, plain)));
}

static int call_js(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    struct span s = {NULL, 0};
    int r = builtin_join(c, args, n, &s);
    while (s.n > 0 && r == 0)
        r = put_js(&s, &c->scratch);
    return builtin_text(c, r, ret);
}

const struct builtin builtin_text_rows[] = {
    {.name = "toUpper", .takes = "s", .call = call_upper},
    {.name = "toLower", .takes = "s", .call = call_lower},
    {.name = "title", .takes = "s", .call = call_title},
    {.name = "match",
     .takes = "ss",
     .call = call_match,
     .n_steps = PATTERN_STEPS,
     .weight = PATTERN_WEIGHT},
    {.name = "reReplaceAll",
     .takes = "sss",
     .call = call_replace,
     .n_steps = PATTERN_STEPS,
     .weight = PATTERN_WEIGHT},
    {.name = "safeHtml", .takes = "s", .call = call_safe_html},
    {.name = "html", .takes = "a*", .call = call_html},
    {.name = "js", .takes = "a*", .call = call_js},
    {.name = NULL},
};
