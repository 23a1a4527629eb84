/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/config.c - the gateway's immutable configuration and its upstream addresses.
 */
#include <errno.h>
#include <stdio.h>

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
    if (c && atomic_fetch_sub_explicit(&c->_refs, 1, memory_order_acq_rel) == 1)
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

static int url_error(struct err *reterr, const char *url, const char *what)
{
    err_set(reterr, -EINVAL, "upstream \"%s\": %s", url, what);
    err_hint(reterr, "write it as http://HOST:PORT, for example http://127.0.0.1:8000");
    return -EINVAL;
}

/* "host", "host:port", "[v6]" or "[v6]:port"; port 80 when not told. */
static const char *authority_split(struct span authority, struct span *ret_host, uint16_t *ret_port)
{
    struct span port_text = {0};
    uint64_t port = 80;

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
    if (port_text.n > 0 && (num_parse_u64(port_text, &port) < 0 || port == 0 || port > 65535))
        return "the port is not a number from 1 to 65535";
    *ret_port = (uint16_t)port;
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

int gateway_upstream_parse(const char *name, const char *url, struct gateway_upstream *ret,
                           struct err *reterr)
{
    struct span rest = span_cstr(url);
    struct span host = {0};
    struct gateway_upstream u = {0};
    struct span authority;
    const char *wrong;
    size_t slash;

    if (span_starts_with(rest, SPAN("https://")))
        return url_error(reterr, url, "https upstreams are not supported yet");
    if (!span_starts_with(rest, SPAN("http://")))
        return url_error(reterr, url, "does not begin with http://");
    rest = span_from(rest, strlen("http://"));
    slash = span_find_char(rest, '/');
    authority = span_of(rest.p, slash);
    rest = span_from(rest, slash);
    if (span_find_char(authority, '@') != authority.n)
        return url_error(reterr, url, "credentials in the URL are not supported");
    if (span_find_char(rest, '?') != rest.n || span_find_char(rest, '#') != rest.n)
        return url_error(reterr, url, "query and fragment have no meaning here");
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] >= 0x7f) /* would break the request line */
            return url_error(reterr, url, "the path has characters that must be escaped");
    wrong = authority_split(authority, &host, &u.port);
    if (wrong)
        return url_error(reterr, url, wrong);
    while (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    version_split(&rest, u.version);
    if (rest.n >= sizeof(u.prefix))
        return url_error(reterr, url, "the path is longer than 127 characters");
    span_copy(rest, u.prefix, sizeof(u.prefix));
    span_copy(host, u.host, sizeof(u.host));
    span_copy(authority, u.authority, sizeof(u.authority));
    span_copy(span_cstr(name), u.name, sizeof(u.name));
    *ret = u;
    return 0;
}
