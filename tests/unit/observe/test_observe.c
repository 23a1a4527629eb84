/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: whole exchanges through the tap; what is told when, and what the record says.
 */
#include "path.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"
#include "memfail.h"

static void a_whole_stream(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 600);
    path_read(&p, TEXT("a"), 1100);
    path_read(&p, TEXT("b"), 1300);
    path_read(&p, TEXT("c"), 1500);
    path_read(&p, FINISH("stop") USAGE(7, 5), 1510);
    path_read(&p, DONE, 1520);
    path_end(&p, 1530);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->outcome_reason, "");
    assert_string_equal(r->unobserved, "");
    assert_true(r->is_stream);
    assert_string_equal(r->endpoint, "chat_completions");
    assert_string_equal(r->dialect, "openai-chat");
    assert_string_equal(r->upstream, "up");
    assert_string_equal(r->model_requested, "m");
    assert_string_equal(r->method, "POST");
    assert_string_equal(r->request_id, "gw-1");
    assert_string_equal(r->finish_reason, "stop");
    assert_int_equal(r->ttft_ns, 1000000);
    assert_int_equal(r->ttfb_ns, 500000);
    assert_int_equal(r->ttfe_ns, 500000);
    assert_int_equal(r->upstream_ttft_ns, 950000);
    assert_int_equal(r->e2e_ns, 1420000);
    assert_int_equal(r->total_ns, 1540000);
    assert_int_equal(r->queue_ns, 5000);
    assert_int_equal(r->connect_tcp_ns, 20000);
    assert_int_equal(r->connect_tls_ns, 30000);
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
    assert_int_equal(r->timing.tpot_ns, 100000); /* 400 us over 4 steps */
    assert_int_equal(r->prompt_tokens, 7);
    assert_int_equal(r->completion_tokens, 5);
    assert_int_equal(r->usage_source, USAGE_SOURCE_ENGINE);
    assert_int_equal(r->stamp_source, STAMP_KERNEL);
    assert_int_equal(r->n_events, 7);
    assert_int_equal(r->n_output_events, 3);
    assert_int_equal(r->flags, 0);
    assert_int_equal(r->request_bytes, 10);
    assert_int_equal(r->response_bytes, 20);

    assert_int_equal(p.seen.n_started, 1);
    assert_int_equal(p.seen.n_admitted, 1);
    assert_int_equal(p.seen.queue_ns, 5000);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.ttft_ns, 1000000);
    assert_int_equal(p.seen.n_ttfa, 1);
    assert_int_equal(p.seen.n_gaps, 2);
    assert_int_equal(p.seen.gaps_ns[0], 200000);
    assert_int_equal(p.seen.itl_tokens, 3);  /* 2 events behind gaps x 5/3 */
    assert_int_equal(p.seen.n_overheads, 3); /* reads with output */
    assert_int_equal(p.seen.overheads_ns[0], 20000);
    assert_true(p.seen.was_started);
    path_close(&p);
}

/* A stream that has not ended has told its TTFT and gaps already. */
static void the_way_to_the_peers_and_whose_key_it_was(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_begin(&p, &path_post);
    observe_tap.identified(p.tap, &(struct tap_identity){.at = us(104)}); /* nobody's */
    path_plan(&p, "openai-chat", STREAM_BODY);
    path_attempt(&p, 150);
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, ROLE TEXT("a") DONE, 600);
    path_end(&p, 700);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->stage_ns[STAGE_AUTH], 4 * NS_PER_US);
    assert_int_equal(r->stage_ns[STAGE_ROUTE], 6 * NS_PER_US);
    assert_string_equal(r->key_id, "");
    assert_int_equal(r->client_path.rtt_ns, 40 * NS_PER_MS);
    assert_int_equal(r->client_path.rtt_min_ns, 30 * NS_PER_MS);
    assert_int_equal(r->client_path.n_resent, 2);
    assert_int_equal(r->upstream_path.rtt_ns, -1);
    path_close(&p);
}

static void first_token_is_told_at_once(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 600);
    assert_int_equal(p.seen.n_ttft, 0);
    path_read(&p, TEXT("a"), 1100);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.ttft_ns, 1000000);
    path_read(&p, TEXT("b"), 1200);
    assert_int_equal(p.seen.n_gaps, 1);
    assert_int_equal(p.seen.n_done, 0);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 2000);
    path_close(&p);
}

