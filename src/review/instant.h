/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/instant.h - private to review/: an instant query at the end of the period.
 */
#ifndef REVIEW_INSTANT_H
#define REVIEW_INSTANT_H

#include "promql/query.h"
#include "review/review_private.h"

struct instant {
    struct buf text;
    struct promql_expr *_expr;
    struct promql_result result; /* of instant_run */
};
void instant_init(struct instant *a); /* text is to be filled */
/* What cannot be evaluated has no value, which is no error; -ENOMEM, -ECANCELED and the like are.
 * ret_value: NULL where there is none. */
int instant_run(struct instant *a, const struct review *r, const struct value **ret_value,
                struct err *reterr) WARN_UNUSED;
void instant_done(struct instant *a);

#endif
