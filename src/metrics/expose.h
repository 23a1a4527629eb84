/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/expose.h - every series that is exposed, in one form for all formats: those of metrics/
 * and the program's own counters of base/stat.h.
 *
 * Threading: any thread.
 */
#ifndef METRICS_EXPOSE_H
#define METRICS_EXPOSE_H

#include "metrics/metrics.h"

/* Valid during the visit. Series of one family follow each other; name is the same pointer for
 * them. */
struct expose_series {
    const char *name; /* counters end with _total */
    const char *help;
    const char *unit; /* "": none */
    enum family_type type;
    const struct metrics_label *labels;
    size_t n_labels;
    wall_t created_at; /* 0: not told */
    int64_t value;
    const struct hist_snapshot *hist; /* histograms, else NULL */
};

/* A visit that returns nonzero ends the walk. Returns that, 0, or -ENOMEM. */
int expose_each(const struct metrics *m, int (*visit)(void *ctx, const struct expose_series *s),
                void *ctx) WARN_UNUSED;

#endif
