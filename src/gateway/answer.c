/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/answer.c - the way back. Everything one read of the upstream brought goes to the client
 * in one write, at once; only then is the watcher told, so that watching cannot delay bytes.
 */
#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/stat.h"
#include "gateway/exchange.h"

enum { FILTERED_MAX = 12 };

/* The framing of the answer as it came; a filter may shorten it, so its length is unknown then. */
static struct http_framing answer_framing(const struct exchange *x, const struct http1_head *head)
{
    if (x->has_filter)
        return (struct http_framing){HTTP1_BODY_UNTIL_CLOSE, 0};
    if (head->framing == HTTP1_BODY_NONE && head->has_length) /* HEAD: the announced length */
        return (struct http_framing){HTTP1_BODY_LENGTH, head->content_length};
    return (struct http_framing){head->framing, head->content_length};
}

void answer_head(struct exchange *x, const struct http1_head *head, struct stamp at)
{
    struct gateway *g = x->g;

    x->read_at = at;
    x->has_filter = x->plan.exchange && !x->is_plain &&
                    g->d.policy_ops->wants_filter(g->d.policy, x->plan.exchange, head);
    x->framing = answer_framing(x, head);
    if (headers_to_client(x, head, &g->fields) < 0) {
        answer_refuse(x, TAP_REASON_BAD_RESPONSE, "the upstream's answer head is too large");
        return;
    }
    g->n_parts = 0;
    g->answer_status = head->status;
    span_copy(head->reason, g->answer_reason, sizeof(g->answer_reason));
    x->is_head_pending = true;
}

/* The client's connection broke while we were writing. */
static void client_broke(struct exchange *x)
{
    exchange_end(x, TAP_END_CLIENT_GONE, TAP_REASON_NONE);
}

/* Sends parts, together with the head when that is still due. */
static int client_write(struct exchange *x, const struct span *parts, int n, bool is_last)
{
    struct gateway *g = x->g;

    if (!x->is_head_pending) {
        size_t bytes = 0;
        for (int i = 0; i < n; i++)
            bytes += parts[i].n;
        return bytes == 0 && !is_last ? 0 : http_server_body(x->client, parts, n, is_last);
    }
    x->is_head_pending = false;
    x->status = g->answer_status;
    return http_server_head(x->client, g->answer_status, span_cstr(g->answer_reason),
                            buf_span(&g->fields), x->framing, parts, n, is_last);
}

/* Passes the parts of this read through the filter; several writes if it hands out many pieces. */
static int client_write_filtered(struct exchange *x, enum answer_more more)
{
    struct gateway *g = x->g;
    struct span out[FILTERED_MAX];
    size_t n = 0;
    int r = 0;

    for (int i = 0; r == 0 && i < g->n_parts; i++) {
        struct span in = g->parts[i];
        while (r == 0 && in.n > 0) {
            n = g->d.policy_ops->filter(g->d.policy, x->plan.exchange, &in, false, out,
                                        FILTERED_MAX);
            r = client_write(x, out, (int)n, false);
        }
    }
    if (r == 0 && more != ANSWER_GOES_ON) { /* what was held back goes out, too */
        struct span none = {0};
        n = g->d.policy_ops->filter(g->d.policy, x->plan.exchange, &none, true, out, FILTERED_MAX);
        r = client_write(x, out, (int)n, more == ANSWER_IS_WHOLE);
    } else if (r == 0) {
        r = client_write(x, NULL, 0, false); /* a head with nothing behind it yet */
    }
    return r;
}

static void watcher_tell(struct exchange *x, mono_t forwarded)
{
    struct gateway *g = x->g;

    if (x->tap) {
        for (int i = 0; i < g->n_parts; i++)
            g->d.tap_ops->response_body(x->tap, g->parts[i], x->read_at);
        if (g->n_parts > 0)
            g->d.tap_ops->forwarded(x->tap, forwarded);
    }
}

/* Too much waits for the client: stop reading from the upstream until it has caught up. */
static void block_if_full(struct exchange *x)
{
    if (!x->upstream || !http_server_is_full(x->client) || mono_is_set(x->blocked_since))
        return;
    http_client_pause(x->upstream);
    x->blocked_since = clock_mono();
    x->blocked_queued = http_server_queued_bytes(x->client);
    if (x->tap)
        x->g->d.tap_ops->paused(x->tap, x->blocked_since);
    deadline_begin(x, x->config->client_write_timeout_ns);
    stat_inc(STAT_READS_PAUSED);
}

