/* SPDX-License-Identifier: Apache-2.0 */
/* Rule files: what they say, and every kind of mistake with its place and what to do about it. */
#include "rules/file.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"

static struct err_list errs;

static int parse(const char *text, struct rule_file **ret)
{
    err_list_init(&errs);
    return rule_file_read(span_cstr(text), "r.yml", ret, &errs);
}

/* --- what is read --- */

static const char whole[] = "groups:\n"
                            "- name: ttft\n"
                            "  interval: 15s\n"
                            "  query_offset: 1m\n"
                            "  limit: 20\n"
                            "  labels: {team: a, empty: ''}\n"
                            "  rules:\n"
                            "  - record: job:ttft:p95\n"
                            "    expr: |\n"
                            "      histogram_quantile(0.95, x)\n"
                            "    labels: {z: '{{ not parsed', b: 1}\n"
                            "  - alert: Slow\n"
                            "    expr: job:ttft:p95 > 2\n"
                            "    for: 1m30s\n"
                            "    keep_firing_for: 5m\n"
                            "    labels: {tier: P1}\n"
                            "    annotations:\n"
                            "      summary: slow {{ $labels.model }}\n"
                            "- name: other\n";

static void test_what_is_read(void **state)
{
    struct rule_file *f = NULL;

    (void)state;
    assert_int_equal(parse(whole, &f), 0);
    assert_int_equal(f->n, 2);
    assert_string_equal(f->path, "r.yml");
    const struct rule_group *g = &f->groups[0];
    assert_span_equal("group", g->name, SPAN("ttft"));
    assert_string_equal(g->file, "r.yml");
    assert_int_equal(g->interval_ms, 15000);
    assert_int_equal(g->query_offset_ms, 60000);
    assert_int_equal(g->limit, 20);
    assert_int_equal(g->labels.n, 1); /* an empty value is none */
    assert_span_equal("label", labels_get(g->labels, SPAN("team")), SPAN("a"));
    assert_int_equal(g->n, 2);

    const struct rule *record = &g->rules[0];
    assert_false(record->is_alert);
    assert_span_equal("name", record->name, SPAN("job:ttft:p95"));
    assert_span_equal("text", record->text, SPAN("histogram_quantile(0.95, x)\n"));
    assert_int_equal(promql_root(record->expr)->kind, NODE_CALL);
    assert_int_equal(record->n_labels, 2); /* in order, and as they are written */
    assert_span_equal("first", record->labels[0].name, SPAN("b"));
    assert_span_equal("value", record->labels[1].value, SPAN("{{ not parsed"));
    assert_null(record->labels[1].template);
    assert_int_equal(record->line, 8);
    assert_int_equal(record->column, 5);

    const struct rule *alert = &g->rules[1];
    assert_true(alert->is_alert);
    assert_int_equal(alert->for_ms, 90000);
    assert_int_equal(alert->keep_firing_ms, 300000);
    assert_non_null(alert->labels[0].template);
    assert_true(template_is_plain(alert->labels[0].template));
    assert_false(template_is_plain(alert->annotations[0].template));
    assert_int_equal(f->groups[1].n, 0);
    assert_int_equal(f->groups[1].query_offset_ms, -1);
    assert_int_equal(f->groups[1].interval_ms, 0);
    rule_file_unref(f);
}

static void test_aliases_and_merge_keys(void **state)
{
    struct rule_file *f = NULL;

    (void)state;
    assert_int_equal(parse("groups:\n- name: a\n  rules:\n"
                           "  - &one {alert: A, expr: &e up == 0, for: 5m, labels: &l {t: x}}\n"
                           "  - {<<: *one, alert: B}\n"
                           "  - {alert: C, expr: *e, labels: {<<: *l, u: y}}\n",
                           &f),
                     0);
    const struct rule *rules = f->groups[0].rules;
    assert_span_equal("B", rules[1].name, SPAN("B"));
    assert_span_equal("B", rules[1].text, SPAN("up == 0"));
    assert_int_equal(rules[1].for_ms, 300000);
    assert_span_equal("C", rules[2].text, SPAN("up == 0"));
    assert_int_equal(rules[2].n_labels, 2);
    rule_file_unref(f);
}

