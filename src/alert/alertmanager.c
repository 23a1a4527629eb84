/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/alertmanager.h"

#include <errno.h>

#include "alert/alertmanager_private.h"
#include "alert/fingerprint.h"
#include "alert/receiver_http.h"
#include "alert/redact.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

enum { ALERT_BYTES_MAX = 1 << 20, BODY_BYTES_MAX = 8 << 20 };

/* --- what waits --- */

static void write_labels(struct jsonw *w, const char *key, struct labels l, struct labels more)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    for (size_t i = 0; i < l.n; i++) {
        jsonw_key_str(w, l.at[i].name);
        jsonw_str(w, l.at[i].value);
    }
    for (size_t i = 0; i < more.n; i++) {
        if (labels_get(l, more.at[i].name).n > 0)
            continue;
        jsonw_key_str(w, more.at[i].name);
        jsonw_str(w, more.at[i].value);
    }
    jsonw_end_object(w);
}

static int write_time(struct jsonw *w, const char *key, int64_t ms)
{
    struct buf b;
    buf_init(&b, 64);
    int r = prose_rfc3339(ms, &b);
    jsonw_put_str(w, key, buf_span(&b));
    buf_done(&b);
    return r;
}

static int write_alert(const struct alertmanagers *m, const struct alert_notice *n,
                       struct labels annotations, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    write_labels(&w, "labels", n->labels, m->external);
    labels_write(annotations, "annotations", &w);
    int r = write_time(&w, "startsAt", n->starts_ms);
    if (r == 0)
        r = write_time(&w, "endsAt", n->ends_ms);
    jsonw_put_str(&w, "generatorURL", n->generator_url);
    jsonw_end_object(&w);
    return r < 0 ? r : jsonw_error(&w);
}

static struct waiting *find_waiting(const struct alertmanager *a, uint64_t fingerprint)
{
    struct alert_map_node *n = alert_map_first(&a->by_alert, fingerprint);
    return n ? ALERT_MAP_ENTRY(n, struct waiting, by_alert) : NULL;
}

static void count_dropped(struct alertmanager *a)
{
    a->n_dropped++;
    stat_inc(STAT_ALERTMANAGER_DROPPED);
}

static void drop(struct alertmanager *a, struct waiting *w)
{
    alertmanagers_forget(a, w);
    count_dropped(a);
}

static int put_one(struct alertmanager *a, uint64_t fingerprint, struct span json)
{
    char *copy = mem_strndup(json.p, json.n);
    struct waiting *w = copy ? find_waiting(a, fingerprint) : NULL;
    if (!copy)
        return -ENOMEM;
    if (!w) {
        w = mem_zalloc(1, sizeof(*w));
        if (!w) {
            mem_free(copy);
            return -ENOMEM;
        }
        list_push_back(&a->line, &w->node);
        alert_map_add(&a->by_alert, &w->by_alert, fingerprint);
    }
    mem_free(w->json);
    w->json = copy;
    w->n = json.n;
    w->is_sent = false; /* this one was not */
    if (a->by_alert.n > ALERTMANAGER_WAITING_MAX)
        drop(a, CONTAINER_OF(a->line.next, struct waiting, node));
    return 0;
}

int alertmanagers_put(struct alertmanagers *m, const struct alert_notice *n,
                      struct labels annotations)
{
    uint64_t fingerprint = alert_fingerprint(n->labels);
    struct buf json;
    if (m->n == 0)
        return 0;
    buf_init(&json, ALERT_BYTES_MAX);
    int r = write_alert(m, n, annotations, &json);
    for (size_t i = 0; i < m->n && r == 0; i++)
        r = put_one(m->at[i], fingerprint, buf_span(&json));
    buf_done(&json);
    if (r != -EMSGSIZE)
        return r;
    for (size_t i = 0; i < m->n; i++)
        count_dropped(m->at[i]);
    return 0; /* it will never fit, and must not hold up the others */
}

/* --- requests --- */

