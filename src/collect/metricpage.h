/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage.h - a page that is read again every ten seconds, made into samples cheaply.
 *
 * Role:      remembers each series by its bytes: its labels behind relabelling, whether it is
 *            dropped, and which signals (engine/signals.h) it feeds. Only a series that was never
 *            seen has its labels read. When names of families come or go, the page is recognised
 *            anew (engine/recognise.h).
 * Drift:     a signal that was told and is not any more, while the page is there, is counted as
 *            missing (engine_signal_missing) and remembered for a day (drifted); one that only
 *            changed its name is neither.
 * Mistakes:  lines that cannot be read are left out and told; a page of which more than one line in
 *            ten cannot be read is none (-EBADMSG): HTML, JSON, a cut body. So is a sample of more
 *            than 10 minutes from now: it would keep out all later ones.
 * Limits:    of the job; -E2BIG says which in *ret_words.
 * Memory:    series not seen for PAGE_FORGET scrapes are forgotten, those of pages that are refused
 *            when there are many more than the last good page had; so are names without series.
 * Threading: one owner.
 */
#ifndef COLLECT_METRICPAGE_H
#define COLLECT_METRICPAGE_H

#include "collect/jobfile.h"
#include "engine/signals.h"
#include "series/batch.h"

enum { PAGE_FORGET = 10 };

struct metricpage_counts {
    size_t n_samples; /* on the page */
    size_t n_kept;    /* behind relabelling */
    size_t n_added;   /* series not on the page before */
};

struct metricpage;
/* labels: of the target. The job has to outlive it. */
int metricpage_new(const struct scrape_job *j, struct labels labels,
                   struct metricpage **ret) WARN_UNUSED;
struct metricpage *metricpage_free(struct metricpage *p);
/* Samples of the body, signals, and stale markers for what is gone, at t_ms. -EBADMSG, -E2BIG,
 * -EINVAL (relabelling made what is no series): *ret_words says why, until the next call; like any
 * error nothing of it is told, and what was there is there still (metricpage_gone). */
int metricpage_read(struct metricpage *p, struct span body, enum text_format format, int64_t t_ms,
                    struct batch *out, struct metricpage_counts *ret,
                    const char **ret_words) WARN_UNUSED;
/* All of it is gone: stale markers. An error changes nothing. */
int metricpage_gone(struct metricpage *p, int64_t t_ms, struct batch *out) WARN_UNUSED;
/* From now on as that job has it, if it is another one; what is there stays there until the next
 * page. */
void metricpage_rejob(struct metricpage *p, const struct scrape_job *j);
/* Labels of a series of a target that has labels of its own: as the job says (honor_labels), in a.
 */
int metricpage_labels(const struct scrape_job *j, struct labels target, struct labels own,
                      struct arena *a, struct labels *ret) WARN_UNUSED;

const struct engine_page *metricpage_engine(const struct metricpage *p); /* NULL: none was read */
const struct err_list *metricpage_mistakes(const struct metricpage *p);  /* NULL: there are none */
size_t metricpage_n_mistakes(const struct metricpage *p);

#endif
