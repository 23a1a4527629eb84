/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, sentence by sentence of its header: two workers' ports in loops of this thread. */
#include <stdio.h>

#include "base/mem.h"
#include "gateway/admission.h"
#include "harness.h"
#include "memfail.h"

enum { N_PORTS = 2, N_TICKETS = 64, TOLD_MAX = 64 };

static struct bed {
    struct admission *a;
    struct loop *loops[N_PORTS];
    struct admission_port ports[N_PORTS];
    struct admission_limits limits;
    struct admission_ticket t[N_TICKETS];
    int told[TOLD_MAX]; /* tickets, as on_granted told them */
    int n_told;
    bool must_be_quiet; /* no call of on_granted is right now */
    int64_t n_live;
} bed;

static mono_t now = {1000 * NS_PER_S};

static void on_granted(struct admission_ticket *t)
{
    assert_false(bed.must_be_quiet);
    assert_true(bed.n_told < TOLD_MAX);
    assert_int_equal(admission_ticket_state(t), ADMISSION_IN);
    bed.told[bed.n_told++] = (int)(t - bed.t);
}

static int setup(void **state)
{
    (void)state;
    bed = (struct bed){.n_live = mem_live_blocks()};
    assert_int_equal(admission_new(&bed.a), 0);
    for (int i = 0; i < N_PORTS; i++) {
        assert_int_equal(loop_new(&bed.loops[i]), 0);
        assert_int_equal(admission_port_open(&bed.ports[i], bed.a, bed.loops[i], on_granted), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    struct admission_numbers n;
    (void)state;
    for (int i = 0; i < N_TICKETS; i++)
        if (bed.t[i]._port)
            admission_cancel(&bed.t[i], now);
    admission_read(bed.a, &n);
    assert_int_equal(n.n_inflight, 0);
    assert_int_equal(n.tokens_inflight, 0);
    for (int c = 0; c < ADMISSION_CLASSES; c++) {
        assert_int_equal(n.classes[c].n_waiting, 0);
        assert_int_equal(n.classes[c].n_tenants, 0);
        assert_int_equal(n.classes[c].n_inflight, 0);
        assert_int_equal(n.classes[c].tokens_inflight, 0);
    }
    for (int i = 0; i < N_PORTS; i++) {
        admission_port_close(&bed.ports[i]);
        admission_port_close(&bed.ports[i]);
        loop_free(bed.loops[i]);
    }
    assert_null(admission_free(bed.a));
    assert_int_equal(mem_live_blocks(), bed.n_live);
    return 0;
}

static void limit(void)
{
    admission_set_limits(bed.a, &bed.limits, now);
}

static struct admission_numbers numbers(void)
{
    struct admission_numbers n;
    admission_read(bed.a, &n);
    return n;
}

static enum admission_verdict enter_as(int i, enum admission_class c, const char *tenant,
                                       uint32_t tokens, int port)
{
    enum admission_verdict v;

    admission_ticket_init(&bed.t[i], c, span_cstr(tenant), tokens);
    bed.must_be_quiet = true;
    v = admission_enter(&bed.ports[port], &bed.t[i], now);
    bed.must_be_quiet = false;
    return v;
}

/* Interactive, no tenant, at the first port. */
static enum admission_verdict enter(int i, uint32_t tokens)
{
    return enter_as(i, ADMISSION_INTERACTIVE, "", tokens, 0);
}

static void leave(int i)
{
    bed.must_be_quiet = true;
    admission_leave(&bed.t[i], now);
    bed.must_be_quiet = false;
    assert_int_equal(admission_ticket_state(&bed.t[i]), ADMISSION_OUT);
}

static void cancel(int i)
{
    bed.must_be_quiet = true;
    admission_cancel(&bed.t[i], now);
    bed.must_be_quiet = false;
    assert_int_equal(admission_ticket_state(&bed.t[i]), ADMISSION_OUT);
}

/* A turn of every loop; what was told in it, as "3 5 ". */
static const char *turn(void)
{
    static char text[256];
    size_t n = 0;

    bed.n_told = 0;
    for (int i = 0; i < N_PORTS; i++)
        loop_turn(bed.loops[i], 0);
    text[0] = '\0';
    for (int i = 0; i < bed.n_told; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ", bed.told[i]);
    return text;
}

/* Leaves one after the other, each as soon as it is granted; the order in which they were. */
static const char *order_from(int first)
{
    static char text[512];
    size_t n = 0;
    int i = first;

    text[0] = '\0';
    for (;;) {
        leave(i);
        turn();
        if (bed.n_told == 0)
            return text;
        assert_int_equal(bed.n_told, 1);
        i = bed.told[0];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ", i);
    }
}

/* --- limits --- */

static void test_no_limits(void **state)
{
    (void)state;
    for (int i = 0; i < N_TICKETS; i++)
        assert_int_equal(enter(i, 1000000), ADMISSION_GRANTED);
    assert_int_equal(numbers().n_inflight, N_TICKETS);
    assert_int_equal(numbers().tokens_inflight, N_TICKETS * 1000000);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].n_grants, N_TICKETS);
    assert_string_equal(turn(), ""); /* told by the answer already */
}

static void test_max_inflight(void **state)
{
    (void)state;
    bed.limits.max_inflight = 2;
    limit();
    assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
    assert_int_equal(enter(1, 1), ADMISSION_GRANTED);
    for (int i = 2; i < 6; i++)
        assert_int_equal(enter(i, 1), ADMISSION_QUEUED);
    assert_int_equal(numbers().n_inflight, 2);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].n_waiting, 4);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].n_queued, 4);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].n_tenants, 1);
    assert_string_equal(turn(), "");
    leave(0);
    assert_int_equal(admission_ticket_state(&bed.t[2]), ADMISSION_CALLED);
    assert_int_equal(numbers().n_inflight, 2);
    leave(1);
    assert_string_equal(turn(), "2 3 "); /* first come, first served */
    assert_string_equal(order_from(2), "4 5 ");
}