static void reads_that_cut_events_give_the_stamp_of_their_end(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    const char *text = TEXT("abc");
    char head[256];
    (void)span_copy(span_of(text, 30), head, sizeof(head));
    path_read(&p, head, 600);
    assert_int_equal(p.seen.n_ttft, 0);
    path_read(&p, text + 30, 900);
    assert_int_equal(p.seen.ttft_ns, 800000);
    assert_int_equal(p.seen.n_overheads, 1);
    path_read(&p, DONE, 1000);
    path_end(&p, 1100);
    assert_int_equal(p.seen.record.n_events, 2);
    path_close(&p);
}

static void coalesced_events_have_no_gap(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") TEXT("b"), 1000);
    /* one read, told in two parts, as the chunked coding gives it */
    observe_tap.response_body(p.tap, SPAN(TEXT("c")), stamp_us(&p, 1400));
    observe_tap.response_body(p.tap, SPAN(TEXT("d") ": x\n"), stamp_us(&p, 1400));
    observe_tap.forwarded(p.tap, us(1430));
    path_read(&p, FINISH("stop") DONE, 1500);
    path_end(&p, 1500);
    assert_int_equal(p.seen.n_gaps, 1);
    assert_int_equal(p.seen.gaps_ns[0], 400000);
    assert_int_equal(p.seen.record.n_coalesced, 2);
    assert_int_equal(p.seen.record.n_arrivals, 2);
    assert_int_equal(p.seen.n_overheads, 2);
    assert_int_equal(p.seen.overheads_ns[1], 30000);
    assert_true(has_flag(&p, RECORD_COALESCED));
    path_close(&p);
}

/* The parts of one read behind which the last has no output: its overhead counts all the same. */
static void overhead_of_a_read_in_parts(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    observe_tap.response_body(p.tap, SPAN(TEXT("c")), stamp_us(&p, 1400));
    observe_tap.response_body(p.tap, SPAN(": ping\n\n"), stamp_us(&p, 1400));
    observe_tap.forwarded(p.tap, us(1407));
    path_read(&p, ": ping\n\n", 1600);
    observe_tap.forwarded(p.tap, us(1800)); /* nothing was told since */
    path_read(&p, DONE, 1900);
    path_end(&p, 2000);
    assert_int_equal(p.seen.n_overheads, 1);
    assert_int_equal(p.seen.overheads_ns[0], 7000);
    path_close(&p);
}

static void blocked_gaps_are_not_the_engines(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    path_read(&p, TEXT("b"), 1100);
    /* Arrived before the pause, told behind it: the engine's. */
    observe_tap.paused(p.tap, us(1500));
    path_read(&p, TEXT("c"), 1400);
    /* Arrived during it. */
    path_read(&p, TEXT("d"), 3000);
    observe_tap.resumed(p.tap, us(9000));
    path_read(&p, TEXT("e"), 5000);
    /* The sender was held back until the pause was over: this gap spans it, though the read before
     * came from inside it and the stamp lies behind it. */
    path_read(&p, TEXT("f"), 9100);
    path_read(&p, TEXT("g"), 9300);
    path_read(&p, DONE, 12300);
    path_end(&p, 12400);
    assert_int_equal(p.seen.n_gaps, 3);
    assert_int_equal(p.seen.gaps_ns[0], 100000);
    assert_int_equal(p.seen.gaps_ns[1], 300000);
    assert_int_equal(p.seen.gaps_ns[2], 200000);
    assert_true(has_flag(&p, RECORD_CLIENT_LIMITED));
    assert_int_equal(p.seen.record.timing.gap_max_ns, 300000);
    assert_int_equal(p.seen.n_overheads, 5); /* not what waited while reading was paused */
    path_close(&p);
}

static void usage_twice_is_not_added(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    path_read(&p,
              EVENT("{\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"usage\":{\"prompt_tokens\":"
                    "3,\"completion_tokens\":4}}"),
              1100);
    path_read(&p, USAGE(3, 6) DONE, 1200);
    path_end(&p, 1300);
    assert_int_equal(p.seen.record.prompt_tokens, 3);
    assert_int_equal(p.seen.record.completion_tokens, 6);
    path_close(&p);
}

