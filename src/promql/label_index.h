/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/label_index.h - series by their labels, or by some of them: groups of aggregations and of
 * vector matching, results that become one series.
 *
 * Memory:    in the arena; grows by doubling, what that leaves behind goes with the arena.
 * Errors:    -ENOMEM.
 * Threading: one owner.
 */
#ifndef PROMQL_LABEL_INDEX_H
#define PROMQL_LABEL_INDEX_H

#include "series/labels.h"

/* Labels to numbers from 0, in the order they came. */
enum label_key { LABELS_ALL, LABELS_BY, LABELS_WITHOUT };
struct label_index {
    struct arena *a;
    enum label_key key;
    const struct span *names;
    size_t n_names;
    struct labels *labels; /* the first that came, by number; borrowed */
    uint64_t *hash;
    size_t n, cap;
    uint32_t *slots; /* number + 1 */
    size_t n_slots;
};
void label_index_init(struct label_index *x, struct arena *a, enum label_key key,
                      const struct span *names, size_t n_names);
/* *ret == x->n - 1 and *ret_is_new (may be NULL): not seen before. */
int label_index_get(struct label_index *x, struct labels l, size_t *ret,
                    bool *ret_is_new) WARN_UNUSED;

/* Without the metric's name and what else tells of the metric (__type__, __unit__). */
int label_nameless(struct arena *a, struct labels l, struct labels *ret) WARN_UNUSED;
/* names and LABEL_NAME, sorted, unique. */
int label_names_with_metric(struct arena *a, const struct span *names, size_t n, struct span **ret,
                            size_t *ret_n) WARN_UNUSED;

#endif
