/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/harvest.h - the samples of one rule's evaluation: collected, then recorded at once or not.
 *
 * Role:      between rules and the store: knows which series were recorded last time and are not
 *            now (stale markers), which label set comes twice, what the store would refuse.
 * Ownership: a harvest is done by harvest_send or harvest_cancel. The list of series that it
 *            recorded is the rule's from then on (list).
 * Errors:    -ENOMEM; -E2BIG: a batch that is too large; -EEXIST: a label set came twice.
 * Threading: the evaluator's thread.
 */
#ifndef RULES_HARVEST_H
#define RULES_HARVEST_H

#include "rules/overlay.h"
#include "rules/rules.h"

/* Series, each with a reference. */
struct recorded_list {
    struct recorded **at;
    size_t n;
};
void recorded_list_done(struct recorded_list *l, struct recorded_table *t);
/* With what another one holds added. */
int recorded_list_add(struct recorded_list *to, const struct recorded_list *from) WARN_UNUSED;
int recorded_list_copy(const struct recorded_list *from, struct recorded_list *ret) WARN_UNUSED;

struct harvest {
    struct overlay *overlay;
    struct batch *batch;
    struct recorded_list list; /* what will have been recorded */
    int64_t t_ms;
    uint64_t mark;
    const char *refusal; /* why the store would refuse one of them; NULL */
};

/* n_max: series at most. */
int harvest_init(struct harvest *h, struct overlay *o, size_t n_max, int64_t t_ms) WARN_UNUSED;
int harvest_add(struct harvest *h, struct labels l, double v, const struct fhist *hist) WARN_UNUSED;
/* Stale markers for those that were not added. */
int harvest_end(struct harvest *h, const struct recorded_list *before) WARN_UNUSED;
/* Negative: nothing was recorded; list is empty then. */
int harvest_send(struct harvest *h, const struct rules_ops *ops) WARN_UNUSED;
void harvest_cancel(struct harvest *h);

#endif