static void retry_forgets_the_earlier_answer(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_request(&p, "openai-chat", STREAM_BODY);
    struct tap_attempt a = {.at = us(120), .number = ++p.n_attempts, .is_usage_injected = true};
    observe_tap.attempt(p.tap, &a);
    observe_tap.sent(p.tap, us(150));
    path_head(&p, 400, "application/json", 300);
    observe_tap.response_body(p.tap, SPAN("{\"error\":{\"type\":\"invalid"), stamp_us(&p, 310));
    path_attempt(&p, 400);
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, TEXT("a"), 1100);
    path_read(&p, DONE, 1200);
    path_end(&p, 1300);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_int_equal(r->upstream_status, 200);
    assert_int_equal(r->n_attempts, 2);
    assert_true(has_flag(&p, RECORD_IS_RETRY));
    assert_false(has_flag(&p, RECORD_USAGE_INJECTED));
    assert_int_equal(r->ttft_ns, 1000000);         /* with the earlier attempt */
    assert_int_equal(r->upstream_ttft_ns, 700000); /* without */
    assert_int_equal(r->stage_ns[STAGE_RETRY], 255000);
    assert_int_equal(r->timing.tpot_status, TPOT_NO_USAGE);
    path_close(&p);
}

static void early_response_is_flagged(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_request(&p, "openai-chat", STREAM_BODY);
    struct tap_attempt a = {.at = us(120), .number = ++p.n_attempts};
    observe_tap.attempt(p.tap, &a);
    path_head(&p, 200, "text/event-stream", 200);
    path_read(&p, TEXT("a"), 300);
    observe_tap.sent(p.tap, us(400));
    path_read(&p, DONE, 500);
    path_end(&p, 600);
    assert_true(has_flag(&p, RECORD_EARLY_RESPONSE));
    assert_int_equal(p.seen.record.upstream_ttft_ns, -1);
    assert_int_equal(p.seen.record.ttft_ns, 200000);
    path_close(&p);
}

/* Output before the last byte of the request: no TTFT, neither told nor recorded. */
static void output_before_the_request_ended(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_begin(&p, &path_post);
    struct tap_planned planned = {.at = us(110),
                                  .upstream = "up",
                                  .endpoint = "chat_completions",
                                  .dialect = dialect_by_name(SPAN("openai-chat")),
                                  .request = &p.request,
                                  .is_window_exceeded = true};
    p.request = (struct dialect_request){.is_stream = true, .n = 1, .max_tokens = -1};
    observe_tap.planned(p.tap, &planned);
    observe_tap.admitted(p.tap, us(115));
    path_attempt(&p, 150);
    path_head(&p, 200, "text/event-stream", 200);
    path_read(&p, TEXT("a"), 300);
    observe_tap.request_end(p.tap, stamp_us(&p, 400));
    path_read(&p, TEXT("b") DONE, 500);
    path_end(&p, 600);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_int_equal(p.seen.record.ttft_ns, -1);
    assert_int_equal(p.seen.n_gaps, 1);
    assert_true(has_flag(&p, RECORD_WINDOW_EXCEEDED));
    assert_true(has_flag(&p, RECORD_EARLY_RESPONSE));
    path_close(&p);
}

static void reused_connection_has_no_connect_stage(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_request(&p, "openai-chat", "{\"model\":\"m\"}");
    struct tap_attempt a = {.at = us(120), .number = ++p.n_attempts};
    struct tap_connected c = {
        .at = us(125), .is_reused = true, .dns_ns = -1, .tcp_ns = -1, .tls_ns = -1};
    observe_tap.attempt(p.tap, &a);
    observe_tap.connected(p.tap, &c);
    observe_tap.sent(p.tap, us(130));
    path_head(&p, 200, "application/json", 500);
    path_read(&p, "{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}", 510);
    path_end(&p, 520);
    assert_int_equal(p.seen.record.stage_ns[STAGE_CONNECT], -1);
    assert_int_equal(p.seen.record.stage_ns[STAGE_SEND], 15000);
    assert_int_equal(p.seen.record.completion_tokens, 2);
    assert_int_equal(p.seen.record.overhead_request_ns, 10000 + 15000);
    path_close(&p);
}

