/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor.c - the steps, in order. A step is taken where those that it needs came to an end
 * without a FAIL; else it is a SKIP that names the one that it waits for.
 */
#include <errno.h>

#include "base/mem.h"
#include "doctor/doctor_private.h"

#define BIT(step) (1u << (step))
#define WAY       (BIT(STEP_URL) | BIT(STEP_PROXY) | BIT(STEP_DNS) | BIT(STEP_TCP) | BIT(STEP_TLS))
#define ANSWERS   (WAY | BIT(STEP_KEY) | BIT(STEP_HTTP))

const struct doctor_step_info doctor_steps[STEP_COUNT_] = {
    [STEP_URL] = {"base_url", "base URL", 0},
    [STEP_KEY] = {"key", "API key", 0},
    [STEP_VARIABLES] = {"variables", "environment variables", 0},
    [STEP_SETTINGS] = {"settings", "settings files of tools", 0},
    [STEP_PROXY] = {"proxy", "forward proxies", BIT(STEP_URL)},
    [STEP_DNS] = {"dns", "name", BIT(STEP_URL) | BIT(STEP_PROXY)},
    [STEP_TCP] = {"tcp", "connection", BIT(STEP_DNS)},
    [STEP_TLS] = {"tls", "TLS", BIT(STEP_TCP)},
    [STEP_HTTP] = {"http", "API", WAY | BIT(STEP_KEY)},
    [STEP_CLOCK] = {"clock", "clocks", ANSWERS},
    [STEP_MODELS] = {"models", "models", ANSWERS},
    [STEP_STREAM] = {"stream", "stream of one token", ANSWERS | BIT(STEP_MODELS)},
    [STEP_USAGE] = {"usage", "token usage", BIT(STEP_STREAM)},
    [STEP_BUFFERING] = {"buffering", "buffers on the way", BIT(STEP_STREAM)},
    [STEP_GZIP] = {"gzip", "compression", BIT(STEP_STREAM)},
    [STEP_METRICS] = {"metrics", "engine's metrics", WAY},
    [STEP_BUCKETS] = {"buckets", "histogram buckets", BIT(STEP_METRICS)},
    [STEP_RULES] = {"rules", "rules", 0},
};

static void (*const runs[STEP_COUNT_])(struct doctor *d) = {
    [STEP_URL] = doctor_step_url,
    [STEP_KEY] = doctor_step_key,
    [STEP_VARIABLES] = doctor_step_variables,
    [STEP_SETTINGS] = doctor_step_settings,
    [STEP_PROXY] = doctor_step_proxy,
    [STEP_DNS] = doctor_step_dns,
    [STEP_TCP] = doctor_step_tcp,
    [STEP_TLS] = doctor_step_tls,
    [STEP_HTTP] = doctor_step_http,
    [STEP_CLOCK] = doctor_step_clock,
    [STEP_MODELS] = doctor_step_models,
    [STEP_STREAM] = doctor_step_stream,
    [STEP_USAGE] = doctor_step_usage,
    [STEP_BUFFERING] = doctor_step_buffering,
    [STEP_GZIP] = doctor_step_gzip,
    [STEP_METRICS] = doctor_step_metrics,
    [STEP_BUCKETS] = doctor_step_buckets,
    [STEP_RULES] = doctor_step_rules,
};

/* The first step needed that did not succeed; STEP_COUNT_: all did. */
static enum doctor_step missing_of(const struct doctor *d, enum doctor_step step)
{
    for (unsigned i = 0; i < step; i++)
        if ((doctor_steps[step].needs & BIT(i)) != 0 && doctor_has_failed(d, (enum doctor_step)i))
            return (enum doctor_step)i;
    return STEP_COUNT_;
}

/* The result that ended that step: what it points to, or itself. */
static int reason_of(const struct doctor *d, enum doctor_step step)
{
    for (size_t i = 0; i < d->n_results; i++) {
        const struct doctor_result *r = &d->results[i];

        if (r->step != step || r->level < DOCTOR_SKIP || r->level == DOCTOR_WARN)
            continue;
        return r->because >= 0 || r->level == DOCTOR_SKIP ? r->because : (int)i;
    }
    return -1;
}

static void take(struct doctor *d, enum doctor_step step)
{
    enum doctor_step missing = missing_of(d, step);

    d->step = step;
    d->n_of_step = 0;
    if (missing == STEP_COUNT_) {
        runs[step](d);
        doctor_end_step(d);
        return;
    }
    doctor_skip(d, "needs \"%s\"", doctor_steps[missing].title);
    d->results[d->n_results - 1].because = reason_of(d, missing);
}

int doctor_run(const struct doctor_ask *ask, struct arena *a, struct doctor_report *ret)
{
    struct doctor *d = mem_zalloc(1, sizeof(*d));
    int r;

    if (!d)
        return -ENOMEM;
    d->ask = ask;
    d->arena = a;
    d->ttft_1_ns = -1;
    doctor_choose(d);
    for (int step = 0; step < STEP_COUNT_ && !d->is_out_of_memory; step++)
        take(d, (enum doctor_step)step);
    r = doctor_report_make(d, ret);
    if (r == 0 && d->has_url)
        ret->url = doctor_shown_url(d);
    doctor_page_done(&d->page);
    doctor_net_close(&d->net);
    mem_free(d);
    return r;
}
