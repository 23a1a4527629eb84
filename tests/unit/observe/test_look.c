/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/look: who is stalled right now and what waits for an upstream, at exact times.
 */
#include "path.h"

#include "base/stat.h"

#define MS INT64_C(1000) /* in the microseconds of path.h */
#define S  (1000 * MS)

struct stalls {
    int n;
    const void *exchange; /* the last one told */
    int64_t silent_ns;
};

static void on_stalled(void *ctx, struct exchange *x, enum look_finding what, int64_t silent_ns)
{
    struct stalls *s = ctx;
    assert_int_equal(what, LOOK_STALLED);
    s->n++;
    s->exchange = x;
    s->silent_ns = silent_ns;
}

/* The stalls of one look. */
static struct stalls look(struct path *p, int64_t at)
{
    struct stalls s = {0};
    look_around(p->observer, us(at), on_stalled, &s);
    assert_int_equal(stat_sum(STAT_STREAMS_STALLED), s.n);
    return s;
}

static void get_row(void *ctx, const struct observe_inflight *f)
{
    *(struct observe_inflight *)ctx = *f;
}

static struct observe_inflight row_of(struct path *p)
{
    struct observe_inflight row = {0};
    observer_each_inflight(p->observer, get_row, &row);
    return row;
}

/* 21 tokens, step apart, the last at the time returned. */
static int64_t some_tokens(struct path *p, int64_t from, int64_t step)
{
    for (int i = 0; i <= 20; i++)
        path_read(p, TEXT("a"), from + i * step);
    return from + 20 * step;
}

static void leave(struct path *p, int64_t at)
{
    path_end_as(p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, at);
    assert_int_equal(stat_sum(STAT_STREAMS_STALLED), 0);
}

/* One of several: what the sink is told belongs to the first. */
static void end_one(struct path *p, int64_t at)
{
    struct tap_finish f = {.at = us(at), .end = TAP_END_CLIENT_GONE, .n_attempts = p->n_attempts};
    observe_tap.end(p->tap, &f);
    p->tap = NULL;
}

static void a_stall_comes_and_goes(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    assert_int_equal(look(&p, 600).n, 0);
    int64_t last = some_tokens(&p, MS, 20 * MS);
    assert_int_equal(look(&p, last + 10).n, 0);
    assert_int_equal(look(&p, last + S).n, 0); /* over a second, not at it */
    assert_false(mono_is_set(row_of(&p).t_stalled));

    struct stalls s = look(&p, last + S + 1);
    assert_int_equal(s.n, 1);
    assert_ptr_equal(s.exchange, &p);
    assert_int_equal(s.silent_ns, NS_PER_S + NS_PER_US);
    assert_int_equal(row_of(&p).t_stalled.ns, us(last).ns);
    s = look(&p, last + 5 * S);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 5 * NS_PER_S);
    path_read(&p, ": still here\n\n", last + 5 * S); /* no output */
    assert_int_equal(look(&p, last + 6 * S).n, 1);

    path_read(&p, TEXT("b"), last + 7 * S);
    assert_int_equal(look(&p, last + 7 * S + 100).n, 0);
    assert_false(mono_is_set(row_of(&p).t_stalled));
    /* Going on and silent again between two looks. */
    s = look(&p, last + 9 * S);
    assert_int_equal(s.n, 1);
    path_read(&p, TEXT("b"), last + 9 * S + 500 * MS);
    s = look(&p, last + 11 * S);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 1500 * NS_PER_MS);
    assert_int_equal(row_of(&p).t_stalled.ns, us(last + 9 * S + 500 * MS).ns);
    path_read(&p, FINISH("stop") DONE, last + 12 * S);
    assert_int_equal(look(&p, last + 30 * S).n, 0); /* its connection is open, its answer over */
    path_end(&p, last + 30 * S);
    assert_true(has_flag(&p, RECORD_STALLED));
    assert_int_equal(p.seen.record.timing.n_stalls, 2);
    path_close(&p);
}

#define BEGINS "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""

/* An image or a long call may take its time on the wire: its bytes are no silence. */
static void an_event_that_is_still_coming(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, MS, 20 * MS);
    path_read(&p, BEGINS, last + 500 * MS);
    for (int i = 2; i <= 10; i++) {
        path_read(&p, "more of it", last + i * 500 * MS);
        assert_int_equal(look(&p, last + i * 500 * MS + 400 * MS).n, 0);
    }
    last += 5 * S;
    struct stalls s = look(&p, last + 1200 * MS);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 1200 * NS_PER_MS);
    path_read(&p, "and more", last + 1500 * MS);
    assert_int_equal(look(&p, last + 2 * S).n, 0);
    path_read(&p, "\"}}]}\n\n", last + 2 * S);
    path_read(&p, ": a comment\n\n", last + 3 * S);
    s = look(&p, last + 4 * S);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 2 * NS_PER_S);
    leave(&p, last + 5 * S);
    path_close(&p);
}

