/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/runaway.c - streams that go on and on: a model that repeats itself until its context is
 * full costs as much as a hundred answers.
 *
 * Tokens are those that the engine tells on the way, else output events times what the model's
 * finished streams had per event, so that the guard works where usage comes at the end only.
 */
#include "observe/exchange.h"

static int64_t tokens_so_far(const struct tap *t)
{
    double per_event = estimates_get(&t->observer->estimates, t->rec.model_requested);
    double estimate = t->timing.n_output_events * (per_event > 0.0 ? per_event : 1.0);
    return t->n_tokens_told > (int64_t)estimate ? t->n_tokens_told : (int64_t)estimate;
}

bool runaway_is(const struct tap *t, mono_t now)
{
    const struct observer_config *c = &t->observer->config;
    if ((c->runaway_tokens == 0 && c->runaway_ns == 0) || !mono_is_set(t->t_awaited) ||
        !t->is_stream_asked)
        return false;
    if (c->runaway_ns > 0 && mono_diff(now, t->t_awaited) > c->runaway_ns)
        return true;
    return c->runaway_tokens > 0 && tokens_so_far(t) > c->runaway_tokens;
}

void runaway_note(struct tap *t)
{
    if (t->rec.flags & RECORD_RUNAWAY)
        return;
    t->rec.flags |= RECORD_RUNAWAY;
    if (t->is_started)
        t->observer->ops->runaway(t->observer->sink, &t->labels);
}
