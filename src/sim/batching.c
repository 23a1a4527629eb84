/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching.c - see batching_inside.h for what holds between calls.
 */
#include "sim/batching.h"

#include <errno.h>
#include <math.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/batching_inside.h"

/* --- the end of an iteration --- */

void batching_stop(struct batching *b, struct batching_request *r)
{
    kv_blocks_release(&b->blocks, &r->_held);
    list_remove(&r->_link);
    b->counts.n_running--;
}

static void finish(struct batching *b, struct batching_request *r)
{
    batching_stop(b, r);
    r->state = BATCHING_FINISHED;
    b->counts.n_finished++;
    b->n_computed_gone += r->n_computed;
}

static void take_token(struct batching *b, struct batching_request *r, mono_t now)
{
    if (r->n_done == 0) {
        r->t_first = now;
        b->counts.n_prompt += r->n_prompt;
        b->counts.n_cached += r->n_cached;
    }
    r->t_before = r->t_last;
    r->t_last = now;
    r->n_new = 1;
    r->n_done++;
    b->counts.n_generated++;
    list_push_back(&b->told, &r->_told);
    if (r->n_done == r->n_output)
        finish(b, r);
}

static void end_iteration(struct batching *b)
{
    if (b->n_planned == 0)
        return;
    b->counts.n_steps++;
    b->counts.n_computed += b->n_planned;
    b->counts.last_tokens = b->n_planned;
    b->counts.last_step_ns = mono_diff(b->t_next, b->t_started);
    b->counts.busy_ns += b->gpu_ns;
    b->n_computed_gone += b->n_planned_gone;
    b->n_planned_gone = 0;
    for (struct list *at = b->running.next, *next; at != &b->running; at = next) {
        struct batching_request *r = batching_of(at);

        next = at->next;
        if (r->_planned == 0)
            continue;
        r->_computed += r->_planned;
        r->n_computed += r->_planned;
        r->_planned = 0;
        if (r->_computed == batching_known(r))
            take_token(b, r, b->t_next);
    }
}

struct batching_request *batching_told(struct batching *b)
{
    struct batching_request *r;

    if (list_is_empty(&b->told))
        return NULL;
    r = CONTAINER_OF(b->told.next, struct batching_request, _told);
    list_remove(&r->_told);
    return r;
}

struct batching_request *batching_step(struct batching *b)
{
    ASSERT(mono_is_set(b->t_next));
    while (batching_told(b))
        ; /* whom the caller did not ask for */
    end_iteration(b);
    batching_plan(b, b->t_next);
    return batching_told(b);
}

mono_t batching_next(const struct batching *b)
{
    return b->t_next;
}

/* --- coming and going --- */

int batching_arrive(struct batching *b, struct batching_request *r, mono_t now)
{
    ASSERT(r->n_prompt >= 1 && r->n_output >= 1);
    if (batching_blocks(b, r->n_prompt + r->n_output - 1) > b->blocks.n)
        return -E2BIG;
    *r = (struct batching_request){
        .n_prompt = r->n_prompt,
        .n_output = r->n_output,
        .prefix = r->prefix,
        .n_prefix = batching_min(r->n_prefix, r->n_prompt),
        .ctx = r->ctx,
        .state = BATCHING_WAITING,
        .t_arrived = now,
        .t_queued = now,
    };
    kv_held_init(&r->_held);
    list_init(&r->_told);
    list_push_back(&b->waiting, &r->_link);
    b->counts.n_waiting++;
    b->counts.n_arrived++;
    if (!mono_is_set(b->t_next))
        batching_plan(b, now);
    return 0;
}

void batching_leave(struct batching *b, struct batching_request *r)
{
    if (r->state == BATCHING_RUNNING) {
        batching_stop(b, r);
    } else if (r->state == BATCHING_WAITING) {
        list_remove(&r->_link);
        b->counts.n_waiting--;
    }
    if (r->state == BATCHING_RUNNING || r->state == BATCHING_WAITING) {
        b->counts.n_left++;
        b->n_computed_gone += r->n_computed;
        b->n_planned_gone += r->_planned;
        r->_planned = 0;
    }
    list_remove(&r->_told);
    r->state = BATCHING_GONE;
}

void batching_restart(struct batching *b)
{
    ASSERT(list_is_empty(&b->running) && list_is_empty(&b->waiting));
    kv_blocks_forget(&b->blocks);
    b->counts = (struct batching_counts){0};
    b->n_planned = b->n_planned_gone = b->n_computed_gone = 0;
    b->t_next = MONO_NONE;
}

/* --- configuration --- */

void batching_config_init(struct batching_config *c)
{
    *c = (struct batching_config){
        .max_seqs = 256,
        .token_budget = 2048,
        .block_tokens = 16,
        .n_blocks = 85625, /* 1.37 million tokens: 70 billion parameters on eight cards of 80 GB */
        .has_prefix_cache = true,
        .speed = 1,
    };
    (void)ALWAYS(batching_cost_of("llama2-70b-h100-tp8", &c->cost));
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : batching_min(v, high);
}

static void take_config(struct batching *b, const struct batching_config *c)
{
    int64_t block_tokens = b->config.block_tokens;

    b->config = *c;
    b->config.block_tokens = block_tokens;
    b->config.max_seqs = clamp(c->max_seqs, 1, INT32_MAX);
    b->config.token_budget = clamp(c->token_budget, 1, INT32_MAX);
    b->config.n_blocks = clamp(c->n_blocks, 0, b->blocks.n);
    b->config.speed = fmax(c->speed, 1e-3);
    b->config.host_ns = fmax(c->host_ns, 0);
}

void batching_configure(struct batching *b, const struct batching_config *c)
{
    take_config(b, c);
    if (!c->has_prefix_cache)
        kv_blocks_forget(&b->blocks);
    kv_blocks_lose(&b->blocks, b->blocks.n - b->config.n_blocks);
}

int batching_new(const struct batching_config *c, uint64_t seed, struct batching **ret)
{
    struct batching *b = mem_zalloc(1, sizeof(*b));

    if (!b || kv_blocks_init(&b->blocks, clamp(c->n_blocks, 1, KV_BLOCKS_MAX)) < 0) {
        mem_free(b);
        return -ENOMEM;
    }
    b->config.block_tokens = clamp(c->block_tokens, 1, INT32_MAX);
    take_config(b, c);
    rng_seed(&b->rng, seed);
    list_init(&b->waiting);
    list_init(&b->running);
    list_init(&b->told);
    *ret = b;
    return 0;
}

struct batching *batching_free(struct batching *b)
{
    if (b)
        kv_blocks_done(&b->blocks);
    mem_free(b);
    return NULL;
}

/* --- telling --- */

struct batching_counts batching_counts(const struct batching *b)
{
    struct batching_counts counts = b->counts;

    counts.n_blocks = b->blocks.n;
    counts.n_blocks_free = b->blocks.n_free;
    counts.n_blocks_lost = b->blocks.n_lost;
    return counts;
}
