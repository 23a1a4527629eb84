/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_stream.h - the phases of a streamed answer: which event of which stage comes next, and
 * when. A part of sim/sim_answer.h; knows no dialect.
 */
#ifndef SIM_SIM_STREAM_H
#define SIM_SIM_STREAM_H

#include "base/attr.h"
#include "sim/sim_answer.h"

/* In order. What is said of a phase holds for the answers that reach it. */
enum sim_phase {
    PHASE_READ, /* the request is on its way: a slow network */
    PHASE_HEAD,
    PHASE_WAIT, /* for the engine */
    PHASE_COMMENTS,
    PHASE_PLAY, /* of a file, instead of all that follows */
    PHASE_PRELUDE,
    PHASE_OPEN, /* a block */
    PHASE_TOKENS,
    PHASE_CLOSE, /* the block */
    PHASE_FINISH,
    PHASE_USAGE,
    PHASE_DONE,
    PHASE_END, /* no event had the end of the body with it */
    PHASE_ERROR,
    PHASE_RENDER,
    PHASE_BODY,
    PHASE_LAST_PIECES, /* only pieces are left */
    PHASE_SILENT,      /* hung or held: nothing more until the client goes */
};

/* When the next event is due, in PHASE_COMMENTS .. PHASE_ERROR. */
mono_t sim_stream_due(const struct sim_answer *a);

/* Sends one event, or goes on to the next phase. Negative: the connection is broken. */
int sim_stream_step(struct sim_answer *a) WARN_UNUSED;

/* The next token event as it would be: for an answer that is cut in the middle of it. */
int sim_stream_peek(struct sim_answer *a, struct chunk *ret) WARN_UNUSED;

/* What the events from now on can tell of tokens and times. */
void sim_stream_tell_usage(struct sim_answer *a);
enum voice_reason sim_stream_reason(const struct sim_answer *a);

#endif
