/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/deadline.h - moments up to which threads are waited for, on the monotonic clock.
 *
 * Threading: any.
 */
#ifndef COLLECT_DEADLINE_H
#define COLLECT_DEADLINE_H

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

static inline struct timespec deadline_in(int64_t wait_ns)
{
    int64_t ns = clock_mono().ns + wait_ns;

    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* Whoever does not come back by then is left behind. */
static inline void deadline_join(pthread_t thread, const struct timespec *end)
{
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, end) != 0)
        pthread_detach(thread);
}

#endif
