/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/baseline: local time of day over the days on which clocks change, the figures of a row
 * of days, and whole collections from a store in memory.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "baseline/baseline.h"
#include "memfail.h"
#include "promql/parse.h"
#include "series/memory.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };

static int64_t at(const char *text)
{
    wall_t t;
    assert_int_equal(timestamp_parse(span_cstr(text), &t), 0);
    return t.us / 1000;
}

static const struct zone *zone(struct arena *a, const char *name)
{
    const struct zone *z;
    int r = zone_load(a, span_cstr(name), &z);
    if (r == -ENOENT)
        exit(HARNESS_SKIPPED); /* no tzdata */
    assert_int_equal(r, 0);
    return z;
}

/* --- local time --- */

static const struct {
    const char *name, *zone, *now;
    int days;
    const char *want; /* NULL: the clock did not show it */
} same_times[] = {
    {"no zone", NULL, "2026-03-30T14:00:00Z", 7, "2026-03-23T14:00:00Z"},
    {"ordinary days", "Asia/Shanghai", "2026-03-30T14:00:00+08:00", 7, "2026-03-23T14:00:00+08:00"},
    {"the day of 23 hours itself", "Europe/Berlin", "2026-03-30T14:00:00+02:00", 1,
     "2026-03-29T14:00:00+02:00"},
    {"before the day of 23 hours", "Europe/Berlin", "2026-03-30T14:00:00+02:00", 2,
     "2026-03-28T14:00:00+01:00"},
    {"a week with 23 hours in it", "Europe/Berlin", "2026-04-02T09:15:00+02:00", 7,
     "2026-03-26T09:15:00+01:00"},
    {"a time that was left out", "Europe/Berlin", "2026-03-30T02:30:00+02:00", 1, NULL},
    {"just before it", "Europe/Berlin", "2026-03-30T01:45:00+02:00", 1,
     "2026-03-29T01:45:00+01:00"},
    {"just behind it", "Europe/Berlin", "2026-03-30T03:00:00+02:00", 1,
     "2026-03-29T03:00:00+02:00"},
    {"the day of 25 hours itself", "Europe/Berlin", "2026-10-26T14:00:00+01:00", 1,
     "2026-10-25T14:00:00+01:00"},
    {"before the day of 25 hours", "Europe/Berlin", "2026-10-26T14:00:00+01:00", 2,
     "2026-10-24T14:00:00+02:00"},
    {"a time that came twice: the first", "Europe/Berlin", "2026-10-26T02:30:00+01:00", 1,
     "2026-10-25T02:30:00+02:00"},
    {"from the second of two", "Europe/Berlin", "2026-10-25T02:30:00+01:00", 1,
     "2026-10-24T02:30:00+02:00"},
    {"the other half of the world", "America/New_York", "2026-03-09T00:00:00-04:00", 2,
     "2026-03-07T00:00:00-05:00"},
    {"half an hour", "Australia/Lord_Howe", "2026-10-05T12:00:00+11:00", 2,
     "2026-10-03T12:00:00+10:30"},
    {"over the end of a year", "Asia/Kathmandu", "2027-01-02T00:15:00+05:45", 3,
     "2026-12-30T00:15:00+05:45"},
};

static void test_same_time_of_day(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(same_times); i++) {
        const struct zone *z = same_times[i].zone ? zone(&a, same_times[i].zone) : NULL;
        int64_t got = -1;
        bool is_there = baseline_days_before(z, at(same_times[i].now), same_times[i].days, &got);
        assert_row(same_times[i].name, is_there == (same_times[i].want != NULL));
        assert_row(same_times[i].name, got == (is_there ? at(same_times[i].want) : -1));
    }
    arena_done(&a);
}

static void test_slots(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    const struct zone *kathmandu = zone(&a, "Asia/Kathmandu");
    assert_int_equal(baseline_slot_ms(NULL, at("2026-11-30T14:29:59.999Z")),
                     at("2026-11-30T14:15:00Z"));
    assert_int_equal(baseline_slot_ms(NULL, at("2026-11-30T14:30:00Z")),
                     at("2026-11-30T14:30:00Z"));
    assert_int_equal(baseline_slot_ms(kathmandu, at("2026-11-30T00:10:00+05:45")),
                     at("2026-11-30T00:00:00+05:45"));
    assert_int_equal(baseline_slot_ms(NULL, -1), -BASELINE_SLOT_MS);
    arena_done(&a);
}

