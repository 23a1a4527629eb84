/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/verdict and estimates: exactly one outcome, usage of answers that were cut.
 */
#include "path.h"

#include <stdio.h>

#include "base/stat.h"

/* How a stream that said `events` and ended as `end` is judged. */
static const struct {
    const char *name;
    const char *events[3];
    enum tap_end end;
    enum tap_reason reason;
    enum outcome outcome;
    const char *detail;
} streams[] = {
    {"ended well",
     {TEXT("a"), FINISH("stop"), DONE},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_OK,
     ""},
    {"no [DONE], but a finish reason",
     {TEXT("a"), FINISH("stop")},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_OK,
     ""},
    {"no finish reason, but [DONE]",
     {TEXT("a"), DONE},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_OK,
     ""},
    {"neither", {TEXT("a")}, TAP_END_COMPLETE, TAP_REASON_NONE, OUTCOME_TRUNCATED, ""},
    {"nothing at all", {NULL}, TAP_END_COMPLETE, TAP_REASON_NONE, OUTCOME_TRUNCATED, ""},
    {"error event",
     {TEXT("a"), EVENT("{\"error\":{\"type\":\"server_error\"}}")},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "server_error"},
    {"error event, then [DONE]",
     {EVENT("{\"error\":{\"code\":429}}"), DONE},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "429"},
    {"error event, then the client leaves",
     {EVENT("{\"error\":\"x\"}")},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "error"},
    {"error event, then the connection breaks",
     {EVENT("{\"error\":\"x\"}")},
     TAP_END_UPSTREAM_CUT,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "error"},
    {"bare error body, then [DONE]",
     {TEXT("a"), "{\"error\":{\"type\":\"server_error\"}}\n\n", DONE},
     TAP_END_COMPLETE,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "server_error"},
    {"bare error body, then the connection breaks",
     {TEXT("a"), "{\"error\":{\"type\":\"server_error\"}}"},
     TAP_END_UPSTREAM_CUT,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "server_error"},
    {"bare error body, then the client leaves",
     {TEXT("a"), "{\"error\":{\"type\":\"server_error\"}}\n"},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_STREAM_ERROR,
     "server_error"},
    {"client leaves before the first token",
     {ROLE},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_CLIENT_GONE_BEFORE_FIRST,
     ""},
    {"client leaves before any event",
     {NULL},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_CLIENT_GONE_BEFORE_FIRST,
     ""},
    {"client leaves after the first token",
     {TEXT("a")},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_CLIENT_GONE_AFTER_FIRST,
     ""},
    {"client leaves after the finish reason",
     {TEXT("a"), FINISH("stop")},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_CLIENT_GONE_AFTER_FIRST,
     ""},
    {"client hangs up on [DONE]",
     {TEXT("a"), DONE},
     TAP_END_CLIENT_GONE,
     TAP_REASON_NONE,
     OUTCOME_OK,
     ""},
    {"connection kept open behind [DONE]",
     {TEXT("a"), DONE},
     TAP_END_TIMEOUT,
     TAP_REASON_TIMEOUT_IDLE,
     OUTCOME_OK,
     ""},
    {"connection breaks behind [DONE]",
     {TEXT("a"), DONE},
     TAP_END_UPSTREAM_CUT,
     TAP_REASON_NONE,
     OUTCOME_OK,
     ""},
    {"connection breaks",
     {TEXT("a")},
     TAP_END_UPSTREAM_CUT,
     TAP_REASON_NONE,
     OUTCOME_UPSTREAM_CUT,
     ""},
    {"bad framing", {TEXT("a")}, TAP_END_BAD_RESPONSE, TAP_REASON_NONE, OUTCOME_BAD_RESPONSE, ""},
    {"silence", {TEXT("a")}, TAP_END_TIMEOUT, TAP_REASON_TIMEOUT_IDLE, OUTCOME_TIMEOUT, "idle"},
    {"cut by the watchdog", {TEXT("a")}, TAP_END_TIMEOUT, TAP_REASON_STALLED, OUTCOME_STALLED, ""},
    {"too long", {TEXT("a")}, TAP_END_TIMEOUT, TAP_REASON_TIMEOUT_TOTAL, OUTCOME_TIMEOUT, "total"},
    {"shutdown", {TEXT("a")}, TAP_END_DRAIN, TAP_REASON_DRAIN, OUTCOME_CUT_BY_GATEWAY, "drain"},
    {"bug", {TEXT("a")}, TAP_END_INTERNAL, TAP_REASON_NONE, OUTCOME_INTERNAL, ""},
};

