/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_read.c - a file of unit tests, without what its tests expect.
 */
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/timestamp.h"
#include "rules/rule_test_private.h"

enum { DEFAULT_INTERVAL_MS = 60 * 1000, TEXTS_MAX = 1000 };

enum file_key {
    FILE_RULE_FILES,
    FILE_EVALUATION_INTERVAL,
    FILE_GROUP_EVAL_ORDER,
    FILE_FUZZY_COMPARE,
    FILE_TESTS,
    FILE_COUNT_,
};
static const char *const file_keys[FILE_COUNT_] = {
    "rule_files", "evaluation_interval", "group_eval_order", "fuzzy_compare", "tests",
};

enum test_key {
    TEST_NAME,
    TEST_INTERVAL,
    TEST_INPUT_SERIES,
    TEST_ALERT_RULE_TEST,
    TEST_PROMQL_EXPR_TEST,
    TEST_EXTERNAL_LABELS,
    TEST_EXTERNAL_URL,
    TEST_START_TIMESTAMP,
    TEST_COUNT_,
};
static const char *const test_keys[TEST_COUNT_] = {
    "name",
    "interval",
    "input_series",
    "alert_rule_test",
    "promql_expr_test",
    "external_labels",
    "external_url",
    "start_timestamp",
};

enum series_key { SERIES_SERIES, SERIES_VALUES, SERIES_COUNT_ };
static const char *const series_keys[SERIES_COUNT_] = {"series", "values"};

/* A list of texts. */
static int read_texts(struct rule_test_reading *t, const struct doc_key *k,
                      struct rule_test_text **ret, size_t *ret_n)
{
    struct rule_test_text *texts;
    size_t n = 0;
    int r = 0;

    if (!doc_is(&t->doc, k, YAML_NODE_LIST))
        return 0;
    if (k->value->n > TEXTS_MAX) {
        struct err *e = doc_error(&t->doc, k->key);
        (void)err_set(e, -E2BIG, "more than %d items in \"%s\"", TEXTS_MAX, k->key->text);
        err_hint(e, "make several files of it");
        return 0;
    }
    texts = arena_zalloc(t->doc.arena, k->value->n, sizeof(*texts));
    if (!texts)
        return -ENOMEM;
    for (const struct yaml_node *node = k->value->first; node && r == 0; node = node->next) {
        struct doc_key item = {k->key, node};
        texts[n].text = SPAN("");
        texts[n].at = rule_test_place(node);
        r = doc_text(&t->doc, &item, &texts[n++].text);
    }
    *ret = texts;
    *ret_n = n;
    return r;
}

static void check_order(struct rule_test_reading *t)
{
    const struct rule_test *test = t->test;
    char shown[ERR_LIST_SHOWN_MAX];

    for (size_t i = 1; i < test->n_order; i++) {
        const struct rule_test_text *name = &test->order[i];
        size_t j = 0;

        while (j < i && !span_eq(test->order[j].text, name->text))
            j++;
        if (j == i)
            continue;
        t->doc.has_mistakes = true;
        struct err *e = err_list_add(t->doc.errs, t->doc.where, name->at.line, name->at.column);
        (void)err_set(e, -EEXIST, "group \"%s\" stands twice in \"group_eval_order\"",
                      err_list_shown(name->text, shown));
        err_hint(e, "the first one is on line %d; keep one of them", test->order[j].at.line);
    }
}

/* --- input --- */

/* Read once to know that it can be; the values are made anew when the test runs. */
static int check_series(struct rule_test_reading *t, const struct doc_key *keys,
                        const struct rule_test_series *series)
{
    struct script_feed *feed;
    struct err why = {.text = ""};
    int r = script_feed_new(0, 1, &feed);

    if (r < 0)
        return r;
    r = script_feed_add(feed, series->series, series->values, &why);
    script_feed_free(feed);
    if (r == 0 || r == -ENOMEM)
        return r;
    bool is_values = span_find(span_cstr(why.text), SPAN("values")) < strlen(why.text);
    const struct yaml_node *at = is_values && keys[SERIES_VALUES].value ? keys[SERIES_VALUES].value
                                                                        : keys[SERIES_SERIES].value;
    struct err *e = doc_error(&t->doc, at);
    (void)err_set(e, -EINVAL, "\"%s\": %s", is_values ? "values" : "series", why.text);
    err_hint(e, is_values ? "values are like '1 2 _ stale 0+10x5 _x3'"
                          : "a series is like 'metric{label=\"value\"}'");
    return 0;
}

