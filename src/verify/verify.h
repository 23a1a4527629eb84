/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/verify.h - the whole chain proved: latency goes in at an engine, and comes out as figures
 * of clients, of the engine, and as an alert.
 *
 * Role:      starts on loopback what a run needs (the simulator, a gateway with rules, a load, and
 *            where there are any a Prometheus and an Alertmanager), injects two latencies one
 *            after the other, takes them away again, and gathers what everybody saw. What that
 *            means, verify/judge.h says.
 * Programs:  are children, also those that are this program itself (/proc/self/exe: sim, serve,
 *            load), and end with us. Ports are free ones, files in a directory of the run's own
 *            under $TMPDIR or /tmp that is removed at the end; after SIGKILL it stays.
 * Latency:   fault added_latency of the simulator (sim/README.md): between arrival and the
 *            engine's queue, so that clients and the engine's histogram see the same.
 * Units:     ms, s where it is said.
 * Errors:    negative errno with *reterr: the run could not be made (a program did not start or
 *            ended). -EINTR: it was stopped. What goes wrong with the chain is in the result.
 * Threading: one owner, the only thread of its process; SIGPIPE ignored, SIGINT and the like
 *            blocked and taken by ops->wait.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "verify/result.h"

struct verify_ops {
    /* Waits; true: the run is to stop. */
    bool (*wait)(void *ctx, int ms);
    /* What happens now, a line without its end. */
    void (*say)(void *ctx, const char *line);
    void *ctx;
};

struct verify_config {
    const struct verify_plan *plan;
    double rate_per_s;
    double mild_s, hard_s;    /* what is injected, in this order */
    const char *engine_url;   /* NULL: a simulator is started; else one that runs somewhere */
    const char *metrics_url;  /* of the engine; NULL: ENGINE/metrics; "none": is not scraped */
    const char *prometheus;   /* path of the program; NULL: none */
    const char *alertmanager; /* likewise */
};

/* ret->alerts[] has room for all of the plan's. */
int verify_run(const struct verify_config *c, const struct verify_ops *ops,
               struct verify_result *ret, struct err *reterr) WARN_UNUSED;

#endif
