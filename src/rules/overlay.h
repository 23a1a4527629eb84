/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/overlay.h - a reader over the store and over what was recorded and is not readable yet.
 *
 * Role:      a rule sees what those before it recorded at the same moment, although the store takes
 *            samples later and on another thread.
 * Shape:     samples wait at their struct recorded until the store shows their batch. A series that
 *            both have is one; what the store has is not shown twice, and a sample that it would
 *            refuse (not newer than its last) is not shown at all.
 * Memory:    OVERLAY_SAMPLES_MAX samples; beyond it a sample is seen when the store shows it.
 * Errors:    -ENOMEM, and those of the store's reader.
 * Threading: the evaluator's thread.
 */
#ifndef RULES_OVERLAY_H
#define RULES_OVERLAY_H

#include "rules/recorded.h"
#include "series/reader.h"

enum { OVERLAY_SAMPLES_MAX = 500000 };

/* A sample that was added and whose batch is not written yet. */
struct overlay_pending {
    struct recorded *s;
    int64_t t_ms;
    double v;
    bool is_hist, is_shown;
};

struct overlay {
    struct recorded_table table;
    struct recorded **at; /* those with samples on their way, each with a reference */
    size_t n, cap;
    size_t n_samples;
    struct overlay_pending *pending; /* with a reference each */
    size_t n_pending, cap_pending;
    struct reader reader;
    struct reader *below;
    uint64_t session; /* counts overlay_open */
    uint64_t n_selects;
};

void overlay_init(struct overlay *o);
/* All references to series but its own are gone. */
void overlay_done(struct overlay *o);

/* From now on over this reader, which shows all batches up to written. */
void overlay_open(struct overlay *o, struct reader *below, uint64_t written);
/* The one to read from: the store's own while nothing is on its way. */
struct reader *overlay_reader(struct overlay *o);

/*
 * One batch: samples are added (recorded_judge said that they are taken, each series once), then
 * all of them are on their way with its number, or none. Nothing is read in between.
 */
int overlay_add(struct overlay *o, struct recorded *s, int64_t t_ms, double v,
                const struct fhist *h) WARN_UNUSED;
void overlay_commit(struct overlay *o, uint64_t number);
void overlay_cancel(struct overlay *o);

#endif