/* Bodies: in one read, in several, with and without a length. */
static void whole_bodies(void **state)
{
    (void)state;
    const char *body =
        "{\"model\":\"m-2024\",\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":{"
        "\"prompt_tokens\":1,\"completion_tokens\":2}}";
    for (int form = 0; form < 3; form++) {
        struct path p;
        path_open(&p);
        path_send(&p, "openai-chat", "{\"model\":\"m\"}");
        struct http1_head answer = {.status = 200,
                                    .framing = form < 2 ? HTTP1_BODY_LENGTH : HTTP1_BODY_CHUNKED,
                                    .content_length = strlen(body)};
        observe_tap.response_head(p.tap, &answer, stamp_us(&p, 500));
        if (form == 0) {
            struct mem_count before = mem_count_total();
            path_read(&p, body, 600);
            assert_int_equal(mem_count_total().n_allocs, before.n_allocs); /* nothing is copied */
        } else {
            observe_tap.response_body(p.tap, span_of(body, 10), stamp_us(&p, 600));
            observe_tap.response_body(p.tap, span_cstr(body + 10), stamp_us(&p, 700));
        }
        path_end(&p, 800);
        const struct record *r = &p.seen.record;
        assert_int_equal(r->outcome, OUTCOME_OK);
        assert_int_equal(r->completion_tokens, 2);
        assert_string_equal(r->finish_reason, "stop");
        assert_string_equal(r->model_response, "m-2024");
        assert_false(has_flag(&p, RECORD_MODEL_MISMATCH));
        assert_int_equal(r->ttft_ns, -1);
        assert_int_equal(r->timing.tpot_status, TPOT_NOT_STREAM);
        assert_int_equal(p.seen.n_ttft + p.seen.n_gaps + p.seen.n_itl + p.seen.n_overheads, 0);
        path_close(&p);
    }
}

static void multi_choice_gives_no_gap_samples(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, "{\"model\":\"m\",\"stream\":true,\"n\":2}");
    path_read(&p, TEXT("a"), 1000);
    path_read(&p, EVENT("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}"), 1100);
    path_read(&p, TEXT("c"), 1200);
    path_read(&p, USAGE(1, 11) DONE, 1300);
    path_end(&p, 1400);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.n_gaps, 0);
    assert_int_equal(p.seen.n_itl, 0);
    assert_true(has_flag(&p, RECORD_MULTI_CHOICE));
    assert_int_equal(p.seen.record.timing.tpot_status, TPOT_MULTI_CHOICE);
    assert_int_equal(p.seen.record.timing.tpot_ns, 20000); /* the record has the figures */
    path_close(&p);
}

static void unknown_paths_are_measured_at_http_level(void **state)
{
    (void)state;
    const struct http1_head head = {.method = SPAN("GET"), .minor = 0};
    struct path p;
    path_open(&p);
    path_begin(&p, &head);
    path_plan(&p, "none", "");
    path_attempt(&p, 150);
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, "data: x\n\n", 600);
    path_end(&p, 700);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->endpoint, "other");
    assert_true(r->is_stream);
    assert_false(record_is_generating_stream(r));
    assert_int_equal(r->ttfb_ns, 500000);
    assert_int_equal(r->e2e_ns, 600000);
    assert_true(has_flag(&p, RECORD_HTTP_1_0));
    assert_string_equal(r->unobserved, "");
    path_close(&p);
}

/* --- what cannot be followed --- */

static void answers_in_an_unknown_coding_are_not_read(void **state)
{
    (void)state;
    int64_t before = stat_sum(STAT_UNOBSERVED_CODED);
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    path_head_coded(&p, 200, "text/event-stream", "gzip, br", 500);
    path_read(&p, TEXT("a") DONE, 600);
    path_end(&p, 700);
    assert_string_equal(p.seen.record.unobserved, "content_coded");
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_int_equal(p.seen.record.timing.tpot_status, TPOT_UNOBSERVED);
    assert_int_equal(p.seen.record.ttfb_ns, 500000);
    assert_int_equal(stat_sum(STAT_UNOBSERVED_CODED), before + 1);
    path_close(&p);
}

/* The beginning of an event, and more of it than is kept. */
static void read_too_much(struct path *p, int64_t at)
{
    size_t n = LIMIT_EVENT_BYTES + 100;
    char *big = malloc(n);
    assert_non_null(big);
    memset(big, 'x', n);
    path_read(p, "data: ", at);
    observe_tap.response_body(p->tap, span_of(big, n), stamp_us(p, at + 100));
    free(big);
}

