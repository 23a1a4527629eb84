/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom.c - the frame of an answer of Prometheus' API, its errors and its common parameters.
 */
#include "api/prom.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/num.h"

enum { NOTES_MAX = 10 }; /* of each kind in an answer */

static const struct {
    int status;
    const char *name;
} faults[PROM_FAULT_COUNT_] = {
    [PROM_BAD_DATA] = {400, "bad_data"},       [PROM_EXECUTION] = {422, "execution"},
    [PROM_CANCELED] = {499, "canceled"},       [PROM_TIMEOUT] = {503, "timeout"},
    [PROM_UNAVAILABLE] = {503, "unavailable"}, [PROM_INTERNAL] = {500, "internal"},
    [PROM_NOT_FOUND] = {404, "not_found"},
};

void prom_init(struct prom_call *c, const struct api_sources *sources, struct arena *a,
               struct buf *body)
{
    *c = (struct prom_call){.sources = sources, .arena = a, .body = body, .status = 200};
    c->now_ms = clock_wall().us / 1000;
    c->last_note = &c->notes;
    jsonw_init(&c->w, body);
}

void prom_run(struct prom_call *c, void (*handle)(struct prom_call *c), struct span query,
              struct span form)
{
    int r = params_parse(c->arena, query, form, &c->params);
    if (r == -ENOMEM)
        prom_fail_memory(c);
    else if (r == -E2BIG)
        prom_fail(c, PROM_BAD_DATA, "more than %d parameters", PARAMS_MAX);
    else if (r < 0)
        prom_fail(c, PROM_BAD_DATA, "error parsing form values: invalid URL escape");
    else
        handle(c);
}

void prom_begin(struct prom_call *c)
{
    jsonw_begin_object(&c->w);
    jsonw_put_cstr(&c->w, "status", "success");
    jsonw_key(&c->w, "data");
}

static void write_notes(struct prom_call *c, bool are_warnings)
{
    size_t n = 0;
    for (const struct prom_note *i = c->notes; i; i = i->next) {
        if (i->is_warning != are_warnings)
            continue;
        if (n == 0) {
            jsonw_key(&c->w, are_warnings ? "warnings" : "infos");
            jsonw_begin_array(&c->w);
        }
        if (n++ < NOTES_MAX)
            jsonw_str(&c->w, i->text);
    }
    if (n > NOTES_MAX) {
        char text[80];
        (void)snprintf(text, sizeof(text), "%zu more %s annotations omitted", n - NOTES_MAX,
                       are_warnings ? "warning" : "info");
        jsonw_cstr(&c->w, text);
    }
    if (n > 0)
        jsonw_end_array(&c->w);
}

void prom_end(struct prom_call *c)
{
    write_notes(c, true);
    write_notes(c, false);
    jsonw_end_object(&c->w);
    int r = jsonw_error(&c->w);
    if (r == -EMSGSIZE)
        prom_fail(c, PROM_EXECUTION,
                  "the answer is too large; ask for fewer series or a larger step");
    else if (r < 0)
        prom_fail_memory(c);
}

void prom_fail(struct prom_call *c, enum prom_fault fault, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut when too long */
    va_end(args);
    c->status = faults[fault].status;
    c->content_type = NULL;
    buf_clear(c->body);
    jsonw_init(&c->w, c->body);
    jsonw_begin_object(&c->w);
    jsonw_put_cstr(&c->w, "status", "error");
    jsonw_put_cstr(&c->w, "errorType", faults[fault].name);
    jsonw_put_cstr(&c->w, "error", text);
    jsonw_end_object(&c->w);
    if (jsonw_error(&c->w) < 0)
        buf_clear(c->body);
}

void prom_fail_memory(struct prom_call *c)
{
    if (c->budget && c->budget->is_exceeded)
        prom_fail(c, PROM_EXECUTION,
                  "the call would take more than %zu MiB of memory; name fewer series with match[]",
                  c->budget->max_bytes / MIB);
    else
        prom_fail(c, PROM_INTERNAL, "out of memory");
}

