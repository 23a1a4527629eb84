/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/registry.c - makes groups, blocks and series, each at first sight, and keeps the limit.
 *
 * The limit is exact: n_series counts series of the exposition (not their copies in shards) and a
 * new one is refused once it is reached. Groups are limited to that number per scope, so that label
 * sets of which nothing is recorded yet cannot pile up either.
 */
#include "metrics/registry.h"

#include <errno.h>

#include "base/mem.h"
#include "base/stat.h"

void registry_init(struct metrics *m)
{
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        if (f->is_computed)
            continue;
        m->first_slot[i] = m->n_slots[f->scope];
        m->n_slots[f->scope] += family_n_slots((enum metric)i);
    }
}

static void series_free(struct metrics_series *s)
{
    if (family_table[s->metric].type == FAMILY_HISTOGRAM)
        hist_done(&s->hist);
    mem_free(s);
}

static void block_free(struct metrics_block *block, const struct metrics *m)
{
    const struct metrics_group *g = block->group;
    for (int i = 0; i < m->n_slots[g->scope]; i++) {
        struct metrics_series *s = atomic_load_explicit(&block->slots[i], memory_order_relaxed);
        /* Others are borrowed from the group "other", which frees them. */
        if (s && atomic_load_explicit(&g->is_made[i], memory_order_relaxed))
            series_free(s);
    }
    mem_free(block);
}

static void group_free(struct metrics_group *g, const struct metrics *m)
{
    struct metrics_block *block = atomic_load_explicit(&g->blocks, memory_order_relaxed);
    while (block) {
        struct metrics_block *next = block->next;
        block_free(block, m);
        block = next;
    }
    mem_free(g);
}

void registry_done(struct metrics *m)
{
    for (int scope = 0; scope < SCOPE_COUNT_; scope++) {
        struct metrics_group *g = atomic_load_explicit(&m->groups[scope], memory_order_relaxed);
        while (g) {
            struct metrics_group *next = atomic_load_explicit(&g->next, memory_order_relaxed);
            group_free(g, m);
            g = next;
        }
    }
}

/* --- groups and blocks, under the lock --- */

static struct label_ids scope_ids(enum family_scope scope, const struct label_ids *ids)
{
    struct label_ids r = {{0}};
    for (int i = 0; i < IDS_COUNT_; i++)
        r.id[i] = registry_scope_mask(scope) >> i & 1 ? ids->id[i] : 0;
    return r;
}

/* Outside the limit: where everything over it goes, and the few series of the process itself. */
static bool is_exempt(const struct label_ids *ids)
{
    struct label_ids other = registry_other(ids);
    other.id[IDS_VERSION] = ids->id[IDS_VERSION];
    return registry_is_same(&other, ids) && ids->id[IDS_VERSION] <= LABELS_NONE;
}

static struct label_ids other_ids(enum family_scope scope, const struct label_ids *ids)
{
    struct label_ids other = registry_other(ids);
    return scope_ids(scope, &other);
}

static uint32_t hash_of(enum family_scope scope, const struct label_ids *ids)
{
    return (registry_hash(ids) + (uint32_t)scope * 0x9e3779b9u) % GROUP_HASH_SLOTS;
}

static struct metrics_group *group_find(const struct metrics *m, enum family_scope scope,
                                        const struct label_ids *ids)
{
    struct metrics_group *g = m->hash[hash_of(scope, ids)];
    while (g && (g->scope != scope || !registry_is_same(&g->ids, ids)))
        g = g->hash_next;
    return g;
}

static struct metrics_group *group_new(struct metrics *m, enum family_scope scope,
                                       const struct label_ids *ids)
{
    size_t n_slots = (size_t)m->n_slots[scope];
    struct metrics_group *g = mem_zalloc(1, sizeof(*g) + n_slots * sizeof(g->is_made[0]));
    if (!g)
        return NULL;
    g->scope = scope;
    g->ids = *ids;
    uint32_t h = hash_of(scope, ids);
    g->hash_next = m->hash[h];
    m->hash[h] = g;
    struct metrics_group *last = m->last_group[scope];
    atomic_store_explicit(last ? &last->next : &m->groups[scope], g, memory_order_release);
    m->last_group[scope] = g;
    m->n_groups += !is_exempt(ids);
    return g;
}

static bool is_full(const struct metrics *m)
{
    return atomic_load_explicit(&m->n_series, memory_order_relaxed) >= m->max_series;
}

/* NULL: no memory. ids are those of the scope. */
static struct metrics_group *group_get(struct metrics *m, enum family_scope scope,
                                       const struct label_ids *ids)
{
    struct metrics_group *g = group_find(m, scope, ids);
    if (g)
        return g;
    bool has_room = !is_full(m) && m->n_groups < SCOPE_COUNT_ * m->max_series;
    if (!is_exempt(ids) && !has_room) {
        struct label_ids other = other_ids(scope, ids);
        stat_inc(STAT_DROP_SERIES_CAP);
        return group_get(m, scope, &other);
    }
    return group_new(m, scope, ids);
}