static void an_event_over_the_limit_stops_the_clock(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    read_too_much(&p, 1100);
    path_read(&p, "\n\n", 1300);
    path_read(&p, TEXT("b"), 1400);
    path_read(&p, USAGE(1, 9) FINISH("stop") DONE, 1500);
    path_end(&p, 1600);
    const struct record *r = &p.seen.record;
    assert_string_equal(r->unobserved, "too_large");
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_int_equal(r->ttft_ns, 900000); /* known before */
    assert_int_equal(p.seen.n_gaps, 0);   /* a gap over a lost event is none */
    assert_int_equal(r->completion_tokens, 9);
    assert_int_equal(r->timing.tpot_status, TPOT_UNOBSERVED);
    assert_string_equal(r->finish_reason, "stop");
    path_close(&p);
}

/* It may have held the last token. */
static void a_last_event_over_the_limit_is_lost_too(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    path_read(&p, TEXT("b"), 1050);
    path_read(&p, USAGE(1, 9) FINISH("stop"), 1060);
    read_too_much(&p, 1100);
    path_end(&p, 1300);
    assert_string_equal(p.seen.record.unobserved, "too_large");
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_int_equal(p.seen.record.timing.tpot_status, TPOT_UNOBSERVED);
    path_close(&p);
}

static void a_body_over_the_limit_is_not_read(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", "{\"model\":\"m\"}");
    path_head(&p, 200, "application/json", 500);
    size_t n = 1 << 20;
    char *part = malloc(n);
    assert_non_null(part);
    memset(part, ' ', n);
    for (int i = 0; i < 5; i++)
        observe_tap.response_body(p.tap, span_of(part, n), stamp_us(&p, 600 + i));
    free(part);
    path_end(&p, 700);
    assert_string_equal(p.seen.record.unobserved, "too_large");
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    path_close(&p);
}

static void nonsense_is_malformed(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, "data: what\n\ndata: is this\n\n", 600);
    path_end(&p, 700);
    assert_string_equal(p.seen.record.unobserved, "malformed");
    assert_int_equal(p.seen.record.outcome, OUTCOME_TRUNCATED);

    path_send(&p, "openai-chat", "{\"model\":\"m\"}");
    path_head(&p, 200, "text/html", 500);
    path_read(&p, "<html>", 600);
    path_end(&p, 700);
    assert_string_equal(p.seen.record.unobserved, "malformed");
    path_close(&p);
}

static void a_stray_event_is_no_reason_to_give_up(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, "data: ping\n\n", 600);
    path_read(&p, TEXT("a"), 700);
    path_read(&p, DONE, 800);
    path_end(&p, 900);
    assert_string_equal(p.seen.record.unobserved, "");
    assert_int_equal(p.seen.ttft_ns, 600000);
    path_close(&p);
}

/* Servers that call their events something else: the first bytes tell, where a stream was asked
 * for. */
static void a_stream_under_another_name(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *request;
        const char *body;
        bool is_stream;
    } rows[] = {
        {"application/octet-stream", STREAM_BODY, TEXT("a") DONE, true},
        {"application/json", STREAM_BODY, TEXT("a") DONE, true},
        {"text/plain", STREAM_BODY, ": hi\n\n" TEXT("a") DONE, true},
        {"text/plain", STREAM_BODY,
         "\xef\xbb\xbf"
         "event: x\n" TEXT("a") DONE,
         true},
        {"application/json", STREAM_BODY, "{\"choices\":[]}", false},
        {"text/plain", STREAM_BODY, "data is what I have not", false},
        {"application/octet-stream", "{\"model\":\"m\"}", TEXT("a") DONE, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct path p;
        path_open(&p);
        path_send(&p, "openai-chat", rows[i].request);
        path_head(&p, 200, rows[i].type, 500);
        path_read(&p, rows[i].body, 600);
        path_end(&p, 900);
        assert_row(rows[i].body, p.seen.record.is_stream == rows[i].is_stream);
        assert_row(rows[i].body, (p.seen.record.ttft_ns >= 0) == rows[i].is_stream);
        assert_row(rows[i].body, p.seen.n_ttft == rows[i].is_stream);
        path_close(&p);
    }
}

