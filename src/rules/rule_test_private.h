/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_private.h - a unit test of rules as it was read, and what running it needs.
 */
#ifndef RULES_RULE_TEST_PRIVATE_H
#define RULES_RULE_TEST_PRIVATE_H

#include "promql/query.h"
#include "promql/script.h"
#include "rules/rule_test.h"
#include "rules/rules.h"
#include "series/memory.h"
#include "yaml/doc.h"

/* Where something is told. */
struct place {
    int line, column;
};

struct rule_test_text {
    struct span text;
    struct place at;
};

struct rule_test_series {
    struct span series, values;
    struct place at;
};

/* Labels as told, sorted; unlike others they may have empty values, which then match nothing. */
struct rule_test_alert {
    struct labels labels, annotations;
};
struct rule_test_alerts {
    int64_t eval_ms;
    struct span name;
    const struct rule_test_alert *alerts;
    size_t n;
    struct place at;
};

struct rule_test_sample {
    struct labels labels;
    double v;
    const struct fhist *h; /* NULL: v */
};
struct rule_test_expr {
    int64_t eval_ms;
    struct span text;
    const struct promql_expr *expr;
    const struct rule_test_sample *samples;
    size_t n;
    struct place at;
};

struct rule_test_case {
    struct span name;
    int64_t interval_ms, start_ms;
    const struct rule_test_series *series;
    const struct rule_test_alerts *alerts;
    const struct rule_test_expr *exprs;
    size_t n_series, n_alerts, n_exprs;
    struct labels external_labels;
    struct span external_url;
    struct place at;
};

struct rule_test_held {
    struct promql_expr *expr;
    struct rule_test_held *next;
};

struct rule_test {
    struct arena arena;
    const char *path;
    struct rule_test_text *patterns;
    size_t n_patterns;
    struct rule_test_text *order;
    size_t n_order;
    int64_t interval_ms;
    bool is_fuzzy;
    struct rule_test_case *tests;
    size_t n;
    struct rule_test_held *held;
    struct rule_file **files;
    size_t n_files, n_rules;
};

struct rule_test_reading {
    struct doc doc;
    struct rule_test *test;
};

static inline struct place rule_test_place(const struct yaml_node *node)
{
    return (struct place){node->line, node->column};
}

/* rule_test_read.c: the last eval_time. */
int64_t rule_test_last_ms(const struct rule_test_case *test);

/* rule_test_expect.c: what a test expects. Mistakes are listed, 0 is returned; or -ENOMEM. */
int rule_test_read_alerts(struct rule_test_reading *t, const struct doc_key *k,
                          struct rule_test_case *ret) WARN_UNUSED;
int rule_test_read_exprs(struct rule_test_reading *t, const struct doc_key *k,
                         struct rule_test_case *ret) WARN_UNUSED;
/* A mapping of labels, sorted. */
int rule_test_read_labels(struct rule_test_reading *t, const struct doc_key *k,
                          struct labels *ret) WARN_UNUSED;

/* rule_test_files.c */
int rule_test_find_files(struct rule_test *t, struct rule_test_report *report,
                         struct err_list *errs) WARN_UNUSED;

/* One test that runs. */
struct rule_test_run {
    const struct rule_test *file;
    const struct rule_test_case *test;
    struct rule_test_report *report;
    struct memory *memory;
    struct arena arena; /* of one comparison */
    struct buf wanted, got, title;
};

/* rule_test_compare.c: 0 as told, -ENOMEM; counts and reports. */
struct rule_test_got {
    struct labels labels, annotations;
};
int rule_test_compare_alerts(struct rule_test_run *run, const struct rule_test_alerts *wanted,
                             struct rule_test_got *got, size_t n) WARN_UNUSED;
int rule_test_compare_expr(struct rule_test_run *run,
                           const struct rule_test_expr *wanted) WARN_UNUSED;
/* Something went wrong at a moment: title, wanted and got are filled. */
void rule_test_fail(struct rule_test_run *run, struct place at);

struct rule_test_running {
    struct rule_test_run run;
    struct arena arena; /* of all of it */
    struct script_feed *feed;
    struct rules *rules;
    size_t *order; /* of groups */
    uint64_t n_batches;
    int64_t ts_ms;
    bool has_conflict, has_failed;
    int store_error;
    const struct rule_test_alerts **by_time; /* what is expected, by eval_time */
    size_t n_checked;
    struct rule_test_got *got;
    size_t n_got, cap_got;
};

/* rule_test_world.c. 0 also when the test failed already (has_failed); rule_test_tear_down always.
 */
int rule_test_set_up(struct rule_test_running *t) WARN_UNUSED;
void rule_test_tear_down(struct rule_test_running *t);

/* rule_test_run.c: "input at 5m" as the title, nothing wanted. */
void rule_test_say_when(struct rule_test_run *run, const char *what, int64_t ts_ms);

#endif
