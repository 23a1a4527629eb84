/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/expand.c - runs a template: what its nodes do.
 */
#include "template/expand.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "template/tlexer.h"
#include "template/verb.h"

/* Values and texts of one run; answers of queries, too. */
#define MEMORY_MAX (16 * MIB)

/* How a list of nodes ended, where nothing failed. */
enum {
    LEFT_BY_BREAK = 1,
    LEFT_BY_CONTINUE = 2,
};

static int run_list(struct expand *x, const struct tlist *list, const struct tvalue *dot);

int expand_fail(struct expand *x, int code, size_t at, const char *fmt, ...)
{
    char text[420];
    int line, column;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    tlexer_place(x->t->text, at, &line, &column);
    return err_set(&x->err, code, "%d:%d: %s", line, column, text);
}

int expand_step(struct expand *x, size_t n, size_t at)
{
    if (n <= (size_t)(TEMPLATE_STEPS_MAX - x->n_steps)) {
        x->n_steps += (int)n;
        return 0;
    }
    return expand_fail(x, -E2BIG, at, "the template needs more than %d steps", TEMPLATE_STEPS_MAX);
}

int expand_descend(struct expand *x, size_t at)
{
    if (++x->depth <= TEMPLATE_DEPTH_MAX)
        return 0;
    return expand_fail(x, -E2BIG, at, "nested more than %d deep", TEMPLATE_DEPTH_MAX);
}

/* r: of what was appended last. */
static int check_output(struct expand *x, int r, size_t at)
{
    bool is_too_long = buf_len(x->out) - x->out_from > TEMPLATE_OUTPUT_MAX;
    if (r == -EMSGSIZE || (r == 0 && is_too_long))
        return expand_fail(x, -E2BIG, at, "the result is longer than %d bytes",
                           TEMPLATE_OUTPUT_MAX);
    return r;
}

static int run_text(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    (void)dot;
    return check_output(x, buf_append(x->out, n->text), n->at);
}

static int run_action(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    struct tvalue v;
    int r = expand_pipe(x, n->pipe, dot, &v);
    if (r != 0 || n->pipe->n_slots > 0)
        return r;
    r = v.kind == TVALUE_NONE ? buf_append(x->out, SPAN("<no value>")) : verb_print(&v, x->out);
    return check_output(x, r, n->at);
}

static int run_deeper(struct expand *x, const struct tlist *list, const struct tvalue *dot,
                      size_t at)
{
    int r = expand_descend(x, at);
    if (r == 0)
        r = run_list(x, list, dot);
    x->depth--;
    return r;
}

static int run_if(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    struct tvalue v;
    int r = expand_pipe(x, n->pipe, dot, &v);
    if (r != 0)
        return r;
    return run_deeper(x, tvalue_is_true(&v) ? &n->body : &n->otherwise, dot, n->at);
}

static int run_with(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    struct tvalue v;
    int r = expand_pipe(x, n->pipe, dot, &v);
    if (r != 0)
        return r;
    return tvalue_is_true(&v) ? run_deeper(x, &n->body, &v, n->at)
                              : run_deeper(x, &n->otherwise, dot, n->at);
}

/* How often a range runs; -1: v is nothing to range over. */
static int64_t n_rounds(const struct tvalue *v)
{
    switch (v->kind) {
    case TVALUE_NONE:
        return 0;
    case TVALUE_INT:
        return v->i > 0 ? v->i : 0;
    case TVALUE_STRING:
        return -1;
    default:
        return tvalue_len(v);
    }
}

static int run_round(struct expand *x, const struct tnode *n, const struct tvalue *v, size_t i)
{
    const struct tpipe *pipe = n->pipe;
    struct tvalue key, element;
    int r = expand_step(x, 1, n->at);
    if (r != 0)
        return r;
    if (v->kind == TVALUE_INT)
        key = element = tvalue_int((int64_t)i);
    else
        tvalue_element(v, i, &key, &element);
    if (pipe->n_slots == TPIPE_VARIABLES_MAX)
        x->frame[pipe->slots[0]] = key;
    if (pipe->n_slots > 0)
        x->frame[pipe->slots[pipe->n_slots - 1]] = element;
    return run_deeper(x, &n->body, &element, n->at);
}