/* What is not understood may be output; an empty event is a sign of life at best. */
static void events_that_cannot_be_read(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, MS, 20 * MS);
    for (int i = 1; i <= 10; i++) {
        path_read(&p, EVENT("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":NaN}]}"),
                  last + i * 500 * MS);
        assert_int_equal(look(&p, last + i * 500 * MS + 400 * MS).n, 0);
    }
    last += 5 * S;
    path_read(&p, "data:\n\n", last + 500 * MS);
    struct stalls s = look(&p, last + 1200 * MS);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 1200 * NS_PER_MS);
    leave(&p, last + 5 * S);
    path_close(&p);
}

static void slow_streams_may_take_ten_gaps(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, S, 500 * MS);
    assert_int_equal(look(&p, last + 4900 * MS).n, 0);
    assert_int_equal(look(&p, last + 5200 * MS).n, 1); /* quantiles are off by up to 1.1 % */
    leave(&p, last + 6 * S);
    /* No gap at all yet: a second. */
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a"), S);
    assert_int_equal(look(&p, 2 * S).n, 0);
    assert_int_equal(look(&p, 2 * S + 1).n, 1);
    leave(&p, 3 * S);
    path_close(&p);
}

static void what_is_not_stalled(void **state)
{
    struct path p;
    (void)state;
    /* No first token: only a role, or nothing. */
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, MS);
    assert_int_equal(look(&p, 100 * S).n, 0);
    leave(&p, 100 * S);
    assert_false(has_flag(&p, RECORD_STALLED));

    /* A whole answer. */
    path_send(&p, "openai-chat", "{\"model\":\"m\"}");
    assert_int_equal(look(&p, 100 * S).n, 0);
    path_head(&p, 200, "application/json", 100 * S);
    assert_int_equal(look(&p, 200 * S).n, 0);
    leave(&p, 200 * S);

    /* No dialect: nobody knows what output is. */
    path_begin(&p, &path_post);
    path_plan(&p, "none of ours", "{}");
    path_attempt(&p, 150);
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, TEXT("a"), MS);
    assert_int_equal(look(&p, 100 * S).n, 0);
    leave(&p, 100 * S);

    /* A new attempt has no token of its own. */
    path_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, MS, MS);
    assert_int_equal(look(&p, last + 2 * S).n, 1);
    path_attempt(&p, last + 3 * S);
    assert_int_equal(look(&p, last + 10 * S).n, 0);
    leave(&p, last + 11 * S);
    path_close(&p);
}

static void a_client_that_does_not_read(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, MS, 20 * MS);
    observe_tap.paused(p.tap, us(last + MS));
    assert_int_equal(look(&p, last + 60 * S).n, 0);
    observe_tap.resumed(p.tap, us(last + 70 * S));
    /* From there on the engine is answerable again. */
    assert_int_equal(look(&p, last + 71 * S).n, 0);
    struct stalls s = look(&p, last + 72 * S);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.silent_ns, 2 * NS_PER_S);
    /* Stalled, and then the client's turn again. */
    observe_tap.paused(p.tap, us(last + 73 * S));
    assert_int_equal(look(&p, last + 80 * S).n, 0);
    observe_tap.resumed(p.tap, us(last + 90 * S)); /* as at every end */
    leave(&p, last + 90 * S);
    assert_false(has_flag(&p, RECORD_STALLED));
    path_close(&p);
}

static void a_stream_that_ends_stalled_has_the_flag(void **state)
{
    struct path p;
    (void)state;
    path_open_stream(&p, STREAM_BODY);
    int64_t last = some_tokens(&p, MS, 20 * MS);
    assert_int_equal(look(&p, last + 2 * S).n, 1);
    path_end_as(&p, TAP_END_TIMEOUT, TAP_REASON_STALLED, last + 3 * S);
    assert_int_equal(stat_sum(STAT_STREAMS_STALLED), 0);
    assert_int_equal(p.seen.record.outcome, OUTCOME_STALLED);
    assert_true(has_flag(&p, RECORD_STALLED));
    assert_int_equal(p.seen.record.timing.n_stalls, 0); /* a gap has two ends */
    path_close(&p);
}

