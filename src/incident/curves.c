/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/curves.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "promql/query.h"
#include "series/duration.h"

#define P95(metric)                                                                                \
    "histogram_quantile(0.95, sum by (le, model, upstream) (rate(" metric "_bucket[$R])))"

/* What counts as a failure: deploy/rules/errors.yml, all of an upstream's refusals included. */
#define FAILED                                                                                     \
    "http_error|connect_failed|bad_response|stream_error|truncated|upstream_cut|stalled|timeout|"  \
    "rejected|internal"

/* In the order in which people look: what clients feel, what was asked, where it waits. */
const struct curves_kind curves_kinds[] = {
    {"ttft_p95", "Time to first token, p95", "s", P95("llm_ttft_seconds"), false},
    {"tpot_p95", "Time per output token, p95", "s", P95("llm_tpot_seconds"), false},
    {"itl_p95", "Time between tokens, p95", "s", P95("llm_itl_seconds"), false},
    {"e2e_p95", "Whole request, p95", "s", P95("llm_e2e_seconds"), false},
    {"queue_p95", "Time in the gateway's queue, p95", "s", P95("llm_queue_seconds"), false},
    {"upstream_ttft_p95", "First token from the upstream, p95", "s",
     P95("llm_upstream_ttft_seconds"), false},
    {"requests", "Requests by outcome", "1/s", "sum by (outcome) (rate(llm_requests_total[$R]))",
     true},
    {"failed_ratio", "Share of requests that fail", "",
     "sum by (model, upstream) (rate(llm_requests_total{outcome=~\"" FAILED "\"}[$R])) / "
     "sum by (model, upstream) (rate(llm_requests_total[$R]))",
     false},
    {"tokens", "Tokens by type", "1/s",
     "sum by (model, upstream, type) (rate(llm_tokens_total[$R]))", true},
    {"inflight", "Requests in flight", "", "sum by (model, upstream) (llm_inflight_requests)",
     false},
    {"waiting", "Requests waiting for admission", "",
     "sum by (upstream, class) (inferometer_admission_waiting)", false},
    {"silent", "Silence of upstreams", "s", "max by (upstream) (llm_upstream_silent_seconds)",
     false},
    {"engine_kv", "KV cache of engines in use, as a share", "", "engine:llm_kv_cache_usage:ratio",
     false},
    {"engine_running", "Requests running in engines", "", "engine:llm_requests_running:sum", false},
    {"engine_waiting", "Requests waiting in engines", "", "engine:llm_requests_waiting:sum", false},
    {"engine_preemptions", "Preemptions in engines", "1/s", "engine:llm_preemptions:rate5m", false},
};
const size_t curves_n = ARRAY_LEN(curves_kinds);
_Static_assert(ARRAY_LEN(curves_kinds) <= CURVES_MAX, "curves");

int curves_expr(const struct curves_kind *k, int64_t range_ms, struct buf *out)
{
    struct span rest = span_of(k->expr, strlen(k->expr));
    int r = 0;
    while (r == 0) {
        size_t at = span_find(rest, SPAN("$R"));
        r = buf_append(out, span_of(rest.p, at));
        if (at == rest.n)
            return r;
        if (r == 0)
            r = duration_print(range_ms, out);
        rest = span_from(rest, at + 2);
    }
    return r;
}

/* --- one part --- */

enum {
    PART_STEPS = 240,
    EVERY_MS = 60 * 1000, /* no coarser than this where it can be: what is short shows */
    FINER = 8,            /* nor finer than this part of the curve's step */
};
static const struct promql_options limits = {.max_bytes = 64 * MIB, .max_samples = 5000000};
#define PATIENCE_NS NS_PER_S /* the evaluator waits for it */

static int64_t every_ms(const struct curve *c)
{
    if (c->step_ms <= EVERY_MS)
        return c->step_ms;
    int64_t ms = EVERY_MS;
    while (ms < c->step_ms / FINER)
        ms *= 2;
    return ms;
}

int64_t curves_part_end(const struct curve *c, int64_t from_ms, int64_t until_ms)
{
    int64_t ms = every_ms(c) * PART_STEPS;
    if (ms < c->step_ms)
        ms = c->step_ms;
    int64_t most = c->start_ms + (from_ms + ms - c->start_ms) / c->step_ms * c->step_ms;
    return most < until_ms ? most : until_ms;
}

static int is_over(void *ctx)
{
    const mono_t *end = ctx;
    return mono_diff(clock_mono(), *end) >= 0 ? -ETIMEDOUT : 0;
}

static int evaluate(const struct promql_expr *e, struct reader *r, struct curve *c,
                    const struct curves_kind *k, int64_t from_ms, int64_t to_ms)
{
    struct promql_options o = limits;
    struct promql_result result;
    struct promql_error error;
    mono_t end = mono_add(clock_mono(), PATIENCE_NS);
    o.step_ms = every_ms(c);
    o.start_ms = from_ms;
    o.end_ms = from_ms + (to_ms - 1 - from_ms) / o.step_ms * o.step_ms;
    o.is_over = is_over;
    o.ctx = &end;
    int n = promql_query(e, r, &o, &result, &error);
    if (n == 0)
        curve_reach(c, o.end_ms, k->is_mean);
    if (n == 0)
        n = curve_add(c, &result.value, k->is_mean);
    promql_result_done(&result);
    return n;
}

int curves_take(struct curve *c, const struct curves_kind *k, int64_t range_ms, struct reader *r,
                int64_t from_ms, int64_t to_ms)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    struct buf text;
    if (to_ms <= from_ms)
        return 0;
    buf_init(&text, PROMQL_QUERY_MAX);
    int n = curves_expr(k, range_ms, &text);
    if (n == 0)
        n = promql_parse(buf_span(&text), &e, &error);
    if (n == 0)
        n = evaluate(e, r, c, k, from_ms, to_ms);
    (void)promql_free_expr(e);
    buf_done(&text);
    return n;
}
