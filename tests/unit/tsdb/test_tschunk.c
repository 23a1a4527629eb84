/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tschunk.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "tsdb/frame.h"
#include "tsdb/journal.h"

enum { N = 400 };

struct sample {
    int64_t t;
    double v;
};

/* --- kinds of series --- */

static double counter(struct rng *r, double before)
{
    return before + (double)rng_below(r, 50);
}

static double constant(struct rng *r, double before)
{
    (void)r;
    return before == 0 ? 17 : before;
}

static double seconds(struct rng *r, double before)
{
    int64_t ns = llrint(before * 1e9) + (int64_t)rng_below(r, 3000000);
    return (double)ns / 1e9;
}

static double ratio(struct rng *r, double before)
{
    (void)before;
    return rng_unit(r);
}

static double anything(struct rng *r, double before)
{
    (void)before;
    return tscolumn_of_bits(rng_u64(r));
}

static double odd_ones(struct rng *r, double before)
{
    static const double all[] = {0,
                                 -0.0,
                                 (double)NAN,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 1e300,
                                 -1e300,
                                 5e-324,
                                 0.1,
                                 0.25,
                                 1e15,
                                 -1e15,
                                 0x1p53,
                                 -0x1p53,
                                 0x1p53 + 2,
                                 1e-9,
                                 123.456,
                                 7,
                                 -7};
    (void)before;
    return rng_below(r, 5) == 0 ? series_stale() : all[rng_below(r, ARRAY_LEN(all))];
}

static const struct {
    const char *name;
    double (*next)(struct rng *r, double before);
    size_t max_bytes; /* of the chunk: what this coding is for */
} kinds[] = {
    {"counter", counter, N * 3 + 60},    {"constant", constant, N * 3 + 40},
    {"seconds", seconds, N * 6 + 60},    {"ratio", ratio, N * 10 + 40},
    {"anything", anything, N * 11 + 40}, {"odd ones", odd_ones, N * 11 + 40},
};

static void make(struct rng *r, size_t kind, struct sample *samples)
{
    int64_t t = 1700000000000 + (int64_t)rng_below(r, 1000);
    double v = 0;
    for (int i = 0; i < N; i++) {
        v = kinds[kind].next(r, v);
        samples[i] = (struct sample){t, v};
        t += 15000 + (rng_below(r, 10) == 0 ? (int64_t)rng_below(r, 4000) - 2000 : 0);
    }
}

static void write_all(const struct sample *samples, struct bytes *out)
{
    struct tschunk c;
    assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(tschunk_append(&c, samples[i].t, samples[i].v), 0);
    assert_int_equal(tschunk_append(&c, samples[N - 1].t, 1), -EINVAL);
    assert_int_equal(tschunk_append(&c, samples[0].t, 1), -EINVAL);
    assert_int_equal(tschunk_write(&c, out), 0);
    assert_int_equal(c.n, N);
    tschunk_done(&c);
}

static void test_every_kind_comes_back(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 7);
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
        struct sample samples[N];
        struct bytes bytes = {0};
        struct tschunk_walk w;
        make(&r, kind, samples);
        write_all(samples, &bytes);
        assert_row(kinds[kind].name, bytes.n <= kinds[kind].max_bytes);
        assert_int_equal(tschunk_walk_begin(&w, bytes_span(&bytes)), 0);
        for (int i = 0; i < N; i++) {
            assert_row(kinds[kind].name, tschunk_walk_next(&w) == 1);
            assert_row(kinds[kind].name, w.t == samples[i].t);
            assert_row(kinds[kind].name, tscolumn_bits(w.values[0]) == tscolumn_bits(samples[i].v));
        }
        assert_row(kinds[kind].name, tschunk_walk_next(&w) == 0);
        tschunk_walk_end(&w);
        bytes_done(&bytes);
    }
}

