/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: what engines tell about themselves: tokens with each event, and their own times.
 */
#include "path.h"

#include <math.h>
#include <stdio.h>

/* Usage with each event, as engines tell it that count as they go. */
#define COUNT(n) "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":" #n "}"
#define COUNTED(t, n)                                                                              \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}]," COUNT(n) "}")
#define LAST(n)                                                                                    \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]," COUNT(n) "}")
#define ROLE_COUNTED                                                                               \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]," COUNT(0) "}")

static void assert_itl(const struct seen *s, int i, double us, uint64_t n_tokens)
{
    assert_true(i < s->n_itl);
    assert_int_equal(s->itl[i].n_tokens, n_tokens);
    if (fabs((double)s->itl[i].ns - us * 1e3) > us * 1e3 * 0.015) /* the histogram's exactness */
        fail_msg("sample %d is %lld ns, not %g us", i, (long long)s->itl[i].ns, us);
}

/* Steps of 20 ms with 1, 4, 2 and 5 tokens, as speculative decoding has them. */
static void counts_per_event_are_itls_weights(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE_COUNTED, 1000);
    path_read(&p, COUNTED("a", 3), 100000);
    path_read(&p, COUNTED("b", 4), 120000);
    path_read(&p, COUNTED("c", 8), 140000);
    path_read(&p, COUNTED("d", 10), 160000);
    path_read(&p, COUNTED("e", 12) COUNTED("f", 15), 180000); /* one arrival of five */
    path_read(&p, LAST(15) USAGE(7, 15) DONE, 180100);
    path_end(&p, 180200);
    assert_int_equal(p.seen.n_itl, 4);
    assert_itl(&p.seen, 0, 4000, 5);
    assert_itl(&p.seen, 1, 5000, 4);
    assert_itl(&p.seen, 2, 10000, 2);
    assert_itl(&p.seen, 3, 20000, 1);
    assert_int_equal(p.seen.record.completion_tokens, 15);
    assert_int_equal(p.seen.record.timing.tpot_ns, 80000000 / 14 + 1); /* rounded */
    path_close(&p);
}

/* Tokens that came in events without output, such as half a character, are those of the next. */
static void tokens_without_output_are_of_the_next_event(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, COUNTED("a", 1), 10000);
    path_read(&p, COUNTED("", 2), 20000);
    path_read(&p, COUNTED("", 3), 30000);
    path_read(&p, COUNTED("b", 4), 40000);
    path_read(&p, LAST(5) DONE, 50000); /* the end's own token has no arrival */
    path_end(&p, 50100);
    assert_int_equal(p.seen.n_itl, 1);
    assert_itl(&p.seen, 0, 10000, 3);
    path_close(&p);
}

/* No request has them; ITL would get as many samples, and estimates a ratio of their size. */
static void counts_that_cannot_be(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, COUNTED("a", 1), 10000);
    path_read(&p, COUNTED("b", 9223372036854775807), 20000); /* as if it told none */
    path_read(&p, COUNTED("c", 3), 30000);
    path_read(&p, LAST(9223372036854775807) DONE, 30010);
    path_end(&p, 30100);
    assert_int_equal(p.seen.n_itl, 1);
    assert_itl(&p.seen, 0, 10000, 2);
    assert_int_equal(p.seen.record.completion_tokens, -1);
    assert_int_equal(p.seen.record.prompt_tokens, 7);
    assert_int_equal(p.seen.record.raw_completion_tokens, INT64_MAX);
    assert_true(has_flag(&p, RECORD_USAGE_ANOMALY));
    assert_int_equal(p.seen.record.timing.tpot_status, TPOT_NO_USAGE);

    path_stream(&p, STREAM_BODY); /* cut: no estimate comes of it */
    path_read(&p, TEXT("a") TEXT("b"), 10000);
    path_end(&p, 20000);
    assert_int_equal(p.seen.record.outcome, OUTCOME_TRUNCATED);
    assert_int_equal(p.seen.record.usage_source, USAGE_SOURCE_NONE);
    assert_int_equal(p.seen.record.completion_tokens, -1);
    path_close(&p);
}

static void counts_that_go_back_or_stop(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, COUNTED("a", 4), 10000);
    path_read(&p, COUNTED("b", 6), 20000);
    path_read(&p, COUNTED("c", 5), 30000); /* cannot be: as if it told none */
    path_read(&p, COUNTED("d", 10), 40000);
    path_read(&p, TEXT("e"), 50000);
    path_read(&p, FINISH("stop") DONE, 50010);
    path_end(&p, 50100);
    assert_int_equal(p.seen.n_itl, 1);
    assert_itl(&p.seen, 0, 5000, 6); /* 2 of 10 ms and 4 of 20 ms */
    path_close(&p);

    path_open_stream(&p, STREAM_BODY); /* only the first one tells: the average counts */
    path_read(&p, COUNTED("a", 1), 10000);
    path_read(&p, TEXT("b"), 20000);
    path_read(&p, TEXT("c"), 30000);
    path_read(&p, FINISH("stop") USAGE(7, 6) DONE, 30010);
    path_end(&p, 30100);
    assert_int_equal(p.seen.n_itl, 1);
    assert_itl(&p.seen, 0, 5000, 4);
    path_close(&p);
}

static void counts_of_an_earlier_attempt_are_forgotten(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, COUNTED("a", 5), 10000);
    path_read(&p, COUNTED("b", 9), 20000);
    path_attempt(&p, 30000);
    path_head(&p, 200, "text/event-stream", 40000);
    path_read(&p, COUNTED("a", 1), 50000);
    path_read(&p, COUNTED("b", 3), 60000);
    path_read(&p, LAST(3) DONE, 60010);
    path_end(&p, 60100);
    assert_int_equal(p.seen.n_itl, 1);
    assert_itl(&p.seen, 0, 5000, 2);
    path_close(&p);
}

