/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/made_rows.c - see made_rows.h.
 */
#include "made_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "record/record.h"

enum { N_SAMPLES = 8192 };

static struct record samples[N_SAMPLES];
static char timelines[64][600];
static struct rng ids;

static void fill_stream(struct rng *g, struct record *r)
{
    r->is_stream = true;
    r->ttft_ns = (int64_t)rng_lognormal(g, 0.35e9, 0.8);
    r->ttfa_ns = r->ttft_ns;
    r->upstream_ttft_ns = r->ttft_ns - 400000;
    r->ttfe_ns = r->ttft_ns - 90000;
    r->completion_tokens = (int64_t)rng_lognormal(g, 300, 0.9) + 1;
    r->n_output_events = (uint32_t)r->completion_tokens;
    r->n_content_events = r->n_output_events;
    r->n_events = r->n_output_events + 3;
    r->n_arrivals = r->n_output_events - (uint32_t)rng_below(g, r->n_output_events / 8 + 1);
    r->n_coalesced = r->n_output_events - r->n_arrivals;
    r->output_kinds = OUTPUT_TEXT;
    r->timing.tpot_status = TPOT_OK;
    r->timing.tpot_ns = (int64_t)rng_lognormal(g, 22e6, 0.3);
    r->timing.gap_p50_ns = r->timing.tpot_ns - 1000000;
    r->timing.gap_p95_ns = r->timing.tpot_ns * 2;
    r->timing.gap_max_ns = (int64_t)rng_lognormal(g, 120e6, 0.7);
    r->timing.jitter_ns = r->timing.gap_p95_ns - r->timing.gap_p50_ns;
    r->timing.tokens_per_event = 1.0;
    r->stage_ns[STAGE_FIRST_EVENT] = 90000;
    r->stage_ns[STAGE_FIRST_TOKEN] = 90000;
    r->stage_ns[STAGE_TAIL] = 1200000;
    r->stage_ns[STAGE_ANSWER] = r->timing.tpot_ns * r->completion_tokens;
    r->e2e_ns = r->ttft_ns + r->stage_ns[STAGE_ANSWER];
    if (rng_below(g, 50) == 0)
        r->timeline = span_of(timelines[rng_below(g, 64)], 200 + rng_below(g, 400));
}

static void fill_sample(struct rng *g, struct record *r)
{
    static const char *const labels[] = {"team\0search\0tier\0gold", "team\0chat\0tier\0silver",
                                         "team\0batch\0tier\0bronze"};
    uint64_t model = rng_below(g, 8);
    record_init(r);
    if (rng_below(g, 2) == 0)
        rng_hex(g, r->trace_id, 32);
    r->endpoint = "chat_completions";
    r->dialect = "openai-chat";
    (void)span_copy(SPAN("POST"), r->method, sizeof(r->method));
    snprintf(r->upstream, sizeof(r->upstream), "vllm-%u", (unsigned)rng_below(g, 4));
    snprintf(r->key_id, sizeof(r->key_id), "%08x", (unsigned)rng_below(g, 60) * 2654435761u);
    snprintf(r->tenant, sizeof(r->tenant), "tenant-%u", (unsigned)rng_below(g, 50));
    snprintf(r->model_requested, sizeof(r->model_requested), "meta-llama/Llama-3.%u-70B-Instruct",
             (unsigned)model);
    memcpy(r->model_upstream, r->model_requested, sizeof(r->model_upstream));
    memcpy(r->model_response, r->model_requested, sizeof(r->model_response));
    r->labels = span_of(labels[model % 3], 22 + (model % 3 > 0));
    r->status = r->upstream_status = 200;
    r->n_attempts = 1;
    r->stamp_source = STAMP_KERNEL;
    r->usage_source = USAGE_SOURCE_ENGINE;
    r->prompt_tokens = r->raw_prompt_tokens = (int64_t)rng_lognormal(g, 900, 1.2);
    r->cached_tokens = r->raw_cached_tokens = r->prompt_tokens / 256 * 128;
    r->request_bytes = (uint64_t)r->prompt_tokens * 4 + 300;
    r->stage_ns[STAGE_RECEIVE] = (int64_t)rng_lognormal(g, 40e3, 0.6);
    r->stage_ns[STAGE_ROUTE] = (int64_t)rng_lognormal(g, 30e3, 0.4);
    r->stage_ns[STAGE_SEND] = (int64_t)rng_lognormal(g, 25e3, 0.4);
    r->stage_ns[STAGE_WAIT] = (int64_t)rng_lognormal(g, 0.3e9, 0.8);
    r->queue_ns = 0;
    r->overhead_request_ns = r->stage_ns[STAGE_ROUTE] + r->stage_ns[STAGE_SEND];
    r->client_blocked_ns = 0;
    r->ttfb_ns = r->stage_ns[STAGE_WAIT] + 50000;
    (void)memcpy(r->finish_reason, "stop", 5);
    if (rng_below(g, 4) > 0) {
        fill_stream(g, r);
    } else {
        r->completion_tokens = (int64_t)rng_lognormal(g, 200, 1.0) + 1;
        r->e2e_ns = (int64_t)rng_lognormal(g, 4e9, 0.8);
    }
    r->raw_completion_tokens = r->completion_tokens;
    r->response_bytes = (uint64_t)r->completion_tokens * 210;
    r->total_ns = r->e2e_ns + r->stage_ns[STAGE_RECEIVE];
    r->max_tokens = 1024;
    if (rng_below(g, 100) == 0) {
        r->outcome = OUTCOME_HTTP_ERROR;
        r->status = 429;
        (void)memcpy(r->outcome_reason, "rate_limit", 11);
    }
}

void made_rows_begin(void)
{
    struct rng g;
    rng_seed(&g, 42);
    rng_seed(&ids, 7);
    for (size_t i = 0; i < sizeof(timelines) / sizeof(timelines[0]); i++) {
        for (size_t k = 0; k < sizeof(timelines[0]); k++)
            timelines[i][k] = (char)(k % 4 == 3 ? rng_below(&g, 60) : rng_below(&g, 256));
    }
    for (size_t i = 0; i < N_SAMPLES; i++)
        fill_sample(&g, &samples[i]);
}

const struct record *made_rows_get(size_t i, int64_t ended_us)
{
    struct record *r = &samples[i % N_SAMPLES];
    rng_hex(&ids, r->request_id, 32);
    r->started_at.us = ended_us - r->total_ns / NS_PER_US;
    return r;
}
