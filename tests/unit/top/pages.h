/* SPDX-License-Identifier: Apache-2.0 */
/* A feed out of made-up pages. */
#ifndef PAGES_H
#define PAGES_H

#include "harness.h"

#include "top/feed.h"

#define PAGE_REQUESTS(m, t, outcome, n)                                                            \
    "llm_requests_total{model=\"" m "\",upstream=\"u\",tenant=\"" t "\",outcome=\"" outcome        \
    "\"} " n "\n"
#define PAGE_TTFT(m, le, n)                                                                        \
    "llm_ttft_seconds_bucket{model=\"" m "\",upstream=\"u\",tenant=\"a\",le=\"" le "\"} " n "\n"

static inline void feed_begin(struct top_feed *f)
{
    static const struct span names[] = {SPAN_INIT("model"), SPAN_INIT("upstream"),
                                        SPAN_INIT("tenant")};
    top_feed_init(f, names, 3);
}

static inline void feed_take(struct top_feed *f, const char *page, int64_t t_ms)
{
    assert_int_equal(top_feed_page(f, span_cstr(page), t_ms), 0);
}

#endif
