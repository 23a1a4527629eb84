/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: a run where all is well, and then one thing after the other that is not. */
#include "verify/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "memfail.h"
#include "planned.h"
#include "verify/report.h"

static const char rules[] =
    "groups:\n- name: g\n  interval: 1s\n  rules:\n"
    "  - alert: Slow\n"
    "    expr: 'histogram_quantile(0.99, sum by (le) (rate(llm_ttft_seconds_bucket[5s]))) > 2'\n"
    "    for: 3s\n"
    "  - alert: Tpot\n"
    "    expr: 'rate(llm_tpot_seconds_sum[5s]) > 2'\n";

static const double none = (double)NAN;
enum { T0 = 1000 * 1000, N_ALERTS = 2 };

/* A run in which everything went as it should; tests spoil it. */
struct staged {
    struct planned p;
    struct verify_config config;
    struct verify_result r;
    struct verify_seen seen[VERIFY_WHERES][N_ALERTS];
};

static struct verify_load load_of(double ttft_s)
{
    return (struct verify_load){true, 100, 100, 0, 100, ttft_s, ttft_s, ttft_s + 0.01, ""};
}

static struct verify_rise rise_of(double mean, double from, double to)
{
    return (struct verify_rise){100, mean, from, to, true};
}

static struct verify_seen good_life(void)
{
    struct verify_seen s = {.at_rest = VERIFY_INACTIVE, .values = {0.1, 0.7, 4.9, 0.1}};

    verify_track_init(&s.track);
    s.track.state = VERIFY_INACTIVE;
    s.track.active_ms = s.track.pending_ms = T0 + 24000;
    s.track.firing_ms = T0 + 27000;
    s.track.ended_ms = T0 + 35000;
    s.told_ms = T0 + 27300;
    s.untold_ms = T0 + 35200;
    return s;
}

static void stage(struct staged *s)
{
    static const double latencies[] = {0, 0.5, 3, 0};
    static const double froms[] = {0.04, 0.5, 2.5, 0.04}, tos[] = {0.1, 0.75, 5, 0.1};

    memset(s, 0, sizeof(*s));
    planned_open(&s->p, rules, false);
    s->config = (struct verify_config){.plan = &s->p.plan, .rate_per_s = 20};
    for (int i = 0; i < VERIFY_PHASES; i++)
        s->r.phases[i] = (struct verify_phase){
            .has_run = true,
            .latency_s = latencies[i],
            .begin_ms = T0 + i * 10000,
            .end_ms = T0 + i * 10000 + 10000,
            .load = load_of(latencies[i] + 0.05),
            .has_page = true,
            .rise = rise_of(latencies[i] + 0.045, froms[i], tos[i]),
            .has_scraped = true,
            .scraped_count = 95,
            .scraped_mean_s = latencies[i] + 0.044,
        };
    (void)snprintf(s->r.engine, sizeof(s->r.engine), "vLLM");
    (void)snprintf(s->r.histogram, sizeof(s->r.histogram), "vllm:time_to_first_token_seconds");
    (void)snprintf(s->r.engine_url, sizeof(s->r.engine_url), "http://127.0.0.1:1");
    s->r.has_prometheus = s->r.has_alertmanager = true;
    for (int w = 0; w < VERIFY_WHERES; w++) {
        s->r.seen[w] = s->seen[w];
        s->seen[w][0] = good_life();
    }
}

static void test_all_well(void **state)
{
    static const struct {
        enum verify_verdict verdict;
        const char *about, *where, *text;
    } want[] = {
        {VERIFY_OK, "client", NULL, "3.06 s with 3 s more: passed the threshold of 2 s"},
        {VERIFY_OK, "engine", NULL, "mean 0.045 s at rest, 0.545 s with 0.5 s more, 3.04 s with"},
        {VERIFY_OK, "alert", "gateway",
         "inactive, pending 4.0 s after 3 s of latency began, firing 3.0 s later (for 3 s, every 1 "
         "s), resolved 5.0 s after latency ended"},
        {VERIFY_OK, "alert", "Prometheus", "inactive, pending 4.0 s"},
        {VERIFY_OK, "alertmanager", NULL, "from gateway 0.3 s after it fired, from Prometheus"},
        {VERIFY_SKIP, "alert", NULL, "does not move what it reads"},
    };
    struct verify_findings f;
    struct staged s;
    struct arena a;

    (void)state;
    stage(&s);
    arena_init(&a, NULL);
    assert_int_equal(verify_judge(&s.p.plan, &s.r, &a, &f), 0);
    assert_int_equal(f.n, ARRAY_LEN(want));
    for (size_t i = 0; i < f.n; i++) {
        assert_row(f.at[i].text, f.at[i].verdict == want[i].verdict);
        assert_row(f.at[i].text, strcmp(f.at[i].about, want[i].about) == 0);
        assert_row(f.at[i].text, strstr(f.at[i].text, want[i].text) != NULL);
        assert_row(f.at[i].text, want[i].where ? strcmp(f.at[i].where, want[i].where) == 0
                                               : f.at[i].where == NULL);
    }
    assert_true(verify_judge_is_passed(&f));
    arena_done(&a);
    planned_close(&s.p);
}

