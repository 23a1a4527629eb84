/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/present.h - series of one origin that are there, so that those that go get a stale
 * marker.
 *
 * Role:      each label set once; a round (a scrape, a reading) tells samples; behind it those that
 *            were there before and are not any more end with a stale marker.
 * Twice:     of a series that is told twice in a round the later sample counts.
 * Errors:    -ENOMEM, -E2BIG (of the batch): the round is void: present_abort.
 * Ownership: a series lives while it is there or somebody holds it (present_hold); its labels as
 *            long as a batch has them.
 * Threading: one owner.
 */
#ifndef COLLECT_PRESENT_H
#define COLLECT_PRESENT_H

#include <stdint.h>

#include "series/batch.h"

struct present_series {
    struct keeper_piece _piece; /* first */
    struct labels labels;
    struct present_series *_next;
    struct present_series *_next_changed;
    uint64_t _hash;
    uint64_t _round; /* told in it */
    size_t _at;      /* there: its sample in the batch */
    size_t _n_bytes; /* of its labels */
    uint32_t _n_held;
    bool _is_there; /* in the last round that was kept */
    bool _ends;     /* not to be there any more means a stale marker */
    bool _has_changed;
};
struct present {
    struct keeper *_keeper; /* NULL: there was no series yet */
    struct present_series **_buckets;
    size_t _n_buckets, _n;
    uint64_t _round;
    size_t _n_before;                /* samples of the batch before the round */
    size_t _n_there;                 /* series that are there */
    size_t _n_again;                 /* those of them that this round told */
    struct present_series *_changed; /* those that are to be there now, or not to be */
};

void present_init(struct present *l);
void present_done(struct present *l); /* nothing may be held */

void present_begin(struct present *l, const struct batch *out);
/* Finds or makes it, and holds it. */
int present_hold(struct present *l, struct labels labels, struct present_series **ret) WARN_UNUSED;
void present_let_go(struct present_series *s); /* NULL is allowed */
/* ends: it has no time of its own, so that it is gone when it is not told. */
int present_tell(struct present *l, struct present_series *s, int64_t t_ms, double v, bool ends,
                 struct batch *out) WARN_UNUSED;
/* The round is kept: stale markers at t_ms for what is gone. An error changes nothing. */
int present_end(struct present *l, int64_t t_ms, struct batch *out) WARN_UNUSED;
/* The round never was: its samples are taken back. */
void present_abort(struct present *l, struct batch *out);

#endif
