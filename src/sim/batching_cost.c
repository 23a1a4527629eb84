/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching_cost.c - how long iterations take on real machines: fits to the public measurements
 * of Splitwise (software of 2023: the shape holds, the level has fallen since), with a jitter and
 * rare stalls of the size that such machines show.
 */
#include <string.h>

#include "sim/batching.h"

static const struct {
    const char *name;
    double prefill_base_ms, per_prefill_token_ms;
    double decode_base_ms, per_seq_ms, per_kv_token_ms;
} fits[] = {
    {"llama2-70b-h100-tp8", 15.7, 0.0742, 29.9, 0.199, 1.79e-4},
    {"llama2-70b-h100-tp4", 11.2, 0.0989, 28.8, 0.264, 1.01e-4},
    {"llama2-70b-a100-tp8", 11.8, 0.1607, 44.1, 0.190, 3.35e-4},
    {"llama2-70b-a100-tp4", 0, 0.2538, 43.3, 0.183, 3.72e-4},
    {"bloom-176b-h100-tp8", 6.2, 0.138, 35.6, 0.304, 1.56e-4},
};

#define SIGMA      0.04
#define STALL_RATE 1e-5
#define STALL_MS   200.0

const char *batching_cost_name(size_t i)
{
    return i < ARRAY_LEN(fits) ? fits[i].name : NULL;
}

bool batching_cost_of(const char *name, struct batching_cost *ret)
{
    const double ms = (double)NS_PER_MS;

    for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
        if (strcmp(fits[i].name, name) != 0)
            continue;
        *ret = (struct batching_cost){
            .prefill_base = fits[i].prefill_base_ms * ms,
            .per_prefill_token = fits[i].per_prefill_token_ms * ms,
            .decode_base = fits[i].decode_base_ms * ms,
            .per_seq = fits[i].per_seq_ms * ms,
            .per_kv_token = fits[i].per_kv_token_ms * ms,
            .sigma = SIGMA,
            .stall_rate = STALL_RATE,
            .stall = STALL_MS * ms,
        };
        return true;
    }
    return false;
}
