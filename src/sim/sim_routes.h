/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_routes.h - paths of the simulated engine: who answers, in which voice, for which engines.
 *
 * Threading: constant.
 */
#ifndef SIM_SIM_ROUTES_H
#define SIM_SIM_ROUTES_H

#include "sim/sim_names.h"
#include "sim/sim_pages.h"
#include "sim/voice.h"

enum sim_handler {
    SIM_HANDLE_ANSWER,
    SIM_HANDLE_MODELS,
    SIM_HANDLE_HEALTH,
    SIM_HANDLE_TRUTH,
    SIM_HANDLE_PAGE, /* of a live engine */
    SIM_HANDLE_NONE  /* there is no such path */
};

/* Where the request says whether it is a stream. */
enum sim_stream_said { SIM_STREAM_IN_BODY, SIM_STREAM_NEVER, SIM_STREAM_ALWAYS };

/* Which engines have a path. */
enum sim_engines { SIM_ENGINES_ALL, SIM_ENGINES_LIVE, SIM_ENGINES_VLLM, SIM_ENGINES_SGLANG };

struct sim_route {
    const char *path;
    const char *end;     /* NULL: all of the path; else a name stands before it */
    const char *methods; /* "GET|POST" */
    const char *query;   /* holds that; NULL: whatever it holds */
    enum sim_handler handler;
    enum voice_id voice;         /* of an answer */
    enum sim_stream_said stream; /* likewise */
    enum sim_page_id page;
    enum sim_engines engines;
};

/* live: the version of a live engine; NULL: there is none. *ret_name: set where the path has one.
 */
const struct sim_route *sim_route_find(const struct sim_version *live, struct span path,
                                       struct span query, struct span *ret_name);
bool sim_route_takes(const struct sim_route *r, struct span method);

/* What a played file is answered to, wherever it was asked for. */
extern const struct sim_route sim_route_play;

#endif
