/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_stream.h - what a streamed answer is made of, and how it came in time.
 *
 * Role:      a whole answer with the stamps of its reads in; counts, usage, gaps out. The events
 *            are understood by dialect/, so that first token means here what it means everywhere.
 * Threading: pure.
 */
#ifndef DOCTOR_DOCTOR_STREAM_H
#define DOCTOR_DOCTOR_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "dialect/dialect.h"
#include "doctor/doctor_net.h"

struct doctor_stream {
    struct dialect_answer answer;
    uint32_t n_events;
    uint32_t n_output;        /* events with output */
    uint32_t n_reads;         /* with output: how many reads it came in */
    uint64_t n_comments;      /* keep-alives */
    bool has_role_only_first; /* the first event carries a role and no output */
    bool has_empty_choices;   /* an event in front of the output has "choices": [] */
    bool has_filter;          /* and it is a content filter's */
    uint32_t n_with_choices, n_without_choices; /* JSON events that have "choices", or not */
    bool is_anthropic;
    int64_t first_ns;      /* sent to the first output; -1: none */
    int64_t last_ns;       /* to the last output */
    int64_t total_ns;      /* to the end */
    uint32_t buffer_bytes; /* timing/burst.h; 0: none seen */
};
void doctor_stream_read(const struct doctor_answer *a, const struct dialect *d,
                        struct doctor_stream *ret);

enum doctor_flow {
    FLOW_STEADY,  /* output came as it was made */
    FLOW_TOO_FEW, /* too little to tell */
    FLOW_AT_ONCE, /* all of it at the end */
    FLOW_PARTS,   /* in parts of one size */
};
/* ttft_1_ns: to the first output of a stream of one token, -1: unknown. An engine that is only
 * quick sends all at once, too, but no later than that. */
enum doctor_flow doctor_stream_flow(const struct doctor_stream *s, const struct doctor_answer *a,
                                    int64_t ttft_1_ns);

#endif
