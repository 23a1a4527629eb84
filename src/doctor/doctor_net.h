/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_net.h - one thing at a time over the network, waited for: a name, a connection, a
 * request.
 *
 * Role:      what steps see of io/ and http/. Every read of an answer keeps its stamp, so that a
 *            stream can be looked at afterwards as it came.
 * Ownership: answers live in the arena.
 * Errors:    -ENOMEM and of the event loop; what the network brings is in the answer.
 * Limits:    ANSWER_BYTES_MAX of a body, ANSWER_READS_MAX reads with a stamp of their own.
 * Threading: blocking; one owner.
 */
#ifndef DOCTOR_DOCTOR_NET_H
#define DOCTOR_DOCTOR_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "http/client.h"
#include "wire/http1.h"

enum { ANSWER_BYTES_MAX = 16 * 1024 * 1024, ANSWER_READS_MAX = 4096 };

/* The way to one server. */
struct doctor_net {
    struct loop *loop;
    struct resolver *resolver;
    struct http_pool *pool;
    struct tls_context *tls;
};
struct doctor_target {
    struct span host;
    uint16_t port;
    bool is_tls, is_unverified;
    const char *ca_file;
    struct proxy proxy;
};
int doctor_net_open(struct doctor_net *n, const struct doctor_target *to,
                    struct err *reterr) WARN_UNUSED;
void doctor_net_close(struct doctor_net *n); /* idempotent; a zeroed one is fine, too */

/* 0 or the resolver's error; -ETIMEDOUT. */
int doctor_net_name(struct doctor_net *n, const char *host, uint16_t port, int64_t timeout_ns,
                    struct resolver_answer *ret) WARN_UNUSED;
/* A TCP connection, closed again: 0 or why not; -ETIMEDOUT. */
int doctor_net_connection(struct doctor_net *n, const struct addr *to,
                          int64_t timeout_ns) WARN_UNUSED;

struct doctor_read {
    mono_t at;
    size_t end; /* of the body so far */
};
struct doctor_answer {
    /* Why there is none, or not all of it. */
    int error;             /* negative errno; 0: complete */
    enum http_phase phase; /* where that was */
    const char *why;       /* static: what TLS or HTTP had against it; NULL */
    int proxy_status;
    bool has_head;
    mono_t t_sent, t_head, t_end;
    int64_t wall_us;                   /* when the head came */
    int64_t cert_from_s, cert_until_s; /* of the server's certificate; 0: none */
    int status;
    const struct http1_field *fields;
    size_t n_fields;
    bool is_chunked, has_length;
    struct span body;
    bool is_cut; /* the body is longer */
    const struct doctor_read *reads;
    size_t n_reads;
};
/* head NULL: only a connection. -ENOMEM; everything else is in *ret. */
int doctor_net_request(struct doctor_net *n, struct span head, struct span body, int64_t timeout_ns,
                       struct arena *a, struct doctor_answer *ret) WARN_UNUSED;

/* Value of a field; empty when there is none. */
struct span doctor_answer_field(const struct doctor_answer *a, struct span name);
/* Content-Type without parameters. */
struct span doctor_answer_type(const struct doctor_answer *a);

#endif
