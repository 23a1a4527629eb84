/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch over restarts, steps of the clock, and without memory.
 */
#include "alert_life.h"

#include "base/mem.h"
#include "memfail.h"

static const char simple[] = "route: {receiver: a, group_by: [g], " WAITS "}\n" RECEIVERS;
/* --- the clock --- */

static void test_clock_steps_back(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    p.hold_ms = 240000;
    script(&p, "fire alertname=x");
    until(&p, 20000);
    script(&p, "fire alertname=y");
    expect(&p, "10000 a/0 +x first notification\n");
    script(&p, "step -3600000"); /* -3580000; 50 s later the group is looked at */
    until(&p, -3580000 + 49999);
    expect(&p, "");
    until(&p, -3580000 + 50000);
    expect(&p, "-3530000 a/0 +x +y new alerts added\n");
    /* They hold for 240 s since they were told, and their end is told at the next look. */
    until(&p, -3580000 + 229999);
    expect(&p, "");
    until(&p, -3580000 + 300000);
    expect(&p, "-3350000 a/0 +y -x some alerts resolved\n-3290000 a/0 -y all alerts resolved\n");
    end(&p, f);
}

static void test_silence_is_to_come_again(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "silence {\"matchers\": [{\"name\": \"alertname\", \"value\": \"y\"}], "
               "\"endsAt\": \"1970-01-02T00:01:40Z\"}\nfire alertname=y");
    until(&p, 130000);
    expect(&p, "130000 a/0 +y first notification\n");
    script(&p, "step -100000\nfire alertname=z");
    until(&p, 90000);
    expect(&p, "90000 a/0 +z new alerts added\n");
    end(&p, f);
}

static void test_clock_steps_forward(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    p.hold_ms = 240000;
    script(&p, "fire alertname=x");
    until(&p, 20000);
    expect(&p, "10000 a/0 +x first notification\n");
    /* An hour is missing: nothing has ended by that. It is told again within a minute or so. */
    script(&p, "step 3600000");
    until(&p, 3660000);
    script(&p, "fire alertname=x");
    until(&p, 3800000);
    expect(&p, "3620000 a/0 +x repeat interval elapsed\n");
    until(&p, 4000000); /* and when nobody tells it any more, it has ended */
    expect(&p, "3920000 a/0 -x all alerts resolved\n");
    end(&p, f);
}

/* Whether a look was missed (70 s) or not: what held when it fell asleep holds when it wakes. */
static void test_machine_sleeps(void **state)
{
    static const char *const steps[] = {"step 45000", "step 100000"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct alert_file *f;
        struct play p;
        (void)state;
        begin(&p, simple, &f);
        p.hold_ms = 40000;
        script(&p, "fire alertname=x");
        until(&p, 20000);
        expect(&p, "10000 a/0 +x first notification\n");
        script(&p, steps[i]);
        play_until(&p, p.now_ms + 8000);
        expect(&p, "");
        script(&p, "fire alertname=x");
        play_until(&p, p.now_ms + 35000);
        expect(&p, "");
        end(&p, f);
    }
}

static void test_a_little_out_of_order(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x");
    until(&p, 5000);
    script(&p, "step -900\nfire alertname=y\nstep 900");
    until(&p, 20000);
    expect(&p, "10000 a/0 +x +y first notification\n");
    end(&p, f);
}

/* --- restart --- */

static int copy_log(void *ctx, const struct dispatch_log *l)
{
    return dispatch_restore(ctx, l);
}

static int refuse_log(void *ctx, const struct dispatch_log *l)
{
    (void)ctx;
    (void)l;
    return -EIO;
}

static void test_restart(void **state)
{
    struct alert_file *f, *g;
    struct play p, q;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x\nfire alertname=y");
    until(&p, 30000);
    expect(&p, "10000 a/0 +x +y first notification\n");
    begin(&q, simple, &g);
    q.now_ms = DAY + 60000;
    assert_int_equal(dispatch_each_log(p.d, copy_log, q.d), 0);
    end(&p, f);
    /* What was told is not told again, ends are, and so is what is new. */
    q.age_ms = 60000;
    script(&q, "fire alertname=x");
    q.age_ms = 0;
    script(&q, "end alertname=y\nfire alertname=z");
    until(&q, 200000);
    expect(&q, "120000 a/0 +x +z -y new alerts added\n");
    int n[2] = {0};
    assert_int_equal(dispatch_each_changed_log(q.d, refuse_log, NULL), -EIO);
    assert_int_equal(dispatch_each_changed_log(q.d, count_log, n), 0);
    assert_int_equal(n[0], 1);
    assert_int_equal(dispatch_each_changed_log(q.d, count_log, n), 0);
    assert_int_equal(n[0], 1); /* nothing new since */
    until(&q, 210000);
    script(&q, "end alertname=x\nend alertname=z");
    until(&q, 300000);
    script(&q, "step 518400000"); /* six days */
    n[0] = 0;
    assert_int_equal(dispatch_each_log(q.d, count_log, n), 0);
    assert_int_equal(n[0], 0); /* told too long ago to matter */
    assert_int_equal(dispatch_each_changed_log(q.d, count_log, n), 0);
    assert_int_equal(n[1], 1); /* so the row may go */
    end(&q, g);
}

static int note_told(void *ctx, const struct dispatch_log *l)
{
    *(int64_t *)ctx = l->told_ms;
    return 0;
}

/* What was told goes back with the clock, for the next run, too: else it would keep repetitions
 * back. */
