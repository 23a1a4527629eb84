/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/live.h - series of one origin that are there, so that those that go get a stale marker.
 *
 * Role:      each label set once; a round (a scrape, a reading) tells samples; behind it those that
 *            were there before and are not any more end with a stale marker.
 * Twice:     of a series that is told twice in a round the later sample counts.
 * Errors:    -ENOMEM, -E2BIG (of the batch): the round is void: live_abort.
 * Ownership: a series lives while it is there or somebody holds it (live_hold).
 * Threading: one owner.
 */
#ifndef COLLECT_LIVE_H
#define COLLECT_LIVE_H

#include <stdint.h>

#include "series/batch.h"

struct live_series {
    struct labels labels;
    struct live_series *_next;
    uint64_t _hash;
    uint64_t _round; /* told in it */
    size_t _at;      /* there: its sample in the batch */
    uint32_t _n_held;
    bool _is_there; /* in the last round that was kept */
    bool _ends;     /* not to be there any more means a stale marker */
};
struct live {
    struct live_series **_buckets;
    size_t _n_buckets, _n;
    uint64_t _round;
    size_t _n_before; /* samples of the batch before the round */
};

void live_init(struct live *l);
void live_done(struct live *l); /* nothing may be held */

void live_begin(struct live *l, const struct batch *out);
/* Finds or makes it, and holds it. */
int live_hold(struct live *l, struct labels labels, struct live_series **ret) WARN_UNUSED;
void live_let_go(struct live_series *s); /* NULL is allowed */
/* ends: it has no time of its own, so that it is gone when it is not told. */
int live_tell(struct live *l, struct live_series *s, int64_t t_ms, double v, bool ends,
              struct batch *out) WARN_UNUSED;
/* The round is kept: stale markers at t_ms for what is gone. An error changes nothing. */
int live_end(struct live *l, int64_t t_ms, struct batch *out) WARN_UNUSED;
/* The round never was: its samples are taken back. */
void live_abort(struct live *l, struct batch *out);

#endif
