/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/deadline.h - moments up to which threads are waited for, on the monotonic clock.
 *
 * Threading: any.
 */
#ifndef COLLECT_DEADLINE_H
#define COLLECT_DEADLINE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"

static inline struct timespec deadline_in(int64_t wait_ns)
{
    int64_t ns = clock_mono().ns + wait_ns;

    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* False: it did not come back by then, and is left behind. (Looked at each millisecond: the join
 * with a moment on this clock is unknown to the thread sanitizer, and the other one follows a clock
 * that may be set.) */
static inline bool deadline_join(pthread_t thread, const struct timespec *end)
{
    static const struct timespec a_moment = {.tv_nsec = NS_PER_MS};
    int64_t end_ns = end->tv_sec * NS_PER_S + end->tv_nsec;
    int r;

    while ((r = pthread_tryjoin_np(thread, NULL)) == EBUSY && clock_mono().ns < end_ns)
        (void)nanosleep(&a_moment, NULL);
    if (r != 0)
        pthread_detach(thread);
    return r == 0;
}

#endif
