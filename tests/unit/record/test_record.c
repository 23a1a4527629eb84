/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record: stages partition the whole request whatever stamps exist; durations by definition.
 */
#include "harness.h"

#include <string.h>

#include "base/attr.h"
#include "base/rng.h"
#include "record/record.h"

#define MS NS_PER_MS

static mono_t at_ms(int64_t ms)
{
    return (mono_t){NS_PER_S + ms * MS};
}

/* A streamed chat answer that had everything. */
static struct record whole(void)
{
    struct record r;
    record_init(&r);
    r.dialect = "openai-chat";
    r.endpoint = "chat_completions";
    r.is_stream = true;
    r.n_attempts = 1;
    r.status = r.upstream_status = 200;
    r.t_accept = at_ms(0);
    r.t_request = at_ms(1);
    r.t_routed = at_ms(3);
    r.t_admitted = at_ms(13);
    r.t_attempt = at_ms(13);
    r.t_connected = at_ms(15);
    r.t_sent = at_ms(16);
    r.t_headers = at_ms(26);
    r.t_first_byte = at_ms(27);
    r.t_first_event = at_ms(28);
    r.t_first_token = at_ms(101);
    r.t_first_answer = at_ms(151);
    r.t_last_token = at_ms(501);
    r.t_end_event = at_ms(503);
    r.t_done = at_ms(504);
    r.t_delivered = at_ms(506);
    return r;
}

static int64_t sum_of_stages(const struct record *r)
{
    int64_t sum = 0;
    for (int i = 0; i < STAGE_COUNT_; i++)
        sum += r->stage_ns[i] > 0 ? r->stage_ns[i] : 0;
    return sum;
}

struct expected_stage {
    enum stage stage;
    int64_t ms;
};

/* Exactly these stages, no other. */
static void assert_stages(const struct record *r, const struct expected_stage *want, size_t n)
{
    bool is_wanted[STAGE_COUNT_] = {false};
    for (size_t i = 0; i < n; i++) {
        is_wanted[want[i].stage] = true;
        if (r->stage_ns[want[i].stage] != want[i].ms * MS)
            fail_msg("%s is %lld ns, not %lld ms", stage_name(want[i].stage),
                     (long long)r->stage_ns[want[i].stage], (long long)want[i].ms);
    }
    for (int i = 0; i < STAGE_COUNT_; i++) {
        if (!is_wanted[i] && r->stage_ns[i] != -1)
            fail_msg("%s should be absent, is %lld ns", stage_name((enum stage)i),
                     (long long)r->stage_ns[i]);
    }
    assert_int_equal(sum_of_stages(r), r->total_ns);
}
#define ASSERT_STAGES(r, ...)                                                                      \
    do {                                                                                           \
        const struct expected_stage want_[] = {__VA_ARGS__};                                       \
        assert_stages((r), want_, ARRAY_LEN(want_));                                               \
    } while (0)

static void everything_happened(void **state)
{
    (void)state;
    struct record r = whole();
    assert_int_equal(record_derive(&r), 0);
    ASSERT_STAGES(&r, {STAGE_RECEIVE, 1}, {STAGE_ROUTE, 2}, {STAGE_QUEUE, 10}, {STAGE_CONNECT, 2},
                  {STAGE_SEND, 1}, {STAGE_WAIT, 10}, {STAGE_FIRST_EVENT, 2},
                  {STAGE_FIRST_TOKEN, 73}, {STAGE_REASONING, 50}, {STAGE_ANSWER, 350},
                  {STAGE_TAIL, 3}, {STAGE_DELIVERY, 2});
    assert_int_equal(r.total_ns, 506 * MS);
    assert_int_equal(r.queue_ns, 10 * MS);
    assert_int_equal(r.ttfb_ns, 26 * MS);
    assert_int_equal(r.ttfe_ns, 27 * MS);
    assert_int_equal(r.ttft_ns, 100 * MS);
    assert_int_equal(r.ttfa_ns, 150 * MS);
    assert_int_equal(r.upstream_ttft_ns, 85 * MS);
    assert_int_equal(r.e2e_ns, 502 * MS); /* to the end mark, not to the end of the connection */
    assert_int_equal(r.overhead_request_ns, (2 + 1) * MS);
    assert_int_equal(r.flags, 0);
}

/* Where keys are asked for, who it is has a stage of its own; what is open to everybody has none.
 */
