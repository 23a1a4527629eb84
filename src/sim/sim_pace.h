/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_pace.h - an answer's way to what decides its times: the model, which knows them
 * beforehand, or the live engine, which tells of tokens when they are there. A part of
 * sim/sim_answer.h.
 *
 * Live:      an answer without output (embeddings, counts of tokens) is the model's in any case.
 *            One with output has a token at least. Its switches about times do nothing.
 */
#ifndef SIM_SIM_PACE_H
#define SIM_SIM_PACE_H

#include "base/attr.h"
#include "sim/sim_answer.h"

/* 0, or the status that the request is refused with. */
int sim_pace_arrive(struct sim_answer *a, mono_t now, const char **ret_message) WARN_UNUSED;
void sim_pace_leave(struct sim_answer *a); /* if it is there */

/* Takes over what the live engine has told. Negative: it is dead. */
int sim_pace_look(struct sim_answer *a) WARN_UNUSED;
/* It has left the queue; a whole answer that a live engine makes: all of it is there. */
bool sim_pace_is_started(const struct sim_answer *a);

/* When the tokens of the next event (or all that are left) are ready; not set: nobody knows yet. */
mono_t sim_pace_next(const struct sim_answer *a, bool is_all);
void sim_pace_take(struct sim_answer *a, bool is_all); /* these; _t_last is when */

#endif
