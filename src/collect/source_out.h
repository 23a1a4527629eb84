/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/source_out.h - what a source says, as samples; its own series with unit and help.
 *
 * Role:      one way from a number to a sample for all sources, and the tables of series that are
 *            not signals of engine/signal.h. docs/METRICS.md is made from them.
 * Missing:   NaN and infinities are what was not told: no sample.
 * Errors:    the first failure stays in r and ends the adding; source_out_end takes all of it back.
 * Threading: the source's.
 */
#ifndef COLLECT_SOURCE_OUT_H
#define COLLECT_SOURCE_OUT_H

#include "collect/source.h"
#include "scrape/text.h"

enum { SOURCE_LABELS_MAX = 8 }; /* besides the metric's name */

struct source_series {
    const char *series;
    enum metric_type type;
    const char *unit;   /* "bytes", "ratio", ...; "" for a state or a count */
    const char *labels; /* "gpu, uuid", for people */
    const char *help;
};

struct source_out {
    struct batch *to;
    int64_t t_ms;
    size_t n_before; /* samples of to, before this source */
    int r;
};

void source_out_begin(struct source_out *o, struct batch *to, int64_t t_ms);
/* labels: in any order; those with an empty value are left out. */
void source_out_add(struct source_out *o, const char *series, const struct label *labels, size_t n,
                    double v);
/* 0, or the first failure: then nothing was added, and reterr says so. */
int source_out_end(struct source_out *o, struct err *reterr) WARN_UNUSED;

/* The rows of all sources' tables, one after the other; NULL behind the last. *ret_source: whose.
 */
const struct source_series *source_out_at(size_t i, const char **ret_source);

/* The same, a section of docs/METRICS.md. */
int source_out_to_markdown(struct buf *out) WARN_UNUSED;

#endif
