/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/page.h - the engine's own histogram of the time to the first token, out of its /metrics.
 *
 * Role:      a page's counts, their difference over a phase, and where a quantile of that lies, as
 *            far as the bounds resolve.
 * Units:     seconds.
 * Threading: pure.
 */
#ifndef VERIFY_PAGE_H
#define VERIFY_PAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "engine/signals.h"

enum { VERIFY_BUCKETS_MAX = 128 };

struct verify_page {
    char engine[64];                             /* "vLLM" */
    char name[128];                              /* of the family the histogram is from */
    double count, sum;                           /* of all its label sets */
    size_t n;                                    /* bounds; 0: sums only */
    struct family_bucket at[VERIFY_BUCKETS_MAX]; /* cumulative */
};

/* -EINVAL: no engine's page, or one without that histogram; *reterr says why. -ENOMEM. */
int verify_page_read(struct span body, struct verify_page *ret, struct err *reterr) WARN_UNUSED;
/* Whether a page has a family that a selector's name can mean. */
bool verify_page_has(struct span body, struct span name);

/* What came between two pages. */
struct verify_rise {
    double count, mean;
    double p99_from, p99_to; /* the bucket of the 99th percentile; to may be infinite */
    bool has_buckets;
};
/* before may be zeroed: from the start. A counter that went back counts from 0. */
struct verify_rise verify_page_rise(const struct verify_page *before,
                                    const struct verify_page *after);

#endif
