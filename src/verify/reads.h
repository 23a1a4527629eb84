/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/reads.h - what an expression reads, through what rules record, too.
 *
 * Ownership: an arena's.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef VERIFY_READS_H
#define VERIFY_READS_H

#include "verify/plan.h"

enum { VERIFY_RECORDS_MAX = 16 }; /* records of records of ... */

/* All recording rules, to look names up in (records.h). */
struct verify_record {
    const struct rule *rule;
    const struct rule_group *group;
    size_t i; /* in the order of the files */
};
struct verify_records {
    const struct verify_record *at; /* by name */
    size_t n;
    struct arena *arena;
    unsigned steps_left; /* for the expression under way */
};

/* Metrics that are read anywhere, those that are recorded replaced by what they are made of. */
int verify_reads_all(struct verify_records *r, const struct node *n,
                     struct verify_names *ret) WARN_UNUSED;
/* Those without which it has no value: one side of `or` is enough. */
int verify_reads_needed(struct verify_records *r, const struct node *n,
                        struct verify_names *ret) WARN_UNUSED;
/*
 * How far back it looks, ms, scaled: ranges and offsets along the deepest path, and the interval of
 * each group that records a part of it.
 */
int64_t verify_reads_window(struct verify_records *r, const struct node *n, double factor);

/* What it is compared with. */
struct verify_limit {
    const struct node *measured; /* NULL: it is no comparison with a constant */
    double value;
    bool is_ttft, is_e2e; /* measured is a quantile in seconds */
};
void verify_reads_limit(struct verify_records *r, const struct node *n, struct verify_limit *ret);

#endif
