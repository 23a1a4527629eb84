/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/flight.c - the answer is read like this: head, then for streams event by event through the
 * dialect into timing, for others whole. The dialect's end mark ends the measurement; the
 * connection is waited for a moment longer, so that it can be used again.
 */
#include "load/flight.h"

#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "wire/sse.h"

/* After the end mark of a stream: for the end of the body. */
#define TAIL_NS (1 * NS_PER_S)

struct flight {
    struct flight_plan *plan;
    struct list link;
    struct http_client *client;
    struct prompt_ask ask;
    struct timer timer;
    struct sse_parser sse;
    struct dialect_answer answer;
    struct timing timing;
    struct buf body; /* of an answer that is no stream */
    struct load_result result;
    mono_t t_intended, t_end;
    bool is_sse;       /* the answer is an event stream */
    bool is_coded;     /* gzip or the like, which was not asked for: it cannot be read */
    bool is_ended;     /* the dialect's end mark came: outcome and t_end are final */
    bool is_too_large; /* the body was not kept whole */
    bool has_lost_event;
};

/* --- end --- */

static void flight_free(struct flight *f)
{
    list_remove(&f->link);
    loop_timer_stop(f->plan->loop, &f->timer);
    sse_done(&f->sse);
    buf_done(&f->body);
    mem_free(f);
}

static enum outcome outcome_of_answer(const struct flight *f)
{
    const struct dialect *d = f->plan->dialect;

    if (f->result.status >= 400)
        return OUTCOME_HTTP_ERROR;
    if (f->result.status < 200 || f->result.status >= 300 || f->is_coded || f->has_lost_event)
        return OUTCOME_BAD_RESPONSE;
    if (f->answer.has_error)
        return OUTCOME_STREAM_ERROR;
    if (f->is_sse)
        return d->is_ended(&f->answer) ? OUTCOME_OK : OUTCOME_TRUNCATED;
    return f->ask.is_stream || f->answer.n_bad_json > 0 ? OUTCOME_BAD_RESPONSE : OUTCOME_OK;
}

static void result_tokens(struct flight *f, struct load_result *r)
{
    bool is_anomalous;
    struct dialect_tokens t = dialect_normalise(f->plan->dialect, &f->answer.usage, &is_anomalous);
    struct timing_tokens known = {.completion = t.completion, .reasoning = t.reasoning};

    r->has_usage = t.completion >= 0;
    r->prompt_tokens = t.prompt >= 0 ? t.prompt : f->ask.prompt_tokens;
    r->completion_tokens = t.completion;
    if (t.completion < 0 && f->is_sse)
        r->completion_tokens = f->timing.n_output_events;
    if (f->is_sse) {
        timing_summarise(&f->timing, known, &r->summary);
        r->timing = &f->timing;
    } else {
        timing_summary_init(&r->summary, TPOT_NOT_STREAM);
    }
}

static void flight_on_done(struct flight *f)
{
    struct flight_plan *p = f->plan;
    struct load_result *r = &f->result;

    r->is_stream = f->ask.is_stream;
    r->ttft_ns = mono_is_set(f->timing.t_first_token)
                     ? mono_diff(f->timing.t_first_token, f->t_intended)
                     : -1;
    r->e2e_ns = r->outcome == OUTCOME_OK ? mono_diff(f->t_end, f->t_intended) : -1;
    r->t_end = f->t_end;
    result_tokens(f, r);
    p->on_done(p->ctx, r);
    flight_free(f);
}

static void flight_fail(struct flight *f, enum outcome outcome, mono_t at)
{
    if (!f->is_ended) {
        f->result.outcome = outcome;
        f->t_end = at;
    }
    flight_on_done(f);
}

static void flight_on_timer(struct timer *t)
{
    struct flight *f = CONTAINER_OF(t, struct flight, timer);

    http_client_abort(f->client);
    flight_fail(f, OUTCOME_TIMEOUT, clock_mono());
}

size_t flight_abort_all(struct flight_plan *p)
{
    size_t n = 0;

    while (!list_is_empty(&p->flights)) {
        struct flight *f = CONTAINER_OF(p->flights.next, struct flight, link);

        http_client_abort(f->client);
        flight_free(f);
        n++;
    }
    return n;
}

/* --- the answer --- */

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct flight *f = c->user;
    struct span type = http1_field_value(head, SPAN("Content-Type"));
    struct span coding = http1_field_value(head, SPAN("Content-Encoding"));
    static const struct span sse = SPAN_INIT("text/event-stream");

    (void)at;
    if (head->status < 200)
        return;
    f->result.status = head->status;
    f->is_coded = coding.n > 0 && !span_eq_nocase(coding, SPAN("identity"));
    f->is_sse =
        head->status < 300 && type.n >= sse.n && span_eq_nocase(span_of(type.p, sse.n), sse);
}

static void flight_end_mark(struct flight *f, struct stamp at)
{
    if (f->is_ended)
        return;
    f->t_end = at.at;
    f->result.outcome = outcome_of_answer(f);
    f->is_ended = true;
    loop_timer_start(f->plan->loop, &f->timer, TAIL_NS);
}

