/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_faults.h - what an engine can suffer from, by name and strength.
 *
 * Role:      one table names every fault, its unit and what it does; sim_live.h carries them out.
 *            They are switched by JSON (POST /sim/faults) and by a script (sim_script.h). Broken
 *            answers of single requests are switches.h's affair.
 * Names:     '_' and '-' are the same, so are upper and lower case.
 * Errors:    -ENOENT: no such fault, with the nearest name in the hint; -EINVAL, -ERANGE: a
 *            strength that it cannot have.
 * Threading: plain values.
 */
#ifndef SIM_SIM_FAULTS_H
#define SIM_SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "base/span.h"

enum sim_fault {
    SIM_FAULT_LOAD_SURGE,
    SIM_FAULT_LONG_PROMPTS,
    SIM_FAULT_LONG_OUTPUTS,
    SIM_FAULT_PREFIX_CACHE_LOSS,
    SIM_FAULT_KV_EXHAUSTION,
    SIM_FAULT_SLOW_GPU,
    SIM_FAULT_HOST_STALL,
    SIM_FAULT_NETWORK_DELAY,
    SIM_FAULT_PROXY_BUFFERING,
    SIM_FAULT_SEQS_CAP,
    SIM_FAULT_RATE_LIMIT,
    SIM_FAULT_COLD_START,
    SIM_FAULT_BAD_REPLICA,
    SIM_FAULT_RUNAWAY_OUTPUT,
    SIM_FAULT_MEMORY_LEAK,
    SIM_FAULT_ERRORS,
    SIM_FAULT_ADDED_LATENCY,
    SIM_FAULT_COUNT_
};

struct sim_fault_row {
    const char *name;
    const char *unit; /* of the strength */
    double strength;  /* where none is told */
    double min, max;
    const char *help; /* X stands for the strength */
};
const struct sim_fault_row *sim_fault_row(size_t i); /* NULL behind the last */

/* All off: zeroes. */
struct sim_faults {
    bool is_on[SIM_FAULT_COUNT_];
    double strength[SIM_FAULT_COUNT_];
};

/* Its strength, or what stands for a fault that is off. */
static inline double sim_faults_get(const struct sim_faults *f, enum sim_fault which, double off)
{
    return f->is_on[which] ? f->strength[which] : off;
}

int sim_fault_find(struct span name, enum sim_fault *ret, struct err *reterr) WARN_UNUSED;
int sim_fault_check(enum sim_fault which, double strength, struct err *reterr) WARN_UNUSED;
void sim_faults_set(struct sim_faults *f, enum sim_fault which, double strength);
void sim_faults_clear(struct sim_faults *f, enum sim_fault which);

/*
 * {"slow_gpu": 1.5, "errors": true, "seqs_cap": null}: a number is a strength, true the usual one,
 * false and null switch off; what is not named stays. All of it or, when something is wrong,
 * nothing.
 */
int sim_faults_read(struct sim_faults *f, struct span json, struct err *reterr) WARN_UNUSED;
/* {"active":{"slow_gpu":1.5},"faults":[{"name":"load_surge","unit":...},...]} */
void sim_faults_write(const struct sim_faults *f, struct jsonw *w);

#endif
