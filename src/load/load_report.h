/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/load_report.h - a finished load run as a table for people, or as one JSON object.
 *
 * Units of the JSON: as the names say; quantiles are null without samples.
 */
#ifndef LOAD_LOAD_REPORT_H
#define LOAD_LOAD_REPORT_H

#include "base/attr.h"
#include "base/buf.h"
#include "load/tally.h"

/* What the run was and how it went, beside the tally. */
struct load_summary {
    const char *url;
    const char *mode;     /* "poisson", "constant", "concurrency", "trace" */
    double offered_per_s; /* intended starts per second; 0: closed loop */
    uint64_t n_sent;
    uint64_t n_unfinished; /* given up when the run was interrupted */
    uint64_t n_in_flight_max;
    int64_t issue_ns;          /* from the first intended start to the last */
    int64_t elapsed_ns;        /* from the first intended start to the last end */
    double cpu_ratio;          /* of one core, of this program */
    double kernel_stamp_ratio; /* reads stamped by the kernel; < 0: no reads */
    bool is_interrupted;
};

enum { LOAD_LAG_WARN_MS = 5, LOAD_CPU_WARN_PCT = 85 };

/* Whether the generator itself was too slow to be trusted; *ret_why: what to do (static text). */
bool load_report_is_own_bottleneck(struct tally *t, const struct load_summary *s,
                                   const char **ret_why);

/* Both append to out; 0 or -errno of buf. */
int load_report_table(struct tally *t, const struct load_summary *s, struct buf *out) WARN_UNUSED;
int load_report_json(struct tally *t, const struct load_summary *s, struct buf *out) WARN_UNUSED;

/* "81.2 ms" into dst (>= 24 bytes); "-" for negative values. */
void load_report_duration(int64_t ns, char *dst);

#endif
