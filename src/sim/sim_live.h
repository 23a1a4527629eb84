/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_live.h - the batching engine in real time: requests of clients and made-up ones, its
 * faults, and what its pages show.
 *
 * Role:      sim_answer.h gives it requests and is woken when their tokens come; the batching model
 *            (batching.h) says which tokens, at what time of its own. Its time is CLOCK_MONOTONIC;
 *            a step is carried out as soon as the loop's clock has passed its end, so a token is
 *            never early, and late by what the loop is late.
 * Sequences: a request is as many sequences of the engine as it asks answers for; its n-th token is
 *            ready when all of them have n.
 * Faults:    sim_faults.h. They change from one iteration to the next. cold_start ends by itself.
 * Ownership: requests are embedded in the caller's; a live engine owns everything else.
 * Limits:    SIM_LIVE_MADE_UP requests of a load surge at once; more are not made.
 * Threading: the loop's.
 */
#ifndef SIM_SIM_LIVE_H
#define SIM_SIM_LIVE_H

#include "base/buf.h"
#include "io/loop.h"
#include "sim/batching.h"
#include "sim/sim_faults.h"
#include "sim/sim_gpu.h"
#include "sim/sim_names.h"
#include "sim/sim_script.h"
#include "sim/sim_stats.h"
#include "sim/workload.h"

enum { SIM_LIVE_MADE_UP = 100000 };

struct sim_live_config {
    struct sim_version version;
    const char *model; /* told on its pages. Borrowed */
    struct batching_config batching;
    struct workload_config load; /* of a load surge, without its rate */
    int64_t max_model_len;       /* tokens of prompt and output */
    int64_t tokenize_ns;         /* what /tokenize takes */
    bool has_gpu_on_page;        /* /metrics tells of the GPUs, too; else only /gpu/metrics */
    struct sim_gpu_config gpu;
    enum sim_gpu_names gpu_names;
    const struct sim_script *script; /* NULL: none. Borrowed */
    uint64_t seed;
};
/* vLLM 0.13 on eight H100. */
void sim_live_config_init(struct sim_live_config *c);

struct sim_live;
int sim_live_new(struct loop *loop, const struct sim_live_config *c,
                 struct sim_live **ret) WARN_UNUSED; /* -ENOMEM */
/* All requests have left. Returns NULL. */
struct sim_live *sim_live_free(struct sim_live *l);
const struct sim_live_config *sim_live_config_get(const struct sim_live *l);

/* --- requests --- */

struct sim_live_ask {
    int64_t n_prompt, n_output; /* tokens, each of the n sequences */
    int64_t n;                  /* >= 1 */
    uint64_t prefix;            /* as batching_request has it */
    int64_t n_prefix;
    bool is_limited; /* the output ends because it may not be longer */
};

struct sim_live_sequence;

struct sim_live_request {
    struct task *wake; /* deferred whenever something below has changed; set before the arrival */
    mono_t t_arrived;
    mono_t t_scheduled, t_first; /* set with the first token */
    int64_t n_cached;            /* likewise: tokens of the prompt */
    int64_t n_ready;             /* tokens, those taken included */
    bool is_lost;                /* the engine died, or memory did: nothing more comes */
    struct sim_live *_live;
    struct sim_live_sequence *_sequences;
    int64_t _n;
    struct buf _times; /* when the tokens that have not been taken became ready */
    struct timer _held;
    struct list _link;
    bool _is_in;
};

/* Longer than the engine can ever hold: -E2BIG. -ENOMEM. Only after success it has to leave. */
int sim_live_arrive(struct sim_live *l, struct sim_live_request *r, const struct sim_live_ask *ask,
                    mono_t now) WARN_UNUSED;
void sim_live_leave(struct sim_live_request *r); /* finished or given up */

/* When the n-th of the tokens that have not been taken was ready; not set: it is not. */
mono_t sim_live_time(const struct sim_live_request *r, int64_t n);
void sim_live_take(struct sim_live_request *r, int64_t n);

/* --- faults --- */

const struct sim_faults *sim_live_faults(const struct sim_live *l);
void sim_live_set_faults(struct sim_live *l, const struct sim_faults *f);

/* What a request meets at the door: 0, or the status it is answered with (429, 500, 503). */
int sim_live_door(struct sim_live *l, mono_t now, const char **ret_message,
                  int64_t *ret_retry_after_s);
int64_t sim_live_loading_s(const struct sim_live *l, mono_t now); /* 0: it is there */

/* What the present faults make of a request. */
int64_t sim_live_prompt(const struct sim_live *l, int64_t n_prompt);
/* is_exact: the request's own switch says how long. */
void sim_live_output(struct sim_live *l, int64_t max_tokens, bool is_exact, int64_t *n_output,
                     bool *is_limited);
bool sim_live_loses_prefix(struct sim_live *l);
int64_t sim_live_lag_ns(const struct sim_live *l);      /* of the network, one way */
size_t sim_live_held_bytes(const struct sim_live *l);   /* by a proxy; 0: none */
int64_t sim_live_tokenize_ns(const struct sim_live *l); /* on this host, now */

/* --- for the pages (sim_pages.h) --- */

struct batching_counts sim_live_counts(struct sim_live *l); /* as of now */
const struct sim_stats *sim_live_stats(const struct sim_live *l);
const struct sim_gpu *sim_live_gpu(const struct sim_live *l); /* looked at once a second */
double sim_live_started_at_s(const struct sim_live *l);       /* Unix time */
int64_t sim_live_n_open(const struct sim_live *l);            /* requests of clients */

#endif
