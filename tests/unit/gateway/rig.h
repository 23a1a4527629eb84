/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h - a gateway between a raw client and a raw upstream, all in one loop: the policy is a fake
 * with a script, the tap a fake that writes down what it is told and checks the order contract of
 * tap.h, and every sendmsg of the program is counted, so that "one read is one write" and "stamped
 * before the send" can be seen.
 */
#ifndef RIG_H
#define RIG_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"
#include "gateway/gateway.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"
#include "wire/message.h"

/* --- sends --- */

struct sends {
    int n;
    int last_fd;
    mono_t begin, end; /* of the last one */
};

static struct sends sends;

/* Instead of the library's: the gateway sends with nothing else. */
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    ssize_t r;

    sends.begin = clock_mono();
    r = syscall(SYS_sendmsg, fd, m, flags);
    sends.end = clock_mono();
    sends.n++;
    sends.last_fd = fd;
    return r;
}

/* --- the policy --- */

struct policy_exchange {
    int number;
    char held[64]; /* the filter's: a marker that may have begun */
    size_t n_held;
    char out[64];
};

struct policy {
    struct policy_plan plan; /* handed out; exchange is filled in unless has_no_exchange */
    struct policy_aim aim;   /* handed out; the target is the request's own */
    bool has_no_exchange;
    bool wants_filter; /* removes every "<cut>" */
    int repeat_on;     /* status that is POLICY_REPEAT_PLAIN; -1: any */
    int n_plans, n_done, n_heads, n_complete;
    size_t window_bytes; /* of the last plan */
};

/* --- the tap --- */

enum { TAP_LOG_MAX = 128 };

/*
 * log: one character per event: B begin, Q request_end, P planned, A admitted, T attempt,
 * C connected, S sent, H response_head, D response_body, F forwarded, R response_end, X end.
 * Repeated "D" and "DF" are written once.
 */
struct tap {
    struct exchange *exchange;
    char log[TAP_LOG_MAX];
    bool is_open, had_head, had_end, is_blocked_seen, is_injected;
    char id[40];
    char *body;
    size_t n_body, body_cap;
    int n_forwarded;
    mono_t last; /* latest stamp of the steps that follow each other */
    mono_t t_attempt, t_sent, t_head;
    uint32_t n_attempts;
    struct tap_connected connected;
    struct tap_finish finish;
    bool is_window_exceeded, is_pipelined;
};

enum { RIG_TAPS = 64 };

/* --- all of it --- */

struct rig {
    struct loop *loop;
    struct resolver *resolver;
    struct admission *admission;
    struct breaker breaker;
    struct gateway_config *config;
    struct gateway *gateway;
    struct policy policy;
    struct tap taps[RIG_TAPS];
    int n_taps;
    bool has_small_buffers;
    bool is_unwatched; /* the tap's begin returns NULL */
    int listen_fd, up_listen_fd;
    uint16_t port, up_port;
    struct peer client, up;
    int64_t n_live;
    int n_fds;
};

static struct rig rig;

static inline void tap_log(struct tap *t, char c)
{
    size_t n = strlen(t->log);

    assert_true(t->is_open);
    if (c == 'D' && n > 0 && t->log[n - 1] == 'D')
        return;
    assert_true(n + 1 < sizeof(t->log));
    t->log[n++] = c;
    t->log[n] = '\0';
    if (n >= 4 && strcmp(t->log + n - 4, "DFDF") == 0)
        t->log[n - 2] = '\0';
}

static inline bool tap_had(const struct tap *t, char c)
{
    return strchr(t->log, c) != NULL;
}

static inline void tap_step(struct tap *t, char c, mono_t at)
{
    assert_true(mono_is_set(at));
    assert_true(at.ns >= t->last.ns);
    assert_true(at.ns <= clock_mono().ns);
    t->last = at;
    tap_log(t, c);
}

