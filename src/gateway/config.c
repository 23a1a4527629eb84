/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/config.c - the gateway's immutable configuration and its upstream addresses.
 */
#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "gateway/gateway.h"

struct gateway_config *gateway_config_new(void)
{
    struct gateway_config *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return NULL;
    atomic_init(&c->_refs, 1);
    c->request_window_bytes = LIMIT_REQUEST_WINDOW_BYTES;
    c->max_body_bytes = LIMIT_REQUEST_BODY_BYTES;
    c->max_conns = 20000;
    c->max_idle_upstream = 256;
    c->connect_timeout_ns = 5 * NS_PER_S;
    c->first_byte_timeout_ns = 600 * NS_PER_S;
    c->idle_timeout_ns = 300 * NS_PER_S;
    c->client_head_timeout_ns = 10 * NS_PER_S;
    c->client_body_timeout_ns = 30 * NS_PER_S;
    c->client_idle_timeout_ns = 75 * NS_PER_S;
    c->client_write_timeout_ns = 120 * NS_PER_S;
    c->upstream_idle_timeout_ns = 4 * NS_PER_S;
    c->dns_ttl_ns = 30 * NS_PER_S;
    c->retry = (struct gateway_retry){.max_attempts = 3,
                                      .budget_percent = 20,
                                      .backoff_ns = 100 * NS_PER_MS,
                                      .max_wait_ns = 2 * NS_PER_S};
    return c;
}

struct gateway_config *gateway_config_ref(struct gateway_config *c)
{
    atomic_fetch_add_explicit(&c->_refs, 1, memory_order_relaxed);
    return c;
}

struct gateway_config *gateway_config_unref(struct gateway_config *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->_refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < GATEWAY_UPSTREAMS_MAX; i++)
        tls_context_unref(c->upstreams[i].tls);
    mem_free(c);
    return NULL;
}

