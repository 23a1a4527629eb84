/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/burst: buffers of every usual size are found behind every way of reading them, and what
 * only looks like one is not.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/rng.h"
#include "timing/burst.h"

_Static_assert(sizeof(struct burst) < 100, "one per open stream");

enum { KIB = 1024, SEGMENT = 1448 };

/* An engine, what its stream passes, and how we read it. */
struct path {
    struct burst b;
    struct rng rng;
    int64_t now_us;
    uint64_t buffer;    /* bytes that the hop holds back; 0: none */
    uint64_t framing;   /* bytes beside each event that fill the buffer, and do not reach us */
    uint64_t in_buffer; /* with framing */
    uint64_t payload;   /* of it, what reaches us */
    uint32_t n_ended;   /* events that end in it */
    bool is_inside;     /* it ends inside an event */
    uint64_t segment;   /* a read brings at most so much; 0: no limit */
    int64_t segment_us; /* between two of them */
};

static void path_begin(struct path *p, uint64_t buffer)
{
    memset(p, 0, sizeof(*p));
    burst_init(&p->b);
    rng_seed(&p->rng, 7);
    p->now_us = 1000;
    p->buffer = buffer;
}

static void path_at(struct path *p, uint64_t n_bytes, uint32_t n_events, bool is_inside)
{
    burst_add(&p->b, (mono_t){p->now_us * NS_PER_US}, n_bytes, n_events, is_inside);
}

/* What the hop lets go, as our reads: events end in the last of them, which is the worst for us. */
static void path_flush(struct path *p)
{
    uint64_t left = p->payload;
    int64_t began_us = p->now_us;
    while (p->segment > 0 && left > p->segment) {
        path_at(p, p->segment, 0, true);
        left -= p->segment;
        p->now_us += p->segment_us;
    }
    path_at(p, left, p->n_ended, p->is_inside);
    p->now_us = began_us;
    p->in_buffer = p->payload = 0;
    p->n_ended = 0;
    p->is_inside = false;
}

/* The engine writes one event of n bytes. */
static void path_event(struct path *p, uint64_t n)
{
    uint64_t left = n + p->framing;
    while (p->buffer > 0 && p->in_buffer + left >= p->buffer) {
        uint64_t part = p->buffer - p->in_buffer;
        uint64_t payload = part < n ? part : n;
        left -= part;
        n -= payload;
        p->payload += payload;
        p->n_ended += left == 0;
        p->is_inside = left > 0;
        path_flush(p);
        if (left == 0)
            return;
    }
    p->in_buffer += left;
    p->payload += n;
    p->n_ended++;
    if (p->buffer == 0)
        path_flush(p);
}

/* Text of 1 to 12 characters in some JSON. */
static uint64_t event_bytes(struct path *p)
{
    return 190 + rng_below(&p->rng, 12);
}

/* n events, step_us apart. */
static void path_stream(struct path *p, int n, int64_t step_us)
{
    for (int i = 0; i < n; i++) {
        p->now_us += step_us;
        path_event(p, event_bytes(p));
    }
}

static uint32_t path_end(struct path *p)
{
    p->now_us += 5000;
    path_flush(p); /* what was left, with the end of the stream */
    return burst_buffer_bytes(&p->b);
}

static void buffers_of_usual_sizes(void **state)
{
    static const struct {
        const char *name;
        uint64_t framing, segment;
        int64_t segment_us;
        uint64_t before; /* of the head, in the first buffer */
    } rows[] = {
        {"whole reads", 0, 0, 0, 0},
        {"behind a head", 0, 0, 0, 300},
        {"chunked up to the hop", 6, 0, 0, 0},
        {"in segments", 0, SEGMENT, 30, 0},
        {"in segments, a bad network", 6, SEGMENT, 1900, 200},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (uint64_t size = KIB; size <= 64 * KIB; size *= 2) {
            struct path p;
            char name[80];
            (void)snprintf(name, sizeof(name), "%s, %llu", rows[i].name, (unsigned long long)size);
            path_begin(&p, size);
            p.framing = rows[i].framing;
            p.segment = rows[i].segment;
            p.segment_us = rows[i].segment_us;
            p.in_buffer = rows[i].before;
            path_stream(&p, (int)(6 * size / 200), 20000);
            assert_row(name, path_end(&p) == size);
        }
    }
}

