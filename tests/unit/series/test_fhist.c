/* SPDX-License-Identifier: Apache-2.0 */
#include "series/fhist.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "harness.h"
#include "memfail.h"
#include "series/number.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static struct fhist *hist(const char *text)
{
    struct span s = span_cstr(text);
    struct fhist *h = NULL;
    size_t at = 0;
    if (fhist_parse(&s, &arena, &h, &at) != 0)
        fail_msg("%s: wrong at %zu", text, at);
    assert_int_equal(s.n, 0);
    return h;
}

static const char *text_of(const struct fhist *h)
{
    static char text[2000];
    struct buf b;
    buf_init(&b, sizeof(text) - 1);
    assert_int_equal(fhist_print(h, &b), 0);
    (void)span_copy(buf_span(&b), text, sizeof(text));
    buf_done(&b);
    return text;
}

static void check(const char *name, const struct fhist *got, const char *want)
{
    if (!fhist_eq(got, hist(want)) || got->hint != hist(want)->hint)
        fail_msg("%s: %s, wanted %s", name, text_of(got), want);
}

static void test_text(void **state)
{
    static const char *const same[] = {
        "{{schema:0 count:0 sum:0}}",
        "{{schema:1 count:22 sum:3 buckets:[5 10 7]}}",
        "{{schema:-4 count:22 sum:-3.5 z_bucket:1 z_bucket_w:0.001 counter_reset_hint:gauge "
        "offset:-3 "
        "buckets:[5 0 7] n_offset:2 n_buckets:[1]}}",
        "{{schema:-53 count:3 sum:+Inf custom_values:[-1 0.5 10] offset:1 buckets:[1 0 2]}}",
        "{{schema:8 count:NaN sum:-Inf counter_reset_hint:not_reset}}",
    };
    static const struct {
        const char *text;
        size_t at;
    } wrong[] = {
        {"{{", 2},
        {"{{schema:1", 10},
        {"{{schema}}", 2},
        {"{{schema:1 schema:1}}", 11},
        {"{{what:1}}", 2},
        {"{{schema:9}}", 10},
        {"{{schema:-53 n_buckets:[1]}}", 26},
        {"{{schema:-53 custom_values:[2 1]}}", 32},
        {"{{schema:-53 custom_values:[1] buckets:[1 2 3]}}", 46},
        {"{{schema:0 custom_values:[1]}}", 28},
        {"{{schema:-53 custom_values:[1 NaN]}}", 34},
        {"{{schema:-53 custom_values:[1 1]}}", 32},
        {"{{schema:-53 custom_values:[1 Inf]}}", 34},
        {"{{schema:-53 offset:-1 buckets:[1]}}", 34},
        {"{{schema:-53 z_bucket:1}}", 23},
        {"{{schema:-53 z_bucket_w:1}}", 25},
        {"{{schema:-5}}", 11},
        {"{{z_bucket_w:NaN}}", 16},
        {"{{z_bucket_w:-1}}", 15},
        {"{{buckets:[]}}", 12},
        {"{{buckets:[1 x]}}", 13},
        {"{{buckets:[1", 12},
        {"{{buckets:1}}", 10},
        {"{{offset:1.5}}", 9},
        {"{{offset:99999999999}}", 9},
        {"{{offset:2147483647 buckets:[1 2]}}", 33},
        {"{{counter_reset_hint:maybe}}", 21},
        {"{{sum:}}", 6},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_string_equal(text_of(hist(same[i])), same[i]);
    check("spaces", hist("{{ sum:1  count:0x10 }}"), "{{count:16 sum:1}}");
    check("empty", hist("{{}}"), "{{ }}");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct span s = span_cstr(wrong[i].text);
        struct fhist *h = NULL;
        size_t at = 999;
        assert_row(wrong[i].text, fhist_parse(&s, &arena, &h, &at) == -EINVAL);
        assert_row(wrong[i].text, at == wrong[i].at && h == NULL && s.p == wrong[i].text);
    }
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {{"1", 1},     {"-.5", -0.5},   {"5.", 5},           {"+5.e1", 50},
                 {"0x1F", 31}, {"1e-3", 0.001}, {"-inf", -HUGE_VAL}, {"+Infinity", HUGE_VAL}};
    static const char *const wrong[] = {"", "-", "+-1", ".", "x", "1x", "0x", "1e", "--1", "e5"};
    double v;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_row(cases[i].text, number_parse(span_cstr(cases[i].text), &v) == 0);
        assert_row(cases[i].text, v == cases[i].want);
    }
    assert_true(number_parse(SPAN("NaN"), &v) == 0 && isnan(v));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_row(wrong[i], number_parse(span_cstr(wrong[i]), &v) == -EINVAL);
}

