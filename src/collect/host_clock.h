/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_clock.h - whether the clock of this machine is kept, and how far off it may be
 * (source_clock).
 *
 * Role:      adjtimex(2), reading only.
 * States:    absent: the kernel, or what confines this program, does not let it be asked.
 * Threading: the source's.
 * Source:    adjtimex(2), RFC 5905.
 */
#ifndef COLLECT_HOST_CLOCK_H
#define COLLECT_HOST_CLOCK_H

#include <sys/timex.h>

#include "collect/source_out.h"

struct host_clock_config {
    /* As adjtimex(2); NULL: that one. Tests have another. */
    int (*ask)(struct timex *t);
};

extern const struct source_series host_clock_series[];
extern const size_t host_clock_series_n;

#endif
