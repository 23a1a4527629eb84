/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_names.h - what engines call what they measure: names, types, labels and bounds of
 * buckets by engine and version.
 *
 * Role:      the table behind sim_page.h. A row says from which version to which a name exists;
 *            what it shows is a value of the simulated engine (the same for all names of it).
 * Versions:  "vllm-0.6.4" to "vllm-0.13", "sglang-0.5.7". Without its third part the last release
 *            of that minor version is meant: "vllm-0.10" is 0.10.2. vLLM up to 0.7 is meant with
 *            its first engine (V0), from 0.8 on with the second (V1).
 * Left out:  what the simulated engine has nothing for and no reader wants: LoRA, KV connectors,
 *            multi-modal caches, grammar.
 * Source:    reference "engine metrics" 2, 3 and its table.
 * Threading: constant.
 */
#ifndef SIM_SIM_NAMES_H
#define SIM_SIM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum sim_kind { SIM_VLLM, SIM_SGLANG };

struct sim_version {
    enum sim_kind kind;
    int number; /* 0.10.2: 1002 */
};
bool sim_version_of(const char *name, struct sim_version *ret); /* false: none we know */
bool sim_version_is_v0(struct sim_version v);
bool sim_version_is_v1(struct sim_version v);

/* Distributions, in seconds or tokens. */
enum sim_signal {
    SIM_TTFT,
    SIM_ITL,
    SIM_TPOT,
    SIM_E2E,
    SIM_QUEUE,
    SIM_PREFILL,
    SIM_DECODE,
    SIM_INFERENCE,
    SIM_PROMPT_TOKENS,
    SIM_OUTPUT_TOKENS,
    SIM_MAX_TOKENS,
    SIM_COMPUTED_TOKENS, /* of a prompt: those not found in the cache */
    SIM_ITERATION_TOKENS,
    SIM_CHOICES,
    SIM_SIGNAL_COUNT_
};

/* Single values. Those of one name with several labels follow each other. */
enum sim_value {
    SIM_ZERO,
    SIM_ONE,
    SIM_AWAKE,
    SIM_AWAKE_1_, /* weights offloaded */
    SIM_AWAKE_2_, /* all discarded */
    SIM_OFF,      /* -1 */
    SIM_RUNNING,
    SIM_WAITING,
    SIM_KV_USAGE,
    SIM_KV_USED_TOKENS,
    SIM_KV_TOTAL_TOKENS,
    SIM_HIT_RATIO, /* -1: no prefix cache */
    SIM_QUERY_TOKENS,
    SIM_HIT_TOKENS,
    SIM_QUERY_BLOCKS,
    SIM_HIT_BLOCKS,
    SIM_PREEMPTIONS,
    SIM_LAST_PREEMPTIONS, /* of the last window */
    SIM_PROMPT_TOTAL,
    SIM_OUTPUT_TOTAL,
    SIM_BOTH_TOTAL,
    SIM_PROMPT_RATE, /* of the last window, per second */
    SIM_OUTPUT_RATE,
    SIM_LIVE_COMPUTED,
    SIM_LIVE_CACHED,
    SIM_LIVE_OUTPUT,
    SIM_FINISHED_PROMPT, /* of requests that have finished */
    SIM_FINISHED_OUTPUT,
    SIM_FINISHED_CACHED,
    SIM_FINISHED_STOP,
    SIM_FINISHED_LENGTH,
    SIM_FINISHED_ABORT,
    SIM_FINISHED_ERROR,
    SIM_FINISHED_ALL, /* stop and length */
    SIM_VALUE_COUNT_
};

enum sim_type { SIM_GAUGE, SIM_COUNTER, SIM_HISTOGRAM };

/* Which labels besides its own one. */
enum sim_scope {
    SIM_SCOPE_MODEL,  /* model_name; of vLLM from 0.8.3 on, engine, too */
    SIM_SCOPE_RANKS,  /* SGLang's scheduler: engine_type and ranks, too */
    SIM_SCOPE_PID,    /* the same and the process */
    SIM_SCOPE_CONFIG, /* the configuration of the cache */
    SIM_SCOPE_NONE
};

struct sim_bounds {
    const double *v;
    size_t n;
    bool is_cut; /* at the model's longest sequence */
};

struct sim_name {
    enum sim_kind kind;
    int since, until; /* inclusive */
    const char *name; /* as its samples have it */
    enum sim_type type;
    enum sim_scope scope;
    int what; /* enum sim_value; of a histogram enum sim_signal */
    const struct sim_bounds *bounds;
    const char *label;         /* its own one; NULL: none */
    const char *const *values; /* of it, up to NULL */
    const char *help;
};
extern const struct sim_name sim_names[];
extern const size_t sim_names_n;

bool sim_name_is_in(const struct sim_name *n, struct sim_version v);

#endif
