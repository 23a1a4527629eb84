/* SPDX-License-Identifier: Apache-2.0 */
/* Every transition of the breaker, at times of the test's making. */
#include "gateway/breaker.h"
#include "harness.h"

static struct breaker b;
static mono_t now;

static int setup(void **state)
{
    (void)state;
    now = (mono_t){1000 * NS_PER_S};
    breaker_init(&b, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    breaker_done(&b);
    return 0;
}

static void pass_time(int64_t ms)
{
    now = mono_add(now, ms * NS_PER_MS);
}

static struct breaker_pass use(enum breaker_verdict expect)
{
    struct breaker_pass p = breaker_may_use(&b, now);
    assert_int_equal(p.verdict, expect);
    return p;
}

static void result(enum breaker_verdict expect, enum breaker_result r)
{
    breaker_report(&b, now, use(expect), r);
}

static void check(enum breaker_state expect)
{
    assert_string_equal(breaker_state_name(breaker_read(&b, now).state),
                        breaker_state_name(expect));
}

/* Five failures from closed. */
static void open_it(void)
{
    for (int i = 0; i < BREAKER_FAILURES; i++)
        result(BREAKER_YES, BREAKER_FAILURE);
    check(BREAKER_OPEN);
}

static void test_failures_in_row(void **state)
{
    (void)state;
    check(BREAKER_CLOSED);
    for (int i = 0; i < 4; i++)
        result(BREAKER_YES, BREAKER_FAILURE);
    result(BREAKER_YES, BREAKER_NO_VERDICT); /* says nothing */
    assert_int_equal(breaker_read(&b, now).n_failures_in_row, 4);
    result(BREAKER_YES, BREAKER_SUCCESS); /* ends the row */
    assert_int_equal(breaker_read(&b, now).n_failures_in_row, 0);
    for (int i = 0; i < 4; i++)
        result(BREAKER_YES, BREAKER_FAILURE);
    check(BREAKER_CLOSED);
    result(BREAKER_YES, BREAKER_FAILURE);
    check(BREAKER_OPEN);
    use(BREAKER_NO);
    assert_int_equal(breaker_read(&b, now).n_opened, 1);
}

static void test_own_number(void **state)
{
    (void)state;
    breaker_done(&b);
    breaker_init(&b, 1);
    result(BREAKER_YES, BREAKER_FAILURE);
    check(BREAKER_OPEN);
}

/* Alternating, so that no row grows. */
static void alternate(int n)
{
    for (int i = 0; i < n; i++)
        result(BREAKER_YES, i % 2 ? BREAKER_FAILURE : BREAKER_SUCCESS);
}

static void test_window(void **state)
{
    struct breaker_snapshot s;
    (void)state;
    alternate(19);
    s = breaker_read(&b, now);
    assert_int_equal(s.n_window_ok, 10);
    assert_int_equal(s.n_window_failed, 9);
    check(BREAKER_CLOSED);
    result(BREAKER_YES, BREAKER_FAILURE); /* the twentieth, and half of them */
    check(BREAKER_OPEN);
}

static void test_window_less_than_half(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        result(BREAKER_YES, i % 5 < 2 ? BREAKER_FAILURE : BREAKER_SUCCESS);
    check(BREAKER_CLOSED);
}

static void test_window_is_ten_seconds(void **state)
{
    (void)state;
    alternate(18);
    pass_time(10000); /* the same tenth of the ring */
    alternate(18);
    assert_int_equal(breaker_read(&b, now).n_window_ok, 9);
    check(BREAKER_CLOSED);
    pass_time(9000); /* still counts */
    alternate(2);
    check(BREAKER_OPEN);
}

/* Two workers' times differ. */
static void test_window_back_in_time(void **state)
{
    (void)state;
    result(BREAKER_YES, BREAKER_SUCCESS);
    pass_time(-1000);
    result(BREAKER_YES, BREAKER_SUCCESS);
    pass_time(1000);
    assert_int_equal(breaker_read(&b, now).n_window_ok, 2);
    pass_time(-10000);
    result(BREAKER_YES, BREAKER_SUCCESS); /* too old to count */
    pass_time(10000);
    assert_int_equal(breaker_read(&b, now).n_window_ok, 2);
}

static void test_rest_and_probe(void **state)
{
    struct breaker_pass probe;
    (void)state;
    open_it();
    assert_int_equal(breaker_read(&b, now).rests_ns, 5 * NS_PER_S);
    pass_time(4999);
    use(BREAKER_NO);
    check(BREAKER_OPEN);
    pass_time(1);
    check(BREAKER_HALF_OPEN);
    probe = use(BREAKER_PROBE);
    assert_true(breaker_read(&b, now).is_probing);
    use(BREAKER_NO); /* one at a time */
    pass_time(3600000);
    use(BREAKER_NO); /* however long it takes */
    breaker_report(&b, now, probe, BREAKER_SUCCESS);
    check(BREAKER_CLOSED);
    assert_int_equal(breaker_read(&b, now).n_failures_in_row, 0);
    assert_int_equal(breaker_read(&b, now).n_window_failed, 0);
    use(BREAKER_YES);
    use(BREAKER_YES);
}

static void test_rest_doubles(void **state)
{
    static const int seconds[] = {5, 10, 20, 40, 60, 60};
    (void)state;
    open_it();
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        assert_int_equal(breaker_read(&b, now).rests_ns, seconds[i] * NS_PER_S);
        pass_time(seconds[i] * 1000 - 1);
        use(BREAKER_NO);
        pass_time(1);
        result(BREAKER_PROBE, BREAKER_FAILURE);
        check(BREAKER_OPEN);
    }
    pass_time(60000);
    result(BREAKER_PROBE, BREAKER_SUCCESS);
    open_it(); /* from the beginning */
    assert_int_equal(breaker_read(&b, now).rests_ns, 5 * NS_PER_S);
}