static int run_range(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    struct tvalue v;
    int r = expand_pipe(x, n->pipe, dot, &v);
    if (r != 0)
        return r;
    int64_t n_all = n_rounds(&v);
    if (n_all < 0)
        return expand_fail(x, -EINVAL, n->pipe->at, "range can't iterate over a value of type %s",
                           tvalue_type(v.kind));
    if (v.kind == TVALUE_INT && n->pipe->n_slots == TPIPE_VARIABLES_MAX)
        return expand_fail(x, -EINVAL, n->pipe->at,
                           "can't use a number to iterate over more than one variable");
    if (n_all == 0)
        return run_deeper(x, &n->otherwise, dot, n->at);
    for (int64_t i = 0; i < n_all; i++) {
        r = run_round(x, n, &v, (size_t)i);
        if (r < 0)
            return r;
        if (r == LEFT_BY_BREAK)
            break;
    }
    return 0;
}

/* A definition with a frame of its own. */
static int run_definition(struct expand *x, const struct tdefinition *d, const struct tvalue *dot,
                          size_t at)
{
    struct tvalue *outer = x->frame;
    struct tvalue *frame = arena_zalloc(&x->arena, d->n_slots, sizeof(*frame));
    if (!frame)
        return -ENOMEM;
    frame[0] = *dot;
    x->frame = frame;
    int r = run_deeper(x, &d->body, dot, at);
    x->frame = outer;
    return r;
}

static int run_template(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    struct tvalue v = tvalue_none();
    int r = n->pipe ? expand_pipe(x, n->pipe, dot, &v) : 0;
    return r == 0 ? run_definition(x, n->definition, &v, n->at) : r;
}

static int run_break(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    (void)x, (void)n, (void)dot;
    return LEFT_BY_BREAK;
}

static int run_continue(struct expand *x, const struct tnode *n, const struct tvalue *dot)
{
    (void)x, (void)n, (void)dot;
    return LEFT_BY_CONTINUE;
}

static int (*const runs[])(struct expand *x, const struct tnode *n, const struct tvalue *dot) = {
    [TNODE_TEXT] = run_text,   [TNODE_ACTION] = run_action,     [TNODE_IF] = run_if,
    [TNODE_WITH] = run_with,   [TNODE_RANGE] = run_range,       [TNODE_TEMPLATE] = run_template,
    [TNODE_BREAK] = run_break, [TNODE_CONTINUE] = run_continue,
};

static int run_list(struct expand *x, const struct tlist *list, const struct tvalue *dot)
{
    int r = 0;
    for (const struct tnode *n = list->first; n && r == 0; n = n->next) {
        r = expand_step(x, 1, n->at);
        if (r == 0)
            r = runs[n->kind](x, n, dot);
    }
    return r;
}

/* The whole text: its frame has what is known in every template. */
static int run_all(struct expand *x, const struct template_env *env)
{
    const struct tdefinition *d = x->t->definitions;
    struct tvalue dot = {.kind = TVALUE_DATA, .data = env};
    const struct tvalue known[] = {
        dot, tvalue_labels(env->labels), tvalue_labels(env->external_labels),
        tvalue_string(env->external_url), tvalue_of_sample(env->value, env->hist)};
    x->frame = arena_zalloc(&x->arena, d->n_slots, sizeof(*x->frame));
    if (!x->frame)
        return -ENOMEM;
    memcpy(x->frame, known, sizeof(known));
    return run_list(x, &d->body, &dot);
}

int template_run(const struct template *t, const struct template_env *env, struct buf *out,
                 struct err *reterr)
{
    struct expand x = {
        .t = t, .out = out, .out_from = buf_len(out), .budget = {.max_bytes = MEMORY_MAX}};
    int r;

    arena_init(&x.arena, &x.budget);
    x.call = (struct builtin_call){.env = env, .arena = &x.arena};
    buf_init(&x.call.scratch, TEMPLATE_OUTPUT_MAX);
    r = run_all(&x, env);
    if (r == -ENOMEM && x.budget.is_exceeded)
        r = err_set(&x.err, -E2BIG, "the template needs more than %zu MiB of memory",
                    MEMORY_MAX / MIB);
    else if (r == -ENOMEM)
        (void)err_set(&x.err, r, "%s", err_str(r));
    buf_done(&x.call.scratch);
    arena_done(&x.arena);
    if (r != 0 && reterr)
        *reterr = x.err;
    return r;
}
