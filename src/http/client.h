/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client.h - connections to servers, kept alive in a pool per address.
 *
 * Role:      used by gateway (upstreams) and load. Owns the connection; `user` hangs onto it.
 * Order:     http_pool_acquire -> on_ready or on_failed. Then send head and body; on_head (also
 *            1xx), on_body*, and exactly one of on_end (complete answer) and on_failed. From that
 *            call on the connection is no longer the user's: it goes back to the pool or is closed.
 *            on_read_done closes every read that did not end the answer: body views handed out
 *            since the read began are valid until it returns, so that one read can be one write.
 * Idle:      pooled connections are dropped after idle_timeout_ns (keep it below the servers') and
 *            as soon as the server closes or sends anything.
 * Addresses: of several one is tried after the other, the next one also beside one that takes
 *            longer than 250 ms. Names are looked up again after dns_ttl_ns; connections to
 *            addresses that are gone from the answer are used no further.
 * Threading: one pool per loop.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http/http.h"
#include "io/proxy.h"
#include "io/resolver.h"
#include "io/tls.h"
#include "wire/message.h"

struct http_pool;
struct http_client;

enum http_phase {
    HTTP_PHASE_DNS,
    HTTP_PHASE_CONNECT,
    HTTP_PHASE_PROXY, /* the proxy made no tunnel: http_client.proxy_status */
    HTTP_PHASE_TLS,   /* the handshake failed: http_client_tls_error */
    HTTP_PHASE_EXCHANGE,
};

struct http_client_ops {
    void (*on_ready)(struct http_client *c);
    void (*on_head)(struct http_client *c, const struct http1_head *head, struct stamp at);
    void (*on_body)(struct http_client *c, struct span bytes, struct stamp at);
    void (*on_read_done)(struct http_client *c); /* may be NULL */
    void (*on_end)(struct http_client *c, struct stamp at);
    /* phase EXCHANGE: -ECONNRESET or other errno, -EPIPE (closed before a complete answer), -EPROTO
     * (malformed answer; http_client_error_text). had_bytes: some answer byte had arrived. */
    void (*on_failed)(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at);
    void (*on_drained)(struct http_client *c); /* as sock_ops.on_drained; may be NULL */
};

struct http_client {
    void *user;
    const struct http_client_ops *ops;
    bool is_reused; /* came out of the pool */
    /* -1: not done for this acquisition. tcp_ns: with a tunnel, up to the proxy's answer. */
    int64_t dns_ns, tcp_ns, tls_ns;
    int proxy_status; /* what the proxy refused the tunnel with; 0: nothing */
    mono_t t_ready;
    /* private */
    struct http_pool *_pool;
    struct sock _sock;
    struct sock _rival;                    /* to the next address, while _sock takes its time */
    uint64_t _addr_hash, _rival_addr_hash; /* where they go to */
    struct message_reader _in;
    struct http_writer _out;
    struct list _link;
    struct task _later; /* tells on_ready or on_failed, or frees */
    struct timer _timer;
    mono_t _t_start;
    int _state;
    enum http_phase _phase; /* with _error, to be told later */
    int _error;
    int _addr_i; /* next address to try */
    uint32_t _generation;
    int _n_interim;
    bool _had_bytes, _keep_alive;
    bool _is_internal; /* as its pool, which may be gone before it is freed */
};

struct http_pool_config {
    char host[ADDR_HOST_MAX]; /* name, IP literal without brackets, or "unix:/path" */
    uint16_t port;
    int64_t idle_timeout_ns;
    int64_t dns_ttl_ns; /* how long a looked-up address is used (default 30 s) */
    size_t max_idle;
    size_t max_queue_bytes;
    struct tls_context *tls;         /* NULL: none. The pool keeps a reference */
    char server_name[ADDR_HOST_MAX]; /* whom the certificate must be for; "": host */
    /* proxy.host "": none. With TLS it is asked for a tunnel; without, connections end there, and
     * the user writes what a proxy wants to read. */
    struct proxy proxy;
};

/* resolver may be NULL when what is connected to is a literal (addr_from_literal). */
int http_pool_new(struct loop *l, struct resolver *r, const struct http_pool_config *config,
                  struct http_pool **ret) WARN_UNUSED;
/* Closes idle connections; those in use must have been released or aborted before. */
struct http_pool *http_pool_free(struct http_pool *p);
/* Its connections and bytes are the program's own: not counted as those of upstreams, and none is
 * kept. Before the first connection. */
void http_pool_set_internal(struct http_pool *p);
/* Handshakes from now on go by tls (a pool that has TLS); a reference is kept. */
void http_pool_set_tls(struct http_pool *p, struct tls_context *tls);
size_t http_pool_n_idle(const struct http_pool *p);

/*
 * An idle connection or a new one. on_ready / on_failed never come from within this call. -ENOMEM.
 * fresh: never take an idle one (the stale-connection retry).
 */
int http_pool_acquire(struct http_pool *p, const struct http_client_ops *ops, void *user,
                      bool fresh, struct http_client **ret) WARN_UNUSED;

/* Starts the request; is_head_method: HEAD. As http_writer_start. */
int http_client_send(struct http_client *c, struct span head, struct http_framing framing,
                     const struct span *parts, int n, bool is_last, bool is_head_method,
                     mono_t *ret_before) WARN_UNUSED;
int http_client_body(struct http_client *c, const struct span *parts, int n, bool is_last,
                     mono_t *ret_before) WARN_UNUSED;

/* Gives the exchange up: the connection is closed, no callback follows. c is gone. */
void http_client_abort(struct http_client *c);

/* Nothing more is read while paused; bytes of the read under way still come. */
void http_client_pause(struct http_client *c);
void http_client_resume(struct http_client *c);
bool http_client_is_full(const struct http_client *c);
bool http_client_is_broken(const struct http_client *c); /* as sock_is_broken */
size_t http_client_queued_bytes(const struct http_client *c);
bool http_client_path(struct http_client *c, struct sock_path *ret); /* as sock_look_at_path */
const char *http_client_error_text(const struct http_client *c);
const char *http_client_tls_error(const struct http_client *c); /* as sock_tls_error */
/* As sock_tls_validity, from on_ready on. */
bool http_client_tls_validity(const struct http_client *c, int64_t *ret_from_s,
                              int64_t *ret_until_s);

#endif
