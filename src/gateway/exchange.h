/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/exchange.h - private to gateway/: one request and its answer, and the object they live
 * in.
 *
 * A request walks RECEIVE -> PLAN -> ADMIT -> CONNECT -> SEND -> WAIT -> STREAM -> TAIL. PLAN takes
 * no time, so no exchange is ever seen resting in it; ADMIT takes some where limits are set and
 * reached. A retry goes back to CONNECT, perhaps through BACKOFF. Whatever happens, exchange_end is
 * called once; memory goes at the end of the turn, so that every function up the stack may still
 * look at is_ended.
 */
#ifndef GATEWAY_EXCHANGE_H
#define GATEWAY_EXCHANGE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/rng.h"
#include "gateway/gateway.h"
#include "http/client.h"
#include "http/server.h"

enum exchange_state {
    EXCHANGE_RECEIVE, /* collecting the request window */
    EXCHANGE_ADMIT,   /* planned; waiting for its turn */
    EXCHANGE_BACKOFF, /* between two attempts at one upstream */
    EXCHANGE_CONNECT,
    EXCHANGE_SEND, /* request head sent, body going out */
    EXCHANGE_WAIT, /* request sent, no answer head yet */
    EXCHANGE_STREAM,
    EXCHANGE_TAIL, /* answer read whole, client still taking it */
};

enum { EXCHANGE_ID_LEN = 32 };

struct exchange {
    struct gateway *g;
    struct gateway_config *config;   /* the one it started with */
    struct http_server_conn *client; /* NULL: gone */
    struct http_client *upstream;    /* NULL: none now */
    struct tap *tap;                 /* NULL: not watched */
    enum exchange_state state;
    bool is_ended;
    struct list link;
    struct task free_later;
    struct timer timer;
    mono_t started, attempt_started, deadline; /* loop time, for timeouts */

    /* request */
    struct http1_head *head; /* copy; NULL once no retry can follow */
    struct buf window;       /* body bytes held */
    uint64_t request_bytes;
    bool is_request_done;    /* last byte received */
    bool is_window_exceeded; /* body is streamed: no retry, no edits */
    bool is_sent_told;
    bool is_request_dropped; /* the upstream takes no more of it; its answer or end is awaited */
    bool is_plain;           /* this attempt goes without the edit that an upstream refused */
    bool was_stale_retried;
    struct policy_plan plan;
    struct policy_aim aim; /* of the attempt under way */
    bool has_plan;
    struct admission_ticket ticket;
    size_t chosen;            /* upstream of the attempt under way; the first choice before */
    struct breaker_pass pass; /* of the attempt under way, until its result is known */
    bool has_pass;
    uint32_t tried;     /* bit i: candidate i of the plan had its turn */
    uint32_t n_retries; /* attempts that followed a failed one */
    uint32_t n_attempts;

    /* answer */
    int status; /* sent to the client; 0: none yet */
    bool has_filter;
    bool is_head_pending; /* rendered into gateway.fields, goes out with this read */
    struct http_framing framing;
    uint64_t response_bytes;
    struct tap_path upstream_path; /* of the attempt whose answer is whole */
    struct stamp read_at;          /* of the read under way */
    mono_t blocked_since;          /* reading is paused for the client */
    size_t blocked_queued;         /* what waited for it at the last look */
    int64_t blocked_ns;
    char id[EXCHANGE_ID_LEN + 1];
};

struct gateway {
    struct gateway_deps d;
    struct gateway_config *config;
    struct http_server *server;
    struct http_pool *pools[GATEWAY_UPSTREAMS_MAX];
    struct admission_port ports[GATEWAY_UPSTREAMS_MAX];
    struct list exchanges;
    size_t n_exchanges;
    struct rng rng;
    struct buf request_head; /* scratch: head for the upstream */
    struct buf fields;       /* scratch: answer fields of the read under way */
    int answer_status;       /* with fields */
    char answer_reason[64];
    struct span parts[HTTP_PARTS_MAX]; /* body views of the read under way */
    int n_parts;
    void (*on_drained)(void *arg);
    void *drained_arg;
    bool is_draining;
    bool is_warned;       /* of what the plan warned of */
    int32_t retry_budget; /* hundredths of a retry */
};

