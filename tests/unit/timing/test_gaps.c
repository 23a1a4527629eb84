/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/gaps: bucket bounds, exact figures, quantile error, coarsening, twins, merging.
 */
#include "harness.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "timing/gaps.h"

enum { MANY = 4000 };

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void empty_has_no_quantile(void **state)
{
    (void)state;
    struct gaps g;
    gaps_init(&g);
    assert_int_equal(gaps_quantile(&g, 0.5), -1);
    assert_int_equal(gaps_len(&g), 0);
    assert_int_equal(gaps_count_above(&g, 0), 0);
    assert_int_equal(gaps_at(&g, 0).n_gaps, 0);
    assert_true(sizeof(g) <= 512);
}

/* A power of two is the upper bound of its bucket, inclusive; one more is in the next. */
static void bounds_are_exact(void **state)
{
    (void)state;
    for (int k = 10; k < 62; k++) {
        int64_t bound = INT64_C(1) << k;
        struct gaps g;
        gaps_init(&g);
        gaps_add(&g, bound, 1);
        gaps_add(&g, bound - 1, 1);
        assert_int_equal(gaps_len(&g), 1);
        gaps_add(&g, bound + 1, 1);
        assert_int_equal(gaps_len(&g), 2);
        assert_int_equal(gaps_count_above(&g, bound), 1);
    }
    /* 2^(1/32) * 2^20 = 1,071,537.3: the two integers around it are in different buckets */
    struct gaps g;
    gaps_init(&g);
    int64_t below = (int64_t)floor(exp2(20.0 + 1.0 / 32.0));
    gaps_add(&g, below, 1);
    gaps_add(&g, below + 1, 1);
    assert_int_equal(gaps_len(&g), 2);
}

static void every_value_lies_in_its_bucket(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < MANY; i++) {
        int64_t v = (int64_t)(1000.0 * exp2(rng_unit(&rng) * 40.0));
        struct gaps g;
        gaps_init(&g);
        gaps_add(&g, v, 1);
        gaps_add(&g, INT64_MAX / 4, 1); /* so that the middle is not clamped to the maximum */
        double ratio = (double)gaps_at(&g, 0).middle_ns / (double)v;
        assert_true(ratio > 1.0 / 1.0115 && ratio < 1.0115); /* half a bucket: 2^(1/64) */
    }
}

static void small_and_negative_count_as_one_us(void **state)
{
    (void)state;
    struct gaps g;
    gaps_init(&g);
    gaps_add(&g, 0, 1);
    gaps_add(&g, -5, 1);
    gaps_add(&g, 999, 1);
    assert_int_equal(gaps_len(&g), 1);
    assert_int_equal(g.sum_ns, 999);
    assert_int_equal(g.max_ns, 999);
    assert_true(gaps_quantile(&g, 0.5) <= 999); /* never above the largest */
}

static void figures_are_exact_and_quantiles_near(void **state)
{
    (void)state;
    static int64_t values[MANY];
    struct gaps g;
    struct rng rng;
    int64_t sum = 0;
    gaps_init(&g);
    rng_seed(&rng, 2);
    for (int i = 0; i < MANY; i++) { /* a decoder: 20 ms, some jitter */
        values[i] = (int64_t)(20e6 * exp2((rng_unit(&rng) - 0.5) * 2.0));
        sum += values[i];
        gaps_add(&g, values[i], 1);
    }
    qsort(values, MANY, sizeof(values[0]), compare_i64);
    assert_int_equal(g.n_gaps, MANY);
    assert_int_equal(g.sum_ns, sum);
    assert_int_equal(g.max_ns, values[MANY - 1]);
    for (int percent = 1; percent <= 100; percent++) {
        double q = percent / 100.0;
        size_t rank = (size_t)ceil(q * MANY - 1e-9);
        double exact = (double)values[rank - 1];
        double got = (double)gaps_quantile(&g, q);
        assert_true(got / exact < 1.0112 && exact / got < 1.0112);
    }
}

/* Values over 30 octaves need more than the slots: coarser, but nothing is lost. */
static void coarsening_loses_nothing(void **state)
{
    (void)state;
    struct gaps g;
    struct rng rng;
    gaps_init(&g);
    rng_seed(&rng, 3);
    uint64_t n_events = 0;
    for (int i = 0; i < MANY; i++) {
        uint32_t events = 1 + (uint32_t)rng_below(&rng, 3);
        gaps_add(&g, (int64_t)(1000.0 * exp2(rng_unit(&rng) * 30.0)), events);
        n_events += events;
    }
    uint64_t gaps_seen = 0;
    uint64_t events_seen = 0;
    int64_t last = 0;
    for (size_t i = 0; i < gaps_len(&g); i++) {
        struct gaps_bucket b = gaps_at(&g, i);
        assert_true(b.middle_ns >= last);
        last = b.middle_ns;
        gaps_seen += b.n_gaps;
        events_seen += b.n_events;
    }
    assert_int_equal(gaps_seen, MANY);
    assert_int_equal(events_seen, n_events);
    assert_true(gaps_len(&g) <= GAPS_SLOTS);
    assert_true(g._schema < 5);
}

