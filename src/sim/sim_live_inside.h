/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_live_inside.h - the inside of a live engine, for the files that make it up.
 *
 * Role:      sim_live.c: requests and steps; sim_live_faults.c: what faults change, the script, the
 *            tick.
 * Time:      t_virtual is the latest moment that the batching model has been told of; it never goes
 *            back, so what comes late counts as having come then.
 */
#ifndef SIM_SIM_LIVE_INSIDE_H
#define SIM_SIM_LIVE_INSIDE_H

#include "sim/sim_live.h"

struct sim_live_sequence {
    struct batching_request b;
    struct sim_live_request *owner; /* NULL: made up */
    enum sim_reason reason;         /* how it ends */
    struct list link;               /* of the made-up ones */
};

struct sim_live {
    struct sim_live_config config;
    struct loop *loop;
    struct batching *batching;
    struct sim_stats stats;
    struct rng rng;
    mono_t t_virtual;
    struct timer step;
    struct list requests, made_up;
    int64_t n_open, n_made_up;
    double started_at_s; /* Unix time, of the process that it plays */
    /* faults */
    struct sim_faults faults;
    struct workload load;
    struct timer arrival; /* the next made-up one */
    mono_t t_arrival;
    struct timer tick;
    int64_t n_ticks;
    struct timer turn; /* the next step of the script */
    mono_t t_started;
    size_t i_turn;
    mono_t t_loaded; /* of a cold start; not set: none */
    mono_t t_leak;
    double bucket; /* requests that the rate limit lets pass */
    mono_t t_bucket;
    struct sim_gpu gpu;
};

/* Carries out all steps that end up to now. */
void sim_live_run(struct sim_live *l, mono_t now);
void sim_live_rearm(struct sim_live *l);

/* One made-up request. */
void sim_live_make_up(struct sim_live *l, mono_t now);
/* The process dies and is there again: everybody is lost, counters begin anew. */
void sim_live_restart(struct sim_live *l);

void sim_live_start_faults(struct sim_live *l);
void sim_live_stop_faults(struct sim_live *l);

#endif
