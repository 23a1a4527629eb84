/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timing: first token and answer, gaps, TPOT, ITL, jitter, stalls, by hand-computed cases
 * and against brute force.
 */
#include "harness.h"

#include <math.h>

#include "base/attr.h"
#include "base/rng.h"
#include "timing/timing.h"

#define MS NS_PER_MS

static mono_t at_ms(int64_t ms)
{
    return (mono_t){NS_PER_S + ms * MS};
}

struct row {
    int64_t ms;
    uint32_t kinds;
};

static void feed(struct timing *t, const struct row *rows, size_t n)
{
    timing_init(t);
    for (size_t i = 0; i < n; i++)
        (void)timing_event(t, at_ms(rows[i].ms), rows[i].kinds, false);
}
#define FEED(t, rows) feed((t), (rows), ARRAY_LEN(rows))

static struct timing_summary summary_of(const struct timing *t, int64_t completion,
                                        int64_t reasoning)
{
    struct timing_summary s;
    timing_summarise(t, (struct timing_tokens){completion, reasoning, false}, &s);
    return s;
}

static void assert_near(double got, double want)
{
    if (got < want * 0.985 || got > want * 1.015)
        fail_msg("%f is not near %f", got, want);
}

static void role_only_event_is_no_token(void **state)
{
    (void)state;
    struct timing t;
    timing_init(&t);
    struct timing_step s = timing_event(&t, at_ms(10), 0, false);
    assert_false(s.is_first_token);
    assert_int_equal(s.gap_ns, -1);
    s = timing_event(&t, at_ms(30), OUTPUT_TEXT, false);
    assert_true(s.is_first_token);
    assert_true(s.is_first_answer);
    assert_int_equal(s.gap_ns, -1);
    s = timing_event(&t, at_ms(50), OUTPUT_TEXT, false);
    assert_false(s.is_first_token);
    assert_int_equal(s.gap_ns, 20 * MS);
    assert_int_equal(t.t_first_event.ns, at_ms(10).ns);
    assert_int_equal(t.t_first_token.ns, at_ms(30).ns);
    assert_int_equal(t.n_events, 3);
    assert_int_equal(t.n_output_events, 2);
}

