/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/file_private.h - what the files that read rule files share.
 *
 * Errors:    as yaml/doc.h: mistakes are listed, 0 is returned; or -ENOMEM.
 */
#ifndef RULES_FILE_PRIVATE_H
#define RULES_FILE_PRIVATE_H

#include "rules/file.h"
#include "yaml/doc.h"

/* What is not in the arena and has to be freed with the file. */
struct file_held {
    struct promql_expr *expr;
    struct template *template;
    struct file_held *next;
};

struct file_reading {
    struct doc doc;
    struct file_held *held;
    size_t n_rules;
};

/* file_rule.c: one item of "rules". */
int file_read_rule(struct file_reading *f, const struct yaml_node *node,
                   struct rule *ret) WARN_UNUSED;

/*
 * file_text.c: "labels" or "annotations", sorted by name. with_templates: {{ }} is parsed. what:
 * "label", "annotation".
 */
int file_read_texts(struct file_reading *f, const struct doc_key *k, const char *what,
                    bool with_templates, const struct rule_text **ret, size_t *ret_n) WARN_UNUSED;
/*
 * A name of a series, a label, an annotation: classic ones, and those that people have since
 * Prometheus 3: "http.server.duration", "a/b-c", other alphabets. What else UTF-8 allows there is a
 * slip: an expression in the wrong place, a quote.
 */
bool file_is_name(struct span name);
/* The labels of a group. */
int file_read_labels(struct file_reading *f, const struct doc_key *k,
                     struct labels *ret) WARN_UNUSED;

#endif
