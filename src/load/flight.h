/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/flight.h - one request of a load run on its way: sent, its answer measured, its end told.
 *
 * Measuring: as the gateway does (dialect, timing, receive stamps of the kernel), but counted from
 *            the intended start.
 * Ends:      on_done once, unless flight_abort came first; the flight is freed after it.
 * Retry:     once, on a fresh connection, when a kept-alive one had been closed by the server
 *            before any byte of the answer.
 * Threading: the loop's.
 */
#ifndef LOAD_FLIGHT_H
#define LOAD_FLIGHT_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/list.h"
#include "dialect/dialect.h"
#include "http/client.h"
#include "io/loop.h"
#include "load/load_result.h"
#include "load/prompt.h"

struct flight;

/* What all flights of a run share; outlives them. */
struct flight_plan {
    struct loop *loop;
    struct http_pool *pool;
    const struct dialect *dialect;
    struct prompt prompt;
    struct span target;
    struct span fields; /* rendered header lines of every request, Host included */
    int64_t timeout_ns; /* from the issue to the end of the answer */
    struct buf head;    /* scratch */
    char id_prefix[24]; /* of X-Request-Id */
    struct list flights;
    uint64_t n_stamps, n_kernel_stamps;
    void (*on_gap)(void *ctx, int64_t gap_ns);
    void (*on_first_token)(void *ctx, int64_t ttft_ns);
    void (*on_done)(void *ctx, const struct load_result *r);
    void *ctx;
};

/* Issues a request that was meant to start at t_intended. -ENOMEM: nothing happened. */
int flight_start(struct flight_plan *p, const struct prompt_ask *ask,
                 mono_t t_intended) WARN_UNUSED;

/* Gives all up without telling. Returns how many they were. */
size_t flight_abort_all(struct flight_plan *p);

#endif
