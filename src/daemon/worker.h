/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/worker.h - one gateway worker: a thread with its loop, gateway, policy, observer and
 * metrics shard. Workers share listening sockets, resolver, admission, metrics and log, nothing
 * else.
 *
 * Threading: worker_new, worker_start, worker_stop and worker_free by the main thread;
 *            worker_post_* hand work to the worker's loop; worker_waiting and worker_inflight_write
 *            from any thread.
 */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

#include <stdatomic.h>

#include "base/jsonw.h"
#include "daemon/hops.h"
#include "export/jsonlog.h"
#include "gateway/gateway.h"
#include "metrics/metrics.h"
#include "observe/observe.h"
#include "policy/policy.h"
#include "slo/slo_set.h"

struct worker;

/* What may change while it runs, beside the gateway's configuration. */
struct worker_settings {
    struct policy_config policy;
    struct observer_config observer;
    int64_t cut_after_ns; /* of silence: a stalled stream is cut; 0: never */
    bool cuts_runaways;
    struct slo_set *slos; /* NULL: none */
};

/* What all workers share; outlives them. */
struct worker_shared {
    struct worker_settings settings; /* to begin with */
    struct gateway_config *gateway_config;
    struct resolver *resolver;
    struct admission **admission;
    struct breaker *breakers;
    struct metrics *metrics;
    struct jsonlog *log; /* NULL: none */
    struct hops *hops;
    const int *listen_fds;
    struct tls_context *const *listen_tls; /* for each; NULL: plain HTTP */
    size_t n_listen_fds;
    /* The worker accepts no more, after worker_post_drain; on its thread. */
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;
};

int worker_new(const struct worker_shared *shared, struct worker **ret) WARN_UNUSED;
int worker_start(struct worker *w) WARN_UNUSED; /* starts the thread */

/* New exchanges use this configuration. -ENOMEM. */
int worker_post_config(struct worker *w, struct gateway_config *config,
                       const struct worker_settings *settings) WARN_UNUSED;

/* New exchanges need these keys. -ENOMEM. */
int worker_post_keyring(struct worker *w, struct keyring *ring) WARN_UNUSED;

/*
 * Stops accepting. What was accepted before still gets its request in for settle_ns, and one more
 * request goes on each idle connection; then idle ones close. worker_is_drained tells when no
 * exchange is left. -ENOMEM.
 */
int worker_post_drain(struct worker *w, int64_t settle_ns) WARN_UNUSED;
/* Looks for connections that only another process was told of. -ENOMEM. */
int worker_post_look(struct worker *w) WARN_UNUSED;
bool worker_is_drained(const struct worker *w);

/* Stops and joins the thread and ends what is still open; afterwards nothing of it uses what is
 * shared, and the worker only waits for what was asked of the resolver. */
void worker_stop(struct worker *w);

/*
 * Frees. All workers have been stopped and the resolver is gone (it posts answers to their loops).
 * NULL is allowed; returns NULL.
 */
struct worker *worker_free(struct worker *w);

/* Whether its loop still turns: daemon/pulse.h. By one thread. */
bool worker_beats(struct worker *w);

/* What waits for which upstream, as of this worker's last look, which it takes once a second. */
void worker_waiting(struct worker *w, struct observe_waiting *ret, size_t n);

/* One JSON object per open exchange into the array that is open in j. */
void worker_inflight_write(struct worker *w, struct jsonw *j);

#endif
