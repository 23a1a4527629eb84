/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/addr.h - socket addresses: parse "ADDR:PORT", format, split host and port.
 */
#ifndef IO_ADDR_H
#define IO_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum { ADDR_TEXT_MAX = 64, ADDR_HOST_MAX = 256 };

struct addr {
    struct sockaddr_storage ss;
    socklen_t len;
};

/* "127.0.0.1:8080", "[::1]:8080", ":8080" (all IPv4 addresses), "localhost:8080" (127.0.0.1).
 * Numeric only. -EINVAL with text and hint. */
int addr_parse(struct span s, struct addr *ret, struct err *reterr) WARN_UNUSED;

/* A numeric IP literal with that port; false when host is a name. */
bool addr_from_ip(struct span host, uint16_t port, struct addr *ret);

/* "127.0.0.1:8080" into dst (>= ADDR_TEXT_MAX). */
void addr_format(const struct addr *a, char *dst);
uint16_t addr_port(const struct addr *a);
bool addr_is_loopback(const struct addr *a);

#endif
