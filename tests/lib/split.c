/* SPDX-License-Identifier: Apache-2.0 */
#include "split.h"

#include <stdio.h>

#include "base/rng.h"
#include "guard.h"

enum { N_RANDOM = 32, RANDOM_SEED = 20240229, HOW_BYTES = 64 };

struct run {
    struct span input;
    const struct split_ops *ops;
    void *ctx;
    struct guard guard;
};

static void feed(struct run *r, struct span part)
{
    r->ops->feed(r->ctx, guard_copy(&r->guard, part));
}

/* Parts of at most max_part bytes; random lengths when rng is given. */
static void feed_in_parts(struct run *r, size_t max_part, struct rng *rng, const char *how)
{
    struct span rest = r->input;
    r->ops->begin(r->ctx);
    while (rest.n > 0) {
        size_t n = rng ? 1 + (size_t)rng_below(rng, max_part) : max_part;
        feed(r, span_take(&rest, n < rest.n ? n : rest.n));
    }
    r->ops->end(r->ctx, how);
}

static void feed_in_two(struct run *r, size_t at)
{
    char how[HOW_BYTES];
    struct span rest = r->input;
    (void)snprintf(how, sizeof(how), "split at %zu", at);
    r->ops->begin(r->ctx);
    feed(r, span_take(&rest, at));
    feed(r, rest);
    r->ops->end(r->ctx, how);
}

void split_each(struct span input, const struct split_ops *ops, void *ctx)
{
    struct run r = {.input = input, .ops = ops, .ctx = ctx};
    guard_init(&r.guard, input.n);

    feed_in_parts(&r, input.n > 0 ? input.n : 1, NULL, "whole");
    feed_in_parts(&r, 1, NULL, "byte by byte");

    size_t stride = 1 + (size_t)((double)input.n * (double)input.n / (double)SPLIT_BUDGET_BYTES);
    for (size_t at = 0; at <= input.n; at += stride)
        feed_in_two(&r, at);

    struct rng rng;
    rng_seed(&rng, RANDOM_SEED);
    for (int i = 0; i < N_RANDOM; i++) {
        char how[HOW_BYTES];
        size_t max_part = (size_t)2 << rng_below(&rng, 10); /* 2 .. 1,024 bytes */
        (void)snprintf(how, sizeof(how), "random %d, parts up to %zu", i, max_part);
        feed_in_parts(&r, max_part, &rng, how);
    }
    guard_done(&r.guard);
}
