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
    static const struct label_ids none = {{0}};
    struct label_ids other = registry_other(&none);
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

/* Where the set of these ids is, or the free slot where it would be; a slot is always free. */
static uint32_t slot_of(const struct metrics_shard *shard, const struct label_ids *ids)
{
    uint32_t mask = shard->n_slots - 1;
    uint32_t i = registry_hash(ids) & mask;
    while (shard->sets[i] && !registry_is_same(&shard->sets[i]->ids, ids))
        i = (i + 1) & mask;
    return i;
}

static int grow(struct metrics_shard *shard)
{
    struct metrics_shard bigger = *shard;
    bigger.n_slots = shard->n_slots ? shard->n_slots * 2 : FIRST_SLOTS;
    bigger.sets = mem_zalloc(bigger.n_slots, sizeof(struct metrics_series_set *));
    if (!bigger.sets)
        return -ENOMEM;
    for (uint32_t i = 0; i < shard->n_slots; i++) {
        if (shard->sets[i])
            bigger.sets[slot_of(&bigger, &shard->sets[i]->ids)] = shard->sets[i];
    }
    mem_free(shard->sets);
    shard->sets = bigger.sets;
    shard->n_slots = bigger.n_slots;
    return 0;
}

static struct metrics_series_set *set_new(struct metrics_shard *shard, const struct label_ids *ids)
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
    set->ids = *ids;
    shard->sets[slot_of(shard, ids)] = set;
    shard->n_sets++;
    return set;
}

static struct metrics_series_set *set_get(struct metrics_shard *shard, const struct label_ids *ids)
{
    struct metrics_series_set *set = shard->n_slots ? shard->sets[slot_of(shard, ids)] : NULL;
    if (set)
        return set;
    struct label_ids other = registry_other(ids);
    if (shard->n_sets >= shard->metrics->max_series && !registry_is_same(ids, &other)) {
        stat_inc(STAT_DROP_SERIES_CAP);
        return set_get(shard, &other);
    }
    set = set_new(shard, ids);
    if (!set)
        stat_inc(STAT_DROP_NO_MEMORY);
    return set;
}

static uint32_t model_id(struct label_set *labels, const struct metrics_request *request)
{
    if (!request->model || !*request->model)
        return LABELS_OTHER;
    if (request->is_model_proven)
        return label_set_intern(labels, LABEL_MODEL, request->model);
    int64_t id = label_set_find(labels, LABEL_MODEL, request->model);
    return id > 0 ? (uint32_t)id : LABELS_OTHER;
}

static const char *business_of(const struct metrics_request *request, uint32_t i)
{
    return request->business && request->business[i] ? request->business[i] : "";
}

static const char *version_of(const struct metrics_request *request)
{
    return request->version ? request->version : "";
}

/* Whether all labels but the business ones are those that are remembered. */
static bool memo_is(const struct metrics_memo *memo, const struct metrics_request *request)
{
    return memo->set && request->model && request->endpoint && request->upstream &&
           strcmp(memo->model, request->model) == 0 &&
           strcmp(memo->upstream, request->upstream) == 0 &&
           strcmp(memo->endpoint, request->endpoint) == 0 &&
           strcmp(memo->version, version_of(request)) == 0;
}

static bool memo_take(char field[LABELS_TEXT_MAX + 1], const char *text)
{
    size_t n = text ? strlen(text) : LABELS_TEXT_MAX + 1;
    if (n > LABELS_TEXT_MAX)
        return false;
    memcpy(field, text, n + 1);
    return true;
}

/* All but the business labels, which were remembered when they were looked up. */
static void memo_set(struct metrics_memo *memo, const struct metrics_request *request,
                     const struct label_ids *ids, struct metrics_series_set *set)
{
    bool is_kept = ids->id[IDS_MODEL] != LABELS_OTHER && memo_take(memo->model, request->model) &&
                   memo_take(memo->endpoint, request->endpoint) &&
                   memo_take(memo->upstream, request->upstream) &&
                   memo_take(memo->version, version_of(request));
    memo->ids = *ids;
    memo->set = is_kept ? set : NULL;
}

/* Fills in the ids of the business labels; returns whether they are those remembered. */
static bool resolve_business(struct label_set *labels, struct metrics_memo *memo,
                             const struct metrics_request *request, struct label_ids *ids)
{
    bool is_same = true;
    uint32_t n = label_set_n_business(labels);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = business_of(request, i);
        uint32_t *id = &memo->business_ids[i];
        if (*id == LABELS_OTHER || strcmp(memo->business[i], text) != 0) {
            is_same = false;
            *id = label_set_intern(labels, (enum label_key)(LABEL_BUSINESS + i), text);
            ids->id[IDS_BUSINESS + i] = *id;
            if (!memo_take(memo->business[i], text))
                *id = LABELS_OTHER; /* looked up again next time */
        } else {
            ids->id[IDS_BUSINESS + i] = *id;
        }
    }
    return is_same;
}

struct metrics_series_set *metrics_shard_resolve(struct metrics_shard *shard,
                                                 const struct metrics_request *request)
{
    struct label_set *labels = shard->metrics->labels;
    struct metrics_memo *memo = &shard->memos[request->is_stream];
    bool is_known = memo_is(memo, request);
    struct label_ids ids = {{0}};

    if (LIKELY(is_known)) {
        ids = memo->ids;
    } else {
        ids.id[IDS_MODEL] = model_id(labels, request);
        ids.id[IDS_ENDPOINT] = label_set_intern(labels, LABEL_ENDPOINT, request->endpoint);
        ids.id[IDS_UPSTREAM] = label_set_intern(labels, LABEL_UPSTREAM, request->upstream);
        ids.id[IDS_VERSION] = label_set_intern(labels, LABEL_VERSION, request->version);
        ids.id[IDS_STREAM] = request->is_stream;
    }
    if (resolve_business(labels, memo, request, &ids) && LIKELY(is_known))
        return memo->set;
    struct metrics_series_set *set = set_get(shard, &ids);
    memo_set(memo, request, &ids, set);
    return set;
}