void prom_note(struct prom_call *c, bool is_warning, struct span text)
{
    struct prom_note *n = arena_zalloc(c->arena, 1, sizeof(*n));
    struct span copy = n ? arena_dup(c->arena, text) : (struct span){0};
    if (!copy.p)
        return; /* the result is right without it */
    n->is_warning = is_warning;
    n->text = copy;
    *c->last_note = n;
    c->last_note = &n->next;
}

int prom_is_over(void *ctx)
{
    struct prom_call *c = ctx;
    if (c->is_left && c->is_left(c->ctx))
        return -ECANCELED;
    return mono_is_set(c->deadline) && mono_diff(clock_mono(), c->deadline) >= 0 ? -ETIMEDOUT : 0;
}

bool prom_time(struct prom_call *c, const char *name, bool is_needed, int64_t *ret_ms)
{
    struct span s = params_get(&c->params, span_cstr(name));
    if (s.n == 0 && !is_needed)
        return true;
    if (params_time(s, ret_ms) == 0)
        return true;
    if (is_needed)
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"%s\": cannot parse \"%.*s\" to a valid timestamp", name,
                  SPAN_ARG(s));
    else
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"%s\": invalid time value for '%s': cannot parse \"%.*s\" to "
                  "a valid timestamp",
                  name, name, SPAN_ARG(s));
    return false;
}

bool prom_duration(struct prom_call *c, const char *name, bool is_needed, int64_t *ret_ms)
{
    struct span s = params_get(&c->params, span_cstr(name));
    if (s.n == 0 && !is_needed)
        return true;
    int r = params_duration(s, ret_ms);
    if (r < 0)
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"%s\": cannot parse \"%.*s\" to a valid duration%s", name,
                  SPAN_ARG(s), r == -ERANGE ? ". It overflows int64" : "");
    return r == 0;
}

bool prom_limit(struct prom_call *c, size_t *ret)
{
    struct span s = params_get(&c->params, SPAN("limit"));
    int64_t v = 0;
    *ret = 0;
    if (s.n == 0)
        return true;
    if (num_parse_i64(s, &v) < 0) {
        prom_fail(c, PROM_BAD_DATA, "invalid parameter \"limit\": \"%.*s\" is not a number",
                  SPAN_ARG(s));
        return false;
    }
    if (v < 0) {
        prom_fail(c, PROM_BAD_DATA, "invalid parameter \"limit\": limit must be non-negative");
        return false;
    }
    *ret = (size_t)v;
    return true;
}

void prom_fail_parse(struct prom_call *c, const char *parameter, const struct promql_error *e)
{
    char where[60] = "";
    if (e->line > 0)
        (void)snprintf(where, sizeof(where), "%d:%d: parse error: ", e->line, e->column);
    if (parameter)
        prom_fail(c, PROM_BAD_DATA, "invalid parameter \"%s\": %s%s", parameter, where, e->text);
    else
        prom_fail(c, PROM_BAD_DATA, "%s%s", where, e->text);
}

bool prom_open(struct prom_call *c, struct reader **ret)
{
    const struct api_sources *s = c->sources;
    int r = s->reader_open ? s->reader_open(s->arg, ret) : -ENODEV;
    if (r == -ENODEV)
        prom_fail(c, PROM_UNAVAILABLE, "there is no store to query: it is switched off");
    else if (r == -EBUSY)
        prom_fail(c, PROM_UNAVAILABLE,
                  "the store is not open yet; /api/v1/status says what it waits for");
    else if (r < 0)
        prom_fail(c, PROM_INTERNAL, "the store cannot be read: %s", err_str(r));
    return r == 0;
}

void prom_close(struct prom_call *c, struct reader *r)
{
    if (r)
        c->sources->reader_close(c->sources->arg, r);
}

void prom_fail_query(struct prom_call *c, int r, const char *text)
{
    switch (r) {
    case -EINVAL:
    case -E2BIG:
        prom_fail(c, PROM_EXECUTION, "%s", text);
        break;
    case -ETIMEDOUT:
        prom_fail(c, PROM_TIMEOUT, "query timed out in expression evaluation");
        break;
    case -ECANCELED:
        prom_fail(c, PROM_CANCELED, "query was canceled in expression evaluation");
        break;
    case -ENOMEM:
        prom_fail_memory(c);
        break;
    default:
        prom_fail(c, PROM_INTERNAL, "expanding series: %s", err_str(r));
        break;
    }
}
