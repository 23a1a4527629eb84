/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/watchdog: when an upstream counts as hung, over all workers, at exact times. */
#include "harness.h"

#include <string.h>

#include "base/attr.h"
#include "base/log.h"
#include "daemon/watchdog.h"

enum { NEVER = 0 };

static mono_t at_s(int64_t s)
{
    return (mono_t){s * NS_PER_S};
}

static struct observe_waiting shown(int64_t look, uint32_t n, int64_t oldest, int64_t heard)
{
    return (struct observe_waiting){.t_look = at_s(look),
                                    .n = n,
                                    .n_streams = n,
                                    .t_oldest = at_s(oldest),
                                    .t_heard = at_s(heard)};
}

/* Looks at one upstream, one after the other. */
static void test_judge(void **state)
{
    static const struct {
        const char *name;
        int64_t now, look; /* look 0: = now */
        uint32_t n;
        int64_t oldest, heard;
        enum watchdog_change change;
        int64_t silent; /* told with the change */
        int64_t shows;  /* the gauge */
    } looks[] = {
        {"nothing ever", 1000, 0, 0, NEVER, NEVER, WATCHDOG_AS_BEFORE, 0, 0},
        {"the first request", 1001, 0, 1, 1001, NEVER, WATCHDOG_AS_BEFORE, 0, 0},
        {"a long prefill", 1060, 0, 1, 1001, NEVER, WATCHDOG_AS_BEFORE, 0, 59},
        {"too long", 1061, 0, 1, 1001, NEVER, WATCHDOG_HUNG, 60, 60},
        {"goes on", 1100, 0, 3, 1001, NEVER, WATCHDOG_AS_BEFORE, 0, 99},
        {"a byte", 1101, 0, 3, 1001, 1101, WATCHDOG_ANSWERS, 100, 0},
        {"more bytes", 1102, 0, 3, 1001, 1102, WATCHDOG_AS_BEFORE, 0, 0},
        {"over", 1110, 0, 0, NEVER, 1109, WATCHDOG_AS_BEFORE, 0, 0},
        /* Long idle: silence begins with the request, not with the last byte. */
        {"after an idle hour", 5000, 0, 1, 4999, 1109, WATCHDOG_AS_BEFORE, 0, 1},
        {"and a minute", 5059, 0, 1, 4999, 1109, WATCHDOG_HUNG, 60, 60},
        {"its clients leave", 5070, 0, 0, NEVER, 1109, WATCHDOG_LEFT, 71, 0},
        /* Clients give up and come again: something waits at every look. */
        {"another one", 5080, 0, 1, 5080, 1109, WATCHDOG_AS_BEFORE, 0, 0},
        {"and its follower", 5110, 0, 1, 5110, 1109, WATCHDOG_AS_BEFORE, 0, 30},
        {"and the next one", 5140, 0, 1, 5140, 1109, WATCHDOG_HUNG, 60, 60},
        {"the last byte of it", 5150, 0, 0, NEVER, 5149, WATCHDOG_ANSWERS, 69, 0},
        /* Streams that go on, and one that is silent among them. */
        {"busy", 5200, 0, 9, 5160, 5200, WATCHDOG_AS_BEFORE, 0, 0},
        {"busy still", 5300, 0, 9, 5160, 5299, WATCHDOG_AS_BEFORE, 0, 1},
        /* A client that did not read for long is back: its request is old, its wait is not. */
        {"all of them paused", 5400, 0, 0, NEVER, 5301, WATCHDOG_AS_BEFORE, 0, 0},
        {"one reads again", 5401, 0, 1, 5160, 5301, WATCHDOG_AS_BEFORE, 0, 1},
        {"and hears something", 5402, 0, 1, 5160, 5402, WATCHDOG_AS_BEFORE, 0, 0},
        /* A worker that is late shows what is old: nothing is concluded. */
        {"late", 5470, 5402, 1, 5160, 5402, WATCHDOG_AS_BEFORE, 0, 0},
        {"back", 5471, 0, 1, 5160, 5470, WATCHDOG_AS_BEFORE, 0, 1},
    };
    struct watchdog_upstream u = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        struct observe_waiting w = shown(looks[i].look ? looks[i].look : looks[i].now, looks[i].n,
                                         looks[i].oldest, looks[i].heard);
        int64_t silent_ns = 0;
        enum watchdog_change change =
            watchdog_judge(&u, &w, at_s(looks[i].now), 60 * NS_PER_S, &silent_ns);

        assert_row(looks[i].name, change == looks[i].change);
        assert_row(looks[i].name, silent_ns == looks[i].silent * NS_PER_S);
        assert_row(looks[i].name, u.silent_ns == looks[i].shows * NS_PER_S);
    }
}

