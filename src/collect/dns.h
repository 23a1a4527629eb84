/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/dns.h - records of a name: SRV, A, AAAA, MX. It waits for the name server.
 *
 * Bounds:    each server is given DNS_WAIT_S seconds, twice.
 * Threading: any; calls are independent.
 */
#ifndef COLLECT_DNS_H
#define COLLECT_DNS_H

#include <netinet/in.h>

#include "base/arena.h"
#include "base/err.h"
#include "collect/jobfile.h"

enum { DNS_WAIT_S = 2 };

struct dns_record {
    struct span target; /* a host without the dot behind it, or an address */
    uint16_t port;      /* of SRV */
};
/*
 * Records of that type, as they came. A name that is not there, or has none, has 0. -EAGAIN: the
 * server did not answer or could not, *reterr says so. server: NULL: the system's.
 */
int dns_lookup(struct span name, enum scrape_dns_type type, const struct sockaddr_in *server,
               struct arena *a, struct dns_record **ret, size_t *ret_n,
               struct err *reterr) WARN_UNUSED;

/* Records out of a whole answer. -EBADMSG: it cannot be read. */
int dns_answer_read(const unsigned char *answer, int n_answer, enum scrape_dns_type type,
                    struct arena *a, struct dns_record **ret, size_t *ret_n) WARN_UNUSED;

#endif
