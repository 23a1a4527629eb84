/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/shard.c - one worker's view: from label texts to its own series, remembered per label
 * set.
 *
 * Sets are allocated one by one and never move, so that an exchange may hold a pointer for as long
 * as it lasts. The table is bounded by the series limit: label sets beyond it share the sets made
 * of "other", and those are looked up through the lock once the table is full.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/stat.h"
#include "metrics/registry.h"

enum { FIRST_SLOTS = 64 };

static struct metrics_shard *adopt(struct metrics *m)
{
    pthread_mutex_lock(&m->lock);
    struct metrics_shard *shard = m->shards;
    while (shard && !shard->is_released)
        shard = shard->next;
    if (shard)
        shard->is_released = false;
    pthread_mutex_unlock(&m->lock);
    return shard;
}

int metrics_shard_new(struct metrics *m, struct metrics_shard **ret)
{
    struct metrics_shard *shard = adopt(m);
    if (shard) {
        *ret = shard;
        return 0;
    }
    shard = mem_zalloc(1, sizeof(*shard));
    if (!shard)
        return -ENOMEM;
    shard->metrics = m;
    struct metrics_block *blocks[SCOPE_COUNT_];
    static const struct label_ids other = {{0}};
    int r = registry_blocks(shard, &other, blocks);
    if (r == 0)
        shard->process = blocks[SCOPE_PROCESS];
    /* Kept also after a failure: blocks made so far refer to it, and the next caller takes it. */
    shard->is_released = r < 0;
    pthread_mutex_lock(&m->lock);
    shard->next = m->shards;
    m->shards = shard;
    pthread_mutex_unlock(&m->lock);
    if (r < 0)
        return r;
    *ret = shard;
    return 0;
}

struct metrics_shard *metrics_shard_release(struct metrics_shard *shard)
{
    if (!shard)
        return NULL;
    pthread_mutex_lock(&shard->metrics->lock);
    shard->is_released = true;
    pthread_mutex_unlock(&shard->metrics->lock);
    return NULL;
}

/* --- the table of known label sets --- */

/* Never 0. Ids are below 2^20 (labels.c: at most 100,000 values). */
static uint64_t key_of(const struct label_ids *ids)
{
    return UINT64_C(1) << 63 | (uint64_t)ids->id[IDS_STREAM] << 60 |
           (uint64_t)ids->id[IDS_MODEL] << 40 | (uint64_t)ids->id[IDS_ENDPOINT] << 20 |
           ids->id[IDS_UPSTREAM];
}

static uint32_t slot_of(const struct metrics_shard *shard, uint64_t key)
{
    uint32_t mask = shard->n_slots - 1;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (shard->keys[i] != 0 && shard->keys[i] != key)
        i = (i + 1) & mask;
    return i;
}

static int grow(struct metrics_shard *shard)
{
    struct metrics_shard bigger = *shard;
    bigger.n_slots = shard->n_slots ? shard->n_slots * 2 : FIRST_SLOTS;
    bigger.keys = mem_zalloc(bigger.n_slots, sizeof(*bigger.keys));
    bigger.sets = mem_zalloc(bigger.n_slots, sizeof(struct metrics_series_set *));
    if (!bigger.keys || !bigger.sets) {
        mem_free(bigger.keys);
        mem_free(bigger.sets);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < shard->n_slots; i++) {
        if (shard->keys[i] == 0)
            continue;
        uint32_t to = slot_of(&bigger, shard->keys[i]);
        bigger.keys[to] = shard->keys[i];
        bigger.sets[to] = shard->sets[i];
    }
    mem_free(shard->keys);
    mem_free(shard->sets);
    shard->keys = bigger.keys;
    shard->sets = bigger.sets;
    shard->n_slots = bigger.n_slots;
    return 0;
}

static struct metrics_series_set *set_find(const struct metrics_shard *shard, uint64_t key)
{
    uint32_t i = shard->n_slots ? slot_of(shard, key) : 0;
    return shard->n_slots && shard->keys[i] == key ? shard->sets[i] : NULL;
}

static struct metrics_series_set *set_new(struct metrics_shard *shard, uint64_t key,
                                          const struct label_ids *ids)
{
    if (2 * (shard->n_sets + 1) > shard->n_slots && grow(shard) < 0)
        return NULL;
    struct metrics_series_set *set = mem_zalloc(1, sizeof(*set));
    if (!set)
        return NULL;
    if (registry_blocks(shard, ids, set->blocks) < 0) {
        mem_free(set);
        return NULL;
    }
    set->shard = shard;
    uint32_t i = slot_of(shard, key);
    shard->keys[i] = key;
    shard->sets[i] = set;
    shard->n_sets++;
    return set;
}

static struct metrics_series_set *set_get(struct metrics_shard *shard, const struct label_ids *ids)
{
    uint64_t key = key_of(ids);
    struct metrics_series_set *set = set_find(shard, key);
    if (set)
        return set;
    struct label_ids other = {{0}};
    other.id[IDS_STREAM] = ids->id[IDS_STREAM];
    if (shard->n_sets >= shard->metrics->max_series && key != key_of(&other)) {
        stat_inc(STAT_DROP_SERIES_CAP);
        return set_get(shard, &other);
    }
    set = set_new(shard, key, ids);
    if (!set)
        stat_inc(STAT_DROP_NO_MEMORY);
    return set;
}

static uint32_t model_id(struct labels *labels, const struct metrics_request *request)
{
    if (!request->model || !*request->model)
        return LABELS_OTHER;
    if (request->is_model_proven)
        return labels_intern(labels, LABEL_MODEL, request->model);
    int64_t id = labels_find(labels, LABEL_MODEL, request->model);
    return id > 0 ? (uint32_t)id : LABELS_OTHER;
}

static bool memo_is(const struct metrics_memo *memo, const struct metrics_request *request)
{
    return memo->set && request->model && request->endpoint && request->upstream &&
           strcmp(memo->model, request->model) == 0 &&
           strcmp(memo->upstream, request->upstream) == 0 &&
           strcmp(memo->endpoint, request->endpoint) == 0;
}

static void memo_set(struct metrics_memo *memo, const struct metrics_request *request,
                     struct metrics_series_set *set)
{
    const char *const texts[] = {request->model, request->endpoint, request->upstream};
    char *const fields[] = {memo->model, memo->endpoint, memo->upstream};

    memo->set = NULL;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!texts[i] || strlen(texts[i]) > LABELS_TEXT_MAX)
            return;
        memcpy(fields[i], texts[i], strlen(texts[i]) + 1);
    }
    memo->set = set;
}

struct metrics_series_set *metrics_shard_resolve(struct metrics_shard *shard,
                                                 const struct metrics_request *request)
{
    struct labels *labels = shard->metrics->labels;
    struct metrics_memo *memo = &shard->memos[request->is_stream];
    struct label_ids ids = {{0}};

    if (LIKELY(memo_is(memo, request)))
        return memo->set;
    ids.id[IDS_MODEL] = model_id(labels, request);
    ids.id[IDS_ENDPOINT] = labels_intern(labels, LABEL_ENDPOINT, request->endpoint);
    ids.id[IDS_UPSTREAM] = labels_intern(labels, LABEL_UPSTREAM, request->upstream);
    ids.id[IDS_STREAM] = request->is_stream;
    struct metrics_series_set *set = set_get(shard, &ids);
    if (ids.id[IDS_MODEL] != LABELS_OTHER)
        memo_set(memo, request, set);
    return set;
}