static void test_limit(void **state)
{
    struct watchdog_upstream u = {0};
    struct observe_waiting w = shown(1000, 2, 100, NEVER);
    int64_t silent_ns = 0;
    (void)state;
    /* Off: the gauge tells all the same. */
    assert_int_equal(watchdog_judge(&u, &w, at_s(1000), 0, &silent_ns), WATCHDOG_AS_BEFORE);
    assert_int_equal(u.silent_ns, 900 * NS_PER_S);
    /* A reload switches it on, to another limit, and off. */
    assert_int_equal(watchdog_judge(&u, &w, at_s(1001), 60 * NS_PER_S, &silent_ns), WATCHDOG_HUNG);
    assert_int_equal(silent_ns, 901 * NS_PER_S);
    assert_int_equal(watchdog_judge(&u, &w, at_s(1002), 30 * NS_PER_S, &silent_ns),
                     WATCHDOG_AS_BEFORE);
    assert_int_equal(watchdog_judge(&u, &w, at_s(1003), 0, &silent_ns), WATCHDOG_LEFT);
    /* No worker has looked yet. */
    u = (struct watchdog_upstream){0};
    w.t_look = MONO_NONE;
    assert_int_equal(watchdog_judge(&u, &w, at_s(9000), NS_PER_S, &silent_ns), WATCHDOG_AS_BEFORE);
}

static void test_sum_of_workers(void **state)
{
    struct observe_waiting sum = {0};
    struct observe_waiting idle = {.t_look = at_s(60)};
    struct observe_waiting a = shown(61, 2, 50, NEVER);
    struct observe_waiting b = shown(59, 3, 40, 55);
    (void)state;
    watchdog_add(&sum, &idle);
    watchdog_add(&sum, &a);
    watchdog_add(&sum, &b);
    watchdog_add(&sum, &(struct observe_waiting){0}); /* it has not looked yet */
    assert_int_equal(sum.n, 5);
    assert_int_equal(sum.n_streams, 5);
    assert_int_equal(sum.t_look.ns, at_s(59).ns); /* the worst of them */
    assert_int_equal(sum.t_oldest.ns, at_s(40).ns);
    assert_int_equal(sum.t_heard.ns, at_s(55).ns);
}

/* --- the gauge --- */

struct gauge {
    const char *upstream;
    int n;
    int64_t value;
};

static int find_gauge(void *ctx, const struct metrics_sample *s)
{
    struct gauge *g = ctx;

    if (s->metric != METRIC_UPSTREAM_SILENT)
        return 0;
    assert_int_equal(s->n_labels, 1);
    assert_string_equal(s->labels[0].name, "upstream");
    if (strcmp(s->labels[0].value, g->upstream) == 0) {
        g->n++;
        g->value = s->value;
    }
    return 0;
}

static int64_t gauge_of(const struct metrics *m, const char *upstream)
{
    struct gauge g = {.upstream = upstream};

    assert_int_equal(metrics_each(m, find_gauge, &g), 0);
    assert_int_equal(g.n, 1);
    return g.value;
}

static void test_gauge(void **state)
{
    static const char *const names[] = {"a", "b"};
    struct observe_waiting sums[2] = {shown(100, 1, 30, NEVER), shown(100, 4, 20, 99)};
    struct metrics *m = NULL;
    struct watchdog w;
    (void)state;
    assert_int_equal(metrics_new(NULL, &m), 0);
    assert_int_equal(watchdog_init(&w, names, 2, 60 * NS_PER_S, m), 0);
    assert_int_equal(gauge_of(m, "a"), 0);
    assert_int_equal(gauge_of(m, "b"), 0);
    watchdog_look(&w, sums, at_s(100));
    assert_int_equal(gauge_of(m, "a"), 70);
    assert_int_equal(gauge_of(m, "b"), 1);
    sums[0] = shown(101, 0, NEVER, NEVER);
    watchdog_look(&w, sums, at_s(101));
    assert_int_equal(gauge_of(m, "a"), 0);
    watchdog_done(&w);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_sum_of_workers),
        cmocka_unit_test(test_gauge),
    };
    log_level_set(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests_name("daemon/watchdog", tests, NULL, NULL);
}