static struct metrics_block *block_get(struct metrics_shard *shard, struct metrics_group *g)
{
    struct metrics_block *head = atomic_load_explicit(&g->blocks, memory_order_relaxed);
    for (struct metrics_block *b = head; b; b = b->next) {
        if (b->shard == shard)
            return b;
    }
    size_t n_slots = (size_t)shard->metrics->n_slots[g->scope];
    struct metrics_block *b = mem_zalloc(1, sizeof(*b) + n_slots * sizeof(b->slots[0]));
    if (!b)
        return NULL;
    b->shard = shard;
    b->group = g;
    b->next = head;
    atomic_store_explicit(&g->blocks, b, memory_order_release);
    return b;
}

/* Under the lock. */
static struct metrics_block *block_in(struct metrics_shard *shard, enum family_scope scope,
                                      const struct label_ids *ids)
{
    struct label_ids own = scope_ids(scope, ids);
    struct metrics_group *g = group_get(shard->metrics, scope, &own);
    return g ? block_get(shard, g) : NULL;
}

struct metrics_block *registry_block(struct metrics_shard *shard, enum family_scope scope,
                                     const struct label_ids *ids)
{
    pthread_mutex_lock(&shard->metrics->lock);
    struct metrics_block *block = block_in(shard, scope, ids);
    pthread_mutex_unlock(&shard->metrics->lock);
    return block;
}

int registry_blocks(struct metrics_shard *shard, const struct label_ids *ids,
                    struct metrics_block *ret[SCOPE_COUNT_])
{
    struct metrics *m = shard->metrics;
    struct metrics_block *blocks[SCOPE_COUNT_] = {NULL};
    int r = 0;
    pthread_mutex_lock(&m->lock);
    for (int scope = 0; scope < SCOPE_COUNT_ && r == 0; scope++) {
        if (scope == SCOPE_SLO)
            continue;
        blocks[scope] = block_in(shard, (enum family_scope)scope, ids);
        r = blocks[scope] ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&m->lock);
    if (r == 0)
        memcpy(ret, blocks, sizeof(blocks));
    return r;
}

/* --- series, under the lock --- */

static struct metrics_series *series_new(struct metrics *m, enum metric metric)
{
    bool is_hist = family_table[metric].type == FAMILY_HISTOGRAM;
    size_t size = is_hist ? sizeof(struct metrics_series)
                          : offsetof(struct metrics_series, window) +
                                sizeof(((struct metrics_series *)NULL)->window);
    struct metrics_series *s = mem_zalloc(1, size);
    if (!s)
        return NULL;
    s->metric = metric;
    s->created_at = clock_wall();
    if (is_hist)
        hist_init(&s->hist, &m->bounds[metric]);
    return s;
}

static struct metrics_series *series_make(struct metrics *m, struct metrics_block *block,
                                          enum metric metric, int i)
{
    struct metrics_group *g = block->group;
    int slot = m->first_slot[metric] + i;
    struct metrics_series *s = atomic_load_explicit(&block->slots[slot], memory_order_relaxed);
    if (s)
        return s;
    bool is_made = atomic_load_explicit(&g->is_made[slot], memory_order_relaxed);
    if (!is_made && !is_exempt(&g->ids) && is_full(m)) {
        struct label_ids other = other_ids(g->scope, &g->ids);
        struct metrics_group *og = group_get(m, g->scope, &other);
        struct metrics_block *ob = og ? block_get(block->shard, og) : NULL;
        s = ob ? series_make(m, ob, metric, i) : NULL;
        if (s) {
            atomic_store_explicit(&block->slots[slot], s, memory_order_release);
            stat_inc(STAT_DROP_SERIES_CAP);
        }
        return s;
    }
    s = series_new(m, metric);
    if (!s)
        return NULL;
    if (!is_made && !is_exempt(&g->ids))
        atomic_fetch_add_explicit(&m->n_series, 1, memory_order_relaxed);
    atomic_store_explicit(&block->slots[slot], s, memory_order_release);
    atomic_store_explicit(&g->is_made[slot], true, memory_order_release);
    return s;
}

struct metrics_series *registry_series(struct metrics_block *block, enum metric metric, int i)
{
    struct metrics *m = block->shard->metrics;
    pthread_mutex_lock(&m->lock);
    struct metrics_series *s = series_make(m, block, metric, i);
    pthread_mutex_unlock(&m->lock);
    if (!s)
        stat_inc(STAT_DROP_NO_MEMORY);
    return s;
}