static void streams_have_one_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        struct path p;
        path_open_stream(&p, STREAM_BODY);
        for (size_t k = 0; k < ARRAY_LEN(streams[i].events) && streams[i].events[k]; k++)
            path_read(&p, streams[i].events[k], 600 + 100 * (int64_t)k);
        if (streams[i].end == TAP_END_COMPLETE)
            observe_tap.response_end(p.tap, stamp_us(&p, 2000));
        path_end_as(&p, streams[i].end, streams[i].reason, 2010);
        assert_row(streams[i].name, p.seen.record.outcome == streams[i].outcome);
        assert_row(streams[i].name, strcmp(p.seen.record.outcome_reason, streams[i].detail) == 0);
        path_close(&p);
    }
}

/* What the gateway refused, before and after the plan. */
static void refusals_have_one_outcome(void **state)
{
    (void)state;
    static const struct {
        enum tap_reason reason;
        enum outcome outcome;
        const char *detail;
    } rows[] = {
        {TAP_REASON_BAD_REQUEST, OUTCOME_BAD_REQUEST, ""},
        {TAP_REASON_BODY_TOO_LARGE, OUTCOME_BAD_REQUEST, "body_too_large"},
        {TAP_REASON_UNAUTHORIZED, OUTCOME_UNAUTHORIZED, ""},
        {TAP_REASON_FORBIDDEN, OUTCOME_FORBIDDEN, ""},
        {TAP_REASON_RUNAWAY, OUTCOME_CUT_BY_GATEWAY, "runaway"},
        {TAP_REASON_NO_ROUTE, OUTCOME_BAD_REQUEST, "no_route"},
        {TAP_REASON_REJECTED, OUTCOME_REJECTED, "queue_full"},
        {TAP_REASON_REJECTED_TIMEOUT, OUTCOME_REJECTED, "queue_timeout"},
        {TAP_REASON_CONNECT_DNS, OUTCOME_CONNECT_FAILED, "dns"},
        {TAP_REASON_CONNECT_REFUSED, OUTCOME_CONNECT_FAILED, "refused"},
        {TAP_REASON_CONNECT_PROXY, OUTCOME_CONNECT_FAILED, "proxy"},
        {TAP_REASON_CONNECT_TLS, OUTCOME_CONNECT_FAILED, "tls"},
        {TAP_REASON_CONNECT_OTHER, OUTCOME_CONNECT_FAILED, "other"},
        {TAP_REASON_BAD_RESPONSE, OUTCOME_BAD_RESPONSE, ""},
        {TAP_REASON_UPSTREAM_CUT, OUTCOME_UPSTREAM_CUT, ""},
        {TAP_REASON_TIMEOUT_CONNECT, OUTCOME_TIMEOUT, "connect"},
        {TAP_REASON_TIMEOUT_FIRST_BYTE, OUTCOME_TIMEOUT, "first_byte"},
        {TAP_REASON_TIMEOUT_REQUEST, OUTCOME_TIMEOUT, "request"},
        {TAP_REASON_DRAIN, OUTCOME_CUT_BY_GATEWAY, "drain"},
        {TAP_REASON_INTERNAL, OUTCOME_INTERNAL, ""},
        {TAP_REASON_NONE, OUTCOME_INTERNAL, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int is_planned = 0; is_planned < 2; is_planned++) {
            struct path p;
            path_open(&p);
            path_begin(&p, &path_post);
            if (is_planned)
                path_plan(&p, "openai-chat", STREAM_BODY);
            path_end_as(&p, TAP_END_REFUSED, rows[i].reason, 500);
            assert_row(rows[i].detail, p.seen.record.outcome == rows[i].outcome);
            assert_row(rows[i].detail, strcmp(p.seen.record.outcome_reason, rows[i].detail) == 0);
            assert_int_equal(p.seen.was_started, is_planned);
            assert_int_equal(p.seen.n_started, is_planned);
            path_close(&p);
        }
    }
}

