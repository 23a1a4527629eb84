/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/live.h"

#include <errno.h>

#include "base/mem.h"
#include "base/stat.h"

struct live {
    struct live *next_free;
    struct live_pool *pool;
    struct metrics_series_set *set;
    struct metrics_series *inflight; /* what was counted up at the start is counted down */
    bool is_final;                   /* set was resolved with a 2xx */
};

struct live_pool {
    struct metrics_shard *shard;
    struct live *free;
};

int live_pool_new(struct metrics_shard *shard, struct live_pool **ret)
{
    struct live_pool *pool = mem_zalloc(1, sizeof(*pool));
    if (!pool)
        return -ENOMEM;
    pool->shard = shard;
    *ret = pool;
    return 0;
}

struct live_pool *live_pool_free(struct live_pool *pool)
{
    while (pool && pool->free) {
        struct live *next = pool->free->next_free;
        mem_free(pool->free);
        pool->free = next;
    }
    mem_free(pool);
    return NULL;
}

static bool is_proven(const struct live_labels *l)
{
    return l->upstream_status >= 200 && l->upstream_status < 300;
}

static struct metrics_series_set *resolve(struct metrics_shard *shard, const struct live_labels *l)
{
    struct metrics_request request = {
        .model = l->model,
        .endpoint = l->endpoint,
        .upstream = l->upstream,
        .is_stream = l->is_stream,
        .is_model_proven = is_proven(l),
        .version = l->version,
        .business = l->business,
    };
    struct metrics_series_set *set = metrics_shard_resolve(shard, &request);
    if (set && l->is_stream && l->is_generating)
        metrics_stream_started(set);
    return set;
}

static struct metrics_series_set *set_of(struct live *live, const struct live_labels *l)
{
    if (LIKELY(live && live->is_final))
        return live->set;
    if (!live)
        return NULL;
    live->set = resolve(live->pool->shard, l);
    live->is_final = live->set && is_proven(l);
    return live->set;
}

struct live *live_started(struct live_pool *pool, const struct live_labels *l)
{
    struct live *live = pool->free;
    if (live) {
        pool->free = live->next_free;
    } else {
        live = mem_alloc(sizeof(*live));
        if (!live) {
            stat_inc(STAT_DROP_NO_MEMORY);
            return NULL;
        }
    }
    *live = (struct live){.pool = pool};
    live->inflight = metrics_inflight_begin(set_of(live, l));
    return live;
}

void live_admitted(struct live *live, const struct live_labels *l, int64_t queue_ns)
{
    metrics_record_queue(set_of(live, l), queue_ns);
}

void live_retried(struct live *live, const struct live_labels *l)
{
    if (!live)
        return;
    metrics_attempt_over(live->set);
    metrics_inflight_end(live->inflight);
    live->inflight = metrics_inflight_begin(set_of(live, l));
}

void live_runaway(struct live *live, const struct live_labels *l)
{
    metrics_record_runaway(set_of(live, l));
}

void live_first_token(struct live *live, const struct live_labels *l, int64_t ttft_ns)
{
    metrics_record_ttft(set_of(live, l), ttft_ns, l->request_id);
}

void live_first_answer(struct live *live, const struct live_labels *l, int64_t ttfa_ns)
{
    metrics_record_ttfa(set_of(live, l), ttfa_ns);
}

void live_gap(struct live *live, const struct live_labels *l, int64_t icl_ns)
{
    metrics_record_gap(set_of(live, l), icl_ns);
}

void live_itl(struct live *live, const struct live_labels *l, int64_t itl_ns, uint64_t n_tokens)
{
    metrics_record_itl(set_of(live, l), itl_ns, n_tokens);
}

struct metrics_series_set *live_finished(struct live_pool *pool, struct live *live,
                                         const struct live_labels *l, const struct record *r)
{
    struct metrics_series_set *set = live ? set_of(live, l) : resolve(pool->shard, l);
    metrics_record_done(set, r);
    if (live) {
        metrics_inflight_end(live->inflight);
        live->next_free = pool->free;
        pool->free = live;
    }
    return set;
}
