/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching_plan.c - whose tokens the next iteration computes, and how long it takes.
 */
#include <math.h>

#include "base/check.h"
#include "sim/batching_inside.h"

#define LOOK_AGAIN_NS (10 * NS_PER_MS)

/* What an iteration is made of. */
struct plan {
    int64_t budget;
    int64_t n_prefill, n_decode, n_kv; /* tokens, sequences, tokens */
    bool has_preempted;
};

/* --- who runs, who waits --- */

static void preempt(struct batching *b, struct batching_request *r)
{
    batching_stop(b, r);
    r->state = BATCHING_WAITING;
    r->n_preempted++;
    r->n_recomputed += r->_computed;
    b->counts.n_recomputed += r->_computed;
    r->_computed = 0;
    list_push_front(&b->waiting, &r->_link);
    b->counts.n_waiting++;
    b->counts.n_preemptions++;
}

static void admit(struct batching *b, struct batching_request *r, int64_t n_cached, mono_t now)
{
    list_remove(&r->_link);
    b->counts.n_waiting--;
    list_push_back(&b->running, &r->_link);
    b->counts.n_running++;
    r->state = BATCHING_RUNNING;
    r->_computed = n_cached;
    if (mono_is_set(r->t_scheduled)) {
        r->n_recomputed -= n_cached;
        b->counts.n_recomputed -= n_cached;
        return;
    }
    r->t_scheduled = now;
    r->n_cached = n_cached;
    if (b->config.has_prefix_cache) {
        b->counts.n_cache_queries += r->n_prompt;
        b->counts.n_cache_hits += n_cached;
    }
}

/* --- planning --- */

/* Blocks for k tokens more; those of the prefix that are whole then can be found by others. */
static bool take_blocks(struct batching *b, struct batching_request *r, int64_t k)
{
    int64_t n_tokens = r->_computed + k;
    int64_t n_whole = 0;

    if (b->config.has_prefix_cache && r->prefix != 0)
        n_whole = batching_min(n_tokens, r->n_prefix) / b->config.block_tokens;
    return kv_blocks_grow(&b->blocks, &r->_held, batching_blocks(b, n_tokens), r->prefix, n_whole);
}

static void plan_tokens(struct plan *p, struct batching_request *r, int64_t k)
{
    r->_planned = k;
    p->budget -= k;
    if (r->n_done > 0 && r->_computed + 1 == batching_known(r)) {
        p->n_decode++;
        p->n_kv += r->_computed + k;
    } else {
        p->n_prefill += k;
    }
}

/* False: r is the one that had to go. */
static bool make_room(struct batching *b, struct plan *p, struct batching_request *r, int64_t k)
{
    while (!take_blocks(b, r, k)) {
        struct batching_request *last = batching_of(b->running.prev);

        p->has_preempted = true;
        preempt(b, last);
        if (last == r)
            return false;
    }
    return true;
}

static void plan_running(struct batching *b, struct plan *p)
{
    struct list *at = b->running.next;

    for (; at != &b->running && p->budget > 0; at = at->next) {
        struct batching_request *r = batching_of(at);
        int64_t k = batching_min(batching_known(r) - r->_computed, p->budget);

        if (!make_room(b, p, r, k))
            return; /* it was the last */
        plan_tokens(p, r, k);
    }
}

static bool plan_first_waiting(struct batching *b, struct plan *p, mono_t now)
{
    struct batching_request *r = batching_of(b->waiting.next);
    int64_t n_found = 0, n_found_free = 0, k;

    if (b->config.has_prefix_cache && r->prefix != 0) {
        /* The last known token is computed in any case: the next one comes from it. */
        int64_t n = batching_min(r->n_prefix, batching_known(r) - 1) / b->config.block_tokens;

        n_found = kv_blocks_find(&b->blocks, r->prefix, n, &n_found_free);
    }
    k = batching_min(batching_known(r) - n_found * b->config.block_tokens, p->budget);
    if (batching_blocks(b, n_found * b->config.block_tokens + k) - n_found >
        b->blocks.n_free - n_found_free)
        return false;
    admit(b, r, n_found * b->config.block_tokens, now);
    kv_blocks_share(&b->blocks, &r->_held, r->prefix, n_found);
    (void)ALWAYS(take_blocks(b, r, k));
    plan_tokens(p, r, k);
    return true;
}

static void plan_waiting(struct batching *b, struct plan *p, mono_t now)
{
    while (!list_is_empty(&b->waiting) && p->budget > 0 && b->counts.n_running < b->config.max_seqs)
        if (!plan_first_waiting(b, p, now))
            return;
}

static int64_t duration_ns(struct batching *b, const struct plan *p)
{
    const struct batching_cost *c = &b->config.cost;
    double ns = p->n_decode > 0 ? c->decode_base : c->prefill_base;

    ns += c->per_prefill_token * (double)p->n_prefill;
    ns += c->per_seq * (double)p->n_decode + c->per_kv_token * (double)p->n_kv;
    if (c->sigma > 0)
        ns *= rng_lognormal(&b->rng, 1, c->sigma);
    ns /= b->config.speed;
    b->gpu_ns = llround(ns);
    ns += b->config.host_ns;
    if (c->stall_rate > 0 && rng_unit(&b->rng) < c->stall_rate)
        ns += c->stall;
    return ns < 1 ? 1 : llround(ns);
}

void batching_plan(struct batching *b, mono_t now)
{
    struct plan p = {.budget = b->config.token_budget};

    plan_running(b, &p);
    b->n_planned = p.n_prefill + p.n_decode;
    if (!p.has_preempted || b->n_planned == 0) {
        plan_waiting(b, &p, now);
        b->n_planned = p.n_prefill + p.n_decode;
    }
    b->n_budget = b->config.token_budget;
    b->t_started = now;
    b->t_next = MONO_NONE;
    if (b->n_planned > 0)
        b->t_next = mono_add(now, duration_ns(b, &p));
    else if (!list_is_empty(&b->waiting))
        b->t_next = mono_add(now, LOOK_AGAIN_NS);
}
