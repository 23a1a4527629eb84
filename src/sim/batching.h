/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching.h - an engine that batches continuously, in virtual time.
 *
 * Role:      what vLLM's scheduler does, step by step, without its tensors: who waits, whose tokens
 *            the next iteration computes, which KV blocks are whose, and how long it takes. The
 *            server (sim_server.h) asks it what happens when; tools run it without a server, at
 *            thousands of times real speed.
 * Step:      the budget is `token_budget` tokens. Running requests in order, each needs the tokens
 *            that are not computed yet (one when it decodes, more for a chunk of its prompt), as
 *            far as the budget goes; blocks for them are taken; where none is free the last running
 *            request is preempted: its blocks are freed, nothing of it is computed any more, and it
 *            goes to the front of those that wait. When nobody was preempted, waiting requests are
 *            taken in while fewer than `max_seqs` run, the budget lasts and blocks fit; whole
 *            blocks of a prompt that the prefix cache has need not be computed.
 * Time:      of an iteration: prefill_base (when it has prompt tokens and nobody decodes) or
 *            decode_base, + per_prefill_token + per_seq + per_kv_token, times a lognormal noise,
 *            divided by the GPU's speed, + the host's part; a rare stall.
 *            When who is here cannot run for want of blocks, the engine looks again every 10 ms.
 * Order:     strictly first come, first served: who is preempted goes to the front again.
 * Truth:     tokens and blocks are conserved: batching_check says so at any time. Of a request,
 *            n_computed = computed now - n_cached + n_recomputed, and when it has finished,
 *            n_computed = n_prompt - n_cached + n_recomputed + n_output - 1 (nobody needs the KV of
 *            the last token).
 * Memory:    requests are the caller's (embedded); the batching's own memory is for the blocks
 *            (kv_blocks.h).
 * Errors:    -ENOMEM when it is made, never later.
 * Threading: one owner; pure: no clock, no I/O, the same seed and calls give the same answer.
 * Source:    reference "slo-alert-diagnosis facts" 5.7 (scheduler, coefficients, workloads).
 */
#ifndef SIM_BATCHING_H
#define SIM_BATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"
#include "sim/kv_blocks.h"

/* How long an iteration takes, in ns (per token: ns a token). */
struct batching_cost {
    double prefill_base, per_prefill_token;
    double decode_base, per_seq, per_kv_token; /* sequences that decode, and their tokens */
    double sigma;                              /* of the noise's logarithm */
    double stall_rate;                         /* of iterations, 0..1 */
    double stall;                              /* and how long one lasts */
};
/* Fits of real machines by name ("llama2-70b-h100-tp8", ...); false: no such. */
bool batching_cost_of(const char *name, struct batching_cost *ret);
const char *batching_cost_name(size_t i); /* NULL behind the last */

/* May be changed at any time between steps: what faults and operators do. */
struct batching_config {
    struct batching_cost cost;
    int64_t max_seqs;     /* 256 */
    int64_t token_budget; /* 2048 */
    int64_t block_tokens; /* 16; not after the start */
    int64_t n_blocks;     /* for KV; fewer later: a leak; never more than at the start */
    bool has_prefix_cache;
    double speed;   /* of the GPU; 1 */
    double host_ns; /* added to each iteration */
};
void batching_config_init(struct batching_config *c);

enum batching_state { BATCHING_WAITING, BATCHING_RUNNING, BATCHING_FINISHED, BATCHING_GONE };

struct batching_request {
    /* asked */
    int64_t n_prompt, n_output; /* tokens; both >= 1 */
    uint64_t prefix;            /* prompts with the same prefix begin alike; 0: like no other */
    int64_t n_prefix;           /* for that many tokens, at most n_prompt */
    /* told */
    enum batching_state state;
    mono_t t_arrived; /* at the server: the caller may set an earlier time after the arrival */
    mono_t t_queued, t_scheduled, t_first, t_last; /* t_scheduled: for the first time */
    mono_t t_before;                               /* of the token before the last; not set: none */
    int64_t n_done;                                /* output tokens */
    int64_t n_cached; /* prompt tokens found in the cache, at the first time */
    int64_t n_preempted;
    int64_t n_new;        /* output tokens of the last step */
    int64_t n_computed;   /* tokens that iterations worked on for it */
    int64_t n_recomputed; /* computed before, lost by a preemption, not found in the cache */
    void *ctx;            /* the caller's */
    struct list _link, _told;
    int64_t _computed, _planned; /* tokens that have KV; those of the iteration under way */
    struct kv_held _held;
};

struct batching;
int batching_new(const struct batching_config *c, uint64_t seed, struct batching **ret) WARN_UNUSED;
struct batching *batching_free(struct batching *b);

/*
 * now: not before the last step. The fields "told" are reset. A request longer than all blocks of
 * the start together can never run: -E2BIG. One that is longer than what a leak has left waits.
 */
int batching_arrive(struct batching *b, struct batching_request *r, mono_t now) WARN_UNUSED;
/*
 * Given up, in whatever state; its blocks are freed, the iteration under way takes as long as it
 * does. The request is the caller's again. Of one that has finished and was told: nothing to do.
 */
void batching_leave(struct batching *b, struct batching_request *r);
/* As a process that was started anew: counters from 0, nothing cached. Nobody is here. */
void batching_restart(struct batching *b);

/* When the iteration under way ends; not set: there is none, for nobody is here. */
mono_t batching_next(const struct batching *b);
/*
 * Ends the iteration under way, at batching_next, and plans the next one. The requests that got
 * tokens, in order of arrival: the first is returned, the next ones by batching_told; NULL: no
 * more. Each may be left or freed (when it has finished) as soon as it was returned.
 */
struct batching_request *batching_step(struct batching *b);
struct batching_request *batching_told(struct batching *b);

/* Changes what may change; from the next iteration on. Without prefix cache what it held is lost.
 */
void batching_configure(struct batching *b, const struct batching_config *c);

/* What an engine's /metrics tells; counters since the start. */
struct batching_counts {
    int64_t n_running, n_waiting;
    int64_t n_blocks;                     /* at the start */
    int64_t n_blocks_free, n_blocks_lost; /* cached ones that nobody uses count as free */
    int64_t n_preemptions, n_steps;
    int64_t n_prompt, n_cached, n_generated; /* tokens; of prompts when their prefill ends */
    int64_t n_cache_queries, n_cache_hits;   /* tokens, at first admissions */
    int64_t n_computed;                      /* tokens that iterations worked on, again ones too */
    int64_t n_recomputed;
    int64_t n_arrived, n_finished, n_left;
    int64_t last_tokens, last_step_ns; /* of the last iteration */
    int64_t busy_ns;                   /* of the GPU, in iterations that have ended */
};
struct batching_counts batching_counts(const struct batching *b);
/* NULL: everything adds up; else what does not. Takes time: for tests. */
const char *batching_check(const struct batching *b);

#endif
