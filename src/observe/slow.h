/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/slow.h - which requests are slow: TTFT or E2E above the 95th percentile of that model's
 * last ten minutes. Private to observe/.
 *
 * Window:    SLOW_SLICES slices of SLOW_SLICE_NS; the oldest is forgotten as a whole. Below
 *            SLOW_MIN requests in the window nothing is slow. Thresholds are computed anew every
 *            SLOW_REFRESH_NS at most. Requests of this worker only.
 * Memory:    about 5 KiB per model, at most SLOW_MODELS models; the one unseen for longest goes.
 * Exactness: that of timing/gaps.h: 2.2 %, up to 19 % where a model's times spread over many
 *            octaves.
 * Source:    docs/DEFINITIONS.md ("Slow").
 */
#ifndef OBSERVE_SLOW_H
#define OBSERVE_SLOW_H

#include <stdbool.h>

#include "record/record.h"
#include "timing/gaps.h"

enum { SLOW_SLICES = 5, SLOW_MIN = 200, SLOW_MODELS = 64 };
#define SLOW_SLICE_NS   (120 * NS_PER_S)
#define SLOW_REFRESH_NS (10 * NS_PER_S)

struct slow_model;

struct slow {
    struct slow_model *models[SLOW_MODELS];
};

void slow_done(struct slow *s);

/* Judges a finished request by what was seen before it, then adds it. ttft_ns, e2e_ns < 0: it has
 * none. Out of memory: not slow. */
bool slow_judge(struct slow *s, const char *model, int64_t ttft_ns, int64_t e2e_ns, mono_t now);

#endif
