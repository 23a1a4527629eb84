/* SPDX-License-Identifier: Apache-2.0 */
#include "load/schedule.h"

#include <math.h>

void schedule_init(struct schedule *s, const struct schedule_config *config)
{
    *s = (struct schedule){._config = *config};
    rng_seed(&s->_rng, config->seed);
}

static bool next_of_trace(struct schedule *s, struct schedule_item *ret)
{
    const struct trace *t = s->_config.trace;
    const struct trace_row *row;

    if ((size_t)s->_i >= t->n)
        return false;
    row = &t->rows[s->_i++];
    *ret = (struct schedule_item){
        .at_ns = llround((double)row->at_ns / s->_config.speed),
        .prompt_tokens = row->input_tokens,
        .max_tokens = row->output_tokens,
        .is_stream = row->is_stream,
    };
    return true;
}

bool schedule_next(struct schedule *s, struct schedule_item *ret)
{
    const struct schedule_config *c = &s->_config;

    if (c->kind == SCHEDULE_TRACE)
        return next_of_trace(s, ret);
    *ret = (struct schedule_item){
        .prompt_tokens = c->prompt_tokens, .max_tokens = c->max_tokens, .is_stream = -1};
    if (c->kind == SCHEDULE_CONSTANT) {
        ret->at_ns = llround((double)s->_i * 1e9 / c->rate_per_s); /* no error adds up */
    } else {
        s->_at_s += rng_exponential(&s->_rng, 1 / c->rate_per_s);
        ret->at_ns = llround(s->_at_s * 1e9);
    }
    s->_i++;
    return true;
}
