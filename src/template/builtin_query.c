/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_query.c - query and what is done with its answer; args.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "template/builtin.h"

enum { QUERY_STEPS = 100 }; /* so that one template asks a thousand times at most */

static int call_query(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    struct template_sample *at = NULL;
    size_t n_samples = 0;
    (void)n;
    if (!c->env->query)
        return builtin_fail(c, "there is nothing that can be asked here");
    c->err.text[0] = '\0';
    int r = c->env->query(c->env->ctx, args[0].s, c->arena, &at, &n_samples, &c->err);
    if (r == -ENOMEM)
        return r;
    if (r != 0)
        return c->err.text[0] != '\0' ? -EINVAL : builtin_fail(c, "%s", err_str(r));
    *ret = (struct tvalue){.kind = TVALUE_SAMPLES, .samples = {at, n_samples}};
    return 0;
}

static int call_first(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)n;
    if (args[0].samples.n == 0)
        return builtin_fail(c, "first() called on vector with no elements");
    *ret = (struct tvalue){.kind = TVALUE_SAMPLE, .sample = args[0].samples.at};
    return 0;
}

static int call_label(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)c, (void)n;
    *ret = tvalue_string(labels_get(args[1].sample->labels, args[0].s));
    return 0;
}

static int call_value(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    (void)c, (void)n;
    *ret = tvalue_of_sample(args[0].sample->v, args[0].sample->h);
    return 0;
}

static int call_strvalue(struct builtin_call *c, const struct tvalue *args, size_t n,
                         struct tvalue *ret)
{
    (void)c, (void)n;
    *ret = tvalue_string(labels_get(args[0].sample->labels, SPAN("__value__")));
    return 0;
}

static int compare(struct span name, const struct template_sample *a,
                   const struct template_sample *b)
{
    return span_cmp(labels_get(a->labels, name), labels_get(b->labels, name));
}

/* Merges two sorted halves of at, which begins with n_left of the left one. */
static void merge(struct span name, struct template_sample *at, size_t n_left, size_t n,
                  struct template_sample *work)
{
    size_t left = 0, right = n_left;
    for (size_t i = 0; i < n; i++) {
        bool is_right = left == n_left || (right < n && compare(name, &at[left], &at[right]) > 0);
        work[i] = is_right ? at[right++] : at[left++];
    }
    memcpy(at, work, n * sizeof(*at));
}

/* Stable. In place, as in Go: the list that was handed in is sorted, too. */
static int call_sort(struct builtin_call *c, const struct tvalue *args, size_t n,
                     struct tvalue *ret)
{
    size_t n_all = args[1].samples.n;
    struct template_sample *at = args[1].samples.at;
    struct template_sample *work = arena_array(c->arena, n_all, sizeof(*work));
    (void)n;
    if (!work)
        return -ENOMEM;
    for (size_t half = 1; half < n_all; half *= 2)
        for (size_t i = 0; i + half < n_all; i += 2 * half)
            merge(args[0].s, at + i, half, n_all - i < 2 * half ? n_all - i : 2 * half, work);
    *ret = args[1];
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return span_cmp(((const struct tvalue_pair *)a)->name, ((const struct tvalue_pair *)b)->name);
}

/* arg0, arg1, ...: how several values are handed to a {{template}}. Printing goes as deep as they
 * do. */
static int call_args(struct builtin_call *c, const struct tvalue *args, size_t n,
                     struct tvalue *ret)
{
    uint32_t depth = 1;
    struct tvalue_pair *pairs = arena_array(c->arena, n, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char text[32] = "arg";
        if (args[i].kind == TVALUE_ARGS && args[i].args.depth >= depth)
            depth = args[i].args.depth + 1;
        pairs[i].name = arena_dup(c->arena, span_of(text, 3 + num_format_u64(i, text + 3)));
        pairs[i].v = args[i];
        if (!pairs[i].name.p)
            return -ENOMEM;
    }
    if (depth > TEMPLATE_DEPTH_MAX)
        return builtin_fail(c, "nested more than %d deep", TEMPLATE_DEPTH_MAX);
    if (n > 1)
        qsort(pairs, n, sizeof(*pairs), by_name);
    *ret = (struct tvalue){.kind = TVALUE_ARGS, .args = {pairs, (uint32_t)n, depth}};
    return 0;
}

const struct builtin builtin_query_rows[] = {
    {.name = "query", .takes = "s", .call = call_query, .n_steps = QUERY_STEPS},
    {.name = "first", .takes = "q", .call = call_first},
    {.name = "label", .takes = "sp", .call = call_label},
    {.name = "value", .takes = "p", .call = call_value},
    {.name = "strvalue", .takes = "p", .call = call_strvalue},
    {.name = "sortByLabel", .takes = "sq", .call = call_sort},
    {.name = "args", .takes = "a*", .call = call_args},
    {.name = NULL},
};
