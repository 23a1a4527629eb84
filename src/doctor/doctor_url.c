/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_url.h"

#include "base/num.h"
#include "io/addr.h"

/* Also those without width, which come with texts copied from web pages. */
static bool has_space(struct span s)
{
    if (span_find(s, SPAN("\xe2\x80\x8b")) < s.n || span_find(s, SPAN("\xef\xbb\xbf")) < s.n)
        return true;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

bool doctor_has_quotes(struct span text)
{
    /* Those of texts that went through a word processor, and the no-break space. */
    static const struct span marks[] = {
        SPAN_INIT("\""),
        SPAN_INIT("'"),
        SPAN_INIT("`"),
        SPAN_INIT("\xe2\x80\x98"),
        SPAN_INIT("\xe2\x80\x99"),
        SPAN_INIT("\xe2\x80\x9c"),
        SPAN_INIT("\xe2\x80\x9d"),
        SPAN_INIT("\xc2\xa0"),
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (span_find(text, marks[i]) < text.n)
            return true;
    return false;
}

/* --- parts --- */

static bool take_scheme(struct span *s, struct doctor_url *u)
{
    size_t at = span_find(*s, SPAN("://"));
    struct span scheme = span_of(s->p, at);

    if (at == s->n)
        return false;
    *s = span_from(*s, at + 3);
    u->is_tls = span_eq_nocase(scheme, SPAN("https"));
    return u->is_tls || span_eq_nocase(scheme, SPAN("http"));
}

static bool take_port(struct span text, struct doctor_url *u)
{
    uint64_t port = 0;

    u->port = u->is_tls ? 443 : 80;
    if (text.n == 0)
        return true;
    if (text.p[0] != ':' || num_parse_u64(span_from(text, 1), &port) < 0 || port == 0 ||
        port > UINT16_MAX)
        return false;
    u->port = (uint16_t)port;
    u->has_port = true;
    return true;
}

static bool take_authority(struct span s, struct doctor_url *u)
{
    size_t at = s.n;

    while (at > 0 && s.p[at - 1] != '@') /* credentials are not for us */
        at--;
    s = span_from(s, at);
    u->is_v6 = span_starts_with(s, SPAN("["));
    if (u->is_v6) {
        size_t close = span_find_char(s, ']');
        if (close == s.n)
            return false;
        u->host = span_of(s.p + 1, close - 1);
        s = span_from(s, close + 1);
    } else {
        size_t colon = span_find_char(s, ':');
        u->host = span_of(s.p, colon);
        s = span_from(s, colon);
    }
    return u->host.n > 0 && u->host.n < ADDR_HOST_MAX && take_port(s, u);
}

enum doctor_cause doctor_url_parse(struct span text, struct doctor_url *ret)
{
    struct doctor_url u = {0};
    struct span rest = text;
    size_t end;

    if (doctor_has_quotes(text))
        return CAUSE_URL_QUOTES;
    if (has_space(text))
        return CAUSE_URL_STRAY;
    if (!take_scheme(&rest, &u))
        return CAUSE_URL_SCHEME;
    for (end = 0; end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#';)
        end++;
    if (!take_authority(span_of(rest.p, end), &u))
        return CAUSE_URL_BAD;
    rest = span_from(rest, end);
    for (end = 0; end < rest.n && rest.p[end] != '?' && rest.p[end] != '#';)
        end++;
    u.has_query = end < rest.n;
    u.path = span_of(rest.p, end);
    while (u.path.n > 0 && u.path.p[u.path.n - 1] == '/') {
        u.path.n--;
        u.has_slash = true;
    }
    *ret = u;
    return CAUSE_NO_CAUSE;
}

/* --- oddities --- */

/* The last segment of a path; moves it out of *path. */
static struct span last_segment(struct span *path)
{
    size_t at = path->n;
    struct span segment;

    while (at > 0 && path->p[at - 1] != '/')
        at--;
    segment = span_from(*path, at);
    path->n = at > 0 ? at - 1 : 0;
    return segment;
}

static bool is_version(struct span segment)
{
    return segment.n >= 2 && segment.p[0] == 'v' && segment.p[1] >= '1' && segment.p[1] <= '9';
}

bool doctor_url_has_version(struct span path)
{
    return is_version(last_segment(&path));
}

static bool is_endpoint(struct span path)
{
    static const struct span endpoints[] = {
        SPAN_INIT("/chat/completions"),
        SPAN_INIT("/completions"),
        SPAN_INIT("/messages"),
        SPAN_INIT("/responses"),
        SPAN_INIT("/models"),
        SPAN_INIT("/embeddings"),
        SPAN_INIT("/chat"),
        SPAN_INIT("/metrics"),
        SPAN_INIT("/docs"),
    };

    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
        if (span_ends_with(path, endpoints[i]))
            return true;
    return false;
}

enum doctor_cause doctor_url_oddity(const struct doctor_url *u)
{
    struct span path = u->path;
    struct span last = last_segment(&path);

    if (is_version(last) && span_eq(last_segment(&path), last))
        return CAUSE_URL_DOUBLED_V1;
    if (is_endpoint(u->path))
        return CAUSE_URL_ENDPOINT;
    if (u->has_query)
        return CAUSE_URL_QUERY;
    if (span_eq(u->host, SPAN("0.0.0.0")) || span_eq(u->host, SPAN("::")))
        return CAUSE_URL_LISTEN;
    return u->has_slash && u->path.n > 0 ? CAUSE_URL_SLASH : CAUSE_NO_CAUSE;
}

bool doctor_host_is_loopback(struct span host)
{
    struct addr a;

    if (addr_from_literal(host, 0, &a))
        return addr_is_loopback(&a);
    return span_eq_nocase(host, SPAN("localhost")) ||
           (host.n > 10 && span_eq_nocase(span_from(host, host.n - 10), SPAN(".localhost")));
}
