/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/expand_eval.c - what pipelines are worth.
 *
 * The value of one command is the last argument of the next. What a function reads counts as work:
 * a loop over a long text is as dear as a long loop.
 */
#include <errno.h>

#include "template/datetime.h"
#include "template/expand.h"

enum { BYTES_PER_STEP = 256 };

static int eval_operand(struct expand *x, const struct toperand *o, const struct tvalue *dot,
                        struct tvalue *ret);

/* Arguments of a call: those that are written, and the value of the command before. */
struct arguments {
    struct tvalue *at;
    size_t n;
};

static int eval_arguments(struct expand *x, const struct tcommand *c, const struct tvalue *dot,
                          const struct tvalue *last, struct arguments *ret)
{
    size_t n = c->n - 1;
    struct tvalue *at = arena_array(&x->arena, n + 1, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int r = eval_operand(x, &c->at[i + 1], dot, &at[i]);
        if (r != 0)
            return r;
    }
    if (last)
        at[n++] = *last;
    *ret = (struct arguments){at, n};
    return 0;
}

/* n_steps, and those for what is read, weight times. */
static int charge(struct expand *x, const struct arguments *args, size_t n_steps, size_t weight,
                  size_t at)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < args->n; i++)
        n_bytes += args->at[i].kind == TVALUE_STRING ? args->at[i].s.n : 0;
    return expand_step(x, n_steps + n_bytes * weight / BYTES_PER_STEP, at);
}

static int call_function(struct expand *x, const struct toperand *o, const struct arguments *args,
                         struct tvalue *ret)
{
    size_t weight = o->function->weight > 0 ? o->function->weight : 1;
    int r = charge(x, args, o->function->n_steps, weight, o->at);
    if (r != 0)
        return r;
    r = builtin_run(o->function, &x->call, args->at, args->n, ret);
    if (r == 0)
        return expand_step(x, x->call.n_steps, o->at);
    if (r == -ENOMEM)
        return r;
    return expand_fail(x, r, o->at, "%s", x->call.err.text);
}

/* and, or: up to the argument that decides. */
static int eval_lazily(struct expand *x, const struct tcommand *c, bool stop,
                       const struct tvalue *dot, const struct tvalue *last, struct tvalue *ret)
{
    for (size_t i = 1; i < c->n; i++) {
        int r = eval_operand(x, &c->at[i], dot, ret);
        if (r != 0 || tvalue_is_true(ret) == stop)
            return r;
    }
    if (last)
        *ret = *last;
    return 0;
}

static int eval_call(struct expand *x, const struct tcommand *c, const struct tvalue *dot,
                     const struct tvalue *last, struct tvalue *ret)
{
    struct arguments args;
    const bool *stop = c->at[0].function->stop;
    if (stop)
        return eval_lazily(x, c, *stop, dot, last, ret);
    int r = eval_arguments(x, c, dot, last, &args);
    return r == 0 ? call_function(x, &c->at[0], &args, ret) : r;
}

static int eval_base(struct expand *x, const struct toperand *o, const struct tvalue *dot,
                     struct tvalue *ret)
{
    const struct arguments none = {NULL, 0};
    int r;
    switch (o->kind) {
    case TOPERAND_DOT:
        *ret = *dot;
        return 0;
    case TOPERAND_CONSTANT:
        *ret = o->constant;
        return 0;
    case TOPERAND_VARIABLE:
        *ret = x->frame[o->slot];
        return 0;
    case TOPERAND_FUNCTION:
        return call_function(x, o, &none, ret);
    case TOPERAND_PIPE:
        r = expand_descend(x, o->at);
        if (r == 0)
            r = expand_pipe(x, o->pipe, dot, ret);
        x->depth--;
        return r;
    }
    return -EINVAL;
}

/* One field of *v, or a method, which alone takes arguments. */
static int eval_field(struct expand *x, size_t at, struct span name, const struct arguments *args,
                      struct tvalue *v)
{
    struct tvalue from = *v;
    int r = charge(x, args, 0, 1, at);
    if (r != 0)
        return r;
    r = datetime_method(&x->call, &from, name, args->at, args->n, v);
    if (r != -ENOENT)
        return r == 0 || r == -ENOMEM ? r : expand_fail(x, r, at, "%s", x->call.err.text);
    int n = (int)(name.n > 100 ? 100 : name.n);
    r = tvalue_field(&from, name, v);
    if (r == -ENOENT)
        return expand_fail(x, -EINVAL, at, "can't evaluate field %.*s in type %s", n, name.p,
                           tvalue_type(from.kind));
    if (args->n > 0)
        return expand_fail(x, -EINVAL, at, "%.*s is not a method but has arguments", n, name.p);
    return r;
}

/* args: of the last field. */
static int eval_with_fields(struct expand *x, const struct toperand *o, const struct tvalue *dot,
                            const struct arguments *args, struct tvalue *ret)
{
    const struct arguments none = {NULL, 0};
    int r = eval_base(x, o, dot, ret);
    for (size_t i = 0; i < o->n_fields && r == 0; i++)
        r = eval_field(x, o->at, o->fields[i], i + 1 == o->n_fields ? args : &none, ret);
    return r;
}

static int eval_operand(struct expand *x, const struct toperand *o, const struct tvalue *dot,
                        struct tvalue *ret)
{
    const struct arguments none = {NULL, 0};
    return eval_with_fields(x, o, dot, &none, ret);
}

/* last: the value of the command before; NULL: there is none. */
static int eval_command(struct expand *x, const struct tcommand *c, const struct tvalue *dot,
                        const struct tvalue *last, struct tvalue *ret)
{
    const struct toperand *o = &c->at[0];
    struct arguments args = {NULL, 0};
    int r = expand_step(x, 1, o->at);
    if (r != 0)
        return r;
    if (o->kind == TOPERAND_FUNCTION && o->n_fields == 0)
        return eval_call(x, c, dot, last, ret);
    if (c->n > 1 || last)
        r = eval_arguments(x, c, dot, last, &args);
    return r == 0 ? eval_with_fields(x, o, dot, &args, ret) : r;
}

int expand_pipe(struct expand *x, const struct tpipe *pipe, const struct tvalue *dot,
                struct tvalue *ret)
{
    struct tvalue last, v = tvalue_none();
    for (size_t i = 0; i < pipe->n; i++) {
        last = v;
        int r = eval_command(x, &pipe->commands[i], dot, i > 0 ? &last : NULL, &v);
        if (r != 0)
            return r;
    }
    for (size_t i = 0; i < pipe->n_slots; i++)
        x->frame[pipe->slots[i]] = v;
    *ret = v;
    return 0;
}