static void http_errors_and_their_type(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    path_head(&p, 429, "application/json", 500);
    path_read(&p, "{\"error\":{\"message\":\"secret\",\"type\":\"rate_limit_error\"}}", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(p.seen.record.outcome_reason, "rate_limit_error");
    assert_true(p.seen.record.is_stream); /* it asked for one: counted as without first token */
    enum no_first_token reason;
    assert_true(record_has_no_first_token(&p.seen.record, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_ERROR);
    assert_string_equal(p.seen.record.unobserved, "");

    path_send(&p, "openai-chat", STREAM_BODY);
    path_head(&p, 502, "text/html", 500);
    path_read(&p, "<html>", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(p.seen.record.outcome_reason, "");
    path_close(&p);
}

static void client_gone_from_a_non_stream(void **state)
{
    (void)state;
    for (int has_body = 0; has_body < 2; has_body++) {
        struct path p;
        path_open(&p);
        path_send(&p, "openai-chat", "{\"model\":\"m\"}");
        path_head(&p, 200, "application/json", 500);
        if (has_body)
            path_read(&p, "{\"id\":", 600);
        path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 700);
        assert_int_equal(p.seen.record.outcome, has_body ? OUTCOME_CLIENT_GONE_AFTER_FIRST
                                                         : OUTCOME_CLIENT_GONE_BEFORE_FIRST);
        path_close(&p);
    }
}

/* A stream that was asked for and answered whole is none (C09). */
static void a_body_instead_of_a_stream(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    path_head(&p, 200, "application/json", 500);
    path_read(&p, "{\"choices\":[{\"finish_reason\":\"stop\"}]}", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_false(p.seen.record.is_stream);
    assert_int_equal(p.seen.record.ttft_ns, -1);
    path_close(&p);
}

static void stream_without_a_content_type(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    path_head(&p, 200, NULL, 500);
    path_read(&p, TEXT("a") DONE, 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.ttft_ns, 500000);
    path_close(&p);
}

/* The "stream" label of what is measured at the end: what was answered, and what was asked for only
 * where that failed. Dialects that generate nothing have no streams. */
static void stream_label_is_of_the_answer(void **state)
{
    static const struct {
        const char *name, *dialect, *body;
        int status;
        const char *type;
        bool is_stream;
    } rows[] = {
        {"a stream", "openai-chat", STREAM_BODY, 200, "text/event-stream", true},
        {"a stream without a type", "openai-chat", STREAM_BODY, 200, NULL, true},
        {"a body instead of it", "openai-chat", STREAM_BODY, 200, "application/json", false},
        {"an error instead of it", "openai-chat", STREAM_BODY, 429, "application/json", true},
        {"a body", "openai-chat", "{\"model\":\"m\"}", 200, "application/json", false},
        {"a stream instead of it", "openai-chat", "{\"model\":\"m\"}", 200, "text/event-stream",
         true},
        {"an error", "openai-chat", "{\"model\":\"m\"}", 500, "application/json", false},
        {"embeddings", "openai-embeddings", "{\"model\":\"m\"}", 200, "application/json", false},
        {"embeddings with a stray key", "openai-embeddings", STREAM_BODY, 200, NULL, false},
        {"embeddings that call themselves a stream", "openai-embeddings", "{\"model\":\"m\"}", 200,
         "text/event-stream", false},
        {"both of it", "openai-embeddings", STREAM_BODY, 200, "text/event-stream", false},
        {"its error", "openai-embeddings", STREAM_BODY, 429, "application/json", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct path p;
        path_open(&p);
        path_send(&p, rows[i].dialect, rows[i].body);
        path_head(&p, rows[i].status, rows[i].type, 500);
        path_read(&p, "{}", 600);
        path_end(&p, 700);
        assert_row(rows[i].name, p.seen.labels.is_stream == rows[i].is_stream);
        assert_row(rows[i].name, p.seen.record.is_stream == rows[i].is_stream);
        path_close(&p);
    }
}

static void run_stream(struct path *p, int n_events, bool has_usage, int completion)
{
    path_stream(p, STREAM_BODY);
    for (int i = 0; i < n_events; i++)
        path_read(p, TEXT("a"), 1000 + i * 100);
    if (!has_usage) {
        path_end_as(p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 9000);
        return;
    }
    char usage[256];
    (void)snprintf(usage, sizeof(usage),
                   "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%d}}"
                   "\n\ndata: [DONE]\n\n",
                   completion);
    path_read(p, usage, 8000);
    path_end(p, 9000);
}

/* Aborted without usage: events x the model's rolling ratio, marked, and only if there is one. */
static void cut_streams_are_estimated(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    run_stream(&p, 5, false, 0);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_NONE);
    assert_int_equal(p.seen.record.completion_tokens, -1);
    assert_int_equal(p.seen.record.timing.tpot_status, TPOT_NO_USAGE);

    run_stream(&p, 10, true, 25); /* 2.5 tokens an event */
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_ENGINE);
    run_stream(&p, 8, false, 0);
    assert_int_equal(p.seen.record.outcome, OUTCOME_UPSTREAM_CUT);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_ESTIMATED);
    assert_int_equal(p.seen.record.completion_tokens, 20);
    assert_int_equal(p.seen.record.raw_completion_tokens, RECORD_UNTOLD);
    assert_int_equal(p.seen.record.prompt_tokens, -1);
    assert_true(has_flag(&p, RECORD_ESTIMATED));

    /* usage that the engine sent along the way is the engine's */
    path_stream(&p, STREAM_BODY);
    path_read(&p,
              EVENT("{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":1,"
                    "\"completion_tokens\":3}}"),
              1000);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 2000);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_ENGINE);
    assert_int_equal(p.seen.record.completion_tokens, 3);
    path_close(&p);
}

