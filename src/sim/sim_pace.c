/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_pace.h"

#include <errno.h>

/* --- coming and going --- */

static struct model_ask ask_of(const struct sim_answer *a)
{
    const struct switches *s = &a->switches;

    return (struct model_ask){
        .prompt_tokens = a->_prompt_tokens,
        .max_tokens = a->ask.max_tokens,
        .n_tokens = a->_speech.voice->has_output ? s->n_tokens : 0,
        .ttft_ns = s->ttft_ns,
        .itl_ns = s->itl_ns,
        .tokens_per_event = s->tokens_per_event,
        .min_ttft_ns = s->role_delay_ns,
    };
}

/* What prompts have in common, in tokens of a prompt that is n_prompt long. */
static void set_prefix(const struct sim_answer *a, int64_t n_prompt, struct sim_live_ask *ask)
{
    const struct switches *s = &a->switches;
    struct sim_live *l = a->_engine->live;
    double block = (double)sim_live_config_get(l)->batching.block_tokens;
    int64_t n_estimated = (a->ask.prompt_bytes + 3) / 4;

    if (sim_live_loses_prefix(l))
        return;
    if (s->prefix >= 0) {
        ask->prefix = (uint64_t)s->prefix;
        ask->n_prefix = s->prefix_tokens >= 0 ? s->prefix_tokens : n_prompt;
    } else if (a->prefix.id != 0) {
        ask->prefix = a->prefix.id;
        ask->n_prefix =
            (int64_t)((double)a->prefix.n_blocks * block * (double)n_prompt / (double)n_estimated);
    }
}

/* 0, or the status of a refusal. */
static int arrive_live(struct sim_answer *a, mono_t now, const char **ret_message)
{
    struct sim_live *l = a->_engine->live;
    struct model_request *r = &a->_request;
    struct model_ask ask = ask_of(a);
    struct sim_live_ask wish = {.n = a->_n_choices};
    int64_t left;
    int result;

    model_length(&a->_engine->model, &ask, r);
    sim_live_output(l, ask.max_tokens, ask.n_tokens >= 0, &r->n_tokens, &r->is_limited);
    wish.n_prompt = a->_prompt_tokens = sim_live_prompt(l, ask.prompt_tokens);
    left = sim_live_config_get(l)->max_model_len - wish.n_prompt;
    if (r->n_tokens > left) {
        r->n_tokens = left;
        r->is_limited = true;
    }
    wish.n_output = r->n_tokens;
    wish.is_limited = r->is_limited;
    set_prefix(a, wish.n_prompt, &wish);
    a->_live.wake = &a->_go;
    result = left < 1 ? -E2BIG : sim_live_arrive(l, &a->_live, &wish, now);
    a->_is_in_live = result == 0;
    if (result == 0)
        return 0;
    *ret_message =
        result == -E2BIG ? "the prompt is longer than what the engine can hold" : "out of memory";
    return result == -E2BIG ? 400 : 500;
}

static void arrive_model(struct sim_answer *a, mono_t now)
{
    struct model_ask ask = ask_of(a);

    model_arrive(&a->_engine->model, &a->_request, &ask, now);
    a->_is_in_model = true;
}

int sim_pace_arrive(struct sim_answer *a, mono_t now, const char **ret_message)
{
    if (a->_engine->live && a->_speech.voice->has_output)
        return arrive_live(a, now, ret_message);
    arrive_model(a, now);
    return 0;
}

void sim_pace_leave(struct sim_answer *a)
{
    struct sim_engine *e = a->_engine;
    struct model_request *next =
        a->_is_in_model ? model_leave(&e->model, &a->_request, clock_mono()) : NULL;

    if (next) {
        struct sim_answer *n = CONTAINER_OF(next, struct sim_answer, _request);
        loop_defer(e->loop, &n->_go);
    }
    if (a->_is_in_live)
        sim_live_leave(&a->_live);
    a->_is_in_live = a->_is_in_model = false;
}

/* --- tokens --- */

int sim_pace_look(struct sim_answer *a)
{
    if (!a->_is_in_live)
        return 0;
    if (a->_live.is_lost)
        return -ECONNABORTED;
    a->_request.t_started = a->_live.t_scheduled;
    a->_request.t_first = a->_live.t_first;
    return 0;
}

bool sim_pace_is_started(const struct sim_answer *a)
{
    if (a->_is_in_live && !a->ask.is_stream)
        return mono_is_set(sim_pace_next(a, true));
    return mono_is_set(a->_request.t_started);
}

static int64_t tokens_wanted(const struct sim_answer *a, bool is_all)
{
    int64_t left = a->_request.n_tokens - a->_request.n_done;
    int64_t n = a->switches.tokens_per_event;

    return is_all || n > left ? left : n;
}

mono_t sim_pace_next(const struct sim_answer *a, bool is_all)
{
    return a->_is_in_live ? sim_live_time(&a->_live, tokens_wanted(a, is_all)) : a->_request.t_next;
}

void sim_pace_take(struct sim_answer *a, bool is_all)
{
    struct model_request *r = &a->_request;
    int64_t n = tokens_wanted(a, is_all);

    if (a->_is_in_live) {
        a->_t_last = sim_live_time(&a->_live, n);
        sim_live_take(&a->_live, n);
        r->n_done += n;
        return;
    }
    do {
        a->_t_last = r->t_next;
        (void)model_take(&a->_engine->model, r); /* n_done says it */
    } while (is_all && !model_is_finished(r));
}