/* --- figures --- */

static const struct {
    const char *name;
    struct baseline_day days[BASELINE_DAYS];
    size_t n;
    double floor;
    struct baseline_stats want;
} figures[] = {
    {"one bad day of seven",
     {{1, 2, 10},
      {1.1, 2.2, 10},
      {0.9, 1.8, 10},
      {50, 90, 10},
      {1, 2, 10},
      {1.2, 2.4, 10},
      {0.8, 1.6, 10}},
     7,
     0.01,
     {1, 0.14826, 2, 70}},
    {"steady: 5 % of the median", {{2, 3, 1}, {2, 3, 1}, {2, 3, 1}}, 3, 0.01, {2, 0.1, 3, 3}},
    {"short: the floor",
     {{0.001, 0.002, 5}, {0.001, 0.002, 5}, {0.001, 0.002, 6}},
     3,
     0.05,
     {0.001, 0.05, 0.002, 16}},
    {"an even number of days",
     {{1, 4, 1}, {2, 6, 1}, {3, 8, 1}, {4, 10, 1}},
     4,
     0,
     {2.5, 1.4826, 7, 4}},
    {"nothing but zeros", {{0, 0, 20}, {0, 0, 20}, {0, 0, 20}}, 3, 0.05, {0, 0.05, 0, 60}},
};

static void test_figures(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        struct baseline_stats got = baseline_of(figures[i].days, figures[i].n, figures[i].floor);
        const struct baseline_stats *want = &figures[i].want;
        assert_row(figures[i].name, fabs(got.median - want->median) < 1e-9);
        assert_row(figures[i].name, fabs(got.mad - want->mad) < 1e-9);
        assert_row(figures[i].name, fabs(got.p95 - want->p95) < 1e-9);
        assert_row(figures[i].name, fabs(got.count - want->count) < 1e-9);
    }
}

/* --- collections --- */

/*
 * A counter histogram: n requests in bucket `index` (schema 0: (2^(index-1), 2^index] seconds),
 * spread evenly over the half hour that ends at end_ms, with a sample of nothing before.
 */
static void add_half_hour(struct memory *m, const char *series, int64_t end_ms, int n, int index)
{
    struct arena a;
    struct labels l;
    struct promql_error error;
    struct span s = span_cstr(series);
    arena_init(&a, NULL);
    assert_int_equal(promql_parse_series(&s, &a, &l, &error), 0);
    for (int i = 0; i <= 30; i++) {
        char text[128];
        struct fhist *h;
        (void)snprintf(text, sizeof(text), "{{schema:0 sum:%d count:%g offset:%d buckets:[%g]}}", n,
                       n * i / 30.0, index, n * i / 30.0);
        struct span literal = span_cstr(text);
        assert_int_equal(fhist_parse(&literal, &a, &h, NULL), 0);
        assert_int_equal(memory_append(m, l, end_ms + (i - 30) * MINUTE_MS, 0, h), 0);
    }
    arena_done(&a);
}

struct wanted {
    const char *series;
    double v;
};

static void assert_batch(const struct batch *b, const struct wanted *want, size_t n, int64_t t_ms)
{
    struct buf text;
    assert_int_equal(b->n, n);
    buf_init(&text, 1024);
    for (size_t i = 0; i < n; i++) {
        buf_clear(&text);
        assert_int_equal(labels_print(b->at[i].labels, &text), 0);
        assert_span_equal("series", buf_span(&text), span_cstr(want[i].series));
        assert_row(want[i].series, fabs(b->at[i].v - want[i].v) < 0.02 * want[i].v);
        assert_int_equal(b->at[i].t_ms, t_ms);
    }
    buf_done(&text);
}

#define TTFT(stat)                                                                                 \
    "llm_baseline{metric=\"llm_ttft_seconds\", model=\"m\", stat=\"" stat "\", upstream=\"a\"}"

