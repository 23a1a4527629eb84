/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/stage.h - the programs of a run, their directory and their addresses.
 *
 * Order:     rule files, Alertmanager, engine, gateway, Prometheus; each is ready before the next
 *            one. A Prometheus that does not start is no reason to end: its words are in the
 *            result.
 * Errors:    negative errno with *reterr; -EINTR: to be stopped. What was started is then ended
 *            by verify_stage_close, as always.
 * Threading: one owner.
 */
#ifndef VERIFY_STAGE_H
#define VERIFY_STAGE_H

#include "verify/ask.h"
#include "verify/program.h"
#include "verify/verify.h"

enum { VERIFY_FILES_MAX = 16, VERIFY_LOADS = 2 };

struct verify_stage {
    const struct verify_config *config;
    const struct verify_ops *ops;
    struct verify_asker *asker;
    char dir[VERIFY_PATH_MAX]; /* "": none */
    struct verify_program engine, gateway, prometheus, alertmanager;
    struct verify_program loads[VERIFY_LOADS]; /* the old one ends when the new one runs */
    unsigned n_loads;
    const char *rules[VERIFY_FILES_MAX]; /* paths, of the plan's files */
    char _rules[VERIFY_FILES_MAX][VERIFY_PATH_MAX];
    /* URLs without a slash at the end. */
    char engine_url[VERIFY_URL_MAX], metrics_url[VERIFY_URL_MAX];
    char gateway_url[VERIFY_URL_MAX];
    char servers[VERIFY_WHERES][VERIFY_URL_MAX]; /* with Prometheus' API; "": none */
    char alertmanager_url[VERIFY_URL_MAX];
    char prometheus_error[512];
};

/* s is zeroed, with config and ops. */
int verify_stage_open(struct verify_stage *s, struct err *reterr) WARN_UNUSED;
/* Ends all programs and removes the directory. */
void verify_stage_close(struct verify_stage *s);

/* The reason behind a failure that *reterr tells: a program that has just ended, a full disk. */
void verify_stage_explain(struct verify_stage *s, struct err *reterr);

/* Whether a program that is needed has ended by itself; -ECHILD. */
int verify_stage_check(struct verify_stage *s, struct err *reterr) WARN_UNUSED;

/* The next load; the one before goes on until verify_stage_load_end. */
int verify_stage_load_begin(struct verify_stage *s, struct err *reterr) WARN_UNUSED;
/* Ends the load that is `age` loads old (0: the newest) and reads its report. */
int verify_stage_load_end(struct verify_stage *s, unsigned age, struct verify_load *ret,
                          struct err *reterr) WARN_UNUSED;

#endif