static void test_a_step_back_is_kept(void **state)
{
    struct alert_file *f;
    struct play p;
    int64_t told_ms = -1;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x");
    until(&p, 20000);
    assert_int_equal(dispatch_each_changed_log(p.d, note_told, &told_ms), 0);
    assert_int_equal(told_ms, DAY + 10000);
    script(&p, "step -36000000");
    assert_int_equal(dispatch_each_changed_log(p.d, note_told, &told_ms), 0);
    assert_int_equal(told_ms, DAY + 10000 - 36000000);
    end(&p, f);
}

/* --- without memory --- */

struct attempt {
    struct alert_file *f, *other;
    int n_told;
};

static int put_again(struct play *p, const char *name, bool is_resolved, bool *was_refused)
{
    struct label pairs[] = {{SPAN_INIT("alertname"), span_cstr(name)},
                            {SPAN_INIT("g"), SPAN_INIT("1")}};
    int r = play_put(p, (struct labels){pairs, 2}, is_resolved);
    if (r == -ENOMEM) { /* tell again, when there is memory */
        *was_refused = true;
        mem_fail_off();
        r = play_put(p, (struct labels){pairs, 2}, is_resolved);
    }
    return r;
}

/* All that is due; every message is told at its second attempt. */
static int drain(struct play *p, int *n, bool *was_refused)
{
    struct dispatch_due due;
    uint64_t failed[4] = {0};
    int r = 1;
    while (r != 0) {
        struct arena a;
        arena_init(&a, NULL);
        r = dispatch_next(p->d, NULL, p->now_ms, &a, &due);
        if (r == -ENOMEM) {
            *was_refused = true;
            mem_fail_off();
        } else if (r == 1) {
            bool was = false;
            for (size_t i = 0; i < ARRAY_LEN(failed); i++)
                was = was || failed[i] == due.token;
            *n += was ? (int)due.message.n : 0;
            if (was) {
                dispatch_told(p->d, due.token, p->now_ms);
            } else {
                memmove(failed + 1, failed, sizeof(failed) - sizeof(failed[0]));
                failed[0] = due.token;
                dispatch_failed(p->d, due.token, p->now_ms);
            }
        }
        arena_done(&a);
        assert_true(r >= 0 || r == -ENOMEM);
    }
    return 0;
}

/* Whatever allocation fails, each alert is told, and each end: to a, or to a and b. */
static int never_lost(void *ctx)
{
    struct attempt *at = ctx;
    struct play p = {.now_ms = DAY, .hold_ms = INT64_C(100) * DAY};
    bool was_refused = false;
    int n = 0;
    int r = dispatch_new(at->f, SPAN("http://ours"), &p.d);
    if (r < 0)
        return r;
    assert_int_equal(put_again(&p, "x", false, &was_refused), 0);
    assert_int_equal(put_again(&p, "y", false, &was_refused), 0);
    p.now_ms += 10000;
    (void)drain(&p, &n, &was_refused);
    assert_int_equal(n, 2);
    r = dispatch_configure(p.d, at->other);
    if (r < 0) {
        assert_int_equal(r, -ENOMEM);
        was_refused = true;
        mem_fail_off();
        assert_int_equal(dispatch_configure(p.d, at->other), 0);
    }
    p.now_ms += 10000;
    (void)drain(&p, &n, &was_refused);
    assert_int_equal(n, 6); /* routes are others now: a is told of both once more, and so is b */
    assert_int_equal(put_again(&p, "y", true, &was_refused), 0);
    assert_int_equal(put_again(&p, "z", false, &was_refused), 0);
    p.now_ms += 60000;
    (void)drain(&p, &n, &was_refused);
    assert_int_equal(n, 12); /* +x +z -y at both */
    assert_int_equal(put_again(&p, "x", true, &was_refused), 0);
    assert_int_equal(put_again(&p, "z", true, &was_refused), 0);
    p.now_ms += 60000;
    (void)drain(&p, &n, &was_refused);
    assert_int_equal(n, 16);
    dispatch_free(p.d);
    return was_refused ? -ENOMEM : 0;
}

static int seen(void *ctx, const struct dispatch_seen *one)
{
    (void)ctx;
    (void)one;
    return 0;
}

static int seen_group(void *ctx, const struct dispatch_group *g)
{
    (void)ctx;
    (void)g;
    return 0;
}

static int seen_end(void *ctx)
{
    (void)ctx;
    return 0;
}

static int lists(void *ctx)
{
    const struct play *p = ctx;
    struct dispatch_group_visitor v = {seen_group, seen, seen_end, NULL};
    int r = dispatch_each_alert(p->d, NULL, p->now_ms, seen, NULL);
    return r < 0 ? r : dispatch_each_group(p->d, NULL, p->now_ms, &v);
}

static void test_never_lost(void **state)
{
    struct attempt at = {
        .f = kind_file(simple),
        .other = kind_file("route: {receiver: a, group_by: [g], " WAITS
                           ", routes: [{receiver: b, continue: true}, {receiver: a}]}\n" RECEIVERS
                           "inhibit_rules: [{source_matchers: [alertname=x], target_matchers: "
                           "[alertname=none]}]\n"),
    };
    struct alert_file *f;
    struct play p;
    (void)state;
    assert_true(memfail_each(never_lost, &at) > 60);
    alert_file_unref(at.f);
    alert_file_unref(at.other);
    begin(&p, simple, &f);
    script(&p, "fire alertname=x g=1\nfire alertname=y g=2");
    assert_true(memfail_each(lists, &p) >= 3);
    end(&p, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_steps_back),
        cmocka_unit_test(test_silence_is_to_come_again),
        cmocka_unit_test(test_clock_steps_forward),
        cmocka_unit_test(test_machine_sleeps),
        cmocka_unit_test(test_a_little_out_of_order),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_a_step_back_is_kept),
        cmocka_unit_test(test_never_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
