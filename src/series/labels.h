/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/labels.h - what names a time series: a set of label pairs.
 *
 * Role:      identity of a series everywhere: store, queries, scrapes, rules, alerts.
 * Shape:     pairs sorted by name (bytewise), names unique, no empty value: a label with an empty
 *            value is the same as no label. The metric's name is the label "__name__".
 * Ownership: a struct labels borrows; labels_copy puts pairs and texts into an arena.
 * Errors:    -ENOMEM; -EINVAL where said.
 * Threading: pure.
 * Source:    Prometheus' data model; names and values are UTF-8.
 */
#ifndef SERIES_LABELS_H
#define SERIES_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

struct label {
    struct span name, value;
};

struct labels {
    const struct label *at;
    size_t n;
};

#define LABEL_NAME "__name__" /* the metric's name */
#define LABEL_LE   "le"

/* Value of a label; empty when there is none. */
struct span labels_get(struct labels l, struct span name);
struct span labels_name(struct labels l); /* of LABEL_NAME */

bool labels_eq(struct labels a, struct labels b);
/* By pairs in order, names before values, as Prometheus sorts series. */
int labels_cmp(struct labels a, struct labels b);

/* Stable over processes and machines (stored on disk): of names and values. */
uint64_t labels_hash(struct labels l);
/* Of the labels in names (sorted, unique), or of all others but LABEL_NAME: what vector matching
 * and grouping compare. */
uint64_t labels_hash_of(struct labels l, const struct span *names, size_t n, bool is_without);
bool labels_eq_of(struct labels a, struct labels b, const struct span *names, size_t n,
                  bool is_without);

int labels_copy(struct arena *a, struct labels l, struct labels *ret) WARN_UNUSED;

/*
 * Sorts pairs in place by name and drops empty values. -EINVAL: a name twice (*ret_twice, may be
 * NULL, is it).
 */
int labels_normalise(struct label *pairs, size_t n, struct labels *ret,
                     struct span *ret_twice) WARN_UNUSED;

/* Copies with some labels left out / only those kept (names sorted, unique); texts are borrowed
 * from l, pairs come from the arena. LABEL_NAME is as any other label here. */
int labels_without(struct arena *a, struct labels l, const struct span *names, size_t n,
                   struct labels *ret) WARN_UNUSED;
int labels_only(struct arena *a, struct labels l, const struct span *names, size_t n,
                struct labels *ret) WARN_UNUSED;
/* With one label set (an empty value: removed). Texts are borrowed. */
int labels_with(struct arena *a, struct labels l, struct span name, struct span value,
                struct labels *ret) WARN_UNUSED;

/* A valid classic metric name / label name ([a-zA-Z_:][a-zA-Z0-9_:]*, labels without ':'). */
bool labels_is_metric_name(struct span s);
bool labels_is_label_name(struct span s);

/* metric{a="b", c="d"}, {a="b"}, {}: the metric's name in front where it is a classic one. Names
 * that are not classic are quoted. */
int labels_print(struct labels l, struct buf *out) WARN_UNUSED;
/* {__name__="metric", a="b"}: all pairs alike, as messages of Prometheus have them. */
int labels_print_pairs(struct labels l, struct buf *out) WARN_UNUSED;
/* A text between double quotes: \\ \" \n \t and the like, \x.. for other controls and for bytes
 * that are no UTF-8. */
int labels_quote(struct span text, struct buf *out) WARN_UNUSED;
/* "key": {"a":"b", ...} into the object that is open in w; key NULL: the object alone. */
struct jsonw;
void labels_write(struct labels l, const char *key, struct jsonw *w);
/* A label's name, quoted where it is not classic. */
int labels_print_label_name(struct span name, struct buf *out) WARN_UNUSED;

#endif
