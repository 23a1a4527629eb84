/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_expect.c - what a unit test expects: alerts, and results of expressions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rules/rule_test_private.h"
#include "series/number.h"

enum alert_key { ALERT_EVAL_TIME, ALERT_NAME, ALERT_EXP_ALERTS, ALERT_COUNT_ };
static const char *const alert_keys[ALERT_COUNT_] = {"eval_time", "alertname", "exp_alerts"};

enum expected_key { EXP_LABELS, EXP_ANNOTATIONS, EXP_COUNT_ };
static const char *const expected_keys[EXP_COUNT_] = {"exp_labels", "exp_annotations"};

enum expr_key { EXPR_EXPR, EXPR_EVAL_TIME, EXPR_EXP_SAMPLES, EXPR_COUNT_ };
static const char *const expr_keys[EXPR_COUNT_] = {"expr", "eval_time", "exp_samples"};

enum sample_key { SAMPLE_LABELS, SAMPLE_VALUE, SAMPLE_HISTOGRAM, SAMPLE_COUNT_ };
static const char *const sample_keys[SAMPLE_COUNT_] = {"labels", "value", "histogram"};

/* --- labels --- */

static int label_cmp(const void *a, const void *b)
{
    struct labels x = {a, 1};
    struct labels y = {b, 1};

    return labels_cmp(x, y);
}

int rule_test_read_labels(struct rule_test_reading *t, const struct doc_key *k, struct labels *ret)
{
    struct doc_pair *pairs = NULL;
    struct label *at;
    size_t n = 0;
    int r = doc_pairs(&t->doc, k, &pairs, &n);

    if (r < 0 || n == 0)
        return r;
    at = arena_array(t->doc.arena, n, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        at[i].name = arena_dup(t->doc.arena, yaml_span(pairs[i].name));
        at[i].value = arena_dup(t->doc.arena, doc_value(pairs[i].value));
        if (!at[i].name.p || !at[i].value.p)
            return -ENOMEM;
    }
    qsort(at, n, sizeof(*at), label_cmp);
    *ret = (struct labels){at, n};
    return 0;
}

/* --- alerts --- */

/* With alertname, which a test leaves out; one that it has is replaced. */
static int add_name(struct rule_test_reading *t, struct span name, struct labels *labels)
{
    struct label *at = arena_array(t->doc.arena, labels->n + 1, sizeof(*at));
    size_t n = 0;

    if (!at)
        return -ENOMEM;
    at[n++] = (struct label){SPAN("alertname"), name};
    for (size_t i = 0; i < labels->n; i++)
        if (!span_eq(labels->at[i].name, SPAN("alertname")))
            at[n++] = labels->at[i];
    qsort(at, n, sizeof(*at), label_cmp);
    *labels = (struct labels){at, n};
    return 0;
}

struct expected {
    struct rule_test_reading *t;
    struct span alertname;
};

static int read_expected(void *ctx, const struct yaml_node *node, void *alert)
{
    const struct expected *of = ctx;
    struct rule_test_reading *t = of->t;
    struct rule_test_alert *ret = alert;
    struct doc_key keys[EXP_COUNT_];
    int r;

    (void)doc_keys(&t->doc, node, "an expected alert", expected_keys, EXP_COUNT_, keys);
    r = rule_test_read_labels(t, &keys[EXP_LABELS], &ret->labels);
    if (r == 0)
        r = rule_test_read_labels(t, &keys[EXP_ANNOTATIONS], &ret->annotations);
    return r == 0 ? add_name(t, of->alertname, &ret->labels) : r;
}