static inline struct tap *rig_on_begin(void *watcher, const struct tap_begin *b)
{
    struct tap *t;

    assert_ptr_equal(watcher, &rig);
    assert_non_null(b->head);
    assert_int_equal(strlen(b->request_id), 32);
    assert_true(b->started_at.us > 0);
    if (rig.is_unwatched)
        return NULL;
    t = &rig.taps[rig.n_taps++ % RIG_TAPS];
    free(t->body);
    *t = (struct tap){.is_open = true, .is_pipelined = b->is_pipelined, .exchange = b->exchange};
    span_copy(span_cstr(b->request_id), t->id, sizeof(t->id));
    tap_step(t, 'B', b->t_accept.at);
    return t;
}

static inline void rig_on_request_end(struct tap *t, struct stamp at)
{
    assert_false(tap_had(t, 'Q'));
    assert_true(mono_is_set(at.at) && at.at.ns <= clock_mono().ns);
    tap_log(t, 'Q');
}

static inline void rig_on_planned(struct tap *t, const struct tap_planned *p)
{
    assert_false(tap_had(t, 'P'));
    t->is_window_exceeded = p->is_window_exceeded;
    assert_int_equal(p->upstream_index, rig.policy.plan.candidates[0]);
    assert_true(tap_had(t, 'Q') != p->is_window_exceeded);
    tap_step(t, 'P', p->at);
}

static inline void rig_on_admitted(struct tap *t, mono_t at)
{
    assert_true(tap_had(t, 'P') && !tap_had(t, 'A'));
    tap_step(t, 'A', at);
}

static inline void rig_on_attempt(struct tap *t, const struct tap_attempt *a)
{
    assert_true(tap_had(t, 'A'));
    assert_int_equal(a->number, ++t->n_attempts);
    assert_false(tap_had(t, 'F')); /* nothing had gone to the client */
    t->had_head = t->had_end = false;
    t->t_attempt = a->at;
    t->t_sent = MONO_NONE;
    t->is_injected = a->is_usage_injected;
    tap_step(t, 'T', a->at);
}

static inline void rig_on_connected(struct tap *t, const struct tap_connected *c)
{
    assert_true(tap_had(t, 'T'));
    assert_true(c->at.ns >= t->t_attempt.ns);
    assert_true(c->is_reused == (c->tcp_ns < 0));
    t->connected = *c;
    tap_log(t, 'C');
}

static inline void rig_on_sent(struct tap *t, mono_t at)
{
    assert_true(tap_had(t, 'C') && tap_had(t, 'Q'));
    assert_false(mono_is_set(t->t_sent));
    assert_true(at.ns >= t->connected.at.ns);
    assert_true(at.ns <= sends.begin.ns || at.ns > sends.end.ns); /* not from behind the send */
    t->t_sent = at;
    tap_log(t, 'S');
}

static inline void rig_on_response_head(struct tap *t, const struct http1_head *head,
                                        struct stamp at)
{
    assert_true(tap_had(t, 'C'));
    assert_false(t->had_head);
    assert_true(head->status >= 200);
    assert_true(mono_is_set(at.at));
    t->had_head = true;
    t->t_head = at.at;
    tap_log(t, 'H');
}

static inline void rig_on_paused(struct tap *t, mono_t at)
{
    assert_true(mono_is_set(at));
    t->is_blocked_seen = true;
}

static inline void rig_on_resumed(struct tap *t, mono_t at)
{
    assert_true(mono_is_set(at));
    assert_true(t->is_blocked_seen);
}

static inline void rig_on_response_body(struct tap *t, struct span bytes, struct stamp at)
{
    assert_true(t->had_head && !t->had_end);
    assert_true(bytes.n > 0);
    assert_true(at.at.ns >= t->t_head.ns);
    if (t->n_body + bytes.n > t->body_cap) {
        t->body_cap = 2 * (t->n_body + bytes.n);
        t->body = realloc(t->body, t->body_cap);
        assert_non_null(t->body);
    }
    memcpy(t->body + t->n_body, bytes.p, bytes.n);
    t->n_body += bytes.n;
    tap_log(t, 'D');
}

