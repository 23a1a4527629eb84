/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/signal.h - the signals that engines and GPUs have in common, whatever they call them.
 *
 * Role:      one table: the signal's name, the series that it becomes, unit, help, and how parts
 *            are put together. docs/METRICS.md is made from it.
 * Missing:   a signal that an engine does not tell is missing, never 0.
 * Threading: constant.
 * Source:    reference "engine-metrics" 13.
 */
#ifndef ENGINE_SIGNAL_H
#define ENGINE_SIGNAL_H

#include "base/buf.h"
#include "base/span.h"
#include "scrape/text.h"

enum signal {
    /* engines */
    SIGNAL_RUNNING,
    SIGNAL_WAITING,
    SIGNAL_INFLIGHT,
    SIGNAL_SWAPPED,
    SIGNAL_KV_USAGE,
    SIGNAL_KV_USED_TOKENS,
    SIGNAL_KV_TOTAL_TOKENS,
    SIGNAL_KV_USED_BLOCKS,
    SIGNAL_KV_TOTAL_BLOCKS,
    SIGNAL_PREEMPTIONS,
    SIGNAL_PROMPT_TOKENS,
    SIGNAL_GENERATION_TOKENS,
    SIGNAL_CACHED_TOKENS,
    SIGNAL_PREFIX_QUERIES,
    SIGNAL_PREFIX_HITS,
    SIGNAL_PREFIX_HIT_RATIO,
    SIGNAL_TTFT,
    SIGNAL_ITL,
    SIGNAL_TPOT,
    SIGNAL_E2E,
    SIGNAL_QUEUE,
    SIGNAL_PREFILL,
    SIGNAL_DECODE,
    SIGNAL_INFERENCE,
    SIGNAL_REQUEST_PROMPT_TOKENS,
    SIGNAL_REQUEST_GENERATION_TOKENS,
    SIGNAL_ITERATION_TOKENS,
    SIGNAL_SUCCESS,
    SIGNAL_FAILURE,
    SIGNAL_ARRIVED,
    SIGNAL_PROMPT_THROUGHPUT,
    SIGNAL_GENERATION_THROUGHPUT,
    SIGNAL_SPEC_DRAFT_TOKENS,
    SIGNAL_SPEC_ACCEPTED_TOKENS,
    SIGNAL_SPEC_DRAFTS,
    SIGNAL_SLEEP_STATE,
    /* GPUs */
    SIGNAL_GPU_UTIL,
    SIGNAL_GPU_ENGINE_ACTIVE,
    SIGNAL_GPU_SM_ACTIVE,
    SIGNAL_GPU_TENSOR_ACTIVE,
    SIGNAL_GPU_DRAM_ACTIVE,
    SIGNAL_GPU_MEM_USED,
    SIGNAL_GPU_MEM_FREE,
    SIGNAL_GPU_MEM_RESERVED,
    SIGNAL_GPU_MEM_TOTAL,
    SIGNAL_GPU_POWER,
    SIGNAL_GPU_POWER_LIMIT,
    SIGNAL_GPU_ENERGY,
    SIGNAL_GPU_TEMP,
    SIGNAL_GPU_MEM_TEMP,
    SIGNAL_GPU_SM_CLOCK,
    SIGNAL_GPU_MEM_CLOCK,
    SIGNAL_GPU_THROTTLE_REASONS,
    SIGNAL_GPU_THROTTLE_SECONDS,
    SIGNAL_GPU_THROTTLE_RATIO,
    SIGNAL_GPU_XID_LAST,
    /* Kafka */
    SIGNAL_CONSUMER_LAG,
    SIGNAL_COUNT_
};

/* How the samples that differ only in labels which a signal does not have become one. */
enum signal_merge {
    SIGNAL_SUM,
    SIGNAL_MAX, /* ratios and states, which add up to nothing */
};

struct signal_info {
    const char *name;   /* "kv_usage" */
    const char *series; /* "engine_kv_usage_ratio" */
    enum metric_type type;
    const char *unit; /* "requests", "ratio", "seconds", ...; "" for a state */
    enum signal_merge merge;
    /* Its own label besides model, engine (GPU: gpu, uuid, mig): "reason"; NULL: none. */
    const char *label;
    const char *help;
};
extern const struct signal_info signal_table[SIGNAL_COUNT_];

/* What a signal is about, which decides its labels. */
enum signal_kind { SIGNAL_OF_ENGINE, SIGNAL_OF_GPU, SIGNAL_OF_KAFKA };
enum signal_kind signal_kind_of(enum signal s);

/* The table for people, a section of docs/METRICS.md. */
int signal_to_markdown(struct buf *out) WARN_UNUSED;

#endif
