/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/delivery_attempt.c - one attempt: rendered, under way, judged; tests of receivers.
 */
#include <errno.h>

#include "alert/delivery_private.h"
#include "alert/redact.h"
#include "base/log.h"
#include "base/mem.h"

struct attempt *delivery_attempt_new(const struct alert_integration *integration)
{
    struct attempt *at = mem_zalloc(1, sizeof(*at));
    if (!at)
        return NULL;
    list_init(&at->node);
    arena_init(&at->arena, NULL);
    at->integration = integration;
    return at;
}

struct attempt *delivery_attempt_free(struct attempt *at)
{
    if (!at)
        return NULL;
    list_remove(&at->node);
    arena_done(&at->arena);
    alert_file_unref(at->file);
    mem_free(at);
    return NULL;
}

/* --- to the operator's log --- */

/* Each line is a site of its own: an alert is nothing to be suppressed. */
static void log_lines(struct span body)
{
    while (body.n > 0) {
        struct span line = span_split(&body, '\n');
        struct log_site site = {0};
        enum log_level level =
            span_starts_with(line, SPAN("alert resolved")) ? LOG_LEVEL_INFO : LOG_LEVEL_WARN;
        log_write(&site, level, MODULE_NAME, "%.*s", SPAN_ARG(line));
    }
}

int delivery_attempt_render(struct attempt *at, const struct alert_message *m, struct moment now,
                            struct err *reterr)
{
    const struct alert_integration *i = at->integration;
    at->n_alerts = m->n;
    return i->kind->render(i->config, m, now.wall_ms, &at->arena, &at->request, reterr);
}

int delivery_attempt_send(struct delivery *y, struct attempt *at, struct moment now,
                          struct err *reterr)
{
    at->started = now;
    if (at->request.kind == REQUEST_LOG) {
        log_lines(at->request.body);
        return 0;
    }
    int r = transport_start(y->transport, &at->request, y->done, y->ctx, at);
    if (r < 0)
        return err_set(reterr, r, "could not send: %s", err_str(r));
    list_push_back(&y->attempts, &at->node);
    return 0;
}

/* --- what came of it --- */

enum verdict delivery_attempt_judge(const struct attempt *at, const struct receiver_reply *reply,
                                    int64_t *ret_wait_ms, struct err *ret_why)
{
    const struct alert_integration *i = at->integration;
    *ret_why = (struct err){0};
    *ret_wait_ms = -1;
    enum verdict verdict = i->kind->judge(i->config, reply, ret_wait_ms, ret_why);
    redact(&at->request, ret_why->text);
    return verdict;
}

/* --- tests --- */

static void test_line(struct delivery_test *t, const struct attempt *at, enum verdict verdict,
                      const struct receiver_reply *reply, const struct err *why, int64_t took_ms)
{
    const char *shown = at->request.shown.n > 0 ? at->request.shown.p : "?";
    int n = at->request.shown.n > 0 ? (int)at->request.shown.n : 1;
    int r = buf_printf(t->text, "%s %d to %.*s: ", at->integration->kind->name,
                       at->integration->index, n, shown);
    if (r == 0 && verdict == VERDICT_DELIVERED)
        r = buf_printf(t->text, "delivered in %lld ms", (long long)took_ms);
    else if (r == 0)
        r = buf_append(t->text, SPAN("not delivered"));
    if (r == 0 && reply && reply->status > 0)
        r = buf_printf(t->text, ", answer %d", reply->status);
    if (r == 0 && why->text[0])
        r = buf_printf(t->text, ": %s", why->text);
    if (r == 0 && why->hint[0])
        r = buf_printf(t->text, " (%s)", why->hint);
    if (r == 0)
        r = buf_append(t->text, SPAN("\n"));
    if (r < 0 && t->error == 0)
        t->error = r;
}

void delivery_test_ended(struct attempt *at, enum verdict verdict,
                         const struct receiver_reply *reply, const struct err *why,
                         struct moment now)
{
    struct delivery_test *t = at->test;
    test_line(t, at, verdict, reply, why, now.mono_ms - at->started.mono_ms);
    t->n_failed += verdict != VERDICT_DELIVERED;
    t->n_waiting--;
    if (t->n_waiting == 0)
        t->ended(t->ctx, t);
}

static void test_one(struct delivery *y, const struct alert_integration *i, struct alert_file *file,
                     const struct alert_message *m, struct delivery_test *t, struct moment now)
{
    struct attempt *at = delivery_attempt_new(i);
    struct err why = {0};
    if (!at) {
        t->error = -ENOMEM;
        t->n_waiting--;
        return;
    }
    at->test = t;
    at->file = alert_file_ref(file);
    int r = delivery_attempt_render(at, m, now, &why);
    if (r == 0)
        r = delivery_attempt_send(y, at, now, &why);
    if (r == 0 && at->request.kind != REQUEST_LOG)
        return;
    delivery_test_ended(at, r == 0 ? VERDICT_DELIVERED : VERDICT_NEVER, NULL, &why, now);
    delivery_attempt_free(at);
}

void delivery_test(struct delivery *y, const struct alert_receiver *r, struct alert_file *file,
                   const struct alert_message *m, struct delivery_test *t, struct moment now)
{
    t->n_waiting = r->n + 1; /* one for this function */
    for (size_t i = 0; i < r->n; i++)
        test_one(y, &r->integrations[i], file, m, t, now);
    t->n_waiting--;
    if (t->n_waiting == 0)
        t->ended(t->ctx, t);
}