static void test_times_of_all_sizes(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -5, -4, 0, 1, 1000, 1001, 1LL << 60};
    struct tschunk c;
    struct bytes bytes = {0};
    struct tschunk_walk w;
    assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
    /* The whole range has differences that no int64_t holds. */
    for (size_t i = 2; i < ARRAY_LEN(times); i++)
        assert_int_equal(tschunk_append(&c, times[i], (double)i), 0);
    assert_int_equal(tschunk_write(&c, &bytes), 0);
    assert_int_equal(tschunk_walk_begin(&w, bytes_span(&bytes)), 0);
    for (size_t i = 2; i < ARRAY_LEN(times); i++) {
        assert_int_equal(tschunk_walk_next(&w), 1);
        assert_true(w.t == times[i]);
    }
    tschunk_walk_end(&w);
    tschunk_done(&c);
    bytes.n = 0;
    assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
    assert_int_equal(tschunk_append(&c, INT64_MIN, 1), 0);
    assert_int_equal(tschunk_append(&c, INT64_MAX, 1), -EINVAL);
    tschunk_done(&c);
    bytes_done(&bytes);
}

/* What stays the same costs no memory, until it changes; the bytes are those of any other chunk. */
static void test_steady(void **state)
{
    (void)state;
    enum { N_STEADY = 1000 };
    static const int changes[] = {0, 1, 2, 500, 501, 998, 999};
    struct tschunk c;
    struct bytes bytes = {0};
    struct tschunk_walk w;
    assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
    double v = 7;
    int64_t t = 0;
    for (int i = 0; i < N_STEADY; i++) {
        bool is_change = false;
        for (size_t k = 0; k < ARRAY_LEN(changes); k++)
            is_change = is_change || changes[k] == i;
        v += is_change;
        t += is_change ? 1003 : 1000;
        assert_int_equal(tschunk_append(&c, t, v), 0);
        if (i == 499)
            assert_true(c.t.out.cap + c.columns[0].stream.out.cap < 100);
    }
    assert_true(tschunk_bytes(&c) >= (size_t)2 * (N_STEADY - 1));
    assert_int_equal(tschunk_write(&c, &bytes), 0);
    assert_int_equal(tschunk_walk_begin(&w, bytes_span(&bytes)), 0);
    v = 7;
    t = 0;
    for (int i = 0; i < N_STEADY; i++) {
        bool is_change = false;
        for (size_t k = 0; k < ARRAY_LEN(changes); k++)
            is_change = is_change || changes[k] == i;
        v += is_change;
        t += is_change ? 1003 : 1000;
        assert_int_equal(tschunk_walk_next(&w), 1);
        assert_true(w.t == t && w.values[0] == v);
    }
    assert_int_equal(tschunk_walk_next(&w), 0);
    tschunk_walk_end(&w);
    tschunk_done(&c);
    bytes_done(&bytes);
}

static void test_ranges_and_aspects(void **state)
{
    (void)state;
    struct tschunk c;
    struct bytes bytes = {0};
    struct samples out;
    static const struct {
        enum series_aspect aspect;
        double want;
    } table[] = {{SERIES_LAST, 3}, {SERIES_MIN, 1},   {SERIES_MAX, 9},
                 {SERIES_SUM, 16}, {SERIES_COUNT, 4}, {SERIES_MEAN, 4}};
    double summary[TSCHUNK_SUMMARY] = {[TSCHUNK_LAST] = 3,
                                       [TSCHUNK_MIN] = 1,
                                       [TSCHUNK_MAX] = 9,
                                       [TSCHUNK_SUM] = 16,
                                       [TSCHUNK_COUNT] = 4};
    assert_int_equal(tschunk_init(&c, TSCHUNK_SUMMARY), 0);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(tschunk_append_summary(&c, i * 100, summary), 0);
    assert_int_equal(tschunk_write(&c, &bytes), 0);
    samples_init(&out, NULL);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        samples_clear(&out);
        assert_int_equal(tschunk_read(bytes_span(&bytes), 101, 300, table[i].aspect, &out), 0);
        assert_int_equal(out.n, 2);
        assert_true(out.t[0] == 200 && out.t[1] == 300);
        assert_true(out.v[0] == table[i].want && out.v[1] == table[i].want);
    }
    samples_clear(&out);
    assert_int_equal(tschunk_read(bytes_span(&bytes), 301, 400, SERIES_LAST, &out), 0);
    assert_int_equal(tschunk_read(bytes_span(&bytes), 0, 99, SERIES_LAST, &out), 0);
    assert_int_equal(out.n, 0);
    samples_done(&out);
    tschunk_done(&c);
    bytes_done(&bytes);
}