static void a_buffer_of_another_size_is_told_as_it_is(void **state)
{
    struct path p;
    (void)state;
    path_begin(&p, 6000);
    path_stream(&p, 300, 10000);
    assert_int_equal(path_end(&p), 6000);
}

/* The first and the last are no full ones. */
/* Tiny events cut anywhere: nobody buffers so little. */
static void nothing_below_any_buffer(void **state)
{
    struct burst b;
    (void)state;
    burst_init(&b);
    for (int i = 0; i < 40; i++)
        burst_add(&b, (mono_t){(1 + i) * 20 * NS_PER_MS}, 400 + (uint64_t)(i % 3), 5, true);
    assert_int_equal(burst_buffer_bytes(&b), 0);
    burst_init(&b);
    for (int i = 0; i < 40; i++) /* the same at a size that somebody may buffer */
        burst_add(&b, (mono_t){(1 + i) * 20 * NS_PER_MS}, 1000 + (uint64_t)(i % 3), 5, true);
    assert_int_equal(burst_buffer_bytes(&b), 1024);
}

static void too_few_bursts(void **state)
{
    (void)state;
    struct path p;
    path_begin(&p, 4 * KIB);
    path_stream(&p, 85, 20000); /* 16,600 bytes: four buffers and a rest */
    assert_int_equal(path_end(&p), 4 * KIB);
    path_begin(&p, 4 * KIB);
    path_stream(&p, 65, 20000); /* three and a rest: only two full ones between */
    assert_int_equal(path_end(&p), 0);
}

/* --- what only looks like it --- */

enum { STEPS = 400 };

/* Every event on its own. */
static void an_even_stream(void **state)
{
    (void)state;
    static const int64_t steps_us[] = {200, 1999, 2000, 5000, 20000, 300000};
    for (size_t i = 0; i < ARRAY_LEN(steps_us); i++) {
        struct path p;
        path_begin(&p, 0);
        path_stream(&p, STEPS, steps_us[i]);
        assert_int_equal(path_end(&p), 0);
    }
}

/* Several at once: always n (multi-step scheduling, choices, blocks), or 1 to n (speculation). */
static void engines_that_send_several_at_once(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n++) {
        for (int is_random = 0; is_random < 2; is_random++) {
            for (int is_one_read = 0; is_one_read < 2; is_one_read++) {
                struct path p;
                char name[64];
                (void)snprintf(name, sizeof(name), "%u, %d, %d", n, is_random, is_one_read);
                path_begin(&p, 0);
                for (int i = 0; i < STEPS; i++) {
                    uint32_t now = is_random ? 1 + (uint32_t)rng_below(&p.rng, n) : n;
                    p.now_us += 30000;
                    uint64_t bytes = 0;
                    for (uint32_t k = 0; k < now && !is_one_read; k++)
                        path_event(&p, event_bytes(&p));
                    for (uint32_t k = 0; k < now && is_one_read; k++)
                        bytes += event_bytes(&p);
                    if (is_one_read)
                        path_at(&p, bytes, now, false);
                }
                assert_row(name, path_end(&p) == 0);
            }
        }
    }
}

/* Steps of several events that our reads cut anywhere: the burst as a whole ends with an event. */
static void segments_of_steps(void **state)
{
    struct path p;
    (void)state;
    path_begin(&p, 0);
    for (int i = 0; i < STEPS; i++) {
        uint64_t bytes = 0;
        for (int k = 0; k < 20; k++)
            bytes += event_bytes(&p);
        p.now_us += 100000;
        path_at(&p, SEGMENT, 7, true);
        p.now_us += 100;
        path_at(&p, SEGMENT, 7, true);
        p.now_us += 100;
        path_at(&p, bytes - UINT64_C(2) * SEGMENT, 6, false);
    }
    assert_int_equal(path_end(&p), 0);
}

