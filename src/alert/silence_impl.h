/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence_impl.h - between the keeper of silences, those who ask it, and their JSON.
 *
 * Errors:    as in silence.h.
 * Threading: one owner; JSON is pure.
 */
#ifndef ALERT_SILENCE_IMPL_H
#define ALERT_SILENCE_IMPL_H

#include "alert/map.h"
#include "alert/matchers.h"
#include "alert/silence.h"
#include "base/list.h"
#include "base/rng.h"

struct silence_entry {
    struct silence s;
    struct arena arena; /* of all that s points to */
    struct alert_matchers matchers;
    struct alert_map_node by_id;
    const struct matcher *asks_for; /* the equation that says most, or NULL */
    struct alert_map_node by_value; /* where there is one */
    struct list loose;              /* else */
    size_t at;                      /* in all */
    uint64_t number;                /* of when it came or was changed, from 1 */
};

struct silences {
    struct silence_entry **all;
    size_t n, cap;
    struct alert_map by_id, by_value;
    struct list loose; /* by number */
    uint64_t number;   /* of the last one */
    struct rng rng;
};

/* For both indexes; by_id: of the id and an empty text. */
uint64_t silence_hash(struct span a, struct span b);

/* A silence as it was written, checked; texts in a, its matchers in *m, which the caller ends on
 * failure, too. */
int silence_read(struct span json, int64_t now_ms, struct arena *a, struct alert_matchers *m,
                 struct silence *to, struct err *reterr) WARN_UNUSED;
int silence_copy(const struct silence *from, struct arena *a, struct alert_matchers *m,
                 struct silence *to) WARN_UNUSED;

#endif