static void test_max_tokens(void **state)
{
    (void)state;
    bed.limits.max_tokens = 1000;
    limit();
    assert_int_equal(enter(0, 600), ADMISSION_GRANTED);
    assert_int_equal(enter(1, 400), ADMISSION_GRANTED); /* the limit itself is within */
    assert_int_equal(enter(2, 1), ADMISSION_QUEUED);
    assert_int_equal(enter(3, 399), ADMISSION_QUEUED);
    leave(1);
    assert_string_equal(turn(), "2 3 ");
    assert_int_equal(numbers().tokens_inflight, 1000);
}

/* It is not overtaken by what would fit, of its own class or the other. */
static void test_head_waits(void **state)
{
    (void)state;
    bed.limits.max_tokens = 1000;
    limit();
    assert_int_equal(enter(0, 600), ADMISSION_GRANTED);
    assert_int_equal(enter(1, 300), ADMISSION_GRANTED);
    assert_int_equal(enter_as(2, ADMISSION_INTERACTIVE, "a", 500, 0), ADMISSION_QUEUED);
    assert_int_equal(enter_as(3, ADMISSION_INTERACTIVE, "b", 1, 0), ADMISSION_QUEUED);
    assert_int_equal(enter_as(4, ADMISSION_BATCH, "c", 1, 0), ADMISSION_QUEUED);
    leave(1);
    assert_string_equal(turn(), "");
    leave(0);
    assert_string_equal(turn(), "2 3 4 ");
}

static void test_larger_than_the_limit(void **state)
{
    (void)state;
    bed.limits.max_tokens = 1000;
    bed.limits.classes[ADMISSION_BATCH].max_tokens = 10;
    limit();
    assert_int_equal(enter(0, 5000), ADMISSION_GRANTED); /* nothing is in flight */
    assert_int_equal(enter(1, 1), ADMISSION_QUEUED);
    leave(0);
    assert_string_equal(turn(), "1 ");
    assert_int_equal(enter(2, 5000), ADMISSION_QUEUED);
    leave(1);
    assert_string_equal(turn(), "2 ");
    leave(2);
    assert_int_equal(enter(3, 1), ADMISSION_GRANTED);
    /* Of its class. */
    assert_int_equal(enter_as(4, ADMISSION_BATCH, "", 50, 0), ADMISSION_GRANTED);
    assert_int_equal(enter_as(5, ADMISSION_BATCH, "", 50, 0), ADMISSION_QUEUED);
    leave(4);
    assert_string_equal(turn(), "5 ");
}

