/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/judge_chain.c - whether latency reached clients and the engine's own histogram.
 */
#include <math.h>
#include <stdio.h>

#include "verify/judge_private.h"

/* Of what is injected, what at least has to arrive: timers of the simulator end late, not early. */
static const double reached = 0.98;
/* What a client may see more than the engine: connection, gateway, and the loop's ticks. */
static const double on_the_way_s = 0.15, on_the_way_share = 0.1;

/* --- client --- */

/* The highest limit of the alerts that are driven. NaN: none is known. */
static const struct verify_alert *highest_limit(const struct verify_plan *p)
{
    const struct verify_alert *highest = NULL;

    for (size_t i = 0; i < p->n; i++) {
        const struct verify_alert *a = &p->alerts[i];
        bool is_it = a->drive == VERIFY_DRIVEN && a->limit_is_ttft && isfinite(a->limit);
        if (is_it && (!highest || a->limit > highest->limit))
            highest = a;
    }
    return highest;
}

static bool is_unanswered(const struct verify_result *r, struct verify_finding *f)
{
    const struct verify_load *l = &r->phases[VERIFY_REST].load;

    if (!l->is_there) {
        verify_judge_set(f, VERIFY_FAIL, NULL, "the load gave no report");
        return true;
    }
    if (l->n_ttft > 0)
        return false;
    verify_judge_set(f, VERIFY_FAIL, "look whether the engine runs there and answers",
                     "no request of %lld got a token (%s), the target %s is down",
                     (long long)l->n_sent, l->error[0] ? l->error : "no answer in time",
                     r->engine_url);
    return true;
}

static bool is_not_injected(const struct verify_result *r, struct verify_finding *f)
{
    if (r->inject_error[0] != '\0') {
        verify_judge_set(f, VERIFY_FAIL,
                         "--engine-url has to be an engine that takes faults: inferometer sim "
                         "--engine vllm-0.13",
                         "latency could not be injected: %s", r->inject_error);
        return true;
    }
    for (int i = VERIFY_MILD; i <= VERIFY_HARD; i++) {
        const struct verify_phase *ph = &r->phases[i];
        if (ph->load.n_ttft > 0 && ph->load.ttft_p99_s >= reached * ph->latency_s)
            continue;
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "with %g s injected the p99 of clients' TTFT is %.3g s, of %lld requests",
                         ph->latency_s, ph->load.ttft_p99_s, (long long)ph->load.n_ttft);
        return true;
    }
    return false;
}

void verify_judge_client(const struct verify_plan *p, const struct verify_result *r,
                         struct verify_finding *f)
{
    const struct verify_phase *ph = r->phases;
    const struct verify_alert *highest = highest_limit(p);
    char figures[160], hint[160];

    if (is_unanswered(r, f) || is_not_injected(r, f))
        return;
    (void)snprintf(figures, sizeof(figures),
                   "p99 of TTFT %.3g s at rest, %.3g s with %g s more, %.3g s with %g s more",
                   ph[VERIFY_REST].load.ttft_p99_s, ph[VERIFY_MILD].load.ttft_p99_s,
                   ph[VERIFY_MILD].latency_s, ph[VERIFY_HARD].load.ttft_p99_s,
                   ph[VERIFY_HARD].latency_s);
    if (ph[VERIFY_REST].load.ttft_p99_s >= ph[VERIFY_HARD].latency_s) {
        verify_judge_set(f, VERIFY_FAIL, "the machine is too busy for this rate: --rate 5",
                         "%s: as slow before as after", figures);
    } else if (!highest) {
        verify_judge_set(f, VERIFY_OK, NULL, "%s (%lld requests)", figures,
                         (long long)ph[VERIFY_HARD].load.n_ttft);
    } else if (ph[VERIFY_REST].load.ttft_p99_s > highest->limit) {
        verify_judge_set(f, VERIFY_FAIL, NULL, "%s: above the threshold of %g s of %.*s at rest",
                         figures, highest->limit, SPAN_ARG(highest->rule->name));
    } else if (ph[VERIFY_HARD].load.ttft_p99_s <= highest->limit) {
        double wanted_s = ceil(1.1 * highest->limit);
        (void)snprintf(hint, sizeof(hint), "if that is meant: --latency %gs,%gs",
                       ph[VERIFY_MILD].latency_s, wanted_s);
        verify_judge_set(f, VERIFY_FAIL, wanted_s <= VERIFY_LATENCY_MAX_S ? hint : NULL,
                         "%s: did not pass the threshold of %g s of %.*s", figures, highest->limit,
                         SPAN_ARG(highest->rule->name));
    } else {
        verify_judge_set(f, VERIFY_OK, NULL, "%s: passed the threshold of %g s", figures,
                         highest->limit);
    }
}

