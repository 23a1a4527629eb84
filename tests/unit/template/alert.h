/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert.h - one alert, and answers to a few queries, that the tests of templates run in.
 */
#ifndef ALERT_H
#define ALERT_H

#include <errno.h>
#include <math.h>

#include "harness.h"
#include "template/template.h"

static const struct label alert_label[] = {
    {SPAN_INIT("empty_like"), SPAN_INIT(" ")},
    {SPAN_INIT("instance"), SPAN_INIT("web-1.example.com:9100")},
    {SPAN_INIT("job"), SPAN_INIT("api")},
};
static const struct label alert_external_label[] = {{SPAN_INIT("cluster"), SPAN_INIT("c1")}};
static const struct label alert_up_b[] = {
    {SPAN_INIT("__name__"), SPAN_INIT("up")},
    {SPAN_INIT("__value__"), SPAN_INIT("text")},
    {SPAN_INIT("host"), SPAN_INIT("b")},
};
static const struct label alert_up_a[] = {
    {SPAN_INIT("__name__"), SPAN_INIT("up")},
    {SPAN_INIT("host"), SPAN_INIT("a")},
};

/* "up": two samples; "hist": a histogram; "none": nothing; "many": 3000; anything else: an error.
 */
static int alert_query(void *ctx, struct span expr, struct arena *a, struct template_sample **ret,
                       size_t *ret_n, struct err *reterr)
{
    static struct fhist_bucket buckets[] = {{.index = 1, .count = 3}};
    static const struct fhist hist = {.count = 3, .sum = 10, .positive = {.at = buckets, .n = 1}};
    const struct template_sample all[] = {
        {.labels = {alert_up_b, ARRAY_LEN(alert_up_b)}, .v = 1},
        {.labels = {alert_up_a, ARRAY_LEN(alert_up_a)}, .v = 0.25},
        {.labels = {alert_up_a, ARRAY_LEN(alert_up_a)}, .v = 0, .h = &hist},
    };
    int *n_asked = ctx;
    size_t from = span_eq(expr, SPAN("hist")) ? 2 : 0;
    size_t n = span_eq(expr, SPAN("up"))     ? 2
               : span_eq(expr, SPAN("many")) ? 3000
               : from == 2                   ? 1
                                             : 0;
    ++*n_asked;
    if (n == 0 && !span_eq(expr, SPAN("none")))
        return err_set(reterr, -EINVAL, "1:1: parse error: %.*s", SPAN_ARG(expr));
    struct template_sample *at = arena_array(a, n, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        at[i] = all[n > 2 ? 0 : from + i];
    *ret = at;
    *ret_n = n;
    return 0;
}

static int alert_n_asked;

static inline struct template_env alert_env(void)
{
    return (struct template_env){
        .labels = {alert_label, ARRAY_LEN(alert_label)},
        .external_labels = {alert_external_label, ARRAY_LEN(alert_external_label)},
        .external_url = SPAN("http://host:9090/path%20x/prefix?q=1#top"),
        .value = 1234.5,
        .now_ms = 1353755652000,
        .query = alert_query,
        .ctx = &alert_n_asked,
    };
}

/* Parses and runs; err.text is empty where nothing failed. */
static inline int alert_expand(struct span text, const struct template_env *env, struct buf *out,
                               struct err *err)
{
    struct template *t = NULL;
    *err = (struct err){.code = 0};
    int r = template_parse(text, &t, err);
    if (r == 0)
        r = template_run(t, env, out, err);
    template_free(t);
    return r;
}

/* One row: the text that comes out, or the message. */
static inline void alert_check(const char *text, const char *want)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    buf_init(&out, 1 << 20);
    int r = alert_expand(span_cstr(text), &env, &out, &err);
    if (r != 0)
        assert_span_equal(text, span_cstr(err.text), span_cstr(want));
    else
        assert_span_equal(text, buf_span(&out), span_cstr(want));
    buf_done(&out);
}

#endif