/* --- histograms --- */

static void grow(struct rng *r, struct fhist *h, int step)
{
    bool is_fraction = step % 50 > 40;
    for (size_t i = 0; i < h->positive.n; i++)
        if (rng_below(r, 3) == 0)
            h->positive.at[i].count += (double)rng_below(r, 9) + (is_fraction ? 0.25 : 0);
    h->count += 5;
    h->zero_count += h->n_custom ? 0 : (double)rng_below(r, 2);
    h->sum += rng_unit(r);
    h->hint = step % 4;
    if (step % 20 == 0 && h->positive.n < 30 && !h->n_custom) {
        size_t n = h->positive.n++;
        h->positive.at[n].index = h->positive.at[n - 1].index + 1 + (int32_t)rng_below(r, 3);
        h->positive.at[n].count = 1;
    }
    if (step == 100) { /* a restart with another layout */
        h->schema = 3;
        h->negative.n = 2;
        h->count = 0;
    }
    if (step == 200) {
        static const double custom[] = {0.5, 1, 2.5};
        h->schema = FHIST_CUSTOM;
        h->custom = custom;
        h->n_custom = 3;
        h->zero_threshold = 0;
        h->zero_count = 0;
        h->negative.n = 0;
        h->positive.n = 2;
        h->positive.at[0].index = 0;
        h->positive.at[1].index = 3;
    }
}

static void same_hist(const struct fhist *got, const struct fhist *want)
{
    assert_true(fhist_eq(got, want));
    assert_int_equal(got->hint, want->hint);
}

static void hist_start(struct fhist *h, struct fhist_bucket *positive,
                       struct fhist_bucket *negative)
{
    memset(h, 0, sizeof(*h));
    memset(positive, 0, 40 * sizeof(*positive));
    h->schema = 5;
    h->zero_threshold = 0x1p-128;
    h->positive = (struct fhist_side){positive, 2};
    h->negative = (struct fhist_side){negative, 0};
    positive[0] = (struct fhist_bucket){-7, 3};
    positive[1] = (struct fhist_bucket){12, 5};
    negative[0] = (struct fhist_bucket){-3, 1};
    negative[1] = (struct fhist_bucket){4, 1};
}

static void test_histograms_come_back(void **state)
{
    (void)state;
    struct fhist_bucket positive[40], negative[2];
    struct fhist h;
    struct arena arena;
    struct rng r;
    struct tschunk c;
    struct bytes bytes = {0};
    struct fhist *copies[300];
    arena_init(&arena, NULL);
    rng_seed(&r, 3);
    hist_start(&h, positive, negative);
    assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
    for (int i = 0; i < 300; i++) {
        grow(&r, &h, i);
        assert_int_equal(fhist_copy(&arena, &h, &copies[i]), 0);
        assert_int_equal(
            i % 60 == 59 ? tschunk_append(&c, i * 15, i) : tschunk_append_hist(&c, i * 15, &h), 0);
    }
    assert_int_equal(tschunk_write(&c, &bytes), 0);
    struct samples out;
    samples_init(&out, NULL);
    assert_int_equal(tschunk_read(bytes_span(&bytes), 0, INT64_MAX, SERIES_LAST, &out), 0);
    assert_int_equal(out.n, 300);
    for (int i = 0; i < 300; i++) {
        if (i % 60 == 59)
            assert_true(!out.h[i] && out.v[i] == i);
        else
            same_hist(out.h[i], copies[i]);
    }
    samples_done(&out);
    tschunk_done(&c);
    bytes_done(&bytes);
    arena_done(&arena);
}