static void test_bounds(void **state)
{
    struct fhist h = {.schema = 0};
    (void)state;
    assert_true(fhist_upper(&h, 0) == 1 && fhist_upper(&h, 3) == 8 && fhist_upper(&h, -1) == 0.5);
    assert_true(fhist_upper(&h, 1024) == DBL_MAX && isinf(fhist_upper(&h, 1025)));
    assert_true(fhist_upper(&h, INT32_MIN) == 0 && isinf(fhist_upper(&h, INT32_MAX)));
    h.schema = 2;
    assert_true(fhist_upper(&h, 4) == 2 && fhist_upper(&h, -4) == 0.5);
    assert_true(fabs(fhist_upper(&h, 1) - 1.189207115002721) < 1e-15);
    assert_true(fhist_upper(&h, 4096) == DBL_MAX);
    h.schema = -2;
    assert_true(fhist_upper(&h, 1) == 16 && fhist_upper(&h, -1) == 0.0625);
    assert_true(fhist_upper(&h, 256) == DBL_MAX && isinf(fhist_upper(&h, 257)));
    h = *hist("{{schema:-53 custom_values:[1 2]}}");
    assert_true(fhist_upper(&h, -1) == -HUGE_VAL && fhist_upper(&h, 1) == 2 &&
                fhist_upper(&h, 2) == HUGE_VAL);
}

static void test_walk(void **state)
{
    static const double want[][3] = {
        {-4, -2, 3}, {-2, -1, 2}, {-0.6, 0.6, 4}, {0.6, 1, 5}, {2, 4, 6}};
    const struct fhist *h = hist("{{schema:0 z_bucket:4 z_bucket_w:0.6 buckets:[5 0 6] n_offset:1 "
                                 "n_buckets:[2 3]}}");
    struct fhist_walk w;
    struct fhist_range b;
    size_t n = 0;
    (void)state;
    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b)) {
        if (b.count == 0)
            continue;
        assert_true(n < 5 && b.lower == want[n][0] && b.upper == want[n][1] &&
                    b.count == want[n][2]);
        n++;
    }
    assert_int_equal(n, 5);
    fhist_walk_end(&w, h);
    while (fhist_walk_prev(&w, &b)) {
        if (b.count != 0)
            assert_true(n-- > 0 && b.lower == want[n][0] && b.count == want[n][2]);
    }
    assert_int_equal(n, 0);
}

static void test_equality(void **state)
{
    static const char *const other[] = {
        "{{schema:1 count:3 sum:2 buckets:[1 2]}}",
        "{{count:4 sum:2 buckets:[1 2]}}",
        "{{count:3 sum:NaN buckets:[1 2]}}",
        "{{count:3 sum:2 buckets:[1 3]}}",
        "{{count:3 sum:2 buckets:[1 2 1]}}",
        "{{count:3 sum:2 offset:1 buckets:[1 2]}}",
        "{{count:3 sum:2 n_buckets:[1 2]}}",
        "{{count:3 sum:2 z_bucket:1 buckets:[1 2]}}",
        "{{count:3 sum:2 buckets:[1 2] z_bucket_w:1}}",
    };
    const struct fhist *h = hist("{{count:3 sum:2 buckets:[1 2]}}");
    (void)state;
    assert_true(fhist_eq(h, hist("{{count:3 sum:2 offset:-1 buckets:[0 1 2 0]}}")));
    assert_true(fhist_eq(hist("{{sum:NaN}}"), hist("{{sum:NaN counter_reset_hint:gauge}}")));
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        assert_row(other[i], !fhist_eq(h, hist(other[i])) && !fhist_eq(hist(other[i]), h));
    assert_false(fhist_eq(hist("{{schema:-53 custom_values:[1]}}"),
                          hist("{{schema:-53 custom_values:[2]}}")));
}