/* What begins like an object and is none was meant for us: a few are passed over, many spoil it. */
static void a_stream_that_is_mostly_unreadable_is_malformed(void **state)
{
    (void)state;
    static const char broken[] = "data: {\"choices\":[{\"logprobs\":NaN}]}\n\n";
    for (int n_broken = 0; n_broken <= 4; n_broken++) {
        struct path p;
        path_open_stream(&p, STREAM_BODY);
        path_read(&p, TEXT("a"), 600);
        for (int i = 0; i < n_broken; i++)
            path_read(&p, broken, 610 + i * 10);
        path_read(&p, TEXT("b"), 700);
        path_read(&p, DONE, 800);
        path_end(&p, 900);
        bool is_spoilt = n_broken > 3; /* two of text and the end mark */
        assert_string_equal(p.seen.record.unobserved, is_spoilt ? "malformed" : "");
        path_close(&p);
    }
}

/* --- stamps, ids, stray calls --- */

static void stamps_keep_their_provenance(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    p.is_clock = true;
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") DONE, 1000);
    path_end(&p, 1100);
    assert_int_equal(p.seen.record.stamp_source, STAMP_CLOCK);
    path_stream(&p, STREAM_BODY);
    p.is_clock = false;
    struct stamp stepped = {.at = us(1000), .is_kernel = true, .is_clock_stepped = true};
    observe_tap.response_body(p.tap, SPAN(TEXT("a") DONE), stepped);
    path_end(&p, 1100);
    assert_int_equal(p.seen.record.stamp_source, STAMP_MIXED);
    assert_true(has_flag(&p, RECORD_CLOCK_STEPPED));
    path_close(&p);
}

static void stamps_out_of_order_are_counted(void **state)
{
    (void)state;
    int64_t before = stat_sum(STAT_STAMP_ORDER_VIOLATIONS);
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    path_read(&p, TEXT("b"), 900);
    path_read(&p, DONE, 1100);
    path_end(&p, 1200);
    assert_int_equal(p.seen.n_gaps, 0);
    assert_int_equal(stat_sum(STAT_STAMP_ORDER_VIOLATIONS), before + 1);
    path_close(&p);
}

static struct record record_of_head(const struct http1_head *head)
{
    struct path p;
    path_open(&p);
    path_begin(&p, head);
    path_end_as(&p, TAP_END_REFUSED, TAP_REASON_BAD_REQUEST, 100);
    assert_false(p.seen.was_started);
    assert_int_equal(p.seen.n_started, 0);
    path_close(&p);
    return p.seen.record;
}

static void ids_are_validated(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *id;
        const char *trace;
    } rows[] = {
        {"X-Request-ID", "abc-DEF_1.2", "abc-DEF_1.2", ""},
        {"x-request-id", "with space", "", ""},
        {"x-request-id", "", "", ""},
        {"x-request-id", "0123456789012345678901234567890123456789012345678901234567890123",
         "0123456789012345678901234567890123456789012345678901234567890123", ""},
        {"x-request-id", "01234567890123456789012345678901234567890123456789012345678901234", "",
         ""},
        {"x-request-id", "sk-\"quote", "", ""},
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "",
         "0af7651916cd43dd8448eb211c80319c"},
        {"traceparent", "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "",
         "0af7651916cd43dd8448eb211c80319c"},
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "", ""},
        {"traceparent", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "", ""},
        {"traceparent", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "", ""},
        {"traceparent", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "", ""},
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "", ""},
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c", "", ""},
        {"traceparent", "", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http1_head head = {.method = SPAN("POST"), .minor = 1, .n_fields = 1};
        head.fields[0] = (struct http1_field){span_cstr(rows[i].name), span_cstr(rows[i].value)};
        struct record r = record_of_head(&head);
        assert_row(rows[i].value, strcmp(r.client_request_id, rows[i].id) == 0);
        assert_row(rows[i].value, strcmp(r.trace_id, rows[i].trace) == 0);
    }
}