/* An answer that ended well without usage has none: nothing is made up (C40). */
static void whole_streams_are_not_estimated(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    run_stream(&p, 10, true, 25);
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") FINISH("stop") DONE, 1000);
    path_end(&p, 1100);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_NONE);
    assert_int_equal(p.seen.record.completion_tokens, -1);
    path_close(&p);
}

static void estimates_roll_and_stay_bounded(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    run_stream(&p, 10, true, 20); /* 2.0 */
    run_stream(&p, 10, true, 30); /* 2.0 + 0.1 x (3.0 - 2.0) */
    run_stream(&p, 100, false, 0);
    assert_int_equal(p.seen.record.completion_tokens, 210);
    /* many other models push it out */
    for (int i = 0; i < 64; i++) {
        char body[64];
        (void)snprintf(body, sizeof(body), "{\"model\":\"other-%d\",\"stream\":true}", i);
        path_stream(&p, body);
        path_read(&p, TEXT("a"), 1000);
        path_read(&p, USAGE(1, 4) DONE, 1100);
        path_end(&p, 1200);
    }
    run_stream(&p, 10, false, 0);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_NONE);
    path_close(&p);
}

/* Coverage counts streams that ended well, and what they had (C17). */
static void coverage_is_counted(void **state)
{
    (void)state;
    int64_t finished = stat_sum(STAT_STREAMS_FINISHED);
    int64_t with_ttft = stat_sum(STAT_STREAMS_WITH_TTFT);
    int64_t with_usage = stat_sum(STAT_STREAMS_WITH_USAGE);
    struct path p;
    path_open(&p);
    run_stream(&p, 2, true, 2);
    path_stream(&p, STREAM_BODY);
    path_read(&p, FINISH("stop") DONE, 1000);
    path_end(&p, 1100);
    run_stream(&p, 2, false, 0); /* cut: says nothing about coverage */
    assert_int_equal(stat_sum(STAT_STREAMS_FINISHED), finished + 2);
    assert_int_equal(stat_sum(STAT_STREAMS_WITH_TTFT), with_ttft + 1);
    assert_int_equal(stat_sum(STAT_STREAMS_WITH_USAGE), with_usage + 1);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_have_one_outcome),
        cmocka_unit_test(refusals_have_one_outcome),
        cmocka_unit_test(http_errors_and_their_type),
        cmocka_unit_test(client_gone_from_a_non_stream),
        cmocka_unit_test(a_body_instead_of_a_stream),
        cmocka_unit_test(stream_without_a_content_type),
        cmocka_unit_test(stream_label_is_of_the_answer),
        cmocka_unit_test(cut_streams_are_estimated),
        cmocka_unit_test(whole_streams_are_not_estimated),
        cmocka_unit_test(estimates_roll_and_stay_bounded),
        cmocka_unit_test(coverage_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
