/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/records.h - recording rules that a selector reads.
 *
 * Limits:    VERIFY_RECORDS_STEPS rules for one expression, however often they read each other:
 *            what is behind them is not looked at.
 * Ownership: an arena's; the rule files outlive it.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef VERIFY_RECORDS_H
#define VERIFY_RECORDS_H

#include "verify/reads.h"

enum { VERIFY_RECORDS_STEPS = 1000 };

/* All recording rules of these files. */
int verify_records_make(const struct rule_file *const *files, size_t n_files, struct arena *a,
                        struct verify_records *ret) WARN_UNUSED;
/* Another expression is looked at. */
void verify_records_begin(struct verify_records *r);

/* The metric's name: in front of the braces, or __name__="..."; empty: there is none. */
struct span verify_records_name(const struct node *selector);

struct verify_records_cursor {
    const struct node *selector;
    const struct rule *rule; /* the current one */
    const struct rule_group *group;
    bool _has_begun;
    size_t _at;
};
/* The next rule that records what the selector may mean: its name, and labels that the rule sets
 * itself do not contradict. */
bool verify_records_next(struct verify_records *r, struct verify_records_cursor *c);

#endif
