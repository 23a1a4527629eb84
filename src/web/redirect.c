/* SPDX-License-Identifier: Apache-2.0 */
#include "web/redirect.h"

#include <errno.h>

#include "web/handle.h"

/* Without memory libcurl finds mistakes in what has none. */
static int error_of(CURLUcode code)
{
    return code == CURLUE_OK                                            ? 0
           : code == CURLUE_OUT_OF_MEMORY || web_handle_lacked_memory() ? -ENOMEM
           : code == CURLUE_UNSUPPORTED_SCHEME                          ? -EPROTONOSUPPORT
                                                                        : -EINVAL;
}

static int parse(const char *url, CURLU **ret)
{
    CURLU *u = curl_url();
    int r = u ? error_of(curl_url_set(u, CURLUPART_URL, url, 0)) : -ENOMEM;
    if (r == 0)
        *ret = u;
    else
        curl_url_cleanup(u);
    return r;
}

/* A part of u in a; empty where there is none. */
static int part(CURLU *u, CURLUPart what, unsigned flags, struct arena *a, struct span *ret)
{
    char *text = NULL;
    CURLUcode code = curl_url_get(u, what, &text, flags);
    *ret = SPAN("");
    if (code == CURLUE_OK)
        *ret = arena_dup(a, span_cstr(text));
    curl_free(text);
    return code == CURLUE_OUT_OF_MEMORY || !ret->p ? -ENOMEM : 0;
}

/* --- where to --- */

struct origin {
    struct span scheme, host, port;
};

static int origin_of(CURLU *u, struct arena *a, struct origin *ret)
{
    int r = part(u, CURLUPART_SCHEME, 0, a, &ret->scheme);
    if (r == 0)
        r = part(u, CURLUPART_HOST, 0, a, &ret->host);
    return r == 0 ? part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, a, &ret->port) : r;
}

static bool is_at(const struct origin *o, struct span scheme, struct span port)
{
    return span_eq_nocase(o->scheme, scheme) && span_eq(o->port, port);
}

static bool is_home(const struct origin *first, const struct origin *next)
{
    return span_eq_nocase(first->host, next->host) &&
           (is_at(next, first->scheme, first->port) ||
            (is_at(first, SPAN("http"), SPAN("80")) && is_at(next, SPAN("https"), SPAN("443"))));
}

static int set_part(CURLU *u, CURLUPart what, struct span value)
{
    return error_of(curl_url_set(u, what, value.n > 0 ? value.p : NULL, 0));
}

/* User and password of the first URL, where they may go; else none, whatever location says. */
static int set_user(CURLU *first, CURLU *next, bool is_sent, struct arena *a)
{
    static const CURLUPart parts[] = {CURLUPART_USER, CURLUPART_PASSWORD};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++) {
        struct span value = SPAN("");
        if (is_sent)
            r = part(first, parts[i], 0, a, &value);
        if (r == 0)
            r = set_part(next, parts[i], value);
    }
    return r;
}

static int resolve(CURLU *first, CURLU *next, struct arena *a, struct redirect *ret)
{
    struct origin was, is;
    int r = origin_of(first, a, &was);
    if (r == 0)
        r = origin_of(next, a, &is);
    if (r < 0)
        return r;
    if (!span_eq_nocase(is.scheme, SPAN("http")) && !span_eq_nocase(is.scheme, SPAN("https")))
        return -EPROTONOSUPPORT;
    ret->is_home = is_home(&was, &is);
    r = set_user(first, next, false, a);
    if (r == 0)
        r = part(next, CURLUPART_URL, 0, a, &ret->shown);
    if (r == 0)
        r = set_user(first, next, ret->is_home, a);
    return r == 0 ? part(next, CURLUPART_URL, 0, a, &ret->url) : r;
}

int redirect_resolve(const char *first, const char *from, const char *location, struct arena *a,
                     struct redirect *ret)
{
    CURLU *start = NULL, *next = NULL;
    struct redirect to = {.is_home = false};
    int r = parse(first, &start);
    if (r == 0)
        r = parse(from, &next);
    if (r == 0)
        r = error_of(
            curl_url_set(next, CURLUPART_URL, location, CURLU_URLENCODE | CURLU_ALLOW_SPACE));
    if (r == 0)
        r = resolve(start, next, a, &to);
    curl_url_cleanup(start);
    curl_url_cleanup(next);
    if (r == 0)
        *ret = to;
    return r == -EINVAL ? -EBADMSG : r;
}

/* --- by another name --- */

/* What was printed into b, in a; b is empty again. */
static int take_text(struct buf *b, int printed, struct arena *a, struct span *ret)
{
    if (printed < 0)
        return printed;
    *ret = arena_dup(a, buf_span(b));
    buf_clear(b);
    return ret->p ? 0 : -ENOMEM;
}

static int print_renamed(const struct origin *o, struct span name, struct arena *a,
                         struct renamed *ret)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    int r = buf_printf(&b, "%.*s:%.*s:%.*s:%.*s", SPAN_ARG(name), SPAN_ARG(o->port),
                       SPAN_ARG(o->host), SPAN_ARG(o->port));
    r = take_text(&b, r, a, &ret->connect_to);
    if (r == 0) {
        bool is_default = span_eq(o->port, SPAN("443"));
        r = buf_printf(&b, "Host: %.*s%s%.*s", SPAN_ARG(o->host), is_default ? "" : ":",
                       is_default ? 0 : (int)o->port.n, o->port.p);
        r = take_text(&b, r, a, &ret->host);
    }
    buf_done(&b);
    return r;
}

static int rename_host(CURLU *u, struct span name, struct arena *a, struct renamed *ret)
{
    struct origin o;
    int r = origin_of(u, a, &o);
    if (r < 0 || !span_eq_nocase(o.scheme, SPAN("https")))
        return r;
    struct span host = arena_dup(a, name);
    r = host.p ? set_part(u, CURLUPART_HOST, host) : -ENOMEM;
    if (r == 0)
        r = part(u, CURLUPART_URL, 0, a, &ret->url);
    return r == 0 ? print_renamed(&o, name, a, ret) : r;
}

int redirect_rename(const char *url, struct span name, struct arena *a, struct renamed *ret)
{
    CURLU *u = NULL;
    struct renamed by = {.url = SPAN("")};
    int r = parse(url, &u);
    if (r == 0)
        r = rename_host(u, name, a, &by);
    curl_url_cleanup(u);
    if (r == 0)
        *ret = by;
    return r;
}