struct math_case {
    const char *a, *b, *sum, *difference;
    unsigned flags;
};

static const struct math_case math_cases[] = {
    {"{{count:3 sum:1 buckets:[1 2]}}", "{{count:4 sum:2 offset:1 buckets:[3 1]}}",
     "{{count:7 sum:3 buckets:[1 5 1]}}",
     "{{count:-1 sum:-1 buckets:[1 -1 -1] counter_reset_hint:gauge}}", 0},
    {"{{schema:1 count:10 buckets:[1 2 3 4]}}", "{{schema:0 count:1 offset:1 buckets:[1]}}",
     "{{schema:0 count:11 buckets:[1 6 4]}}",
     "{{schema:0 count:9 buckets:[1 4 4] counter_reset_hint:gauge}}", 0},
    /* the zero bucket of the one takes two buckets of the other */
    {"{{count:5 z_bucket:5 z_bucket_w:2}}", "{{count:7 z_bucket:1 z_bucket_w:0.5 buckets:[1 2 3]}}",
     "{{count:12 z_bucket:9 z_bucket_w:2 offset:2 buckets:[3]}}",
     "{{count:-2 z_bucket:1 z_bucket_w:2 offset:2 buckets:[-3] counter_reset_hint:gauge}}", 0},
    /* it would cut a populated bucket, and then one of the first */
    {"{{count:9 z_bucket:5 z_bucket_w:3 offset:3 buckets:[4 1]}}",
     "{{count:7 z_bucket_w:0.5 n_offset:2 n_buckets:[2 3]}}",
     "{{count:16 z_bucket:7 z_bucket_w:4 offset:3 buckets:[4 1] n_offset:3 n_buckets:[3]}}",
     "{{count:2 z_bucket:3 z_bucket_w:4 offset:3 buckets:[4 1] n_offset:3 n_buckets:[-3] "
     "counter_reset_hint:gauge}}",
     0},
    {"{{schema:-53 count:6 custom_values:[1 2 4] buckets:[1 2 3]}}",
     "{{schema:-53 count:4 custom_values:[1 2 4] offset:2 buckets:[1 3]}}",
     "{{schema:-53 count:10 custom_values:[1 2 4] buckets:[1 2 4 3]}}",
     "{{schema:-53 count:2 custom_values:[1 2 4] buckets:[1 2 2 -3] counter_reset_hint:gauge}}", 0},
    {"{{schema:-53 count:10 custom_values:[1 2 4] buckets:[1 2 3 4]}}",
     "{{schema:-53 count:10 custom_values:[0 2 5] buckets:[1 2 3 4]}}",
     "{{schema:-53 count:20 custom_values:[2] buckets:[6 14]}}",
     "{{schema:-53 count:0 custom_values:[2] buckets:[0 0] counter_reset_hint:gauge}}",
     FHIST_CUSTOM_RECONCILED},
    {"{{schema:-53 count:1 custom_values:[1] buckets:[1]}}",
     "{{schema:-53 count:1 custom_values:[2] buckets:[1]}}", "{{schema:-53 count:2 buckets:[2]}}",
     "{{schema:-53 counter_reset_hint:gauge}}", FHIST_CUSTOM_RECONCILED},
    {"{{count:1 counter_reset_hint:reset}}", "{{count:1 counter_reset_hint:not_reset}}",
     "{{count:2}}", "{{counter_reset_hint:gauge}}", FHIST_HINTS_COLLIDE},
    {"{{count:1 counter_reset_hint:not_reset}}", "{{count:1 counter_reset_hint:not_reset}}",
     "{{count:2 counter_reset_hint:not_reset}}", "{{counter_reset_hint:gauge}}", 0},
    {"{{count:1}}", "{{count:1 counter_reset_hint:gauge}}", "{{count:2 counter_reset_hint:gauge}}",
     "{{counter_reset_hint:gauge}}", 0},
};