static void flight_event(struct flight *f, const struct event *e, struct stamp at)
{
    struct flight_plan *p = f->plan;
    struct token_event event;
    struct timing_step step;

    p->dialect->event(&f->answer, e->name, e->data, &event);
    step = timing_event(&f->timing, at.at, event.kinds, false);
    if (step.is_first_token)
        p->on_first_token(p->ctx, mono_diff(at.at, f->t_intended));
    if (step.gap_ns >= 0)
        p->on_gap(p->ctx, step.gap_ns);
    if (event.is_end)
        flight_end_mark(f, at);
}

static void flight_events(struct flight *f, struct span bytes, struct stamp at)
{
    struct event e;
    enum event_status status;

    while ((status = sse_next(&f->sse, &bytes, &e)) > 0) {
        if (status == EVENT_WHOLE)
            flight_event(f, &e, at);
        else
            f->has_lost_event = true;
    }
    if (status < 0)
        f->has_lost_event = true;
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct flight *f = c->user;

    f->plan->n_stamps++;
    if (at.is_kernel)
        f->plan->n_kernel_stamps++;
    if (f->is_sse)
        flight_events(f, bytes, at);
    else if (buf_append(&f->body, bytes) < 0)
        f->is_too_large = true;
}

static void on_end(struct http_client *c, struct stamp at)
{
    struct flight *f = c->user;
    struct event e;

    if (f->is_sse && sse_finish(&f->sse, &e) == EVENT_WHOLE)
        flight_event(f, &e, at);
    if (!f->is_sse && !f->is_too_large && !f->is_coded)
        f->plan->dialect->answer(&f->answer, buf_span(&f->body));
    if (!f->is_ended) {
        f->result.outcome = outcome_of_answer(f);
        f->t_end = at.at;
    }
    flight_on_done(f);
}

/* --- the request --- */

static const struct http_client_ops client_ops;

/* A kept-alive connection was stale: once more, on a fresh one. */
static bool flight_retry(struct flight *f)
{
    if (f->result.is_retried)
        return false;
    f->result.is_retried = true;
    return http_pool_acquire(f->plan->pool, &client_ops, f, true, &f->client) == 0;
}

static void on_ready(struct http_client *c)
{
    struct flight *f = c->user;
    struct flight_plan *p = f->plan;
    struct span parts[PROMPT_PARTS];
    struct http_framing framing = {HTTP1_BODY_LENGTH, 0};
    int r;

    prompt_body(&p->prompt, &f->ask, parts);
    for (int i = 0; i < PROMPT_PARTS; i++)
        framing.length += parts[i].n;
    buf_clear(&p->head);
    r = http_head_request(&p->head, SPAN("POST"), (struct span){0}, p->target);
    if (r == 0)
        r = buf_append(&p->head, p->fields);
    if (r == 0)
        r = buf_printf(&p->head, "X-Request-Id: %s-%llu\r\n", p->id_prefix,
                       (unsigned long long)f->ask.number);
    if (r == 0)
        r = http_head_end(&p->head, framing);
    if (r == 0)
        r = http_client_send(c, buf_span(&p->head), framing, parts, PROMPT_PARTS, true, false,
                             NULL);
    if (r < 0) {
        bool may_retry = c->is_reused && r != -ENOMEM;

        http_client_abort(c);
        if (!may_retry || !flight_retry(f))
            flight_fail(f, r == -ENOMEM ? OUTCOME_INTERNAL : OUTCOME_UPSTREAM_CUT, clock_mono());
    }
}

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    struct flight *f = c->user;

    if (phase == HTTP_PHASE_EXCHANGE && c->is_reused && !had_bytes && error != -EPROTO &&
        flight_retry(f))
        return;
    flight_fail(f,
                phase != HTTP_PHASE_EXCHANGE ? OUTCOME_CONNECT_FAILED
                : error == -EPROTO           ? OUTCOME_BAD_RESPONSE
                                             : OUTCOME_UPSTREAM_CUT,
                at.at);
}

static const struct http_client_ops client_ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_failed = on_failed,
};

int flight_start(struct flight_plan *p, const struct prompt_ask *ask, mono_t t_intended)
{
    struct flight *f = mem_zalloc(1, sizeof(*f));
    int r;

    if (!f)
        return -ENOMEM;
    f->plan = p;
    f->ask = *ask;
    f->t_intended = t_intended;
    list_init(&f->link);
    timer_init(&f->timer, flight_on_timer);
    sse_init(&f->sse, LIMIT_EVENT_BYTES);
    dialect_answer_init(&f->answer);
    timing_init(&f->timing);
    buf_init(&f->body, LIMIT_ANSWER_BYTES);
    f->result.lag_ns = mono_diff(clock_mono(), t_intended);
    r = http_pool_acquire(p->pool, &client_ops, f, false, &f->client);
    if (r < 0) {
        flight_free(f);
        return r;
    }
    list_push_back(&p->flights, &f->link);
    loop_timer_start(p->loop, &f->timer, p->timeout_ns);
    return 0;
}
