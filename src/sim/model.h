/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/model.h - when a simulated engine would produce what: queue, first token, next tokens.
 *
 * Role:      pure, in virtual time: the caller says what time it is, the model says when the next
 *            tokens are ready. No I/O, no clock. The same seed and calls give the same answer.
 * Model:     at most `concurrency` requests run, the others wait in order of arrival. A request's
 *            first token is ready a drawn time after its start (lognormal, plus a cost per prompt
 *            token), each further one a drawn time after the one before; that time grows linearly
 *            with the load, up to load_factor at full concurrency.
 * Memory:    struct model_request is embedded in its owner. No allocation.
 * Threading: one owner.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"

struct model_config {
    int64_t concurrency; /* >= 1 */
    int64_t ttft_median_ns;
    double ttft_sigma; /* of the logarithm; 0: constant */
    int64_t ttft_per_prompt_token_ns;
    int64_t itl_mean_ns;
    double itl_sigma;      /* of the logarithm; 0: constant */
    double load_factor;    /* >= 1: ITL at full concurrency relative to a single request */
    int64_t output_median; /* tokens; 0: as many as the request allows, else output_max */
    double output_sigma;
    int64_t output_max;
};

/* What one request wants; -1: the model decides. */
struct model_ask {
    int64_t prompt_tokens; /* >= 0 */
    int64_t max_tokens;
    int64_t n_tokens; /* exactly that many */
    int64_t ttft_ns;
    int64_t itl_ns;
    int64_t tokens_per_event; /* >= 1 */
    int64_t min_ttft_ns;      /* >= 0 */
};

struct model_request {
    mono_t t_arrived;
    mono_t t_started;  /* not set while it waits */
    mono_t t_first;    /* set at the start */
    mono_t t_next;     /* when the next event is ready; not set: waiting or finished */
    int64_t n_tokens;  /* in all */
    int64_t n_done;    /* produced so far */
    bool is_limited;   /* n_tokens is the request's own maximum */
    struct list _link; /* in the queue */
    int64_t _ttft_ns;  /* drawn at arrival */
    int64_t _itl_ns;   /* -1: drawn per token */
    int64_t _tokens_per_event;
};

struct model {
    struct model_config _config;
    struct rng _rng;
    struct list _queue;
    int64_t n_running;
    int64_t n_queued;
    double _itl_median_ns;
};

/* Plausible values of a small model on one accelerator. */
void model_config_init(struct model_config *c);

void model_init(struct model *m, const struct model_config *config, uint64_t seed);

/* Sets how long an answer is: n_tokens and is_limited. A part of every arrival. */
void model_length(struct model *m, const struct model_ask *ask, struct model_request *r);

/* A request arrives; it runs at once when there is room, else waits (t_started not set). */
void model_arrive(struct model *m, struct model_request *r, const struct model_ask *ask,
                  mono_t now);

/*
 * The request is over or given up, running or waiting. Returns the request that starts in its
 * place, or NULL.
 */
struct model_request *model_leave(struct model *m, struct model_request *r, mono_t now);

/*
 * Takes the event that was ready at t_next: returns its tokens (> 0) and moves t_next on. t_next is
 * not set any more behind the last token.
 */
int64_t model_take(struct model *m, struct model_request *r);

static inline bool model_is_finished(const struct model_request *r)
{
    return r->n_done >= r->n_tokens;
}

#endif
