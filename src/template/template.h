/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/template.h - texts with {{ }}: labels and annotations of alerts, as Prometheus has them.
 *
 * Role:      Go's text/template with Prometheus' functions, as far as rule files use it: actions,
 *            pipelines, variables, if, else, with, range, define and template, comments, trim
 *            markers; .Labels, .Value and the like, $labels, $value, $externalLabels, $externalURL;
 *            query, first, value, label, strvalue, sortByLabel, humanize and its kin, printf, ...
 *            (the rows of template/builtin_*.c; the module's README.md says what differs).
 * Parsing:   once, when a rule file is read; so that a mistake is found then and not at 3 a.m.
 * Errors:    -EINVAL with text ("1:12: function \"foo\" not defined", line and column of the
 *            template's text); -E2BIG: longer than TEMPLATE_OUTPUT_MAX, too many steps, too deep;
 *            -ENOMEM. What is already in out stays there: the caller drops it.
 * Limits:    TEMPLATE_TEXT_MAX bytes of text, TEMPLATE_DEPTH_MAX nested actions and calls,
 *            TEMPLATE_STEPS_MAX steps, TEMPLATE_OUTPUT_MAX bytes.
 * Threading: pure. A parsed template is constant and may be run by several threads.
 * Source:    Prometheus' template/template.go (behaviour), Go's text/template documentation.
 */
#ifndef TEMPLATE_TEMPLATE_H
#define TEMPLATE_TEMPLATE_H

#include "base/err.h"
#include "series/fhist.h"
#include "series/labels.h"

enum {
    TEMPLATE_TEXT_MAX = 64 * 1024,
    TEMPLATE_DEPTH_MAX = 100,
    TEMPLATE_STEPS_MAX = 100000,
    TEMPLATE_OUTPUT_MAX = 256 * 1024,
};

struct template;
int template_parse(struct span text, struct template **ret, struct err *reterr) WARN_UNUSED;
struct template *template_free(struct template *t); /* NULL is allowed; returns NULL */
/* Text without any {{: it is its own result. */
bool template_is_plain(const struct template *t);

/* One element of what `query` returns. */
struct template_sample {
    struct labels labels;
    double v;
    const struct fhist *h; /* NULL: v is the value */
};

struct template_env {
    struct labels labels;          /* $labels */
    struct labels external_labels; /* $externalLabels */
    struct span external_url;      /* $externalURL */
    double value;                  /* $value */
    const struct fhist *hist;      /* $value where it is a histogram, else NULL */
    int64_t now_ms;
    /* An instant query at the time of the evaluation; results live in a. NULL: `query` is an error.
     */
    int (*query)(void *ctx, struct span expr, struct arena *a, struct template_sample **ret,
                 size_t *ret_n, struct err *reterr);
    void *ctx;
};

/* Appends the result to out. */
int template_run(const struct template *t, const struct template_env *env, struct buf *out,
                 struct err *reterr) WARN_UNUSED;

#endif