/* The callback may end the exchange that it is told. */
static struct path cut[3];

static void cut_it(void *ctx, struct exchange *x, enum look_finding what, int64_t silent_ns)
{
    struct path *p = (struct path *)(void *)x;
    struct tap_finish f = {
        .at = us(100 * S), .end = TAP_END_TIMEOUT, .reason = TAP_REASON_STALLED, .n_attempts = 1};
    assert_int_equal(what, LOOK_STALLED);
    assert_true(silent_ns > NS_PER_S);
    observe_tap.end(p->tap, &f);
    p->tap = NULL;
    ++*(int *)ctx;
}

static void exchanges_end_during_a_look(void **state)
{
    (void)state;
    for (int kept = 0; kept <= 3; kept++) { /* 3: none */
        int n = 0;
        path_open(&cut[0]);
        for (int i = 0; i < 3; i++) {
            cut[i].observer = cut[0].observer;
            path_stream(&cut[i], STREAM_BODY);
            int64_t last = some_tokens(&cut[i], i == kept ? 99 * S : MS, MS);
            assert_true(last < 100 * S);
        }
        look_around(cut[0].observer, us(100 * S), cut_it, &n);
        assert_int_equal(n, kept < 3 ? 2 : 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(cut[i].tap != NULL, i == kept);
            if (cut[i].tap)
                end_one(&cut[i], 101 * S);
        }
        assert_int_equal(stat_sum(STAT_STREAMS_STALLED), 0);
        path_close(&cut[0]);
    }
}

/* --- what waits --- */

static struct observe_waiting waiting_at(struct path *p, int64_t at, size_t upstream)
{
    struct observe_waiting w[TAP_UPSTREAMS_MAX];
    look_around(p->observer, us(at), NULL, NULL);
    look_waiting(p->observer, w, TAP_UPSTREAMS_MAX);
    for (size_t i = 0; i < TAP_UPSTREAMS_MAX; i++)
        assert_int_equal(w[i].t_look.ns, us(at).ns);
    return w[upstream];
}

static void check_waiting(struct observe_waiting w, uint32_t n, uint32_t n_streams, int64_t oldest,
                          int64_t heard)
{
    assert_int_equal(w.n, n);
    assert_int_equal(w.n_streams, n_streams);
    assert_int_equal(w.t_oldest.ns, oldest < 0 ? 0 : us(oldest).ns);
    assert_int_equal(w.t_heard.ns, heard < 0 ? 0 : us(heard).ns);
}

static void what_waits(void **state)
{
    struct path p;
    struct path q;
    struct observe_waiting none[1];
    (void)state;
    path_open(&p);
    look_waiting(p.observer, none, 1);
    assert_false(mono_is_set(none[0].t_look));
    check_waiting(waiting_at(&p, 10, 0), 0, 0, -1, -1);
    path_request(&p, "openai-chat", STREAM_BODY);
    check_waiting(waiting_at(&p, 120, 0), 0, 0, -1, -1); /* not sent yet */
    path_attempt(&p, 150);
    check_waiting(waiting_at(&p, 200, 0), 1, 1, 150, -1);

    q = (struct path){.observer = p.observer, .upstream = 7};
    path_send(&q, "openai-chat", "{\"model\":\"m\"}");
    check_waiting(waiting_at(&p, 300, 0), 1, 1, 150, -1);
    check_waiting(waiting_at(&p, 300, 7), 1, 0, 150, -1);

    /* What a server sends while its engine hangs is no sign of life. */
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, ": ping\n\n" ROLE, 600);
    check_waiting(waiting_at(&p, 650, 0), 1, 1, 150, -1);
    path_read(&p, TEXT("a"), 700);
    check_waiting(waiting_at(&p, 800, 0), 1, 1, 150, 700);
    observe_tap.paused(p.tap, us(810));
    check_waiting(waiting_at(&p, 820, 0), 0, 0, -1, 700);
    observe_tap.resumed(p.tap, us(830));
    check_waiting(waiting_at(&p, 840, 0), 1, 1, 150, 700);
    path_read(&p, TEXT("a") FINISH("stop") DONE, 900);
    check_waiting(waiting_at(&p, 950, 0), 0, 0, -1, 900); /* behind the end mark nothing is due */
    path_end(&p, 1000);
    check_waiting(waiting_at(&p, 1100, 0), 0, 0, -1, 900);

    /* A new attempt begins its wait anew; an error is no sign of life, a whole answer is. */
    path_head(&q, 422, "application/json", 1200);
    path_read(&q, "{}", 1210);
    path_attempt(&q, 1300);
    check_waiting(waiting_at(&p, 1400, 7), 1, 0, 1300, -1);
    path_head(&q, 200, "application/json", 1500);
    check_waiting(waiting_at(&p, 1510, 7), 1, 0, 1300, -1);
    path_read(&q, "{", 1520);
    check_waiting(waiting_at(&p, 1530, 7), 1, 0, 1300, 1520);
    path_read(&q, "}", 1540);
    observe_tap.response_end(q.tap, stamp_us(&q, 1550));
    check_waiting(waiting_at(&p, 1560, 7), 0, 0, -1, 1550);
    end_one(&q, 1570);
    check_waiting(waiting_at(&p, 1600, 7), 0, 0, -1, 1550);
    check_waiting(waiting_at(&p, 1700, 0), 0, 0, -1, 900);
    path_close(&p);
}

