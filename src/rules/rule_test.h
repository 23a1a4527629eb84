/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test.h - unit tests of rule files, in promtool's format.
 *
 * Format:    rule_files, evaluation_interval, group_eval_order, fuzzy_compare, tests of interval,
 *            name, input_series, alert_rule_test, promql_expr_test, external_labels, external_url,
 *            start_timestamp; as promtool of Prometheus 3.14 has it, that of 2.42 is a part of it.
 * Running:   each test has memory of its own. At start, start + evaluation_interval, ... it gets
 *            the input up to there, then every group is evaluated (whatever interval it has), in
 *            group_eval_order; alerts are compared with the evaluation at or before their
 *            eval_time, expressions are asked when all of that is over.
 * Equality:  labels and values exactly (fuzzy_compare: but for the last bit); NaN equals nothing.
 * Errors:    a file with a mistake is refused whole: -EINVAL, errs says why (that of rule files,
 *            too). What does not come out as expected is no error: reported and counted.
 * Limits:    RULE_TEST_BYTES_MAX, RULE_TEST_STEPS_MAX evaluations of each group in a test, those
 *            of rules/file.h, promql/script.h and promql/query.h.
 * Threading: one per file.
 */
#ifndef RULES_RULE_TEST_H
#define RULES_RULE_TEST_H

#include "rules/file.h"

enum { RULE_TEST_BYTES_MAX = 4 * 1024 * 1024, RULE_TEST_STEPS_MAX = 1000000 };

struct rule_test_failure {
    int line, column;  /* of the expectation, or of the test */
    struct span name;  /* of the test; may be empty */
    struct span title; /* "alert \"X\" at 5m" */
    struct span wanted, got;
};

struct rule_test_report {
    uint64_t n_tests, n_passed, n_failed; /* expectations */
    size_t n_rules;                       /* of the files that were tested */
    /* May be NULL. Texts are borrowed during the call. */
    void (*on_failure)(void *ctx, const struct rule_test_failure *f);
    /* What passes and may not be meant: a pattern without a file, an alert that no rule has. */
    void (*on_remark)(void *ctx, int line, int column, struct span text);
    void *ctx;
};

/*
 * path: of the file, for messages and for rule_files, which are relative to its directory. paths
 * of rule files in errs live in it until rule_test_free.
 */
struct rule_test;
int rule_test_read(struct span text, const char *path, struct rule_test **ret,
                   struct err_list *errs) WARN_UNUSED;
struct rule_test *rule_test_free(struct rule_test *t); /* NULL is allowed; returns NULL */

/* Finds and reads the rule files, and runs all tests. -EINVAL: errs; -ENOMEM, -E2BIG. */
int rule_test_run(struct rule_test *t, struct rule_test_report *report,
                  struct err_list *errs) WARN_UNUSED;

#endif