/* --- engines' times --- */

static const struct {
    const char *name;
    const char *last; /* the event, or the members of a whole answer */
    int64_t queue_us, prefill_us, decode_us, total_us, unattributed_us;
    bool is_odd;
} engines[] = {
    /* upstream TTFT is 850 us: sent at 150, first token at 1000 */
    {"nothing", "\"usage\":{}", -1, -1, -1, -1, -1, false},
    {"vLLM",
     "\"metrics\":{\"queue_time_ms\":0.25,\"time_to_first_token_ms\":0.5,\"generation_time_ms\":3}",
     250, 500, 3000, -1, 100, false},
    {"llama.cpp",
     "\"timings\":{\"prompt_n\":7,\"prompt_ms\":0.4,\"predicted_n\":5,\"predicted_ms\":2.5}", -1,
     400, 2500, -1, -1, false},
    {"Groq",
     "\"x_groq\":{\"id\":\"r\",\"usage\":{\"queue_time\":0.0003,\"prompt_tokens\":7,"
     "\"prompt_time\":0.0004,\"completion_tokens\":5,\"completion_time\":0.002,"
     "\"total_time\":0.0024}}",
     300, 400, 2000, 2400, 150, false},
    {"Groq, whole answers",
     "\"usage\":{\"queue_time\":0.0003,\"prompt_time\":0.0004,\"completion_time\":0.002,"
     "\"total_time\":0.0024}",
     300, 400, 2000, 2400, 150, false},
    {"Cerebras",
     "\"time_info\":{\"queue_time\":0.0001,\"prompt_time\":0.0002,\"completion_time\":0.001,"
     "\"total_time\":0.0014,\"created\":1700000000}",
     100, 200, 1000, 1400, 550, false},
    {"all of it", "\"metrics\":{\"queue_time_ms\":0.35,\"time_to_first_token_ms\":0.5}", 350, 500,
     -1, -1, 0, false},
    {"more than passed", "\"metrics\":{\"queue_time_ms\":0.4,\"time_to_first_token_ms\":0.5}", 400,
     500, -1, -1, -1, true},
    {"much more", "\"metrics\":{\"queue_time_ms\":4e12,\"time_to_first_token_ms\":4e12}",
     INT64_C(4000000000000000), INT64_C(4000000000000000), -1, -1, -1, true},
    {"nonsense",
     "\"metrics\":{\"queue_time_ms\":-1,\"time_to_first_token_ms\":\"x\",\"generation_time_ms\":"
     "1e300}",
     -1, -1, -1, -1, -1, false},
};

static int64_t ns_of(int64_t told_us)
{
    return told_us < 0 ? -1 : told_us * NS_PER_US;
}

static void assert_engine(const char *name, const struct path *p, size_t i, bool is_stream)
{
    const struct record *r = &p->seen.record;
    assert_row(name, r->engine_ns[ENGINE_QUEUE] == ns_of(engines[i].queue_us));
    assert_row(name, r->engine_ns[ENGINE_LOAD] == -1);
    assert_row(name, r->engine_ns[ENGINE_PREFILL] == ns_of(engines[i].prefill_us));
    assert_row(name, r->engine_ns[ENGINE_DECODE] == ns_of(engines[i].decode_us));
    assert_row(name, r->engine_ns[ENGINE_TOTAL] == ns_of(engines[i].total_us));
    assert_row(name, r->engine_ns[ENGINE_UNATTRIBUTED] ==
                         (is_stream ? ns_of(engines[i].unattributed_us) : -1));
    assert_row(name, has_flag(p, RECORD_ENGINE_TIMES_ODD) == (is_stream && engines[i].is_odd));
}

static void engines_tell_their_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
        struct path p;
        char text[512];
        path_open_stream(&p, STREAM_BODY);
        path_read(&p, TEXT("a"), 1000);
        (void)snprintf(text, sizeof(text), "data: {\"choices\":[],%s}\n\n", engines[i].last);
        path_read(&p, FINISH("stop"), 1100);
        path_read(&p, text, 1200);
        path_read(&p, DONE, 1300);
        path_end(&p, 1400);
        assert_row(engines[i].name, p.seen.record.upstream_ttft_ns == 850000);
        assert_engine(engines[i].name, &p, i, true);
        path_close(&p);

        path_open(&p);
        path_send(&p, "openai-chat", "{\"model\":\"m\"}");
        path_head(&p, 200, "application/json", 500);
        (void)snprintf(text, sizeof(text), "{\"choices\":[],%s}", engines[i].last);
        path_read(&p, text, 1200);
        path_end(&p, 1400);
        assert_engine(engines[i].name, &p, i, false);
        path_close(&p);
    }
}

static void times_of_an_earlier_attempt_are_forgotten(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") EVENT("{\"choices\":[],\"metrics\":{\"queue_time_ms\":1}}"), 1000);
    path_attempt(&p, 3000);
    path_head(&p, 200, "text/event-stream", 4000);
    path_read(&p, TEXT("a") FINISH("stop") DONE, 5000);
    path_end(&p, 6000);
    for (int s = 0; s < ENGINE_STAGE_COUNT_; s++)
        assert_int_equal(p.seen.record.engine_ns[s], -1);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_per_event_are_itls_weights),
        cmocka_unit_test(tokens_without_output_are_of_the_next_event),
        cmocka_unit_test(counts_that_cannot_be),
        cmocka_unit_test(counts_that_go_back_or_stop),
        cmocka_unit_test(counts_of_an_earlier_attempt_are_forgotten),
        cmocka_unit_test(engines_tell_their_times),
        cmocka_unit_test(times_of_an_earlier_attempt_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
