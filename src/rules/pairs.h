/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/pairs.h - labels or annotations that outlive an evaluation, shared by whoever holds them.
 *
 * Role:      alerts keep theirs from one evaluation to the next, and both generations point at
 *            them while a new one is made.
 * Ownership: counted; constant once made. Pairs and texts are one block of memory.
 * Threading: the count belongs to the evaluator's thread.
 */
#ifndef RULES_PAIRS_H
#define RULES_PAIRS_H

#include "base/attr.h"
#include "series/labels.h"

struct pairs {
    struct labels labels;
    size_t n_refs;
};

int pairs_new(struct labels l, struct pairs **ret) WARN_UNUSED; /* a copy; -ENOMEM */
struct pairs *pairs_ref(struct pairs *p);
struct pairs *pairs_unref(struct pairs *p); /* NULL is allowed; returns NULL */

#endif
