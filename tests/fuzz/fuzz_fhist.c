/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist: two literals, one a line. Text and back is the same; a sum is the same whichever
 * comes first, and the accumulator's as well; walking back is walking in reverse; nothing that
 * arithmetic on hostile counts gives does harm.
 * fuzz-links: series
 */
#include "pieces.h"

#include <errno.h>
#include <math.h>

#include "series/fhist.h"

static void check_text(const struct fhist *h, struct arena *a)
{
    struct fhist *back;
    struct buf b;
    buf_init(&b, 1 << 20);
    FUZZ_CHECK(fhist_print(h, &b) == 0);
    struct span s = buf_span(&b);
    FUZZ_CHECK(fhist_parse(&s, a, &back, NULL) == 0 && s.n == 0);
    FUZZ_CHECK(fhist_eq(h, back) && h->hint == back->hint);
    buf_done(&b);
}

static void check_walk(const struct fhist *h)
{
    struct fhist_walk w;
    struct fhist_range b;
    double last = -HUGE_VAL;
    int n = 0;
    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b)) {
        FUZZ_CHECK(b.lower >= last || h->zero_threshold != 0);
        last = b.lower;
        n++;
    }
    fhist_walk_end(&w, h);
    while (fhist_walk_prev(&w, &b))
        n--;
    FUZZ_CHECK(n == 0);
}

static void look(const struct fhist *h, struct arena *a)
{
    struct fhist *out;
    bool is_skewed;
    check_walk(h);
    (void)fhist_quantile(h, 0.1, &is_skewed);
    (void)fhist_quantile(h, 0.99, &is_skewed);
    (void)fhist_fraction(h, -1, 2, &is_skewed);
    (void)fhist_variance(h);
    FUZZ_CHECK(fhist_trim(a, h, 1.5, true, &out) == 0);
    FUZZ_CHECK(fhist_trim(a, h, -0.5, false, &out) == 0);
    FUZZ_CHECK(fhist_divide(a, h, 0, &out) == 0);
    if (h->schema > FHIST_SCHEMA_MIN) {
        FUZZ_CHECK(fhist_reduce(a, h, FHIST_SCHEMA_MIN, &out) == 0);
        check_walk(out);
    }
}

static bool is_exact(const struct fhist *h)
{
    return fabs(h->count) < 1e9 && fabs(h->sum) < 1e9 && floor(h->sum) == h->sum;
}

static void check_two(const struct fhist *x, const struct fhist *y, struct arena *a)
{
    struct fhist *xy;
    struct fhist *yx;
    struct fhist *sum;
    struct fhist_sum *s;
    unsigned flags = 0;
    unsigned same_flags = 0;
    FUZZ_CHECK(fhist_add(a, x, y, &xy, &flags) == 0);
    FUZZ_CHECK(fhist_add(a, y, x, &yx, &same_flags) == 0);
    FUZZ_CHECK(flags == same_flags);
    FUZZ_CHECK((xy == NULL) == ((flags & FHIST_INCOMPATIBLE) != 0));
    FUZZ_CHECK(fhist_is_reset(x, x) == (x->hint == FHIST_RESET));
    (void)fhist_is_reset(x, y);
    if (!xy)
        return;
    FUZZ_CHECK(xy->schema == yx->schema && xy->zero_threshold == yx->zero_threshold);
    same_flags = 0;
    FUZZ_CHECK(fhist_sum_new(a, &s) == 0);
    FUZZ_CHECK(fhist_sum_add(s, x, &same_flags) == 0 && fhist_sum_add(s, y, &same_flags) == 0);
    FUZZ_CHECK(flags == same_flags);
    FUZZ_CHECK(fhist_sum_get(s, 1, a, &sum) == 0);
    FUZZ_CHECK(sum->schema == xy->schema && sum->zero_threshold == xy->zero_threshold);
    if (is_exact(x) && is_exact(y))
        FUZZ_CHECK(sum->count == xy->count && sum->sum == xy->sum);
    look(xy, a);
    FUZZ_CHECK(fhist_sub(a, x, y, &xy, &flags) == 0);
    look(xy, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = span_of(data, size);
    struct span line = span_split(&rest, '\n');
    struct fhist *x = NULL;
    struct fhist *y = NULL;
    struct arena a;
    size_t at = 0;
    if (size > 4000)
        return 0;
    arena_init(&a, NULL);
    int r = fhist_parse(&line, &a, &x, &at);
    FUZZ_CHECK(r == 0 || (r == -EINVAL && at <= size));
    if (r == 0) {
        check_text(x, &a);
        look(x, &a);
        if (fhist_parse(&rest, &a, &y, &at) == 0)
            check_two(x, y, &a);
    }
    arena_done(&a);
    return 0;
}