/* Nor does a list of models wait for the engine, or tell of it. */
static void what_has_no_dialect(void **state)
{
    struct path p;
    (void)state;
    path_open(&p);
    path_request(&p, "none of ours", "{}");
    path_attempt(&p, 150);
    check_waiting(waiting_at(&p, 200, 0), 0, 0, -1, -1);
    path_head(&p, 200, "application/json", 300);
    path_read(&p, "{}", 400);
    check_waiting(waiting_at(&p, 500, 0), 0, 0, -1, -1);
    path_end(&p, 600);
    check_waiting(waiting_at(&p, 700, 0), 0, 0, -1, -1);
    path_close(&p);
}

/* Output that cannot be read still comes from somewhere. */
static void output_that_is_not_seen(void **state)
{
    struct path p;
    struct http1_head head = {.status = 200, .framing = HTTP1_BODY_CHUNKED, .n_fields = 2};
    (void)state;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    head.fields[0] = (struct http1_field){SPAN("content-type"), SPAN("text/event-stream")};
    head.fields[1] = (struct http1_field){SPAN("content-encoding"), SPAN("none of ours")};
    observe_tap.response_head(p.tap, &head, stamp_us(&p, 500));
    path_read(&p, "???", 600);
    check_waiting(waiting_at(&p, 700, 0), 1, 1, 150, 600);
    path_end(&p, 800);
    path_close(&p);
}

/* The oldest is the one that was sent first, whoever came first. */
static void the_oldest(void **state)
{
    struct path p;
    struct path q;
    (void)state;
    path_open(&p);
    q = (struct path){.observer = p.observer};
    path_request(&p, "openai-chat", STREAM_BODY);
    path_send(&q, "openai-chat", STREAM_BODY);
    path_attempt(&p, 5000);
    check_waiting(waiting_at(&p, 6000, 0), 2, 2, 150, -1);
    end_one(&q, 6500);
    check_waiting(waiting_at(&p, 7000, 0), 1, 1, 5000, -1);
    end_one(&p, 8000);
    path_close(&p);
}

/* An answer that was over before the request was sent whole leaves nothing to wait for. */
static void an_early_answer(void **state)
{
    struct path p;
    (void)state;
    path_open(&p);
    path_request(&p, "openai-chat", STREAM_BODY);
    observe_tap.attempt(p.tap, &(struct tap_attempt){.at = us(130), .number = 1});
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, TEXT("a") DONE, 600);
    observe_tap.sent(p.tap, us(700));
    check_waiting(waiting_at(&p, 800, 0), 0, 0, -1, 600);
    p.n_attempts = 1;
    path_end(&p, 900);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_comes_and_goes),
        cmocka_unit_test(an_event_that_is_still_coming),
        cmocka_unit_test(events_that_cannot_be_read),
        cmocka_unit_test(slow_streams_may_take_ten_gaps),
        cmocka_unit_test(what_is_not_stalled),
        cmocka_unit_test(a_client_that_does_not_read),
        cmocka_unit_test(a_stream_that_ends_stalled_has_the_flag),
        cmocka_unit_test(exchanges_end_during_a_look),
        cmocka_unit_test(what_waits),
        cmocka_unit_test(what_has_no_dialect),
        cmocka_unit_test(output_that_is_not_seen),
        cmocka_unit_test(the_oldest),
        cmocka_unit_test(an_early_answer),
    };
    return cmocka_run_group_tests_name("observe/look", tests, NULL, NULL);
}
