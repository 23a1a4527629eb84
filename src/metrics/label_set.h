/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/label_set.h - the process-wide, append-only table of label values: (label, text) <->
 * id.
 *
 * Role:      label sets are compared and stored as small numbers. An id never changes its text.
 * Limits:    a cap of values per label; beyond it every new text is LABELS_OTHER, and counted
 *            (STAT_DROP_LABEL_CAP). Texts are cut at LABELS_TEXT_MAX bytes; bytes that are not
 *            UTF-8 become '?', since scrapers refuse a whole page for one of them.
 * Threading: any thread. Looking up takes no lock; the first sight of a text takes a mutex.
 */
#ifndef METRICS_LABEL_SET_H
#define METRICS_LABEL_SET_H

#include <stdint.h>

#include "base/attr.h"
#include "metrics/family.h"

/* Labels with values of their own; enumerated ones (outcome, reason) need no table. */
enum label_key {
    LABEL_MODEL,
    LABEL_ENDPOINT,
    LABEL_UPSTREAM,
    LABEL_SLO,
    LABEL_VERSION,  /* from here on they may have no value, and are not exposed then */
    LABEL_BUSINESS, /* the first of those that the operator named */
    LABEL_COUNT_ = LABEL_BUSINESS + FAMILY_BUSINESS_MAX,
};

enum {
    LABELS_OTHER = 0, /* "other": over the cap, or not allowed to be a value */
    LABELS_NONE = 1,  /* "none": there was none, for example no upstream; not a value of labels that
                         may be missing, where "none" is a text like any other */
    LABELS_TEXT_MAX = 127,
};

struct label_set;

/* max_values: per label, LABELS_OTHER and LABELS_NONE not counted; 1 .. 100000. -EINVAL, -ENOMEM.
 */
int label_set_new(uint32_t max_values, struct label_set **ret) WARN_UNUSED;
struct label_set *label_set_free(struct label_set *t);

/*
 * Adds the next business label, before any other thread knows t. name: copied. -EINVAL (name "",
 * max_values), -ENOSPC (more than FAMILY_BUSINESS_MAX), -ENOMEM.
 */
int label_set_add(struct label_set *t, const char *name, uint32_t max_values) WARN_UNUSED;

uint32_t label_set_n_business(const struct label_set *t);

/* "model", ...; valid as long as t. */
const char *label_set_name(const struct label_set *t, enum label_key label);

/* The id of text, or -ENOENT. "" and NULL are LABELS_NONE. */
int64_t label_set_find(const struct label_set *t, enum label_key label, const char *text);

/* The same, made when it is new; LABELS_OTHER when it cannot be. */
uint32_t label_set_intern(struct label_set *t, enum label_key label, const char *text);

/* Valid as long as t. */
const char *label_set_text(const struct label_set *t, enum label_key label, uint32_t id);

uint32_t label_set_count(const struct label_set *t,
                         enum label_key label); /* values beside the two fixed */

#endif
