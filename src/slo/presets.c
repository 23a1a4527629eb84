/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/presets.c - what people wait for in three kinds of use.
 */
#include "base/attr.h"
#include "slo/slo.h"

#define MS(x) ((x)*NS_PER_MS)
#define WITHIN(ms, part)                                                                           \
    {                                                                                              \
        .is_set = true, .threshold_ns = MS(ms), .target = (part)                                   \
    }
#define PART(part)                                                                                 \
    {                                                                                              \
        .is_set = true, .target = (part)                                                           \
    }

const struct slo_preset slo_presets[] = {
    {.name = "chat",
     .targets = {[SLO_TTFT] = WITHIN(3000, 0.99),
                 [SLO_TPOT] = WITHIN(50, 0.99),
                 [SLO_QUEUE] = WITHIN(1000, 0.95),
                 [SLO_ERRORS] = PART(0.995)}},
    {.name = "completion",
     .targets = {[SLO_TTFT] = WITHIN(500, 0.99),
                 [SLO_TPOT] = WITHIN(30, 0.99),
                 [SLO_QUEUE] = WITHIN(200, 0.95),
                 [SLO_ERRORS] = PART(0.999)}},
    {.name = "batch",
     .targets = {[SLO_TTFT] = WITHIN(30000, 0.99),
                 [SLO_TPOT] = WITHIN(200, 0.99),
                 [SLO_QUEUE] = WITHIN(5000, 0.95),
                 [SLO_ERRORS] = PART(0.98)}},
};
const size_t slo_n_presets = ARRAY_LEN(slo_presets);

const struct slo_preset *slo_preset_find(struct span name)
{
    for (size_t i = 0; i < slo_n_presets; i++) {
        if (span_eq(span_cstr(slo_presets[i].name), name))
            return &slo_presets[i];
    }
    return NULL;
}
