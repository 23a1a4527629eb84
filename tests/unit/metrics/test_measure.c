/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every declared family can be made to move, and the rules of what is not recorded hold.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "fakeclock.h"
#include "metrics/live.h"
#include "metrics/metrics.h"

struct fixture {
    struct metrics *m;
    struct metrics_shard *shard;
    struct metrics_series_set *set;
};

static struct fixture fixture_new(void)
{
    struct fixture f = {NULL, NULL, NULL};
    struct metrics_request request = {.model = "m",
                                      .endpoint = "chat",
                                      .upstream = "u",
                                      .is_stream = true,
                                      .is_model_proven = true};
    assert_int_equal(metrics_new(NULL, &f.m), 0);
    assert_int_equal(metrics_shard_new(f.m, &f.shard), 0);
    f.set = metrics_shard_resolve(f.shard, &request);
    assert_non_null(f.set);
    return f;
}

struct total {
    enum metric metric;
    const char *value; /* of the last label, or NULL: any */
    int n_found;
    int64_t n;       /* value, or samples */
    double quantile; /* of the last histogram found: its median in raw units */
    hist_sum_t sum_raw;
};

static int add_up(void *ctx, const struct metrics_sample *s)
{
    struct total *t = ctx;
    if (s->metric != t->metric ||
        (t->value && strcmp(s->labels[s->n_labels - 1].value, t->value) != 0))
        return 0;
    t->n_found++;
    t->n += s->hist ? (int64_t)s->hist->n : s->value;
    if (s->hist) {
        t->quantile = hist_snapshot_quantile(s->hist, 0.5);
        t->sum_raw += s->hist->sum_raw;
    }
    return 0;
}

static struct total total_of(const struct metrics *m, enum metric metric, const char *value)
{
    struct total t = {.metric = metric, .value = value};
    assert_int_equal(metrics_each(m, add_up, &t), 0);
    return t;
}

/* A finished stream of which everything is known. */
static struct record full_record(void)
{
    struct record r;
    record_init(&r);
    snprintf(r.request_id, sizeof(r.request_id), "req-1");
    r.dialect = "openai";
    r.is_stream = true;
    r.outcome = OUTCOME_OK;
    r.status = 200;
    r.n_attempts = 2; /* the first was counted when the second began */
    r.t_first_token = (mono_t){5 * NS_PER_S};
    r.queue_ns = NS_PER_MS;
    r.backlog_ns = 2 * NS_PER_S;
    r.ttft_ns = 300 * NS_PER_MS;
    r.upstream_ttft_ns = 250 * NS_PER_MS;
    r.e2e_ns = 4 * NS_PER_S;
    r.client_path = (struct record_path){40 * NS_PER_MS, 30 * NS_PER_MS, 2};
    r.upstream_path = (struct record_path){3 * NS_PER_MS, NS_PER_MS, 1};
    r.overhead_request_ns = 40 * NS_PER_US;
    for (int i = 0; i < STAGE_COUNT_; i++)
        r.stage_ns[i] = (i + 1) * NS_PER_MS;
    for (int i = 0; i < ENGINE_STAGE_COUNT_; i++)
        r.engine_ns[i] = (i + 1) * NS_PER_MS;
    r.timing.tpot_status = TPOT_OK;
    r.timing.tpot_ns = 20 * NS_PER_MS;
    r.timing.jitter_ns = 3 * NS_PER_MS;
    r.timing.tokens_per_event = 1.25;
    r.timing.n_stalls = 1;
    r.flags |= RECORD_BUFFERED_HOP;
    r.buffer_bytes = 4096;
    r.n_events = 12;
    r.n_output_events = 10;
    r.usage_source = USAGE_SOURCE_ENGINE;
    r.prompt_tokens = 1000;
    r.completion_tokens = 200;
    r.cached_tokens = 600;
    r.cache_write_tokens = 50;
    r.reasoning_tokens = 20;
    return r;
}