static void whose_key_it_is_is_a_stage(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_identified = at_ms(2);
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.stage_ns[STAGE_AUTH], 1 * MS);
    assert_int_equal(r.stage_ns[STAGE_ROUTE], 1 * MS);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
    assert_int_equal(r.overhead_request_ns, (2 + 1) * MS); /* auth is a part of it */

    r = whole(); /* refused: the rest is the answer to that */
    r.t_identified = at_ms(2);
    r.t_routed = r.t_admitted = r.t_attempt = r.t_connected = r.t_sent = r.t_headers = MONO_NONE;
    r.t_first_byte = r.t_first_event = r.t_first_token = r.t_first_answer = MONO_NONE;
    r.t_last_token = r.t_end_event = r.t_done = MONO_NONE;
    r.t_delivered = at_ms(4);
    assert_int_equal(record_derive(&r), 0);
    ASSERT_STAGES(&r, {STAGE_RECEIVE, 1}, {STAGE_AUTH, 1}, {STAGE_ROUTE, 2});

    r = whole(); /* a body that is longer than the window: planned before it was all there */
    r.t_identified = at_ms(2);
    r.t_request = at_ms(15);
    r.flags = RECORD_WINDOW_EXCEEDED;
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.stage_ns[STAGE_AUTH], 0);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

static void reused_connection_and_free_queue_are_absent(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_admitted = r.t_routed;
    r.t_connected = r.t_admitted;
    r.t_first_answer = r.t_first_token;
    assert_int_equal(record_derive(&r), 0);
    ASSERT_STAGES(&r, {STAGE_RECEIVE, 1}, {STAGE_ROUTE, 2}, {STAGE_SEND, 13}, {STAGE_WAIT, 10},
                  {STAGE_FIRST_EVENT, 2}, {STAGE_FIRST_TOKEN, 73}, {STAGE_ANSWER, 400},
                  {STAGE_TAIL, 3}, {STAGE_DELIVERY, 2});
    assert_int_equal(r.queue_ns, 0); /* it has a queue time, of nothing */
}

static void retry_is_its_own_stage(void **state)
{
    (void)state;
    struct record r = whole();
    r.n_attempts = 2;
    r.t_attempt = at_ms(14);
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.stage_ns[STAGE_RETRY], 1 * MS);
    assert_int_equal(r.stage_ns[STAGE_CONNECT], 1 * MS);
    assert_int_equal(r.ttft_ns, 100 * MS);         /* includes the retry */
    assert_int_equal(r.upstream_ttft_ns, 85 * MS); /* does not */
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

