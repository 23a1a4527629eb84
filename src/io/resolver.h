/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/resolver.h - names to addresses off the loop: one thread that calls getaddrinfo.
 *
 * Threading: resolver_lookup from any loop's thread; the answer comes as a loop_post to that loop.
 * Limits:    256 lookups waiting; more are refused with -ENOBUFS.
 */
#ifndef IO_RESOLVER_H
#define IO_RESOLVER_H

#include "base/attr.h"
#include "io/addr.h"
#include "io/loop.h"

struct resolver;

enum { RESOLVER_ADDRS_MAX = 8 };

struct resolver_answer {
    int error; /* 0, or -ENOENT (no such name), -EAGAIN (server trouble), -ENOMEM, -ECANCELED */
    int n_addrs;
    struct addr addrs[RESOLVER_ADDRS_MAX];
};

int resolver_new(struct resolver **ret) WARN_UNUSED;
/* Joins the thread: a lookup under way is waited for, and those behind it do not begin; all are
 * answered -ECANCELED. So the loops must be there still, and turn once more afterwards. */
struct resolver *resolver_free(struct resolver *r);

/* on_answer runs on l's thread; answer is valid during the call. Exactly one call unless an error
 * is returned here. -ENOBUFS, -ENOMEM. */
int resolver_lookup(struct resolver *r, struct loop *l, const char *host, uint16_t port,
                    void (*on_answer)(void *arg, const struct resolver_answer *answer),
                    void *arg) WARN_UNUSED;

#endif