static void test_accepted(void **state)
{
    static const char *const rows[] = {
        "",
        "groups:\n",
        "groups: []\n",
        "{}\n",
        "groups: [{name: a, rules: }]\n",
        "groups: [{name: a}, {name: b}]\n",
        "groups: [{name: a, limit: -1, interval: 0s}]\n",
        "groups: [{name: a, rules: [{record: a, expr: 1, for: 0s, annotations: {}}]}]\n",
        "groups: [{name: a, rules: [{record: a.b, expr: '{\"a.b\"}', labels: {c.d: e}}]}]\n",
        "groups: [{name: a, rules: [{record: a/b-c:d, expr: up, labels: {\xc3\xa4: e}}]}]\n",
        "groups: [{name: a, rules: [{alert: a b, expr: up, record: ''}]}]\n",
        "groups: [{name: a, rules: [{alert: a, expr: up, labels: {a: ~}}]}]\n",
        "groups: [{name: a, rules: [{alert: a, expr: up, for: 1y2w3d4h5m6s7ms}]}]\n",
        "groups: [{name: a, rules: [{alert: a, expr: up}, {alert: a, expr: up}]}]\n",
        "groups: [{name: a, rules: [{alert: a, expr: 5, for: 0}]}]\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_file *f = NULL;
        if (parse(rows[i], &f) != 0)
            print_error("%s: %s\n", rows[i], errs.items[0].err.text);
        assert_row(rows[i], errs.n == 0 && f != NULL);
        rule_file_unref(f);
    }
}

/* --- mistakes --- */

#define RULE "groups:\n- name: a\n  rules:\n  - "