static void early_response_has_no_times_from_sent(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_sent = at_ms(40); /* the answer began while the body was still going out */
    assert_int_equal(record_derive(&r), 0);
    assert_true(r.flags & RECORD_EARLY_RESPONSE);
    assert_int_equal(r.upstream_ttft_ns, -1);
    assert_int_equal(r.overhead_request_ns, -1);
    assert_int_equal(r.stage_ns[STAGE_WAIT], -1);
    assert_int_equal(r.stage_ns[STAGE_SEND], 11 * MS); /* until the head came */
    assert_int_equal(sum_of_stages(&r), r.total_ns);
    assert_int_equal(r.ttft_ns, 100 * MS); /* the request was complete: this one is fine */

    r = whole();
    r.t_sent = MONO_NONE; /* refused before everything was sent, as with 413 */
    (void)record_derive(&r);
    assert_true(r.flags & RECORD_EARLY_RESPONSE);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

/* Output before the request was complete has no TTFT, never a negative one (C14). */
static void ttft_is_never_negative(void **state)
{
    (void)state;
    struct record r = whole();
    r.flags = RECORD_WINDOW_EXCEEDED;
    r.t_request = at_ms(200);
    r.t_sent = at_ms(201);
    assert_int_equal(record_derive(&r), 0);
    assert_true(r.flags & RECORD_EARLY_RESPONSE);
    assert_int_equal(r.ttft_ns, -1);
    assert_int_equal(r.ttfe_ns, -1);
    assert_int_equal(r.ttfb_ns, -1);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

/* A body larger than the window is planned, connected and sent while it is still coming in. */
static void large_body_is_received_while_sent(void **state)
{
    (void)state;
    struct record r = whole();
    r.flags = RECORD_WINDOW_EXCEEDED;
    r.t_request = at_ms(18);
    r.t_sent = at_ms(19);
    assert_int_equal(record_derive(&r), 0);
    assert_false(r.flags & RECORD_EARLY_RESPONSE);
    assert_int_equal(r.stage_ns[STAGE_RECEIVE], 18 * MS);
    assert_int_equal(r.stage_ns[STAGE_ROUTE], 0);
    assert_int_equal(r.stage_ns[STAGE_SEND], 1 * MS);
    assert_int_equal(r.overhead_request_ns,
                     1 * MS); /* t_sent - max(admitted, connected, request) */
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

/* Whatever was under way gets the time up to the end. */
static void the_rest_belongs_to_what_was_under_way(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n_stamps; /* in order, of those below */
        enum stage stage;
    } rows[] = {
        {"in the request", 1, STAGE_RECEIVE},
        {"planning", 2, STAGE_ROUTE},
        {"in the queue", 3, STAGE_QUEUE},
        {"connecting", 4, STAGE_CONNECT},
        {"sending", 5, STAGE_SEND},
        {"waiting", 6, STAGE_WAIT},
        {"before events", 7, STAGE_FIRST_EVENT},
        {"before a token", 8, STAGE_FIRST_TOKEN},
        {"in the answer", 10, STAGE_TAIL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct record r = whole();
        mono_t *stamps[] = {&r.t_accept,      &r.t_request,      &r.t_routed,    &r.t_admitted,
                            &r.t_connected,   &r.t_sent,         &r.t_headers,   &r.t_first_event,
                            &r.t_first_token, &r.t_first_answer, &r.t_last_token};
        for (size_t k = (size_t)rows[i].n_stamps; k < ARRAY_LEN(stamps); k++)
            *stamps[k] = MONO_NONE;
        if (rows[i].n_stamps == 10)
            r.t_last_token = at_ms(300);
        r.t_first_byte = r.t_end_event = r.t_done = MONO_NONE;
        assert_int_equal(record_derive(&r), 0);
        assert_row(rows[i].name, r.stage_ns[rows[i].stage] > 0);
        assert_row(rows[i].name, sum_of_stages(&r) == r.total_ns);
        for (int s = (int)rows[i].stage + 1; s < STAGE_COUNT_; s++)
            assert_row(rows[i].name, r.stage_ns[s] == -1);
    }
}

static void non_stream_has_no_token_times(void **state)
{
    (void)state;
    struct record r = whole();
    r.is_stream = false;
    r.t_first_event = r.t_first_token = r.t_first_answer = r.t_last_token = MONO_NONE;
    r.t_end_event = MONO_NONE;
    assert_int_equal(record_derive(&r), 0);
    ASSERT_STAGES(&r, {STAGE_RECEIVE, 1}, {STAGE_ROUTE, 2}, {STAGE_QUEUE, 10}, {STAGE_CONNECT, 2},
                  {STAGE_SEND, 1}, {STAGE_WAIT, 10}, {STAGE_ANSWER, 478}, {STAGE_DELIVERY, 2});
    assert_int_equal(r.ttft_ns, -1);
    assert_int_equal(r.e2e_ns, 503 * MS);
}

static void stream_without_output_ends_in_its_tail(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_first_token = r.t_first_answer = r.t_last_token = MONO_NONE;
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.stage_ns[STAGE_FIRST_TOKEN], -1);
    assert_int_equal(r.stage_ns[STAGE_TAIL], 476 * MS);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

static void reasoning_only_has_no_answer_stage(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_first_answer = MONO_NONE;
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.stage_ns[STAGE_REASONING], 400 * MS);
    assert_int_equal(r.stage_ns[STAGE_ANSWER], -1);
    assert_int_equal(r.ttfa_ns, -1);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

static void wrong_order_is_clamped_and_counted(void **state)
{
    (void)state;
    struct record r = whole();
    r.t_first_token = at_ms(20); /* before the head */
    assert_int_equal(record_derive(&r), 1);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
    r = whole();
    r.t_delivered = at_ms(400); /* before the end of the answer */
    assert_true(record_derive(&r) > 0);
    assert_int_equal(sum_of_stages(&r), r.total_ns);
}

/* Random subsets of stamps, in order and out of order, with retries and flags. */
static void stages_always_partition(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (int round = 0; round < 200000; round++) {
        struct record r;
        record_init(&r);
        mono_t *stamps[] = {&r.t_request,     &r.t_routed,      &r.t_admitted,     &r.t_attempt,
                            &r.t_connected,   &r.t_sent,        &r.t_headers,      &r.t_first_byte,
                            &r.t_first_event, &r.t_first_token, &r.t_first_answer, &r.t_last_token,
                            &r.t_end_event,   &r.t_done,        &r.t_delivered};
        bool is_shuffled = rng_below(&rng, 3) == 0;
        int64_t ns = NS_PER_S;
        r.t_accept.ns = ns;
        for (size_t i = 0; i < ARRAY_LEN(stamps); i++) {
            ns += rng_below(&rng, 4) == 0 ? 0 : (int64_t)rng_below(&rng, 1000);
            if (rng_below(&rng, 4) == 0)
                continue;
            stamps[i]->ns = is_shuffled ? NS_PER_S - 500 + (int64_t)rng_below(&rng, 9000) : ns;
        }
        r.is_stream = rng_below(&rng, 2) == 0;
        r.n_attempts = (uint32_t)rng_below(&rng, 4);
        r.flags = rng_below(&rng, 2) == 0 ? RECORD_WINDOW_EXCEEDED : 0;
        int n_clamped = record_derive(&r);
        assert_true(r.total_ns >= 0);
        if (sum_of_stages(&r) != r.total_ns)
            fail_msg("round %d: stages sum to %lld of %lld ns", round, (long long)sum_of_stages(&r),
                     (long long)r.total_ns);
        if (!is_shuffled)
            assert_int_equal(n_clamped, 0);
        const int64_t durations[] = {
            r.queue_ns, r.ttfb_ns, r.ttfe_ns,          r.ttft_ns,
            r.ttfa_ns,  r.e2e_ns,  r.upstream_ttft_ns, r.overhead_request_ns};
        for (size_t i = 0; i < ARRAY_LEN(durations); i++)
            assert_true(durations[i] >= -1);
    }
}

static void nothing_known_gives_nothing(void **state)
{
    (void)state;
    struct record r;
    record_init(&r);
    assert_int_equal(record_derive(&r), 0);
    assert_int_equal(r.total_ns, -1);
    assert_int_equal(sum_of_stages(&r), 0);
}

static void no_first_token_has_a_reason(void **state)
{
    (void)state;
    static const struct {
        enum outcome outcome;
        enum no_first_token reason;
    } rows[] = {
        {OUTCOME_OK, NO_FIRST_TOKEN_NO_OUTPUT},
        {OUTCOME_CLIENT_GONE_BEFORE_FIRST, NO_FIRST_TOKEN_CANCELED},
        {OUTCOME_TIMEOUT, NO_FIRST_TOKEN_TIMEOUT},
        {OUTCOME_HTTP_ERROR, NO_FIRST_TOKEN_ERROR},
        {OUTCOME_STREAM_ERROR, NO_FIRST_TOKEN_ERROR},
        {OUTCOME_CONNECT_FAILED, NO_FIRST_TOKEN_ERROR},
        {OUTCOME_TRUNCATED, NO_FIRST_TOKEN_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum no_first_token reason;
        struct record r = whole();
        r.outcome = rows[i].outcome;
        assert_false(record_has_no_first_token(&r, &reason)); /* it has one */
        r.t_first_token = MONO_NONE;
        assert_true(record_has_no_first_token(&r, &reason));
        assert_row(outcome_name(rows[i].outcome), reason == rows[i].reason);
        r.is_stream = false;
        assert_false(record_has_no_first_token(&r, &reason));
    }
    enum no_first_token reason;
    struct record r = whole();
    r.t_first_token = MONO_NONE;
    memcpy(r.unobserved, "content_coded", sizeof("content_coded"));
    assert_true(record_has_no_first_token(&r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_UNOBSERVED);
}

static void every_enum_has_names(void **state)
{
    (void)state;
    for (int i = 0; i < OUTCOME_COUNT_; i++)
        assert_string_not_equal(outcome_name((enum outcome)i), "unknown");
    for (int i = 0; i < NO_FIRST_TOKEN_COUNT_; i++)
        assert_string_not_equal(no_first_token_name((enum no_first_token)i), "unknown");
    for (int i = 0; i < STAGE_COUNT_; i++)
        assert_string_not_equal(stage_name((enum stage)i), "unknown");
    for (int i = 0; i < RECORD_FLAG_BITS; i++)
        assert_string_not_equal(record_flag_name(i), "unknown");
    assert_string_equal(record_flag_name(RECORD_FLAG_BITS), "unknown");
    assert_string_equal(outcome_name((enum outcome)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_happened),
        cmocka_unit_test(whose_key_it_is_is_a_stage),
        cmocka_unit_test(reused_connection_and_free_queue_are_absent),
        cmocka_unit_test(retry_is_its_own_stage),
        cmocka_unit_test(early_response_has_no_times_from_sent),
        cmocka_unit_test(ttft_is_never_negative),
        cmocka_unit_test(large_body_is_received_while_sent),
        cmocka_unit_test(the_rest_belongs_to_what_was_under_way),
        cmocka_unit_test(non_stream_has_no_token_times),
        cmocka_unit_test(stream_without_output_ends_in_its_tail),
        cmocka_unit_test(reasoning_only_has_no_answer_stage),
        cmocka_unit_test(wrong_order_is_clamped_and_counted),
        cmocka_unit_test(stages_always_partition),
        cmocka_unit_test(nothing_known_gives_nothing),
        cmocka_unit_test(no_first_token_has_a_reason),
        cmocka_unit_test(every_enum_has_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
