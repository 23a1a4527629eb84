/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/records.h - recording rules that a selector reads.
 *
 * Threading: pure.
 */
#ifndef VERIFY_RECORDS_H
#define VERIFY_RECORDS_H

#include "verify/reads.h"

/* The metric's name: in front of the braces, or __name__="..."; empty: there is none. */
struct span verify_records_name(const struct node *selector);

struct verify_records_cursor {
    const struct node *selector;
    const struct rule *rule; /* the current one */
    const struct rule_group *group;
    size_t _file, _group, _rule;
};
/* The next rule that records what the selector may mean: its name, and labels that the rule sets
 * itself do not contradict. */
bool verify_records_next(const struct verify_records *r, struct verify_records_cursor *c);

#endif
