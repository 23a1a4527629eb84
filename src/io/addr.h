/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/addr.h - socket addresses, IP and Unix: parse "ADDR:PORT" and "unix:/path", format.
 */
#ifndef IO_ADDR_H
#define IO_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

/* The longest text is that of a Unix socket: "unix:" and 107 bytes of path. */
enum { ADDR_TEXT_MAX = 128, ADDR_HOST_MAX = 256 };

struct addr {
    struct sockaddr_storage ss;
    socklen_t len;
};

/* "127.0.0.1:8080", "[::1]:8080", ":8080" (all IPv4 addresses), "localhost:8080" (127.0.0.1):
 * numeric only; or "unix:/path". -EINVAL with text and hint. */
int addr_parse(struct span s, struct addr *ret, struct err *reterr) WARN_UNUSED;

/* A numeric IP literal with that port; false when host is a name. */
bool addr_from_ip(struct span host, uint16_t port, struct addr *ret);

/* "unix:/path" with an absolute path of at most 107 bytes; false for anything else. */
bool addr_from_unix(struct span text, struct addr *ret);

/* What needs no name resolution: an IP literal, or "unix:/path" (port then means nothing). */
bool addr_from_literal(struct span host, uint16_t port, struct addr *ret);

/* "127.0.0.1:8080" or "unix:/path" into dst (>= ADDR_TEXT_MAX). */
void addr_format(const struct addr *a, char *dst);
uint16_t addr_port(const struct addr *a); /* 0 for Unix sockets */
bool addr_is_unix(const struct addr *a);
const char *addr_unix_path(const struct addr *a); /* only when addr_is_unix */
bool addr_is_loopback(const struct addr *a);      /* not reachable from elsewhere: Unix, too */
bool addr_is_equal(const struct addr *a, const struct addr *b);
uint64_t addr_hash(const struct addr *a); /* different for different addresses, as good as always */

#endif
