/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_server.h - the simulated engine as a server: worker threads with a loop each, behind one
 * listening socket.
 *
 * Paths:     POST those of the dialects (sim_routes.c has the table); GET /v1/models, /health,
 *            /sim/truth?id=X-REQUEST-ID or ?last=N. Where there is a file to play, it is the answer
 *            to any POST but those to /sim/. With a live engine also its own: /metrics,
 *            /gpu/metrics, /sim/faults, vLLM's /version, /load, /tokenize, /detokenize, SGLang's
 *            /get_server_info.
 * Workers:   each has a model of its own; the concurrency limit is shared out among them. A live
 *            engine is one, and has one worker.
 */
#ifndef SIM_SIM_SERVER_H
#define SIM_SIM_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "io/addr.h"
#include "io/tls.h"
#include "sim/ask.h"
#include "sim/model.h"
#include "sim/play.h"
#include "sim/sim_live.h"
#include "sim/switches.h"

enum { SIM_WORKERS_MAX = 64 };

struct sim_config {
    struct addr listen;
    struct tls_context *tls; /* clients speak it; NULL: plain HTTP. Borrowed */
    int n_workers;           /* 1 .. SIM_WORKERS_MAX */
    struct model_config model;
    struct switches defaults;
    char model_name[ASK_MODEL_MAX]; /* told by /v1/models; every name is served */
    size_t n_truth;                 /* requests remembered; 0: none */
    int64_t idle_close_ns;          /* keep-alive connections are closed after that idle time */
    uint64_t seed;
    const struct sim_live_config *live; /* n_workers is 1. NULL: the simple model. Borrowed */
    const struct play *play;            /* answers every POST; NULL: none. Borrowed */
    const char *play_dir; /* of the files that X-Sim-Play may name; NULL: none. Borrowed */
};

void sim_config_init(struct sim_config *c);

struct sim_server;

/* Listens and starts the workers. ret_bound: with the port the kernel chose. */
int sim_server_start(const struct sim_config *c, struct sim_server **ret, struct addr *ret_bound,
                     struct err *reterr) WARN_UNUSED;

/* Ends all connections, joins the workers, frees. Returns NULL. */
struct sim_server *sim_server_stop(struct sim_server *s);

#endif