/* --- one thing that is not well --- */

static void is_down(struct staged *s)
{
    s->r.phases[VERIFY_REST].load =
        (struct verify_load){true, 50, 0, 50, 0, none, none, none, "http_502"};
    s->r.phases[VERIFY_MILD].has_run = s->r.phases[VERIFY_HARD].has_run = false;
}
static void is_not_injected(struct staged *s)
{
    (void)snprintf(s->r.inject_error, sizeof(s->r.inject_error), "answered 404");
}
static void does_not_arrive(struct staged *s)
{
    s->r.phases[VERIFY_HARD].load = load_of(0.05);
}
static void has_high_threshold(struct staged *s)
{
    s->p.plan.alerts[0].limit = 10;
}
static void has_low_threshold(struct staged *s)
{
    s->p.plan.alerts[0].limit = 0.01;
}
static void has_no_page(struct staged *s)
{
    (void)snprintf(s->r.page_error, sizeof(s->r.page_error), "connection refused");
}
static void has_no_page_once(struct staged *s)
{
    s->r.phases[VERIFY_MILD].has_page = false;
    s->r.phases[VERIFY_MILD].rise = (struct verify_rise){0, none, 0, 0, false};
}
static void stands_still(struct staged *s)
{
    s->r.phases[VERIFY_HARD].rise = (struct verify_rise){0, none, 0, 0, false};
}
static void does_not_rise(struct staged *s)
{
    s->r.phases[VERIFY_HARD].rise = rise_of(0.05, 0.04, 0.1);
}
static void is_another(struct staged *s)
{
    s->r.phases[VERIFY_HARD].rise = rise_of(4.5, 2.5, 5);
}
static void has_other_bucket(struct staged *s)
{
    s->r.phases[VERIFY_HARD].rise = rise_of(3.05, 5, 10);
}
static void is_not_scraped(struct staged *s)
{
    s->r.phases[VERIFY_HARD].has_scraped = false;
}
static void fires_at_rest(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].at_rest = VERIFY_FIRING;
}
static void pends_at_rest(struct staged *s)
{
    s->seen[VERIFY_PROMETHEUS][0].at_rest = VERIFY_PENDING;
}
static void silence(struct staged *s)
{
    verify_track_init(&s->seen[VERIFY_GATEWAY][0].track);
}
static void stays_inactive(struct staged *s)
{
    silence(s);
    s->p.plan.alerts[0].limit = 10;
}
static void stays_pending(struct staged *s)
{
    silence(s);
    s->seen[VERIFY_GATEWAY][0].track.pending_ms = T0 + 24000;
}
static void lacks_a_series(struct staged *s)
{
    silence(s);
    (void)snprintf(s->seen[VERIFY_GATEWAY][0].missing, 256, "the gateway has no series x");
}
static void lacks_by_nature(struct staged *s)
{
    lacks_a_series(s);
    s->seen[VERIFY_GATEWAY][0].is_missing_by_nature = true;
}
static void is_out_of_reach(struct staged *s)
{
    stays_inactive(s);
    s->p.plan.alerts[0].limit = 120;
    s->p.plan.alerts[0].limit_is_ttft = false;
    s->p.plan.alerts[0].limit_is_e2e = true;
}
static void fails_to_evaluate(struct staged *s)
{
    silence(s);
    (void)snprintf(s->seen[VERIFY_GATEWAY][0].track.error, 256, "many-to-many");
}
static void fires_late(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].track.firing_ms += 2000;
}
static void fires_early(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].track.firing_ms -= 2000;
}
static void was_never_pending(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].track.pending_ms = VERIFY_NEVER;
}
static void does_not_resolve(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].track.ended_ms = VERIFY_NEVER;
}
static void is_not_told(struct staged *s)
{
    s->seen[VERIFY_GATEWAY][0].told_ms = s->seen[VERIFY_GATEWAY][0].untold_ms = VERIFY_NEVER;
}
static void is_not_untold(struct staged *s)
{
    s->seen[VERIFY_PROMETHEUS][0].untold_ms = VERIFY_NEVER;
}
static void stays_slow(struct staged *s)
{
    (void)snprintf(s->r.stay_error, sizeof(s->r.stay_error), "connection refused");
}
static void has_no_after(struct staged *s)
{
    stays_slow(s);
    s->r.phases[VERIFY_AFTER].has_run = false;
    s->seen[VERIFY_GATEWAY][0].track.ended_ms = VERIFY_NEVER;
}
static void does_not_start(struct staged *s)
{
    (void)snprintf(s->r.prometheus_error, sizeof(s->r.prometheus_error), "prometheus ended: bad");
}

