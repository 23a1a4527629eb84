/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_collection.c - len, index, slice; call, which no value of a rule's template
 * answers.
 */
#include <errno.h>

#include "template/builtin.h"

static int call_len(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    int64_t len = tvalue_len(&args[0]);
    (void)n;
    if (args[0].kind == TVALUE_NONE)
        return builtin_fail(c, "len of nil pointer");
    if (len < 0)
        return builtin_fail(c, "len of type %s", tvalue_type(args[0].kind));
    *ret = tvalue_int(len);
    return 0;
}

/* limit: the largest that is allowed. */
static int check_index(struct builtin_call *c, const struct tvalue *v, int64_t limit, int64_t *ret)
{
    if (v->kind != TVALUE_INT)
        return builtin_fail(c, "cannot index slice/array with type %s", tvalue_type(v->kind));
    if (v->i < 0 || v->i > limit)
        return builtin_fail(c, "index out of range: %lld", (long long)v->i);
    *ret = v->i;
    return 0;
}

static int index_once(struct builtin_call *c, const struct tvalue *key, struct tvalue *v)
{
    struct tvalue from = *v, element_key;
    int64_t i = 0;
    int r;
    if (from.kind == TVALUE_LABELS || from.kind == TVALUE_ARGS) {
        if (key->kind != TVALUE_STRING)
            return builtin_fail(c, "value has type %s; should be string", tvalue_type(key->kind));
        return tvalue_field(&from, key->s, v);
    }
    if (from.kind != TVALUE_STRING && from.kind != TVALUE_SAMPLES)
        return from.kind == TVALUE_NONE
                   ? builtin_fail(c, "index of untyped nil")
                   : builtin_fail(c, "can't index item of type %s", tvalue_type(from.kind));
    r = check_index(c, key, tvalue_len(&from) - 1, &i);
    if (r != 0)
        return r;
    if (from.kind == TVALUE_STRING)
        *v = tvalue_int((unsigned char)from.s.p[i]);
    else
        tvalue_element(&from, (size_t)i, &element_key, v);
    return 0;
}

static int call_index(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    int r = 0;
    *ret = args[0];
    if (ret->kind == TVALUE_NONE)
        return builtin_fail(c, "index of untyped nil");
    for (size_t i = 1; i < n && r == 0; i++)
        r = index_once(c, &args[i], ret);
    return r;
}

/* slice x, slice x from, slice x from to; a third number would be a capacity, which texts lack. */
static int call_slice(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    int64_t from = 0, to = tvalue_len(&args[0]);
    int r = 0;
    if (args[0].kind == TVALUE_NONE)
        return builtin_fail(c, "slice of untyped nil");
    if (args[0].kind != TVALUE_STRING && args[0].kind != TVALUE_SAMPLES)
        return builtin_fail(c, "can't slice item of type %s", tvalue_type(args[0].kind));
    if (n > 3)
        return builtin_fail(c, "too many slice indexes: %zu", n - 1);
    if (n > 2)
        r = check_index(c, &args[2], to, &to);
    if (r == 0 && n > 1)
        r = check_index(c, &args[1], tvalue_len(&args[0]), &from);
    if (r != 0)
        return r;
    if (from > to)
        return builtin_fail(c, "invalid slice index: %lld > %lld", (long long)from, (long long)to);
    *ret = args[0];
    if (ret->kind == TVALUE_STRING) {
        ret->s = span_of(ret->s.p + from, (size_t)(to - from));
    } else {
        ret->samples.at = ret->samples.at ? ret->samples.at + from : NULL;
        ret->samples.n = (size_t)(to - from);
    }
    return 0;
}

static int call_call(struct builtin_call *c, const struct tvalue *args, size_t n,
                     struct tvalue *ret)
{
    (void)n, (void)ret;
    return builtin_fail(c, "non-function of type %s", tvalue_type(args[0].kind));
}

const struct builtin builtin_collection_rows[] = {
    {.name = "len", .takes = "a", .call = call_len},
    {.name = "index", .takes = "aa*", .call = call_index},
    {.name = "slice", .takes = "aa*", .call = call_slice},
    {.name = "call", .takes = "aa*", .call = call_call},
    {.name = NULL},
};