static void test_add_and_sub(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(math_cases); i++) {
        const struct math_case *c = &math_cases[i];
        struct fhist *got;
        struct fhist_sum *sum;
        unsigned flags = 99;
        assert_int_equal(fhist_add(&arena, hist(c->a), hist(c->b), &got, &flags), 0);
        check(c->a, got, c->sum);
        assert_int_equal(flags, c->flags);
        assert_int_equal(fhist_add(&arena, hist(c->b), hist(c->a), &got, &flags), 0);
        check(c->b, got, c->sum);
        assert_int_equal(fhist_sub(&arena, hist(c->a), hist(c->b), &got, &flags), 0);
        check(c->a, got, c->difference);
        assert_int_equal(flags, c->flags);
        flags = 0;
        assert_int_equal(fhist_sum_new(&arena, &sum), 0);
        assert_int_equal(fhist_sum_add(sum, hist(c->a), &flags), 0);
        assert_int_equal(fhist_sum_add(sum, hist(c->b), &flags), 0);
        assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
        check("accumulated", got, c->sum);
        assert_int_equal(flags, c->flags);
    }
}

static void test_incompatible(void **state)
{
    const struct fhist *a = hist("{{count:1 buckets:[1]}}");
    const struct fhist *b = hist("{{schema:-53 custom_values:[1] count:1 buckets:[1]}}");
    struct fhist *got;
    struct fhist_sum *sum;
    unsigned flags = 0;
    (void)state;
    assert_int_equal(fhist_add(&arena, a, b, &got, &flags), 0);
    assert_true(got == NULL && flags == FHIST_INCOMPATIBLE);
    assert_int_equal(fhist_sub(&arena, b, a, &got, &flags), 0);
    assert_true(got == NULL && flags == FHIST_INCOMPATIBLE);
    flags = 0;
    assert_int_equal(fhist_sum_new(&arena, &sum), 0);
    assert_int_equal(fhist_sum_add(sum, b, &flags), 0);
    assert_int_equal(fhist_sum_add(sum, a, &flags), 0);
    assert_int_equal(flags, FHIST_INCOMPATIBLE);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    assert_true(fhist_eq(got, b));
    assert_true(fhist_is_reset(a, b) && fhist_is_reset(b, a));
}

static void test_scale(void **state)
{
    const struct fhist *h =
        hist("{{count:6 sum:9 z_bucket:3 z_bucket_w:1 buckets:[3] n_buckets:[6]}}");
    struct fhist *got;
    (void)state;
    assert_int_equal(fhist_scale(&arena, h, 2, &got), 0);
    check("* 2", got, "{{count:12 sum:18 z_bucket:6 z_bucket_w:1 buckets:[6] n_buckets:[12]}}");
    assert_int_equal(fhist_scale(&arena, h, -1, &got), 0);
    check("* -1", got,
          "{{count:-6 sum:-9 z_bucket:-3 z_bucket_w:1 buckets:[-3] n_buckets:[-6] "
          "counter_reset_hint:gauge}}");
    assert_int_equal(fhist_divide(&arena, h, 3, &got), 0);
    check("/ 3", got, "{{count:2 sum:3 z_bucket:1 z_bucket_w:1 buckets:[1] n_buckets:[2]}}");
    assert_int_equal(fhist_divide(&arena, h, 0, &got), 0);
    check("/ 0", got, "{{count:Inf sum:Inf z_bucket:Inf z_bucket_w:1}}");
}

static void test_reduce(void **state)
{
    struct fhist *got;
    (void)state;
    assert_int_equal(
        fhist_reduce(&arena,
                     hist("{{schema:3 offset:-3 buckets:[1 1 1 1 1 1 1 1 1 1] n_buckets:[1 1]}}"),
                     1, &got),
        0);
    check("3 to 1", got, "{{schema:1 buckets:[4 4 2] n_buckets:[1 1]}}");
}