static void full_counts_get_twins(void **state)
{
    (void)state;
    struct gaps g;
    gaps_init(&g);
    enum { N = 200000 };
    for (int i = 0; i < N; i++)
        gaps_add(&g, 5000000, 2);
    gaps_add(&g, 9000000, 1);
    assert_int_equal(gaps_len(&g), 2);
    assert_int_equal(gaps_at(&g, 0).n_gaps, N);
    assert_int_equal(gaps_at(&g, 0).n_events, 2 * N);
    assert_int_equal(gaps_at(&g, 1).n_gaps, 1);
    assert_int_equal(gaps_count_above(&g, 5000000), 1);
    assert_int_equal(gaps_quantile(&g, 1.0), 9000000);
    /* and survive coarsening */
    for (int i = 0; i < 400; i++)
        gaps_add(&g, (int64_t)(1000.0 * exp2(i * 0.07)), 1);
    uint64_t n = 0;
    for (size_t i = 0; i < gaps_len(&g); i++)
        n += gaps_at(&g, i).n_gaps;
    assert_int_equal(n, N + 401);
}

/* Beyond all slots at the coarsest schema only the exact figures go on. */
static void saturation_is_harmless(void **state)
{
    (void)state;
    struct gaps g;
    gaps_init(&g);
    for (uint32_t i = 0; i < GAPS_SLOTS + 20u; i++)
        gaps_add_events(&g, 1 << 20, UINT16_MAX);
    gaps_add(&g, 1 << 20, 1);
    assert_int_equal(g.n_gaps, 1);
    assert_int_equal(g.max_ns, 1 << 20);
    assert_int_equal(gaps_len(&g), 1);
}

static void events_join_the_last_gap(void **state)
{
    (void)state;
    struct gaps g;
    gaps_init(&g);
    gaps_add(&g, 30000000, 1);
    gaps_add_events(&g, 30000000, 4);
    assert_int_equal(gaps_len(&g), 1);
    assert_int_equal(gaps_at(&g, 0).n_gaps, 1);
    assert_int_equal(gaps_at(&g, 0).n_events, 5);
    assert_int_equal(g.n_gaps, 1);
}

static void merging_adds_everything(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 4);
    for (int round = 0; round < 50; round++) {
        struct gaps a;
        struct gaps b;
        struct gaps all;
        double octaves_a = 1.0 + rng_unit(&rng) * 30.0;
        double octaves_b = 1.0 + rng_unit(&rng) * 30.0;
        gaps_init(&a);
        gaps_init(&b);
        gaps_init(&all);
        for (int i = 0; i < 300; i++) {
            int64_t x = (int64_t)(1000.0 * exp2(rng_unit(&rng) * octaves_a));
            int64_t y = (int64_t)(1000.0 * exp2(rng_unit(&rng) * octaves_b));
            gaps_add(&a, x, 1);
            gaps_add(&b, y, 2);
            gaps_add(&all, x, 1);
            gaps_add(&all, y, 2);
        }
        gaps_merge(&a, &b);
        assert_int_equal(a.n_gaps, all.n_gaps);
        assert_int_equal(a.sum_ns, all.sum_ns);
        assert_int_equal(a.max_ns, all.max_ns);
        assert_int_equal(a._schema, all._schema);
        assert_int_equal(gaps_len(&a), gaps_len(&all));
        for (size_t i = 0; i < gaps_len(&a); i++) {
            assert_int_equal(gaps_at(&a, i).n_gaps, gaps_at(&all, i).n_gaps);
            assert_int_equal(gaps_at(&a, i).n_events, gaps_at(&all, i).n_events);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_has_no_quantile),
        cmocka_unit_test(bounds_are_exact),
        cmocka_unit_test(every_value_lies_in_its_bucket),
        cmocka_unit_test(small_and_negative_count_as_one_us),
        cmocka_unit_test(figures_are_exact_and_quantiles_near),
        cmocka_unit_test(coarsening_loses_nothing),
        cmocka_unit_test(full_counts_get_twins),
        cmocka_unit_test(saturation_is_harmless),
        cmocka_unit_test(events_join_the_last_gap),
        cmocka_unit_test(merging_adds_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
