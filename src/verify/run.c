/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/run.c - a run, phase by phase.
 *
 * A phase begins with the fault, then the new load, then the end of the old one: what the old one
 * had open is given up and counts nowhere. The engine's page is read then, and at the end.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "verify/run_private.h"

enum {
    SLACK_MS = 3000, /* programs start late, samples come late */
    INTERVALS = 4,   /* one until it is sampled, one until it is evaluated, and spare ones */
    REST_MIN_MS = 6000,
    REST_MAX_MS = 20 * 1000,
    CLIENT_MIN_MS = 4000, /* of a phase, so that a p99 is one */
    AFTER_MIN_MS = 2000,  /* a load that just began has no report */
};

static void say(const struct verify_run *run, const char *line)
{
    run->stage.ops->say(run->stage.ops->ctx, line);
}

/* --- phases --- */

static bool at_once(const struct verify_run *run)
{
    (void)run;
    return true;
}

static int64_t reaction_ms(const struct verify_run *run)
{
    const struct verify_plan *p = run->plan;

    return p->window_ms + INTERVALS * p->interval_ms + SLACK_MS;
}

static int64_t clamped(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* How long a phase may and has to take. */
static void lengths_of(const struct verify_run *run, enum verify_phase_name i, int64_t *ret_min,
                       int64_t *ret_max)
{
    const struct verify_plan *p = run->plan;
    int64_t hard_ms = (int64_t)(run->stage.config->hard_s * 1000);
    int64_t mild_ms = (int64_t)(run->stage.config->mild_s * 1000);

    switch (i) {
    case VERIFY_REST:
        *ret_min = clamped(p->window_ms + 2 * p->interval_ms, REST_MIN_MS, REST_MAX_MS);
        *ret_max = *ret_min;
        break;
    case VERIFY_MILD:
        *ret_min = mild_ms + clamped(p->window_ms + p->interval_ms, CLIENT_MIN_MS, REST_MAX_MS);
        *ret_max = *ret_min;
        break;
    case VERIFY_HARD:
        *ret_min = hard_ms + CLIENT_MIN_MS;
        *ret_max = hard_ms + p->for_ms + reaction_ms(run);
        break;
    default:
        *ret_min = AFTER_MIN_MS;
        *ret_max = hard_ms + p->keep_ms + reaction_ms(run) + SLACK_MS;
        break;
    }
    *ret_max = *ret_max < *ret_min ? *ret_min : *ret_max;
}

static int begin_phase(struct verify_run *run, enum verify_phase_name i, struct err *reterr)
{
    struct verify_phase *ph = &run->result->phases[i];
    int r = verify_run_inject(run, ph->latency_s);

    if (r < 0)
        return r;
    ph->begin_ms = verify_run_now();
    r = verify_stage_load_begin(&run->stage, reterr);
    if (r == 0)
        run->i_loaded = i;
    if (r == 0 && i > VERIFY_REST)
        r = verify_stage_load_end(&run->stage, 1, &run->result->phases[i - 1].load, reterr);
    if (r == 0)
        verify_run_page(run, &run->page); /* none: that of the phase before counts, or 0 */
    return r;
}

/* Page and values while the load still runs; its report comes when the next phase began. */
static void end_phase(struct verify_run *run, enum verify_phase_name i)
{
    struct verify_phase *ph = &run->result->phases[i];
    struct verify_page before = run->page;

    ph->end_ms = verify_run_now();
    ph->has_run = true;
    ph->has_page = verify_run_page(run, &run->page);
    if (ph->has_page)
        ph->rise = verify_page_rise(&before, &run->page);
    verify_run_scraped(run, ph);
    verify_run_values(run, i);
}

static void announce(const struct verify_run *run, enum verify_phase_name i, int64_t min_ms,
                     int64_t max_ms)
{
    double latency_s = run->result->phases[i].latency_s;
    char line[480], what[64];

    if (i == VERIFY_REST)
        (void)snprintf(what, sizeof(what), "at rest, %g requests/s", run->stage.config->rate_per_s);
    else if (i == VERIFY_AFTER)
        (void)snprintf(what, sizeof(what), "latency taken away");
    else
        (void)snprintf(what, sizeof(what), "%g s of latency", latency_s);
    if (min_ms == max_ms)
        (void)snprintf(line, sizeof(line), "%s: %.0f s", what, (double)max_ms / 1000);
    else
        (void)snprintf(line, sizeof(line), "%s: up to %.0f s", what, (double)max_ms / 1000);
    say(run, line);
}

static int run_phase(struct verify_run *run, enum verify_phase_name i, struct err *reterr)
{
    static bool (*const overs[])(const struct verify_run *run) = {
        at_once, at_once, verify_run_is_all_firing, verify_run_is_all_ended};
    int64_t min_ms, max_ms;
    int r;

    lengths_of(run, i, &min_ms, &max_ms);
    announce(run, i, min_ms, max_ms);
    r = begin_phase(run, i, reterr);
    if (r == 0)
        r = verify_run_watch(run, min_ms, max_ms, overs[i], reterr);
    if (r == 0)
        end_phase(run, i);
    return r;
}

/* What an alert did at rest; from now on its life counts. */
static void close_rest(struct verify_run *run)
{
    for (size_t i = 0; i < run->plan->n; i++)
        for (int w = 0; w < VERIFY_WHERES; w++) {
            struct verify_track *t = &run->tracks[w][i];
            bool has_fired = t->firing_ms != VERIFY_NEVER;
            run->result->seen[w][i].at_rest = has_fired ? VERIFY_FIRING : t->state;
            verify_track_reset(t);
        }
}

/* Whether anything fired because of latency, so that its end can be waited for. */
static bool any_firing(const struct verify_run *run)
{
    for (size_t i = 0; i < run->plan->n; i++)
        for (int w = 0; w < VERIFY_WHERES; w++)
            if (run->tracks[w][i].firing_ms != VERIFY_NEVER &&
                run->result->seen[w][i].at_rest <= VERIFY_INACTIVE)
                return true;
    return false;
}

/* Of the phase that was the last one. */
static int end_load(struct verify_run *run, struct err *reterr)
{
    return verify_stage_load_end(&run->stage, 0, &run->result->phases[run->i_loaded].load, reterr);
}

/* Without answers at rest nothing else can be said. */
static int run_rest(struct verify_run *run, bool *ret_is_answered, struct err *reterr)
{
    int r = run_phase(run, VERIFY_REST, reterr);
    double n = (double)NAN;
    size_t n_series;

    if (r < 0)
        return r;
    close_rest(run);
    r = verify_ask_value(run->stage.asker, run->stage.servers[VERIFY_GATEWAY],
                         "sum(llm_ttft_seconds_count)", &n, &n_series, reterr);
    *ret_is_answered = r == 0 && n > 0;
    return r;
}

static int run_phases(struct verify_run *run, struct err *reterr)
{
    bool is_answered = false;
    int r = run_rest(run, &is_answered, reterr);

    if (r == 0 && is_answered)
        r = run_phase(run, VERIFY_MILD, reterr);
    if (r == 0 && is_answered)
        r = run_phase(run, VERIFY_HARD, reterr);
    if (r == 0 && any_firing(run))
        r = run_phase(run, VERIFY_AFTER, reterr);
    /* -ENOTSUP: latency could not be switched; the result says why, and what there is so far
     * counts. */
    return r == 0 || r == -ENOTSUP ? end_load(run, reterr) : r;
}

/* Somebody else's engine is left as it was, however the run ended. */
static void leave_engine(struct verify_run *run)
{
    char line[VERIFY_URL_MAX + 600];

    if (!run->stage.config->engine_url || !run->is_injected || verify_run_inject(run, 0) == 0)
        return;
    (void)snprintf(line, sizeof(line), "%s still has the latency that was injected: %s",
                   run->stage.engine_url, run->result->stay_error);
    say(run, line);
}

/* --- the run --- */

static void result_init(const struct verify_config *c, struct verify_run *run)
{
    struct verify_result *r = run->result;

    r->phases[VERIFY_MILD].latency_s = c->mild_s;
    r->phases[VERIFY_HARD].latency_s = c->hard_s;
    r->has_prometheus = c->prometheus != NULL;
    r->has_alertmanager = c->alertmanager != NULL;
    for (int w = 0; w < VERIFY_WHERES; w++)
        for (size_t i = 0; i < run->plan->n; i++) {
            struct verify_seen *s = &r->seen[w][i];
            *s = (struct verify_seen){.told_ms = VERIFY_NEVER, .untold_ms = VERIFY_NEVER};
            for (int k = 0; k < VERIFY_PHASES; k++)
                s->values[k] = (double)NAN;
            verify_track_init(&run->tracks[w][i]);
        }
}

static int open_tracks(struct verify_run *run)
{
    for (int w = 0; w < VERIFY_WHERES; w++) {
        run->tracks[w] = mem_zalloc(run->plan->n + 1, sizeof(*run->tracks[w]));
        if (!run->tracks[w])
            return -ENOMEM;
    }
    return 0;
}

static void close_tracks(struct verify_run *run)
{
    for (int w = 0; w < VERIFY_WHERES; w++) {
        for (size_t i = 0; i < run->plan->n && run->tracks[w]; i++)
            run->result->seen[w][i].track = run->tracks[w][i];
        mem_free(run->tracks[w]);
    }
}

static void note_stage(struct verify_run *run)
{
    struct verify_result *r = run->result;

    (void)span_copy(span_cstr(run->stage.engine_url), r->engine_url, sizeof(r->engine_url));
    (void)span_copy(span_cstr(run->stage.prometheus_error), r->prometheus_error,
                    sizeof(r->prometheus_error));
}

int verify_run(const struct verify_config *c, const struct verify_ops *ops,
               struct verify_result *ret, struct err *reterr)
{
    struct verify_run run = {.stage = {.config = c, .ops = ops}, .plan = c->plan, .result = ret};
    int r = open_tracks(&run);

    buf_init(&run.body, VERIFY_ANSWER_MAX);
    if (r == 0) {
        result_init(c, &run);
        say(&run, "starting the programs");
        r = verify_stage_open(&run.stage, reterr);
        note_stage(&run);
    }
    if (r == 0)
        r = run_phases(&run, reterr);
    if (r < 0 && r != -EINTR)
        verify_stage_explain(&run.stage, reterr);
    leave_engine(&run);
    verify_stage_close(&run.stage);
    close_tracks(&run);
    buf_done(&run.body);
    return r;
}
