/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/load_result.h - what one request of a load run came to. A plain value.
 */
#ifndef LOAD_LOAD_RESULT_H
#define LOAD_LOAD_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "record/record.h"
#include "timing/timing.h"

struct load_result {
    enum outcome outcome;
    int status; /* HTTP; 0: none */
    bool is_stream;
    bool is_retried;               /* a kept-alive connection had gone stale */
    int64_t lag_ns;                /* issued - intended start: the generator's own lateness */
    int64_t ttft_ns;               /* from the intended start; -1: no token */
    int64_t e2e_ns;                /* from the intended start; -1: no regular end */
    int64_t prompt_tokens;         /* as reported, else as intended */
    int64_t completion_tokens;     /* as reported, else output events; -1: unknown */
    bool has_usage;                /* they are reported */
    struct timing_summary summary; /* of a stream */
    const struct timing *timing;   /* of a stream; valid during the call it is passed to; or NULL */
    mono_t t_end;
};

#endif