/* One large, many small: plain addition would lose all of the small ones. */
static void test_sum_is_compensated(void **state)
{
    struct fhist_sum *sum;
    struct fhist *got;
    unsigned flags = 0;
    (void)state;
    assert_int_equal(fhist_sum_new(&arena, &sum), 0);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    assert_null(got);
    assert_int_equal(fhist_sum_add(sum, hist("{{count:1e17 sum:1e17 buckets:[1e17]}}"), &flags), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(fhist_sum_add(sum, hist("{{count:1 sum:1 buckets:[1]}}"), &flags), 0);
    assert_int_equal(fhist_sum_add(sum, hist("{{count:-1e17 sum:-1e17 buckets:[-1e17]}}"), &flags),
                     0);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    check("sum", got, "{{count:1000 sum:1000 buckets:[1000]}}");
    assert_int_equal(fhist_sum_get(sum, 4, &arena, &got), 0);
    check("mean", got, "{{count:250 sum:250 buckets:[250]}}");
    fhist_sum_clear(sum);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    assert_null(got);
    assert_int_equal(fhist_sum_add(sum, hist("{{count:2 sum:2 offset:5 buckets:[2]}}"), &flags), 0);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    check("after clear", got, "{{count:2 sum:2 offset:5 buckets:[2]}}");
}

static void test_mean_where_the_sum_overflows(void **state)
{
    const struct fhist *h = hist("{{count:1.5e308 sum:-1.5e308 z_bucket:1 buckets:[1.5e308]}}");
    struct fhist_sum *sum;
    struct fhist *got;
    unsigned flags = 0;
    (void)state;
    assert_int_equal(fhist_sum_new(&arena, &sum), 0);
    assert_int_equal(fhist_sum_add(sum, hist("{{count:2 z_bucket:1 buckets:[1]}}"), &flags), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fhist_sum_add(sum, h, &flags), 0);
    assert_int_equal(fhist_sum_get(sum, 1, &arena, &got), 0);
    check("sum", got, "{{count:Inf sum:-Inf z_bucket:4 buckets:[Inf]}}");
    assert_int_equal(fhist_sum_get(sum, 4, &arena, &got), 0);
    assert_true(fabs(got->count / 1.125e308 - 1) < 1e-12 &&
                fabs(got->sum / -1.125e308 - 1) < 1e-12);
    assert_true(got->zero_count == 1 && fabs(got->positive.at[0].count / 1.125e308 - 1) < 1e-12);
}

/* Adding to what is wide enough takes no memory. */
static void test_sum_allocates_once(void **state)
{
    struct fhist_sum *sum;
    struct arena_budget budget = {0};
    struct arena own;
    unsigned flags = 0;
    size_t n_bytes = 0;
    const struct fhist *h = hist("{{count:1 buckets:[1 2 3] n_buckets:[1]}}");
    (void)state;
    arena_init(&own, &budget);
    assert_int_equal(fhist_sum_new(&own, &sum), 0);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(fhist_sum_add(sum, h, &flags), 0);
        n_bytes = i == 2 ? budget.n_bytes : n_bytes;
    }
    assert_int_equal(budget.n_bytes, n_bytes);
    arena_done(&own);
}

/* Hints that collide do so whatever was between them. */
static void test_sum_remembers_hints(void **state)
{
    struct fhist_sum *sum;
    unsigned flags = 0;
    (void)state;
    assert_int_equal(fhist_sum_new(&arena, &sum), 0);
    assert_int_equal(fhist_sum_add(sum, hist("{{counter_reset_hint:reset}}"), &flags), 0);
    assert_int_equal(fhist_sum_add(sum, hist("{{}}"), &flags), 0);
    assert_int_equal(flags, 0);
    assert_int_equal(fhist_sum_add(sum, hist("{{counter_reset_hint:not_reset}}"), &flags), 0);
    assert_int_equal(flags, FHIST_HINTS_COLLIDE);
}