static void test_mistakes(void **state)
{
    static const struct {
        const char *text;
        int line, column;
        const char *says, *hint;
    } rows[] = {
        /* keys and kinds */
        {"group:\n", 1, 1, "a rule file has no key \"group\"", "did you mean \"groups\"?"},
        {"- a\n", 1, 1, "a rule file has to be a mapping of keys, not a list", "has groups"},
        {"groups: a\n", 1, 9, "\"groups\" has to be a list, not a text", "- "},
        {"groups:\n- a\n", 2, 3, "a group has to be a mapping of keys, not a text", "interval"},
        {"groups:\n- name: a\n  intervall: 1m\n", 3, 3, "a group has no key \"intervall\"",
         "did you mean \"interval\"?"},
        {"groups:\n- name: a\n  rules:\n  - up\n", 4, 5, "a rule has to be a mapping",
         "keep_firing"},
        {RULE "alert: A\n    expr: up\n    sumary: a\n", 6, 5, "a rule has no key \"sumary\"",
         "a rule has record, alert, expr"},
        {RULE "alert: A\n    expr: up\n    anotations: {}\n", 6, 5, "no key \"anotations\"",
         "did you mean \"annotations\"?"},
        {RULE "alert: A\n    expr: [up]\n", 5, 11, "\"expr\" has to be a text, not a list", ""},
        {RULE "alert: [A]\n    expr: up\n", 4, 12, "\"alert\" has to be a text, not a list", ""},
        {RULE "alert: A\n    expr: up\n    labels: [a]\n", 6, 13,
         "\"labels\" has to be a mapping, not a list", "name: value"},
        {RULE "alert: A\n    expr: up\n    labels:\n      a: [b]\n", 7, 10,
         "\"a\" has to be a text, not a list", ""},
        {RULE "alert: A\n    expr: up\n    expr: up\n", 6, 5, "key \"expr\" stands twice",
         "line 5"},
        {"groups: *a\n", 1, 9, "alias \"*a\" has no anchor above it", ""},
        {"groups:\n---\ngroups:\n", 2, 1, "a second document begins here", ""},
        {"groups:\n- name: a\n\trules: []\n", 3, 1, "a tab in the indentation", ""},
        /* groups */
        {"groups:\n- rules: []\n", 2, 3, "a group without \"name\"", "name: ttft"},
        {"groups:\n- interval: 1m\n  name:\n", 3, 3, "\"name\" is empty", ""},
        {"groups:\n- name: ''\n", 2, 3, "\"name\" is empty", ""},
        {"groups:\n- name: a\n- name: b\n- name: a\n", 4, 3, "a second group \"a\"", "on line 2"},
        {"groups:\n- name: a\n  limit: x\n", 3, 10, "\"limit\" is no whole number: \"x\"", ""},
        {"groups:\n- name: a\n  limit: '5'\n", 3, 10, "\"limit\" is no whole number", "quotes"},
        {"groups:\n- name: a\n  limit: 1.5\n", 3, 10, "\"limit\" is no whole number", ""},
        {"groups:\n- name: a\n  interval: 15\n", 3, 13, "\"interval\" is no duration: \"15\"",
         "a unit is missing: \"15s\" or \"15m\""},
        {"groups:\n- name: a\n  interval: -1m\n", 3, 13, "\"interval\" is no duration", "30s"},
        {"groups:\n- name: a\n  interval: 1s1m\n", 3, 13, "no duration", "the largest first"},
        {"groups:\n- name: a\n  interval: 1.5h\n", 3, 13, "no duration", "whole numbers"},
        {"groups:\n- name: a\n  interval: ''\n", 3, 13, "no duration: \"\"", ""},
        {"groups:\n- name: a\n  interval: 400y\n", 3, 13, "no duration", ""},
        {"groups:\n- name: a\n  labels: {__name__: x}\n", 3, 12, "cannot be called __name__", ""},
        /* rules */
        {RULE "expr: up\n", 4, 5, "a rule without \"record\" or \"alert\"", "record: NAME"},
        {RULE "alert:\n    expr: up\n", 4, 5, "\"alert\" is empty", ""},
        {RULE "~\n", 4, 5, "a rule without \"record\" or \"alert\"", ""},
        {RULE "record: a\n    alert: b\n    expr: up\n", 5, 5,
         "\"record\" and \"alert\" in one rule", "two rules"},
        {RULE "alert: b\n    record: a\n    expr: up\n", 5, 5, "\"record\" and \"alert\"", ""},
        {RULE "alert: A\n", 4, 5, "a rule without \"expr\"", "what to calculate"},
        {RULE "alert: A\n    expr: ''\n", 5, 5, "\"expr\" is empty", ""},
        {RULE "record: a{b=\"c\"}\n    expr: up\n", 4, 13, "no name of a series: \"a{b=\"c\"}\"",
         "its labels to"},
        {RULE "record: sum(up)\n    expr: up\n", 4, 13, "no name of a series", "to \"expr\""},
        {RULE "record: a b\n    expr: up\n", 4, 13, "no name of a series: \"a b\"", "letters"},
        {RULE "record: \"a\\0\"\n    expr: up\n", 4, 13, "no name of a series", "letters"},
        {RULE "alert: A\n    expr: up\n    labels: {a b: c}\n", 6, 14,
         "no name of a label: \"a b\"", "letters, digits and _"},
        {RULE "alert: A\n    expr: up\n    annotations: {'a\"': c}\n", 6, 19,
         "no name of an annotation: \"a\"\"", ""},
        {"groups:\n- name: a\n  labels: {'$a': x}\n", 3, 12, "no name of a label: \"$a\"", ""},
        {RULE "record: a\n    expr: up\n    for: 5m\n", 6, 5,
         "a recording rule cannot have \"for\"", "only alerts"},
        {RULE "record: a\n    expr: up\n    keep_firing_for: 5m\n", 6, 5,
         "cannot have \"keep_firing_for\"", ""},
        {RULE "record: a\n    expr: up\n    annotations: {a: b}\n", 6, 5,
         "cannot have \"annotations\"", ""},
        {RULE "alert: A\n    expr: up\n    labels: {__name__: b}\n", 6, 14,
         "a label cannot be called __name__", "alert: NAME"},
        {RULE "alert: A\n    expr: up\n    labels: {'': b}\n", 6, 14, "label without a name", ""},
        {RULE "alert: A\n    expr: up\n    annotations: {'': b}\n", 6, 19,
         "annotation without a name", ""},
        {RULE "alert: A\n    expr: up\n    for: 5 m\n", 6, 10, "\"for\" is no duration: \"5 m\"",
         ""},
        /* expressions, in every style */
        {RULE "alert: A\n    expr: sum(up\n", 5, 17, "expr: ", ""},
        {RULE "alert: A\n    expr: sum(up) by by\n", 5, 22, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: 'up{a=''b''} >> 1'\n", 5, 25, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: \"up{a=\\\"b\\\"} >> 1\"\n", 5, 25, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: |\n      up\n        >> 1\n", 7, 10, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: >-\n      up\n\n      >> 1\n", 8, 8, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: up\n      >> 1\n", 6, 8, "expr: unexpected", ""},
        {RULE "alert: A\n    expr: rat(up[5m])\n", 5, 11, "expr: unknown function", ""},
        {RULE "alert: A\n    expr: rate(up)\n", 5, 16, "expr: expected type range vector", ""},
        /* templates */
        {RULE "alert: A\n    expr: up\n    labels: {a: '{{ nofun }}'}\n", 6, 21,
         "label \"a\": function \"nofun\" not defined", ""},
        {RULE
         "alert: A\n    expr: up\n    annotations:\n      s: |\n        x\n        y {{ nofun }}\n",
         9, 14, "annotation \"s\": function \"nofun\" not defined", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_file *f = NULL;
        int r = parse(rows[i].text, &f);
        const struct err_item *e = &errs.items[0];

        if (r != -EINVAL || errs.n != 1 || e->line != rows[i].line || e->column != rows[i].column ||
            !strstr(e->err.text, rows[i].says) || !strstr(e->err.hint, rows[i].hint))
            print_error("%s\n%d: %d:%d %s (%s)\n", rows[i].text, r, e->line, e->column, e->err.text,
                        e->err.hint);
        assert_row(rows[i].text, r == -EINVAL && errs.n == 1 && !f);
        assert_row(rows[i].text, e->line == rows[i].line && e->column == rows[i].column);
        assert_row(rows[i].text, strstr(e->err.text, rows[i].says) != NULL);
        assert_row(rows[i].text, strstr(e->err.hint, rows[i].hint) != NULL);
        assert_string_equal(e->where, "r.yml");
    }
}

static void test_all_mistakes_at_once_in_the_order_of_the_file(void **state)
{
    static const int lines[] = {2, 4, 5, 6, 8, 9, 10};
    struct rule_file *f = NULL;

    (void)state;
    assert_int_equal(parse("groups:\n"
                           "- name: ''\n"
                           "  rules:\n"
                           "  - alert: A\n" /* no expr */
                           "    fro: 5m\n"
                           "    for: 5\n"
                           "  - record: b\n"
                           "    expr: sum(\n"
                           "    annotations: {a: b}\n"
                           "- name: ''\n",
                           &f),
                     -EINVAL);
    assert_int_equal(errs.n, ARRAY_LEN(lines));
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        assert_int_equal(errs.items[i].line, lines[i]);
}

/* An alias names where the text stands, so that people find it. */
static void test_a_mistake_behind_an_alias(void **state)
{
    struct rule_file *f = NULL;

    (void)state;
    assert_int_equal(parse("groups:\n- name: &x 'sum( by'\n  rules:\n"
                           "  - {record: a, expr: *x}\n",
                           &f),
                     -EINVAL);
    assert_int_equal(errs.items[0].line, 2);
}

static void test_limits(void **state)
{
    struct rule_file *f = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 8 << 20);
    assert_int_equal(buf_append(&text, SPAN("groups:\n- name: a\n  rules:\n")), 0);
    for (int i = 0; i <= RULE_FILE_RULES_MAX; i++)
        assert_int_equal(buf_append(&text, SPAN("  - {record: a, expr: 1}\n")), 0);
    err_list_init(&errs);
    assert_int_equal(rule_file_read(buf_span(&text), "r.yml", &f, &errs), -EINVAL);
    assert_int_equal(errs.n, 1);
    assert_non_null(strstr(errs.items[0].err.text, "more than 10000 rules"));
    buf_clear(&text);
    while (buf_len(&text) <= RULE_FILE_BYTES_MAX)
        assert_int_equal(buf_append(&text, SPAN("# comment after comment\n")), 0);
    err_list_init(&errs);
    assert_int_equal(rule_file_read(buf_span(&text), "r.yml", &f, &errs), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "larger than 4096 KiB"));
    buf_done(&text);
}