static int read_series(void *ctx, const struct yaml_node *node, void *series)
{
    struct rule_test_reading *t = ctx;
    struct rule_test_series *ret = series;
    struct doc_key keys[SERIES_COUNT_];
    bool is_whole = doc_keys(&t->doc, node, "an input series", series_keys, SERIES_COUNT_, keys);
    int r;

    *ret = (struct rule_test_series){SPAN(""), SPAN(""), rule_test_place(node)};
    r = doc_text(&t->doc, &keys[SERIES_SERIES], &ret->series);
    if (r == 0)
        r = doc_text(&t->doc, &keys[SERIES_VALUES], &ret->values);
    if (r < 0 || !is_whole)
        return r;
    if (ret->series.n > 0)
        return check_series(t, keys, ret);
    if (!keys[SERIES_SERIES].value || keys[SERIES_SERIES].value->kind == YAML_NODE_SCALAR) {
        struct err *e = doc_error(&t->doc, node);
        (void)err_set(e, -EINVAL, "an input series without \"series\"");
        err_hint(e, "write \"series: 'metric{label=\\\"value\\\"}'\" and \"values: '0+1x10'\"");
    }
    return 0;
}

/* --- tests --- */

/* Seconds since the epoch, or RFC 3339. */
static void read_start(struct rule_test_reading *t, const struct doc_key *k, int64_t *ret_ms)
{
    char shown[ERR_LIST_SHOWN_MAX];
    double seconds;
    wall_t when;

    if (!doc_is(&t->doc, k, YAML_NODE_SCALAR))
        return;
    struct span text = yaml_span(k->value);
    if (num_parse_double(text, &seconds) == 0 && fabs(seconds) < 1e11) {
        *ret_ms = (int64_t)llround(seconds * 1000);
        return;
    }
    if (timestamp_parse(text, &when) == 0) {
        *ret_ms = when.us / 1000;
        return;
    }
    struct err *e = doc_error(&t->doc, k->value);
    (void)err_set(e, -EINVAL, "\"start_timestamp\" is no point in time: \"%s\"",
                  err_list_shown(text, shown));
    err_hint(e, "write seconds since 1970, or \"2026-11-30T08:00:00Z\"");
}

int64_t rule_test_last_ms(const struct rule_test_case *test)
{
    int64_t last = 0;

    for (size_t i = 0; i < test->n_alerts; i++)
        last = test->alerts[i].eval_ms > last ? test->alerts[i].eval_ms : last;
    for (size_t i = 0; i < test->n_exprs; i++)
        last = test->exprs[i].eval_ms > last ? test->exprs[i].eval_ms : last;
    return last;
}

static void check_steps(struct rule_test_reading *t, const struct yaml_node *node,
                        const struct rule_test_case *test)
{
    struct err *e;

    if (rule_test_last_ms(test) / t->test->interval_ms < RULE_TEST_STEPS_MAX)
        return;
    e = doc_error(&t->doc, node);
    (void)err_set(e, -E2BIG, "a test of more than %d evaluations", RULE_TEST_STEPS_MAX);
    err_hint(e, "choose a longer \"evaluation_interval\" or an earlier \"eval_time\"");
}

