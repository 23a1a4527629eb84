/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review.h - the SLO review: which alerts were worth their noise, and what none caught.
 *
 * Role:      looks back over a period with what is kept: series (ALERTS, llm_slo_total,
 *            llm_slo_good_total, histograms), incidents with their marks, the rules in force.
 * Contents:  per rule: how often it fired, for how long in all and at most, by tier; how much of
 *            that was noise: marked so by a person, or no objective burned its budget (burn rate of
 *            at least REVIEW_BURN_MIN over the firing and REVIEW_MARGIN_MS around it) meanwhile;
 *            degradations that no rule caught: windows of REVIEW_WINDOW_MS and more in which an
 *            objective was under its target (with at least min_bad bad requests) while no alert of
 *            tier P0 or P1 fired; the budgets: target, spent, left; suggestions, each with its
 *            evidence: thresholds (p95 + 50 % of what was usual), a `for` that the noise would not
 *            have outlived and what was real would have, bounds of histograms where a quantile that
 *            a rule uses lies in a bucket wider than a quarter of its value.
 * Unjudged:  firings around which no request was counted for any objective, pending ones likewise:
 *            neither noise nor real. What a person marked is noise whatever was counted.
 * Truth:     what is not kept long enough is said, not guessed: the period that each kind of data
 *            covers, and how finely, is part of the review.
 * Ownership: what the question points to is borrowed until review_free.
 * Limits:    REVIEW_DAYS_MAX; REVIEW_BYTES_MAX of memory besides what single queries take: -E2BIG.
 * Units:     ms since the epoch, seconds in texts.
 * Errors:    -ECANCELED and -ETIMEDOUT of is_over, those of readers; -ENOMEM; -EINVAL where the
 *            period is empty or too long.
 * Threading: pure but for its readers; a thread of queries.
 */
#ifndef REVIEW_REVIEW_H
#define REVIEW_REVIEW_H

#include "incident/incidents.h"
#include "rules/file.h"
#include "series/reader.h"
#include "slo/slo_set.h"

#define REVIEW_BURN_MIN 1.0
enum {
    REVIEW_WINDOW_MS = 5 * 60 * 1000,
    REVIEW_MARGIN_MS = 10 * 60 * 1000,
    REVIEW_DAYS_MAX = 400,
    REVIEW_BYTES_MAX = 256 * 1024 * 1024,
};

struct review_question {
    int64_t from_ms, to_ms;
    struct reader *reader;
    struct incidents *incidents; /* NULL: nobody marked anything */
    const struct slo *slos;
    size_t n_slos;
    struct rule_file *const *files; /* in force */
    size_t n_files;
    int64_t interval_ms;       /* of groups that have none; 0: 30 s */
    bool is_of_budgets;        /* nothing but these: alerts, histograms are not read */
    int (*is_over)(void *ctx); /* may be NULL */
    void *ctx;
};

struct review;
int review_make(const struct review_question *q, struct review **ret,
                struct err *reterr) WARN_UNUSED;
struct review *review_free(struct review *r); /* NULL is allowed; returns NULL */
/* One object. */
int review_write(const struct review *r, struct jsonw *w) WARN_UNUSED;
/* The same for people. */
int review_print_markdown(const struct review *r, struct buf *out) WARN_UNUSED;

#endif
