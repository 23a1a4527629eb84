/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/page.h - private to review/: Markdown piece by piece; the first failure stays.
 */
#ifndef REVIEW_PAGE_H
#define REVIEW_PAGE_H

#include "base/attr.h"
#include "base/buf.h"
#include "review/review_private.h"

struct page {
    struct buf *out;
    int error; /* 0, or the first negative errno */
};

void page_add(struct page *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void page_text(struct page *p, struct span s);     /* of anybody: nothing in it is markup */
void page_labels(struct page *p, struct labels l); /* a blank and all but alertname */
void page_moment(struct page *p, int64_t ms);
void page_duration(struct page *p, int64_t ms); /* "3 h 2 min" */
void page_for(struct page *p, int64_t ms);      /* "10m", as rule files have it */
void page_number(struct page *p, double v);     /* four digits */
void page_percent(struct page *p, double ratio);
/* "1 time", "2 times" */
void page_times(struct page *p, unsigned n);

/* review_advice.c */
void review_advice_print(struct page *p, const struct review *r);

#endif