static void test_reset(void **state)
{
    static const struct {
        const char *before, *now;
        bool is_reset;
    } cases[] = {
        {"{{count:3 buckets:[1 2]}}", "{{count:3 buckets:[1 2]}}", false},
        {"{{count:3 buckets:[1 2]}}", "{{count:4 buckets:[2 2]}}", false},
        {"{{count:3 buckets:[1 2]}}", "{{count:2 buckets:[1 2]}}", true},
        {"{{count:3 buckets:[1 2]}}", "{{count:5 buckets:[4 1]}}", true},
        {"{{count:3 buckets:[1 2]}}", "{{count:5 buckets:[5]}}", true},
        {"{{count:3 buckets:[1 2 0 0]}}", "{{count:5 buckets:[3 2]}}", false},
        {"{{count:3 n_buckets:[1 2]}}", "{{count:5 n_buckets:[0 5]}}", true},
        {"{{count:3 buckets:[1 2]}}", "{{count:2 counter_reset_hint:not_reset}}", false},
        {"{{count:3 buckets:[1 2]}}", "{{count:9 buckets:[4 5] counter_reset_hint:reset}}", true},
        {"{{count:3 buckets:[1 2]}}", "{{count:2 buckets:[2] counter_reset_hint:gauge}}", true},
        {"{{schema:0 count:3}}", "{{schema:1 count:4}}", true},
        {"{{schema:1 count:3 buckets:[0 1 2]}}", "{{schema:0 count:4 offset:1 buckets:[4]}}",
         false},
        {"{{schema:1 count:3 buckets:[0 1 2]}}", "{{schema:0 count:4 offset:1 buckets:[2]}}", true},
        {"{{count:3 z_bucket_w:1}}", "{{count:3 z_bucket_w:0.5}}", true},
        {"{{count:3 z_bucket:3}}", "{{count:3 z_bucket:2}}", true},
        {"{{count:3 buckets:[3]}}", "{{count:3 z_bucket:3 z_bucket_w:1}}", false},
        {"{{count:3 buckets:[3]}}", "{{count:3 z_bucket:2 z_bucket_w:1}}", true},
        {"{{count:3 offset:1 buckets:[3]}}", "{{count:9 z_bucket:9 z_bucket_w:1.5}}", true},
        {"{{schema:-53 custom_values:[1 2 4] count:6 buckets:[1 2 3]}}",
         "{{schema:-53 custom_values:[2 3] count:7 buckets:[3 0 4]}}", false},
        {"{{schema:-53 custom_values:[1 2 4] count:6 buckets:[1 2 3]}}",
         "{{schema:-53 custom_values:[2 3] count:7 buckets:[2 1 4]}}", true},
        {"{{schema:-53 custom_values:[1] count:6 buckets:[1 5]}}",
         "{{schema:-53 custom_values:[2] count:7 buckets:[0 7]}}", false},
        {"{{schema:-53 custom_values:[1] count:6 buckets:[1 5]}}",
         "{{schema:-53 custom_values:[1] count:7 buckets:[0 7]}}", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (fhist_is_reset(hist(cases[i].now), hist(cases[i].before)) != cases[i].is_reset)
            fail_msg("case %zu: %s", i, cases[i].now);
}

static bool is_near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_quantile(void **state)
{
    static const struct {
        const char *h;
        double q, want;
        bool is_skewed;
    } cases[] = {
        {"{{}}", 0.5, (double)NAN, false},
        {"{{count:1 buckets:[1]}}", -1, -HUGE_VAL, false},
        {"{{count:1 buckets:[1]}}", 1.1, HUGE_VAL, false},
        {"{{count:1 buckets:[1]}}", (double)NAN, (double)NAN, false},
        {"{{count:4 offset:1 buckets:[4]}}", 0.5, M_SQRT2, false},
        {"{{count:4 n_offset:1 n_buckets:[4]}}", 0.5, -M_SQRT2, false},
        {"{{count:4 offset:1 buckets:[4]}}", 0.25, 1.189207115002721, false},
        {"{{count:4 offset:1 buckets:[4]}}", 0, 1, false},
        {"{{count:4 offset:1 buckets:[4]}}", 1, 2, false},
        {"{{count:4 z_bucket:4 z_bucket_w:2}}", 0.75, 1, false},
        {"{{count:8 z_bucket:4 z_bucket_w:2 offset:3 buckets:[4]}}", 0.25, 1, false},
        {"{{count:8 z_bucket:4 z_bucket_w:2 n_offset:3 n_buckets:[4]}}", 0.75, -1, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 2]}}", 0.25, 1, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 2]}}", 0.75, 3, false},
        {"{{schema:-53 count:4 custom_values:[-2 4] buckets:[2 2]}}", 0.25, -2, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 0 2]}}", 0.9, 4, false},
        {"{{count:5 sum:NaN offset:1 buckets:[4]}}", 0.4, M_SQRT2, true},
        {"{{count:5 sum:NaN offset:1 buckets:[4]}}", 0.9, (double)NAN, true},
        {"{{count:4 sum:NaN offset:1 buckets:[4]}}", 0.5, M_SQRT2, false},
        {"{{count:4.00001 sum:1 offset:1 buckets:[4]}}", 0, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_skewed = !cases[i].is_skewed;
        double got = fhist_quantile(hist(cases[i].h), cases[i].q, &is_skewed);
        if (!is_near(got, cases[i].want) || is_skewed != cases[i].is_skewed)
            fail_msg("case %zu: %s: %.17g, wanted %.17g", i, cases[i].h, got, cases[i].want);
        assert_true(is_near(fhist_quantile(hist(cases[i].h), cases[i].q, NULL), got));
    }
}