static void test_class_limits(void **state)
{
    struct admission_class_limits *batch = &bed.limits.classes[ADMISSION_BATCH];
    struct admission_class_limits *inter = &bed.limits.classes[ADMISSION_INTERACTIVE];
    (void)state;
    batch->max_inflight = 1;
    inter->max_tokens = 100;
    limit();
    assert_int_equal(enter_as(0, ADMISSION_BATCH, "", 1000, 0), ADMISSION_GRANTED);
    assert_int_equal(enter_as(1, ADMISSION_BATCH, "", 1, 0), ADMISSION_QUEUED);
    assert_int_equal(enter(2, 60), ADMISSION_GRANTED); /* only the other class is full */
    assert_int_equal(enter(3, 60), ADMISSION_QUEUED);
    leave(0);
    assert_string_equal(turn(), "1 "); /* though an interactive one waits, too: for its class */
    leave(2);
    assert_string_equal(turn(), "3 ");
    assert_int_equal(numbers().classes[ADMISSION_BATCH].n_inflight, 1);
    assert_int_equal(numbers().classes[ADMISSION_BATCH].tokens_inflight, 1);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].tokens_inflight, 60);
}

static void test_set_limits_grants(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    for (int i = 0; i < 5; i++)
        assert_int_equal(enter(i, 1), i == 0 ? ADMISSION_GRANTED : ADMISSION_QUEUED);
    bed.limits.max_inflight = 3;
    limit();
    assert_string_equal(turn(), "1 2 ");
    bed.limits.max_inflight = 1; /* what is in flight stays */
    limit();
    assert_int_equal(numbers().n_inflight, 3);
    leave(0);
    leave(1);
    assert_string_equal(turn(), "");
    bed.limits.max_inflight = 0;
    limit();
    assert_string_equal(turn(), "3 4 ");
}

/* --- the queue --- */

static void test_max_queue(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    bed.limits.classes[ADMISSION_INTERACTIVE].max_queue = 2;
    limit();
    assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
    assert_int_equal(enter(1, 1), ADMISSION_QUEUED);
    assert_int_equal(enter(2, 1), ADMISSION_QUEUED);
    assert_int_equal(enter(3, 1), ADMISSION_REJECTED);
    assert_int_equal(admission_ticket_state(&bed.t[3]), ADMISSION_OUT);
    assert_int_equal(numbers().classes[ADMISSION_INTERACTIVE].n_full, 1);
    /* The other class has its own queue. */
    assert_int_equal(enter_as(4, ADMISSION_BATCH, "", 1, 0), ADMISSION_QUEUED);
    cancel(1); /* its place is free */
    assert_int_equal(admission_enter(&bed.ports[0], &bed.t[3], now), ADMISSION_QUEUED);
    assert_string_equal(order_from(0), "2 3 4 ");
}

static void test_max_queue_time_is_told(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    bed.limits.classes[ADMISSION_BATCH].max_queue_ns = 7 * NS_PER_S;
    limit();
    assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
    assert_int_equal(enter(1, 1), ADMISSION_QUEUED);
    assert_int_equal(bed.t[1].max_wait_ns, 0);
    assert_int_equal(enter_as(2, ADMISSION_BATCH, "", 1, 0), ADMISSION_QUEUED);
    assert_int_equal(bed.t[2].max_wait_ns, 7 * NS_PER_S);
}

/* n_ahead of it and itself, at held_s each, in n_places. */
static void test_retry_after(void **state)
{
    static const struct {
        const char *name;
        int64_t held_ns;
        uint32_t max_inflight, max_queue, expect_s;
    } rows[] = {
        {"nothing known: a second each", 0, 1, 4, 5},   {"short ones", 100 * NS_PER_MS, 1, 4, 1},
        {"two places", 4 * NS_PER_S, 2, 2, 6},          {"rounded up", 4100 * NS_PER_MS, 2, 2, 7},
        {"a minute at most", 100 * NS_PER_S, 1, 1, 60}, {"for ever", INT64_MAX / 4, 1, 30, 60},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int n = 0;
        setup(state);
        if (rows[i].held_ns > 0) {
            assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
            admission_leave(&bed.t[0], mono_add(now, rows[i].held_ns));
            assert_int_equal(numbers().held_ns, rows[i].held_ns);
        }
        bed.limits.max_inflight = rows[i].max_inflight;
        bed.limits.classes[0].max_queue = rows[i].max_queue;
        limit();
        while (enter(n, 1) != ADMISSION_REJECTED)
            n++;
        assert_int_equal(n, rows[i].max_inflight + rows[i].max_queue);
        assert_row(rows[i].name, bed.t[n].retry_after_s == rows[i].expect_s);
        teardown(state);
    }
}