/* --- engine --- */

/* Within what is lost on the way. */
static bool is_near(double engine_s, double client_s)
{
    double allowed = on_the_way_s + on_the_way_share * client_s;

    return client_s >= engine_s - on_the_way_s && client_s <= engine_s + allowed;
}

/* false: f says what is wrong in that phase. */
static bool rose(const struct verify_result *r, enum verify_phase_name i, struct verify_finding *f)
{
    const struct verify_phase *ph = &r->phases[i], *rest = &r->phases[VERIFY_REST];
    double more = ph->rise.mean - rest->rise.mean;

    if (!ph->has_page) {
        verify_judge_set(f, VERIFY_FAIL, NULL, "the engine's page could not be read %s",
                         verify_result_phase(i));
        return false;
    }
    if (!(ph->rise.count > 0)) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "%s stood still while %lld requests of clients had a first token",
                         r->histogram, (long long)ph->load.n_ttft);
        return false;
    }
    if (!(more >= reached * ph->latency_s - on_the_way_s)) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "%s rose by %.3g s only (mean %.3g s) with %g s injected", r->histogram,
                         more, ph->rise.mean, ph->latency_s);
        return false;
    }
    if (!is_near(ph->rise.mean, ph->load.ttft_mean_s)) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "with %g s injected the mean is %.3g s by %s, %.3g s by clients",
                         ph->latency_s, ph->rise.mean, r->histogram, ph->load.ttft_mean_s);
        return false;
    }
    bool is_in =
        ph->load.ttft_p99_s >= ph->rise.p99_from - on_the_way_s &&
        ph->load.ttft_p99_s <= ph->rise.p99_to + on_the_way_s + on_the_way_share * ph->rise.p99_to;
    if (ph->rise.has_buckets && !is_in)
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "with %g s injected the p99 is in (%g s, %g s] by %s, %.3g s by clients",
                         ph->latency_s, ph->rise.p99_from, ph->rise.p99_to, r->histogram,
                         ph->load.ttft_p99_s);
    return !ph->rise.has_buckets || is_in;
}

/* The history of the gateway has the same. */
static bool is_scraped(const struct verify_result *r, struct verify_finding *f)
{
    const struct verify_phase *hard = &r->phases[VERIFY_HARD];

    if (!hard->has_scraped) {
        verify_judge_set(f, VERIFY_FAIL, "see upstreams[].metrics of the configuration",
                         "the engine tells %s (mean %.3g s), but the gateway's history has no "
                         "engine_ttft_seconds of it",
                         r->histogram, hard->rise.mean);
        return false;
    }
    if (is_near(hard->scraped_mean_s, hard->rise.mean))
        return true;
    verify_judge_set(f, VERIFY_FAIL, NULL,
                     "engine_ttft_seconds of the gateway's history has a mean of %.3g s, the "
                     "engine's page %.3g s",
                     hard->scraped_mean_s, hard->rise.mean);
    return false;
}

void verify_judge_engine(const struct verify_result *r, struct verify_finding *f)
{
    const struct verify_phase *hard = &r->phases[VERIFY_HARD];

    if (r->page_error[0] != '\0' || !r->phases[VERIFY_REST].has_page) {
        verify_judge_set(f, VERIFY_FAIL,
                         "without the engine's metrics nobody knows whether it or the way is slow",
                         "the engine's histogram is not scraped: %s",
                         r->page_error[0] ? r->page_error : "no page of metrics is known");
        return;
    }
    if (!hard->has_run) {
        verify_judge_set(f, VERIFY_FAIL, NULL, "no latency was injected");
        return;
    }
    if (!rose(r, VERIFY_MILD, f) || !rose(r, VERIFY_HARD, f) || !is_scraped(r, f))
        return;
    verify_judge_set(f, VERIFY_OK, NULL,
                     "%s of %s: mean %.3g s at rest, %.3g s with %g s more, %.3g s with %g s more "
                     "(clients %.3g s, the gateway's history %.3g s); p99 in (%g s, %g s] (clients "
                     "%.3g s)",
                     r->histogram, r->engine, r->phases[VERIFY_REST].rise.mean,
                     r->phases[VERIFY_MILD].rise.mean, r->phases[VERIFY_MILD].latency_s,
                     hard->rise.mean, hard->latency_s, hard->load.ttft_mean_s, hard->scraped_mean_s,
                     hard->rise.p99_from, hard->rise.p99_to, hard->load.ttft_p99_s);
}