static int make_body(struct alertmanager *a, struct buf *out)
{
    size_t n = 0;
    int r = buf_append(out, SPAN("["));
    for (struct list *i = a->line.next; i != &a->line && n < ALERTMANAGER_BATCH; i = i->next) {
        struct waiting *w = CONTAINER_OF(i, struct waiting, node);
        if (n > 0 && buf_len(out) + w->n + 2 > BODY_BYTES_MAX)
            break;
        if (r == 0 && n++ > 0)
            r = buf_append(out, SPAN(","));
        if (r == 0)
            r = buf_append(out, span_of(w->json, w->n));
        w->is_sent = r == 0;
    }
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

static int send(struct alertmanagers *m, struct alertmanager *a)
{
    struct buf body;
    buf_init(&body, BODY_BYTES_MAX + ALERT_BYTES_MAX);
    int r = make_body(a, &body);
    arena_reset(&a->arena);
    a->request = (struct receiver_request){.kind = REQUEST_HTTP,
                                           .url = span_cstr(a->url),
                                           .content_type = SPAN_INIT("application/json"),
                                           .body = arena_dup(&a->arena, buf_span(&body))};
    buf_done(&body);
    if (r == 0)
        r = a->request.body.p ? transport_start(m->transport, &a->request, m->done, m->ctx, a)
                              : -ENOMEM;
    return r;
}

/* Those of the request: gone when they were taken or refused, else to be sent again. */
static void settle(struct alertmanager *a, enum verdict verdict)
{
    for (struct list *i = a->line.next, *next; i != &a->line; i = next) {
        struct waiting *w = CONTAINER_OF(i, struct waiting, node);
        next = i->next;
        if (!w->is_sent)
            continue;
        w->is_sent = false;
        if (verdict == VERDICT_NEVER)
            drop(a, w);
        else if (verdict == VERDICT_DELIVERED)
            alertmanagers_forget(a, w);
        a->n_taken += verdict == VERDICT_DELIVERED;
        stat_add(STAT_ALERTMANAGER_TAKEN, verdict == VERDICT_DELIVERED);
    }
}

static void hold(struct alertmanagers *m, struct alertmanager *a, int64_t asked_ms,
                 struct moment now)
{
    int64_t wait = DELIVERY_FIRST_WAIT_MS << (a->n_fails < 6 ? a->n_fails : 6); /* 64 s */
    if (asked_ms >= 0)
        wait = asked_ms < DELIVERY_ASKED_WAIT_MAX_MS ? asked_ms : DELIVERY_ASKED_WAIT_MAX_MS;
    a->not_before_ms = now.mono_ms + (int64_t)((double)wait * (0.8 + 0.4 * rng_unit(&m->rng)));
    if (a->n_fails++ == 0)
        LOG_WARN("could not send alerts to Alertmanager \"%s\": %s; trying again", a->shown,
                 a->why.text);
    a->n_failed++;
    a->last_failed_ms = now.wall_ms;
    stat_inc(STAT_ALERTMANAGER_FAILED);
}

void alertmanagers_run(struct alertmanagers *m, struct moment now)
{
    for (size_t i = 0; i < m->n; i++) {
        struct alertmanager *a = m->at[i];
        if (a->is_sending || list_is_empty(&a->line) || a->not_before_ms > now.mono_ms)
            continue;
        int r = send(m, a);
        a->is_sending = r == 0;
        if (r == 0)
            continue;
        settle(a, VERDICT_LATER);
        err_set(&a->why, r, "%s", err_str(r));
        hold(m, a, -1, now);
    }
}

static void finish_gone(struct alertmanagers *m, struct alertmanager *a)
{
    for (size_t i = 0; i < m->n_gone; i++)
        if (m->gone[i] == a)
            m->gone[i--] = m->gone[--m->n_gone];
    alertmanagers_free_one(a);
}

void alertmanagers_ended(struct alertmanagers *m, void *tag, const struct receiver_reply *reply,
                         struct moment now)
{
    struct alertmanager *a = tag;
    struct err why = {0};
    int64_t wait_ms;
    enum verdict verdict = http_receiver_judge(reply, &wait_ms, &why);
    redact(&a->request, why.text);
    a->is_sending = false;
    if (a->is_gone) {
        finish_gone(m, a);
        return;
    }
    settle(a, verdict);
    a->why = why;
    if (verdict != VERDICT_DELIVERED) {
        hold(m, a, wait_ms, now);
        return;
    }
    if (a->n_fails > 0)
        LOG_INFO("Alertmanager \"%s\" takes alerts again", a->shown);
    a->n_fails = 0;
    a->last_ok_ms = now.wall_ms;
}

int64_t alertmanagers_next_ms(const struct alertmanagers *m)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < m->n; i++)
        if (!m->at[i]->is_sending && !list_is_empty(&m->at[i]->line) &&
            m->at[i]->not_before_ms < next)
            next = m->at[i]->not_before_ms;
    return next;
}

/* --- list --- */

static void write_moment(struct jsonw *w, const char *key, int64_t ms)
{
    if (ms > 0)
        (void)write_time(w, key, ms); /* without memory w has failed, too */
}

void alertmanagers_write(const struct alertmanagers *m, struct jsonw *w)
{
    jsonw_key(w, "alertmanagers");
    jsonw_begin_array(w);
    for (size_t i = 0; i < m->n; i++) {
        const struct alertmanager *a = m->at[i];
        jsonw_begin_object(w);
        jsonw_put_cstr(w, "url", a->shown);
        jsonw_put_u64(w, "taken", a->n_taken);
        jsonw_put_u64(w, "failedRequests", a->n_failed);
        jsonw_put_u64(w, "dropped", a->n_dropped);
        jsonw_put_u64(w, "waiting", a->by_alert.n);
        write_moment(w, "lastTakenAt", a->last_ok_ms);
        write_moment(w, "lastFailedAt", a->last_failed_ms);
        if (a->why.text[0]) {
            jsonw_put_cstr(w, "error", a->why.text);
        }
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}
