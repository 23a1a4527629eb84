/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/registry.h - private to metrics/: which series exist, and where each shard keeps its own.
 *
 *   group   one label set of one scope, process-wide: model m, endpoint e, upstream u
 *   block   the slots of a group in one shard: a pointer per series that can exist there
 *   series  one series in one shard
 *
 * Threading: groups, blocks and series are made under metrics.lock and published with release; they
 *            are never removed, so readers walk them without a lock. Numbers inside a series are
 *            written by the shard's thread alone.
 * Limits:    a series over the limit is not made; its slot points at the same series of the group
 *            "other" in that shard. group.is_made tells readers which slots are the group's own.
 */
#ifndef METRICS_REGISTRY_H
#define METRICS_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "metrics/family.h"
#include "metrics/hist.h"
#include "metrics/label_set.h"
#include "metrics/metrics.h"

/* Ids of a label set, in the order in which they are exposed; those that the scope does not have
 * are 0, as are business labels that the configuration does not name. */
enum {
    IDS_MODEL,
    IDS_ENDPOINT,
    IDS_UPSTREAM,
    IDS_VERSION,
    IDS_STREAM, /* 0 or 1 */
    IDS_SLO,    /* of the scope SCOPE_SLO only: 0 in the ids of a series_set */
    IDS_BUSINESS,
    IDS_COUNT_ = IDS_BUSINESS + FAMILY_BUSINESS_MAX
};
struct label_ids {
    uint32_t id[IDS_COUNT_];
};

struct metrics_series {
    enum metric metric;
    wall_t created_at;
    union {
        _Atomic int64_t value;      /* counters, gauges */
        _Atomic uint64_t window[2]; /* maxima of the even and the odd minute; see measure.c */
        struct hist hist;
    };
};

struct metrics_block {
    struct metrics_block *next; /* of the same group; constant once published */
    struct metrics_shard *shard;
    struct metrics_group *group;
    _Atomic(struct metrics_series *) slots[];
};

struct metrics_group {
    struct metrics_group *hash_next;      /* under the lock */
    _Atomic(struct metrics_group *) next; /* of the same scope, in order of birth */
    enum family_scope scope;
    struct label_ids ids;
    _Atomic(struct metrics_block *) blocks;
    _Atomic bool is_made[]; /* per slot: the series exists and counts */
};

/* What a series_set has for one SLO. */
struct metrics_slo_slot {
    struct metrics_block *block; /* NULL: not used yet */
    unsigned made;               /* bits of the objectives whose series exist */
};

struct metrics_series_set {
    struct metrics_shard *shard;
    struct label_ids ids;
    struct metrics_block *blocks[SCOPE_COUNT_]; /* NULL for SCOPE_SLO */
    struct metrics_slo_slot *slos;              /* by label id; grown by its owner */
    uint32_t n_slos;
    struct hist *icl; /* NULL until the first gap */
    bool is_stream_started;
};

/* The labels asked for last and their set: most requests are like the one before. A model that was
 * folded into "other" is not remembered, since it may become a value of its own, nor is such a
 * value of a business label, so that each request with one is counted. */
struct metrics_memo {
    struct metrics_series_set *set; /* NULL: nothing remembered but the business labels */
    struct label_ids ids;           /* of the set */
    char model[LABELS_TEXT_MAX + 1];
    char endpoint[LABELS_TEXT_MAX + 1];
    char upstream[LABELS_TEXT_MAX + 1];
    char version[LABELS_TEXT_MAX + 1];
    char business[FAMILY_BUSINESS_MAX][LABELS_TEXT_MAX + 1]; /* "": without a value */
    uint32_t business_ids[FAMILY_BUSINESS_MAX];              /* LABELS_OTHER: not remembered */
};

struct metrics_shard {
    struct metrics *metrics;
    struct metrics_memo memos[2]; /* by is_stream */
    struct metrics_shard *next;   /* constant */
    bool is_released;             /* under the lock */
    struct hist *event_overhead;  /* NULL until the first event */
    struct metrics_block *process;
    /* Known label sets: open addressing, grown by its owner. */
    struct metrics_series_set **sets; /* NULL: free */
    uint32_t n_sets, n_slots;         /* n_slots: a power of two, or 0 */
};

