/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_link.c - addresses: escaping, links to graphs, hosts and ports.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "template/builtin.h"

/* As a part of a query: letters, digits and - _ . ~ stay, a blank is '+'. */
static int put_escaped(struct span s, struct buf *out)
{
    static const char digits[] = "0123456789ABCDEF";
    int r = 0;
    for (size_t i = 0; i < s.n && r == 0; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        r = is_plain ? buf_append(out, span_of(&s.p[i], 1))
                     : buf_append(out, c == ' ' ? SPAN("+") : span_of(escaped, 3));
    }
    return r;
}

static int call_escape(struct builtin_call *c, const struct tvalue *args, size_t n,
                       struct tvalue *ret)
{
    (void)n;
    return builtin_text(c, put_escaped(args[0].s, &c->scratch), ret);
}

static int call_urlquery(struct builtin_call *c, const struct tvalue *args, size_t n,
                         struct tvalue *ret)
{
    struct span s = {NULL, 0};
    int r = builtin_join(c, args, n, &s);
    return r == 0 ? builtin_text(c, put_escaped(s, &c->scratch), ret) : r;
}

static int put_link(struct builtin_call *c, struct span expr, const char *tab, struct tvalue *ret)
{
    int r = buf_append(&c->scratch, SPAN("/graph?g0.expr="));
    if (r == 0)
        r = put_escaped(expr, &c->scratch);
    if (r == 0)
        r = buf_printf(&c->scratch, "&g0.tab=%s", tab);
    return builtin_text(c, r, ret);
}

static int call_graph_link(struct builtin_call *c, const struct tvalue *args, size_t n,
                           struct tvalue *ret)
{
    (void)n;
    return put_link(c, args[0].s, "0", ret);
}

static int call_table_link(struct builtin_call *c, const struct tvalue *args, size_t n,
                           struct tvalue *ret)
{
    (void)n;
    return put_link(c, args[0].s, "1", ret);
}

static int call_external_url(struct builtin_call *c, const struct tvalue *args, size_t n,
                             struct tvalue *ret)
{
    (void)args, (void)n;
    *ret = tvalue_string(c->env->external_url);
    return 0;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* The path of the external address, without what is escaped in it. */
static int call_path_prefix(struct builtin_call *c, const struct tvalue *args, size_t n,
                            struct tvalue *ret)
{
    struct span s = c->env->external_url;
    size_t scheme = span_find(s, SPAN("://"));
    int r = 0;
    (void)args, (void)n;
    if (scheme < s.n)
        s = span_from(s, scheme + 3);
    s = span_of(s.p, span_find_char(s, '#'));
    s = span_of(s.p, span_find_char(s, '?'));
    s = span_from(s, scheme < c->env->external_url.n ? span_find_char(s, '/') : 0);
    while (s.n > 0 && r == 0) {
        char byte = s.p[0];
        int high = byte == '%' && s.n > 2 ? hex_value(s.p[1]) : -1;
        int low = high >= 0 ? hex_value(s.p[2]) : -1;
        if (low >= 0)
            byte = (char)(high << 4 | low);
        (void)span_take(&s, low >= 0 ? 3 : 1);
        r = buf_append(&c->scratch, span_of(&byte, 1));
    }
    return builtin_text(c, r, ret);
}

static bool has_char(struct span s, char c)
{
    return span_find_char(s, c) < s.n;
}

/* host:port, [host]:port; false: s is none of them. */
static bool split_host_port(struct span s, struct span *ret_host, struct span *ret_port)
{
    size_t colon = s.n, end = 0;
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return false;
    struct span host = span_of(s.p, colon - 1);
    bool has_brackets = s.p[0] == '[';
    if (has_brackets) {
        end = span_find_char(s, ']');
        if (end + 2 != colon)
            return false;
        host = span_of(s.p + 1, end - 1);
    }
    if ((!has_brackets && has_char(host, ':')) ||
        has_char(span_from(s, has_brackets ? 1 : 0), '[') ||
        has_char(span_from(s, has_brackets ? end + 1 : 0), ']'))
        return false;
    *ret_host = host;
    *ret_port = span_from(s, colon);
    return true;
}

static int call_strip_port(struct builtin_call *c, const struct tvalue *args, size_t n,
                           struct tvalue *ret)
{
    struct span host = args[0].s, port;
    (void)c, (void)n;
    (void)split_host_port(args[0].s, &host, &port);
    *ret = tvalue_string(host);
    return 0;
}

static bool is_ip(struct span s)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct in6_addr a;
    if (s.n == 0 || s.n >= sizeof(text))
        return false;
    (void)span_copy(s, text, sizeof(text));
    return inet_pton(has_char(s, ':') ? AF_INET6 : AF_INET, text, &a) == 1;
}

static int call_strip_domain(struct builtin_call *c, const struct tvalue *args, size_t n,
                             struct tvalue *ret)
{
    struct span host = args[0].s, port = SPAN("");
    int r;
    (void)n;
    (void)split_host_port(args[0].s, &host, &port);
    *ret = args[0];
    if (is_ip(host))
        return 0;
    host = span_of(host.p, span_find_char(host, '.'));
    if (port.n == 0) {
        *ret = tvalue_string(host);
        return 0;
    }
    bool is_six = has_char(host, ':');
    r = is_six ? buf_append(&c->scratch, SPAN("[")) : 0;
    if (r == 0 && host.n > 0)
        r = buf_append(&c->scratch, host);
    if (r == 0)
        r = buf_printf(&c->scratch, "%s:%.*s", is_six ? "]" : "", SPAN_ARG(port));
    return builtin_text(c, r, ret);
}

const struct builtin builtin_link_rows[] = {
    {.name = "urlquery", .takes = "a*", .call = call_urlquery},
    {.name = "urlQueryEscape", .takes = "s", .call = call_escape},
    {.name = "graphLink", .takes = "s", .call = call_graph_link},
    {.name = "tableLink", .takes = "s", .call = call_table_link},
    {.name = "pathPrefix", .takes = "", .call = call_path_prefix},
    {.name = "externalURL", .takes = "", .call = call_external_url},
    {.name = "stripPort", .takes = "s", .call = call_strip_port},
    {.name = "stripDomain", .takes = "s", .call = call_strip_domain},
    {.name = NULL},
};
