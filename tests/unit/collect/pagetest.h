/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagetest.h - a page in the hands of a test: its job as YAML, what the last scrape told.
 */
#ifndef PAGETEST_H
#define PAGETEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/metricpage.h"
#include "harness.h"
#include "series/reader.h"

enum { PAGETEST_STEP_MS = 10000 };

struct pagetest {
    struct scrape_file *file;
    struct metricpage *page;
    struct batch *batch; /* of the last scrape */
    struct metricpage_counts counts;
    const char *words;
    int64_t t_ms;
};

/* keys: of the job, indented by two blanks. */
static inline struct scrape_file *pagetest_file(const char *keys)
{
    static struct err_list errs;
    struct scrape_file *f = NULL;
    char text[4096];

    err_list_init(&errs);
    (void)snprintf(text, sizeof(text), "scrape_configs:\n- job_name: j\n%s", keys);
    if (scrape_file_read(span_cstr(text), "f", &f, &errs) != 0)
        fail_msg("%s\n%s", text, errs.items[0].err.text);
    return f;
}

static inline void pagetest_init(struct pagetest *t, const char *keys)
{
    static const struct label labels[] = {{SPAN_INIT("instance"), SPAN_INIT("i:1")},
                                          {SPAN_INIT("job"), SPAN_INIT("j")}};

    *t = (struct pagetest){.file = pagetest_file(keys), .t_ms = 1000000};
    assert_int_equal(metricpage_new(&t->file->jobs[0], (struct labels){labels, 2}, &t->page), 0);
}

static inline void pagetest_done(struct pagetest *t)
{
    t->page = metricpage_free(t->page);
    t->batch = batch_free(t->batch);
    t->file = scrape_file_unref(t->file);
}

static inline int pagetest_read_as(struct pagetest *t, struct span body, enum text_format format)
{
    t->batch = batch_free(t->batch);
    assert_int_equal(batch_new(&t->batch), 0);
    t->t_ms += PAGETEST_STEP_MS;
    t->words = "";
    return metricpage_read(t->page, body, format, t->t_ms, t->batch, &t->counts, &t->words);
}

static inline void pagetest_read(struct pagetest *t, const char *body)
{
    int r = pagetest_read_as(t, span_cstr(body), TEXT_PROMETHEUS);

    if (r != 0)
        fail_msg("%d: %s", r, t->words);
}

/* The sample of a series as labels_print has it; NULL: not told. Told twice is a failure. */
static inline const struct batch_sample *pagetest_find(const struct pagetest *t, const char *series)
{
    const struct batch_sample *found = NULL;
    struct buf b;

    buf_init(&b, 65536);
    for (size_t i = 0; i < t->batch->n; i++) {
        buf_clear(&b);
        assert_int_equal(labels_print(t->batch->at[i].labels, &b), 0);
        if (!span_eq(buf_span(&b), span_cstr(series)))
            continue;
        if (found)
            fail_msg("%s is there twice", series);
        found = &t->batch->at[i];
    }
    buf_done(&b);
    return found;
}

/* The same, which has to be there. */
static inline const struct batch_sample *pagetest_need(const struct pagetest *t, const char *series)
{
    const struct batch_sample *found = pagetest_find(t, series);

    if (!found) {
        fail_msg("%s is not there", series);
        abort();
    }
    return found;
}

static inline void pagetest_print(const struct pagetest *t)
{
    struct buf b;

    for (size_t i = 0; i < t->batch->n; i++) {
        buf_init(&b, 65536);
        assert_int_equal(labels_print(t->batch->at[i].labels, &b), 0);
        (void)fprintf(stderr, "%.*s %g\n", SPAN_ARG(buf_span(&b)), t->batch->at[i].v);
        buf_done(&b);
    }
}

#define assert_value(t, series, want)                                                              \
    do {                                                                                           \
        const struct batch_sample *s_ = pagetest_find(t, series);                                  \
        if (!s_) {                                                                                 \
            pagetest_print(t);                                                                     \
            fail_msg("%s:%d: %s is not there", __FILE__, __LINE__, series);                        \
        } else if (s_->v != (want) || series_is_stale(s_->v))                                      \
            fail_msg("%s:%d: %s is %g", __FILE__, __LINE__, series, s_->v);                        \
    } while (0)
#define assert_stale(t, series)                                                                    \
    do {                                                                                           \
        const struct batch_sample *s_ = pagetest_find(t, series);                                  \
        if (!s_ || !series_is_stale(s_->v))                                                        \
            fail_msg("%s:%d: %s has no stale marker", __FILE__, __LINE__, series);                 \
    } while (0)
#define assert_none(t, series)                                                                     \
    do {                                                                                           \
        if (pagetest_find(t, series))                                                              \
            fail_msg("%s:%d: %s is there", __FILE__, __LINE__, series);                            \
    } while (0)

#endif