static void test_fraction(void **state)
{
    static const struct {
        const char *h;
        double lower, upper, want;
        bool is_skewed;
    } cases[] = {
        {"{{}}", 0, 1, (double)NAN, false},
        {"{{count:4 offset:1 buckets:[4]}}", (double)NAN, 1, (double)NAN, false},
        {"{{count:4 offset:1 buckets:[4]}}", 2, 2, 0, false},
        {"{{count:4 offset:1 buckets:[4]}}", 1, 2, 1, false},
        {"{{count:4 offset:1 buckets:[4]}}", -HUGE_VAL, HUGE_VAL, 1, false},
        {"{{count:4 offset:1 buckets:[4]}}", M_SQRT2, 5, 0.5, false},
        {"{{count:4 n_offset:1 n_buckets:[4]}}", -M_SQRT2, 5, 0.5, false},
        {"{{count:8 z_bucket:4 z_bucket_w:2 offset:3 buckets:[4]}}", -HUGE_VAL, 1, 0.25, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 2]}}", 3, HUGE_VAL, 0.25, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 0 2]}}", 100, HUGE_VAL, 0.5, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 2]}}", 1, 4, 0.75, false},
        {"{{schema:-53 count:4 custom_values:[2 4] buckets:[2 2]}}", 0, 1, 0.25, false},
        {"{{count:8 sum:NaN offset:1 buckets:[4]}}", -HUGE_VAL, HUGE_VAL, 0.5, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_skewed = !cases[i].is_skewed;
        double got = fhist_fraction(hist(cases[i].h), cases[i].lower, cases[i].upper, &is_skewed);
        if (!is_near(got, cases[i].want) || is_skewed != cases[i].is_skewed)
            fail_msg("case %zu: %s: %.17g, wanted %.17g", i, cases[i].h, got, cases[i].want);
    }
}

static void test_variance(void **state)
{
    (void)state;
    assert_true(is_near(
        fhist_variance(hist("{{count:2 sum:2.828427124746190 offset:1 buckets:[2]}}")) + 1, 1));
    assert_true(
        is_near(fhist_variance(hist("{{schema:-53 custom_values:[2 4] count:2 sum:3 offset:1 "
                                    "buckets:[2]}}")),
                2.25));
    assert_true(is_near(fhist_variance(hist("{{count:2 sum:4 z_bucket:2 z_bucket_w:1}}")), 4));
    assert_true(isnan(fhist_variance(hist("{{}}"))));
}

