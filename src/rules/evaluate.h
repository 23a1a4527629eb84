/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/evaluate.h - one rule's evaluation in progress. Of this module only; evaluate_rule
 * (rules_private.h) is the door.
 *
 * Errors:    a negative errno; the text is in the evaluation (evaluation_fail).
 * Threading: the evaluator's thread.
 */
#ifndef RULES_EVALUATE_H
#define RULES_EVALUATE_H

#include "base/clock.h"
#include "rules/rules_private.h"

struct evaluation {
    struct tick *tick;
    struct rules *r;
    struct group *g;
    struct rule_run *rule;
    int64_t ts_ms;
    mono_t deadline;
    struct promql_result result;
    struct harvest harvest;
    bool has_harvest;
    char error[RULE_ERROR_MAX];
};

/* Sets the text; returns code. */
int evaluation_fail(struct evaluation *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for what an allocation or a batch returned. */
int evaluation_no_memory(struct evaluation *e, int code);

/* -ECANCELED: it has to stop; -ETIMEDOUT: it took as long as it may. ctx is the evaluation. */
int evaluation_is_over(void *ctx) WARN_UNUSED;

/* What a template's `query` calls; ctx is the evaluation. */
int evaluation_query(void *ctx, struct span text, struct arena *a, struct template_sample **ret,
                     size_t *ret_n, struct err *reterr) WARN_UNUSED;
const struct fhist *evaluation_hist(const struct column *c); /* NULL: a float */

/* The harvest of at most n_max series, and its end: it goes to the store. */
int evaluation_begin(struct evaluation *e, size_t n_max) WARN_UNUSED;
int evaluation_send(struct evaluation *e) WARN_UNUSED;

/* evaluate_alert.c: with the result that is there. */
int evaluate_alert(struct evaluation *e) WARN_UNUSED;

#endif
