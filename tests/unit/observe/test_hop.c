/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: a hop that holds the stream back is seen in the row, and only then.
 */
#include "path.h"

enum { EVENTS = 300, PIECE = 2048 };

static char stream[64 * 1024]; /* of EVENTS text events, terminated */
static size_t n_stream;

static void make_stream(const char *end)
{
    n_stream = 0;
    for (int i = 0; i < EVENTS; i++) {
        const char *text = i % 3 == 0   ? TEXT("a")
                           : i % 3 == 1 ? TEXT(" longer")
                                        : TEXT(" the longest of them");
        memcpy(stream + n_stream, text, strlen(text));
        n_stream += strlen(text);
    }
    memcpy(stream + n_stream, end, strlen(end) + 1);
    n_stream += strlen(end);
}

/* One read of n bytes at `from`, in so many parts. */
static void read_at(struct path *p, size_t from, size_t n, int n_parts, int64_t at)
{
    size_t part = n / (size_t)n_parts;
    for (int i = 0; i < n_parts; i++) {
        size_t begin = from + (size_t)i * part;
        size_t end = i + 1 < n_parts ? begin + part : from + n;
        observe_tap.response_body(p->tap, span_of(stream + begin, end - begin), stamp_us(p, at));
    }
    observe_tap.forwarded(p->tap, us(at + 20));
}

/* All of it as the hop hands it out: a piece every 100 ms. Returns when the last came. */
static int64_t read_in_pieces(struct path *p, int n_parts, bool is_paused)
{
    int64_t at = 1000;
    for (size_t i = 0; i < n_stream; i += PIECE, at += 100000) {
        if (is_paused)
            observe_tap.paused(p->tap, us(at - 50000));
        read_at(p, i, n_stream - i < PIECE ? n_stream - i : PIECE, n_parts, at);
        if (is_paused)
            observe_tap.resumed(p->tap, us(at + 10));
    }
    return at;
}

static void a_buffered_stream(void **state)
{
    (void)state;
    for (int n_parts = 1; n_parts <= 3; n_parts++) {
        struct path p;
        make_stream(FINISH("stop") USAGE(3, 300) DONE);
        path_open_stream(&p, STREAM_BODY);
        path_end(&p, read_in_pieces(&p, n_parts, false));
        assert_true(has_flag(&p, RECORD_BUFFERED_HOP));
        assert_int_equal(p.seen.record.buffer_bytes, PIECE);
        assert_int_equal(p.seen.record.n_output_events, EVENTS);
        assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
        path_close(&p);
    }
}

/* It need not have come to its end. */
static void a_buffered_stream_that_broke(void **state)
{
    struct path p;
    (void)state;
    make_stream("");
    path_open_stream(&p, STREAM_BODY);
    int64_t at = read_in_pieces(&p, 1, false);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, at);
    assert_true(has_flag(&p, RECORD_BUFFERED_HOP));
    path_close(&p);
}

/* Steps of several tokens, with or without a comment behind them. */
static void whole_events_are_no_buffer(void **state)
{
    (void)state;
    for (int i_row = 0; i_row < 2 * 12; i_row++) {
        int n = 1 + i_row / 2;
        struct path p;
        int64_t at = 1000;
        path_open_stream(&p, STREAM_BODY);
        for (int i = 0; i < EVENTS; i += n, at += 100000) {
            char text[4096] = "";
            for (int k = 0; k < n; k++)
                strcat(text, TEXT("abc"));
            if (i_row % 2 == 1)
                strcat(text, ": the step took 100 ms\n\n");
            path_read(&p, text, at);
        }
        path_read(&p, FINISH("stop") DONE, at);
        path_end(&p, at);
        assert_false(has_flag(&p, RECORD_BUFFERED_HOP));
        assert_int_equal(p.seen.record.buffer_bytes, 0);
        path_close(&p);
    }
}

static void a_slow_client_is_no_buffer(void **state)
{
    struct path p;
    (void)state;
    make_stream(FINISH("stop") DONE);
    path_open_stream(&p, STREAM_BODY);
    path_end(&p, read_in_pieces(&p, 1, true));
    assert_true(has_flag(&p, RECORD_CLIENT_LIMITED));
    assert_false(has_flag(&p, RECORD_BUFFERED_HOP));
    path_close(&p);
}

/* An earlier attempt's reads are forgotten with it, and what generates nothing has no pace. */
static void what_does_not_count(void **state)
{
    struct path p;
    (void)state;
    make_stream("");
    path_open_stream(&p, STREAM_BODY);
    int64_t at = read_in_pieces(&p, 1, false);
    path_attempt(&p, at);
    path_head(&p, 200, "text/event-stream", at + 100);
    path_read(&p, TEXT("a"), at + 5000);
    path_read(&p, FINISH("stop") DONE, at + 20000);
    path_end(&p, at + 20000);
    assert_false(has_flag(&p, RECORD_BUFFERED_HOP));

    path_begin(&p, &path_post);
    path_plan(&p, "none of ours", "{}");
    path_attempt(&p, 150);
    path_head(&p, 200, "text/event-stream", 500);
    path_end(&p, read_in_pieces(&p, 1, false));
    assert_false(has_flag(&p, RECORD_BUFFERED_HOP));
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffered_stream),
        cmocka_unit_test(a_buffered_stream_that_broke),
        cmocka_unit_test(whole_events_are_no_buffer),
        cmocka_unit_test(a_slow_client_is_no_buffer),
        cmocka_unit_test(what_does_not_count),
    };
    return cmocka_run_group_tests_name("observe/hop", tests, NULL, NULL);
}
