/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/probe.c - one upstream's probe: a new connection, and over it perhaps a question to the
 * tokenizer.
 *
 * The connection of a question is measured, too, so that one is enough. A form that was not
 * understood is followed by the next at once: it happens once, when the upstream is not known yet.
 */
#include "daemon/probe.h"

#include "base/log.h"

#define ANSWER_WITHIN_NS (10 * NS_PER_S)
enum { ANSWER_MAX = 64 * KIB, BACKOFF_MAX = 6 }; /* 2^6 intervals */

static const struct http_client_ops client_ops;

static void failed(struct probe *p, enum probe_failure why)
{
    metrics_record_probe_failure(p->set, why);
}

static void over(struct probe *p)
{
    p->client = NULL;
    loop_timer_stop(p->loop, &p->late);
}

static void abort_it(struct probe *p)
{
    http_client_abort(p->client);
    over(p);
}

static void begin(struct probe *p)
{
    buf_clear(&p->answer);
    p->status = 0;
    p->t_sent = MONO_NONE;
    if (http_pool_acquire(p->pool, &client_ops, p, true, &p->client) == 0)
        loop_timer_start(p->loop, &p->late, ANSWER_WITHIN_NS);
    else
        failed(p, PROBE_FAILURE_OTHER);
}

/* --- what the tokenizer says --- */

static void tokenizer_failed(struct probe *p, enum probe_failure why)
{
    failed(p, why);
    p->n_failed++;
    p->n_left_out = 0;
}

static void tokenizer_absent(struct probe *p)
{
    LOG_DEBUG("upstream \"%s\" has no tokenizer to ask", p->upstream->name);
    p->tokenizer = PROBE_ABSENT;
}

static void tokenizer_answered(struct probe *p, mono_t at)
{
    if (!p->is_told)
        LOG_INFO("the tokenizer of upstream \"%s\" is asked now and then how long it takes",
                 p->upstream->name);
    p->is_told = true;
    p->tokenizer = PROBE_PRESENT;
    p->n_failed = 0;
    metrics_record_tokenize(p->set, mono_diff(at, p->t_sent));
}

static void judge(struct probe *p, mono_t at)
{
    switch (tokenizer_judge(p->form, p->status, buf_span(&p->answer))) {
    case TOKENIZER_IS:
        tokenizer_answered(p, at);
        break;
    case TOKENIZER_OTHER_FORM:
        p->form = tokenizer_next(p->form, p->model);
        if (p->tokenizer == PROBE_PRESENT) /* another engine than it was */
            probe_forget(p);
        else if (p->form == TOKENIZER_FORM_COUNT_)
            tokenizer_absent(p);
        else
            begin(p);
        break;
    case TOKENIZER_NONE:
        tokenizer_absent(p);
        break;
    case TOKENIZER_LATER:
        tokenizer_failed(p, PROBE_FAILURE_STATUS);
        break;
    }
}

/* --- the exchange --- */

static int render(struct probe *p)
{
    struct http_framing framing = {HTTP1_BODY_LENGTH, 0};
    int r;

    buf_clear(&p->head);
    buf_clear(&p->request);
    r = tokenizer_body(p->form, p->model, &p->request);
    framing.length = buf_len(&p->request);
    if (r == 0)
        r = gateway_upstream_head(p->upstream, SPAN("POST"), tokenizer_target, &p->head);
    if (r == 0)
        r = http_head_field(&p->head, SPAN("User-Agent"), SPAN("inferometer"));
    if (r == 0)
        r = http_head_field(&p->head, SPAN("Content-Type"), SPAN("application/json"));
    if (r == 0)
        r = http_head_field(&p->head, SPAN("Connection"), SPAN("close"));
    if (r == 0 && p->key.name.n > 0)
        r = http_head_field(&p->head, p->key.name, p->key.value);
    return r < 0 ? r : http_head_end(&p->head, framing);
}

static void on_ready(struct http_client *c)
{
    struct probe *p = c->user;
    struct span body;

    metrics_record_probe_connect(p->set, c->dns_ns, c->tcp_ns, c->tls_ns);
    if (!p->is_asking) {
        abort_it(p);
        return;
    }
    if (render(p) < 0) {
        abort_it(p);
        failed(p, PROBE_FAILURE_OTHER);
        return;
    }
    body = buf_span(&p->request);
    if (http_client_send(c, buf_span(&p->head), (struct http_framing){HTTP1_BODY_LENGTH, body.n},
                         &body, 1, true, false, &p->t_sent) < 0)
        return; /* a connection that broke tells so itself */
}

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct probe *p = c->user;

    (void)at;
    p->status = head->status;
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct probe *p = c->user;

    (void)at;
    if (buf_append(&p->answer, bytes) == 0)
        return;
    abort_it(p);
    tokenizer_failed(p, PROBE_FAILURE_OTHER);
}

static void on_end(struct http_client *c, struct stamp at)
{
    struct probe *p = c->user;

    over(p); /* the connection goes back to its pool, or is closed */
    judge(p, at.at);
}

static const enum probe_failure failures[] = {
    [HTTP_PHASE_DNS] = PROBE_FAILURE_DNS,        [HTTP_PHASE_CONNECT] = PROBE_FAILURE_CONNECT,
    [HTTP_PHASE_PROXY] = PROBE_FAILURE_CONNECT,  [HTTP_PHASE_TLS] = PROBE_FAILURE_TLS,
    [HTTP_PHASE_EXCHANGE] = PROBE_FAILURE_OTHER,
};

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    struct probe *p = c->user;

    (void)error;
    (void)had_bytes;
    (void)at;
    over(p);
    if (phase == HTTP_PHASE_EXCHANGE) {
        tokenizer_failed(p, failures[phase]);
        return;
    }
    failed(p, failures[phase]);
    probe_forget(p); /* what comes back may be another one */
}

static const struct http_client_ops client_ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_failed = on_failed,
};

static void on_late(struct timer *t)
{
    struct probe *p = CONTAINER_OF(t, struct probe, late);
    bool was_asked = p->is_asking && mono_is_set(p->t_sent);

    if (!p->client)
        return;
    abort_it(p);
    if (was_asked)
        tokenizer_failed(p, PROBE_FAILURE_TIMEOUT);
    else
        failed(p, PROBE_FAILURE_TIMEOUT);
}

/* --- life --- */

void probe_init(struct probe *p)
{
    timer_init(&p->late, on_late);
    buf_init(&p->head, 64 * KIB);
    buf_init(&p->request, 4 * KIB);
    buf_init(&p->answer, ANSWER_MAX);
    probe_forget(p);
}

void probe_done(struct probe *p)
{
    buf_done(&p->head);
    buf_done(&p->request);
    buf_done(&p->answer);
}

void probe_forget(struct probe *p)
{
    p->tokenizer = PROBE_UNKNOWN;
    p->form = tokenizer_first();
    p->n_failed = p->n_left_out = 0;
}

static bool is_tokenizers_turn(struct probe *p)
{
    uint32_t doublings = p->n_failed < BACKOFF_MAX ? p->n_failed : BACKOFF_MAX;

    if (p->tokenizer == PROBE_ABSENT)
        return false;
    /* One that answered before is looked at all the same: that it fails is news. */
    if (p->tokenizer == PROBE_PRESENT)
        return true;
    return p->n_left_out++ >= (1u << doublings) - 1;
}

void probe_begin(struct probe *p, bool is_idle)
{
    if (p->client)
        return;
    p->is_asking = is_tokenizers_turn(p);
    if (p->is_asking || is_idle)
        begin(p);
}

void probe_stop(struct probe *p)
{
    if (p->client)
        abort_it(p);
}
