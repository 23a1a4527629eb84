/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/request.c - sends the request to the upstream: head and held body in one call, then what
 * the client still brings of a body that is too large to be held.
 */
#include <errno.h>

#include "base/mem.h"
#include "gateway/exchange.h"

/* The held body with the plan's edits spliced in. Returns the parts; *ret_bytes: their sum. */
static int request_parts(const struct exchange *x, struct span *parts, uint64_t *ret_bytes)
{
    struct span rest = buf_span(&x->window);
    size_t done = 0;
    int n = 0;

    for (size_t i = 0; i < x->aim.n_edits; i++) {
        const struct policy_edit *e = &x->aim.edits[i];
        parts[n++] = span_take(&rest, e->at - done);
        parts[n++] = e->insert;
        span_take(&rest, e->remove);
        done = e->at + e->remove;
    }
    parts[n++] = rest;
    *ret_bytes = 0;
    for (int i = 0; i < n; i++)
        *ret_bytes += parts[i].n;
    return n;
}

/* A request without a body stays one; else the length is known (whole body held, or announced by
 * the client), or the body is chunked as the client's is. */
static struct http_framing request_framing(const struct exchange *x, uint64_t held_bytes)
{
    if (x->head->framing == HTTP1_BODY_NONE)
        return (struct http_framing){HTTP1_BODY_NONE, 0};
    if (!x->is_window_exceeded)
        return (struct http_framing){HTTP1_BODY_LENGTH, held_bytes};
    if (x->head->framing == HTTP1_BODY_LENGTH) /* with what the edits added to the held part */
        return (struct http_framing){HTTP1_BODY_LENGTH,
                                     x->head->content_length - buf_len(&x->window) + held_bytes};
    return (struct http_framing){HTTP1_BODY_CHUNKED, 0};
}

/* Its last byte is out. */
static void request_is_sent(struct exchange *x, mono_t at)
{
    if (x->is_sent_told)
        return;
    x->is_sent_told = true;
    if (x->tap)
        x->g->d.tap_ops->sent(x->tap, at);
    if (x->state == EXCHANGE_SEND) {
        x->state = EXCHANGE_WAIT;
        deadline_begin(x, x->config->first_byte_timeout_ns);
    }
}

bool request_is_own_failure(int error)
{
    return error == -ENOMEM || error == -EMSGSIZE || error == -EPROTO;
}

void request_send(struct exchange *x)
{
    struct span parts[2 * POLICY_EDITS_MAX + 1];
    uint64_t bytes;
    int n = request_parts(x, parts, &bytes);
    struct http_framing framing = request_framing(x, bytes);
    bool is_last = x->is_request_done;
    mono_t before = MONO_NONE;
    int r = headers_to_upstream(x, exchange_upstream(x), framing, &x->g->request_head);

    if (r == 0) {
        x->state = EXCHANGE_SEND;
        deadline_begin(x, x->config->first_byte_timeout_ns);
        r = http_client_send(x->upstream, buf_span(&x->g->request_head), framing, parts, n, is_last,
                             span_eq(x->head->method, SPAN("HEAD")), &before);
    }
    if (r < 0 && request_is_own_failure(r)) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (r < 0) {
        x->state = EXCHANGE_CONNECT; /* nothing is out: it may be repeated */
        return;
    }
    if (x->is_window_exceeded) {
        buf_done(&x->window);
        if (!http_client_is_full(x->upstream))
            http_server_resume(x->client);
    }
    if (is_last && http_client_queued_bytes(x->upstream) == 0)
        request_is_sent(x, before);
}

void request_body(struct exchange *x, struct span bytes, bool is_last)
{
    mono_t before = MONO_NONE;
    int r = http_client_body(x->upstream, &bytes, 1, is_last, &before);

    if (r < 0 && request_is_own_failure(r)) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (r < 0) {
        x->is_request_dropped = true;
        return;
    }
    if (x->state == EXCHANGE_SEND) /* the wait for the answer begins behind the last byte */
        deadline_extend(x, x->config->first_byte_timeout_ns);
    if (http_client_is_full(x->upstream))
        http_server_pause(x->client);
    if (is_last && http_client_queued_bytes(x->upstream) == 0)
        request_is_sent(x, before);
}

void request_drained(struct exchange *x)
{
    if (x->is_request_done && http_client_queued_bytes(x->upstream) == 0 &&
        !http_client_is_broken(x->upstream))
        request_is_sent(x, clock_mono());
    else if (x->client && !http_client_is_full(x->upstream))
        http_server_resume(x->client);
}

bool request_is_unwanted(const struct exchange *x)
{
    return x->is_request_dropped || (x->state >= EXCHANGE_SEND && !x->upstream);
}

void request_forget(struct exchange *x)
{
    mem_free(x->head);
    x->head = NULL;
    buf_done(&x->window);
}