static void reasoning_first_answer_later(void **state)
{
    (void)state;
    const struct row rows[] = {
        {10, OUTPUT_REASONING}, {20, OUTPUT_REASONING}, {30, OUTPUT_TEXT}, {40, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    assert_int_equal(t.t_first_token.ns, at_ms(10).ns);
    assert_int_equal(t.t_first_answer.ns, at_ms(30).ns);
    struct timing_summary s = summary_of(&t, 4, 2);
    assert_false(s.is_reasoning_hidden); /* it was readable: all tokens streamed */
    assert_int_equal(s.tpot_ns, 10 * MS);
    assert_int_equal(t.gaps.n_gaps, 3);
    assert_int_equal(t.hidden_gaps.n_gaps, 0);
}

static void event_with_both_kinds_is_an_answer(void **state)
{
    (void)state;
    const struct row rows[] = {{10, OUTPUT_REASONING | OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    assert_int_equal(t.t_first_answer.ns, at_ms(10).ns);
}

static void events_of_one_read_are_one_arrival(void **state)
{
    (void)state;
    const struct row rows[] = {
        {10, OUTPUT_TEXT}, {10, OUTPUT_TEXT}, {30, OUTPUT_TEXT}, {30, OUTPUT_TEXT}, {30, 0}};
    struct timing t;
    FEED(&t, rows);
    assert_int_equal(t.n_arrivals, 2);
    assert_int_equal(t.n_coalesced, 2);
    assert_int_equal(t.gaps.n_gaps, 1);
    assert_int_equal(t.gaps.sum_ns, 20 * MS);
    assert_int_equal(gaps_at(&t.gaps, 0).n_events, 2);
    assert_int_equal(summary_of(&t, 4, -1).jitter_ns, -1); /* one gap is no distribution */
}

static void counts_of_content_follow_the_kinds(void **state)
{
    (void)state;
    const struct row rows[] = {{10, OUTPUT_TOOL_NAME},
                               {20, OUTPUT_REASONING_OPAQUE},
                               {30, OUTPUT_TOOL_ARGS},
                               {40, OUTPUT_IMAGE}};
    struct timing t;
    FEED(&t, rows);
    assert_int_equal(t.n_output_events, 4);
    assert_int_equal(t.n_content_events, 2);
    assert_int_equal(t.t_first_token.ns, at_ms(10).ns);
    assert_int_equal(t.t_first_answer.ns, at_ms(10).ns);
}

static void blocked_gaps_are_left_out(void **state)
{
    (void)state;
    struct timing t;
    timing_init(&t);
    (void)timing_event(&t, at_ms(0), OUTPUT_TEXT, false);
    (void)timing_event(&t, at_ms(10), OUTPUT_TEXT, false);
    assert_int_equal(timing_event(&t, at_ms(5000), OUTPUT_TEXT, true).gap_ns, -1);
    (void)timing_event(&t, at_ms(5000), OUTPUT_TEXT, false); /* same read: joins no kept gap */
    assert_int_equal(timing_event(&t, at_ms(5010), OUTPUT_TEXT, false).gap_ns, 10 * MS);
    assert_int_equal(t.n_blocked_gaps, 1);
    assert_int_equal(t.gaps.n_gaps, 2);
    assert_int_equal(t.gaps.max_ns, 10 * MS);
    struct timing_summary s = summary_of(&t, 5, -1);
    assert_int_equal(s.n_stalls, 0);
}

static void stamps_never_go_backwards(void **state)
{
    (void)state;
    const struct row rows[] = {{10, OUTPUT_TEXT}, {5, OUTPUT_TEXT}, {20, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    assert_true(t.is_order_violated);
    assert_int_equal(t.n_arrivals, 2); /* the clamped one shares the stamp before it */
    assert_int_equal(t.gaps.sum_ns, 10 * MS);
}

/* (last - first) / (n - 1), whatever the chunks were (C15, C24). */
static void tpot_divides_by_tokens_not_events(void **state)
{
    (void)state;
    const struct row rows[] = {{100, OUTPUT_TEXT}, {200, OUTPUT_TEXT}, {400, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    struct timing_summary s = summary_of(&t, 31, -1);
    assert_int_equal(s.tpot_status, TPOT_OK);
    assert_int_equal(s.tpot_ns, 10 * MS);
    assert_near(s.tokens_per_event, 31.0 / 3.0);
}

static void tpot_tells_why_there_is_none(void **state)
{
    (void)state;
    const struct row many[] = {{100, OUTPUT_TEXT}, {200, OUTPUT_TEXT}};
    const struct row one_read[] = {{100, OUTPUT_TEXT}, {100, OUTPUT_TEXT}};
    const struct row opaque[] = {{100, OUTPUT_REASONING_OPAQUE}, {200, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, many);
    assert_int_equal(summary_of(&t, -1, -1).tpot_status, TPOT_NO_USAGE);
    assert_int_equal(summary_of(&t, 1, -1).tpot_status, TPOT_TOO_FEW_TOKENS);
    assert_int_equal(summary_of(&t, 0, -1).tpot_status, TPOT_TOO_FEW_TOKENS);
    FEED(&t, one_read);
    assert_int_equal(summary_of(&t, 9, -1).tpot_status, TPOT_ONE_ARRIVAL);
    FEED(&t, opaque);
    assert_int_equal(summary_of(&t, 9, -1).tpot_status, TPOT_HIDDEN_REASONING);
    timing_init(&t);
    assert_int_equal(summary_of(&t, 9, -1).tpot_status, TPOT_ONE_ARRIVAL);

    struct timing_summary s;
    FEED(&t, many);
    timing_summarise(&t, (struct timing_tokens){11, -1, true}, &s);
    assert_int_equal(s.tpot_status, TPOT_MULTI_CHOICE);
    assert_int_equal(s.tpot_ns, 10 * MS); /* for the record only */
}

struct itl {
    uint64_t n_tokens;
    double total_ns;
    int64_t min_ns, max_ns;
    int n;
};

static void note_itl(void *ctx, int64_t itl_ns, uint64_t n_tokens)
{
    struct itl *i = ctx;
    i->n++;
    i->n_tokens += n_tokens;
    i->total_ns += (double)itl_ns * (double)n_tokens;
    i->min_ns = i->n == 1 || itl_ns < i->min_ns ? itl_ns : i->min_ns;
    i->max_ns = itl_ns > i->max_ns ? itl_ns : i->max_ns;
}

static struct itl itl_of(const struct timing *t, double tokens_per_event)
{
    struct itl i = {0};
    timing_each_itl(t, tokens_per_event, note_itl, &i);
    return i;
}

/* The reasoning counts, and nothing of it was seen: what streamed is completion - reasoning. */
static void hidden_reasoning_by_usage(void **state)
{
    (void)state;
    const struct row rows[] = {{1000, OUTPUT_TEXT}, {1010, OUTPUT_TEXT}, {1020, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    struct timing_summary s = summary_of(&t, 203, 200);
    assert_true(s.is_reasoning_hidden);
    assert_int_equal(s.tpot_ns, 10 * MS);
    assert_near(s.tokens_per_event, 1.0);
}

/* Opaque reasoning streams no tokens: the gap before the answer is no ITL, but it is a gap. */
static void opaque_reasoning_gap_is_no_itl(void **state)
{
    (void)state;
    const struct row rows[] = {{0, OUTPUT_REASONING_OPAQUE},
                               {9000, OUTPUT_TEXT},
                               {9010, OUTPUT_TEXT},
                               {9020, OUTPUT_TEXT},
                               {9030, OUTPUT_REASONING_OPAQUE}};
    struct timing t;
    FEED(&t, rows);
    assert_int_equal(t.hidden_gaps.n_gaps, 1);
    assert_int_equal(t.gaps.n_gaps, 3);
    struct timing_summary s = summary_of(&t, 304, 300);
    assert_true(s.is_reasoning_hidden);
    assert_int_equal(s.tpot_ns, 10 * MS); /* (9030 - 9000) / (304 - 300 - 1) */
    assert_int_equal(s.n_stalls, 1);
    assert_int_equal(s.stall_max_ns, 9000 * MS);
    assert_near(s.tokens_per_event, 4.0 / 3.0);
    struct itl i = itl_of(&t, s.tokens_per_event);
    assert_int_equal(i.n_tokens,
                     3); /* the two answers behind a gap, 8/3 tokens; the signature none */
    assert_true(i.max_ns < 20 * MS);
}

static void summarised_reasoning_is_hidden(void **state)
{
    (void)state;
    const uint32_t summary = OUTPUT_REASONING | OUTPUT_REASONING_SUMMARY;
    const struct row rows[] = {
        {0, summary}, {500, summary}, {1000, OUTPUT_TEXT}, {1020, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    struct timing_summary s = summary_of(&t, 1003, 1000);
    assert_true(s.is_reasoning_hidden);
    assert_int_equal(s.tpot_ns, 10 * MS);
    assert_int_equal(t.hidden_gaps.n_gaps, 2);
    assert_int_equal(t.n_content_events, 4);
}

/* Opaque at first, readable later: then everything streamed and the early gap counts. */
static void readable_after_opaque_is_not_hidden(void **state)
{
    (void)state;
    const struct row rows[] = {
        {0, OUTPUT_REASONING_OPAQUE}, {10, OUTPUT_REASONING}, {20, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    struct timing_summary s = summary_of(&t, 3, 2);
    assert_false(s.is_reasoning_hidden);
    assert_int_equal(s.tpot_ns, 10 * MS);
    struct itl i = itl_of(&t, s.tokens_per_event);
    assert_int_equal(i.n_tokens, 2);
    assert_near(i.total_ns, 20e6);
}

/* Several tokens per event: k samples of gap / k (C20, C21). */
static void itl_is_weighted_by_tokens(void **state)
{
    (void)state;
    const struct row rows[] = {
        {0, OUTPUT_TEXT}, {40, OUTPUT_TEXT}, {80, OUTPUT_TEXT}, {120, OUTPUT_TEXT}};
    struct timing t;
    FEED(&t, rows);
    struct itl i = itl_of(&t, 4.0);
    assert_int_equal(i.n, 1);
    assert_int_equal(i.n_tokens, 12);
    assert_near((double)i.max_ns, 10e6);
    assert_int_equal(itl_of(&t, -1.0).n, 0);
}

static void itl_gives_tokenless_time_to_its_neighbour(void **state)
{
    (void)state;
    /* Ten events of which only three are tokens; gaps in different buckets. */
    struct timing t;
    timing_init(&t);
    int64_t ms = 0;
    for (int i = 0; i < 10; i++) {
        (void)timing_event(&t, at_ms(ms), OUTPUT_TEXT, false);
        ms += INT64_C(10) * (i + 1);
    }
    struct itl i = itl_of(&t, 0.3);
    assert_int_equal(i.n_tokens, 3); /* round(9 * 0.3) */
    assert_near(i.total_ns, 450e6);  /* no time is lost */
    assert_int_equal(itl_of(&t, 0.0).n_tokens, 0);
}

/* Steps of one length that give different numbers of tokens: each token has its share of its own
 * gap, not of all. */
static void itl_of_counted_tokens_is_exact(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        int64_t n_tokens; /* -1: not told, so that the next number includes them */
        bool is_blocked;
        int n;             /* samples that it adds, */
        int64_t sample_us; /* of this length */
    } rows[] = {
        {0, 7, false, 0, 0}, /* the first has no gap */
        {20, 1, false, 1, 20000},
        {40, 4, false, 4, 5000},
        {60, 2, false, 0, 0}, /* what joins it shares its gap: */
        {60, 3, false, 5, 4000},
        {80, -1, false, 0, 0}, /* two gaps of which only the second tells */
        {100, 5, false, 5, 8000},
        {200, 9, true, 0, 0}, /* reading was paused */
        {220, 2, false, 2, 10000},
        {320, -1, true, 0, 0}, /* paused, and not told: the next number is of both */
        {340, 3, false, 0, 0},
        {360, 0, false, 0, 0}, /* told, and none: its time is the next one's */
        {380, 1, false, 1, 40000},
        {400, -1, false, 0, 0}, /* nothing tells any more */
    };
    struct timing t;
    struct itl want = {0};
    double total_us = 0.0;
    timing_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)timing_event_counted(&t, at_ms(rows[i].ms), OUTPUT_TEXT, rows[i].is_blocked,
                                   rows[i].n_tokens);
        want.n_tokens += (uint64_t)rows[i].n;
        total_us += rows[i].n * (double)rows[i].sample_us;
    }
    struct itl got = itl_of(&t, 3.0);
    assert_int_equal(got.n_tokens, want.n_tokens);
    assert_near(got.total_ns, total_us * 1e3);
    assert_near((double)got.min_ns, 4e6);
    assert_near((double)got.max_ns, 40e6);
    assert_int_equal(got.n, 6); /* distinct shares: 4, 5, 8, 10, 20, 40 ms */
    assert_int_equal(itl_of(&t, -1.0).n_tokens, want.n_tokens); /* also without usage at the end */
    assert_int_equal(t.gaps.n_gaps, 10);
}

/* The gap up to the first answer is no token's where the reasoning before it cannot be read. */
static void counted_tokens_behind_opaque_reasoning(void **state)
{
    (void)state;
    struct timing t;
    timing_init(&t);
    (void)timing_event_counted(&t, at_ms(0), OUTPUT_REASONING_OPAQUE, false, 100);
    (void)timing_event_counted(&t, at_ms(900), OUTPUT_REASONING_OPAQUE, false, 100);
    (void)timing_event_counted(&t, at_ms(9000), OUTPUT_TEXT, false, 7);
    (void)timing_event_counted(&t, at_ms(9010), OUTPUT_TEXT, false, 2);
    struct itl i = itl_of(&t, 1.0);
    assert_int_equal(i.n_tokens, 2);
    assert_near((double)i.max_ns, 5e6);
    assert_near((double)i.min_ns, 5e6);
}

/* An engine that tells a number with its first event and then no more is none that counts. */
static void one_number_is_no_count(void **state)
{
    (void)state;
    struct timing t;
    timing_init(&t);
    for (int i = 0; i < 5; i++)
        (void)timing_event_counted(&t, at_ms(10 * i), OUTPUT_TEXT, false, i == 0 ? 1 : -1);
    struct itl i = itl_of(&t, 2.0);
    assert_int_equal(i.n_tokens, 8);
    assert_near((double)i.max_ns, 5e6);
}

/* Any stream of told counts: no token and no time is lost or invented. */
static void itl_of_counted_tokens_sums_up(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 8);
    for (int round = 0; round < 300; round++) {
        struct timing t;
        uint64_t n_tokens = 0;
        int64_t ns = NS_PER_S;
        int n = 2 + (int)rng_below(&rng, 200);
        timing_init(&t);
        (void)timing_event_counted(&t, (mono_t){ns}, OUTPUT_TEXT, false, 1);
        for (int i = 1; i < n; i++) {
            int64_t told = 1 + (int64_t)rng_below(&rng, 6);
            bool is_new = i == 1 || i == n - 1 || rng_below(&rng, 4) > 0;
            ns += is_new ? 1000000 + (int64_t)rng_below(&rng, 80000000) : 0;
            (void)timing_event_counted(&t, (mono_t){ns}, OUTPUT_TEXT, false, told);
            n_tokens += (uint64_t)told;
        }
        struct itl i = itl_of(&t, 1.5);
        assert_int_equal(i.n_tokens, n_tokens);
        double span = (double)mono_diff(t.t_last_token, t.t_first_token);
        assert_true(i.total_ns > span * 0.95 && i.total_ns < span * 1.05);
    }
}

static void stalls_and_jitter(void **state)
{
    (void)state;
    struct timing t;
    timing_init(&t);
    assert_int_equal(timing_stall_after_ns(&t), 1000 * MS);
    int64_t ms = 0;
    for (int i = 0; i < 100; i++) {
        (void)timing_event(&t, at_ms(ms), OUTPUT_TEXT, false);
        assert_int_equal(timing_stall_after_ns(&t), 1000 * MS);
        ms += i == 30 ? 1001 : i == 60 ? 1000 : i == 80 ? 4000 : 20;
    }
    struct timing_summary s = summary_of(&t, 100, -1);
    assert_int_equal(s.n_stalls, 2); /* over one second, exactly */
    assert_int_equal(s.stall_max_ns, 4000 * MS);
    assert_near((double)s.gap_p50_ns, 20e6);
    assert_near((double)s.gap_p95_ns, 20e6);
    assert_int_equal(s.gap_max_ns, 4000 * MS);
    assert_true(s.jitter_ns == 0);

    timing_init(&t); /* slow model: the threshold is ten times the median */
    for (int i = 0; i < 10; i++)
        (void)timing_event(&t, at_ms((int64_t)i * 400 + (i > 5 ? 9000 : 0)), OUTPUT_TEXT, false);
    s = summary_of(&t, 10, -1);
    assert_int_equal(s.n_stalls, 1);
    assert_int_equal(s.stall_max_ns, 9400 * MS);
    assert_near((double)timing_stall_after_ns(&t), 4000e6);

    timing_init(&t); /* gaps of hidden reasoning count as well */
    for (int i = 0; i < 10; i++)
        (void)timing_event(&t, at_ms((int64_t)i * 400), OUTPUT_REASONING_OPAQUE, false);
    (void)timing_event(&t, at_ms(3610), OUTPUT_TEXT, false);
    (void)timing_event(&t, at_ms(3620), OUTPUT_TEXT, false);
    assert_near((double)timing_stall_after_ns(&t), 4000e6);
}

/* The sum of a request's gaps is t_last_token - t_first_token (definitions: icl). */
static void gaps_sum_to_the_span(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5);
    for (int round = 0; round < 500; round++) {
        struct timing t;
        timing_init(&t);
        int64_t ns = NS_PER_S;
        int64_t told = 0;
        uint32_t n_outputs = 0;
        int n = 1 + (int)rng_below(&rng, 200);
        for (int i = 0; i < n; i++) {
            static const uint32_t kinds[] = {0,
                                             OUTPUT_TEXT,
                                             OUTPUT_REASONING,
                                             OUTPUT_REASONING_OPAQUE,
                                             OUTPUT_TOOL_NAME,
                                             OUTPUT_REASONING | OUTPUT_REASONING_SUMMARY};
            uint32_t k = kinds[rng_below(&rng, ARRAY_LEN(kinds))];
            ns += rng_below(&rng, 3) == 0 ? 0 : (int64_t)rng_below(&rng, 50000000);
            struct timing_step s = timing_event(&t, (mono_t){ns}, k, false);
            told += s.gap_ns > 0 ? s.gap_ns : 0;
            n_outputs += k != 0;
        }
        assert_int_equal(t.n_output_events, n_outputs);
        assert_int_equal(t.n_arrivals + t.n_coalesced, n_outputs);
        if (n_outputs == 0)
            continue;
        int64_t span = mono_diff(t.t_last_token, t.t_first_token);
        assert_int_equal(t.gaps.sum_ns + t.hidden_gaps.sum_ns, span);
        assert_int_equal(told, span);
        assert_int_equal(t.gaps.n_gaps + t.hidden_gaps.n_gaps, t.n_arrivals - 1);
    }
}

static void itl_tokens_sum_to_the_rounded_total(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 6);
    for (int round = 0; round < 500; round++) {
        struct timing t;
        timing_init(&t);
        int64_t ns = NS_PER_S;
        int n = 2 + (int)rng_below(&rng, 300);
        int n_behind_gaps = 0;
        for (int i = 0; i < n; i++) {
            bool is_new = i == 0 || rng_below(&rng, 4) > 0;
            ns += is_new ? 1000 + (int64_t)rng_below(&rng, 80000000) : 0;
            (void)timing_event(&t, (mono_t){ns}, OUTPUT_TEXT, false);
            n_behind_gaps += t.gaps.n_gaps > 0;
        }
        double ratio = rng_unit(&rng) * 6.0;
        struct itl i = itl_of(&t, ratio);
        assert_int_equal(i.n_tokens, (uint64_t)llround(ratio * n_behind_gaps));
        if (i.n_tokens > 0 && t.gaps._schema == 5) {
            double span = (double)mono_diff(t.t_last_token, t.t_first_token);
            assert_true(i.total_ns > span * 0.98 && i.total_ns < span * 1.02);
        }
    }
}

static void names_are_labels(void **state)
{
    (void)state;
    for (int i = 0; i < TPOT_STATUS_COUNT_; i++)
        assert_string_not_equal(tpot_status_name((enum tpot_status)i), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(role_only_event_is_no_token),
        cmocka_unit_test(reasoning_first_answer_later),
        cmocka_unit_test(event_with_both_kinds_is_an_answer),
        cmocka_unit_test(events_of_one_read_are_one_arrival),
        cmocka_unit_test(counts_of_content_follow_the_kinds),
        cmocka_unit_test(blocked_gaps_are_left_out),
        cmocka_unit_test(stamps_never_go_backwards),
        cmocka_unit_test(tpot_divides_by_tokens_not_events),
        cmocka_unit_test(tpot_tells_why_there_is_none),
        cmocka_unit_test(hidden_reasoning_by_usage),
        cmocka_unit_test(opaque_reasoning_gap_is_no_itl),
        cmocka_unit_test(summarised_reasoning_is_hidden),
        cmocka_unit_test(readable_after_opaque_is_not_hidden),
        cmocka_unit_test(itl_is_weighted_by_tokens),
        cmocka_unit_test(itl_gives_tokenless_time_to_its_neighbour),
        cmocka_unit_test(itl_of_counted_tokens_is_exact),
        cmocka_unit_test(counted_tokens_behind_opaque_reasoning),
        cmocka_unit_test(one_number_is_no_count),
        cmocka_unit_test(itl_of_counted_tokens_sums_up),
        cmocka_unit_test(stalls_and_jitter),
        cmocka_unit_test(gaps_sum_to_the_span),
        cmocka_unit_test(itl_tokens_sum_to_the_rounded_total),
        cmocka_unit_test(names_are_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
