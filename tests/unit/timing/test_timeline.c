/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timeline: what goes in comes out, thinned evenly when there is too much of it.
 */
#include "harness.h"

#include <string.h>

#include "base/attr.h"
#include "base/rng.h"
#include "timing/timeline.h"

static char room[TIMELINE_BYTES];

static size_t walk(struct span bytes, struct timeline_entry *entries, size_t max)
{
    struct timeline_entry e = {0};
    size_t n = 0;
    while (timeline_next(&bytes, &e)) {
        assert_true(n < max);
        entries[n++] = e;
    }
    assert_int_equal(bytes.n, 0);
    return n;
}

static void a_few_arrivals(void **state)
{
    (void)state;
    struct timeline t;
    struct timeline_entry got[8];
    timeline_init(&t, room);
    timeline_add(&t, 120 * NS_PER_MS + 999, false, -1);
    timeline_add(&t, 140 * NS_PER_MS, false, 3);
    timeline_add(&t, 140 * NS_PER_MS, true, 2);
    timeline_add(&t, 141 * NS_PER_MS, false, 1);
    assert_int_equal(walk(timeline_bytes(&t), got, 8), 3);
    assert_int_equal(got[0].offset_us, 120000);
    assert_int_equal(got[0].n_events, 1);
    assert_int_equal(got[0].n_tokens, 0);
    assert_int_equal(got[1].offset_us, 140000);
    assert_int_equal(got[1].n_events, 2);
    assert_int_equal(got[1].n_tokens, 5);
    assert_int_equal(got[2].offset_us, 141000);
    assert_int_equal(t.stride, 1);
}

static void odd_stamps(void **state)
{
    (void)state;
    struct timeline t;
    struct timeline_entry got[4];
    timeline_init(&t, room);
    assert_int_equal(timeline_bytes(&t).n, 0);
    timeline_add(&t, -5, false, -1); /* output before the request was complete */
    timeline_add(&t, 10 * NS_PER_US, false, -1);
    timeline_add(&t, 7 * NS_PER_US, false, -1); /* backwards: clamped */
    assert_int_equal(walk(timeline_bytes(&t), got, 4), 3);
    assert_int_equal(got[0].offset_us, 0);
    assert_int_equal(got[1].offset_us, 10);
    assert_int_equal(got[2].offset_us, 10);
}

static void no_room(void **state)
{
    (void)state;
    struct timeline t;
    timeline_init(&t, NULL);
    timeline_add(&t, 1, false, 1);
    assert_int_equal(timeline_bytes(&t).n, 0);
}

/* However many arrivals, counts and the last offset are kept, offsets ascend, entries are even. */
static void thinning(void **state)
{
    (void)state;
    static struct timeline_entry got[TIMELINE_BYTES];
    static const int sizes[] = {1, 300, 399, 1000, 5000, 100000, 1000000};
    struct rng rng;
    rng_seed(&rng, 7);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct timeline t;
        int64_t ns = 0;
        uint64_t n_tokens = 0;
        uint64_t n_events_got = 0;
        uint64_t n_tokens_got = 0;
        timeline_init(&t, room);
        for (int k = 0; k < sizes[i]; k++) {
            int64_t tokens = (int64_t)rng_below(&rng, 4);
            ns += (int64_t)rng_below(&rng, 60 * NS_PER_MS) + NS_PER_US;
            n_tokens += (uint64_t)tokens;
            timeline_add(&t, ns, false, tokens);
        }
        struct span bytes = timeline_bytes(&t);
        assert_true(bytes.n <= TIMELINE_BYTES);
        size_t n = walk(bytes, got, ARRAY_LEN(got));
        for (size_t k = 0; k < n; k++) {
            n_events_got += got[k].n_events;
            n_tokens_got += got[k].n_tokens;
            assert_true(k == 0 || got[k].offset_us >= got[k - 1].offset_us);
            assert_true(k + 1 >= n || got[k].n_events == t.stride);
        }
        assert_int_equal(n_events_got, sizes[i]);
        assert_int_equal(n_tokens_got, n_tokens);
        assert_int_equal(got[n - 1].offset_us, ns / NS_PER_US);
        assert_true(t.stride == 1 || n > 100); /* thinned, and not more than need be */
    }
}

static void add_arrival(struct timeline *t, int64_t us, int n_events, int64_t n_tokens)
{
    timeline_add(t, us * NS_PER_US, false, n_tokens);
    for (int i = 1; i < n_events; i++)
        timeline_add(t, us * NS_PER_US, true, i == 1 && n_tokens == INT64_MAX ? n_tokens : 0);
}

/* Numbers at the end of their bytes' range: two such entries, merged, take as much as before, and
 * the latest one may take more than there is left. */
static void thinning_that_frees_nothing(void **state)
{
    (void)state;
    static char guarded[TIMELINE_BYTES + 64];
    struct timeline t;
    int64_t us = 0;
    memset(guarded, 'g', sizeof(guarded));
    timeline_init(&t, guarded);
    for (int i = 0; i < 671; i++)
        add_arrival(&t, us += 127, 127, 127);
    add_arrival(&t, us += (INT64_C(1) << 49) - 1, 127, (INT64_C(1) << 56) - 1);
    add_arrival(&t, us += INT64_C(1) << 52, 1 << 15, INT64_MAX);
    struct span bytes = timeline_bytes(&t);
    assert_true(bytes.n <= TIMELINE_BYTES);
    for (size_t k = TIMELINE_BYTES; k < sizeof(guarded); k++)
        assert_int_equal(guarded[k], 'g');
    static struct timeline_entry got[TIMELINE_BYTES];
    size_t n = walk(bytes, got, ARRAY_LEN(got));
    assert_int_equal(got[n - 1].offset_us, us);
}

static void malformed(void **state)
{
    (void)state;
    static const char *const rows[] = {"\x80", "\x01", "\x01\x01", "\x01\x01\x80",
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span bytes = span_cstr(rows[i]);
        struct timeline_entry e = {0};
        assert_row(rows[i], !timeline_next(&bytes, &e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_arrivals),
        cmocka_unit_test(odd_stamps),
        cmocka_unit_test(no_room),
        cmocka_unit_test(thinning),
        cmocka_unit_test(thinning_that_frees_nothing),
        cmocka_unit_test(malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
