/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/model.c - draws are made at arrival and per token, in the order of the calls, so that a seed
 * reproduces a whole run.
 */
#include "sim/model.h"

#include <math.h>

#include "base/check.h"

void model_config_init(struct model_config *c)
{
    *c = (struct model_config){
        .concurrency = 10000,
        .ttft_median_ns = 80 * NS_PER_MS,
        .ttft_sigma = 0.3,
        .ttft_per_prompt_token_ns = 20 * NS_PER_US,
        .itl_mean_ns = 12 * NS_PER_MS,
        .itl_sigma = 0.1,
        .load_factor = 1,
        .output_max = 128,
    };
}

void model_init(struct model *m, const struct model_config *config, uint64_t seed)
{
    *m = (struct model){._config = *config};
    rng_seed(&m->_rng, seed);
    list_init(&m->_queue);
    /* The mean of a lognormal is its median times exp(sigma^2 / 2). */
    m->_itl_median_ns =
        (double)config->itl_mean_ns * exp(-config->itl_sigma * config->itl_sigma / 2);
}

static double draw(struct model *m, double median, double sigma)
{
    return sigma > 0 ? rng_lognormal(&m->_rng, median, sigma) : median;
}

static int64_t draw_ttft_ns(struct model *m, const struct model_ask *ask)
{
    const struct model_config *c = &m->_config;
    int64_t ns = ask->ttft_ns;

    if (ns < 0)
        ns = llround(draw(m, (double)c->ttft_median_ns, c->ttft_sigma)) +
             ask->prompt_tokens * c->ttft_per_prompt_token_ns;
    return ns > ask->min_ttft_ns ? ns : ask->min_ttft_ns;
}

void model_length(struct model *m, const struct model_ask *ask, struct model_request *r)
{
    const struct model_config *c = &m->_config;
    int64_t n = ask->n_tokens;

    if (n < 0 && c->output_median > 0)
        n = llround(draw(m, (double)c->output_median, c->output_sigma));
    else if (n < 0)
        n = ask->max_tokens >= 0 ? ask->max_tokens : c->output_max;
    if (ask->n_tokens < 0 && c->output_median > 0) {
        n = n < 1 ? 1 : n;
        n = n > c->output_max ? c->output_max : n;
    }
    r->is_limited = ask->max_tokens >= 0 && n >= ask->max_tokens;
    r->n_tokens = ask->n_tokens < 0 && r->is_limited ? ask->max_tokens : n;
}

/* The time between two events of n tokens, under the present load. */
static int64_t draw_gap_ns(struct model *m, const struct model_request *r, int64_t n)
{
    const struct model_config *c = &m->_config;
    double ns = 0;

    if (r->_itl_ns >= 0)
        return r->_itl_ns * n;
    for (int64_t i = 0; i < n; i++)
        ns += draw(m, m->_itl_median_ns, c->itl_sigma);
    if (c->concurrency > 1)
        ns *= 1 + (c->load_factor - 1) * (double)(m->n_running - 1) / (double)(c->concurrency - 1);
    return llround(ns);
}

static int64_t next_tokens(const struct model_request *r)
{
    int64_t left = r->n_tokens - r->n_done;

    return left < r->_tokens_per_event ? left : r->_tokens_per_event;
}

static void request_start(struct model *m, struct model_request *r, mono_t now)
{
    m->n_running++;
    r->t_started = now;
    r->t_first = mono_add(now, r->_ttft_ns);
    r->t_next = r->n_tokens > 0 ? r->t_first : MONO_NONE;
}

void model_arrive(struct model *m, struct model_request *r, const struct model_ask *ask, mono_t now)
{
    *r = (struct model_request){
        .t_arrived = now,
        ._itl_ns = ask->itl_ns,
        ._tokens_per_event = ask->tokens_per_event,
    };
    list_init(&r->_link);
    r->_ttft_ns = draw_ttft_ns(m, ask);
    model_length(m, ask, r);
    if (m->n_running < m->_config.concurrency) {
        request_start(m, r, now);
    } else {
        list_push_back(&m->_queue, &r->_link);
        m->n_queued++;
    }
}

struct model_request *model_leave(struct model *m, struct model_request *r, mono_t now)
{
    struct model_request *next;

    if (!mono_is_set(r->t_started)) {
        list_remove(&r->_link);
        m->n_queued--;
        return NULL;
    }
    m->n_running--;
    if (list_is_empty(&m->_queue))
        return NULL;
    next = CONTAINER_OF(m->_queue.next, struct model_request, _link);
    list_remove(&next->_link);
    m->n_queued--;
    request_start(m, next, mono_max(now, next->t_arrived));
    return next;
}

int64_t model_take(struct model *m, struct model_request *r)
{
    int64_t n = next_tokens(r);

    ASSERT(mono_is_set(r->t_next));
    r->n_done += n;
    if (model_is_finished(r))
        r->t_next = MONO_NONE;
    else
        r->t_next = mono_add(r->t_next, draw_gap_ns(m, r, next_tokens(r)));
    return n;
}