/* Our worker looks only every 100 ms, or now and then is late: whole events wait for it. */
static void a_late_worker(void **state)
{
    (void)state;
    static const uint64_t often[] = {1, 2, 7};
    for (size_t i = 0; i < ARRAY_LEN(often); i++) {
        struct path p;
        uint64_t bytes = 0;
        uint32_t n = 0;
        path_begin(&p, 0);
        for (int k = 0; k < 2000; k++) {
            p.now_us += 20000;
            bytes += event_bytes(&p);
            n++;
            if (n < 5 && rng_below(&p.rng, often[i]) == 0)
                continue;
            path_at(&p, bytes, n, false);
            bytes = 0;
            n = 0;
        }
        assert_int_equal(path_end(&p), 0);
    }
}

/* Buffered, and the client stops reading: bursts around a pause do not count, the others do. */
static void pauses_are_left_out(void **state)
{
    struct path p;
    (void)state;
    path_begin(&p, 4 * KIB);
    for (int i = 0; i < 8; i++) {
        path_stream(&p, 70, 20000);
        burst_pause(&p.b);
        p.now_us += 3000000;
        path_at(&p, 50000, 250, true); /* what has waited */
    }
    assert_int_equal(path_end(&p), 4 * KIB);

    /* Never enough between two pauses: nothing is said. */
    path_begin(&p, 0);
    for (int i = 0; i < 200; i++) {
        burst_pause(&p.b);
        p.now_us += 500000;
        path_at(&p, 64 * KIB, 320, true);
        p.now_us += 100000;
        path_at(&p, 4 * KIB, 20, true);
    }
    assert_int_equal(path_end(&p), 0);
}

/* A network that loses segments, and writes that it cuts. */
static void sizes_that_differ(void **state)
{
    struct path p;
    (void)state;
    path_begin(&p, 0);
    for (int i = 0; i < STEPS; i++) {
        p.now_us += 50000;
        path_at(&p, 1000 + rng_below(&p.rng, 8000), 20, true);
    }
    assert_int_equal(path_end(&p), 0);

    /* The same size, but few events: large events cut by segments. */
    path_begin(&p, 0);
    for (int i = 0; i < STEPS; i++) {
        p.now_us += 50000;
        path_at(&p, SEGMENT, i % 3 == 0, true);
    }
    assert_int_equal(path_end(&p), 0);
}

/* A sender that waits for a full segment does hold back; its size tells. */
static void full_segments_are_reported(void **state)
{
    struct path p;
    (void)state;
    path_begin(&p, SEGMENT);
    path_stream(&p, 200, 3000);
    assert_int_equal(path_end(&p), SEGMENT);
}

static void nothing_and_backwards(void **state)
{
    struct burst b;
    (void)state;
    burst_init(&b);
    assert_int_equal(burst_buffer_bytes(&b), 0);
    burst_add(&b, (mono_t){NS_PER_S}, 100, 1, false);
    burst_add(&b, (mono_t){NS_PER_MS}, 100, 1, false); /* a stamp that goes back: the same burst */
    burst_add(&b, (mono_t){NS_PER_S}, UINT64_MAX / 2, UINT32_MAX / 2, true);
    assert_int_equal(burst_buffer_bytes(&b), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_of_usual_sizes),
        cmocka_unit_test(a_buffer_of_another_size_is_told_as_it_is),
        cmocka_unit_test(nothing_below_any_buffer),
        cmocka_unit_test(too_few_bursts),
        cmocka_unit_test(an_even_stream),
        cmocka_unit_test(engines_that_send_several_at_once),
        cmocka_unit_test(segments_of_steps),
        cmocka_unit_test(a_late_worker),
        cmocka_unit_test(pauses_are_left_out),
        cmocka_unit_test(sizes_that_differ),
        cmocka_unit_test(full_segments_are_reported),
        cmocka_unit_test(nothing_and_backwards),
    };
    return cmocka_run_group_tests_name("timing/burst", tests, NULL, NULL);
}
