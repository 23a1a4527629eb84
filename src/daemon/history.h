/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/history.h - what is kept across restarts, as the configuration says: the store, its place
 * on the status page, its readers for queries.
 *
 * Units:     configuration in ns and bytes, the store in its own (store/store.h).
 * Errors:    negative errno; at the start with a text.
 * Threading: history_reader and history_rows on any thread, the others where it says.
 */
#ifndef DAEMON_HISTORY_H
#define DAEMON_HISTORY_H

#include "base/jsonw.h"
#include "daemon/config.h"
#include "store/store.h"

/* Labels of our own series, as a scrape of the admin listener (instance: its address) would give
 * them. Both stay borrowed. */
enum { HISTORY_OWN_LABELS = 2 };
struct labels history_own_labels(const char *instance, struct label pairs[HISTORY_OWN_LABELS]);

/* Opens data_dir; *ret is NULL where none is told. At the start; metrics outlives the store. */
int history_open(const struct config *c, const struct metrics *metrics, struct labels own,
                 struct store **ret, struct err *reterr) WARN_UNUSED;

/* Reload. A failure is logged: periods are then as before. */
void history_configure(struct store *s, const struct config *c);

/* "history": {...} into the object that is open in w. s may be NULL. */
void history_write(struct store *s, const struct config *c, struct jsonw *w);

/* The program itself as a target of scrapes, as Prometheus' API tells of one. */
void history_target_write(const struct config *c, const char *instance, struct jsonw *w);

/* -ENODEV: nothing is kept; -EBUSY: the former process still has it. */
int history_reader(struct store *s, struct reader **ret) WARN_UNUSED;

/* Of request rows, whoever writes them: it reads the files. -ENODEV. */
int history_rows(const struct config *c, struct rows_reader **ret) WARN_UNUSED;

#endif
