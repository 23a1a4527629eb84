/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_script.h - a script of faults: what goes wrong when, and for how long.
 *
 * Form:      a line each, in any order; "#" begins a comment:
 *                at 30s for 60s slow_gpu 1.5
 *                at 2m seqs_cap              # the usual strength, to the end
 *            Times count from the start of the engine ("250ms", "90s", "1.5m", "1h").
 * Read as:   steps in order of time: a fault goes on, a fault goes off. What ends comes before what
 *            begins at the same moment.
 * Mistakes:  told with their line, and what would be right. Two lines may not have the same fault
 *            at the same time.
 * Limits:    64 KiB, 1,000 lines that say something, times of SIM_SCRIPT_DAYS_MAX days.
 * Errors:    -EINVAL, -ENOENT, -ERANGE with a text; -E2BIG: too long; -ENOMEM.
 * Threading: constant once read.
 */
#ifndef SIM_SIM_SCRIPT_H
#define SIM_SIM_SCRIPT_H

#include <stdint.h>

#include "sim/sim_faults.h"

enum { SIM_SCRIPT_BYTES_MAX = 64 * 1024, SIM_SCRIPT_LINES_MAX = 1000, SIM_SCRIPT_DAYS_MAX = 366 };

struct sim_script_step {
    int64_t at_ns; /* since the start */
    bool is_on;
    enum sim_fault fault;
    double strength; /* when it goes on */
};

struct sim_script {
    size_t n;
    struct sim_script_step steps[];
};

int sim_script_parse(struct span text, struct sim_script **ret, struct err *reterr) WARN_UNUSED;
struct sim_script *sim_script_free(struct sim_script *s);

#endif
