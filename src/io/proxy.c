/* SPDX-License-Identifier: Apache-2.0 */
#include "io/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/num.h"

enum { PORT_DEFAULT = 80, CREDENTIALS_MAX = (PROXY_AUTHORIZATION_MAX - 8) / 4 * 3 };

/* --- URLs --- */

/* "host", "host:port", "[v6]", "[v6]:port"; *port is left alone when there is none. */
static bool host_port_split(struct span s, struct span *ret_host, uint16_t *port)
{
    struct span text;
    uint64_t n;

    if (s.n == 0 || s.n > ADDR_HOST_MAX + sizeof("[]:65535"))
        return false;
    if (span_starts_with(s, SPAN("["))) {
        struct span inner = span_from(s, 1);
        size_t close = span_find_char(inner, ']');
        if (close == inner.n)
            return false;
        *ret_host = span_of(inner.p, close);
        text = span_from(inner, close + 1);
    } else {
        size_t colon = span_find_char(s, ':');
        if (span_find_char(span_from(s, colon + 1), ':') < span_from(s, colon + 1).n)
            colon = s.n; /* an IPv6 address without brackets */
        *ret_host = span_of(s.p, colon);
        text = span_from(s, colon);
    }
    if (text.n == 0)
        return ret_host->n > 0;
    if (text.p[0] != ':' || num_parse_u64(span_from(text, 1), &n) < 0 || n == 0 || n > UINT16_MAX)
        return false;
    *port = (uint16_t)n;
    return ret_host->n > 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes "%41"; -1: not a valid escape, or too long. */
static int percent_decode(struct span s, char *dst, size_t cap)
{
    size_t n = 0;

    while (s.n > 0) {
        struct span c = span_take(&s, 1);
        char byte = c.p[0];

        if (byte == '%') {
            int high = s.n >= 2 ? hex_digit(s.p[0]) : -1;
            int low = s.n >= 2 ? hex_digit(s.p[1]) : -1;
            if (high < 0 || low < 0)
                return -1;
            byte = (char)(high * 16 + low);
            (void)span_take(&s, 2);
        }
        if (n == cap)
            return -1;
        dst[n++] = byte;
    }
    return (int)n;
}

/* "user:password" as Proxy-Authorization wants it. */
static bool authorization_make(struct span credentials, char *dst)
{
    static const char scheme[] = "Basic ";
    char plain[CREDENTIALS_MAX];
    int n = percent_decode(credentials, plain, sizeof(plain) - 1);

    if (n < 0)
        return false;
    if (span_find_char(credentials, ':') == credentials.n)
        plain[n++] = ':'; /* no password */
    memcpy(dst, scheme, sizeof(scheme) - 1);
    (void)EVP_EncodeBlock((unsigned char *)dst + sizeof(scheme) - 1, (unsigned char *)plain, n);
    OPENSSL_cleanse(plain, sizeof(plain));
    return true;
}

static int refuse(const char *what, const char *why, struct err *reterr)
{
    err_set(reterr, -EINVAL, "%s: %s", what, why);
    err_hint(reterr, "write the proxy as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT");
    return -EINVAL;
}

int proxy_parse(struct span url, const char *what, struct proxy *ret, struct err *reterr)
{
    struct proxy p = {.port = PORT_DEFAULT};
    struct span host, authority;
    size_t scheme = span_find(url, SPAN("://"));
    size_t at;

    if (scheme < url.n && !span_eq_nocase(span_of(url.p, scheme), SPAN("http")))
        return refuse(what, "proxies are spoken to in plain HTTP, no other scheme", reterr);
    if (scheme < url.n)
        url = span_from(url, scheme + 3);
    if (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    at = url.n; /* the last one: passwords may have others */
    while (at > 0 && url.p[at - 1] != '@')
        at--;
    authority = span_from(url, at);
    if (at > 0 && !authorization_make(span_of(url.p, at - 1), p.authorization))
        return refuse(what, "the credentials are too long or not percent-encoded", reterr);
    if (!host_port_split(authority, &host, &p.port))
        return refuse(what, "host or port are not usable", reterr);
    if (host.n >= sizeof(p.host) || span_find_char(host, '/') < host.n ||
        span_find_char(host, ' ') < host.n)
        return refuse(what, "the host is not usable", reterr);
    span_copy(host, p.host, sizeof(p.host));
    *ret = p;
    return 0;
}

/* --- exceptions --- */

/* The address as 16 bytes, IPv4 mapped into IPv6. */
static bool ip_bytes(struct span text, unsigned char ret[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct addr a;

    if (!addr_from_ip(text, 0, &a))
        return false;
    if (a.ss.ss_family == AF_INET6) {
        memcpy(ret, &((struct sockaddr_in6 *)(void *)&a.ss)->sin6_addr, 16);
    } else {
        memcpy(ret, mapped, 12);
        memcpy(ret + 12, &((struct sockaddr_in *)(void *)&a.ss)->sin_addr, 4);
    }
    return true;
}

static bool is_in_network(struct span network, struct span host)
{
    size_t slash = span_find_char(network, '/');
    struct span base = span_of(network.p, slash);
    unsigned char a[16], b[16];
    uint64_t bits = 128;

    if (!ip_bytes(base, a) || !ip_bytes(host, b))
        return false;
    if (slash < network.n) {
        bool is_v4 = span_find_char(base, ':') == base.n;
        if (num_parse_u64(span_from(network, slash + 1), &bits) < 0 || bits > (is_v4 ? 32 : 128))
            return false;
        bits += is_v4 ? 96 : 0;
    }
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8)) == 0;
}

/* The domain itself, and those below it. */
static bool is_in_domain(struct span domain, struct span host)
{
    if (span_starts_with(domain, SPAN("*.")))
        domain = span_from(domain, 1);
    if (span_starts_with(domain, SPAN(".")))
        domain = span_from(domain, 1);
    if (domain.n == 0 || host.n < domain.n)
        return false;
    if (!span_eq_nocase(span_from(host, host.n - domain.n), domain))
        return false;
    return host.n == domain.n || host.p[host.n - domain.n - 1] == '.';
}

static bool is_meant(struct span item, struct span host, uint16_t port)
{
    struct span name;
    uint16_t item_port = 0;

    if (span_eq(item, SPAN("*")))
        return true;
    if (span_find_char(item, '/') < item.n)
        return is_in_network(item, host);
    if (!host_port_split(item, &name, &item_port) || (item_port != 0 && item_port != port))
        return false;
    return is_in_network(name, host) || is_in_domain(name, host);
}

bool proxy_is_excepted(struct span no_proxy, struct span host, uint16_t port)
{
    while (no_proxy.n > 0) {
        struct span list = span_split(&no_proxy, ',');
        while (list.n > 0) {
            struct span item = span_trim(span_split(&list, ' '));
            if (item.n > 0 && is_meant(item, host, port))
                return true;
        }
    }
    return false;
}

/* --- the environment --- */

static bool is_near(struct span host)
{
    struct addr a;

    if (addr_from_literal(host, 0, &a))
        return addr_is_loopback(&a);
    return is_in_domain(SPAN("localhost"), host);
}

/* The first variable with something in it. */
static const char *first_set(const char *(*get)(const char *), const char *const *names, size_t n,
                             const char **ret_name)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = get(names[i]);
        if (value && value[0] != '\0') {
            *ret_name = names[i];
            return value;
        }
    }
    return NULL;
}

int proxy_from_env(const char *(*get)(const char *name), bool is_tls, struct span host,
                   uint16_t port, struct proxy *ret, struct err *reterr)
{
    static const char *const of_tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const of_plain[] = {"http_proxy", "all_proxy", "ALL_PROXY"};
    static const char *const of_none[] = {"no_proxy", "NO_PROXY"};
    const char *name = NULL;
    const char *except = first_set(get, of_none, ARRAY_LEN(of_none), &name);
    const char *url = is_tls ? first_set(get, of_tls, ARRAY_LEN(of_tls), &name)
                             : first_set(get, of_plain, ARRAY_LEN(of_plain), &name);

    if (!url || is_near(host) || proxy_is_excepted(span_cstr(except), host, port)) {
        *ret = (struct proxy){.port = 0};
        return 0;
    }
    return proxy_parse(span_trim(span_cstr(url)), name, ret, reterr);
}
