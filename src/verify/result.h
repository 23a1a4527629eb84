/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/result.h - what everybody saw of a run. Plain values.
 */
#ifndef VERIFY_RESULT_H
#define VERIFY_RESULT_H

#include "verify/page.h"
#include "verify/told.h"
#include "verify/track.h"

enum { VERIFY_URL_MAX = 512, VERIFY_LATENCY_MAX_S = 60 };

enum verify_phase_name { VERIFY_REST, VERIFY_MILD, VERIFY_HARD, VERIFY_AFTER, VERIFY_PHASES };
const char *verify_result_phase(enum verify_phase_name p); /* "at rest", ... */

struct verify_phase {
    bool has_run;
    double latency_s;         /* injected */
    int64_t begin_ms, end_ms; /* since the epoch */
    struct verify_load load;  /* what clients saw */
    bool has_page;            /* the engine's page was read at its end */
    struct verify_rise rise;
    bool has_scraped; /* the gateway's history has the engine's histogram */
    double scraped_count, scraped_mean_s;
};

/* Who evaluates rules. */
enum verify_where { VERIFY_GATEWAY, VERIFY_PROMETHEUS, VERIFY_WHERES };
const char *verify_result_where(enum verify_where w); /* "gateway", "Prometheus" */

/* One alert, as one of them saw it. */
struct verify_seen {
    enum verify_state at_rest;    /* at the end of the first phase, or firing within it */
    struct verify_track track;    /* since then */
    double values[VERIFY_PHASES]; /* what it measures, at the end of each; NaN: no value */
    int64_t told_ms, untold_ms;   /* Alertmanager has it, has it no more */
    /* Why it has no value: what is missing; "" */
    char missing[800];
    bool is_missing_by_nature; /* nobody in this run tells that; a real system may */
};

struct verify_result {
    struct verify_phase phases[VERIFY_PHASES];
    char page_error[512];            /* of the last try to read the engine's page; "" */
    char inject_error[512];          /* latency could not be injected; "" */
    char stay_error[512];            /* nor taken away: the engine has it still; "" */
    char engine[64], histogram[128]; /* whose page, and the name of its histogram */
    char engine_url[VERIFY_URL_MAX];
    bool has_prometheus, has_alertmanager;
    char prometheus_error[512];              /* it did not start; "" */
    struct verify_seen *seen[VERIFY_WHERES]; /* one for each alert of the plan */
};

#endif
