/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/collecting.h - what is scraped and measured beside the traffic, as the configuration says.
 *
 * Role:      scrape files, the configuration's own targets and those of upstreams become jobs of a
 *            collector; GPUs, host, clock and Kafka its sources; what it brings goes to the store.
 * Files:     read as a whole before any of them counts (collecting_read), so that a mistake changes
 *            nothing: at the start it ends the program, on a reload the old ones stay.
 * Threading: collecting_collector on any thread, the others on the main one.
 */
#ifndef DAEMON_COLLECTING_H
#define DAEMON_COLLECTING_H

#include "collect/collector.h"
#include "daemon/config.h"
#include "daemon/named_files.h"
#include "store/store.h"

/* What was read. */
struct collecting_files {
    struct scrape_file **at; /* the configuration's own stands first */
    size_t n;
};
/* Failing: *reterr says why, with the first of the mistakes; there are none of a file that cannot
 * be read. */
int collecting_read(const struct config *c, struct collecting_files *ret,
                    struct file_mistakes *reterrs, struct err *reterr) WARN_UNUSED;
void collecting_files_done(struct collecting_files *f);
/* Whether Kafka's clusters can be asked as it says there. What stands in files and variables is not
 * looked at: it is of the machine and the user that it will run as. */
int collecting_check(const struct config *c, struct err *reterr) WARN_UNUSED;

/* collecting_own.c: jobs of what stands in the configuration itself, as a scrape file. */
int collecting_own_write(const struct config *c, struct buf *out) WARN_UNUSED;

struct collecting;
/* Starts the thread. c and f are referenced; store outlives it. */
int collecting_new(struct config *c, const struct collecting_files *f, struct store *store,
                   struct collecting **ret, struct err *reterr) WARN_UNUSED;
struct collecting *collecting_free(struct collecting *k); /* NULL is allowed; returns NULL */
/* Reload; sources stay as at the start. -ENOMEM changes nothing. */
int collecting_configure(struct collecting *k, const struct collecting_files *f) WARN_UNUSED;

struct collector *collecting_collector(struct collecting *k); /* for those who ask */

#endif
