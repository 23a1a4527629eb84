/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/breaker.h - passive health of one upstream: what its last answers say of it.
 *
 * Role:      steers the choice between upstreams. It refuses nothing itself: where every upstream
 *            says NO, one is tried all the same.
 * States:    closed -> open after some failures in a row, or when half of the last seconds' results
 *            are failures. Open: NO, until it has rested. Then half-open: one PROBE at a time, over
 *            all workers. Its success closes; its failure opens again, for twice as long.
 *            Apart from that an upstream may say itself that it is busy (429 with Retry-After): NO
 *            until then.
 * Results:   belong to the pass they were given with. Those of requests that began before the state
 *            changed say nothing new and are left out, with one exception: a success of a request
 *            that went on a NO, since the breaker opened, closes it.
 * Threading: any thread; one lock per call.
 * Time:      is passed in, monotonic; the workers' may differ a little.
 */
#ifndef GATEWAY_BREAKER_H
#define GATEWAY_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum {
    BREAKER_FAILURES = 5,     /* in a row; the default */
    BREAKER_WINDOW_S = 10,    /* the seconds of which results are counted */
    BREAKER_WINDOW_MIN = 20,  /* results in it before their share of failures says anything */
    BREAKER_REST_MIN_S = 5,   /* open, the first time */
    BREAKER_REST_MAX_S = 60,  /* open, however often probes have failed */
    BREAKER_BUSY_MAX_S = 600, /* of what an upstream says of itself */
};

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

const char *breaker_state_name(enum breaker_state s); /* "closed", "open", "half_open" */

struct breaker {
    pthread_mutex_t _lock;
    uint32_t _max_failures;
    bool _is_open;
    bool _is_probing;
    uint32_t _era;      /* grows when it opens or closes */
    uint32_t _in_row;   /* failures */
    uint64_t _n_opened; /* ever */
    int64_t _rest_ns;   /* of this opening */
    mono_t _rested_at, _busy_until;
    struct breaker_second {
        int64_t second; /* of the monotonic clock; what is too old does not count */
        uint32_t n_ok, n_failed;
    } _window[BREAKER_WINDOW_S];
};

/* max_failures: in a row; 0: BREAKER_FAILURES. */
void breaker_init(struct breaker *b, uint32_t max_failures);
void breaker_done(struct breaker *b);

enum breaker_verdict {
    BREAKER_YES,
    BREAKER_PROBE, /* the one try; whoever got it must report */
    BREAKER_NO,
};

/* Kept by who uses the upstream, for breaker_report. */
struct breaker_pass {
    enum breaker_verdict verdict;
    uint32_t _era;
};

/* Whether to choose this upstream. Only a PROBE changes anything: nobody else gets one before it is
 * reported. */
struct breaker_pass breaker_may_use(struct breaker *b, mono_t now);

enum breaker_result {
    BREAKER_SUCCESS,
    BREAKER_FAILURE,
    BREAKER_NO_VERDICT, /* the client left, or it was not used after all */
};

/* Once per pass; for a YES or NO that was not used it may be left out. */
void breaker_report(struct breaker *b, mono_t now, struct breaker_pass pass,
                    enum breaker_result result);

/* The upstream wants to be left alone until then (at most BREAKER_BUSY_MAX_S from now). An earlier
 * end than one known already changes nothing. */
void breaker_busy(struct breaker *b, mono_t now, mono_t until);

struct breaker_snapshot {
    enum breaker_state state;
    bool is_probing;
    uint32_t n_failures_in_row;
    uint32_t n_window_ok, n_window_failed;
    uint64_t n_opened;
    int64_t rests_ns; /* until the next probe; 0: none is waited for */
    int64_t busy_ns;  /* it is busy for that long; 0: no */
};

struct breaker_snapshot breaker_read(struct breaker *b, mono_t now);

#endif