static int read_alert_test(void *ctx, const struct yaml_node *node, void *alerts)
{
    struct rule_test_reading *t = ctx;
    struct rule_test_alerts *ret = alerts;
    struct doc_key keys[ALERT_COUNT_];
    bool is_whole = doc_keys(&t->doc, node, "an alert_rule_test", alert_keys, ALERT_COUNT_, keys);
    int r;

    *ret = (struct rule_test_alerts){.name = SPAN(""), .at = rule_test_place(node)};
    doc_duration(&t->doc, &keys[ALERT_EVAL_TIME], promql_parse_duration, &ret->eval_ms);
    r = doc_text(&t->doc, &keys[ALERT_NAME], &ret->name);
    if (r == 0 && is_whole && ret->name.n == 0 && !keys[ALERT_NAME].value) {
        struct err *e = doc_error(&t->doc, node);
        (void)err_set(e, -EINVAL, "an alert_rule_test without \"alertname\"");
        err_hint(e, "name the alert that is expected: \"alertname: NAME\"");
    }
    struct expected of = {t, ret->name};
    return r < 0 ? r
                 : doc_list(&t->doc, &keys[ALERT_EXP_ALERTS], sizeof(*ret->alerts), read_expected,
                            &of, &ret->alerts, &ret->n);
}

int rule_test_read_alerts(struct rule_test_reading *t, const struct doc_key *k,
                          struct rule_test_case *ret)
{
    return doc_list(&t->doc, k, sizeof(*ret->alerts), read_alert_test, t, &ret->alerts,
                    &ret->n_alerts);
}

/* --- samples --- */

static int read_series_name(struct rule_test_reading *t, const struct doc_key *k,
                            struct labels *ret)
{
    struct promql_error why = {.text = ""};
    struct span text = SPAN("");
    struct err *e;
    int r = doc_text(&t->doc, k, &text);

    text = span_trim(text);
    if (r < 0 || text.n == 0)
        return r;
    r = promql_parse_series(&text, t->doc.arena, ret, &why);
    if (r == -ENOMEM)
        return r;
    if (r == 0 && span_trim(text).n == 0)
        return 0;
    e = doc_error(&t->doc, k->value);
    if (r < 0)
        (void)err_set(e, -EINVAL, "\"labels\": %s", why.text);
    else
        (void)err_set(e, -EINVAL, "\"labels\": more text behind the labels");
    err_hint(e, "write it as a series: 'metric{label=\"value\"}'");
    return 0;
}

/* A number as YAML 1.1 has them. */
static int parse_value(const struct yaml_node *node, double *ret)
{
    static const struct {
        struct span text;
        double v;
    } words[] = {
        {SPAN_INIT(".inf"), (double)INFINITY},
        {SPAN_INIT("+.inf"), (double)INFINITY},
        {SPAN_INIT("-.inf"), -(double)INFINITY},
        {SPAN_INIT(".nan"), (double)NAN},
    };
    struct span text = yaml_span(node);
    char last = ' ';

    if (!node->is_plain)
        return -EINVAL;
    if (text.n > 0)
        last = text.p[text.n - 1];
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (span_eq_nocase(text, words[i].text)) {
            *ret = words[i].v;
            return 0;
        }
    }
    /* Inf and NaN without a dot are texts in YAML. */
    bool is_hex = span_find_char(text, 'x') < text.n || span_find_char(text, 'X') < text.n;
    if (!is_hex && !(last >= '0' && last <= '9') && last != '.')
        return -EINVAL;
    return number_parse(text, ret);
}

static void read_value(struct rule_test_reading *t, const struct doc_key *k, double *ret)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (!doc_is(&t->doc, k, YAML_NODE_SCALAR) || parse_value(k->value, ret) == 0)
        return;
    e = doc_error(&t->doc, k->value);
    (void)err_set(e, -EINVAL, "\"value\" is no number: \"%s\"",
                  err_list_shown(yaml_span(k->value), shown));
    err_hint(e, "write it without quotes: 12, 0.5, 1e6, .inf, .nan");
}

static int read_hist(struct rule_test_reading *t, const struct doc_key *k, const struct fhist **ret)
{
    struct span text = SPAN("");
    struct fhist *h = NULL;
    size_t at = 0;
    int r = doc_text(&t->doc, k, &text);

    if (r < 0 || text.n == 0)
        return r;
    struct span rest = span_trim(text);
    r = fhist_parse(&rest, t->doc.arena, &h, &at);
    if (r == -ENOMEM)
        return r;
    if (r == 0 && span_trim(rest).n == 0) {
        *ret = h;
        return 0;
    }
    struct err *e = doc_error(&t->doc, k->value);
    (void)err_set(e, -EINVAL, "\"histogram\" is no histogram");
    err_hint(e, "write one as input series have it: '{{schema:1 count:2 sum:3 buckets:[1 1]}}'");
    return 0;
}

