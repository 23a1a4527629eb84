/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - one set of metrics with known content, for the tests of every format.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <string.h>

#include "fakeclock.h"
#include "metrics/metrics.h"

/* Wall time 1700000000.25 s. */
static inline void sample_clock(void)
{
    fakeclock_install(1000 * NS_PER_S, INT64_C(1700000000250000000));
}

/*
 * llm_ttft_seconds with bounds 0.05, 1, 3 s: 10 ms, 1 s (on the bound) and 2.5 s; a model name that
 * needs escaping; one finished request.
 */
static inline struct metrics *sample_metrics(void)
{
    static const int64_t values[] = {50 * NS_PER_MS, NS_PER_S, 3 * NS_PER_S};
    static const struct metrics_bounds bounds = {METRIC_TTFT, values, 3};
    struct metrics *m = NULL;
    struct metrics_shard *shard = NULL;
    assert_int_equal(metrics_new(&(struct metrics_config){.bounds = &bounds, .n_bounds = 1}, &m),
                     0);
    assert_int_equal(metrics_shard_new(m, &shard), 0);
    struct metrics_request request = {.model = "a\"b\\c\nd",
                                      .endpoint = "chat",
                                      .upstream = "u",
                                      .is_stream = true,
                                      .is_model_proven = true};
    struct metrics_series_set *set = metrics_shard_resolve(shard, &request);
    metrics_record_ttft(set, 10 * NS_PER_MS, "req-1");
    metrics_record_ttft(set, NS_PER_S, NULL);
    metrics_record_ttft(set, 2500 * NS_PER_MS, "req-\"3\"");
    struct record r;
    record_init(&r);
    r.is_stream = true;
    r.dialect = "openai";
    r.status = 200;
    r.n_attempts = 1;
    r.usage_source = USAGE_SOURCE_ENGINE;
    r.prompt_tokens = 1000;
    r.completion_tokens = 64;
    metrics_record_done(set, &r);
    metrics_shard_release(shard);
    return m;
}

/* The lines of one family: from its "# HELP" to the next one or the end. */
static inline struct span sample_family(struct span text, const char *name)
{
    char head[128] = "# HELP ";
    span_copy(span_cstr(name), head + 7, sizeof(head) - 8);
    memcpy(head + strlen(head), " ", 2);
    struct span rest = span_from(text, span_find(text, span_cstr(head)));
    size_t end = rest.n > 0 ? span_find(span_from(rest, 1), SPAN("# HELP ")) + 1 : 0;
    size_t eof = rest.n > 0 ? span_find(rest, SPAN("# EOF")) : 0;
    end = end < rest.n ? end : rest.n;
    return span_of(rest.p, end < eof ? end : eof);
}

#endif
