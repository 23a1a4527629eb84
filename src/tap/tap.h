/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap/tap.h - the events of one exchange, as the path tells them to whoever watches.
 *
 * Role:      seam between the byte path (gateway/, later capture/) and observe/. The path calls,
 *            the watcher never calls back and never fails: an error on its side only stops the
 *            watching of that one exchange.
 * Order:     begin, request_body*, request_end, identified, planned, admitted, attempt
 *            (attempt_connected, sent, response_head, response_body*, response_end)*, delivered*,
 *            end. Every exchange that began gets exactly one end; parts that did not happen are
 *            left out. response_body may come before sent (early answer).
 * Stamps:    struct stamp (base/clock.h) says where it came from; spans are valid during the call
 *            only.
 * Threading: all events of one exchange come on one thread.
 */
#ifndef TAP_TAP_H
#define TAP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/span.h"
#include "wire/http1.h"

/* How an exchange ended, as the path saw it; observe turns it into one outcome. */
enum tap_end {
    TAP_END_COMPLETE, /* answer passed on whole (whatever its status) */
    TAP_END_REFUSED,  /* the gateway answered itself; see refusal */
    TAP_END_CLIENT_GONE,
    TAP_END_UPSTREAM_CUT, /* connection lost within the answer */
    TAP_END_BAD_RESPONSE, /* malformed answer, after its head was passed on */
    TAP_END_TIMEOUT,      /* after the head was passed on */
    TAP_END_DRAIN,        /* the gateway stopped */
    TAP_END_INTERNAL,     /* out of memory or a bug */
};

/* Why the gateway answered itself or cut, in order of the outcome list. */
enum tap_reason {
    TAP_REASON_NONE,
    TAP_REASON_BAD_REQUEST,
    TAP_REASON_BODY_TOO_LARGE,
    TAP_REASON_UNAUTHORIZED,
    TAP_REASON_FORBIDDEN,
    TAP_REASON_NO_ROUTE,         /* no upstream serves the model */
    TAP_REASON_REJECTED,         /* the queue was full */
    TAP_REASON_REJECTED_TIMEOUT, /* it waited too long in the queue */
    TAP_REASON_CONNECT_DNS,
    TAP_REASON_CONNECT_REFUSED,
    TAP_REASON_CONNECT_PROXY, /* the proxy makes no way to the upstream */
    TAP_REASON_CONNECT_TLS,   /* no TLS with the upstream */
    TAP_REASON_CONNECT_OTHER,
    TAP_REASON_BAD_RESPONSE,
    TAP_REASON_UPSTREAM_CUT, /* lost before its head */
    TAP_REASON_STALLED,      /* the watchdog cut it */
    TAP_REASON_TIMEOUT_CONNECT,
    TAP_REASON_TIMEOUT_FIRST_BYTE,
    TAP_REASON_TIMEOUT_IDLE,
    TAP_REASON_TIMEOUT_TOTAL,
    TAP_REASON_TIMEOUT_REQUEST, /* slow request head or body */
    TAP_REASON_DRAIN,
    TAP_REASON_RUNAWAY, /* the guard cut it */
    TAP_REASON_INTERNAL,
    TAP_REASON_COUNT_,
};
const char *tap_reason_name(enum tap_reason r);

enum { TAP_UPSTREAMS_MAX = 64 };

/* Whether clients show keys in a request field of that name: Authorization, x-api-key, api-key,
 * x-goog-api-key. Its value belongs in no log, and a gateway's key to no upstream. */
bool tap_is_credential(struct span name);

struct exchange; /* the path's own */

struct tap_begin {
    const struct http1_head *head; /* valid during the call */
    struct exchange *exchange;     /* a name for it, up to end: for whoever may ask for its end */
    struct stamp t_accept;         /* first byte of the request */
    wall_t started_at;
    const char *request_id; /* ours, terminated */
    bool is_pipelined;
};

enum { TAP_LABELS_MAX = 4 };

