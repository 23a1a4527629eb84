/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule file's text: what is in it, what is not, and that it is all there or nothing is.
 * (Whether Prometheus takes it and what it then does: tests/integration/slo_rules.test.mjs.)
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memfail.h"
#include "slo/slo_rules.h"

static struct slo preset(const char *name)
{
    struct slo s = {.name = name, .window_ms = SLO_WINDOW_MS, .min_bad = 6};

    memcpy(s.targets, slo_preset_find(span_cstr(name))->targets, sizeof(s.targets));
    return s;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
        n++;
    return n;
}

/* The text, with a NUL. */
static const char *text_of(const struct slo *slos, size_t n, struct buf *out)
{
    buf_init(out, SLO_RULES_BYTES_MAX);
    assert_int_equal(slo_rules_write(slos, n, out), 0);
    assert_int_equal(buf_append(out, span_of("", 1)), 0);
    return buf_span(out).p;
}

static void test_parts(void **state)
{
    static const struct {
        const char *part;
        size_t n;
    } rows[] = {
        {"  - name: slo-chat\n", 1},
        {"  - name: slo-chat-budget\n", 1},
        {"alert: SLOBurnPage\n", 4},
        {"alert: SLOBurnTicket\n", 4},
        {"alert: SLOBudgetSpent\n", 4},
        {"alert: SLONeverPopulated\n", 4},
        {"alert: SLOEngineQueueSlow\n", 1},
        {"increase(vllm:request_queue_time_seconds_count[30m])\n          ) >= 120\n", 1},
        {"rate(engine_queue_seconds_bucket[30m])\n", 1},
        {"alert: SLOLowTraffic\n", 1},
        {"alert: SLONoData\n", 1},
        {"tier: P0\n", 4},
        {"record: slo:target:ratio\n", 4},
        {"runbook_url: docs/RUNBOOK.md#sloburnpage\n", 4},
        {"expr: absent(llm_slo_total{slo=\"chat\"})", 0},
        {"absent(llm_slo_total{slo=\"chat\"})", 1},
        {"> 0.144\n", 2},
        {"The burn rate over 1h is capped at 10: 14.4 would need 72 % to be bad.", 2},
        {"# The burn rate over 1h is capped", 1},
        {"slo:bad:increase1h{slo=\"chat\",objective=\"queue\"} >= 9\n", 1},
        {"slo:bad:increase1h{slo=\"chat\",objective=\"ttft\"} >= 6\n", 1},
        {"[30d:5m]", 2},
        {"queue within 1s, for 95 % of them over 30d", 2},
        {"no error, for 99.5 % of them over 30d", 2},
        {"keep_firing_for", 0}, /* not before 2.42 everywhere */
        {"{slo=\"chat\",objective=\"goodput\"}) < 36\n", 1},
        {"slo:bad:increase6h{slo=\"chat\",objective=\"ttft\"} >= 9\n", 1},
    };
    struct slo s = preset("chat");
    struct buf out;
    const char *text = text_of(&s, 1, &out);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (count(text, rows[i].part) != rows[i].n)
            print_error("%zu times, not %zu: %s\n", count(text, rows[i].part), rows[i].n,
                        rows[i].part);
        assert_row(rows[i].part, count(text, rows[i].part) == rows[i].n);
    }
    buf_done(&out);
}

/* Only what has a target has alerts; goodput is counted all the same. */
static void test_only_what_is_set(void **state)
{
    struct slo s = {.name = "one",
                    .targets = {[SLO_GOODPUT] = {.is_set = true, .target = 0.9}},
                    .window_ms = SLO_WINDOW_MS / 30 * 7,
                    .min_bad = 10};
    struct buf out;
    const char *text = text_of(&s, 1, &out);

    (void)state;
    assert_int_equal(count(text, "alert: SLOBurnPage\n"), 1);
    assert_int_equal(count(text, "SLONeverPopulated"), 0);
    assert_int_equal(count(text, "SLOEngineQueueSlow"), 0);
    assert_int_equal(count(text, "every objective that applies to it, for 90 %"), 2);
    assert_int_equal(count(text, "[7d:5m]"), 2);
    assert_int_equal(count(text, "window: \"7d\""), 2);
    assert_int_equal(count(text, "goodput\"} >= 29\n"), 1); /* 10 * 14.4 / 5 */
    buf_done(&out);
}

static void test_none(void **state)
{
    struct buf out;

    (void)state;
    assert_non_null(strstr(text_of(NULL, 0, &out), "groups: []\n"));
    buf_done(&out);
}

/* The largest configuration stays within what its callers give. */
static void test_largest(void **state)
{
    char names[SLO_MAX][SLO_NAME_MAX + 1];
    struct slo slos[SLO_MAX];
    struct buf out;

    (void)state;
    for (size_t i = 0; i < SLO_MAX; i++) {
        memset(names[i], 'n', SLO_NAME_MAX);
        names[i][SLO_NAME_MAX] = '\0';
        slos[i] = (struct slo){.name = names[i], .window_ms = SLO_WINDOW_MS, .min_bad = 4000000};
        for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++)
            slos[i].targets[o] = (struct slo_target){true, INT64_C(123456789123456789), 0.83456789};
    }
    (void)text_of(slos, SLO_MAX, &out);
    buf_done(&out);
}

static void test_no_room(void **state)
{
    struct slo s = preset("batch");
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(buf_append(&out, SPAN("before")), 0);
    assert_true(slo_rules_write(&s, 1, &out) < 0);
    assert_span_equal("as before", buf_span(&out), SPAN("before"));
    buf_done(&out);
}

static int attempt(void *ctx)
{
    struct slo s = preset("completion");
    struct buf out;
    int r;

    (void)ctx;
    buf_init(&out, SLO_RULES_BYTES_MAX);
    r = slo_rules_write(&s, 1, &out);
    assert_true(r == 0 || buf_len(&out) == 0);
    buf_done(&out);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

static void test_durations(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{3 * NS_PER_S, "3s"},    {1500 * NS_PER_MS, "1500ms"}, {90 * NS_PER_S, "90s"},
                {120 * NS_PER_S, "2m"},  {50 * NS_PER_MS, "50ms"},     {1, "1ns"},
                {86400 * NS_PER_S, "1d"}};
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(slo_duration_text(rows[i].ns, text), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_only_what_is_set),
        cmocka_unit_test(test_none),      cmocka_unit_test(test_largest),
        cmocka_unit_test(test_no_room),   cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
