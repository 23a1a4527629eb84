/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target.h - one address to scrape, and what its last page was.
 *
 * Role:      a job's address behind relabelling: URL, labels, limits; the request; the answer made
 *            into samples (metricpage.h); up or not, and why.
 * Labels:    job, instance (host:port unless told) and those of its group; a page's own label of
 *            the same name becomes exported_NAME, unless honor_labels. Signals
 *            (engine/signals.h) have the target's labels, too.
 * Own:       series as Prometheus has them: up, scrape_duration_seconds, scrape_samples_scraped,
 *            scrape_samples_post_metric_relabeling, scrape_series_added; and
 *            scrape_fault{reason}, 1 while it is down: "name", "refused", "reset", "timeout",
 *            "tls", "redirect", "network", "status", "body", "limit", "relabel", "credentials",
 *            "request".
 * Absent:    a server of an optional job that says that it has no such page (404, 405, 501) or
 *            answers with another one, and never had it, is absent, not down: nothing is told of
 *            it, and it is looked at every TARGET_ABSENT_MS.
 * Stale:     a series that is gone from the page, and all of them when it is down, get a stale
 *            marker at once.
 * Limits:    TARGET_BODY_MAX of a body, where the job says nothing.
 * Threading: the collector's.
 */
#ifndef COLLECT_TARGET_H
#define COLLECT_TARGET_H

#include "collect/jobfile.h"
#include "collect/metricpage.h"
#include "series/batch.h"

enum { TARGET_BODY_MAX = 64 * 1024 * 1024, TARGET_ABSENT_MS = 5 * 60 * 1000 };

/* The labels that a target has before it is relabelled, in a. */
int target_discover(const struct scrape_job *j, struct span address, struct labels group,
                    struct labels discovered, struct arena *a, struct labels *ret) WARN_UNUSED;

struct target;
/*
 * 0: *ret is a target; 1: relabelling dropped it; -EINVAL: *reterr says what is wrong with it
 * (no address, a scheme that is none). The job has to outlive it. discovered: __meta_ labels.
 */
int target_new(const struct scrape_job *j, struct span address, struct labels group,
               struct labels discovered, struct target **ret, struct err *reterr) WARN_UNUSED;
struct target *target_free(struct target *t); /* NULL is allowed; returns NULL */

/* The same job, URL and labels: a new list of targets keeps what it had. Same ones have the same
 * hash. */
uint64_t target_hash(const struct target *t);
bool target_is_same(const struct target *a, const struct target *b);
/* to goes on where from was, which is as new then. */
void target_take(struct target *to, struct target *from);
const struct scrape_job *target_job(const struct target *t);
struct span target_url(const struct target *t); /* without secrets */
struct labels target_labels(const struct target *t);
struct labels target_discovered(const struct target *t); /* before relabelling */
int64_t target_interval_ms(const struct target *t);
/* From one scrape to the next: the interval, or as many of them as make TARGET_ABSENT_MS. */
int64_t target_wait_ms(const struct target *t);
int64_t target_timeout_ms(const struct target *t);
/* Moment of its scrapes within the interval, from its labels: spreads them out. */
int64_t target_offset_ms(const struct target *t);

/* The request, valid until the next call; reads files of credentials. */
int target_request(struct target *t, struct web_request *ret, struct err *reterr) WARN_UNUSED;
/* What came back at t_ms, into out. -ENOMEM, -E2BIG: nothing of it. */
int target_reply(struct target *t, const struct web_reply *r, int64_t t_ms,
                 struct batch *out) WARN_UNUSED;
/* There is no answer, for a reason that is no reply: of the request, of a limit. fault: static. */
int target_fail(struct target *t, const char *fault, const char *words, int64_t t_ms,
                struct batch *out) WARN_UNUSED;
/* It is not scraped any more: stale markers. */
int target_end(struct target *t, int64_t t_ms, struct batch *out) WARN_UNUSED;

struct target_state {
    bool is_known; /* it was scraped at least once */
    bool is_up, is_absent;
    const char *fault;     /* the reason's name, NULL: up */
    const char *words;     /* for people */
    int64_t t_ms, took_ns; /* of the last scrape */
    size_t n_samples, n_kept, n_mistakes;
    const struct err_list *mistakes;  /* of lines that could not be read */
    const struct engine_page *engine; /* NULL: nothing known yet */
};
/* Valid until the next reply. */
struct target_state target_state(const struct target *t);

/* Series about targets, pages and sources, NULL behind the last; a section of docs/METRICS.md. */
struct source_series;
const struct source_series *target_series_at(size_t i);
int target_series_to_markdown(struct buf *out) WARN_UNUSED;

#endif
