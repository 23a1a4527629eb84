/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/expand.h - one run of a template: what its parts share.
 *
 * Parts:     expand.c nodes, expand_eval.c pipelines and what is in them.
 * Limits:    steps (a node, a command, an element; what a function reads costs more), depth, bytes
 *            of output, bytes in use.
 * Errors:    -EINVAL, -E2BIG with a text and its place; -ENOMEM.
 * Threading: one owner; the template is only read.
 */
#ifndef TEMPLATE_EXPAND_H
#define TEMPLATE_EXPAND_H

#include "template/builtin.h"
#include "template/tnode.h"

struct expand {
    const struct template *t;
    struct buf *out;
    size_t out_from; /* length of out before the run */
    struct arena arena;
    struct arena_budget budget;
    struct builtin_call call;
    struct tvalue *frame; /* variables of the definition that runs */
    int depth;
    int n_steps;
    struct err err;
};

/* Says what is wrong at an offset of the text; returns code. */
int expand_fail(struct expand *x, int code, size_t at, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* n steps of the run's work; -E2BIG. */
int expand_step(struct expand *x, size_t n, size_t at) WARN_UNUSED;
/* One level deeper; -E2BIG. The caller takes it back from x->depth. */
int expand_descend(struct expand *x, size_t at) WARN_UNUSED;

/* The value of a pipeline, and the variables that it sets. */
int expand_pipe(struct expand *x, const struct tpipe *pipe, const struct tvalue *dot,
                struct tvalue *ret) WARN_UNUSED;

#endif
