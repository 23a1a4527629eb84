/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/model.h"

#include <math.h>

#include "harness.h"

enum { N_DRAWS = 20000 };
static const mono_t start = {NS_PER_S};

static struct model_config constant(int64_t concurrency)
{
    return (struct model_config){.concurrency = concurrency,
                                 .ttft_median_ns = 100,
                                 .itl_mean_ns = 10,
                                 .load_factor = 1,
                                 .output_max = 5};
}

static struct model_ask plain_ask(void)
{
    return (struct model_ask){
        .max_tokens = -1, .n_tokens = -1, .ttft_ns = -1, .itl_ns = -1, .tokens_per_event = 1};
}

static void test_times_of_one_request(void **state)
{
    struct model_config c = constant(1);
    struct model_ask ask = plain_ask();
    struct model_request r;
    struct model m;
    (void)state;
    c.ttft_per_prompt_token_ns = 3;
    ask.prompt_tokens = 7;
    model_init(&m, &c, 1);
    model_arrive(&m, &r, &ask, start);
    assert_int_equal(r.t_started.ns, start.ns);
    assert_int_equal(r.t_first.ns, start.ns + 121);
    assert_int_equal(r.n_tokens, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.t_next.ns, start.ns + 121 + 10 * i);
        assert_false(model_is_finished(&r));
        assert_int_equal(model_take(&m, &r), 1);
    }
    assert_true(model_is_finished(&r));
    assert_false(mono_is_set(r.t_next));
    assert_null(model_leave(&m, &r, start));
    assert_int_equal(m.n_running, 0);
}

static void test_tokens_per_event(void **state)
{
    struct model_config c = constant(1);
    struct model_ask ask = plain_ask();
    struct model_request r;
    struct model m;
    (void)state;
    ask.tokens_per_event = 2;
    model_init(&m, &c, 1);
    model_arrive(&m, &r, &ask, start);
    assert_int_equal(model_take(&m, &r), 2);
    assert_int_equal(r.t_next.ns, start.ns + 120);
    assert_int_equal(model_take(&m, &r), 2);
    assert_int_equal(r.t_next.ns, start.ns + 130); /* one token is left: its own time only */
    assert_int_equal(model_take(&m, &r), 1);
    assert_true(model_is_finished(&r));
}

static void test_limit_and_order(void **state)
{
    struct model_config c = constant(2);
    struct model_ask ask = plain_ask();
    struct model_request r[5];
    struct model m;
    (void)state;
    model_init(&m, &c, 1);
    for (int i = 0; i < 5; i++)
        model_arrive(&m, &r[i], &ask, mono_add(start, i));
    assert_int_equal(m.n_running, 2);
    assert_int_equal(m.n_queued, 3);
    assert_true(mono_is_set(r[1].t_started));
    assert_false(mono_is_set(r[2].t_started));
    assert_false(mono_is_set(r[2].t_next));

    assert_ptr_equal(model_leave(&m, &r[1], mono_add(start, 50)), &r[2]);
    assert_int_equal(r[2].t_started.ns, start.ns + 50);
    assert_int_equal(r[2].t_next.ns, start.ns + 150);
    assert_null(model_leave(&m, &r[3], mono_add(start, 60))); /* gave up while waiting */
    assert_int_equal(m.n_queued, 1);
    assert_ptr_equal(model_leave(&m, &r[0], mono_add(start, 70)), &r[4]);
    assert_null(model_leave(&m, &r[2], mono_add(start, 80)));
    assert_null(model_leave(&m, &r[4], mono_add(start, 90)));
    assert_int_equal(m.n_running, 0);
    assert_int_equal(m.n_queued, 0);
}

/* Virtual time: arrivals faster than one server works; waiting times are those of the textbook. */
static void test_queue_grows_by_what_is_too_much(void **state)
{
    enum { N = 50, SERVICE = 140, EVERY = 100 };
    struct model_config c = constant(1);
    struct model_ask ask = plain_ask();
    struct model_request r[N];
    struct model m;
    mono_t free_at = start;
    (void)state;
    model_init(&m, &c, 1);
    for (int i = 0, left = 0; i < N; i++) {
        mono_t at = mono_add(start, (int64_t)EVERY * i);
        while (left < i) {
            mono_t end = mono_add(r[left].t_started, SERVICE);
            if (!mono_is_set(r[left].t_started) || end.ns > at.ns)
                break;
            (void)model_leave(&m, &r[left++], end);
        }
        model_arrive(&m, &r[i], &ask, at);
        if (i == N - 1)
            while (left < N) {
                (void)model_leave(&m, &r[left], mono_add(r[left].t_started, SERVICE));
                left++;
            }
    }
    for (int i = 0; i < N; i++) {
        mono_t at = mono_add(start, (int64_t)EVERY * i);
        free_at = mono_max(free_at, at);
        assert_int_equal(r[i].t_started.ns, free_at.ns);
        free_at = mono_add(free_at, SERVICE);
    }
}