static void test_probe_without_verdict(void **state)
{
    (void)state;
    open_it();
    pass_time(5000);
    result(BREAKER_PROBE, BREAKER_NO_VERDICT);
    check(BREAKER_HALF_OPEN);
    use(BREAKER_PROBE);
    result(BREAKER_NO, BREAKER_NO_VERDICT); /* another's end gives no slot back */
    use(BREAKER_NO);
}

/* Requests that began before it opened end while it is open, or later still. */
static void test_late_results(void **state)
{
    struct breaker_pass old = use(BREAKER_YES);
    struct breaker_pass probe;
    (void)state;
    open_it();
    breaker_report(&b, now, old, BREAKER_SUCCESS);
    check(BREAKER_OPEN);
    breaker_report(&b, now, old, BREAKER_FAILURE);
    assert_int_equal(breaker_read(&b, now).rests_ns, 5 * NS_PER_S);
    pass_time(5000);
    probe = use(BREAKER_PROBE);
    breaker_report(&b, now, old, BREAKER_NO_VERDICT);
    use(BREAKER_NO); /* the slot is the probe's */
    breaker_report(&b, now, old, BREAKER_FAILURE);
    check(BREAKER_HALF_OPEN);
    breaker_report(&b, now, probe, BREAKER_SUCCESS);
    breaker_report(&b, now, old, BREAKER_FAILURE);
    assert_int_equal(breaker_read(&b, now).n_failures_in_row, 0);
}

/* All upstreams are open, and this one was tried all the same. */
static void test_used_on_no(void **state)
{
    struct breaker_pass forced;
    struct breaker_pass probe;
    (void)state;
    open_it();
    result(BREAKER_NO, BREAKER_FAILURE); /* nothing new */
    assert_int_equal(breaker_read(&b, now).rests_ns, 5 * NS_PER_S);
    forced = use(BREAKER_NO);
    pass_time(5000);
    probe = use(BREAKER_PROBE);
    breaker_report(&b, now, forced, BREAKER_SUCCESS);
    check(BREAKER_CLOSED);
    breaker_report(&b, now, probe, BREAKER_FAILURE); /* began before that */
    check(BREAKER_CLOSED);
    assert_int_equal(breaker_read(&b, now).n_failures_in_row, 0);
}

static void test_busy(void **state)
{
    (void)state;
    breaker_busy(&b, now, mono_add(now, 2 * NS_PER_S));
    breaker_busy(&b, now, mono_add(now, 1 * NS_PER_S)); /* changes nothing */
    assert_int_equal(breaker_read(&b, now).busy_ns, 2 * NS_PER_S);
    pass_time(1999);
    result(BREAKER_NO, BREAKER_SUCCESS); /* counts, and it stays busy */
    assert_int_equal(breaker_read(&b, now).n_window_ok, 1);
    use(BREAKER_NO);
    check(BREAKER_CLOSED);
    pass_time(1);
    use(BREAKER_YES);
    assert_int_equal(breaker_read(&b, now).busy_ns, 0);
    breaker_busy(&b, now, (mono_t){INT64_MAX});
    assert_int_equal(breaker_read(&b, now).busy_ns, BREAKER_BUSY_MAX_S * NS_PER_S);
}

static void test_busy_holds_the_probe(void **state)
{
    (void)state;
    open_it();
    breaker_busy(&b, now, mono_add(now, 8 * NS_PER_S));
    pass_time(5000);
    use(BREAKER_NO);
    pass_time(3000);
    use(BREAKER_PROBE);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_failures_in_row),
        CASE(test_own_number),
        CASE(test_window),
        CASE(test_window_less_than_half),
        CASE(test_window_is_ten_seconds),
        CASE(test_window_back_in_time),
        CASE(test_rest_and_probe),
        CASE(test_rest_doubles),
        CASE(test_probe_without_verdict),
        CASE(test_late_results),
        CASE(test_used_on_no),
        CASE(test_busy),
        CASE(test_busy_holds_the_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
