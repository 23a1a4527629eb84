/* SPDX-License-Identifier: Apache-2.0 */
#include "load/tally.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"

int tally_init(struct tally *t, const struct tally_slo *slo)
{
    *t = (struct tally){.slo = *slo};
    if (hist_bounds_new(HIST_NS, NULL, 0, (wall_t){1}, &t->_bounds) < 0)
        return -ENOMEM;
    atomic_store(&t->_source, t->_bounds);
    hist_init(&t->icl.hist, &t->_source);
    hist_init(&t->itl.hist, &t->_source);
    readings_init(&t->ttft);
    readings_init(&t->tpot);
    readings_init(&t->e2e);
    readings_init(&t->lag);
    return 0;
}

void tally_done(struct tally *t)
{
    hist_done(&t->icl.hist);
    hist_done(&t->itl.hist);
    readings_done(&t->ttft);
    readings_done(&t->tpot);
    readings_done(&t->e2e);
    readings_done(&t->lag);
    t->_bounds = hist_bounds_free(t->_bounds);
}

static void spread_add(struct tally_spread *s, int64_t ns, uint64_t n)
{
    hist_record_n(&s->hist, ns, n);
    s->n += n;
    s->sum_ns += (double)ns * (double)n;
    if (ns > s->max_ns)
        s->max_ns = ns;
}

void tally_gap(struct tally *t, int64_t gap_ns)
{
    spread_add(&t->icl, gap_ns, 1);
}

static void on_itl(void *ctx, int64_t itl_ns, uint64_t n_tokens)
{
    struct tally *t = ctx;

    spread_add(&t->itl, itl_ns, n_tokens);
}

/* --- goodput --- */

/* Counts one limit; false: it applied and was not kept. value < 0: it did not get there. */
static bool objective_check(struct tally_objective *o, int64_t limit_ns, bool is_eligible,
                            int64_t value_ns)
{
    bool is_good = value_ns >= 0 && value_ns <= limit_ns;

    if (limit_ns < 0 || !is_eligible)
        return true;
    o->n_eligible++;
    if (is_good)
        o->n_good++;
    return is_good;
}

static void goodput_add(struct tally *t, const struct load_result *r)
{
    bool is_ok = r->outcome == OUTCOME_OK;
    bool has_tpot = r->summary.tpot_status == TPOT_OK;
    bool is_good = is_ok;

    /* A failed request is bad for every limit; a TPOT that cannot be measured is no objective. */
    is_good &= objective_check(&t->ttft_good, t->slo.ttft_ns, r->is_stream || !is_ok,
                               is_ok ? r->ttft_ns : -1);
    is_good &= objective_check(&t->tpot_good, t->slo.tpot_ns, has_tpot || !is_ok,
                               is_ok && has_tpot ? r->summary.tpot_ns : -1);
    is_good &= objective_check(&t->e2e_good, t->slo.e2e_ns, true, is_ok ? r->e2e_ns : -1);
    if (is_good)
        t->n_good++;
}

/* --- requests --- */

static void tokens_add(struct tally *t, const struct load_result *r)
{
    if (r->outcome != OUTCOME_OK)
        return;
    t->prompt_tokens += r->prompt_tokens;
    if (r->completion_tokens > 0)
        t->completion_tokens += r->completion_tokens;
    if (r->has_usage)
        t->n_with_usage++;
}

void tally_add(struct tally *t, const struct load_result *r)
{
    t->n_done++;
    t->n_outcomes[r->outcome]++;
    if (r->outcome == OUTCOME_HTTP_ERROR && r->status < TALLY_STATUSES)
        t->n_by_status[r->status]++;
    if (r->is_retried)
        t->n_retried++;
    readings_add(&t->lag, r->lag_ns);
    if (r->ttft_ns >= 0)
        readings_add(&t->ttft, r->ttft_ns);
    if (r->summary.tpot_status == TPOT_OK)
        readings_add(&t->tpot, r->summary.tpot_ns);
    if (r->e2e_ns >= 0)
        readings_add(&t->e2e, r->e2e_ns);
    if (r->timing)
        timing_each_itl(r->timing, r->summary.tokens_per_event, on_itl, t);
    tokens_add(t, r);
    goodput_add(t, r);
    t->t_last_end = mono_max(t->t_last_end, r->t_end);
}

uint64_t tally_n_failed(const struct tally *t)
{
    return t->n_done - t->n_outcomes[OUTCOME_OK];
}

int64_t tally_spread_quantile(const struct tally *t, const struct tally_spread *s, double q)
{
    struct hist_snapshot *snapshot = mem_alloc(sizeof(*snapshot));
    double v;

    if (!snapshot)
        return -1;
    hist_snapshot_init(snapshot, t->_bounds);
    hist_snapshot_add(snapshot, &s->hist);
    v = hist_snapshot_quantile(snapshot, q);
    mem_free(snapshot);
    if (v < 0)
        return -1;
    return v < (double)s->max_ns ? llround(v) : s->max_ns;
}