/* --- the journal --- */

struct seen {
    int n;
    struct fhist *hist;
};

static int see(void *ctx, uint32_t id, int64_t t_ms, double v, const struct fhist *hist)
{
    struct seen *s = ctx;
    static const uint32_t ids[] = {5, 900000, 3};
    assert_int_equal(id, ids[s->n]);
    assert_true(t_ms == 1000 - s->n * 400);
    if (s->n == 1)
        same_hist(hist, s->hist);
    else
        assert_true(!hist && v == s->n + 0.5);
    return ++s->n == 4 ? -ECANCELED : 0;
}

static void test_journal(void **state)
{
    (void)state;
    struct fhist_bucket positive[40], negative[2];
    struct fhist h;
    struct journal j = {0};
    hist_start(&h, positive, negative);
    for (int turn = 0; turn < 2; turn++) {
        struct seen seen = {.hist = &h};
        assert_int_equal(journal_add(&j, 5, 1000, 0.5, NULL), 0);
        assert_int_equal(journal_add(&j, 900000, 600, 0, &h), 0);
        assert_int_equal(journal_add(&j, 3, 200, 2.5, NULL), 0);
        assert_int_equal(j.n, 3);
        assert_int_equal(journal_replay(bytes_span(&j.out), see, &seen), 0);
        assert_int_equal(seen.n, 3);
        journal_clear(&j);
    }
    journal_done(&j);
}

/* --- frames and damage --- */

static void test_frames(void **state)
{
    (void)state;
    struct frame *f;
    char raw[3000];
    struct rng r;
    rng_seed(&r, 1);
    assert_int_equal(frame_new(&f), 0);
    for (size_t n = 0; n < sizeof(raw); n += 1 + n / 3) {
        for (size_t i = 0; i < n; i++)
            raw[i] = n % 2 ? (char)rng_u64(&r) : (char)(i % 9);
        struct span blob, back;
        assert_int_equal(frame_seal(f, span_of(raw, n), 3, &blob), 0);
        char copy[4000];
        memcpy(copy, blob.p, blob.n);
        assert_int_equal(frame_open(f, span_of(copy, blob.n), &back), 0);
        assert_span_equal("frame", back, span_of(raw, n));
        for (size_t i = 0; i < blob.n; i++) { /* every byte matters */
            copy[i] ^= 0x10;
            assert_int_equal(frame_open(f, span_of(copy, blob.n), &back), -EBADMSG);
            copy[i] ^= 0x10;
            assert_int_equal(frame_open(f, span_of(copy, i), &back), -EBADMSG); /* torn */
        }
    }
    frame_free(f);
}

/* Cut anywhere, or with a byte changed: an error or other samples, never a read beyond. */
static void test_damaged_chunks(void **state)
{
    (void)state;
    struct sample samples[N];
    struct rng r;
    struct bytes bytes = {0};
    rng_seed(&r, 9);
    make(&r, 5, samples);
    write_all(samples, &bytes);
    struct samples out;
    samples_init(&out, NULL);
    for (uint32_t i = 0; i < bytes.n; i++) {
        struct guard g;
        guard_init(&g, i);
        samples_clear(&out);
        assert_int_equal(tschunk_read(guard_copy(&g, span_of(bytes.p, i)), INT64_MIN, INT64_MAX,
                                      SERIES_LAST, &out),
                         -EBADMSG);
        guard_done(&g);
        bytes.p[i] ^= (uint8_t)(1 + rng_below(&r, 255));
        samples_clear(&out);
        int x = tschunk_read(bytes_span(&bytes), INT64_MIN, INT64_MAX, SERIES_LAST, &out);
        assert_true(x == 0 || x == -EBADMSG);
        make(&r, 5, samples);
        bytes.n = 0;
        write_all(samples, &bytes);
    }
    samples_done(&out);
    bytes_done(&bytes);
}

