/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/inhibit.h - who keeps whom quiet: an alert that fires (source) inhibits others (targets)
 * that have the same values of some labels.
 *
 * Role:      finds a source for a target without looking at all alerts: each inhibition knows its
 *            sources by the values of its `equal` labels.
 * Shape:     a label that is missing on both sides is equal. An alert that is source and target
 *            of an inhibition is inhibited only by sources that are no targets of it.
 * Ownership: sources are the caller's, and stay where they are while they are in; the file
 *            outlives.
 * Threading: one owner.
 */
#ifndef ALERT_INHIBIT_H
#define ALERT_INHIBIT_H

#include "alert/file.h"

struct inhibit_link;
struct inhibit_source {
    struct labels labels;
    uint64_t fingerprint;
    int64_t until_ms;            /* fires until then; INT64_MIN: does not; inhibit_set */
    struct inhibit_link *_links; /* NULL: no inhibition's source */
};

struct inhibit;
int inhibit_new(const struct alert_file *f, struct inhibit **ret) WARN_UNUSED;
struct inhibit *inhibit_free(struct inhibit *ih); /* the sources are as if removed */

/* labels and fingerprint are set. -ENOMEM: it is not in. */
int inhibit_add(struct inhibit *ih, struct inhibit_source *s) WARN_UNUSED;
void inhibit_remove(struct inhibit *ih, struct inhibit_source *s); /* also one that is not in */
/* It fires until then. */
void inhibit_set(struct inhibit_source *s, int64_t until_ms);

/* A source that inhibits an alert with these labels now, or NULL. */
const struct inhibit_source *inhibit_find(const struct inhibit *ih, struct labels l,
                                          int64_t now_ms);

#endif
