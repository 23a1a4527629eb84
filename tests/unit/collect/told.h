/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - one reading of a source, and its samples looked up.
 */
#ifndef TOLD_H
#define TOLD_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/source_out.h"
#include "harness.h"

static inline struct batch *told_new(void)
{
    struct batch *b = NULL;

    assert_int_equal(batch_new(&b), 0);
    return b;
}

static inline bool told_is(struct labels l, const char *text)
{
    struct buf printed;
    bool is;

    buf_init(&printed, 64 * 1024);
    assert_int_equal(labels_print(l, &printed), 0);
    is = span_eq(buf_span(&printed), span_cstr(text));
    buf_done(&printed);
    return is;
}

/* The value of a series as labels_print has it, `host_load{window="1m"}`; NaN: it is not there.
 * Twice the same series fails. */
static inline double told(const struct batch *b, const char *text)
{
    double v = (double)NAN;
    int n = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (told_is(b->at[i].labels, text)) {
            v = b->at[i].v;
            n++;
        }
    }
    if (n > 1)
        fail_msg("%s is there %d times", text, n);
    return v;
}

/* How many samples a metric has. */
static inline size_t told_count(const struct batch *b, const char *metric)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += span_eq(labels_name(b->at[i].labels), span_cstr(metric));
    return n;
}

static inline void told_print(const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        struct buf printed;

        buf_init(&printed, 64 * 1024);
        assert_int_equal(labels_print(b->at[i].labels, &printed), 0);
        print_message("%.*s %.10g\n", SPAN_ARG(buf_span(&printed)), b->at[i].v);
        buf_done(&printed);
    }
}

#define assert_told(b, text, want)                                                                 \
    do {                                                                                           \
        double got_ = told(b, text);                                                               \
        double want_ = want;                                                                       \
        if (!(fabs(got_ - want_) <= 1e-9 * fabs(want_) + 1e-12)) {                                 \
            told_print(b);                                                                         \
            print_error("%s is %.17g, not %.17g\n", text, got_, want_);                            \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)
#define assert_untold(b, text) assert_row(text, isnan(told(b, text)))

/* Every sample is a number, its labels are sorted and named well, and no series is there twice. */
static inline void told_check(const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        struct labels l = b->at[i].labels;

        assert_true(isfinite(b->at[i].v));
        assert_true(labels_is_metric_name(labels_name(l)));
        for (size_t k = 0; k < l.n; k++)
            assert_true(l.at[k].value.n > 0 && labels_is_label_name(l.at[k].name));
        for (size_t k = 0; k < i; k++)
            assert_false(labels_eq(l, b->at[k].labels));
    }
}

static inline void told_file(const char *root, const char *path, const char *text)
{
    char at[512];
    FILE *f;

    (void)snprintf(at, sizeof(at), "mkdir -p %s/%s", root, path);
    *strrchr(at, '/') = '\0';
    assert_int_equal(system(at), 0);
    (void)snprintf(at, sizeof(at), "%s/%s", root, path);
    f = fopen(at, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

#endif
