/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_compare.c - eq, ne, lt, le, gt, ge; and, or, not.
 *
 * Only like is compared with like: a value of a query (a float) with 5 (an int) is an error in Go,
 * and so it is here; 5.0 is right.
 */
#include <errno.h>

#include "template/builtin.h"

static bool is_basic(enum tvalue_kind kind)
{
    return kind == TVALUE_BOOL || kind == TVALUE_INT || kind == TVALUE_FLOAT ||
           kind == TVALUE_STRING;
}

static int refuse(struct builtin_call *c, const struct tvalue *a, const struct tvalue *b)
{
    bool is_number = (a->kind == TVALUE_FLOAT && b->kind == TVALUE_INT) ||
                     (a->kind == TVALUE_INT && b->kind == TVALUE_FLOAT);
    if (is_number)
        return builtin_fail(c,
                            "incompatible types for comparison: %s and %s; write 5.0 for 5 where "
                            "it is compared with a value",
                            tvalue_type(a->kind), tvalue_type(b->kind));
    return builtin_fail(c, "incompatible types for comparison: %s and %s", tvalue_type(a->kind),
                        tvalue_type(b->kind));
}

static int is_equal(struct builtin_call *c, const struct tvalue *a, const struct tvalue *b,
                    bool *ret)
{
    if (a->kind == TVALUE_NONE || b->kind == TVALUE_NONE) {
        *ret = a->kind == b->kind;
        return 0;
    }
    if (a->kind != b->kind)
        return refuse(c, a, b);
    switch (a->kind) {
    case TVALUE_BOOL:
        *ret = a->b == b->b;
        return 0;
    case TVALUE_FLOAT:
        *ret = a->f == b->f;
        return 0;
    case TVALUE_STRING:
        *ret = span_eq(a->s, b->s);
        return 0;
    case TVALUE_INT:
        *ret = a->i == b->i;
        return 0;
    case TVALUE_SAMPLE: /* pointers in Go */
        *ret = a->sample == b->sample;
        return 0;
    case TVALUE_HIST:
        *ret = a->hist == b->hist;
        return 0;
    default:
        return builtin_fail(c, "non-comparable type %s", tvalue_type(a->kind));
    }
}

static int is_less(struct builtin_call *c, const struct tvalue *a, const struct tvalue *b,
                   bool *ret)
{
    if (a->kind != b->kind)
        return refuse(c, a, b);
    if (!is_basic(a->kind) || a->kind == TVALUE_BOOL)
        return builtin_fail(c, "invalid type for comparison: %s", tvalue_type(a->kind));
    *ret = a->kind == TVALUE_INT     ? a->i < b->i
           : a->kind == TVALUE_FLOAT ? a->f < b->f
                                     : span_cmp(a->s, b->s) < 0;
    return 0;
}

/* Whether the first is equal to any of the others. */
static int call_eq(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    bool is = false;
    int r = 0;
    for (size_t i = 1; i < n && r == 0 && !is; i++)
        r = is_equal(c, &args[0], &args[i], &is);
    *ret = tvalue_bool(is);
    return r;
}

static int call_ne(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    int r = call_eq(c, args, n, ret);
    ret->b = !ret->b;
    return r;
}

static int call_lt(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    bool is = false;
    (void)n;
    int r = is_less(c, &args[0], &args[1], &is);
    *ret = tvalue_bool(is);
    return r;
}

static int call_le(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    bool is_same = false;
    int r = call_lt(c, args, n, ret);
    if (r == 0 && !ret->b)
        r = is_equal(c, &args[0], &args[1], &is_same);
    ret->b = ret->b || is_same;
    return r;
}

/* As in Go, gt is what le is not: of NaN it is true. */
static int call_gt(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    int r = call_le(c, args, n, ret);
    ret->b = !ret->b;
    return r;
}

static int call_ge(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    int r = call_lt(c, args, n, ret);
    ret->b = !ret->b;
    return r;
}

static int call_not(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    (void)c, (void)n;
    *ret = tvalue_bool(!tvalue_is_true(&args[0]));
    return 0;
}

static const bool on_true = true, on_false = false;

const struct builtin builtin_compare_rows[] = {
    {.name = "eq", .takes = "aaa*", .call = call_eq},
    {.name = "ne", .takes = "aa", .call = call_ne},
    {.name = "lt", .takes = "aa", .call = call_lt},
    {.name = "le", .takes = "aa", .call = call_le},
    {.name = "gt", .takes = "aa", .call = call_gt},
    {.name = "ge", .takes = "aa", .call = call_ge},
    {.name = "not", .takes = "a", .call = call_not},
    {.name = "and", .takes = "aa*", .stop = &on_false},
    {.name = "or", .takes = "aa*", .stop = &on_true},
    {.name = NULL},
};