static const struct {
    const char *name;
    void (*spoil)(struct staged *s);
    enum verify_verdict verdict;
    const char *about, *text; /* of one finding */
} cases[] = {
    {"down", is_down, VERIFY_FAIL, "client", "(http_502), the target http://127.0.0.1:1 is down"},
    {"down: alert", is_down, VERIFY_FAIL, "alert", "no latency was injected"},
    {"not injected", is_not_injected, VERIFY_FAIL, "client", "not be injected: answered 404"},
    {"not arrived", does_not_arrive, VERIFY_FAIL, "client", "with 3 s injected the p99"},
    {"high", has_high_threshold, VERIFY_FAIL, "client",
     "did not pass the threshold of 10 s of Slow"},
    {"low", has_low_threshold, VERIFY_FAIL, "client",
     "above the threshold of 0.01 s of Slow at rest"},
    {"no page", has_no_page, VERIFY_FAIL, "engine", "not scraped: connection refused"},
    {"no page once", has_no_page_once, VERIFY_FAIL, "engine",
     "the engine's page could not be read with little latency"},
    {"still", stands_still, VERIFY_FAIL, "engine", "stood still while 100 requests"},
    {"flat", does_not_rise, VERIFY_FAIL, "engine", "rose by 0.005 s only"},
    {"another", is_another, VERIFY_FAIL, "engine", "the mean is 4.5 s by"},
    {"other bucket", has_other_bucket, VERIFY_FAIL, "engine", "the p99 is in (5 s, 10 s] by"},
    {"not scraped", is_not_scraped, VERIFY_FAIL, "engine", "has no engine_ttft_seconds"},
    {"at rest", fires_at_rest, VERIFY_FAIL, "alert", "is firing at rest, before any latency: it"},
    {"pending at rest", pends_at_rest, VERIFY_FAIL, "alert", "is pending at rest"},
    {"inactive", stays_inactive, VERIFY_FAIL, "alert",
     "stayed inactive with 3 s: it measures 4.9, its limit is 10"},
    {"pending", stays_pending, VERIFY_FAIL, "alert", "became pending and never fired with 3 s"},
    {"no series", lacks_a_series, VERIFY_FAIL, "alert",
     "stayed inactive: the gateway has no series"},
    {"no series here", lacks_by_nature, VERIFY_SKIP, "alert", "the gateway has no series x"},
    {"out of reach", is_out_of_reach, VERIFY_SKIP, "alert", "do not get that long"},
    {"error", fails_to_evaluate, VERIFY_FAIL, "alert", "its evaluation failed: many-to-many"},
    {"late", fires_late, VERIFY_FAIL, "alert", "fired 5.0 s after it became active"},
    {"early", fires_early, VERIFY_FAIL, "alert", "fired 1.0 s after it became active"},
    {"not pending", was_never_pending, VERIFY_FAIL, "alert", "fired without having been pending"},
    {"no end", does_not_resolve, VERIFY_FAIL, "alert", "did not resolve within 10.0 s"},
    {"not told", is_not_told, VERIFY_FAIL, "alertmanager", "nothing from gateway, from Prometheus"},
    {"end not told", is_not_untold, VERIFY_FAIL, "alertmanager",
     "from Prometheus, and not its end"},
    {"stays slow", stays_slow, VERIFY_FAIL, "engine",
     "http://127.0.0.1:1 still has the latency that was injected: connection refused"},
    {"end not seen", has_no_after, VERIFY_FAIL, "alert", "fired; its end was not seen"},
    {"no start", does_not_start, VERIFY_FAIL, "prometheus", "prometheus ended: bad"},
};

