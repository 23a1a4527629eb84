/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor.h - why does it not work: the way from a client to an engine, step by step.
 *
 * Role:      a table of steps (doctor.c), each with what it needs of earlier ones; results out, as
 *            data: OK, WARN, FAIL or SKIP, cause, text, remedy. "inferometer doctor" prints them.
 * One cause: a result has one. What an earlier result explains (a 401 behind a key in quotation
 *            marks) becomes SKIP and points there, and the earlier one becomes the FAIL. The main
 *            cause of a report is its first FAIL, else its first WARN.
 * Requests:  GET of the models and of /metrics, and up to six small streams (1 to 40 tokens): they
 *            cost what those cost. Nothing is changed anywhere.
 * Secrets:   of keys at most the first four characters and the length are in texts; of URLs neither
 *            credentials nor queries; bodies of answers never.
 * Errors:    -ENOMEM and what the event loop needs; everything else is a result.
 * Threading: one run at a time in a thread; blocking, at most DOCTOR_TIMEOUT_NS per request.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/clock.h"
#include "base/span.h"
#include "doctor/doctor_cause.h"
#include "doctor/doctor_step.h"

#define DOCTOR_TIMEOUT_NS (15 * NS_PER_S)

/* A rule file, or the configuration of a gateway, as far as it matters here. */
struct doctor_rules {
    const char *const *files;
    size_t n;
    int64_t interval_ms; /* of evaluation, for groups that have none; 0: 30 s */
    int64_t scrape_ms;   /* how often there is a sample; 0: 10 s */
};

struct doctor_ask {
    struct span url;     /* empty: what the environment says */
    struct span key_env; /* the variable that has the key; empty: by the API */
    struct span model;   /* empty: the first of the list */
    bool is_anthropic;   /* speak Anthropic's API; else what the URL and variables suggest */
    const char *ca_file; /* NULL: the system's trust */
    int64_t timeout_ns;  /* of a request; 0: DOCTOR_TIMEOUT_NS */
    struct doctor_rules rules;
    struct span config_mistake; /* the configuration could not be read; empty: fine or none */
    bool has_config;

    /* The world; as getenv, also NULL where unset. */
    const char *(*get)(const char *name);
    const char *home, *directory; /* where settings are; NULL: not looked for */
};

struct doctor_result {
    enum doctor_step step;
    enum doctor_level level;
    enum doctor_cause cause; /* CAUSE_NO_CAUSE: OK, or SKIP for want of a step before */
    struct span text;        /* what is the case */
    struct span remedy;      /* empty: nothing to do */
    int because;             /* SKIP: index of the result that explains it; -1: none */
};
struct doctor_report {
    const struct doctor_result *results; /* by step */
    size_t n;
    int main;        /* index of the main cause; -1: all is well */
    struct span url; /* base URL that was tried, without credentials; empty: none */
    const char *api; /* "openai", "anthropic" */
};
/* In the arena. */
int doctor_run(const struct doctor_ask *ask, struct arena *a,
               struct doctor_report *ret) WARN_UNUSED;

/* The worst there is in a report. */
enum doctor_level doctor_worst(const struct doctor_report *r);

#endif
