/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/file.h - a rule file, as Prometheus has them: read and checked.
 *
 * Grammar:   groups of name, interval, query_offset, limit, labels, rules; rules of record or alert
 *            with expr, for, keep_firing_for, labels, annotations. That of Prometheus 3.x, anchors
 *            and aliases of YAML included; files for 2.42 are a part of it. Of the names that 3.x
 *            allows only those that people have (file_private.h).
 * Checks:    all mistakes at once, each with file, line, column and a hint: unknown keys ("did you
 *            mean"), a group twice, names, durations, expressions and templates (the place inside
 *            of the text becomes one of the file), a label called __name__, `for` on a recording
 *            rule. A file with a mistake is refused whole.
 * Advice:    what is allowed and will not do what one thinks: rule_file_advise.
 * Ownership: everything lives as long as the struct rule_file, which is counted: groups in use keep
 *            their file.
 * Threading: constant once read; ref and unref from any thread.
 * Limits:    RULE_FILE_BYTES_MAX, RULE_FILE_RULES_MAX, 400,000 keys and values, copies by aliases
 *            included, 1,000 keys in one mapping.
 */
#ifndef RULES_FILE_H
#define RULES_FILE_H

#include "base/err_list.h"
#include "promql/parse.h"
#include "template/template.h"

/* A label or annotation of a rule. */
struct rule_text {
    struct span name, value;
    const struct template *template; /* NULL: a recording rule's, which is taken as it is */
};

struct rule {
    bool is_alert;
    struct span name; /* alertname, or the metric that is recorded */
    struct span text; /* the expression as written */
    const struct promql_expr *expr;
    int64_t for_ms, keep_firing_ms;
    bool has_for;                                 /* also as 0 */
    const struct rule_text *labels, *annotations; /* in the order of their names */
    size_t n_labels, n_annotations;
    int line, column; /* of the rule, from 1 */
};

struct rule_group {
    struct span name;
    const char *file;        /* its path */
    int64_t interval_ms;     /* 0: the default one */
    int64_t query_offset_ms; /* -1: the default one */
    uint64_t limit;          /* 0: none */
    struct labels labels;    /* of all its rules; a rule's own wins */
    const struct rule *rules;
    size_t n;
    int line, column;
};

struct rule_file {
    const struct rule_group *groups;
    size_t n;
    const char *path;
};

enum { RULE_FILE_BYTES_MAX = 4 * 1024 * 1024, RULE_FILE_RULES_MAX = 10000 };

/* where: path in messages, copied. -EINVAL: errs says why. */
int rule_file_read(struct span text, const char *where, struct rule_file **ret,
                   struct err_list *errs) WARN_UNUSED;
/*
 * Adds what a reader of the file should know, at the places of the rules:
 *   - a second rule with the same name and labels (both write the same series);
 *   - a name or label that Prometheus before 3.0 and Alertmanager before 0.28 refuse;
 *   - a label whose value changes with every evaluation ($value): such an alert never gets old;
 *   - a label "alertname", which the alert's own name replaces;
 *   - an alert without `for` (0s says that it is meant), or with one shorter than the interval;
 *   - an alert without a comparison, which fires for whatever there is;
 *   - a rule that reads what a later one of its group records: it sees the value before.
 * interval_ms: of groups that have none. -ENOMEM.
 */
int rule_file_advise(const struct rule_file *f, int64_t interval_ms,
                     struct err_list *advice) WARN_UNUSED;
struct rule_file *rule_file_ref(struct rule_file *f);
struct rule_file *rule_file_unref(struct rule_file *f); /* NULL is allowed; returns NULL */

#endif