/* exchange.c: from its first byte to its end; what client connections tell. */
extern const struct http_server_ops exchange_server_ops;
void exchange_end(struct exchange *x, enum tap_end end, enum tap_reason reason);
void exchange_free(struct exchange *x);
/* Looks at the way to the upstream, once all bytes of its answer are on their way. */
void exchange_look_at_upstream(struct exchange *x, struct http_client *c);
/* Where the attempt under way goes. */
static inline const struct gateway_upstream *exchange_upstream(const struct exchange *x)
{
    return &x->config->upstreams[x->chosen];
}
/* choice.c: which upstream next. */
enum choice_cause {
    CHOICE_CONNECT_FAILED,
    CHOICE_CUT, /* no answer, or none that is HTTP */
    CHOICE_STATUS,
};
void choice_init(struct gateway *g);
/* The plan's first choice. */
void choice_first(struct exchange *x);
/* It had to wait, and its ticket is in: it goes to its upstream now. */
void choice_on_granted(struct admission_ticket *t);
/*
 * How an attempt went, before anything of it went to the client: head has the status where there is
 * one. When it failed begins the next one, now or after a wait, if there may be one. false: nothing
 * follows.
 */
bool choice_again(struct exchange *x, enum choice_cause cause, const struct http1_head *head);
/* The wait is over. */
void choice_resume(struct exchange *x);
/* Nothing more comes of the attempt; its result, if there was none yet. */
void choice_over(struct exchange *x, enum breaker_result result);

/* attempt.c: one try at the upstream; what upstream connections tell. fresh: not with a connection
 * that was used before. */
void attempt_begin(struct exchange *x, bool fresh);

/* request.c: the request on its way to the upstream. */
void request_send(struct exchange *x);
/* More of a body that is streamed through. */
void request_body(struct exchange *x, struct span bytes, bool is_last);
/* The upstream has taken enough of what was queued for it. */
void request_drained(struct exchange *x);
/* The upstream has answered, or broken, before it had the whole body. */
bool request_is_unwanted(const struct exchange *x);
/* Gives back what only a repeat would need. */
void request_forget(struct exchange *x);
/* Failures of our own making; any other error of a send means a broken connection, which tells its
 * end itself, behind what it may still bring (a server that refuses an upload answers and closes).
 */
bool request_is_own_failure(int error);

/* answer.c: the way back, from the upstream's head to the client's last byte. */
void answer_head(struct exchange *x, const struct http1_head *head, struct stamp at);
void answer_part(struct exchange *x, struct span bytes, struct stamp at);
/* Writes what this read brought. */
enum answer_more {
    ANSWER_GOES_ON,
    ANSWER_IS_CUT,   /* nothing follows, though something should */
    ANSWER_IS_WHOLE, /* nothing follows */
};
void answer_flush(struct exchange *x, enum answer_more more);
void answer_local(struct exchange *x); /* the plan is_answered */
void answer_refuse(struct exchange *x, enum tap_reason reason, const char *text);
void answer_unblock(struct exchange *x);

/* deadline.c: what takes too long. delay_ns 0: the phase has no limit of its own. */
void deadline_init(struct exchange *x);
void deadline_stop(struct exchange *x);
/* A phase begins whose deadline may lie before the one the timer waits for. */
void deadline_begin(struct exchange *x, int64_t delay_ns);
/* The phase goes on; a store, mostly. */
void deadline_extend(struct exchange *x, int64_t delay_ns);

/* headers.c: which fields go on and which do not (docs/HEADERS.md). */
int headers_to_upstream(const struct exchange *x, const struct gateway_upstream *u,
                        struct http_framing framing, struct buf *out) WARN_UNUSED;
int headers_to_client(const struct exchange *x, const struct http1_head *head,
                      struct buf *out) WARN_UNUSED;
/* A copy of a parsed head with everything it points to, in one block (mem_free); NULL: no memory.
 */
struct http1_head *headers_copy(const struct http1_head *head);

#endif
