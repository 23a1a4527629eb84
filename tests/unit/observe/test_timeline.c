/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: whose timeline is kept, and what stands in it.
 */
#include "path.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "record/record.h"

/* The value of "timeline" in the row's line; empty: there is none. */
static const char *timeline_of(const struct path *p)
{
    static char text[64 * 1024];
    struct buf b;
    buf_init(&b, MIB);
    assert_int_equal(record_to_json(&p->seen.record, &b), 0);
    struct span json = buf_span(&b);
    struct span rest = span_from(json, span_find(json, SPAN("\"timeline\":")));
    if (rest.n > 0)
        rest = span_from(rest, sizeof("\"timeline\":") - 1);
    (void)span_copy(span_of(rest.p, rest.n > 0 ? span_find(rest, SPAN("]]")) + 2 : 0), text,
                    sizeof(text));
    buf_done(&b);
    return text;
}

static void three_arrivals(struct path *p)
{
    path_stream(p, STREAM_BODY);
    path_read(p, TEXT("a"), 1000);
    path_read(p, TEXT("b") TEXT("c"), 1250);
    path_read(p, TEXT("d"), 3000);
}
#define THREE_ARRIVALS "[[0.900,1,0],[1.150,2,0],[2.900,1,0]]"

static void good_and_fast_streams_keep_none(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    three_arrivals(&p);
    path_read(&p, FINISH("stop") DONE, 3100);
    path_end(&p, 3200);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_int_equal(p.seen.record.timeline.n, 0);
    assert_string_equal(timeline_of(&p), "");
    path_close(&p);
}

static void failed_streams_keep_theirs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *last; /* read before the end */
        enum tap_end end;
        enum outcome want;
    } rows[] = {
        {"cut", "", TAP_END_UPSTREAM_CUT, OUTCOME_UPSTREAM_CUT},
        {"truncated", "", TAP_END_COMPLETE, OUTCOME_TRUNCATED},
        {"client gone", "", TAP_END_CLIENT_GONE, OUTCOME_CLIENT_GONE_AFTER_FIRST},
        {"timeout", "", TAP_END_TIMEOUT, OUTCOME_TIMEOUT},
        {"error", EVENT("{\"error\":{\"type\":\"x\"}}"), TAP_END_COMPLETE, OUTCOME_STREAM_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct path p;
        path_open(&p);
        three_arrivals(&p);
        if (rows[i].last[0] != '\0')
            path_read(&p, rows[i].last, 3100);
        if (rows[i].end == TAP_END_COMPLETE)
            path_end(&p, 3200);
        else
            path_end_as(&p, rows[i].end, TAP_REASON_NONE, 3200);
        assert_row(rows[i].name, p.seen.record.outcome == rows[i].want);
        assert_string_equal(timeline_of(&p), THREE_ARRIVALS);
        path_close(&p);
    }
}

static void failed_before_any_output_is_none(void **state)
{
    (void)state;
    struct path p;
    path_open_sampling(&p, 1);
    path_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 1000);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 3200);
    assert_string_equal(timeline_of(&p), "");
    path_send(&p, "openai-chat", STREAM_BODY); /* an error instead of a stream */
    path_head(&p, 500, "application/json", 500);
    path_read(&p, "{\"error\":{}}", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(timeline_of(&p), "");
    path_close(&p);
}

static void every_nth_stream_is_a_sample(void **state)
{
    (void)state;
    struct path p;
    path_open_sampling(&p, 3);
    for (int i = 1; i <= 7; i++) {
        three_arrivals(&p);
        path_read(&p, FINISH("stop") DONE, 3100);
        path_end(&p, 3200);
        assert_string_equal(timeline_of(&p), i % 3 == 0 ? THREE_ARRIVALS : "");
        /* what is no stream does not count */
        path_send(&p, "openai-chat", "{\"model\":\"m\"}");
        path_head(&p, 200, "application/json", 500);
        path_read(&p, "{\"choices\":[]}", 600);
        path_end(&p, 700);
        assert_string_equal(timeline_of(&p), "");
    }
    path_close(&p);
}

static const int64_t S = 1000000;

/* An answer from first on; the exchange is over at end. */
static void run(struct path *p, const char *model, int64_t first, int64_t end)
{
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"model\":\"%s\",\"stream\":true}", model);
    path_stream(p, body);
    path_read(p, TEXT("a"), first);
    path_read(p, TEXT("b") FINISH("stop") DONE, first + 500);
    path_end(p, end);
}