static int read_sample(void *ctx, const struct yaml_node *node, void *sample)
{
    struct rule_test_reading *t = ctx;
    struct rule_test_sample *ret = sample;
    struct doc_key keys[SAMPLE_COUNT_];
    int r;

    (void)doc_keys(&t->doc, node, "an expected sample", sample_keys, SAMPLE_COUNT_, keys);
    read_value(t, &keys[SAMPLE_VALUE], &ret->v);
    r = read_series_name(t, &keys[SAMPLE_LABELS], &ret->labels);
    return r == 0 ? read_hist(t, &keys[SAMPLE_HISTOGRAM], &ret->h) : r;
}

/* --- expressions --- */

static void expr_error(struct rule_test_reading *t, const struct yaml_node *expr, size_t at,
                       const char *why)
{
    bool is_exact;
    struct err *e = doc_error_in(&t->doc, expr, at, &is_exact);

    (void)err_set(e, -EINVAL, "expr: %s", why);
}

static int parse_expr(struct rule_test_reading *t, const struct yaml_node *node,
                      struct rule_test_expr *ret)
{
    struct rule_test_held *held = arena_zalloc(t->doc.arena, 1, sizeof(*held));
    struct promql_error why = {.text = ""};
    int r;

    if (!held)
        return -ENOMEM;
    r = promql_parse(yaml_span(node), &held->expr, &why);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        expr_error(t, node, why.line > 0 ? why.at : 0, why.text);
        return 0;
    }
    held->next = t->test->held;
    t->test->held = held;
    ret->expr = held->expr;
    ret->text = promql_text(held->expr);
    enum promql_type type = promql_root(held->expr)->type;
    if (type != PROMQL_VECTOR && type != PROMQL_SCALAR) {
        struct err *e = doc_error(&t->doc, node);
        (void)err_set(e, -EINVAL, "expr: the result is neither an instant vector nor a scalar");
        err_hint(e, "ask for one moment: \"rate(x[5m])\", \"max_over_time(x[5m])\"");
    }
    return 0;
}

static int read_expr_test(void *ctx, const struct yaml_node *node, void *expr_test)
{
    struct rule_test_reading *t = ctx;
    struct rule_test_expr *ret = expr_test;
    struct doc_key keys[EXPR_COUNT_];
    bool is_whole = doc_keys(&t->doc, node, "a promql_expr_test", expr_keys, EXPR_COUNT_, keys);
    const struct doc_key *expr = &keys[EXPR_EXPR];
    int r = 0;

    *ret = (struct rule_test_expr){.at = rule_test_place(node)};
    doc_duration(&t->doc, &keys[EXPR_EVAL_TIME], promql_parse_duration, &ret->eval_ms);
    if (expr->value && doc_is(&t->doc, expr, YAML_NODE_SCALAR)) {
        r = parse_expr(t, expr->value, ret);
    } else if (!expr->value && is_whole) {
        struct err *e = doc_error(&t->doc, expr->key ? expr->key : node);
        (void)err_set(e, -EINVAL, "a promql_expr_test without \"expr\"");
        err_hint(e, "write what to ask for: \"expr: job:requests:rate5m\"");
    }
    return r < 0 ? r
                 : doc_list(&t->doc, &keys[EXPR_EXP_SAMPLES], sizeof(*ret->samples), read_sample, t,
                            &ret->samples, &ret->n);
}

int rule_test_read_exprs(struct rule_test_reading *t, const struct doc_key *k,
                         struct rule_test_case *ret)
{
    return doc_list(&t->doc, k, sizeof(*ret->exprs), read_expr_test, t, &ret->exprs, &ret->n_exprs);
}