static bool host_char_is_ok(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

static bool host_is_ok(struct span host)
{
    if (host.n == 0 || host.n >= ADDR_HOST_MAX)
        return false;
    for (size_t i = 0; i < host.n; i++)
        if (!host_char_is_ok(host.p[i]))
            return false;
    return true;
}

/* The URL is repeated unless it has credentials. */
static int url_error(struct err *reterr, const char *url, const char *what)
{
    struct span all = span_cstr(url);

    /* Where a user or a query begins, a password or a key may follow. */
    if (span_find_char(all, '@') < all.n || span_find_char(all, '?') < all.n)
        err_set(reterr, -EINVAL, "the upstream's URL: %s", what);
    else
        err_set(reterr, -EINVAL, "upstream \"%s\": %s", url, what);
    err_hint(reterr, "write it as http://HOST:PORT, https://HOST:PORT or unix:/PATH, for example "
                     "http://127.0.0.1:8000");
    return -EINVAL;
}

/* "host", "host:port", "[v6]" or "[v6]:port"; *port is left alone when not told. */
static const char *authority_split(struct span authority, struct span *ret_host, uint16_t *port)
{
    struct span port_text = {0};
    uint64_t n = *port;

    if (authority.n > 0 && authority.p[0] == '[') {
        size_t end = span_find_char(authority, ']');
        struct addr a;
        if (end == authority.n)
            return "\"[\" without \"]\"";
        *ret_host = span_of(authority.p + 1, end - 1);
        if (!addr_from_ip(*ret_host, 0, &a))
            return "not an IPv6 address between the brackets";
        port_text = span_from(authority, end + 1);
        if (port_text.n > 0 && port_text.p[0] != ':')
            return "text behind \"]\"";
        port_text = span_from(port_text, 1);
    } else {
        size_t colon = span_find_char(authority, ':');
        *ret_host = span_of(authority.p, colon);
        port_text = span_from(authority, colon + 1);
        if (!host_is_ok(*ret_host))
            return "the host is missing or has characters that hosts cannot have";
    }
    if (port_text.n > 0 && (num_parse_u64(port_text, &n) < 0 || n == 0 || n > 65535))
        return "the port is not a number from 1 to 65535";
    *port = (uint16_t)n;
    return NULL;
}

/* Takes "/v4", "/v1beta" off the path's end. Requests bring "/v1" themselves, so that one is
 * dropped. */
static void version_split(struct span *path, char version[GATEWAY_VERSION_MAX])
{
    struct span last;
    size_t at = path->n;

    while (at > 0 && path->p[at - 1] != '/')
        at--;
    if (at == 0)
        return;
    last = span_from(*path, at - 1);
    if (last.n < 3 || last.n >= GATEWAY_VERSION_MAX || last.p[1] != 'v' || last.p[2] < '0' ||
        last.p[2] > '9')
        return;
    path->n -= last.n;
    if (!span_eq(last, SPAN("/v1")))
        span_copy(last, version, GATEWAY_VERSION_MAX);
}

/* The path behind the authority; NULL, or what is wrong with it. */
static const char *base_set(struct span base, struct gateway_upstream *u)
{
    if (span_find_char(base, '?') != base.n || span_find_char(base, '#') != base.n)
        return "query and fragment have no meaning here";
    for (size_t i = 0; i < base.n; i++)
        if (base.p[i] <= ' ' || base.p[i] >= 0x7f) /* would break the request line */
            return "the path has characters that must be escaped";
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    version_split(&base, u->version);
    if (base.n >= GATEWAY_BASE_MAX)
        return "the path is longer than 127 characters";
    span_copy(base, u->prefix, sizeof(u->prefix));
    return NULL;
}

/* "/path/to.sock" or "/path/to.sock:/base", with "unix:" before it. */
static const char *unix_set(struct span url, struct gateway_upstream *u)
{
    size_t n = strlen("unix:") + span_find(span_from(url, strlen("unix:")), SPAN(":/"));
    struct span host = span_of(url.p, n < url.n ? n : url.n);
    struct addr a;

    if (!addr_from_unix(host, &a))
        return "not an absolute path of at most 107 bytes";
    span_copy(host, u->host, sizeof(u->host));
    span_copy(SPAN("localhost"), u->authority, sizeof(u->authority));
    return base_set(span_from(url, n + 1), u);
}

/* "host:port/base" */
static const char *server_set(struct span rest, struct gateway_upstream *u)
{
    size_t slash = span_find_char(rest, '/');
    struct span authority = span_of(rest.p, slash);
    struct span host = {0};
    const char *wrong;

    if (span_find_char(authority, '@') != authority.n)
        return "credentials in the URL are not supported";
    wrong = base_set(span_from(rest, slash), u);
    if (!wrong)
        wrong = authority_split(authority, &host, &u->port);
    if (wrong)
        return wrong;
    span_copy(host, u->host, sizeof(u->host));
    span_copy(authority, u->authority, sizeof(u->authority));
    return NULL;
}

int gateway_upstream_parse(const char *name, const char *url, struct gateway_upstream *ret,
                           struct err *reterr)
{
    struct gateway_upstream u = {.port = 80};
    struct span all = span_cstr(url);
    const char *wrong;

    if (span_starts_with(all, SPAN("https://"))) {
        u.is_tls = true;
        u.port = 443;
        wrong = server_set(span_from(all, strlen("https://")), &u);
    } else if (span_starts_with(all, SPAN("http://"))) {
        wrong = server_set(span_from(all, strlen("http://")), &u);
    } else if (span_starts_with(all, SPAN("unix:"))) {
        wrong = unix_set(all, &u);
    } else {
        wrong = "does not begin with http://, https:// or unix:";
    }
    if (wrong)
        return url_error(reterr, url, wrong);
    span_copy(span_cstr(name), u.name, sizeof(u.name));
    *ret = u;
    return 0;
}

void gateway_upstream_set_proxy(struct gateway_upstream *u, const struct proxy *proxy)
{
    char base[GATEWAY_BASE_MAX];
    size_t n;

    ASSERT(u->proxy.host[0] == '\0' && !span_starts_with(span_cstr(u->host), SPAN("unix:")));
    u->proxy = *proxy;
    if (proxy->host[0] == '\0' || u->is_tls)
        return;
    /* Such a proxy is told the whole URL. */
    span_copy(span_cstr(u->prefix), base, sizeof(base));
    n = span_copy(SPAN("http://"), u->prefix, sizeof(u->prefix));
    n += span_copy(span_cstr(u->authority), u->prefix + n, sizeof(u->prefix) - n);
    span_copy(span_cstr(base), u->prefix + n, sizeof(u->prefix) - n);
}
