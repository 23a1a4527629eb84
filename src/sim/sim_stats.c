/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_stats.c - see the header.
 */
#include "sim/sim_stats.h"

#include "base/check.h"

#define WINDOW_NS (5 * NS_PER_S)

/* --- histograms --- */

static void insert_bound(struct sim_hist *h, double bound)
{
    size_t i = h->n_bounds;

    for (size_t k = 0; k < h->n_bounds; k++)
        if (h->bounds[k] == bound)
            return;
    if (NEVER(h->n_bounds == SIM_BOUNDS_MAX))
        return;
    for (; i > 0 && h->bounds[i - 1] > bound; i--)
        h->bounds[i] = h->bounds[i - 1];
    h->bounds[i] = bound;
    h->n_bounds++;
}

static void observe(struct sim_stats *s, enum sim_signal signal, double v)
{
    struct sim_hist *h = &s->hists[signal];
    size_t low = 0, high = h->n_bounds;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (v <= h->bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    h->counts[low]++;
    h->n++;
    h->sum += v;
}

uint64_t sim_hist_below(const struct sim_hist *h, double bound)
{
    uint64_t n = 0;

    for (size_t i = 0; i < h->n_bounds && h->bounds[i] <= bound; i++)
        n += h->counts[i];
    return n;
}

void sim_stats_init(struct sim_stats *s)
{
    *s = (struct sim_stats){0};
    for (size_t i = 0; i < sim_names_n; i++) {
        const struct sim_name *n = &sim_names[i];

        for (size_t k = 0; n->type == SIM_HISTOGRAM && k < n->bounds->n; k++)
            insert_bound(&s->hists[n->what], n->bounds->v[k]);
    }
}

/* --- events --- */

static double seconds(mono_t end, mono_t begin)
{
    return (double)mono_diff(end, begin) / (double)NS_PER_S;
}

static void ended(struct sim_stats *s, const struct batching_request *r, enum sim_reason reason)
{
    double decode_s = seconds(r->t_last, r->t_first);

    observe(s, SIM_E2E, seconds(r->t_last, r->t_arrived));
    observe(s, SIM_QUEUE, seconds(r->t_scheduled, r->t_queued));
    observe(s, SIM_PREFILL, seconds(r->t_first, r->t_scheduled));
    observe(s, SIM_DECODE, decode_s);
    observe(s, SIM_INFERENCE, seconds(r->t_last, r->t_scheduled));
    observe(s, SIM_TPOT, r->n_done > 1 ? decode_s / (double)(r->n_done - 1) : 0);
    observe(s, SIM_PROMPT_TOKENS, (double)r->n_prompt);
    observe(s, SIM_OUTPUT_TOKENS, (double)r->n_done);
    observe(s, SIM_MAX_TOKENS, (double)r->n_output);
    observe(s, SIM_COMPUTED_TOKENS, (double)(r->n_prompt - r->n_cached));
    observe(s, SIM_CHOICES, 1);
    s->n_ended[reason]++;
    s->n_prompt += r->n_prompt;
    s->n_output += r->n_done;
    s->n_cached += r->n_cached;
}

void sim_stats_token(struct sim_stats *s, const struct batching_request *r, enum sim_reason reason)
{
    if (mono_is_set(r->t_before))
        observe(s, SIM_ITL, seconds(r->t_last, r->t_before));
    else
        observe(s, SIM_TTFT, seconds(r->t_first, r->t_arrived));
    if (r->state == BATCHING_FINISHED)
        ended(s, r, reason);
}

void sim_stats_left(struct sim_stats *s)
{
    s->n_ended[SIM_ABORT]++;
}

static void end_window(struct sim_stats *s, mono_t now)
{
    double window_s = seconds(now, s->_t_window);

    s->prompt_rate = (double)(s->_last.n_prompt - s->_window.n_prompt) / window_s;
    s->output_rate = (double)(s->_last.n_generated - s->_window.n_generated) / window_s;
    s->n_preemptions = s->_last.n_preemptions - s->_window.n_preemptions;
    s->_window = s->_last;
    s->_t_window = now;
}

void sim_stats_step(struct sim_stats *s, const struct batching_counts *counts, mono_t now)
{
    int64_t n = counts->n_prompt + counts->n_generated - s->_last.n_prompt - s->_last.n_generated;

    if (n > 0)
        observe(s, SIM_ITERATION_TOKENS, (double)n);
    s->_last = *counts;
    if (!mono_is_set(s->_t_window)) {
        s->_window = *counts;
        s->_t_window = now;
    } else if (mono_diff(now, s->_t_window) >= WINDOW_NS) {
        end_window(s, now);
    }
}
