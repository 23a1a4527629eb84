/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/proxy.h - forward proxies: their URLs, and which one the environment names for a server.
 *
 * Variables: https_proxy, HTTPS_PROXY for servers that speak TLS; http_proxy for others (in
 * capitals that name is what a CGI program gets from a header, so it is not looked at); then
 *            all_proxy, ALL_PROXY. no_proxy, NO_PROXY except servers: "*", a domain with those
 * below it, an IP address, a network (10.0.0.0/8), each with or without ":port". Never:     for
 * loopback addresses, localhost and Unix sockets. Secrets:   credentials are in struct proxy only;
 * errors do not repeat URLs. Pure:      no I/O; the environment is asked through a function.
 */
#ifndef IO_PROXY_H
#define IO_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "io/addr.h"

enum { PROXY_AUTHORIZATION_MAX = 512 };

struct proxy {
    char host[ADDR_HOST_MAX]; /* name or IP literal; "": no proxy */
    uint16_t port;
    char authorization[PROXY_AUTHORIZATION_MAX]; /* value of Proxy-Authorization, or ""; a secret */
};

/* "http://[USER[:PASSWORD]@]HOST[:PORT][/]", or without "http://". what names the place of the URL
 * in errors ("HTTPS_PROXY"). -EINVAL. */
int proxy_parse(struct span url, const char *what, struct proxy *ret,
                struct err *reterr) WARN_UNUSED;

/* 0: *ret is the proxy for that server (host "": it is reached directly); -EINVAL: the variable
 * that counts cannot be used. */
int proxy_from_env(const char *(*get)(const char *name), bool is_tls, struct span host,
                   uint16_t port, struct proxy *ret, struct err *reterr) WARN_UNUSED;

/* Does that list except the server? */
bool proxy_is_excepted(struct span no_proxy, struct span host, uint16_t port);

#endif