static inline void rig_on_response_end(struct tap *t, struct stamp at)
{
    assert_true(t->had_head && !t->had_end);
    assert_true(mono_is_set(at.at));
    t->had_end = true;
    tap_log(t, 'R');
}

static inline void rig_on_forwarded(struct tap *t, mono_t at)
{
    assert_true(tap_had(t, 'D'));
    assert_true(at.ns >= sends.end.ns && at.ns <= clock_mono().ns);
    t->n_forwarded++;
    tap_log(t, 'F');
}

static inline void rig_on_tap_end(struct tap *t, const struct tap_finish *f)
{
    assert_true(mono_is_set(f->at));
    assert_int_equal(f->n_attempts, t->n_attempts);
    assert_true(f->client_blocked_ns >= 0);
    assert_true(f->upstream.rtt_ns < 0 || f->n_attempts > 0);
    if (tap_had(t, 'D'))
        assert_int_equal(f->response_bytes, t->n_body);
    t->finish = *f;
    tap_log(t, 'X');
    t->is_open = false;
}

static const struct tap_ops rig_tap_ops = {
    .begin = rig_on_begin,
    .request_end = rig_on_request_end,
    .planned = rig_on_planned,
    .admitted = rig_on_admitted,
    .attempt = rig_on_attempt,
    .connected = rig_on_connected,
    .sent = rig_on_sent,
    .response_head = rig_on_response_head,
    .response_body = rig_on_response_body,
    .paused = rig_on_paused,
    .resumed = rig_on_resumed,
    .response_end = rig_on_response_end,
    .forwarded = rig_on_forwarded,
    .end = rig_on_tap_end,
};

/* --- the policy's functions --- */

static inline void rig_plan(struct policy *p, const struct policy_request *req,
                            struct policy_plan *ret)
{
    assert_non_null(req->head);
    *ret = p->plan;
    if (ret->n_candidates == 0)
        ret->n_candidates = 1; /* the first upstream */
    ret->exchange = NULL;
    if (!p->has_no_exchange) {
        ret->exchange = calloc(1, sizeof(*ret->exchange)); /* not counted by base/mem.h */
        assert_non_null(ret->exchange);
        ret->exchange->number = p->n_plans;
        p->n_plans++;
    }
    p->n_complete += req->is_complete;
    p->window_bytes = req->window.n;
}

static inline int rig_aim(struct policy *p, struct policy_exchange *x,
                          const struct policy_aim_request *req, struct policy_aim *ret)
{
    struct span target = req->head->target;

    assert_true((x == NULL) == p->has_no_exchange);
    assert_non_null(req->head);
    *ret = p->aim;
    if (target.n > 7 && span_eq_nocase(span_of(target.p, 7), SPAN("http://"))) {
        target = span_from(target, strlen("http://"));
        target = span_from(target, span_find_char(target, '/'));
        if (target.n == 0)
            target = SPAN("/");
    }
    ret->target = target;
    if (!req->is_complete || req->is_plain) {
        ret->n_edits = 0;
        ret->is_usage_injected = false;
    }
    return 0;
}

static inline enum policy_verdict rig_answer_head(struct policy *p, struct policy_exchange *x,
                                                  const struct http1_head *head)
{
    assert_non_null(x);
    p->n_heads++;
    return p->repeat_on == head->status || p->repeat_on < 0 ? POLICY_REPEAT_PLAIN : POLICY_PASS;
}

static inline bool rig_wants_filter(struct policy *p, struct policy_exchange *x,
                                    const struct http1_head *head)
{
    assert_non_null(x);
    assert_true(head->status >= 200);
    return p->wants_filter;
}

