/* SPDX-License-Identifier: Apache-2.0 */
/* The rule file as it runs: reads back as a rule file, with other durations and nothing else. */
#include "verify/scaled.h"

#include <errno.h>
#include <string.h>

#include "memfail.h"
#include "planned.h"

static const char rules[] =
    "groups:\n"
    "- name: 'slow \"ones\"'\n"
    "  interval: 1m\n"
    "  query_offset: 2m\n"
    "  limit: 7\n"
    "  labels: {team: a}\n"
    "  rules:\n"
    "  - record: p95\n"
    "    expr: 'histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m] offset 5m))'\n"
    "    labels: {of: ttft}\n"
    "  - alert: Slow\n"
    "    expr: 'max_over_time(p95[20m:1m]) > 2'\n"
    "    for: 10m\n"
    "    keep_firing_for: 5m\n"
    "    labels: {tier: P1}\n"
    "    annotations: {summary: '{{ $value }} \"s\"\n\n      of [10m]'}\n"
    "  - alert: NoFor\n"
    "    expr: 'p95 > 2'\n"
    "- name: usual\n"
    "  rules: []\n";

static void test_written(void **state)
{
    struct planned p;
    struct rule_file *back = NULL;
    struct err_list errs;
    struct buf out;

    (void)state;
    planned_open(&p, rules, false);
    p.plan.factor = 10;
    buf_init(&out, 65536);
    assert_int_equal(verify_scaled_write(&p.plan, 0, &out), 0);
    err_list_init(&errs);
    assert_int_equal(rule_file_read(buf_span(&out), "scaled.yml", &back, &errs), 0);
    const struct rule_group *g = &back->groups[0];
    const struct rule *record = &g->rules[0], *slow = &g->rules[1];
    assert_span_equal("name", g->name, SPAN("slow \"ones\""));
    assert_int_equal(g->interval_ms, 6000);
    assert_int_equal(g->query_offset_ms, 12000);
    assert_int_equal(g->limit, 7);
    assert_span_equal("group label", labels_get(g->labels, SPAN("team")), SPAN("a"));
    assert_span_equal(
        "record", record->text,
        SPAN("histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[1m] offset 30s))"));
    assert_int_equal(record->n_labels, 1);
    assert_span_equal("alert", slow->text, SPAN("max_over_time(p95[2m:6s]) > 2"));
    assert_int_equal(slow->for_ms, 60 * 1000);
    assert_int_equal(slow->keep_firing_ms, 30 * 1000);
    assert_span_equal("label", slow->labels[0].value, SPAN("P1"));
    assert_span_equal("annotation", slow->annotations[0].value,
                      SPAN("{{ $value }} \"s\"\nof [10m]"));
    assert_false(g->rules[2].has_for);
    assert_int_equal(back->groups[1].interval_ms, 3000); /* the default one of a gateway */
    rule_file_unref(back);
    buf_done(&out);
    planned_close(&p);
}

static void test_shown(void **state)
{
    struct planned p;
    struct buf out;

    (void)state;
    planned_open(&p, rules, false);
    p.plan.factor = 10;
    buf_init(&out, 65536);
    assert_int_equal(verify_scaled_show(&p.plan, 0, &out), 0);
    assert_int_equal(buf_append(&out, span_of("", 1)), 0);
    const char *text = buf_span(&out).p;
    assert_non_null(strstr(text, "r.yml: 10 times as fast"));
    assert_non_null(strstr(text, "interval: 1m -> 6s\n"));
    assert_non_null(strstr(text, "for: 10m -> 1m\n"));
    assert_non_null(strstr(text, "keep_firing_for: 5m -> 30s\n"));
    assert_non_null(strstr(text, "expr: max_over_time(p95[2m:6s]) > 2\n"));
    buf_clear(&out);
    p.plan.factor = 1;
    assert_int_equal(verify_scaled_show(&p.plan, 0, &out), 0);
    assert_int_equal(buf_append(&out, span_of("", 1)), 0);
    assert_non_null(strstr(buf_span(&out).p, "r.yml: as it is written"));
    assert_non_null(strstr(buf_span(&out).p, "for: 10m\n"));
    buf_done(&out);
    planned_close(&p);
}

/* Such a rule has no window of its own to be scaled. */
static void test_of_the_query(void **state)
{
    struct planned p;
    struct buf out;

    (void)state;
    planned_open(&p, PLANNED_ALERT("rate(llm_ttft_seconds_sum[step()]) > 2", ""), false);
    p.plan.factor = 10;
    buf_init(&out, 65536);
    assert_int_equal(verify_scaled_write(&p.plan, 0, &out), -EINVAL);
    buf_done(&out);
    planned_close(&p);
}

static int write_once(void *ctx)
{
    struct planned *p = ctx;
    struct buf out;
    int r;

    buf_init(&out, 65536);
    r = verify_scaled_write(&p->plan, 0, &out);
    if (r == 0)
        r = verify_scaled_show(&p->plan, 0, &out);
    buf_done(&out);
    return r;
}

static void test_without_memory(void **state)
{
    struct planned p;

    (void)state;
    planned_open(&p, rules, false);
    assert_true(memfail_each(write_once, &p) > 0);
    planned_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_of_the_query),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
