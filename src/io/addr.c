/* SPDX-License-Identifier: Apache-2.0 */
#include "io/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/fnv.h"
#include "base/num.h"

bool addr_from_ip(struct span host, uint16_t port, struct addr *ret)
{
    char text[INET6_ADDRSTRLEN];
    struct addr a = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&a.ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&a.ss;

    if (host.n == 0 || host.n >= sizeof(text))
        return false;
    span_copy(host, text, sizeof(text));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        a.len = sizeof(*v4);
    } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        a.len = sizeof(*v6);
    } else {
        return false;
    }
    *ret = a;
    return true;
}

bool addr_from_unix(struct span text, struct addr *ret)
{
    struct addr a = {0};
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&a.ss;
    struct span path;

    if (!span_starts_with(text, SPAN("unix:/")))
        return false;
    path = span_from(text, strlen("unix:"));
    if (path.n >= sizeof(un->sun_path) || memchr(path.p, '\0', path.n))
        return false;
    un->sun_family = AF_UNIX;
    span_copy(path, un->sun_path, sizeof(un->sun_path));
    a.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
    *ret = a;
    return true;
}

bool addr_from_literal(struct span host, uint16_t port, struct addr *ret)
{
    return addr_from_unix(host, ret) || addr_from_ip(host, port, ret);
}

/* Splits "host:port" or "[v6]:port"; false when there is no port. */
static bool host_port_split(struct span s, struct span *ret_host, struct span *ret_port)
{
    size_t colon = s.n;

    if (s.n > 0 && s.p[0] == '[') {
        size_t end = span_find_char(s, ']');
        if (end == s.n || end + 1 >= s.n || s.p[end + 1] != ':')
            return false;
        /* "[]" stays as it is: nothing between brackets is no address, not all of them. */
        *ret_host = end == 1 ? span_of(s.p, 2) : span_of(s.p + 1, end - 1);
        *ret_port = span_from(s, end + 2);
        return true;
    }
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return false;
    *ret_host = span_of(s.p, colon - 1);
    *ret_port = span_from(s, colon);
    return true;
}

static int unix_parse(struct span s, struct addr *ret, struct err *reterr)
{
    if (addr_from_unix(s, ret))
        return 0;
    err_set(reterr, -EINVAL, "\"%.*s\" names no Unix socket", SPAN_ARG(s));
    err_hint(reterr, "write it as unix:/PATH, with an absolute path of at most %zu bytes",
             sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
    return -EINVAL;
}

int addr_parse(struct span s, struct addr *ret, struct err *reterr)
{
    struct span host, port_text;
    uint64_t port;

    if (span_starts_with(s, SPAN("unix:")))
        return unix_parse(s, ret, reterr);
    if (!host_port_split(s, &host, &port_text)) {
        err_set(reterr, -EINVAL, "address \"%.*s\" has no port", SPAN_ARG(s));
        err_hint(reterr, "write it as ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080");
        return -EINVAL;
    }
    if (num_parse_u64(port_text, &port) < 0 || port > 65535) {
        err_set(reterr, -EINVAL, "port \"%.*s\" is not a number from 0 to 65535",
                SPAN_ARG(port_text));
        err_hint(reterr, "write the address as ADDR:PORT, for example 127.0.0.1:8080");
        return -EINVAL;
    }
    if (host.n == 0)
        host = SPAN("0.0.0.0");
    else if (span_eq(host, SPAN("localhost")))
        host = SPAN("127.0.0.1");
    if (!addr_from_ip(host, (uint16_t)port, ret)) {
        err_set(reterr, -EINVAL, "\"%.*s\" is not an IP address", SPAN_ARG(host));
        err_hint(reterr, "listening addresses are numeric, for example 127.0.0.1:8080");
        return -EINVAL;
    }
    return 0;
}

uint16_t addr_port(const struct addr *a)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&a->ss;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&a->ss;

    if (a->ss.ss_family == AF_UNIX)
        return 0;
    return ntohs(a->ss.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

bool addr_is_unix(const struct addr *a)
{
    return a->ss.ss_family == AF_UNIX;
}

const char *addr_unix_path(const struct addr *a)
{
    return ((const struct sockaddr_un *)(const void *)&a->ss)->sun_path;
}

bool addr_is_equal(const struct addr *a, const struct addr *b)
{
    return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
}

uint64_t addr_hash(const struct addr *a)
{
    return fnv_add(FNV_START, span_of((const char *)&a->ss, a->len));
}

void addr_format(const struct addr *a, char *dst)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&a->ss;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&a->ss;
    char ip[INET6_ADDRSTRLEN] = "?";

    if (a->ss.ss_family == AF_UNIX) {
        snprintf(dst, ADDR_TEXT_MAX, "unix:%s", addr_unix_path(a));
    } else if (a->ss.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
        snprintf(dst, ADDR_TEXT_MAX, "[%s]:%d", ip, addr_port(a));
    } else {
        inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
        snprintf(dst, ADDR_TEXT_MAX, "%s:%d", ip, addr_port(a));
    }
}

bool addr_is_loopback(const struct addr *a)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&a->ss;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&a->ss;

    if (a->ss.ss_family == AF_UNIX)
        return true;
    if (a->ss.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}
