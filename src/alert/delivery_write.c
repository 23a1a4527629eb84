/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/delivery_write.c - what could not be delivered, and how each receiver is doing, as JSON.
 */
#include "alert/delivery_private.h"
#include "alert/prose.h"

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    struct buf b;
    buf_init(&b, 64);
    jsonw_key(w, key);
    if (ms > 0 && prose_rfc3339(ms, &b) == 0)
        jsonw_str(w, buf_span(&b));
    else
        jsonw_null(w);
    buf_done(&b);
}

static void write_text(struct jsonw *w, const char *key, struct span text)
{
    if (text.n == 0)
        return;
    jsonw_put_str(w, key, text);
}

static void write_name(struct jsonw *w, struct span receiver, const char *kind, int index)
{
    jsonw_put_str(w, "receiver", receiver);
    jsonw_put_cstr(w, "kind", kind);
    jsonw_put_i64(w, "integration", index);
}

static int write_held(void *ctx, const struct delivery_held *h)
{
    struct jsonw *w = ctx;
    jsonw_begin_object(w);
    write_name(w, h->receiver, h->kind, h->integration);
    write_text(w, "to", h->shown);
    jsonw_put_str(w, "groupKey", h->group_key);
    jsonw_put_u64(w, "failedAttempts", h->n_attempts);
    jsonw_put_bool(w, "givenUp", h->is_given_up);
    write_time(w, "firstAttemptAt", h->first_ms);
    write_time(w, "lastAttemptAt", h->last_ms);
    write_time(w, "nextAttemptAt", h->next_ms);
    write_text(w, "error", h->why);
    write_text(w, "hint", h->hint);
    jsonw_end_object(w);
    return 0;
}

static size_t n_waiting(const struct integration *to)
{
    size_t n = 0;
    for (const struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node))
        n += h->state != HELD_SENDING;
    return n;
}

static void write_integration(const struct integration *to, struct jsonw *w)
{
    jsonw_begin_object(w);
    write_name(w, to->receiver, to->kind, to->index);
    jsonw_put_u64(w, "delivered", to->n_delivered);
    jsonw_put_u64(w, "failedAttempts", to->n_failed);
    jsonw_put_u64(w, "givenUp", to->n_given_up);
    jsonw_put_u64(w, "waiting", n_waiting(to));
    jsonw_put_bool(w, "sending", to->attempt != NULL);
    write_time(w, "lastDeliveredAt", to->last_ok_ms);
    if (to->last_ok_ms > 0) {
        jsonw_put_i64(w, "lastDeliveryTookMs", to->last_ok_took_ms);
        jsonw_put_u64(w, "lastDeliveryAlerts", to->last_ok_alerts);
    }
    write_time(w, "lastFailedAt", to->last_failed_ms);
    write_text(w, to->is_last_ok ? "warning" : "error", span_cstr(to->last_why.text));
    write_text(w, "hint", span_cstr(to->last_why.hint));
    jsonw_end_object(w);
}

void delivery_write(const struct delivery *y, struct moment now, struct jsonw *w)
{
    jsonw_key(w, "waiting");
    jsonw_begin_array(w);
    jsonw_fail(w, delivery_each_held(y, now, write_held, w));
    jsonw_end_array(w);
    jsonw_key(w, "receivers");
    jsonw_begin_array(w);
    for (const struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node))
        write_integration(to, w);
    jsonw_end_array(w);
}