static void model_mismatch_tolerates_versions(void **state)
{
    (void)state;
    static const struct {
        const char *asked;
        const char *answered;
        bool is_mismatch;
    } rows[] = {
        {"gpt-4o", "gpt-4o", false},
        {"gpt-4o", "gpt-4o-2024-08-06", false},
        {"gpt-4o", "GPT-4O-2024-08-06", false},
        {"openai/gpt-4o", "gpt-4o-2024-08-06", false},
        {"llama3", "llama3:latest", false},
        {"llama3:8b", "llama3", false},
        {"mistral-small-latest", "mistral-small-2506", false},
        {"gpt-4", "gpt-4o", true},
        {"gpt-4o", "gpt-4o-mini", true},
        {"claude-3-5-sonnet", "claude-3-5-sonnet-v2@20241022", false},
        {"gpt-4o", "gpt-3.5-turbo", true},
        {"m", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[128];
        char event[128];
        struct path p;
        path_open(&p);
        (void)snprintf(body, sizeof(body), "{\"model\":\"%s\",\"stream\":true}", rows[i].asked);
        (void)snprintf(event, sizeof(event), "data: {\"model\":\"%s\",\"choices\":[]}\n\n",
                       rows[i].answered);
        path_stream(&p, body);
        path_read(&p, event, 600);
        path_read(&p, DONE, 700);
        path_end(&p, 800);
        assert_row(rows[i].answered, has_flag(&p, RECORD_MODEL_MISMATCH) == rows[i].is_mismatch);
        path_close(&p);
    }
}

static void a_last_event_that_nothing_closes_counts(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), 1000);
    path_read(&p,
              "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}",
              1200);
    path_end(&p, 5000);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_int_equal(p.seen.gaps_ns[0], 200000);     /* when its bytes came, not when the end did */
    assert_int_equal(p.seen.record.e2e_ns, 1100000); /* no end mark: the final chunk */
    path_close(&p);
}

static void bytes_behind_the_end_mark_are_ignored(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") FINISH("stop") DONE TEXT("late"), 1000);
    path_read(&p, TEXT("later") EVENT("{\"error\":{\"type\":\"x\"}}"), 2000);
    path_end(&p, 3000);
    assert_int_equal(p.seen.record.n_output_events, 1);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_int_equal(p.seen.record.e2e_ns, 900000);
    path_close(&p);
}

/* --- memory --- */

static void streamed_events_allocate_nothing(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 600);
    struct mem_count before = mem_count_total();
    for (int i = 0; i < 500; i++)
        path_read(&p, TEXT("token"), 1000 + i * 10);
    path_read(&p, USAGE(1, 500) DONE, 9000);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
    path_end(&p, 9000);
    /* the next exchange takes the block of the last */
    before = mem_count_total();
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") DONE, 1000);
    path_end(&p, 1100);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
    path_close(&p);
}

static int try_exchange(void *ctx)
{
    bool *is_cut = ctx;
    struct path p = {.n_attempts = 0};
    if (observer_new(&(struct observer_config){0}, &seen_ops, &p.seen, &p.observer) < 0)
        return -ENOMEM;
    int r = -ENOMEM;
    path_begin(&p, &path_post);
    if (p.tap) {
        path_plan(&p, "openai-chat", STREAM_BODY);
        path_attempt(&p, 150);
        path_head(&p, 200, "text/event-stream", 500);
        path_read(&p, TEXT("a"), 1000);
        path_read(&p, "data: {\"choices\":[{\"delta\":{\"cont", 1100); /* has to be kept */
        path_read(&p, "ent\":\"b\"}}]}\n\n", 1200);
        path_read(&p, DONE, 1300);
        path_end(&p, 1400);
        const struct record *rec = &p.seen.record;
        bool is_unobserved = strcmp(rec->unobserved, "no_memory") == 0;
        assert_true(is_unobserved || rec->unobserved[0] == '\0');
        assert_int_equal(rec->outcome, OUTCOME_OK);
        assert_int_equal(rec->ttft_ns, 900000); /* told before */
        assert_int_equal(p.seen.n_gaps, is_unobserved ? 0 : 1);
        *is_cut = *is_cut || is_unobserved;
        r = is_unobserved ? -ENOMEM : 0;
    }
    path_close(&p);
    return r;
}

static void without_memory_the_bytes_go_on(void **state)
{
    (void)state;
    bool is_cut = false;
    assert_true(memfail_each(try_exchange, &is_cut) >= 3);
    assert_true(is_cut);
}

/* --- in flight --- */

struct rows {
    int n;
    struct observe_inflight last;
};

static void note_row(void *ctx, const struct observe_inflight *f)
{
    struct rows *r = ctx;
    r->n++;
    r->last = *f;
}