/* What was written well may say what no histogram is. */
static void test_impossible_histograms(void **state)
{
    static const double falling[] = {2, 1};
    struct fhist_bucket high[] = {{3, 1}};
    const struct fhist wrong[] = {
        {.zero_threshold = (double)NAN},
        {.zero_threshold = -1},
        {.schema = FHIST_SCHEMA_MAX + 1},
        {.schema = FHIST_CUSTOM, .zero_threshold = 1},
        {.schema = FHIST_CUSTOM, .custom = falling, .n_custom = 2},
        {.schema = FHIST_CUSTOM, .positive = {high, 1}},
        {.schema = FHIST_CUSTOM, .negative = {high, 1}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct tschunk c;
        struct bytes bytes = {0};
        struct samples out;
        assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
        assert_int_equal(tschunk_append_hist(&c, 1, &wrong[i]), 0);
        assert_int_equal(tschunk_write(&c, &bytes), 0);
        tschunk_done(&c);
        samples_init(&out, NULL);
        assert_int_equal(tschunk_read(bytes_span(&bytes), 0, 9, SERIES_LAST, &out), -EBADMSG);
        samples_done(&out);
        bytes_done(&bytes);
    }
}

static int attempt(void *ctx)
{
    struct fhist_bucket positive[40], negative[2];
    struct fhist h;
    struct tschunk c;
    struct bytes bytes = {0};
    struct samples out;
    struct rng r;
    (void)ctx;
    rng_seed(&r, 3);
    hist_start(&h, positive, negative);
    int x = tschunk_init(&c, TSCHUNK_PLAIN);
    for (int i = 0; x == 0 && i < 60; i++) {
        grow(&r, &h, i);
        x = i % 3 ? tschunk_append_hist(&c, i, &h) : tschunk_append(&c, i, i * 0.5);
    }
    if (x == 0)
        x = tschunk_write(&c, &bytes);
    samples_init(&out, NULL);
    if (x == 0)
        x = tschunk_read(bytes_span(&bytes), 0, 100, SERIES_LAST, &out);
    if (x == 0)
        assert_int_equal(out.n, 60);
    samples_done(&out);
    bytes_done(&bytes);
    tschunk_done(&c);
    return x;
}

/* After a failed append the chunk goes on as if nothing had been. */
static void test_append_after_failure(void **state)
{
    (void)state;
    struct fhist_bucket positive[40], negative[2];
    struct fhist h;
    for (uint64_t n = 1; n < 12; n++) {
        struct tschunk c;
        struct bytes bytes = {0};
        struct samples out;
        struct rng r;
        rng_seed(&r, n);
        hist_start(&h, positive, negative);
        assert_int_equal(tschunk_init(&c, TSCHUNK_PLAIN), 0);
        for (int i = 0; i < 50; i++) {
            grow(&r, &h, i);
            if (i == 20 || i == 40) {
                mem_fail_from(n);
                int x = tschunk_append_hist(&c, i, &h);
                mem_fail_off();
                if (x == 0)
                    continue;
                assert_int_equal(x, -ENOMEM);
            }
            assert_int_equal(tschunk_append_hist(&c, i, &h), 0);
        }
        assert_int_equal(tschunk_write(&c, &bytes), 0);
        samples_init(&out, NULL);
        assert_int_equal(tschunk_read(bytes_span(&bytes), 0, 100, SERIES_LAST, &out), 0);
        assert_int_equal(out.n, 50);
        same_hist(out.h[49], &h);
        samples_done(&out);
        bytes_done(&bytes);
        tschunk_done(&c);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_back),
        cmocka_unit_test(test_times_of_all_sizes),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_ranges_and_aspects),
        cmocka_unit_test(test_histograms_come_back),
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_damaged_chunks),
        cmocka_unit_test(test_impossible_histograms),
        cmocka_unit_test(test_append_after_failure),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