static const char now_text[] = "2026-03-31T14:03:20+02:00"; /* in the slot from 14:00 on */
static const char *const ends[] = {
    /* 14:15 in Berlin on the days before; the clocks changed on the 29th */
    "2026-03-30T14:15:00+02:00", "2026-03-29T14:15:00+02:00", "2026-03-28T14:15:00+01:00",
    "2026-03-27T14:15:00+01:00", "2026-03-26T14:15:00+01:00", "2026-03-25T14:15:00+01:00",
    "2026-03-24T14:15:00+01:00",
};

static struct memory *new_week(void)
{
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    for (int i = (int)ARRAY_LEN(ends) - 1; i >= 0; i--) {
        int64_t end_ms = at(ends[i]);
        /* (1, 2] s, on one day (64, 128] s; over two endpoints. */
        int index = i == 2 ? 7 : 1;
        add_half_hour(m, "llm_ttft_seconds{model=\"m\",upstream=\"a\",endpoint=\"x\"}", end_ms, 60,
                      index);
        add_half_hour(m, "llm_ttft_seconds{model=\"m\",upstream=\"a\",endpoint=\"y\"}", end_ms, 40,
                      index);
        /* Too few on each day; enough, but on two days only. */
        add_half_hour(m, "llm_ttft_seconds{model=\"rare\",upstream=\"a\"}", end_ms, 15, 1);
        if (i >= 5)
            add_half_hour(m, "llm_ttft_seconds{model=\"old\",upstream=\"a\"}", end_ms, 60, 1);
    }
    return m;
}

static void test_a_week(void **state)
{
    static const struct wanted want[] = {{TTFT("median"), 1.4142},
                                         {TTFT("mad"), 0.0707},
                                         {TTFT("p95"), 1.932},
                                         {TTFT("count"), 700}};
    struct memory *m = new_week();
    struct arena a;
    struct batch *b;
    struct err err;
    (void)state;
    arena_init(&a, NULL);
    struct baseline_ask ask = {
        .zone = zone(&a, "Europe/Berlin"), .reader = memory_reader(m), .now_ms = at(now_text)};
    assert_int_equal(batch_new(&b), 0);
    assert_int_equal(baseline_collect(&baseline_metrics[0], &ask, b, &err), 0);
    assert_batch(b, want, ARRAY_LEN(want), ask.now_ms);
    (void)batch_free(b);

    /* By another clock it is the hour before on five of the days, when nothing was asked. */
    assert_int_equal(batch_new(&b), 0);
    ask.zone = NULL;
    assert_int_equal(baseline_collect(&baseline_metrics[0], &ask, b, &err), 0);
    assert_int_equal(b->n, 0);
    /* And there is nothing of another metric. */
    ask.zone = zone(&a, "Europe/Berlin");
    assert_int_equal(baseline_collect(&baseline_metrics[1], &ask, b, &err), 0);
    assert_int_equal(b->n, 0);
    (void)batch_free(b);
    arena_done(&a);
    (void)memory_free(m);
}

static int over(void *ctx)
{
    (void)ctx;
    return -ECANCELED;
}

static void test_it_can_be_ended(void **state)
{
    struct memory *m = new_week();
    struct batch *b;
    struct err err;
    (void)state;
    assert_int_equal(batch_new(&b), 0);
    struct baseline_ask ask = {.reader = memory_reader(m), .now_ms = at(now_text), .is_over = over};
    assert_int_equal(baseline_collect(&baseline_metrics[0], &ask, b, &err), -ECANCELED);
    assert_int_equal(b->n, 0);
    assert_true(err.text[0] != '\0');
    (void)batch_free(b);
    (void)memory_free(m);
}

static int attempt(void *ctx)
{
    struct batch *b;
    struct err err;
    int r = batch_new(&b);
    if (r < 0)
        return r;
    r = baseline_collect(&baseline_metrics[0], ctx, b, &err);
    assert_true(r == -ENOMEM || b->n == 4);
    (void)batch_free(b);
    return r;
}

static void test_allocation_failures(void **state)
{
    struct memory *m = new_week();
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    struct baseline_ask ask = {
        .zone = zone(&a, "Europe/Berlin"), .reader = memory_reader(m), .now_ms = at(now_text)};
    assert_true(memfail_each(attempt, &ask) > 20);
    arena_done(&a);
    (void)memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_time_of_day), cmocka_unit_test(test_slots),
        cmocka_unit_test(test_figures),          cmocka_unit_test(test_a_week),
        cmocka_unit_test(test_it_can_be_ended),  cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
