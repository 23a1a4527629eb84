/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_text.c - texts: cases, regular expressions, escaping for HTML and JavaScript.
 */
#include <errno.h>

#include "base/utf8.h"
#include "series/pattern.h"
#include "template/builtin.h"
#include "template/casing.h"
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

static struct span html_of(char c)
{
    switch (c) {
    case '\0':
        return SPAN("\xef\xbf\xbd");
    case '"':
        return SPAN("&#34;");
    case '\'':
        return SPAN("&#39;");
    case '&':
        return SPAN("&amp;");
    case '<':
        return SPAN("&lt;");
    case '>':
        return SPAN("&gt;");
    default:
        return (struct span){NULL, 0};
    }
}

static int call_html(struct builtin_call *c, const struct tvalue *args, size_t n,
                     struct tvalue *ret)
{
    struct span s = {NULL, 0};
    int r = builtin_join(c, args, n, &s);
    for (size_t i = 0; i < s.n && r == 0; i++) {
        struct span escaped = html_of(s.p[i]);
        r = buf_append(&c->scratch, escaped.p ? escaped : span_of(&s.p[i], 1));
    }
    return builtin_text(c, r, ret);
}

static struct span js_of(char c)
{
    switch (c) {
    case '\\':
        return SPAN("\\\\");
    case '\'':
        return SPAN("\\'");
    case '"':
        return SPAN("\\\"");
    case '<':
        return SPAN("\\u003C");
    case '>':
        return SPAN("\\u003E");
    case '&':
        return SPAN("\\u0026");
    case '=':
        return SPAN("\\u003D");
    default:
        return (struct span){NULL, 0};
    }
}

static int put_js(struct span *s, struct buf *out)
{
    struct span escaped = js_of(s->p[0]);
    uint32_t c = utf8_take(s);
    char plain[4];
    if (escaped.p)
        return buf_append(out, escaped);
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
