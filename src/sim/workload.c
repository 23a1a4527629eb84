/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/workload.c - requests live in slabs that are freed at the end, and go round between the
 * engine and a list of idle ones.
 */
#include "sim/workload.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

/* --- requests --- */

bool workload_config_of(const char *name, struct workload_config *ret)
{
    /*
     * Medians and p90 of the traces give the deviation of the logarithms. Lengths end where those
     * of the trace do: the longest prompt is that of the excerpt rounded up to a context of 8,192
     * tokens, the longest output what the service allowed. (The traces' p99 are lower than a
     * lognormal's; cutting there would make them right, and the means and all queues too short.)
     */
    static const struct {
        const char *name;
        struct workload_length prompt, output;
    } rows[] = {
        {"azure-conv", {1020, 0.77, 1, 8192}, {129, 0.93, 1, 1000}},
        {"azure-code", {1469, 0.985, 1, 8192}, {13, 1.125, 1, 2000}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        *ret =
            (struct workload_config){.rate = 1, .prompt = rows[i].prompt, .output = rows[i].output};
        return true;
    }
    return false;
}

void workload_init(struct workload *w, const struct workload_config *c, uint64_t seed)
{
    w->config = *c;
    rng_seed(&w->rng, seed);
}

int64_t workload_gap_ns(struct workload *w)
{
    double ns;

    if (!(w->config.rate > 0))
        return INT64_MAX;
    ns = rng_exponential(&w->rng, (double)NS_PER_S / w->config.rate);
    return ns < 1e18 ? llround(ns) : INT64_MAX;
}

static int64_t draw_length(struct workload *w, const struct workload_length *l)
{
    double v = l->sigma > 0 ? rng_lognormal(&w->rng, l->median, l->sigma) : l->median;

    if (!(v > (double)l->min))
        return l->min;
    return v < (double)l->max ? llround(v) : l->max;
}

void workload_ask(struct workload *w, struct batching_request *r)
{
    const struct workload_config *c = &w->config;

    r->n_prompt = draw_length(w, &c->prompt);
    r->n_output = draw_length(w, &c->output);
    r->prefix = 0;
    r->n_prefix = 0;
    if (c->prefix_share > 0 && c->n_prefixes > 0 && rng_unit(&w->rng) < c->prefix_share) {
        r->prefix = 1 + rng_below(&w->rng, (uint64_t)c->n_prefixes);
        r->n_prefix = c->prefix_tokens;
    }
}

/* --- distributions --- */

static size_t step_of(int64_t ns)
{
    uint64_t v = ns > WORKLOAD_DIST_STEPS ? (uint64_t)ns : WORKLOAD_DIST_STEPS;
    int shift = 63 - __builtin_clzll(v) - 7; /* 2^7 steps an octave */
    size_t i = (size_t)shift * WORKLOAD_DIST_STEPS + (size_t)(v >> shift) - WORKLOAD_DIST_STEPS;
    size_t last = ARRAY_LEN(((struct workload_dist *)0)->_counts) - 1;

    return i < last ? i : last;
}

static double middle_of_step(size_t i)
{
    double low = (double)(WORKLOAD_DIST_STEPS + i % WORKLOAD_DIST_STEPS);

    return ldexp(low + 0.5, (int)(i / WORKLOAD_DIST_STEPS));
}

void workload_dist_add(struct workload_dist *d, int64_t ns)
{
    d->n++;
    d->sum_ns += (double)ns;
    if (ns > d->max_ns)
        d->max_ns = ns;
    d->_counts[step_of(ns)]++;
}

double workload_dist_quantile_ns(const struct workload_dist *d, double q)
{
    double rank = q * (double)d->n;
    int64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(d->_counts); i++) {
        n += d->_counts[i];
        if (n > 0 && (double)n >= rank)
            return fmin(middle_of_step(i), (double)d->max_ns);
    }
    return (double)NAN;
}

double workload_dist_mean_ns(const struct workload_dist *d)
{
    return d->n > 0 ? d->sum_ns / (double)d->n : (double)NAN;
}

/* --- the run --- */

enum { SLAB_TASKS = 64 };

struct task {
    struct batching_request request;
    struct list link; /* idle ones */
};

struct task_slab {
    struct list link;
    struct task tasks[SLAB_TASKS];
};

static int task_take(struct workload_run *w, struct task **ret)
{
    struct task_slab *s;

    if (list_is_empty(&w->_idle)) {
        s = mem_zalloc(1, sizeof(*s));
        if (!s)
            return -ENOMEM;
        list_push_back(&w->_slabs, &s->link);
        for (size_t i = 0; i < SLAB_TASKS; i++)
            list_push_back(&w->_idle, &s->tasks[i].link);
    }
    *ret = CONTAINER_OF(w->_idle.next, struct task, link);
    list_remove(&(*ret)->link);
    return 0;
}