/* Byte by byte: holds back what may become "<cut>", drops it when it did. */
static inline size_t rig_filter(struct policy *p, struct policy_exchange *x, struct span *in,
                                bool is_last, struct span *out, size_t max)
{
    static const char mark[] = "<cut>";
    size_t n = 0;
    (void)p;
    assert_true(max >= 2);
    if (x->n_held > 0 && in->n > 0 && in->p[0] != mark[x->n_held]) {
        memcpy(x->out, x->held, x->n_held);
        out[n++] = span_of(x->out, x->n_held);
        x->n_held = 0;
    }
    while (in->n > 0 && n + 1 < max) {
        size_t plain = x->n_held == 0 ? span_find_char(*in, '<') : 0;
        if (plain > 0) {
            out[n++] = span_take(in, plain);
        } else if (in->p[0] == mark[x->n_held]) {
            x->held[x->n_held++] = in->p[0];
            span_take(in, 1);
            if (x->n_held == sizeof(mark) - 1)
                x->n_held = 0;
        } else {
            break; /* the next call gives it out */
        }
    }
    if (is_last && x->n_held > 0 && n < max) {
        memcpy(x->out, x->held, x->n_held);
        out[n++] = span_of(x->out, x->n_held);
        x->n_held = 0;
    }
    return n;
}

static inline int rig_refusal_body(struct policy *p, struct policy_exchange *x,
                                   const struct http1_head *head, enum tap_reason reason,
                                   const char *text, int *ret_status, const char **ret_content_type,
                                   struct buf *out)
{
    (void)p;
    (void)x;
    (void)head;
    switch (reason) {
    case TAP_REASON_BAD_REQUEST:
        *ret_status = 400;
        break;
    case TAP_REASON_BODY_TOO_LARGE:
        *ret_status = 413;
        break;
    case TAP_REASON_UNAUTHORIZED:
        *ret_status = 401;
        break;
    case TAP_REASON_REJECTED:
    case TAP_REASON_REJECTED_TIMEOUT:
        *ret_status = 429;
        break;
    case TAP_REASON_STALLED:
    case TAP_REASON_TIMEOUT_CONNECT:
    case TAP_REASON_TIMEOUT_FIRST_BYTE:
    case TAP_REASON_TIMEOUT_IDLE:
    case TAP_REASON_TIMEOUT_TOTAL:
        *ret_status = 504;
        break;
    case TAP_REASON_INTERNAL:
        *ret_status = 500;
        break;
    default:
        *ret_status = 502;
        break;
    }
    *ret_content_type = "text/refusal";
    return buf_printf(out, "%d %s", (int)reason, text ? text : "");
}

static inline void rig_plan_done(struct policy *p, struct policy_exchange *x)
{
    assert_non_null(x);
    p->n_done++;
    free(x);
}

static const struct policy_ops rig_policy_ops = {
    .plan = rig_plan,
    .aim = rig_aim,
    .answer_head = rig_answer_head,
    .wants_filter = rig_wants_filter,
    .filter = rig_filter,
    .refusal_body = rig_refusal_body,
    .plan_done = rig_plan_done,
};

/* --- opening and closing --- */

static inline uint32_t rig_n_inflight(void)
{
    struct admission_numbers n;

    admission_read(rig.admission, &n);
    return n.n_inflight;
}

/* A gateway for rig.config as it is now. */
static inline int rig_gateway_open(void)
{
    struct gateway_deps deps = {.loop = rig.loop,
                                .resolver = rig.resolver,
                                .policy_ops = &rig_policy_ops,
                                .policy = &rig.policy,
                                .tap_ops = &rig_tap_ops,
                                .tap_watcher = &rig,
                                .admission = &rig.admission,
                                .breakers = &rig.breaker};
    int r = gateway_new(&deps, rig.config, &rig.gateway);

    if (r == 0)
        assert_int_equal(gateway_listen(rig.gateway, rig.listen_fd, NULL), 0);
    return r;
}

static inline void rig_config_init(const char *host, uint16_t port)
{
    struct gateway_config *c = gateway_config_new();
    char url[128];

    assert_non_null(c);
    (void)snprintf(url, sizeof(url), "http://%s:%d/base", host, port);
    c->n_upstreams = 1;
    assert_int_equal(gateway_upstream_parse("up", url, &c->upstreams[0], NULL), 0);
    gateway_config_unref(rig.config);
    rig.config = c;
}