static void test_trim(void **state)
{
    static const struct {
        const char *h;
        double bound;
        const char *below, *above;
    } cases[] = {
        {"{{count:8 sum:1 offset:1 buckets:[4 4]}}", 2,
         "{{count:4 sum:5.656854249492381 offset:1 buckets:[4]}}",
         "{{count:4 sum:11.313708498984761 offset:2 buckets:[4]}}"},
        {"{{count:8 sum:1 offset:1 buckets:[4 4]}}", 100,
         "{{count:8 sum:1 offset:1 buckets:[4 4]}}", "{{}}"},
        {"{{count:8 sum:1 n_offset:1 n_buckets:[4 4]}}", -2,
         "{{count:4 sum:-11.313708498984761 n_offset:2 n_buckets:[4]}}",
         "{{count:4 sum:-5.656854249492381 n_offset:1 n_buckets:[4]}}"},
        {"{{count:4 sum:1 z_bucket:4 z_bucket_w:1}}", 0.5,
         "{{count:3 sum:-0.75 z_bucket:3 z_bucket_w:1}}",
         "{{count:1 sum:0.75 z_bucket:1 z_bucket_w:1}}"},
        {"{{schema:-53 count:6 sum:1 custom_values:[2 4] buckets:[2 2 2]}}", 3,
         "{{schema:-53 count:3 sum:4.5 custom_values:[2 4] buckets:[2 1]}}",
         "{{schema:-53 count:3 sum:11.5 custom_values:[2 4] offset:1 buckets:[1 2]}}"},
        {"{{schema:-53 count:2 sum:1 custom_values:[2] buckets:[2]}}", 1,
         "{{schema:-53 count:1 sum:0.5 custom_values:[2] buckets:[1]}}",
         "{{schema:-53 count:1 sum:1.5 custom_values:[2] buckets:[1]}}"},
        {"{{schema:-53 count:2 sum:1 custom_values:[-2] buckets:[2]}}", -5,
         "{{schema:-53 count:2 sum:1 custom_values:[-2] buckets:[2]}}",
         "{{schema:-53 custom_values:[-2]}}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fhist *got;
        assert_int_equal(fhist_trim(&arena, hist(cases[i].h), cases[i].bound, true, &got), 0);
        struct fhist want = *hist(cases[i].below);
        assert_true(is_near(got->sum, want.sum));
        want.sum = got->sum;
        assert_row(text_of(got), fhist_eq(got, &want));
        assert_int_equal(fhist_trim(&arena, hist(cases[i].h), cases[i].bound, false, &got), 0);
        want = *hist(cases[i].above);
        assert_true(is_near(got->sum, want.sum));
        want.sum = got->sum;
        assert_row(text_of(got), fhist_eq(got, &want));
    }
}

static int use_without_memory(void *ctx)
{
    struct arena_budget budget = {0};
    struct arena m;
    struct fhist_sum *sum = NULL;
    struct fhist *h = NULL;
    struct fhist *got = NULL;
    unsigned flags = 0;
    int r = 0;
    (void)ctx;
    arena_init(&m, &budget);
    for (size_t i = 0; i < ARRAY_LEN(math_cases) && r == 0; i++) {
        struct span s = span_cstr(math_cases[i].a);
        /* A block each, so that every piece is an allocation. */
        r = arena_alloc(&m, 4000) ? fhist_parse(&s, &m, &h, NULL) : -ENOMEM;
        if (r == 0)
            r = fhist_sum_new(&m, &sum);
        if (r == 0)
            r = fhist_sum_add(sum, h, &flags);
        if (r == 0)
            r = fhist_sum_add(sum, hist(math_cases[i].b), &flags);
        if (r == 0)
            r = fhist_sum_get(sum, 1, &m, &got);
        if (r == 0)
            r = fhist_add(&m, h, got, &got, &flags);
        if (r == 0)
            r = fhist_trim(&m, got, 1, true, &got);
        if (r == 0 && h->schema == 1)
            r = fhist_reduce(&m, h, 0, &got);
    }
    arena_done(&m);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_in_range(memfail_each(use_without_memory, NULL), 4, 40);
}

static void check_described(const char *literal, const char *want)
{
    struct span s = span_cstr(literal);
    struct fhist *h;
    struct arena a;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, 1000);
    assert_int_equal(fhist_parse(&s, &a, &h, NULL), 0);
    assert_int_equal(fhist_describe(h, &out), 0);
    assert_span_equal(literal, buf_span(&out), span_cstr(want));
    buf_done(&out);
    arena_done(&a);
}

static void test_describe(void **state)
{
    (void)state;
    check_described("{{schema:0 sum:10 count:3 buckets:[0 3]}}", "{count:3, sum:10, (1,2]:3}");
    check_described("{{schema:0 sum:-1234567 count:123456789.5 z_bucket:1 z_bucket_w:1e-128}}",
                    "{count:1.234567895e+08, sum:-1.234567e+06, [-1e-128,1e-128]:1}");
    check_described("{{schema:0 sum:-0.00001 count:123456 n_buckets:[123456]}}",
                    "{count:123456, sum:-1e-05, [-1,-0.5):123456}");
    check_described("{{schema:0 sum:nan count:0}}", "{count:0, sum:NaN}");
    check_described("{{schema:0 sum:-inf count:0}}", "{count:0, sum:-Inf}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_add_and_sub),
        cmocka_unit_test(test_incompatible),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_sum_is_compensated),
        cmocka_unit_test(test_mean_where_the_sum_overflows),
        cmocka_unit_test(test_sum_allocates_once),
        cmocka_unit_test(test_sum_remembers_hints),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_fraction),
        cmocka_unit_test(test_variance),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests_name("series/fhist", tests, setup, teardown);
}
