/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/notes.h - annotations of a result, worded as Prometheus words them.
 *
 * Shape:     each text once, with the position of the first who said it: "PromQL info: ... (1:25)".
 * Memory:    texts in an arena of the result; at most NOTES_MAX, later ones are dropped.
 * Errors:    -ENOMEM.
 * Threading: one owner.
 */
#ifndef PROMQL_NOTES_H
#define PROMQL_NOTES_H

#include <stdarg.h>
#include <stdint.h>

#include "promql/query.h"

enum { NOTES_MAX = 1000 };

struct notes {
    struct arena *_a;
    struct span _text; /* of the query, for positions */
    struct promql_note *at;
    uint64_t *_hash;
    size_t *_head; /* bytes of the text in front of the position */
    size_t n, _cap;
};

void notes_init(struct notes *n, struct arena *a, struct span text);

/* at: where the node that is meant begins. */
int notes_info(struct notes *n, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4) WARN_UNUSED;
int notes_warn(struct notes *n, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4) WARN_UNUSED;

/* Those that several files tell. name: of the metric, may be empty where said. */
int notes_mixed(struct notes *n, size_t at, struct span name); /* floats and histograms */
int notes_mixed_schemas(struct notes *n, size_t at, struct span name);
int notes_reconciled(struct notes *n, size_t at, const char *operation); /* custom buckets */
int notes_hints_collide(struct notes *n, size_t at, const char *operation);
int notes_ignored_in_range(struct notes *n, size_t at, struct span name);
int notes_ignored_in_aggregation(struct notes *n, size_t at, const char *aggregation);
int notes_quantile(struct notes *n, size_t at, double q); /* not between 0 and 1 */

/*
 * What may be met in every cell is told once: *said are bits of the one who tells. True: go on and
 * tell.
 */
static inline bool notes_first(unsigned *said, unsigned bit)
{
    bool is_first = !(*said & bit);
    *said |= bit;
    return is_first;
}

/* ' for metric name "x"', or nothing; dst: NOTES_NAME_MAX. Returns dst. */
enum { NOTES_NAME_MAX = 160 };
const char *notes_for_name(struct span name, char *dst);

#endif