static void test_every_family_moves(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    int64_t before[METRIC_COUNT_];
    for (int i = 0; i < METRIC_COUNT_; i++)
        before[i] = total_of(f.m, (enum metric)i, NULL).n;
    struct record r = full_record();
    struct metrics_series *inflight = metrics_inflight_begin(f.set);
    assert_int_equal(total_of(f.m, METRIC_INFLIGHT, NULL).n, 1);
    metrics_stream_started(f.set);
    metrics_record_queue(f.set, r.queue_ns);
    metrics_record_ttft(f.set, r.ttft_ns, r.request_id);
    metrics_record_ttfa(f.set, r.ttft_ns);
    metrics_record_gap(f.set, 20 * NS_PER_MS);
    metrics_record_itl(f.set, 16 * NS_PER_MS, 10);
    metrics_record_event_overhead(f.shard, 8 * NS_PER_US);
    metrics_set_upstream_silent(f.set, 65 * NS_PER_S);
    metrics_attempt_over(f.set);
    metrics_record_runaway(f.set);
    metrics_set_breaker(f.set, true, 4);
    metrics_set_admission(f.set, &(struct metrics_admission){3, 40, {1, 2}, {{5, 6}, {7, 8}}});
    metrics_probe_started(f.set);
    assert_int_equal(total_of(f.m, METRIC_PROBE_FAILURES, NULL).n_found, PROBE_FAILURE_COUNT_);
    metrics_record_probe_connect(f.set, -1, NS_PER_MS, 2 * NS_PER_MS);
    assert_int_equal(total_of(f.m, METRIC_PROBE_CONNECT, NULL).n, 2);
    assert_int_equal(total_of(f.m, METRIC_PROBE_CONNECT, "dns").n_found, 0);
    metrics_record_tokenize(f.set, 3 * NS_PER_MS);
    metrics_record_probe_failure(f.set, PROBE_FAILURE_TIMEOUT);
    assert_int_equal(total_of(f.m, METRIC_PROBE_FAILURES, "timeout").n, 1);
    metrics_record_done(f.set, &r);
    metrics_record_slo(f.set, metrics_slo_id(f.m, "chat"), 1u << SLO_TTFT,
                       (enum slo_verdict[SLO_OBJECTIVE_COUNT_]){[SLO_TTFT] = SLO_GOOD});
    /* Streams that miss something: no usage, no TPOT, no first token. */
    r.usage_source = USAGE_SOURCE_ESTIMATED;
    r.timing.tpot_status = TPOT_NO_USAGE;
    r.timing.tpot_ns = -1;
    metrics_record_done(f.set, &r);
    r.t_first_token = MONO_NONE;
    r.outcome = OUTCOME_TIMEOUT;
    metrics_record_done(f.set, &r);
    for (int i = 0; i < METRIC_COUNT_; i++) {
        struct total t = total_of(f.m, (enum metric)i, NULL);
        assert_row(family_table[i].name, t.n_found > 0);
        /* The version never changes; what is in flight has to come back. */
        assert_row(family_table[i].name, t.n > before[i] || i == METRIC_BUILD_INFO);
    }
    metrics_inflight_end(inflight);
    assert_int_equal(total_of(f.m, METRIC_INFLIGHT, NULL).n, 0);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_INFLIGHT, NULL).n, 3);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_TOKENS, NULL).n, 40);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_WAITING, "interactive").n, 1);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_WAITING, "batch").n, 2);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_REJECTED, "queue_full").n, 5 + 7);
    assert_int_equal(total_of(f.m, METRIC_ADMISSION_REJECTED, "queue_timeout").n, 6 + 8);
    metrics_free(f.m);
}

