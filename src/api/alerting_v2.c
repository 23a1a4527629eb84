/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/alerting_v2.c - alerts and silences as Alertmanager's API (v2) has them, so that its clients
 * work here: amtool, Grafana.
 */
#include "api/alerting.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "alert/matchers.h"
#include "api/routes.h"

void alerting_refuse(struct prom_call *c, int status, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    c->status = status;
    buf_clear(c->body);
    jsonw_init(&c->w, c->body);
    jsonw_cstr(&c->w, text);
}

void alerting_finish(struct prom_call *c)
{
    int r = jsonw_error(&c->w);
    if (r == -EMSGSIZE)
        alerting_refuse(c, 422, "the answer is too large; ask for less of it with filter=");
    else if (r < 0)
        alerting_refuse(c, 500, "out of memory");
}

static void use_alerts(struct prom_call *c, void (*use)(void *ctx, struct alerts *a), void *ctx)
{
    int r = c->sources->alerts_use ? c->sources->alerts_use(c->sources->arg, use, ctx) : -ENODEV;
    if (r < 0)
        alerting_refuse(c, 503, "%s", alerting_why_not(r));
    alerting_finish(c);
}

/* --- lists --- */

struct question {
    struct prom_call *c;
    struct alerts_filter filter;
    struct matcher *matchers, receiver;
};

static void question_done(struct question *q)
{
    for (size_t i = 0; i < q->filter.n_matchers; i++)
        matcher_done(&q->matchers[i]);
    if (q->filter.receiver)
        matcher_done(&q->receiver);
}

static bool is_false(const struct prom_call *c, const char *name)
{
    return span_eq(params_get(&c->params, span_cstr(name)), SPAN("false"));
}

/* A pattern for its whole name. */
static bool read_receiver(struct question *q)
{
    struct prom_call *c = q->c;
    struct span pattern = params_get(&c->params, SPAN("receiver"));
    struct err err = {.text = "out of memory"};
    if (pattern.n == 0)
        return true;
    int r = matcher_init(c->arena, MATCH_RE, SPAN("receiver"), pattern, &q->receiver, &err);
    if (r < 0) {
        alerting_refuse(c, r == -EINVAL ? 400 : 500, "failed to parse receiver param: %s",
                        err.text);
        return false;
    }
    q->filter.receiver = &q->receiver;
    return true;
}

static bool question_read(struct question *q)
{
    struct prom_call *c = q->c;
    const struct span *texts;
    struct err err = {0};
    size_t n;
    if (!alerting_values(c, "filter", &texts, &n))
        return false;
    q->matchers = arena_array(c->arena, n, sizeof(*q->matchers));
    if (!q->matchers) {
        alerting_refuse(c, 500, "out of memory");
        return false;
    }
    q->filter.matchers = q->matchers;
    q->filter.no_active = is_false(c, "active");
    q->filter.no_silenced = is_false(c, "silenced");
    q->filter.no_inhibited = is_false(c, "inhibited");
    q->filter.no_muted = is_false(c, "muted");
    for (size_t i = 0; i < n; i++) {
        if (alert_matcher_parse(texts[i], c->arena, &q->matchers[i], &err) < 0) {
            alerting_refuse(c, 400, "bad matcher format: %s", err.text);
            return false;
        }
        q->filter.n_matchers++;
    }
    return read_receiver(q);
}

static void ask(struct prom_call *c, void (*use)(void *ctx, struct alerts *a))
{
    struct question q = {.c = c};
    if (question_read(&q))
        use_alerts(c, use, &q);
    question_done(&q);
}

static void answer_list(void *ctx, struct alerts *a)
{
    const struct question *q = ctx;
    alerts_write(a, &q->filter, &q->c->w);
}

void alerting_list(struct prom_call *c)
{
    ask(c, answer_list);
}

static void answer_groups(void *ctx, struct alerts *a)
{
    const struct question *q = ctx;
    alerts_write_groups(a, &q->filter, &q->c->w);
}

void alerting_groups(struct prom_call *c)
{
    ask(c, answer_groups);
}

/* --- silences --- */

static void answer_silences(void *ctx, struct alerts *a)
{
    const struct question *q = ctx;
    alerts_write_silences(a, &q->filter, &q->c->w);
}

static void make_silence(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    char id[SILENCE_ID_BYTES];
    struct err err = {0};
    int r = alerts_silence(a, c->content, id, &err);
    if (r < 0) {
        alerting_refuse(c,
                        r == -ENOENT   ? 404
                        : r == -ENOMEM ? 500
                                       : 400,
                        "%s%s%s", err.text[0] ? err.text : err_str(r), err.hint[0] ? "; " : "",
                        err.hint);
        return;
    }
    jsonw_begin_object(&c->w);
    jsonw_put_cstr(&c->w, "silenceID", id);
    jsonw_end_object(&c->w);
}

void alerting_silences(struct prom_call *c)
{
    if (span_eq(c->method, SPAN("POST")))
        use_alerts(c, make_silence, c);
    else
        ask(c, answer_silences);
}

static struct span id_of(const struct prom_call *c)
{
    struct span id = span_from(c->path, SPAN("/api/v2/silence/").n);
    struct span decoded;
    return params_decode(c->arena, id, false, &decoded) == 0 ? decoded : id;
}

static void answer_silence(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    int r = span_eq(c->method, SPAN("DELETE")) ? alerts_expire_silence(a, id_of(c))
                                               : alerts_write_silence(a, id_of(c), &c->w);
    if (r < 0)
        alerting_refuse(c, r == -ENOENT ? 404 : 500, "%s",
                        r == -ENOENT ? "there is no such silence" : "out of memory");
}

void alerting_silence(struct prom_call *c)
{
    use_alerts(c, answer_silence, c);
}

/* --- what there is --- */

static void answer_receivers(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    alerts_write_receivers(a, &c->w);
}

void alerting_receivers(struct prom_call *c)
{
    use_alerts(c, answer_receivers, c);
}

static void answer_status(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    alerts_write_status(a, &c->w);
}

void alerting_status(struct prom_call *c)
{
    use_alerts(c, answer_status, c);
}

/* --- where an alert would go --- */

struct route_question {
    struct prom_call *c;
    struct labels labels;
};

static void answer_route(void *ctx, struct alerts *a)
{
    const struct route_question *q = ctx;
    if (alerts_write_route(a, q->labels, &q->c->w) < 0)
        alerting_refuse(q->c, 500, "out of memory");
}

void alerting_route(struct prom_call *c)
{
    struct route_question q = {.c = c};
    const struct span *texts;
    struct span twice = {0};
    size_t n;
    if (!alerting_values(c, "label", &texts, &n))
        return;
    struct label *pairs = arena_array(c->arena, n, sizeof(*pairs));
    if (!pairs) {
        alerting_refuse(c, 500, "out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct span value = texts[i];
        if (span_find_char(value, '=') == value.n) {
            alerting_refuse(c, 400, "\"%.*s\" is no label; write it as name=value",
                            SPAN_ARG(value));
            return;
        }
        pairs[i].name = span_split(&value, '=');
        pairs[i].value = value;
    }
    if (labels_normalise(pairs, n, &q.labels, &twice) < 0)
        alerting_refuse(c, 400, "label \"%.*s\" is there twice", SPAN_ARG(twice));
    else
        use_alerts(c, answer_route, &q);
}
