/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_query.c - queries: at a moment, over a range; their text.
 */
#include <errno.h>
#include <stdio.h>

#include "api/prom.h"
#include "api/prom_smooth.h"
#include "base/limits.h"

struct query_params {
    struct promql_options options;
    struct smooth smooth;
    size_t limit;
    bool is_range;
};

/* range_semantics: 2 for the closed ranges of Prometheus 2. */
static bool read_semantics(struct prom_call *c, struct query_params *q)
{
    struct span s = params_get(&c->params, SPAN("range_semantics"));
    q->options.is_range_closed = span_eq(s, SPAN("2"));
    if (s.n == 0 || q->options.is_range_closed || span_eq(s, SPAN("3")))
        return true;
    prom_fail(c, PROM_BAD_DATA, "invalid parameter \"range_semantics\": it is 2 or 3");
    return false;
}

/* timeout and lookback_delta. */
static bool read_common(struct prom_call *c, struct query_params *q)
{
    int64_t timeout_ms = -1;
    if (!read_semantics(c, q) || !prom_duration(c, "timeout", false, &timeout_ms) ||
        !prom_duration(c, "lookback_delta", false, &q->options.lookback_ms))
        return false;
    if (timeout_ms >= 0) {
        int64_t ns = timeout_ms < INT64_MAX / NS_PER_MS ? timeout_ms * NS_PER_MS : INT64_MAX / 2;
        mono_t by = mono_add(clock_mono(), ns);
        if (!mono_is_set(c->deadline) || mono_diff(by, c->deadline) < 0)
            c->deadline = by;
    }
    if (q->options.lookback_ms < 0) {
        prom_fail(c, PROM_BAD_DATA, "invalid parameter \"lookback_delta\": it is negative");
        return false;
    }
    q->options.max_samples = c->limits.max_samples;
    q->options.max_bytes = c->limits.max_bytes;
    q->options.is_over = prom_is_over;
    q->options.ctx = c;
    return true;
}

static bool read_instant(struct prom_call *c, struct query_params *q)
{
    int64_t at = c->now_ms;
    if (!prom_limit(c, &q->limit) || !prom_time(c, "time", false, &at))
        return false;
    q->options.start_ms = q->options.end_ms = at;
    return read_common(c, q);
}

static bool read_range(struct prom_call *c, struct query_params *q)
{
    struct promql_options *o = &q->options;
    q->is_range = true;
    if (!prom_limit(c, &q->limit) || !prom_time(c, "start", true, &o->start_ms) ||
        !prom_time(c, "end", true, &o->end_ms))
        return false;
    if (o->end_ms < o->start_ms) {
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"end\": end timestamp must not be before start time");
        return false;
    }
    if (!prom_duration(c, "step", true, &o->step_ms))
        return false;
    if (o->step_ms <= 0) {
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"step\": zero or negative query resolution step widths are "
                  "not accepted. Try a positive integer");
        return false;
    }
    if (prom_smooth_parse(params_get(&c->params, SPAN("smooth")), &q->smooth) < 0) {
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"smooth\": it is sma:30m or ema:5m, with a duration");
        return false;
    }
    if ((o->end_ms - o->start_ms) / o->step_ms > PROMQL_STEPS_MAX) {
        prom_fail(c, PROM_BAD_DATA,
                  "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the "
                  "query resolution (?step=XX)");
        return false;
    }
    return read_common(c, q);
}

/* Only with stats: what the query read. */
static void write_stats(struct prom_call *c, const struct promql_result *r)
{
    if (params_get(&c->params, SPAN("stats")).n == 0)
        return;
    jsonw_key(&c->w, "stats");
    jsonw_begin_object(&c->w);
    jsonw_key(&c->w, "samples");
    jsonw_begin_object(&c->w);
    jsonw_put_u64(&c->w, "totalQueryableSamples", r->n_samples);
    jsonw_end_object(&c->w);
    jsonw_end_object(&c->w);
}

static void answer(struct prom_call *c, const struct query_params *q, const struct promql_result *r)
{
    bool is_cut = false;
    for (size_t i = 0; i < r->n_notes; i++)
        prom_note(c, r->notes[i].is_warning, r->notes[i].text);
    prom_begin(c);
    jsonw_begin_object(&c->w);
    prom_write_value(&c->w, &r->value, q->is_range, q->limit, &is_cut);
    write_stats(c, r);
    jsonw_end_object(&c->w);
    if (is_cut)
        prom_note(c, true, SPAN("results truncated due to limit"));
    prom_end(c);
}

static void evaluate(struct prom_call *c, const struct query_params *q, const struct promql_expr *e)
{
    struct reader *reader = NULL;
    struct promql_result result;
    struct promql_error error = {0};
    int r = prom_is_over(c);
    if (r < 0) {
        prom_fail_query(c, r, "");
        return;
    }
    if (!prom_open(c, &reader))
        return;
    r = promql_query(e, reader, &q->options, &result, &error);
    if (r == 0)
        r = prom_smooth_value(&q->smooth, &result.value, c->arena, prom_is_over, c);
    if (r < 0)
        prom_fail_query(c, r, error.text);
    else
        answer(c, q, &result);
    promql_result_done(&result);
    prom_close(c, reader);
}

static struct promql_expr *parse(struct prom_call *c, struct span text, const char *parameter)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    int r = promql_parse(text.p ? text : SPAN(""), &e, &error);
    if (r == -ENOMEM)
        prom_fail_memory(c);
    else if (r < 0)
        prom_fail_parse(c, parameter, &error);
    return e;
}

struct promql_expr *prom_parse(struct prom_call *c, const char *parameter)
{
    return parse(c, params_get(&c->params, SPAN("query")), parameter);
}

static void run(struct prom_call *c, const struct query_params *q, const char *parameter)
{
    struct promql_expr *e = parse(c, params_get(&c->params, span_cstr(parameter)), parameter);
    if (!e)
        return;
    enum promql_type t = promql_root(e)->type;
    if (q->is_range && t != PROMQL_SCALAR && t != PROMQL_VECTOR)
        prom_fail(c, PROM_BAD_DATA,
                  "invalid parameter \"query\": invalid expression type \"%s\" for range query, "
                  "must be Scalar or instant Vector",
                  promql_type_name(t));
    else
        evaluate(c, q, e);
    (void)promql_free_expr(e);
}

void prom_query_instant(struct prom_call *c)
{
    struct query_params q = {0};
    if (read_instant(c, &q))
        run(c, &q, "query");
}

/* Where links in alerts lead: the expression as it is now. */
void prom_query_graph(struct prom_call *c)
{
    struct query_params q = {0};
    if (read_instant(c, &q))
        run(c, &q, "g0.expr");
}

void prom_query_range(struct prom_call *c)
{
    struct query_params q = {0};
    if (read_range(c, &q))
        run(c, &q, "query");
}

void prom_query_format(struct prom_call *c)
{
    struct promql_expr *e = prom_parse(c, "query");
    struct buf text;
    if (!e)
        return;
    buf_init(&text, MIB);
    if (promql_print(promql_root(e), &text) < 0) {
        prom_fail_memory(c);
    } else {
        prom_begin(c);
        jsonw_str(&c->w, buf_span(&text));
        prom_end(c);
    }
    buf_done(&text);
    (void)promql_free_expr(e);
}
