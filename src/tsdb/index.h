/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/index.h - which series there are, and which of them matchers mean.
 *
 * Shape:     labels are pairs of symbols; each pair has its postings, the ids of its series in
 *            ascending order. A selection walks over the shortest postings that a matcher gives and
 *            checks the other matchers, each value once.
 * Errors:    -ENOMEM, -ENOSPC (no id left); nothing has changed then.
 * Threading: whoever changes it excludes everybody else (tsdb_private.h); the times of a series are
 *            atomic, its head has a lock.
 */
#ifndef TSDB_INDEX_H
#define TSDB_INDEX_H

#include <stdatomic.h>

#include "series/reader.h"
#include "tsdb/head.h"
#include "tsdb/symbols.h"

/* Times that are not known. */
#define INDEX_NEVER INT64_MIN

struct series {
    uint32_t id;
    uint8_t kind;     /* enum tsdb_kind */
    bool is_kind_new; /* not on disk yet */
    uint32_t hash;
    uint32_t n_pairs;
    _Atomic int64_t t_first;  /* of all samples, or INDEX_NEVER */
    _Atomic int64_t t_last;   /* of all samples, or INDEX_NEVER */
    _Atomic int64_t t_sealed; /* the last one that is in a chunk on disk, or INDEX_NEVER */
    struct head head;
    uint32_t pairs[]; /* name, value, name, value ... by name */
};

struct postings {
    uint32_t name, value;
    uint32_t n, cap;
    uint32_t *ids;
};

struct index {
    struct symbols symbols;
    struct series **by_id; /* NULL: forgotten */
    uint32_t n_ids, cap;   /* n_ids: the highest id + 1 */
    uint32_t n_series;
    uint32_t *by_labels; /* hash table of ids + 1 */
    uint32_t n_by_labels;
    struct postings **by_pair; /* hash table */
    uint32_t n_by_pair, n_pairs;
};

void index_init(struct index *x);
void index_done(struct index *x);

/* Of a pair of symbols; NULL: none. */
const struct postings *index_postings(const struct index *x, uint32_t name, uint32_t value);

/* NULL: none. */
struct series *index_find(const struct index *x, struct labels l);
int index_add(struct index *x, struct labels l, struct series **ret) WARN_UNUSED;
/* When reading from disk: symbols are there, not referred to yet. */
int index_load(struct index *x, uint32_t id, const uint32_t *pairs, uint32_t n_pairs,
               struct series **ret) WARN_UNUSED;

static inline struct series *index_get(const struct index *x, uint64_t id)
{
    return id < x->n_ids ? x->by_id[id] : NULL;
}

/* Forgets the series for which is_dead says so. Their symbols stay. */
void index_forget(struct index *x, bool (*is_dead)(void *ctx, const struct series *s), void *ctx);

/* As reader_ops.select. */
int index_select(const struct index *x, const struct series_select *what, struct arena *a,
                 struct series_ref **ret, size_t *ret_n) WARN_UNUSED;

size_t index_bytes(const struct index *x);

#endif
