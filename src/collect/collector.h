/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector.h - the thread that scrapes targets and asks sources, each at its interval.
 *
 * Role:      jobs of a scrape file and of the configuration become targets (static, files, DNS,
 *            looked up again at their refresh); each is scraped at its own moment within the
 *            interval, so that they are spread; samples go to whoever keeps them.
 * Late:      a scrape that is not over when the next is due ends first; a moment missed is left
 *            out, never made up.
 * Reload:    targets that stay keep their state and their moment; those that go get stale markers.
 * Sources:   their series get the labels instance (this machine's name) and job (the kind's name)
 *            and end like those of targets; source_up{source, cluster} is 1, or 0 while it is
 *            broken or hangs, and not there where there is no such thing.
 * Threading: collector_* from any thread; write is called on the collector's thread and must not
 *            wait.
 * Errors:    negative errno.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "base/jsonw.h"
#include "collect/source.h"
#include "collect/target.h"

struct collector_source {
    const struct source_kind *kind;
    const void *config; /* of the kind; outlives the collector's use of it */
    int64_t interval_ms;
    const char *cluster; /* which one of several of its kind; NULL: there is one */
};
struct collector_plan {
    struct scrape_file *const *files; /* referenced */
    size_t n_files;
    const struct collector_source *sources; /* copied; constant over reloads */
    size_t n_sources;
};
/* b is the callee's from then on. */
typedef void (*collector_write)(void *ctx, struct batch *b);

struct collector;
int collector_new(const struct collector_plan *plan, collector_write write, void *ctx,
                  struct collector **ret, struct err *reterr) WARN_UNUSED;
/* Nothing is scraped or asked any more. False: a source hangs and is left behind: what its config
 * is and borrows has to stay. */
bool collector_stop(struct collector *c);
/* Stopped or not. NULL is allowed; returns NULL. Series do not end with it: the next process goes
 * on with them. Who hangs in a driver or a name server is left behind. */
struct collector *collector_free(struct collector *c);
/* Files only; takes effect on the collector's thread, soon. */
int collector_configure(struct collector *c, const struct collector_plan *plan) WARN_UNUSED;

/* "targets": [...], "jobs": [...], "sources": [...] into the object that is open in w. */
void collector_write_state(struct collector *c, struct jsonw *w);
/* As Prometheus' /api/v1/targets: objects of activeTargets, of droppedTargets, into the array that
 * is open in w. */
void collector_write_active(struct collector *c, struct jsonw *w);
void collector_write_dropped(struct collector *c, struct jsonw *w);
/* How many of each job, also of none, into the object that is open in w. */
void collector_write_dropped_counts(struct collector *c, struct jsonw *w);
/* Has every target scraped at once, when files and names were looked up; returns when all came
 * back. -ETIMEDOUT: not within timeout_ms. */
int collector_turn(struct collector *c, int64_t timeout_ms) WARN_UNUSED;

#endif
