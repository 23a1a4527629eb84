/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/incident_calls.c - incidents to be looked at, and what people say of them.
 */
#include <errno.h>

#include "api/alerting.h"
#include "api/routes.h"

struct question {
    struct prom_call *c;
    struct span id;
    struct incidents_filter filter;
};

static void use_incidents(struct question *q, void (*use)(void *ctx, struct incidents *i))
{
    const struct api_sources *s = q->c->sources;
    int r = s->incidents_use ? s->incidents_use(s->arg, use, q) : -ENODEV;
    if (r < 0)
        prom_fail(q->c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
}

/* Of /api/v1/incidents/ID and what is behind it; clients may have encoded it. */
static struct span id_of(const struct prom_call *c)
{
    struct span rest = span_from(c->path, SPAN("/api/v1/incidents/").n);
    struct span raw = span_split(&rest, '/'), id;
    return params_decode(c->arena, raw, false, &id) == 0 ? id : raw;
}

static void fail(struct prom_call *c, int r, const struct err *err)
{
    enum prom_fault fault = r == -ENOENT                                    ? PROM_NOT_FOUND
                            : r == -EINVAL || r == -EMSGSIZE || r == -E2BIG ? PROM_BAD_DATA
                                                                            : PROM_INTERNAL;
    prom_fail(c, fault, "%s", err->text);
}

static void fail_to_read(struct prom_call *c, int r)
{
    if (r == -ENOENT)
        prom_fail(c, PROM_NOT_FOUND, "there is no incident \"%.*s\"", SPAN_ARG(id_of(c)));
    else
        prom_fail(c, PROM_INTERNAL, "incidents cannot be read: %s", err_str(r));
}

/* --- lists --- */

static void answer_list(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    prom_begin(q->c);
    int r = incidents_write(i, &q->filter, &q->c->w);
    if (r < 0 && r != -EMSGSIZE)
        fail_to_read(q->c, r);
    else
        prom_end(q->c);
}

void incident_calls_list(struct prom_call *c)
{
    struct question q = {.c = c};
    struct span open = params_get(&c->params, SPAN("open"));
    if (!prom_time(c, "from", false, &q.filter.from_ms) ||
        !prom_time(c, "to", false, &q.filter.to_ms) || !prom_limit(c, &q.filter.limit))
        return;
    q.filter.only_open = span_eq(open, SPAN("true"));
    use_incidents(&q, answer_list);
}

/* --- one --- */

static void answer_one(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    prom_begin(q->c);
    int r = incidents_write_one(i, q->id, &q->c->w);
    if (r < 0 && r != -EMSGSIZE)
        fail_to_read(q->c, r);
    else
        prom_end(q->c);
}

static void answer_markdown(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    q->c->content_type = "text/markdown; charset=utf-8";
    int r = incidents_print_markdown(i, q->id, q->c->body);
    if (r < 0)
        fail_to_read(q->c, r);
}

void incident_calls_one(struct prom_call *c)
{
    struct question q = {.c = c, .id = id_of(c)};
    struct span format = params_get(&c->params, SPAN("format"));
    if (span_eq(format, SPAN("markdown")))
        use_incidents(&q, answer_markdown);
    else if (format.n == 0 || span_eq(format, SPAN("json")))
        use_incidents(&q, answer_one);
    else
        prom_fail(c, PROM_BAD_DATA, "invalid parameter \"format\": json or markdown");
}

/* --- what people say --- */

static void finish(struct question *q, int r, const struct err *err)
{
    if (r < 0) {
        fail(q->c, r, err);
        return;
    }
    prom_begin(q->c);
    jsonw_begin_object(&q->c->w);
    jsonw_put_str(&q->c->w, "id", q->id);
    jsonw_end_object(&q->c->w);
    prom_end(q->c);
}

static struct span parameter(const struct question *q, const char *name)
{
    struct span s = params_get(&q->c->params, span_cstr(name));
    return s.p ? s : SPAN("");
}

static void add_note(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    struct err err = {0};
    int r =
        incidents_note(i, q->id, parameter(q, "author"), parameter(q, "text"), q->c->now_ms, &err);
    finish(q, r, &err);
}

void incident_calls_add_note(struct prom_call *c)
{
    struct question q = {.c = c, .id = id_of(c)};
    use_incidents(&q, add_note);
}

static void acknowledge(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    struct err err = {0};
    int r = incidents_acknowledge(i, q->id, parameter(q, "author"), q->c->now_ms, &err);
    finish(q, r, &err);
}

void incident_calls_ack(struct prom_call *c)
{
    struct question q = {.c = c, .id = id_of(c)};
    use_incidents(&q, acknowledge);
}

static void mark_noise(void *ctx, struct incidents *i)
{
    struct question *q = ctx;
    struct err err = {0};
    bool is_noise = !span_eq(parameter(q, "undo"), SPAN("true"));
    int r = incidents_mark_noise(i, q->id, parameter(q, "alert"), is_noise, parameter(q, "author"),
                                 q->c->now_ms, &err);
    finish(q, r, &err);
}

void incident_calls_noise(struct prom_call *c)
{
    struct question q = {.c = c, .id = id_of(c)};
    use_incidents(&q, mark_noise);
}