/* A business label that the operator named, and this request's value for it: UTF-8, not empty. */
struct tap_label {
    const char *name;
    const char *value;
    unsigned index; /* of the label in the configuration, below TAP_LABELS_MAX */
};

/* What the plan decided, for the record. Strings are valid during the call. */
struct tap_planned {
    mono_t at;
    const char *upstream;      /* the first choice; "" for a refusal; set by the path */
    size_t upstream_index;     /* below TAP_UPSTREAMS_MAX; set by the path */
    const char *model_version; /* of what that one serves; "" not told; set by the path */
    const char *endpoint;      /* static */
    const char *model;   /* what an alias stands for, valid up to end; NULL: it was no alias */
    const void *dialect; /* const struct dialect *, opaque to the path; may be NULL */
    const void *request; /* const struct dialect_request *, opaque to the path; may be NULL */
    bool is_window_exceeded;
    const struct tap_label *labels; /* those that have a value */
    size_t n_labels;
};

/* Whose key the request showed. Strings are valid during the call. */
struct tap_identity {
    const char *key_id; /* NULL: nobody's */
    const char *tenant;
    mono_t at; /* when that was found out; not set: the gateway is open to everybody */
};

struct tap_attempt {
    mono_t at;
    uint32_t number;      /* 1 = the first */
    const char *upstream; /* the name; valid during the call, as are the others */
    size_t upstream_index;
    const char *model_version;
    const char *model;      /* as this upstream calls it; NULL: as it was asked for */
    bool is_usage_injected; /* false again on the repeat without it */
};

struct tap_connected {
    mono_t at;
    bool is_reused;
    int64_t dns_ns; /* -1: not done in this attempt */
    int64_t tcp_ns;
    int64_t tls_ns;
};

/* What the kernel knows of the way to a peer, looked at once the bytes were through. */
struct tap_path {
    int64_t rtt_ns, rtt_min_ns; /* smoothed; the shortest. -1: not told, or not looked at */
    uint32_t n_resent;          /* segments sent again since the look before */
};

struct tap_finish {
    mono_t at; /* = t_delivered where the client got everything */
    enum tap_end end;
    enum tap_reason reason;
    int status; /* sent to the client; 0: none */
    uint32_t n_attempts;
    int64_t client_blocked_ns;
    uint64_t request_bytes, response_bytes; /* bodies, as received */
    struct tap_path client, upstream;       /* upstream: of the last attempt */
};

struct tap; /* the watcher's state of one exchange */

struct tap_ops {
    /* NULL is a valid answer: this exchange is not watched, no further call follows. */
    struct tap *(*begin)(void *watcher, const struct tap_begin *b);
    void (*request_end)(struct tap *t, struct stamp at); /* last byte of the request */
    /* The key was looked at, whosever it is; refused or not. Before planned; not where the gateway
     * is open to everybody. */
    void (*identified)(struct tap *t, const struct tap_identity *i);
    void (*planned)(struct tap *t, const struct tap_planned *p);
    void (*admitted)(struct tap *t, mono_t at);
    void (*attempt)(struct tap *t,
                    const struct tap_attempt *a); /* forgets an earlier attempt's answer */
    void (*connected)(struct tap *t, const struct tap_connected *c);
    void (*sent)(struct tap *t, mono_t at); /* clock before the send of the last byte */
    void (*response_head)(struct tap *t, const struct http1_head *head, struct stamp at);
    /* Body bytes as received, before any filter. */
    void (*response_body)(struct tap *t, struct span bytes, struct stamp at);
    /* Reading stopped because the client was slow, and went on: what arrived meanwhile, and what
     * the upstream could not send meanwhile, does not tell its pace. */
    void (*paused)(struct tap *t, mono_t at);
    void (*resumed)(struct tap *t, mono_t at);
    void (*response_end)(struct tap *t, struct stamp at); /* regular end of the answer */
    /* The write of the bytes told last returned to the path. */
    void (*forwarded)(struct tap *t, mono_t at);
    void (*end)(struct tap *t, const struct tap_finish *f); /* t is gone afterwards */
};

/* Watches nothing. */
extern const struct tap_ops tap_null;

#endif
