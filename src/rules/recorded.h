/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/recorded.h - the series that rules record: each once, however many rules hold it.
 *
 * Role:      what a rule recorded last time is a list of these, so that what it does not record any
 *            more is found by comparing marks, and a label set that comes twice, too.
 * Ownership: counted; a series goes with the last reference.
 * Errors:    -ENOMEM.
 * Threading: the evaluator's thread.
 */
#ifndef RULES_RECORDED_H
#define RULES_RECORDED_H

#include "base/arena.h"
#include "rules/pairs.h"
#include "series/fhist.h"

#define RECORDED_NEVER INT64_MIN

/* A sample that the store was given and does not show yet. */
struct on_way {
    int64_t t_ms;
    double v;
    const struct fhist *h; /* in arena; NULL: v is the sample */
    uint64_t number;       /* of its batch */
    struct arena arena;
};

struct recorded {
    struct labels labels;
    uint64_t hash, name_hash; /* of all labels, of the metric's name */
    uint64_t mark;            /* of the last evaluation that met it */
    int64_t last_ms;          /* its newest sample; RECORDED_NEVER */
    double last_v;
    bool was_hist; /* the newest one is a histogram */
    size_t n_refs;

    /* rules/overlay.h */
    struct on_way *at; /* ascending in time */
    size_t n, cap;
    size_t i_overlay;        /* among those that have samples on their way */
    uint64_t below, session; /* its id in the store's reader, known in this session */
    uint64_t selected;       /* by this select */

    struct pairs *_pairs;
    struct recorded *_next;
};

struct recorded_table {
    struct recorded **slots; /* lists; a power of two, or none yet */
    size_t n_slots, n;
    uint64_t mark; /* the last one given out */
};

void recorded_done(struct recorded_table *t); /* all references are gone */

/* The series with these labels, with a reference; made when it is new. */
int recorded_get(struct recorded_table *t, struct labels l, struct recorded **ret) WARN_UNUSED;
/* The same without reference; NULL: there is none. */
struct recorded *recorded_find(const struct recorded_table *t, struct labels l);
struct recorded *recorded_ref(struct recorded *s);
void recorded_unref(struct recorded_table *t, struct recorded *s);

uint64_t recorded_name_hash(struct span name);

/* What the store will say to a sample. */
enum recorded_verdict {
    RECORDED_TAKEN,
    RECORDED_SAME,      /* it has exactly this one */
    RECORDED_DUPLICATE, /* it has another one of this moment */
    RECORDED_OLD,       /* it has newer ones */
};
enum recorded_verdict recorded_judge(const struct recorded *s, int64_t t_ms, double v,
                                     bool is_hist);

#endif
