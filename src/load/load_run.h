/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/load_run.h - a load run from its first request to its last answer.
 *
 * Open loop: requests start when the schedule says so, whatever the server does; latencies count
 *            from there. Closed loop: a fixed number is kept in flight; a request starts when the
 *            one before it ended. Starts are exact to some 10 us: the loop is turned with the time
 *            to the next start as its longest wait, not with the 1 ms timers.
 * Threading: load_run_interrupt from anywhere, also from a signal handler; the rest one owner.
 */
#ifndef LOAD_LOAD_RUN_H
#define LOAD_LOAD_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "dialect/dialect.h"
#include "io/addr.h"
#include "io/tls.h"
#include "load/load_report.h"
#include "load/schedule.h"
#include "load/tally.h"

enum { LOAD_URL_MAX = 1024, LOAD_FIELDS_MAX = 16 * 1024 };

struct load_config {
    char url[LOAD_URL_MAX];   /* as given, for the report */
    char host[ADDR_HOST_MAX]; /* name, IP literal without brackets, or "unix:/path" */
    uint16_t port;
    bool is_tls;
    struct tls_context *tls;   /* is_tls: how; borrowed */
    char target[LOAD_URL_MAX]; /* path and query */
    const struct dialect *dialect;
    char model[DIALECT_MODEL_MAX];
    char fields[LOAD_FIELDS_MAX]; /* rendered header lines of the user */
    struct schedule_config schedule;
    int64_t concurrency; /* > 0: closed loop */
    int64_t duration_ns; /* no starts behind it; 0: no limit */
    int64_t n_requests;  /* 0: no limit */
    int64_t timeout_ns;  /* of one request */
    bool is_stream;
    bool is_stream_forced; /* what the trace says does not count */
    bool include_usage;
    struct tally_slo slo;
    bool is_live; /* a line a second on standard error */
};

/* Takes a URL of the form http://HOST[:PORT]/PATH, https://... or unix:/SOCKET:/PATH apart and
 * finds its dialect. -EINVAL. */
int load_config_url(struct load_config *c, struct span url, struct err *reterr) WARN_UNUSED;

/* Adds a header line "Name: value". -EINVAL. */
int load_config_field(struct load_config *c, struct span line, struct err *reterr) WARN_UNUSED;

struct load_run;

int load_run_new(const struct load_config *c, struct load_run **ret,
                 struct err *reterr) WARN_UNUSED;
struct load_run *load_run_free(struct load_run *r);

/* Runs to the end. tally and summary are valid until load_run_free. */
void load_run_go(struct load_run *r);
struct tally *load_run_tally(struct load_run *r);
const struct load_summary *load_run_summary(const struct load_run *r);

/* No more starts; what is in flight is given up. */
void load_run_interrupt(struct load_run *r);

#endif