static void test_held_is_an_average(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        mono_t then = now;
        enter(0, 1);
        now = mono_add(now, (i < 50 ? 1 : 3) * NS_PER_S);
        leave(0);
        assert_true(numbers().held_ns >= NS_PER_S && numbers().held_ns <= 3 * NS_PER_S);
        if (i == 49)
            assert_int_equal(numbers().held_ns, NS_PER_S);
        assert_true(now.ns > then.ns);
    }
    assert_true(numbers().held_ns > 2900 * NS_PER_MS);
    assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
    admission_leave(&bed.t[0], mono_add(now, -NS_PER_MS)); /* another loop's clock is behind */
    assert_true(numbers().held_ns > 0);
}

static void test_expire(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    enter(1, 1);
    enter(2, 1);
    assert_true(admission_expire(&bed.t[1], now));
    assert_int_equal(admission_ticket_state(&bed.t[1]), ADMISSION_OUT);
    assert_in_range(bed.t[1].retry_after_s, 1, 60);
    assert_int_equal(numbers().classes[0].n_timeouts, 1);
    leave(0);
    assert_false(admission_expire(&bed.t[2], now)); /* granted meanwhile: it goes */
    assert_string_equal(turn(), "2 ");
    assert_false(admission_expire(&bed.t[2], now));
    leave(2);
    assert_false(admission_expire(&bed.t[2], now));
    assert_int_equal(numbers().classes[0].n_timeouts, 1);
    /* The next one may fit where the expired one did not. */
    bed.limits = (struct admission_limits){.max_tokens = 100};
    limit();
    enter(0, 90);
    enter(1, 90);
    enter(2, 10);
    assert_true(admission_expire(&bed.t[1], now));
    assert_string_equal(turn(), "2 ");
}

static void test_try(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    bed.limits.classes[0].max_queue = 1;
    limit();
    for (int i = 0; i < 3; i++)
        admission_ticket_init(&bed.t[i], ADMISSION_INTERACTIVE, SPAN(""), 1);
    admission_ticket_init(&bed.t[3], ADMISSION_BATCH, SPAN(""), 1);
    assert_true(admission_try(&bed.ports[0], &bed.t[0], now));
    assert_false(admission_try(&bed.ports[0], &bed.t[1], now));
    assert_int_equal(admission_ticket_state(&bed.t[1]), ADMISSION_OUT);
    assert_int_equal(numbers().classes[0].n_waiting, 0);
    assert_int_equal(numbers().classes[0].n_full, 0);
    assert_int_equal(admission_enter(&bed.ports[0], &bed.t[2], now), ADMISSION_QUEUED);
    bed.limits.max_inflight = 0; /* not before those who wait, of either class */
    bed.limits.max_tokens = 1;
    limit();
    assert_false(admission_try(&bed.ports[0], &bed.t[1], now));
    assert_false(admission_try(&bed.ports[0], &bed.t[3], now));
    cancel(2);
    leave(0);
    assert_true(admission_try(&bed.ports[0], &bed.t[3], now));
    assert_string_equal(turn(), "");
}

/* --- order --- */

static void test_interactive_first(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    for (int i = 1; i <= 4; i++)
        enter_as(i, ADMISSION_BATCH, "", 1, 0);
    for (int i = 5; i <= 24; i++)
        enter(i, 1);
    assert_string_equal(order_from(0), "5 6 7 8 9 10 11 12 13 1 "
                                       "14 15 16 17 18 19 20 21 22 2 "
                                       "23 24 3 4 ");
}

