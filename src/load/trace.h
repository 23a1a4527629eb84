/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/trace.h - request traces: tab-separated, the first line names the columns.
 *
 * Columns:   arrival_s or arrival_ms, input_tokens, output_tokens; optional: session (arrivals then
 *            count from the session's start), type (n or s: the request streams or not). Others are
 *            passed over.
 * Buckets:   rows of a session that share an arrival time were rounded to it by their source; they
 * are spread at random, from the seed, over the time up to the next arrival (at most the gap to the
 * arrival before for the last ones, never more than 10 s). Sessions:  their rows stand together;
 * session i starts at i times session_every_ns.
 */
#ifndef LOAD_TRACE_H
#define LOAD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct trace_row {
    int64_t at_ns; /* since the start of the replay, before any speed-up */
    int64_t input_tokens;
    int64_t output_tokens;
    int32_t session;   /* 0 without sessions */
    int32_t is_stream; /* 1, 0; -1: the trace does not say */
};

struct trace {
    struct trace_row *rows; /* by at_ns */
    size_t n;
};

struct trace_options {
    int64_t session_every_ns;
    uint64_t seed;
};

/* name: of the file, for messages. -EINVAL with file:line:column, -ENOMEM. */
int trace_parse(const char *name, struct span text, const struct trace_options *options,
                struct trace *ret, struct err *reterr) WARN_UNUSED;

/* Reads the file (at most 256 MiB) and parses it. */
int trace_read(const char *path, const struct trace_options *options, struct trace *ret,
               struct err *reterr) WARN_UNUSED;

void trace_done(struct trace *t);

#endif