static void slow_streams_keep_theirs(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    for (int i = 0; i < 200; i++) {
        run(&p, "m", 1000 + i, S);
        assert_false(has_flag(&p, RECORD_SLOW));
        assert_string_equal(timeline_of(&p), "");
    }
    run(&p, "m", 1100, 11 * S); /* which is when the threshold is looked at again */
    assert_false(has_flag(&p, RECORD_SLOW));
    run(&p, "m", 9000, 11 * S);
    assert_true(has_flag(&p, RECORD_SLOW));
    assert_string_equal(timeline_of(&p), "[[8.900,1,0],[9.400,1,0]]");
    run(&p, "other", 9000, 11 * S); /* a model of which nothing is known */
    assert_false(has_flag(&p, RECORD_SLOW));
    assert_string_equal(timeline_of(&p), "");
    path_close(&p);
}

static void tokens_stand_where_they_are_told(void **state)
{
    (void)state;
    static const char *const told = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],"
                                    "\"usage\":{\"completion_tokens\":%d}}\n\n";
    struct path p;
    path_open_sampling(&p, 1);
    path_stream(&p, STREAM_BODY);
    for (int i = 0; i < 3; i++) {
        char event[256];
        (void)snprintf(event, sizeof(event), told, 2 + 3 * i);
        path_read(&p, event, 1000 + 1000 * i);
    }
    path_read(&p, TEXT("a"), 4000);
    path_read(&p, FINISH("stop") DONE, 4100);
    path_end(&p, 4200);
    assert_string_equal(timeline_of(&p), "[[0.900,1,2],[1.900,1,3],[2.900,1,3],[3.900,1,0]]");
    path_close(&p);
}

/* Only the last attempt's: the row's stamps are of that, too. */
static void a_retry_begins_anew(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    three_arrivals(&p);
    path_attempt(&p, 5000);
    path_head(&p, 200, "text/event-stream", 6000);
    path_read(&p, TEXT("a"), 7000);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 8000);
    assert_string_equal(timeline_of(&p), "[[6.900,1,0]]");
    path_close(&p);
}

/* Output from before the request was complete: at its end, as there is no time before it. */
static void output_before_the_request_ended(void **state)
{
    (void)state;
    struct path p;
    path_open_sampling(&p, 1);
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
    path_read(&p, TEXT("b") FINISH("stop") DONE, 500);
    path_end(&p, 600);
    assert_string_equal(timeline_of(&p), "[[0.000,1,0],[0.100,1,0]]");
    path_close(&p);
}

static void long_streams_are_thinned(void **state)
{
    (void)state;
    struct path p;
    path_open_sampling(&p, 1);
    path_stream(&p, STREAM_BODY);
    for (int i = 0; i < 500; i++)
        path_read(&p, TEXT("a"), 20000 + i * 30000);
    path_read(&p, FINISH("stop") DONE, 16000000);
    path_end(&p, 16000100);
    struct timeline_entry e = {0};
    struct span bytes = p.seen.record.timeline;
    uint64_t n_events = 0;
    assert_true(has_flag(&p, RECORD_TIMELINE_THINNED));
    assert_true(bytes.n <= TIMELINE_BYTES);
    while (timeline_next(&bytes, &e))
        n_events += e.n_events;
    assert_int_equal(n_events, 500);
    assert_int_equal(e.offset_us, 20000 + 499 * 30000 - 100);
    three_arrivals(&p);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 8000);
    assert_false(has_flag(&p, RECORD_TIMELINE_THINNED));
    assert_string_equal(timeline_of(&p), THREE_ARRIVALS);
    path_close(&p);
}

/* Times from behind a lost event would be wrong. */
static void a_lost_event_leaves_none(void **state)
{
    (void)state;
    struct path p;
    size_t n = LIMIT_EVENT_BYTES + 100;
    char *big = malloc(n);
    assert_non_null(big);
    memset(big, 'x', n);
    path_open_sampling(&p, 1);
    three_arrivals(&p);
    path_read(&p, "data: ", 4000);
    path_read_bytes(&p, span_of(big, n), 4000);
    path_read(&p, "\n\n" TEXT("b"), 4100);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 8000);
    assert_string_equal(timeline_of(&p), "");
    path_close(&p);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_and_fast_streams_keep_none),
        cmocka_unit_test(failed_streams_keep_theirs),
        cmocka_unit_test(failed_before_any_output_is_none),
        cmocka_unit_test(every_nth_stream_is_a_sample),
        cmocka_unit_test(slow_streams_keep_theirs),
        cmocka_unit_test(tokens_stand_where_they_are_told),
        cmocka_unit_test(a_retry_begins_anew),
        cmocka_unit_test(output_before_the_request_ended),
        cmocka_unit_test(long_streams_are_thinned),
        cmocka_unit_test(a_lost_event_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