enum { GROUP_HASH_SLOTS = 4096 };

struct metrics {
    struct label_set *labels;
    uint32_t max_series;
    pthread_mutex_t lock;
    _Atomic uint32_t n_series;
    uint32_t n_groups; /* those that count; under the lock, as all below */
    struct metrics_shard *shards;
    struct metrics_group *hash[GROUP_HASH_SLOTS];
    struct metrics_group *last_group[SCOPE_COUNT_];
    struct bounds_generation *generations;
    /* constant */
    int first_slot[METRIC_COUNT_];
    int n_slots[SCOPE_COUNT_];
    /* any thread */
    _Atomic(struct metrics_group *) groups[SCOPE_COUNT_];
    hist_source bounds[METRIC_COUNT_]; /* NULL for what is no histogram */
};

/* All bounds ever in use, for metrics_free. */
struct bounds_generation {
    struct bounds_generation *next;
    struct hist_bounds *bounds;
};

/* Bits 1 << IDS_...: the labels that a scope has. */
static inline unsigned registry_scope_mask(enum family_scope scope)
{
    enum {
        BACKEND = 1u << IDS_MODEL | 1u << IDS_UPSTREAM | 1u << IDS_VERSION,
        REQUEST = BACKEND | 1u << IDS_ENDPOINT | ((1u << FAMILY_BUSINESS_MAX) - 1) << IDS_BUSINESS,
    };
    static const uint16_t masks[SCOPE_COUNT_] = {
        [SCOPE_MODEL] = 1u << IDS_MODEL,
        [SCOPE_UPSTREAM] = 1u << IDS_UPSTREAM,
        [SCOPE_BACKEND] = BACKEND,
        [SCOPE_REQUEST] = REQUEST,
        [SCOPE_FINISHED] = REQUEST | 1u << IDS_STREAM,
        [SCOPE_SLO] = 1u << IDS_MODEL | 1u << IDS_UPSTREAM | 1u << IDS_SLO,
    };
    return masks[scope];
}

/* The label set that stands in for ids beyond the limit: every label is "other", without a version.
 */
static inline struct label_ids registry_other(const struct label_ids *ids)
{
    struct label_ids r = {{0}};
    r.id[IDS_STREAM] = ids->id[IDS_STREAM];
    r.id[IDS_VERSION] = LABELS_NONE;
    return r;
}

/* Ids are small and alike, so every bit of the result has to depend on all of them. */
static inline uint32_t registry_hash(const struct label_ids *ids)
{
    uint64_t h = 0;
    for (int i = 0; i < IDS_COUNT_; i++) {
        h = (h ^ ids->id[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

static inline bool registry_is_same(const struct label_ids *a, const struct label_ids *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Sizes of the scopes and places of the families in them. */
void registry_init(struct metrics *m);
void registry_done(struct metrics *m);

/*
 * The shard's block for these ids in each scope but SCOPE_SLO, "other" where the limit leaves no
 * room. Takes the lock. -ENOMEM.
 */
int registry_blocks(struct metrics_shard *shard, const struct label_ids *ids,
                    struct metrics_block *ret[SCOPE_COUNT_]) WARN_UNUSED;

/* The same in one scope; NULL without memory. */
struct metrics_block *registry_block(struct metrics_shard *shard, enum family_scope scope,
                                     const struct label_ids *ids);

/* Makes the series of an empty slot; NULL without memory. Takes the lock. */
struct metrics_series *registry_series(struct metrics_block *block, enum metric metric, int i);

/* The series of a metric in a block; i: index over its enumerated labels. NULL without memory. */
static inline struct metrics_series *series_of(struct metrics_block *block, enum metric metric,
                                               int i)
{
    int slot = block->shard->metrics->first_slot[metric] + i;
    struct metrics_series *s = atomic_load_explicit(&block->slots[slot], memory_order_relaxed);
    return LIKELY(s != NULL) ? s : registry_series(block, metric, i);
}

/* measure.c: the maximum in the window as of now; -1: no data. Any thread. */
int64_t measure_window_max(const struct metrics_series *s, mono_t now);

#endif
