/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target_private.h - between the files of a target.
 *
 * Role:      target_labels.c makes labels and URL as Prometheus does, target_url.c writes the URL,
 *            target_request.c the request, target.c owns it and takes answers.
 */
#ifndef COLLECT_TARGET_PRIVATE_H
#define COLLECT_TARGET_PRIVATE_H

#include "collect/present.h"
#include "collect/target.h"

enum {
    OWN_UP,
    OWN_DURATION,
    OWN_SAMPLES,
    OWN_KEPT,
    OWN_ADDED,
    OWN_COUNT_,
    TARGET_HEADERS_MAX = 4,
};
struct target {
    const struct scrape_job *job;
    struct arena arena;
    struct labels all;        /* behind relabelling, with those that begin with "__" */
    struct labels labels;     /* without */
    struct labels discovered; /* before */
    struct span url;
    int64_t interval_ms, timeout_ms;
    struct metricpage *page;
    struct present live;
    struct present_series *own[OWN_COUNT_];
    struct present_series *fault; /* of the last scrape; NULL: none */
    struct target_state state;    /* what the page knows is the page's: target_state */
    bool was_up;                  /* once */
    char words[240];              /* state.words */
    /* of the request: */
    struct web_header headers[TARGET_HEADERS_MAX];
    struct buf secret; /* what a file of credentials says, or the header that it is in */
    char timeout[24];
};

/* 0; 1: dropped; -EINVAL: *reterr; -ENOMEM. Sets all, labels, discovered, url and times. */
int target_labels_make(struct target *t, struct span address, struct labels group,
                       struct labels discovered, struct err *reterr) WARN_UNUSED;
int target_url_make(const struct scrape_job *j, struct labels all, struct arena *a,
                    struct span *ret) WARN_UNUSED;

#endif