static int read_test(void *ctx, const struct yaml_node *node, void *test_case)
{
    struct rule_test_reading *t = ctx;
    struct rule_test_case *ret = test_case;
    struct doc_key keys[TEST_COUNT_];
    int r;

    *ret = (struct rule_test_case){
        .name = SPAN(""), .external_url = SPAN(""), .at = rule_test_place(node)};
    (void)doc_keys(&t->doc, node, "a test", test_keys, TEST_COUNT_, keys);
    doc_duration(&t->doc, &keys[TEST_INTERVAL], promql_parse_duration, &ret->interval_ms);
    if (ret->interval_ms == 0)
        ret->interval_ms = t->test->interval_ms;
    read_start(t, &keys[TEST_START_TIMESTAMP], &ret->start_ms);
    r = doc_text(&t->doc, &keys[TEST_NAME], &ret->name);
    if (r == 0)
        r = doc_list(&t->doc, &keys[TEST_INPUT_SERIES], sizeof(*ret->series), read_series, t,
                     &ret->series, &ret->n_series);
    if (r == 0)
        r = rule_test_read_alerts(t, &keys[TEST_ALERT_RULE_TEST], ret);
    if (r == 0)
        r = rule_test_read_exprs(t, &keys[TEST_PROMQL_EXPR_TEST], ret);
    if (r == 0)
        r = rule_test_read_labels(t, &keys[TEST_EXTERNAL_LABELS], &ret->external_labels);
    if (r == 0)
        r = doc_text(&t->doc, &keys[TEST_EXTERNAL_URL], &ret->external_url);
    check_steps(t, node, ret);
    return r;
}

static int read_root(struct rule_test_reading *t)
{
    struct doc_key keys[FILE_COUNT_];
    struct rule_test *test = t->test;
    int r;

    if (!t->doc.root)
        return 0;
    (void)doc_keys(&t->doc, t->doc.root, "a file of rule tests", file_keys, FILE_COUNT_, keys);
    doc_duration(&t->doc, &keys[FILE_EVALUATION_INTERVAL], promql_parse_duration,
                 &test->interval_ms);
    if (test->interval_ms == 0)
        test->interval_ms = DEFAULT_INTERVAL_MS;
    doc_bool(&t->doc, &keys[FILE_FUZZY_COMPARE], &test->is_fuzzy);
    r = read_texts(t, &keys[FILE_RULE_FILES], &test->patterns, &test->n_patterns);
    if (r == 0)
        r = read_texts(t, &keys[FILE_GROUP_EVAL_ORDER], &test->order, &test->n_order);
    check_order(t);
    return r == 0 ? doc_list(&t->doc, &keys[FILE_TESTS], sizeof(*test->tests), read_test, t,
                             &test->tests, &test->n)
                  : r;
}

static int read_file(struct rule_test_reading *t)
{
    int r = doc_read(&t->doc, RULE_TEST_BYTES_MAX);

    if (r != -ENOMEM)
        r = read_root(t);
    if (r == 0 && t->doc.has_mistakes)
        r = -EINVAL;
    doc_done(&t->doc);
    return r;
}

int rule_test_read(struct span text, const char *path, struct rule_test **ret,
                   struct err_list *errs)
{
    struct rule_test *test = mem_zalloc(1, sizeof(*test));
    size_t first = errs->n;
    struct rule_test_reading t;
    int r = -ENOMEM;

    if (!test)
        return -ENOMEM;
    arena_init(&test->arena, NULL);
    test->interval_ms = DEFAULT_INTERVAL_MS;
    test->path = arena_dup(&test->arena, span_cstr(path)).p;
    t = (struct rule_test_reading){.doc = {text, path, errs, &test->arena, false, NULL},
                                   .test = test};
    if (test->path)
        r = read_file(&t);
    if (r < 0) {
        err_list_sort(errs, first);
        rule_test_free(test);
        return r;
    }
    *ret = test;
    return 0;
}

struct rule_test *rule_test_free(struct rule_test *t)
{
    if (!t)
        return NULL;
    for (struct rule_test_held *h = t->held; h; h = h->next)
        promql_free_expr(h->expr);
    for (size_t i = 0; i < t->n_files; i++)
        rule_file_unref(t->files[i]);
    mem_free(t->files);
    arena_done(&t->arena);
    mem_free(t);
    return NULL;
}
