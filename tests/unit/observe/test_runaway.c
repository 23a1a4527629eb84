/* SPDX-License-Identifier: Apache-2.0 */
/* observe/runaway: streams past a limit of tokens or time, by what is known on the way. */
#include "path.h"

struct finding {
    int n_runaway;
    int64_t silent_ns;
};

static void on_found(void *ctx, struct exchange *x, enum look_finding what, int64_t silent_ns)
{
    struct finding *f = ctx;
    (void)x;
    f->n_runaway += what == LOOK_RUNAWAY;
    f->silent_ns = silent_ns;
}

static struct finding look(struct path *p, int64_t at_us)
{
    struct finding f = {0};
    look_around(p->observer, us(at_us), on_found, &f);
    return f;
}

static void open_with(struct path *p, int64_t tokens, int64_t ns)
{
    const struct observer_config config = {.runaway_tokens = tokens, .runaway_ns = ns};
    path_open(p);
    observer_reload(p->observer, &config);
    path_stream(p, STREAM_BODY);
}

static void by_events_where_no_count_is_told(void **state)
{
    (void)state;
    struct path p;
    open_with(&p, 10, 0);
    for (int i = 0; i < 10; i++)
        path_read(&p, TEXT("a"), 1000 + i);
    assert_int_equal(look(&p, 2000).n_runaway, 0);
    assert_int_equal(p.seen.n_runaway, 0);
    path_read(&p, TEXT("a"), 3000);
    assert_int_equal(look(&p, 4000).n_runaway, 1);
    assert_int_equal(look(&p, 5000).n_runaway, 1); /* for whoever cuts, as long as it goes on */
    assert_int_equal(p.seen.n_runaway, 1);         /* counted once */
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 6000);
    assert_true(has_flag(&p, RECORD_RUNAWAY));
    path_close(&p);
}

/* What the model's streams had per event makes tokens of events. */
static void by_the_models_tokens_per_event(void **state)
{
    (void)state;
    struct path p;
    open_with(&p, 10, 0);
    path_read(&p, TEXT("a") TEXT("b") FINISH("stop") USAGE(1, 8) DONE, 1000);
    path_end_as(&p, TAP_END_COMPLETE, TAP_REASON_NONE, 2000);
    assert_false(has_flag(&p, RECORD_RUNAWAY));
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") TEXT("b"), 1000);
    assert_int_equal(look(&p, 2000).n_runaway, 0); /* about 8 */
    path_read(&p, TEXT("c"), 3000);
    assert_int_equal(look(&p, 4000).n_runaway, 1); /* about 12 */
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 5000);
    path_close(&p);
}

static void by_the_count_at_the_end(void **state)
{
    (void)state;
    struct path p;
    open_with(&p, 10, 0);
    path_read(&p, TEXT("a") FINISH("stop") USAGE(1, 11) DONE, 1000);
    path_end_as(&p, TAP_END_COMPLETE, TAP_REASON_NONE, 2000);
    assert_true(has_flag(&p, RECORD_RUNAWAY));
    assert_int_equal(p.seen.n_runaway, 1);
    path_stream(&p, STREAM_BODY);
    path_read(&p, TEXT("a") FINISH("stop") USAGE(1, 10) DONE, 1000);
    path_end_as(&p, TAP_END_COMPLETE, TAP_REASON_NONE, 2000);
    assert_false(has_flag(&p, RECORD_RUNAWAY));
    path_close(&p);
}

static void by_time(void **state)
{
    (void)state;
    struct path p;
    open_with(&p, 0, NS_PER_S);
    path_read(&p, TEXT("a"), 1000);
    assert_int_equal(look(&p, 150 + 1000000).n_runaway, 0);
    assert_int_equal(look(&p, 150 + 1000001).n_runaway, 1);
    /* It is silent as well, and that is told, too. */
    assert_true(look(&p, 5000000).silent_ns > 4 * NS_PER_S);
    path_end_as(&p, TAP_END_TIMEOUT, TAP_REASON_RUNAWAY, 5000000);
    assert_true(has_flag(&p, RECORD_RUNAWAY));
    assert_int_equal(p.seen.record.outcome, OUTCOME_CUT_BY_GATEWAY);
    path_close(&p);
}

static void never_without_a_limit_or_a_stream(void **state)
{
    (void)state;
    struct path p;
    open_with(&p, 0, 0);
    for (int i = 0; i < 100; i++)
        path_read(&p, TEXT("a"), 1000 + i);
    assert_int_equal(look(&p, 100000000).n_runaway, 0);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 100000000);
    assert_false(has_flag(&p, RECORD_RUNAWAY));
    path_close(&p);
    const struct observer_config config = {.runaway_tokens = 1, .runaway_ns = 1};
    path_open(&p);
    observer_reload(p.observer, &config);
    path_send(&p, "openai-chat", "{\"model\":\"m\"}"); /* no stream was asked for */
    assert_int_equal(look(&p, 100000000).n_runaway, 0);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 100000000);
    assert_false(has_flag(&p, RECORD_RUNAWAY));
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_events_where_no_count_is_told),
        cmocka_unit_test(by_the_models_tokens_per_event),
        cmocka_unit_test(by_the_count_at_the_end),
        cmocka_unit_test(by_time),
        cmocka_unit_test(never_without_a_limit_or_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
