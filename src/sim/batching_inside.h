/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching_inside.h - the inside of a batching engine, for the files that make it up.
 *
 * Role:      batching.c: who comes and goes, and the end of an iteration; batching_plan.c: the next
 *            one; batching_check.c: the accounts.
 * Lists:     who runs is in one list, who waits in another, both in order of arrival; all who run
 *            have arrived before all who wait.
 * Iteration: is planned when the one before it ends: what it computes is in the requests (_planned)
 *            until it ends itself.
 */
#ifndef SIM_BATCHING_INSIDE_H
#define SIM_BATCHING_INSIDE_H

#include "sim/batching.h"

struct batching {
    struct batching_config config;
    struct kv_blocks blocks;
    struct rng rng;
    struct list waiting, running, told;
    mono_t t_started, t_next; /* the iteration under way */
    int64_t gpu_ns;           /* of it */
    int64_t n_budget;         /* of its tokens */
    int64_t n_planned;        /* its tokens */
    int64_t n_planned_gone;   /* among them, of requests that have left since */
    int64_t n_computed_gone;  /* of all iterations, for requests that are not here any more */
    struct batching_counts counts;
};

static inline struct batching_request *batching_of(struct list *link)
{
    return CONTAINER_OF(link, struct batching_request, _link);
}

/* Tokens that are known: the prompt's, and those generated so far. */
static inline int64_t batching_known(const struct batching_request *r)
{
    return r->n_prompt + r->n_done;
}

static inline int64_t batching_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t batching_blocks(const struct batching *b, int64_t n_tokens)
{
    return (n_tokens + b->config.block_tokens - 1) / b->config.block_tokens;
}

/* Takes r out of those who run, and its blocks from it. */
void batching_stop(struct batching *b, struct batching_request *r);
/* Plans the iteration that begins now; none when nobody is here. */
void batching_plan(struct batching *b, mono_t now);

#endif