static void test_length(void **state)
{
    static const struct {
        const char *name;
        int64_t median, ask_max, ask_n, expect;
        bool is_limited;
    } rows[] = {
        {"nothing said", 0, -1, -1, 5, false},
        {"max_tokens", 0, 3, -1, 3, true},
        {"more than output_max", 0, 9, -1, 9, true},
        {"exact", 0, 3, 8, 8, true},
        {"exact, unlimited", 0, -1, 8, 8, false},
        {"drawn", 4, -1, -1, 4, false},
        {"drawn, cut", 4, 2, -1, 2, true},
        {"drawn over the top", 9, -1, -1, 5, false},
        {"zero", 0, 0, -1, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_config c = constant(1);
        struct model_ask ask = plain_ask();
        struct model_request r;
        struct model m;
        c.output_median = rows[i].median;
        ask.max_tokens = rows[i].ask_max;
        ask.n_tokens = rows[i].ask_n;
        model_init(&m, &c, 1);
        model_arrive(&m, &r, &ask, start);
        assert_row(rows[i].name, r.n_tokens == rows[i].expect);
        assert_row(rows[i].name, r.is_limited == rows[i].is_limited);
        assert_row(rows[i].name, mono_is_set(r.t_next) == (rows[i].expect > 0));
    }
}

static void test_overrides(void **state)
{
    struct model_config c = constant(1);
    struct model_ask ask = plain_ask();
    struct model_request r;
    struct model m;
    (void)state;
    ask.ttft_ns = 7;
    ask.itl_ns = 0;
    model_init(&m, &c, 1);
    model_arrive(&m, &r, &ask, start);
    assert_int_equal(r.t_first.ns, start.ns + 7);
    (void)model_take(&m, &r);
    assert_int_equal(r.t_next.ns, start.ns + 7);
    (void)model_leave(&m, &r, start);
    ask.min_ttft_ns = 20;
    model_arrive(&m, &r, &ask, start);
    assert_int_equal(r.t_first.ns, start.ns + 20);
}

static void test_distributions(void **state)
{
    struct model_config c = constant(N_DRAWS + 1);
    struct model_ask ask = plain_ask();
    struct model m;
    double log_sum = 0, log_squares = 0, gap_sum = 0;
    (void)state;
    c.ttft_median_ns = 100 * NS_PER_MS;
    c.ttft_sigma = 0.4;
    c.itl_mean_ns = 10 * NS_PER_MS;
    c.itl_sigma = 0.5;
    model_init(&m, &c, 7);
    for (int i = 0; i < N_DRAWS; i++) {
        struct model_request r;
        model_arrive(&m, &r, &ask, start);
        double x = log((double)mono_diff(r.t_first, start) / (double)c.ttft_median_ns);
        log_sum += x;
        log_squares += x * x;
        (void)model_take(&m, &r);
        gap_sum += (double)mono_diff(r.t_next, r.t_first);
    }
    assert_true(fabs(log_sum / N_DRAWS) < 0.02);
    assert_true(fabs(sqrt(log_squares / N_DRAWS) - 0.4) < 0.01);
    assert_true(fabs(gap_sum / N_DRAWS / (double)c.itl_mean_ns - 1) < 0.02);
}

static void test_load_factor(void **state)
{
    struct model_config c = constant(3);
    struct model_ask ask = plain_ask();
    struct model_request r[3];
    struct model m;
    (void)state;
    c.load_factor = 3;
    model_init(&m, &c, 1);
    for (int i = 0; i < 3; i++) {
        model_arrive(&m, &r[i], &ask, start);
        (void)model_take(&m, &r[0]);
        /* 1, 2 and 3 running: factors 1, 2, 3 */
        assert_int_equal(mono_diff(r[0].t_next, r[0].t_first), i == 0 ? 10 : i == 1 ? 30 : 60);
    }
}

static void test_seed_repeats(void **state)
{
    struct model_config c;
    struct model_ask ask = plain_ask();
    struct model a, b;
    (void)state;
    model_config_init(&c);
    model_init(&a, &c, 5);
    model_init(&b, &c, 5);
    for (int i = 0; i < 100; i++) {
        struct model_request x, y;
        model_arrive(&a, &x, &ask, start);
        model_arrive(&b, &y, &ask, start);
        assert_int_equal(x.t_first.ns, y.t_first.ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_of_one_request),
        cmocka_unit_test(test_tokens_per_event),
        cmocka_unit_test(test_limit_and_order),
        cmocka_unit_test(test_queue_grows_by_what_is_too_much),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_load_factor),
        cmocka_unit_test(test_seed_repeats),
    };
    return cmocka_run_group_tests_name("sim/model", tests, NULL, NULL);
}