static void test_values(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    struct record r = full_record();
    metrics_attempt_over(f.set);
    metrics_record_done(f.set, &r);
    metrics_record_itl(f.set, 16 * NS_PER_MS, 10);
    static const struct {
        enum metric metric;
        const char *value;
        int64_t want;
    } rows[] = {
        {METRIC_REQUESTS, "ok", 1},
        {METRIC_HTTP_RESPONSES, "200", 1},
        {METRIC_ATTEMPTS, NULL, 2},
        {METRIC_TOKENS, "prompt", 1000},
        {METRIC_TOKENS, "completion", 200},
        {METRIC_TOKENS, "cached", 600},
        {METRIC_TOKENS, "cache_write", 50},
        {METRIC_TOKENS, "reasoning", 20},
        {METRIC_STREAM_EVENTS, "output", 10},
        {METRIC_STREAM_EVENTS, "other", 2},
        {METRIC_STALLS, NULL, 1},
        {METRIC_BUFFERED_STREAMS, NULL, 1},
        {METRIC_COMPLETION_TOKENS_MAX, NULL, 200},
        {METRIC_ITL, NULL, 10},
        {METRIC_TTFT_BY_PROMPT, "ge_half", 1},
        {METRIC_NO_FIRST_TOKEN, NULL, 0},
        {METRIC_CLIENT_RTT, "smoothed", 1},
        {METRIC_CLIENT_RTT, "min", 1},
        {METRIC_CLIENT_RESENT, NULL, 2},
        {METRIC_UPSTREAM_RTT, "min", 1},
        {METRIC_UPSTREAM_RESENT, NULL, 1},
        {METRIC_STAGE, "receive", 1},
        {METRIC_STAGE, "auth", 1},
        {METRIC_STAGE, "delivery", 1},
        {METRIC_OVERHEAD, "request", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(total_of(f.m, rows[i].metric, rows[i].value).n, rows[i].want);
    assert_true(total_of(f.m, METRIC_E2E, NULL).sum_raw == 4 * NS_PER_S);
    assert_true(total_of(f.m, METRIC_TPOT, NULL).sum_raw == 20 * NS_PER_MS);
    assert_true(total_of(f.m, METRIC_TOKENS_PER_EVENT, NULL).sum_raw == 1250);
    assert_true(total_of(f.m, METRIC_CONNECT, NULL).sum_raw == (STAGE_CONNECT + 1) * NS_PER_MS);
    assert_true(total_of(f.m, METRIC_CACHED_TOKENS, NULL).sum_raw == 600);
    assert_true(total_of(f.m, METRIC_CLIENT_RTT, "min").sum_raw == 30 * NS_PER_MS);
    assert_true(total_of(f.m, METRIC_UPSTREAM_RTT, "smoothed").sum_raw == 3 * NS_PER_MS);
    metrics_free(f.m);
}

static void test_nothing_known(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    struct record r;
    record_init(&r);
    r.outcome = OUTCOME_UNAUTHORIZED;
    r.status = 401;
    metrics_record_done(f.set, &r);
    for (int i = 0; i < METRIC_COUNT_; i++) {
        bool is_there =
            i == METRIC_REQUESTS || i == METRIC_HTTP_RESPONSES || family_table[i].is_computed;
        assert_row(family_table[i].name,
                   (total_of(f.m, (enum metric)i, NULL).n_found > 0) == is_there);
    }
    metrics_free(f.m);
}

static void test_estimates_stay_apart(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    struct record r = full_record();
    r.usage_source = USAGE_SOURCE_ESTIMATED;
    metrics_record_done(f.set, &r);
    assert_int_equal(total_of(f.m, METRIC_ESTIMATED_TOKENS, "completion").n, 200);
    assert_int_equal(total_of(f.m, METRIC_ESTIMATED_TOKENS, NULL).n, 200);
    assert_int_equal(total_of(f.m, METRIC_TOKENS, "completion").n_found, 0);
    assert_int_equal(total_of(f.m, METRIC_COMPLETION_TOKENS, NULL).n_found, 0);
    /* The other counts are the engine's. */
    assert_int_equal(total_of(f.m, METRIC_TOKENS, "prompt").n, 1000);
    static const enum metric told[] = {METRIC_PROMPT_TOKENS, METRIC_CACHED_TOKENS,
                                       METRIC_TTFT_BY_PROMPT};
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        assert_row(family_table[told[i]].name, total_of(f.m, told[i], NULL).n == 1);
    metrics_free(f.m);
}

static void test_multi_choice(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    struct record r = full_record();
    r.flags |= RECORD_MULTI_CHOICE;
    r.timing.tpot_status = TPOT_MULTI_CHOICE;
    metrics_record_done(f.set, &r);
    assert_int_equal(total_of(f.m, METRIC_TPOT, NULL).n_found, 0);
    assert_int_equal(total_of(f.m, METRIC_JITTER, NULL).n_found, 0);
    assert_int_equal(total_of(f.m, METRIC_TPOT_UNMEASURABLE, "multi_choice").n, 1);
    metrics_free(f.m);
}

static void test_no_first_token(void **state)
{
    (void)state;
    static const struct {
        enum outcome outcome;
        const char *unobserved;
        enum no_first_token want;
    } rows[] = {
        {OUTCOME_OK, "", NO_FIRST_TOKEN_NO_OUTPUT},
        {OUTCOME_OK, "content_coding", NO_FIRST_TOKEN_UNOBSERVED},
        {OUTCOME_CLIENT_GONE_BEFORE_FIRST, "", NO_FIRST_TOKEN_CANCELED},
        {OUTCOME_TIMEOUT, "", NO_FIRST_TOKEN_TIMEOUT},
        {OUTCOME_HTTP_ERROR, "", NO_FIRST_TOKEN_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f = fixture_new();
        struct record r = full_record();
        r.t_first_token = MONO_NONE;
        r.outcome = rows[i].outcome;
        snprintf(r.unobserved, sizeof(r.unobserved), "%s", rows[i].unobserved);
        metrics_record_done(f.set, &r);
        struct total t = total_of(f.m, METRIC_NO_FIRST_TOKEN, NULL);
        assert_int_equal(t.n_found, NO_FIRST_TOKEN_COUNT_); /* the other reasons are 0 */
        assert_int_equal(t.n, 1);
        assert_int_equal(total_of(f.m, METRIC_NO_FIRST_TOKEN, no_first_token_name(rows[i].want)).n,
                         1);
        /* No answer to divide: not a TPOT that could not be measured. */
        assert_int_equal(total_of(f.m, METRIC_TPOT_UNMEASURABLE, NULL).n_found, 0);
        metrics_free(f.m);
    }
}

static void test_non_stream(void **state)
{
    (void)state;
    struct fixture f = fixture_new();
    struct record r = full_record();
    r.is_stream = false;
    metrics_record_done(f.set, &r);
    static const enum metric none[] = {METRIC_TPOT,
                                       METRIC_JITTER,
                                       METRIC_STREAM_EVENTS,
                                       METRIC_STALLS,
                                       METRIC_NO_FIRST_TOKEN,
                                       METRIC_TPOT_UNMEASURABLE,
                                       METRIC_TOKENS_PER_EVENT};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_row(family_table[none[i]].name, total_of(f.m, none[i], NULL).n_found == 0);
    assert_int_equal(total_of(f.m, METRIC_TOKENS, "prompt").n, 1000);
    metrics_free(f.m);
}

static void test_moving_maximum(void **state)
{
    (void)state;
    fakeclock_install(600 * NS_PER_S, 1000 * NS_PER_S);
    struct fixture f = fixture_new();
    struct record r = full_record();
    static const struct {
        int64_t after_s, tokens, want; /* tokens < 0: nothing recorded; want < 0: no data */
    } steps[] = {
        {0, 500, 500}, {10, 300, 500}, {50, 100, 500},
        {50, -1, 500}, {11, -1, 100},  {60, -1, -1},
        {0, 7, 7},     {200, -1, -1},  {0, INT64_MAX, (INT64_C(1) << 40) - 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        fakeclock_advance(steps[i].after_s * NS_PER_S);
        r.completion_tokens = steps[i].tokens;
        if (steps[i].tokens >= 0)
            metrics_record_done(f.set, &r);
        struct total t = total_of(f.m, METRIC_COMPLETION_TOKENS_MAX, NULL);
        assert_int_equal(t.n_found, steps[i].want >= 0);
        assert_int_equal(t.n, steps[i].want >= 0 ? steps[i].want : 0);
    }
    metrics_free(f.m);
    fakeclock_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_family_moves), cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_known),      cmocka_unit_test(test_estimates_stay_apart),
        cmocka_unit_test(test_multi_choice),       cmocka_unit_test(test_no_first_token),
        cmocka_unit_test(test_non_stream),         cmocka_unit_test(test_moving_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