static void test_every_prefix(void **state)
{
    struct guard g;

    (void)state;
    guard_init(&g, sizeof(whole));
    for (size_t n = 0; n < sizeof(whole); n++) {
        struct span text = guard_copy(&g, span_of(whole, n));
        struct rule_file *f = NULL;
        int r;

        err_list_init(&errs);
        r = rule_file_read(text, "r.yml", &f, &errs);
        assert_true((r == 0 && f && errs.n == 0) || (r == -EINVAL && !f && errs.n > 0));
        rule_file_unref(f);
    }
    guard_done(&g);
}

static void test_references(void **state)
{
    int64_t before = mem_live_blocks();
    struct rule_file *f = NULL;

    (void)state;
    assert_null(rule_file_unref(NULL));
    assert_int_equal(parse(whole, &f), 0);
    assert_ptr_equal(rule_file_ref(f), f);
    rule_file_unref(f);
    assert_span_equal("still there", f->groups[0].name, SPAN("ttft"));
    rule_file_unref(f);
    assert_int_equal(mem_live_blocks(), before);
}

static int attempt(void *ctx)
{
    struct rule_file *f = NULL;
    int r = parse(whole, &f);

    (void)ctx;
    assert_true((r == 0) == (f != NULL));
    rule_file_unref(f);
    return r;
}

static int attempt_with_mistakes(void *ctx)
{
    struct rule_file *f = NULL;
    int r = parse("groups:\n- name: a\n  rules: [{alert: &b A, expr: sum(}]\n- name: a\n", &f);

    (void)ctx;
    return r == -EINVAL && errs.n == 2 ? 0 : r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 20);
    assert_true(memfail_each(attempt_with_mistakes, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_aliases_and_merge_keys),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_all_mistakes_at_once_in_the_order_of_the_file),
        cmocka_unit_test(test_a_mistake_behind_an_alias),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
