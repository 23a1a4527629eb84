/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_answer.h - one answer from its request to its last byte.
 *
 * Role:      asks what decides its times (sim_pace.h) when the next tokens are ready, waits for it
 *            with a loop timer, and sends the event as its voice says it; applies the switches. Or
 *            plays a recorded body. A client that does not read holds the answer back.
 * Ends:      on_over once, after the connection was given back or the client had gone; the memory
 *            may be freed in it.
 * Threading: the engine's loop.
 */
#ifndef SIM_SIM_ANSWER_H
#define SIM_SIM_ANSWER_H

#include "base/buf.h"
#include "base/rng.h"
#include "http/server.h"
#include "io/loop.h"
#include "sim/ask.h"
#include "sim/model.h"
#include "sim/outlet.h"
#include "sim/play.h"
#include "sim/sim_live.h"
#include "sim/sim_prefix.h"
#include "sim/speech.h"
#include "sim/switches.h"
#include "sim/truth.h"
#include "sim/words.h"

/* What all answers of one worker share. */
struct sim_engine {
    struct loop *loop;
    struct model model;
    struct rng rng;
    struct words words, repeated; /* repeated: of an output that runs away */
    struct sim_live *live;        /* decides instead of the model; NULL: off */
    const struct voices *voices;  /* of the process */
    struct truth *truth;          /* NULL: off */
    struct buf scratch;           /* rendering */
};

struct sim_answer {
    struct switches switches; /* filled by the owner before the begin */
    struct ask ask;           /* likewise */
    enum voice_id voice;      /* likewise */
    const struct play *play;  /* likewise: played instead of an answer; NULL: none */
    struct sim_prefix prefix; /* likewise: of the prompt, as its bytes say */
    void (*on_over)(struct sim_answer *a);
    /* private */
    struct sim_engine *_engine;
    struct http_server_conn *_conn;
    struct model_request _request; /* of the live engine: what has come of it so far */
    struct sim_live_request _live;
    struct outlet _out;
    struct truth_entry *_truth;
    struct timer _timer;
    struct task _go; /* the model started it */
    mono_t _t_ready; /* when a non-stream answer is complete, or the next write of a file due */
    mono_t _t_last;  /* when the last token taken was ready */
    struct speech _speech;
    struct play_place _place;
    struct buf _body;
    int _phase;
    int _status;
    bool _is_in_model, _is_in_live;
    mono_t _t_request; /* last byte received */
    int64_t _n_choices, _prompt_tokens;
    int64_t _step;     /* events sent in this phase */
    int64_t _n_events; /* token events sent, of one choice; writes of a file */
    int _block;        /* open; -1: none */
    int64_t _n_block_events;
    int64_t _first_taken, _n_taken; /* tokens of the event that is being sent; 0: none */
    char _id[TRUTH_ID_MAX];
};

/* id: of the request, copied; empty: one is made. t_request: last byte received. */
void sim_answer_begin(struct sim_answer *a, struct sim_engine *e, struct http_server_conn *c,
                      struct span id, mono_t t_request);

void sim_answer_drained(struct sim_answer *a); /* the connection takes bytes again */
void sim_answer_gone(struct sim_answer *a);    /* the client left; ends in on_over */

#endif
