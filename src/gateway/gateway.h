/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/gateway.h - one worker's gateway: client connections, exchanges, upstream pools.
 *
 * Role:      moves bytes between clients and upstreams. Asks tap/policy.h, tells tap/tap.h. Knows
 *            HTTP, nothing of tokens or dialects.
 * Threading: one gateway per loop. Several gateways share listening sockets, the resolver and the
 *            admission objects. gateway_config is immutable and shared by reference.
 * Memory:    bounded per exchange: request window (given back once the answer has begun), one read
 *            and LIMIT_SEND_HIGH_BYTES waiting for a slow peer on each side.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "gateway/admission.h"
#include "gateway/breaker.h"
#include "http/client.h"
#include "io/addr.h"
#include "io/loop.h"
#include "io/proxy.h"
#include "io/resolver.h"
#include "io/tls.h"
#include "tap/policy.h"
#include "tap/tap.h"

enum {
    GATEWAY_UPSTREAMS_MAX = TAP_UPSTREAMS_MAX,
    GATEWAY_NAME_MAX = 64,
    GATEWAY_BASE_MAX = 128,
    GATEWAY_PREFIX_MAX = GATEWAY_BASE_MAX + ADDR_HOST_MAX + 16, /* with "http://HOST:PORT" */
    GATEWAY_VERSION_MAX = 16,
    GATEWAY_MODEL_VERSION_MAX = 64
};

struct gateway_upstream {
    char name[GATEWAY_NAME_MAX]; /* label value and name in logs */
    char host[ADDR_HOST_MAX];    /* name, IP literal without brackets, or "unix:/path" */
    uint16_t port;
    bool is_tls;
    struct tls_context *tls;           /* is_tls: how; a reference of the config's */
    char server_name[ADDR_HOST_MAX];   /* whom the certificate must be for; "": host */
    struct proxy proxy;                /* host "": none */
    char authority[ADDR_HOST_MAX + 8]; /* what Host says */
    char prefix[GATEWAY_PREFIX_MAX];   /* put before the request's path: "", "/base", through a
                                          proxy without TLS "http://host/base" */
    char version[GATEWAY_VERSION_MAX]; /* takes the place of the request's "/v1"; "" or "/v4" */
    char model_version[GATEWAY_MODEL_VERSION_MAX]; /* of what it serves, for the tap; "" not told */
    struct admission_limits limits;                /* for who owns the admission objects */
};

/* When an attempt is followed by another. */
struct gateway_retry {
    uint32_t max_attempts;   /* tries of one request in all; 1: none is repeated */
    uint32_t budget_percent; /* retries per hundred requests, beyond a few */
    bool same_upstream;      /* also to the same one, after a wait */
    int64_t backoff_ns;      /* the first wait; doubles */
    int64_t max_wait_ns;     /* an upstream's Retry-After above this is left to the client */
};

/* Immutable once shared; reference-counted. */
struct gateway_config {
    atomic_int _refs;
    size_t n_upstreams;
    struct gateway_upstream upstreams[GATEWAY_UPSTREAMS_MAX];
    size_t request_window_bytes;
    uint64_t max_body_bytes;
    size_t max_conns;       /* of one worker */
    size_t max_conns_total; /* of all; 0: no limit */
    size_t max_idle_upstream;
    int64_t connect_timeout_ns;
    int64_t first_byte_timeout_ns; /* request sent -> answer head */
    int64_t idle_timeout_ns;       /* between two reads of an answer */
    int64_t total_timeout_ns;      /* whole exchange; 0: none */
    int64_t client_head_timeout_ns, client_body_timeout_ns, client_idle_timeout_ns;
    int64_t client_write_timeout_ns;  /* a client that takes nothing of what waits for it */
    int64_t upstream_idle_timeout_ns; /* keep below the upstream's own */
    int64_t dns_ttl_ns;
    struct gateway_retry retry;
};

/* A config with defaults and one reference; NULL: out of memory. */
struct gateway_config *gateway_config_new(void);
struct gateway_config *gateway_config_ref(struct gateway_config *c);
struct gateway_config *gateway_config_unref(struct gateway_config *c); /* returns NULL */

/*
 * Takes "http://host[:port][/base]", "https://..." or "unix:/path/to.sock[:/base]" apart into *ret.
 * A version at the base's end ("/v1", "/v4") is kept apart: requests bring their own. With is_tls
 * the caller sets tls. -EINVAL with text and hint.
 */
int gateway_upstream_parse(const char *name, const char *url, struct gateway_upstream *ret,
                           struct err *reterr) WARN_UNUSED;

/* Reaches u through that forward proxy (host "": directly). Once, after parsing; not for Unix
 * sockets. */
void gateway_upstream_set_proxy(struct gateway_upstream *u, const struct proxy *proxy);

/* Connections to upstream i as the configuration wants them, for requests of the program's own.
 * -EINVAL, -ENOMEM. */
int gateway_upstream_pool(const struct gateway_config *c, size_t i, struct loop *loop,
                          struct resolver *resolver, struct http_pool **ret) WARN_UNUSED;

/* Begins the head of a request to u, appended to out: request line (target as clients write it,
 * "/v1/..."), Host, and what a proxy wants. */
int gateway_upstream_head(const struct gateway_upstream *u, struct span method, struct span target,
                          struct buf *out) WARN_UNUSED;

struct gateway_deps {
    struct loop *loop;
    struct resolver *resolver;
    const struct policy_ops *policy_ops;
    struct policy *policy;
    const struct tap_ops *tap_ops;
    void *tap_watcher;
    struct admission **admission; /* one per upstream of the config, shared by all workers */
    struct breaker *breakers;     /* likewise */
};

struct gateway;

int gateway_new(const struct gateway_deps *deps, struct gateway_config *config,
                struct gateway **ret) WARN_UNUSED;

/* Ends every exchange (TAP_END_DRAIN) and frees. Turns the loop, so not from within one of its
 * callbacks. Returns NULL. */
struct gateway *gateway_free(struct gateway *g);

/* Accepts on a listening descriptor that other workers may share; it stays the caller's. tls: what
 * clients speak there; NULL: plain HTTP. */
int gateway_listen(struct gateway *g, int fd, struct tls_context *tls) WARN_UNUSED;

/* Accepts what waits on them, also where only another process was told of it. */
void gateway_look(struct gateway *g);

/* Stops accepting, since another process does; idle connections stay for one more request each, and
 * gateway_drain closes what is left of them. */
void gateway_hand_over(struct gateway *g);

/* New exchanges use this config from now on; the upstreams must be the same. */
void gateway_config_set(struct gateway *g, struct gateway_config *config);

/* Stops accepting; idle connections close; on_drained (once) when no exchange is left;
 * it must not free the gateway. */
void gateway_drain(struct gateway *g, void (*on_drained)(void *arg), void *arg);
size_t gateway_n_exchanges(const struct gateway *g);

/* Ends an exchange that its watcher was told of (tap_begin.exchange), for TAP_REASON_STALLED or
 * TAP_REASON_RUNAWAY: its upstream is let go, and the client's stream ends as after any cut. */
void gateway_cut(struct exchange *x, enum tap_reason reason);

#endif
