/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/schedule.h - when each request of an open-loop run is meant to start, and its size.
 *
 * Role:      pure. The intended start is what latencies count from, whatever the server does
 *            meanwhile (no coordinated omission).
 * Threading: one owner.
 */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/trace.h"

enum schedule_kind { SCHEDULE_POISSON, SCHEDULE_CONSTANT, SCHEDULE_TRACE };

struct schedule_config {
    enum schedule_kind kind;
    double rate_per_s;                 /* POISSON, CONSTANT */
    const struct trace *trace;         /* TRACE; borrowed */
    double speed;                      /* TRACE: 2 = twice as fast */
    int64_t prompt_tokens, max_tokens; /* without a trace, and for closed loops */
    uint64_t seed;
};

struct schedule_item {
    int64_t at_ns; /* since the start of the run */
    int64_t prompt_tokens, max_tokens;
    int is_stream; /* -1: the run decides */
};

struct schedule {
    struct schedule_config _config;
    struct rng _rng;
    int64_t _i;
    double _at_s; /* POISSON */
};

void schedule_init(struct schedule *s, const struct schedule_config *config);

/* The next request in order of time; false: the trace is over. */
bool schedule_next(struct schedule *s, struct schedule_item *ret);

#endif