void answer_unblock(struct exchange *x)
{
    mono_t now;

    if (!mono_is_set(x->blocked_since))
        return;
    now = clock_mono();
    x->blocked_ns += mono_diff(now, x->blocked_since);
    x->blocked_since = MONO_NONE;
    x->blocked_queued = 0;
    if (x->tap)
        x->g->d.tap_ops->resumed(x->tap, now);
    if (!x->upstream)
        return;
    deadline_begin(x, x->config->idle_timeout_ns);
    http_client_resume(x->upstream);
}

void answer_flush(struct exchange *x, enum answer_more more)
{
    struct gateway *g = x->g;
    mono_t forwarded;
    int r;

    if (x->is_ended || x->state < EXCHANGE_STREAM)
        return;
    if (x->has_filter)
        r = client_write_filtered(x, more);
    else
        r = client_write(x, g->parts, g->n_parts, more == ANSWER_IS_WHOLE);
    forwarded = clock_mono();
    watcher_tell(x, forwarded);
    g->n_parts = 0;
    if (r < 0)
        client_broke(x);
    else if (more == ANSWER_GOES_ON)
        block_if_full(x);
}

void answer_part(struct exchange *x, struct span bytes, struct stamp at)
{
    struct gateway *g = x->g;

    if (x->is_ended)
        return;
    x->read_at = at;
    x->response_bytes += bytes.n;
    if (g->n_parts == HTTP_PARTS_MAX)
        answer_flush(x, ANSWER_GOES_ON);
    if (!x->is_ended)
        g->parts[g->n_parts++] = bytes;
}

/* An answer of the gateway's own, whole. more: fields of its own, each with its line end. */
static void answer_own(struct exchange *x, int status, const char *type, const char *more,
                       struct span body)
{
    char fields[240];
    int n = snprintf(fields, sizeof(fields), "Content-Type: %s\r\nX-Request-Id: %s\r\n%s", type,
                     x->id, more);

    x->status = status;
    if (x->client &&
        http_server_head(x->client, status, (struct span){0}, span_of(fields, (size_t)n),
                         (struct http_framing){HTTP1_BODY_LENGTH, body.n}, &body, 1, true) < 0)
        x->status = 0; /* nobody is there to read it */
}

void answer_local(struct exchange *x)
{
    struct gateway *g = x->g;
    struct buf body;
    int r;

    buf_init(&body, LIMIT_ANSWER_LOCAL_BYTES);
    r = g->d.policy_ops->answer_body(g->d.policy, x->plan.exchange, &body);
    if (r < 0) {
        buf_done(&body);
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    answer_own(x, 200, "application/json", "", buf_span(&body));
    x->state = EXCHANGE_TAIL;
    buf_done(&body);
    deadline_begin(x, x->config->client_write_timeout_ns);
    if (x->client && http_server_queued_bytes(x->client) == 0)
        exchange_end(x, TAP_END_COMPLETE, TAP_REASON_NONE);
}

/* When a request may come back that admission or its key's limits turned away; 0: it was something
 * else. */
static uint32_t retry_after_of(const struct exchange *x, enum tap_reason reason)
{
    if (reason != TAP_REASON_REJECTED && reason != TAP_REASON_REJECTED_TIMEOUT)
        return 0;
    if (x->plan.retry_after_s > 0)
        return x->plan.retry_after_s;
    return x->ticket.retry_after_s > 0 ? x->ticket.retry_after_s : 1;
}

/* Fields that tell a client's library what to do about a refusal. dst: terminated. */
static void refusal_fields(const struct exchange *x, enum tap_reason reason, int status, char *dst,
                           size_t cap)
{
    uint32_t retry_after_s = retry_after_of(x, reason);

    dst[0] = '\0';
    if (status == 401)
        (void)snprintf(dst, cap, "WWW-Authenticate: Bearer\r\n");
    else if (retry_after_s > 0)
        (void)snprintf(dst, cap, "Retry-After: %u\r\n", retry_after_s);
}

void answer_refuse(struct exchange *x, enum tap_reason reason, const char *text)
{
    struct gateway *g = x->g;
    const char *type = "application/json";
    char more[64];
    struct buf body;
    int status = 500;

    if (x->is_ended)
        return;
    if (x->status != 0) { /* an answer is under way already: it can only be cut */
        exchange_end(x, TAP_END_INTERNAL, reason);
        return;
    }
    if (x->upstream) { /* it must not answer into what follows */
        http_client_abort(x->upstream);
        x->upstream = NULL;
    }
    x->is_head_pending = false;
    g->n_parts = 0;
    buf_init(&body, 8 * KIB);
    if (g->d.policy_ops->refusal_body(g->d.policy, x->plan.exchange, x->head, reason, text, &status,
                                      &type, &body) < 0)
        buf_clear(&body);
    refusal_fields(x, reason, status, more, sizeof(more));
    answer_own(x, status, type, more, buf_span(&body));
    buf_done(&body);
    exchange_end(x, TAP_END_REFUSED, reason);
}