/* Batch's turn is waited for, also by those who could go at once. */
static void test_batch_turn_is_waited_for(void **state)
{
    (void)state;
    bed.limits.max_tokens = 100;
    limit();
    enter(0, 50);
    assert_int_equal(enter_as(1, ADMISSION_BATCH, "", 100, 0), ADMISSION_QUEUED);
    for (int i = 2; i < 11; i++) {
        assert_int_equal(enter(i, 1), ADMISSION_GRANTED); /* interactive first */
        leave(i);
    }
    assert_int_equal(enter(11, 1), ADMISSION_QUEUED);
    leave(0);
    assert_string_equal(turn(), "1 ");
    leave(1);
    assert_string_equal(turn(), "11 ");
}

static void test_tenants_take_turns(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    for (int i = 1; i <= 4; i++) /* a quantum each */
        enter_as(i, ADMISSION_INTERACTIVE, "a", 1024, 0);
    for (int i = 5; i <= 8; i++) /* two to a quantum */
        enter_as(i, ADMISSION_INTERACTIVE, "b", 512, 1);
    for (int i = 9; i <= 10; i++) /* a request is two quanta */
        enter_as(i, ADMISSION_INTERACTIVE, "", 2048, 1);
    assert_int_equal(numbers().classes[0].n_tenants, 3);
    assert_string_equal(order_from(0), "1 5 6 2 7 8 9 3 4 10 ");
}

/* A tenant is its first 64 bytes. */
static void test_long_tenants(void **state)
{
    static const char long_a[] =
        "0123456789012345678901234567890123456789012345678901234567890123a";
    static const char long_b[] =
        "0123456789012345678901234567890123456789012345678901234567890123b";
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    enter_as(1, ADMISSION_INTERACTIVE, long_a, 1, 0);
    enter_as(2, ADMISSION_INTERACTIVE, long_b, 1, 0);
    assert_int_equal(numbers().classes[0].n_tenants, 1);
    enter_as(3, ADMISSION_INTERACTIVE, "0123", 1, 0);
    assert_int_equal(numbers().classes[0].n_tenants, 2);
}

/* Whichever of a tenant's goes, first, middle or last, the others stay in order. */
static void test_cancel_within_a_tenant(void **state)
{
    static const char *const left[] = {"2 3 4 5 ", "1 3 4 5 ", "1 2 4 5 ", "1 2 3 5 ", "1 2 3 4 "};
    for (int gone = 1; gone <= 5; gone++) {
        setup(state);
        bed.limits.max_inflight = 1;
        limit();
        enter(0, 1);
        for (int i = 1; i <= 4; i++)
            enter_as(i, ADMISSION_INTERACTIVE, "t", 100, i % 2);
        enter_as(5, ADMISSION_INTERACTIVE, "u", 2000, 0);
        cancel(gone);
        assert_int_equal(numbers().classes[0].n_waiting, 4);
        assert_int_equal(numbers().classes[0].n_tenants, gone == 5 ? 1 : 2);
        assert_string_equal(order_from(0), left[gone - 1]);
        teardown(state);
    }
}

/* --- grants --- */

static void test_cancel_when_called(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    enter_as(1, ADMISSION_INTERACTIVE, "", 1, 0);
    enter_as(2, ADMISSION_INTERACTIVE, "", 1, 1);
    leave(0);
    assert_int_equal(admission_ticket_state(&bed.t[1]), ADMISSION_CALLED);
    cancel(1); /* the grant goes to the next */
    assert_int_equal(admission_ticket_state(&bed.t[2]), ADMISSION_CALLED);
    assert_string_equal(turn(), "2 ");
    cancel(2); /* as leave */
    cancel(2); /* out: nothing */
    assert_int_equal(numbers().n_inflight, 0);
}

static void test_cancel_frees_the_next(void **state)
{
    (void)state;
    bed.limits.max_tokens = 100;
    limit();
    enter(0, 90);
    enter(1, 90);
    enter(2, 5);
    enter(3, 5);
    cancel(1);
    assert_string_equal(turn(), "2 3 ");
}

