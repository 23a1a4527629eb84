/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client_private.h - private to http/: connections to a server and their pool.
 *
 *   RESOLVING -> CONNECTING -> TUNNELLING -> SECURING -> READY (told by a task where nothing had to
 *   be waited for) -> BUSY -> IDLE (pooled) -> READY ...
 *                         \-> CLOSED (freed by a task)
 *
 * TUNNELLING only through a proxy, SECURING only with TLS. Callbacks that could come from within a
 * call of the user are told from the loop's task list.
 */
#ifndef HTTP_CLIENT_PRIVATE_H
#define HTTP_CLIENT_PRIVATE_H

#include "base/stat.h"
#include "http/client.h"

enum client_state {
    CLIENT_RESOLVING,
    CLIENT_CONNECTING,
    CLIENT_TUNNELLING, /* the proxy was asked for a way to the server */
    CLIENT_SECURING,   /* TLS handshake */
    CLIENT_READY,      /* usable; on_ready is due or was told, nothing was sent yet */
    CLIENT_BUSY,
    CLIENT_FAILING, /* on_failed is due */
    CLIENT_IDLE,
    CLIENT_CLOSED,
};

/* A lookup under way; it outlives the pool if need be. */
struct pool_lookup {
    struct http_pool *pool; /* NULL: the pool is gone */
};

struct http_pool {
    struct loop *loop;
    struct resolver *resolver;
    struct http_pool_config config; /* .tls: only whether there is any */
    struct tls_peer peer;           /* with TLS */
    bool is_internal;               /* nothing of it is counted */
    struct buf tunnel_request;      /* the head of CONNECT; empty: there is no tunnel */
    struct list idle;               /* most recently used first */
    struct list waiting;            /* RESOLVING */
    size_t n_idle;
    struct pool_lookup *lookup; /* under way, or NULL */
    mono_t fresh_until;         /* then the addresses are looked up again */
    struct http1_head parsed;   /* scratch, as in server_conn.h */
    bool is_literal;
    uint32_t generation; /* of the addresses: changes when one of them has gone */
    int n_addrs;
    struct addr addrs[RESOLVER_ADDRS_MAX];
};

/* client.c: what goes over a connection, and its end. */
extern const struct sock_ops client_sock_ops;
void client_close(struct http_client *c);
void client_free(struct http_client *c);
void client_fail(struct http_client *c, enum http_phase phase, int error, struct stamp at);
void client_fail_later(struct http_client *c, enum http_phase phase, int error);
void client_on_later(struct task *t);

/* client_connect.c: from an address to READY. */

/* Tries the addresses from _addr_i on until one connect is under way. */
void client_connect(struct http_client *c);
void client_on_connected(struct sock *s);
void client_on_secured(struct sock *s);
/* The address that _sock tried failed. */
void client_connect_failed(struct http_client *c, int error);
/* It takes long: the next address is tried beside it. */
void client_connect_next(struct http_client *c);
void client_rival_init(struct http_client *c);
void client_race_stop(struct http_client *c); /* the timer, too */
/* The proxy's answer. */
void client_tunnel_feed(struct http_client *c, struct span in, struct stamp at);

/* client_pool.c: addresses and idle connections. */

/* The answer is complete: back into the pool where both sides agree, else closed. */
void client_pool_release(struct http_client *c);
void client_pool_forget(struct http_client *c);

/* To a counter or gauge of upstreams. */
static inline void client_count(const struct http_client *c, enum stat_id stat, int64_t n)
{
    if (!c->_is_internal)
        stat_add(stat, n);
}

#endif
