/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/eval_limits.c - what a query may use, and the texts that tell when it is too much.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "promql/eval.h"

enum { WORK_BETWEEN_ASKING = 8192 };

int eval_fail(struct eval *e, int code, const struct node *n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(e->err->text, sizeof(e->err->text), fmt, args); /* cut where too long */
    va_end(args);
    e->err->at = n ? n->from : 0;
    e->err->to = n ? n->to : 0;
    e->err->line = 0; /* users know these texts without a place */
    e->err->column = 0;
    return code;
}

int eval_fail_same_labels(struct eval *e)
{
    return eval_fail(e, -EINVAL, NULL, "vector cannot contain metrics with the same labelset");
}

static int too_many_samples(struct eval *e)
{
    return eval_fail(e, -E2BIG, NULL,
                     "query processing would load too many samples into memory in query execution "
                     "(more than %" PRIu64 ")",
                     e->options->max_samples);
}

static int ended(struct eval *e, int why)
{
    if (why == -ECANCELED)
        return eval_fail(e, why, NULL, "query was canceled in expression evaluation");
    if (why == -ETIMEDOUT)
        return eval_fail(e, why, NULL, "query timed out in expression evaluation");
    return eval_fail(e, why, NULL, "query ended in expression evaluation: %s", err_str(why));
}

int eval_work(struct eval *e, uint64_t n)
{
    e->n_unasked += n;
    if (e->n_unasked < WORK_BETWEEN_ASKING)
        return 0;
    e->n_unasked = 0;
    int why = e->options->is_over ? e->options->is_over(e->options->ctx) : 0;
    return why ? ended(e, why < 0 ? why : -ECANCELED) : 0;
}

int eval_count_samples(struct eval *e, size_t n)
{
    e->n_samples += n;
    if (e->n_samples > e->options->max_samples)
        return too_many_samples(e);
    return eval_work(e, n + 1);
}

int eval_check_cells(struct eval *e, size_t n_columns, size_t n_steps)
{
    if (n_steps > 0 && n_columns > e->options->max_samples / n_steps)
        return too_many_samples(e);
    return eval_work(e, n_steps);
}