static inline void rig_gateway_reopen(void)
{
    rig.gateway = gateway_free(rig.gateway);
    assert_int_equal(rig_gateway_open(), 0);
}

static inline void rig_forget_taps(void)
{
    for (int i = 0; i < RIG_TAPS; i++) {
        free(rig.taps[i].body);
        rig.taps[i] = (struct tap){.n_body = 0};
    }
    rig.n_taps = 0;
}

static inline int rig_setup(void **state)
{
    (void)state;
    log_level_set(LOG_LEVEL_ERROR);
    rig = (struct rig){.client.fd = -1, .up.fd = -1};
    rig.n_live = mem_live_blocks();
    rig.n_fds = fd_count();
    rig.listen_fd = peer_listen(&rig.port);
    rig.up_listen_fd = peer_listen(&rig.up_port);
    assert_int_equal(loop_new(&rig.loop), 0);
    assert_int_equal(resolver_new(&rig.resolver), 0);
    assert_int_equal(admission_new(&rig.admission), 0);
    breaker_init(&rig.breaker, 0);
    rig_config_init("127.0.0.1", rig.up_port);
    return rig_gateway_open();
}

/* Whatever the test did: everything told once and given back. */
static inline int rig_teardown(void **state)
{
    (void)state;
    rig.gateway = gateway_free(rig.gateway);
    peer_done(&rig.client);
    peer_done(&rig.up);
    for (int i = 0; i < RIG_TAPS; i++)
        assert_false(rig.taps[i].is_open);
    rig_forget_taps();
    assert_int_equal(rig.policy.n_plans, rig.policy.n_done);
    assert_int_equal(rig_n_inflight(), 0);
    rig.resolver = resolver_free(rig.resolver);
    TURNS(rig.loop, (void)0, 2);
    rig.admission = admission_free(rig.admission);
    breaker_done(&rig.breaker);
    rig.config = gateway_config_unref(rig.config);
    rig.loop = loop_free(rig.loop);
    close(rig.listen_fd);
    if (rig.up_listen_fd >= 0)
        close(rig.up_listen_fd);
    assert_int_equal(mem_live_blocks(), rig.n_live);
    assert_int_equal(fd_count(), rig.n_fds);
    assert_int_equal(stat_sum(STAT_EXCHANGES_OPEN), 0);
    return 0;
}

/* --- doing --- */

static inline void rig_poll(void)
{
    peer_read(&rig.client);
    peer_read(&rig.up);
}

#define RIG_PUMP(cond) PUMP(rig.loop, rig_poll(), cond)
#define RIG_TURNS(n)   TURNS(rig.loop, rig_poll(), n)

static inline struct tap *rig_tap(void)
{
    assert_true(rig.n_taps > 0);
    return &rig.taps[(rig.n_taps - 1) % RIG_TAPS];
}

static inline bool rig_is_over(void)
{
    return gateway_n_exchanges(rig.gateway) == 0;
}

static inline void rig_client(const char *request)
{
    peer_done(&rig.client);
    if (rig.has_small_buffers)
        peer_connect_small(&rig.client, rig.port);
    else
        peer_connect(&rig.client, rig.port);
    peer_send(&rig.client, request);
}

static inline void rig_accept(void)
{
    peer_done(&rig.up);
    RIG_PUMP(peer_accept(&rig.up, rig.up_listen_fd));
}

/* The request as the upstream got it is in rig.up then. */
static inline void rig_accept_request(void)
{
    rig_accept();
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
}

/* An exchange up to the point where the upstream has the request. */
static inline void rig_start(const char *request)
{
    rig_client(request);
    rig_accept_request();
}

#define RIG_GET      "GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n"
#define RIG_OK(body) "HTTP/1.1 200 OK\r\nContent-Length: " body

/* Leaves an idle upstream connection in the pool, its peer end in rig.up. */
static inline void rig_pool_one(void)
{
    rig_start(RIG_GET);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    peer_forget(&rig.up);
    peer_forget(&rig.client);
}

