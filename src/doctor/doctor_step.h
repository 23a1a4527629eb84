/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_step.h - the steps, in the order in which they are taken.
 */
#ifndef DOCTOR_DOCTOR_STEP_H
#define DOCTOR_DOCTOR_STEP_H

enum doctor_step {
    STEP_URL,
    STEP_KEY,
    STEP_VARIABLES,
    STEP_SETTINGS,
    STEP_PROXY,
    STEP_DNS,
    STEP_TCP,
    STEP_TLS,
    STEP_HTTP,
    STEP_CLOCK,
    STEP_MODELS,
    STEP_STREAM,
    STEP_USAGE,
    STEP_BUFFERING,
    STEP_GZIP,
    STEP_METRICS,
    STEP_BUCKETS,
    STEP_RULES,
    STEP_COUNT_
};

struct doctor_step_info {
    const char *id;    /* "base_url" */
    const char *title; /* "base URL" */
    unsigned needs;    /* bits of steps that must not have failed or been skipped */
};
extern const struct doctor_step_info doctor_steps[STEP_COUNT_];

#endif