/* A grant needs no memory, wakes only its worker, and each ticket is handed out once. */
static void test_grant_without_memory(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    mem_fail_from(1);
    assert_int_equal(enter(0, 1), ADMISSION_GRANTED);
    assert_int_equal(enter_as(1, ADMISSION_INTERACTIVE, "a", 1, 1), ADMISSION_QUEUED);
    assert_int_equal(enter_as(2, ADMISSION_INTERACTIVE, "b", 1, 0), ADMISSION_QUEUED);
    leave(0);
    bed.n_told = 0;
    loop_turn(bed.loops[0], 0);
    assert_int_equal(bed.n_told, 0);
    loop_turn(bed.loops[1], -1); /* comes back: it was woken */
    assert_int_equal(bed.n_told, 1);
    assert_int_equal(bed.told[0], 1);
    mem_fail_off();
    assert_string_equal(turn(), "");
    assert_null(admission_port_take(&bed.ports[0]));
    assert_null(admission_port_take(&bed.ports[1]));
}

/* More at once than one wake-up hands out. */
static void test_many_grants(void **state)
{
    static struct admission_ticket many[200];
    int n = 0;
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    for (size_t i = 0; i < 200; i++) {
        admission_ticket_init(&many[i], ADMISSION_INTERACTIVE, SPAN(""), 1);
        assert_int_equal(admission_enter(&bed.ports[1], &many[i], now), ADMISSION_QUEUED);
    }
    bed.limits.max_inflight = 0;
    limit();
    while (n < 200) {
        bed.n_told = 0;
        loop_turn(bed.loops[1], -1);
        assert_in_range(bed.n_told, 1, 64);
        n += bed.n_told;
    }
    for (size_t i = 0; i < 200; i++)
        admission_leave(&many[i], now);
}

static void test_again(void **state)
{
    (void)state;
    bed.limits.max_inflight = 1;
    limit();
    enter(0, 1);
    enter(1, 1);
    leave(0);
    assert_int_equal(admission_enter(&bed.ports[1], &bed.t[0], now), ADMISSION_QUEUED);
    turn();
    leave(1);
    assert_string_equal(turn(), "0 ");
}

/* From one upstream to another; the place behind it is free for the next. */
static void test_move(void **state)
{
    struct admission_limits one = {.max_inflight = 1};
    struct admission *b = NULL;
    struct admission_port port;
    struct admission_numbers n;
    (void)state;
    assert_int_equal(admission_new(&b), 0);
    assert_int_equal(admission_port_open(&port, b, bed.loops[0], on_granted), 0);
    admission_set_limits(b, &one, now);
    bed.limits.max_inflight = 2;
    limit();
    enter(0, 10);
    enter(1, 20);
    enter(2, 30);
    assert_true(admission_move(&port, &bed.t[0], now));
    assert_false(admission_move(&port, &bed.t[1], now)); /* no room: it stays */
    assert_string_equal(turn(), "2 ");
    assert_int_equal(numbers().n_inflight, 2);
    assert_int_equal(numbers().tokens_inflight, 50);
    admission_read(b, &n);
    assert_int_equal(n.n_inflight, 1);
    assert_int_equal(n.tokens_inflight, 10);
    leave(0);
    admission_read(b, &n);
    assert_int_equal(n.n_inflight, 0);
    admission_port_close(&port);
    admission_free(b);
}

static int attempt(void *ctx)
{
    struct admission *a = NULL;
    int r = admission_new(&a);
    (void)ctx;
    admission_free(a);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 1);
    assert_null(admission_free(NULL));
    assert_string_equal(admission_class_name(ADMISSION_INTERACTIVE), "interactive");
    assert_string_equal(admission_class_name(ADMISSION_BATCH), "batch");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_no_limits),
        CASE(test_max_inflight),
        CASE(test_max_tokens),
        CASE(test_head_waits),
        CASE(test_larger_than_the_limit),
        CASE(test_class_limits),
        CASE(test_set_limits_grants),
        CASE(test_max_queue),
        CASE(test_max_queue_time_is_told),
        cmocka_unit_test(test_retry_after),
        CASE(test_held_is_an_average),
        CASE(test_expire),
        CASE(test_try),
        CASE(test_interactive_first),
        CASE(test_batch_turn_is_waited_for),
        CASE(test_tenants_take_turns),
        CASE(test_long_tenants),
        cmocka_unit_test(test_cancel_within_a_tenant),
        CASE(test_cancel_when_called),
        CASE(test_cancel_frees_the_next),
        CASE(test_grant_without_memory),
        CASE(test_many_grants),
        CASE(test_again),
        CASE(test_move),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