/* Writes as much as the gateway takes while the client reads nothing; returns how much. */
static inline size_t rig_up_flood(struct span s)
{
    size_t n = 0;

    for (int n_idle = 0; n < s.n && n_idle < 40;) {
        size_t k = peer_write(&rig.up, span_from(s, n));
        n += k;
        n_idle = k > 0 ? 0 : n_idle + 1;
        loop_turn(rig.loop, k > 0 ? 0 : NS_PER_MS / 4);
    }
    return n;
}

/* From now on the kernel holds little of what goes to clients. */
static inline void rig_small_buffers(void)
{
    rig.has_small_buffers = true;
    peer_buffers(rig.listen_fd, 8192, 0);
}

/* Writes the rest of an answer that the client does not read: two reads of the gateway, more than
 * the kernel's small buffers hold. It is told whole, but not over. */
enum { RIG_TAIL_BYTES = 120000 };
static inline void rig_answer_to_tail(struct span rest)
{
    int n = 0;

    PUMP(
        rig.loop,
        {
            span_take(&rest, rest.n > 0 ? peer_write(&rig.up, rest) : 0);
            if (++n > 50) /* it came in more reads than two */
                peer_read_some(&rig.client, 2000);
        },
        tap_had(rig_tap(), 'R'));
    for (int i = 0; i < 10; i++)
        loop_turn(rig.loop, NS_PER_MS);
    assert_int_equal(gateway_n_exchanges(rig.gateway), 1);
}

/* The client reads again. */
static inline void rig_large_buffers(void)
{
    peer_buffers(rig.client.fd, 0, 1 << 20);
}

/* What a peer got, read as one message. */
struct parsed {
    enum message_status end; /* MESSAGE_END, MESSAGE_MORE (not whole) or an error */
    int status;
    enum http1_framing framing;
    char *body; /* free() */
    size_t n_body;
    size_t n_rest; /* bytes behind it */
};

static inline struct parsed rig_parse_as(const struct peer *p, enum message_role role,
                                         bool was_head_method)
{
    struct parsed r = {.end = MESSAGE_MORE};
    struct message_reader m;
    struct span in = peer_got(p);
    struct http1_head head;
    struct span part;

    message_init(&m, role);
    m.request_was_head = was_head_method;
    r.body = malloc(p->n + 1);
    assert_non_null(r.body);
    do {
        r.end = message_next(&m, &in, &head, &part);
        if (r.end == MESSAGE_HEAD) {
            r.status = head.status;
            r.framing = head.framing;
        } else if (r.end == MESSAGE_BODY) {
            memcpy(r.body + r.n_body, part.p, part.n);
            r.n_body += part.n;
        }
    } while (r.end > MESSAGE_MORE && r.end != MESSAGE_END);
    if (r.end == MESSAGE_MORE && p->is_eof && r.framing == HTTP1_BODY_UNTIL_CLOSE)
        r.end = message_eof(&m);
    r.body[r.n_body] = '\0';
    r.n_rest = in.n;
    message_done(&m);
    return r;
}

static inline struct parsed rig_answer(void)
{
    return rig_parse_as(&rig.client, MESSAGE_RESPONSES, false);
}

/* The client got a refusal with this status, and the tap was told the same. */
static inline void rig_assert_refused(const char *name, int status, enum tap_reason reason)
{
    struct parsed a;

    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\n"));
    a = rig_answer();
    if (a.status != status)
        print_error("%s: got %d, want %d\n", name, a.status, status);
    assert_row(name, a.status == status);
    assert_row(name, peer_has(&rig.client, "Content-Type: text/refusal\r\n"));
    assert_row(name, rig_tap()->finish.end == TAP_END_REFUSED);
    assert_row(name, rig_tap()->finish.reason == reason);
    assert_row(name, rig_tap()->finish.status == status);
    free(a.body);
}

#define RIG_CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

#endif