static void test_spoiled(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_findings f;
        struct staged s;
        struct arena a;
        bool is_found = false, is_fail = cases[i].verdict == VERIFY_FAIL;

        stage(&s);
        cases[i].spoil(&s);
        arena_init(&a, NULL);
        assert_int_equal(verify_judge(&s.p.plan, &s.r, &a, &f), 0);
        for (size_t k = 0; k < f.n; k++)
            is_found |= f.at[k].verdict == cases[i].verdict &&
                        strcmp(f.at[k].about, cases[i].about) == 0 &&
                        strstr(f.at[k].text, cases[i].text) != NULL;
        assert_row(cases[i].name, is_found);
        assert_row(cases[i].name, verify_judge_is_passed(&f) == !is_fail);
        arena_done(&a);
        planned_close(&s.p);
    }
}

/* What is to be tried next, where something can be. */
static void test_hints(void **state)
{
    static const struct {
        double limit, factor;
        const char *hint; /* of the gateway's alert; NULL: none */
    } rows[] = {
        {10, 1, "--latency 0.5s,11s"},
        {58, 1, NULL}, /* more than --latency takes */
        {2, 1, NULL},
        {2, 40, "--real-time"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verify_findings f;
        struct staged s;
        struct arena a;

        stage(&s);
        silence(&s);
        s.p.plan.alerts[0].limit = rows[i].limit;
        s.p.plan.factor = rows[i].factor;
        arena_init(&a, NULL);
        assert_int_equal(verify_judge(&s.p.plan, &s.r, &a, &f), 0);
        assert_int_equal(f.at[2].verdict, VERIFY_FAIL);
        if (rows[i].hint)
            assert_non_null(strstr(f.at[2].hint, rows[i].hint));
        else
            assert_string_equal(f.at[2].hint, "");
        arena_done(&a);
        planned_close(&s.p);
    }
}

/* A run in which every alert is left out proves nothing. */
static void test_nothing_verified(void **state)
{
    struct verify_findings f;
    struct staged s;
    struct arena a;

    (void)state;
    stage(&s);
    s.p.plan.alerts[0].drive = VERIFY_SKIPPED;
    s.p.plan.alerts[0].why = "of the test";
    arena_init(&a, NULL);
    assert_int_equal(verify_judge(&s.p.plan, &s.r, &a, &f), 0);
    assert_false(verify_judge_is_passed(&f));
    arena_done(&a);
    planned_close(&s.p);
}

/* --- reports --- */

static int report_once(void *ctx)
{
    struct staged *s = ctx;
    struct verify_findings f;
    struct arena a;
    struct buf out;
    int r;

    arena_init(&a, NULL);
    buf_init(&out, 1024 * 1024);
    r = verify_judge(&s->p.plan, &s->r, &a, &f);
    if (r == 0)
        r = verify_report_text(&f, &out);
    if (r == 0 && !strstr(buf_span(&out).p, "passed: 5 OK, 0 failed, 1 skipped"))
        fail_msg("%.*s", SPAN_ARG(buf_span(&out)));
    buf_clear(&out);
    if (r == 0)
        r = verify_report_json(&s->config, &s->r, &f, &out);
    if (r == 0 && !strstr(buf_span(&out).p, "\"verdict\":\"SKIP\""))
        fail_msg("%.*s", SPAN_ARG(buf_span(&out)));
    buf_done(&out);
    arena_done(&a);
    return r;
}

static void test_without_memory(void **state)
{
    struct staged s;

    (void)state;
    stage(&s);
    assert_true(memfail_each(report_once, &s) > 0);
    planned_close(&s.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),       cmocka_unit_test(test_spoiled),
        cmocka_unit_test(test_hints),          cmocka_unit_test(test_nothing_verified),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
