/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/run_private.h - what the files of a run share.
 */
#ifndef VERIFY_RUN_PRIVATE_H
#define VERIFY_RUN_PRIVATE_H

#include "verify/peers.h"
#include "verify/stage.h"

struct verify_run {
    struct verify_stage stage;
    const struct verify_plan *plan;
    struct verify_result *result;
    struct verify_track *tracks[VERIFY_WHERES]; /* one for each alert */
    struct verify_page page;                    /* the engine's, when the phase began */
    bool is_injected;
    double latency_before_s;         /* that the engine had of its own; 0: none */
    enum verify_phase_name i_loaded; /* whose load is the newest */
    struct buf body;
};

/* run_watch.c */
int64_t verify_run_now(void); /* ms since the epoch */
/* Looks at alerts for at least min_ms, then until is_over, but no longer than max_ms. -EINTR. */
int verify_run_watch(struct verify_run *run, int64_t min_ms, int64_t max_ms,
                     bool (*is_over)(const struct verify_run *run), struct err *reterr) WARN_UNUSED;
/* Whether all alerts that may still do it have fired, ended, everywhere. */
bool verify_run_is_all_firing(const struct verify_run *run);
bool verify_run_is_all_ended(const struct verify_run *run);

/* run_look.c */
/* Switches added_latency of the engine; 0: to what it was before. -ENOTSUP: it cannot be done, the
 * result says why. */
int verify_run_inject(struct verify_run *run, double latency_s) WARN_UNUSED;
/* Reads the engine's page; false: result->page_error says why. */
bool verify_run_page(struct verify_run *run, struct verify_page *ret);
/* What the gateway's history has of it, over the phase. */
void verify_run_scraped(struct verify_run *run, struct verify_phase *ph);
/* What alerts measure now, and why they have no value. */
void verify_run_values(struct verify_run *run, enum verify_phase_name i);

#endif
