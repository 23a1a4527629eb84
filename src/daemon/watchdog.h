/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/watchdog.h - upstreams that have fallen silent, from the traffic itself, over all workers.
 *
 * Role:      each worker publishes once a second what waits for which upstream
 *            (observe/observe.h); here it is put together and judged. Observes only: a gauge and
 *            two lines in the operator's log.
 * Rule:      the silence of an upstream begins with its last sign of life in any answer, or when
 *            requests began to wait without a break, whichever is later. As long as `hung_after`,
 *            it is hung; with the next sign, or when nothing waits for it any more, it is not.
 * Cannot tell: one long prefill, or one long answer that is no stream, from an engine that hangs,
 *            while nothing else is under way there.
 * Threading: watchdog_add and what follows it belong to one thread; hung_after may be set by any.
 */
#ifndef DAEMON_WATCHDOG_H
#define DAEMON_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "metrics/metrics.h"
#include "observe/observe.h"

/* A worker that has not looked for so long is busy with something else; what it shows is old. */
#define WATCHDOG_STALE_NS (5 * NS_PER_S)

/* --- one upstream; pure --- */

struct watchdog_upstream {
    bool is_hung;
    mono_t t_waiting;  /* requests have waited without a break since then; not set: none waits */
    mono_t t_idle;     /* the last look at which none did */
    int64_t silent_ns; /* 0: none waits */
    mono_t t_silent;   /* is_hung: since when */
};

enum watchdog_change {
    WATCHDOG_AS_BEFORE,
    WATCHDOG_HUNG,
    WATCHDOG_ANSWERS, /* a sign of life came; silent_ns is how long none had */
    WATCHDOG_LEFT,    /* nothing waits any more, and none came */
};

/* What another worker shows, on top of what is in sum (zeros at first). */
void watchdog_add(struct observe_waiting *sum, const struct observe_waiting *one);

/* sum: of all workers. hung_after_ns 0: never hung. ret_silent_ns: with HUNG, ANSWERS and LEFT. */
enum watchdog_change watchdog_judge(struct watchdog_upstream *u, const struct observe_waiting *sum,
                                    mono_t now, int64_t hung_after_ns, int64_t *ret_silent_ns);

/* --- all of them --- */

struct watchdog {
    _Atomic int64_t hung_after_ns;
    size_t _n;
    struct watchdog_upstream _upstreams[TAP_UPSTREAMS_MAX];
    char _names[TAP_UPSTREAMS_MAX][RECORD_NAME_MAX];
    struct metrics_shard *_shard;
    struct metrics_series_set *_sets[TAP_UPSTREAMS_MAX];
};

/* The gauges exist at 0 from now on. metrics outlives it. -ENOMEM. */
int watchdog_init(struct watchdog *w, const char *const *names, size_t n, int64_t hung_after_ns,
                  struct metrics *metrics) WARN_UNUSED;
void watchdog_done(struct watchdog *w); /* also of one that is all zeros */

/* Once a second; sums: per upstream, over all workers. */
void watchdog_look(struct watchdog *w, const struct observe_waiting *sums, mono_t now);

#endif