static void task_give(struct workload_run *w, struct task *t)
{
    list_push_front(&w->_idle, &t->link);
}

static void plan_arrival(struct workload_run *w)
{
    int64_t gap_ns = workload_gap_ns(&w->workload);

    w->_t_arrival = gap_ns < INT64_MAX - w->now.ns ? mono_add(w->now, gap_ns) : MONO_NONE;
}

static int arrive(struct workload_run *w)
{
    struct task *t;

    if (task_take(w, &t) < 0)
        return -ENOMEM;
    w->now = w->_t_arrival;
    plan_arrival(w);
    workload_ask(&w->workload, &t->request);
    if (batching_arrive(w->batching, &t->request, w->now) < 0) {
        w->stats->n_refused++;
        task_give(w, t);
    } else {
        w->stats->n_arrived++;
    }
    return 0;
}

static void measure(struct workload_run *w, const struct batching_request *r)
{
    struct workload_stats *s = w->stats;
    int64_t ttft_ns = mono_diff(r->t_first, r->t_arrived);
    int64_t tpot_ns = 0;

    if (r->n_output > 1) {
        tpot_ns = mono_diff(r->t_last, r->t_first) / (r->n_output - 1);
        workload_dist_add(&s->tpot, tpot_ns);
    }
    workload_dist_add(&s->ttft, ttft_ns);
    workload_dist_add(&s->e2e, mono_diff(r->t_last, r->t_arrived));
    workload_dist_add(&s->queue, mono_diff(r->t_scheduled, r->t_arrived));
    s->n_finished++;
    s->n_attained += ttft_ns <= w->ttft_limit_ns && tpot_ns <= w->tpot_limit_ns;
}

static void take_step(struct workload_run *w)
{
    struct batching_request *r;

    w->now = batching_next(w->batching);
    for (r = batching_step(w->batching); r; r = batching_told(w->batching)) {
        struct task *t = CONTAINER_OF(r, struct task, request);

        if (w->observe)
            w->observe(w->ctx, r, w->now);
        if (mono_is_set(r->t_before))
            workload_dist_add(&w->stats->itl, mono_diff(r->t_last, r->t_before));
        if (r->state == BATCHING_FINISHED) {
            measure(w, r);
            task_give(w, t);
        }
    }
}

static bool is_before(mono_t a, mono_t b)
{
    return mono_is_set(a) && (!mono_is_set(b) || a.ns <= b.ns);
}

int workload_run(struct workload_run *w, mono_t until, int64_t n_finished)
{
    n_finished += w->stats->n_finished;
    while (w->stats->n_finished < n_finished) {
        mono_t t_step = batching_next(w->batching);
        bool is_arrival = is_before(w->_t_arrival, t_step);
        mono_t t = is_arrival ? w->_t_arrival : t_step;

        if (!mono_is_set(t) || t.ns > until.ns)
            break;
        if (!is_arrival)
            take_step(w);
        else if (arrive(w) < 0)
            return -ENOMEM;
    }
    if (w->stats->n_finished < n_finished && until.ns < INT64_MAX)
        w->now = mono_max(w->now, until);
    return 0;
}

void workload_run_configure(struct workload_run *w, const struct workload_config *load)
{
    w->workload.config = *load;
    plan_arrival(w);
}

void workload_run_forget(struct workload_run *w)
{
    *w->stats = (struct workload_stats){0};
}

int workload_run_init(struct workload_run *w, const struct batching_config *engine,
                      const struct workload_config *load, uint64_t seed)
{
    *w = (struct workload_run){
        .now = {NS_PER_S}, .ttft_limit_ns = 2 * NS_PER_S, .tpot_limit_ns = 200 * NS_PER_MS};
    list_init(&w->_idle);
    list_init(&w->_slabs);
    w->stats = mem_zalloc(1, sizeof(*w->stats));
    if (!w->stats || batching_new(engine, seed, &w->batching) < 0) {
        workload_run_done(w);
        return -ENOMEM;
    }
    workload_init(&w->workload, load, seed ^ UINT64_C(0x5851f42d4c957f2d));
    plan_arrival(w);
    return 0;
}

void workload_run_done(struct workload_run *w)
{
    while (!list_is_empty(&w->_slabs)) {
        struct task_slab *s = CONTAINER_OF(w->_slabs.next, struct task_slab, link);

        list_remove(&s->link);
        mem_free(s);
    }
    w->batching = batching_free(w->batching);
    mem_free(w->stats);
    w->stats = NULL;
}