static void inflight_shows_what_is_open(void **state)
{
    (void)state;
    struct path p;
    struct rows rows = {0};
    path_open(&p);
    observer_each_inflight(p.observer, note_row, &rows);
    assert_int_equal(rows.n, 0);
    path_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 600);
    path_read(&p, TEXT("a"), 700);
    path_read(&p, TEXT("b"), 900);
    observer_each_inflight(p.observer, note_row, &rows);
    assert_int_equal(rows.n, 1);
    assert_string_equal(rows.last.request_id, "gw-1");
    assert_string_equal(rows.last.model, "m");
    assert_string_equal(rows.last.upstream, "up");
    assert_string_equal(rows.last.endpoint, "chat_completions");
    assert_true(rows.last.is_stream);
    assert_int_equal(rows.last.t_accept.ns, us(0).ns);
    assert_int_equal(rows.last.t_first_token.ns, us(700).ns);
    assert_int_equal(rows.last.t_last_token.ns, us(900).ns);
    assert_int_equal(rows.last.n_output_events, 2);
    path_end_as(&p, TAP_END_DRAIN, TAP_REASON_DRAIN, 1000);
    rows.n = 0;
    observer_each_inflight(p.observer, note_row, &rows);
    assert_int_equal(rows.n, 0);
    path_close(&p);
}

struct watch {
    struct observer *observer;
    atomic_bool is_over;
};

static void *watch_inflight(void *arg)
{
    struct watch *w = arg;
    struct rows rows = {0};
    while (!atomic_load(&w->is_over))
        observer_each_inflight(w->observer, note_row, &rows);
    return NULL;
}

/* For the thread sanitizer: another thread looks while exchanges come and go. */
static void inflight_from_another_thread(void **state)
{
    (void)state;
    struct path p;
    pthread_t thread;
    path_open(&p);
    struct watch w = {.observer = p.observer};
    assert_int_equal(pthread_create(&thread, NULL, watch_inflight, &w), 0);
    for (int i = 0; i < 300; i++) {
        path_stream(&p, STREAM_BODY);
        path_read(&p, TEXT("a"), 700);
        path_read(&p, TEXT("b") DONE, 900);
        path_end(&p, 1000);
    }
    atomic_store(&w.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_stream),
        cmocka_unit_test(the_way_to_the_peers_and_whose_key_it_was),
        cmocka_unit_test(first_token_is_told_at_once),
        cmocka_unit_test(reads_that_cut_events_give_the_stamp_of_their_end),
        cmocka_unit_test(coalesced_events_have_no_gap),
        cmocka_unit_test(overhead_of_a_read_in_parts),
        cmocka_unit_test(blocked_gaps_are_not_the_engines),
        cmocka_unit_test(usage_twice_is_not_added),
        cmocka_unit_test(retry_forgets_the_earlier_answer),
        cmocka_unit_test(early_response_is_flagged),
        cmocka_unit_test(output_before_the_request_ended),
        cmocka_unit_test(reused_connection_has_no_connect_stage),
        cmocka_unit_test(whole_bodies),
        cmocka_unit_test(multi_choice_gives_no_gap_samples),
        cmocka_unit_test(unknown_paths_are_measured_at_http_level),
        cmocka_unit_test(answers_in_an_unknown_coding_are_not_read),
        cmocka_unit_test(an_event_over_the_limit_stops_the_clock),
        cmocka_unit_test(a_last_event_over_the_limit_is_lost_too),
        cmocka_unit_test(a_body_over_the_limit_is_not_read),
        cmocka_unit_test(nonsense_is_malformed),
        cmocka_unit_test(a_stray_event_is_no_reason_to_give_up),
        cmocka_unit_test(a_stream_that_is_mostly_unreadable_is_malformed),
        cmocka_unit_test(a_stream_under_another_name),
        cmocka_unit_test(stamps_keep_their_provenance),
        cmocka_unit_test(stamps_out_of_order_are_counted),
        cmocka_unit_test(ids_are_validated),
        cmocka_unit_test(model_mismatch_tolerates_versions),
        cmocka_unit_test(a_last_event_that_nothing_closes_counts),
        cmocka_unit_test(bytes_behind_the_end_mark_are_ignored),
        cmocka_unit_test(streamed_events_allocate_nothing),
        cmocka_unit_test(without_memory_the_bytes_go_on),
        cmocka_unit_test(inflight_shows_what_is_open),
        cmocka_unit_test(inflight_from_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
