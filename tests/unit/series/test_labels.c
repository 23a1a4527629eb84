/* SPDX-License-Identifier: Apache-2.0 */
#include "series/labels.h"

#include <errno.h>

#include "harness.h"
#include "memfail.h"

#define L(name, value)                                                                             \
    {                                                                                              \
        SPAN_INIT(name), SPAN_INIT(value)                                                          \
    }
#define SET(pairs) ((struct labels){pairs, ARRAY_LEN(pairs)})

static const struct label up[] = {L("__name__", "up"), L("instance", "a:1"), L("job", "x")};
static const struct label up_b[] = {L("__name__", "up"), L("instance", "b:1"), L("job", "x")};
static const struct label down[] = {L("__name__", "down"), L("instance", "a:1"), L("job", "x")};
static const struct label bare[] = {L("instance", "a:1"), L("job", "x")};

static void test_get(void **state)
{
    (void)state;
    assert_span_equal("name", labels_name(SET(up)), SPAN("up"));
    assert_span_equal("job", labels_get(SET(up), SPAN("job")), SPAN("x"));
    assert_span_equal("none", labels_get(SET(up), SPAN("jo")), SPAN(""));
    assert_span_equal("no name", labels_name(SET(bare)), SPAN(""));
    assert_int_equal(labels_get((struct labels){0}, SPAN("x")).n, 0);
}

static void test_order(void **state)
{
    static const struct label longer[] = {L("a", "1"), L("b", "2")};
    static const struct label shorter[] = {L("a", "1")};
    static const struct label other[] = {L("a", "10")};
    static const struct label name[] = {L("aa", "0")};
    (void)state;
    assert_true(labels_cmp(SET(up), SET(up)) == 0 && labels_eq(SET(up), SET(up)));
    assert_true(labels_cmp(SET(up), SET(up_b)) < 0 && !labels_eq(SET(up), SET(up_b)));
    assert_true(labels_cmp(SET(shorter), SET(longer)) < 0);
    assert_true(labels_cmp(SET(longer), SET(shorter)) > 0);
    assert_true(labels_cmp(SET(longer), SET(other)) < 0);
    assert_true(labels_cmp(SET(other), SET(name)) < 0);
    assert_true(labels_cmp((struct labels){0}, SET(name)) < 0);
}

/* Written to disk: a change of these numbers loses every series that is stored. */
static void test_hash_never_changes(void **state)
{
    static const struct label tricky[] = {L("ab", "c")};
    static const struct label tricked[] = {L("a", "bc")};
    (void)state;
    assert_true(labels_hash(SET(up)) == UINT64_C(0xf6328e73efe08fb2));
    assert_true(labels_hash((struct labels){0}) == UINT64_C(0x833b864b4f503d5c));
    assert_true(labels_hash(SET(tricky)) != labels_hash(SET(tricked)));
    assert_true(labels_hash(SET(up)) != labels_hash(SET(up_b)));
}

static void test_of_some(void **state)
{
    static const struct span job[] = {SPAN_INIT("job"), SPAN_INIT("nowhere")};
    static const struct span instance[] = {SPAN_INIT("instance")};
    static const struct span by_name[] = {SPAN_INIT("__name__")};
    (void)state;
    /* on (job, nowhere) */
    assert_true(labels_eq_of(SET(up), SET(up_b), job, 2, false));
    assert_true(labels_hash_of(SET(up), job, 2, false) == labels_hash_of(SET(up_b), job, 2, false));
    assert_false(labels_eq_of(SET(up), SET(up_b), instance, 1, false));
    assert_true(labels_hash_of(SET(up), instance, 1, false) !=
                labels_hash_of(SET(up_b), instance, 1, false));
    /* ignoring (instance): the metric's name never counts */
    assert_true(labels_eq_of(SET(up), SET(up_b), instance, 1, true));
    assert_true(labels_eq_of(SET(up), SET(down), NULL, 0, true));
    assert_true(labels_hash_of(SET(up), NULL, 0, true) == labels_hash_of(SET(down), NULL, 0, true));
    assert_true(labels_hash_of(SET(up), NULL, 0, true) == labels_hash_of(SET(bare), NULL, 0, true));
    assert_false(labels_eq_of(SET(up), SET(up_b), NULL, 0, true));
    /* by (__name__): there it does */
    assert_false(labels_eq_of(SET(up), SET(down), by_name, 1, false));
    /* one has more than the other */
    assert_false(labels_eq_of(SET(up), (struct labels){up, 2}, NULL, 0, true));
    assert_false(labels_eq_of((struct labels){up, 2}, SET(up), NULL, 0, true));
}

static void print(struct labels l, const char *want, const char *want_pairs)
{
    struct buf b;
    buf_init(&b, 1000);
    assert_int_equal(labels_print(l, &b), 0);
    assert_span_equal("print", buf_span(&b), span_cstr(want));
    buf_clear(&b);
    assert_int_equal(labels_print_pairs(l, &b), 0);
    assert_span_equal("pairs", buf_span(&b), span_cstr(want_pairs));
    buf_done(&b);
}

static void test_print(void **state)
{
    static const struct label escaped[] = {L("a", "q\"b\\n\nt\t\x01\x7f"), L("b", "\xc3\xa4\xff")};
    static const struct label dotted[] = {L("__name__", "http.requests"), L("a.b", "c")};
    static const struct label only[] = {L("__name__", "a:b")};
    (void)state;
    print(SET(up), "up{instance=\"a:1\", job=\"x\"}",
          "{__name__=\"up\", instance=\"a:1\", job=\"x\"}");
    print(SET(bare), "{instance=\"a:1\", job=\"x\"}", "{instance=\"a:1\", job=\"x\"}");
    print((struct labels){0}, "{}", "{}");
    print(SET(only), "a:b", "{__name__=\"a:b\"}");
    print(SET(dotted), "{__name__=\"http.requests\", \"a.b\"=\"c\"}",
          "{__name__=\"http.requests\", \"a.b\"=\"c\"}");
    print(SET(escaped), "{a=\"q\\\"b\\\\n\\nt\\t\\x01\\x7f\", b=\"\xc3\xa4\\xff\"}",
          "{a=\"q\\\"b\\\\n\\nt\\t\\x01\\x7f\", b=\"\xc3\xa4\\xff\"}");
}

static void test_print_within_a_maximum(void **state)
{
    (void)state;
    for (size_t max = 0; max < strlen("up{instance=\"a:1\", job=\"x\"}"); max++) {
        struct buf b;
        buf_init(&b, max);
        assert_int_equal(labels_print(SET(up), &b), -EMSGSIZE);
        buf_done(&b);
    }
}

static void test_normalise(void **state)
{
    struct label pairs[] = {L("b", "2"), L("c", ""), L("a", "1")};
    struct label twice[] = {L("b", "2"), L("a", "1"), L("b", "3")};
    struct labels l;
    struct span which = SPAN("");
    (void)state;
    assert_int_equal(labels_normalise(pairs, 3, &l, NULL), 0);
    print(l, "{a=\"1\", b=\"2\"}", "{a=\"1\", b=\"2\"}");
    assert_int_equal(labels_normalise(twice, 3, &l, &which), -EINVAL);
    assert_span_equal("which", which, SPAN("b"));
    assert_int_equal(labels_normalise(NULL, 0, &l, NULL), 0);
    assert_int_equal(l.n, 0);
}

static void test_project(void **state)
{
    static const struct span names[] = {SPAN_INIT("__name__"), SPAN_INIT("job"), SPAN_INIT("z")};
    struct arena a;
    struct labels l;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(labels_without(&a, SET(up), names, 3, &l), 0);
    print(l, "{instance=\"a:1\"}", "{instance=\"a:1\"}");
    assert_int_equal(labels_only(&a, SET(up), names, 3, &l), 0);
    print(l, "up{job=\"x\"}", "{__name__=\"up\", job=\"x\"}");
    assert_int_equal(labels_only(&a, SET(up), NULL, 0, &l), 0);
    assert_int_equal(l.n, 0);
    assert_int_equal(labels_with(&a, SET(bare), SPAN("zone"), SPAN("1"), &l), 0);
    print(l, "{instance=\"a:1\", job=\"x\", zone=\"1\"}",
          "{instance=\"a:1\", job=\"x\", zone=\"1\"}");
    assert_int_equal(labels_with(&a, l, SPAN("job"), SPAN("y"), &l), 0);
    assert_int_equal(labels_with(&a, l, SPAN("zone"), SPAN(""), &l), 0);
    assert_int_equal(labels_with(&a, l, SPAN("none"), SPAN(""), &l), 0);
    assert_int_equal(labels_with(&a, l, SPAN("aa"), SPAN("0"), &l), 0);
    print(l, "{aa=\"0\", instance=\"a:1\", job=\"y\"}", "{aa=\"0\", instance=\"a:1\", job=\"y\"}");
    arena_done(&a);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(labels_is_metric_name(SPAN("a:b_C9")) && labels_is_metric_name(SPAN(":")));
    assert_false(labels_is_label_name(SPAN("a:b")));
    assert_true(labels_is_label_name(SPAN("_a9")));
    assert_false(labels_is_label_name(SPAN("9a")) || labels_is_label_name(SPAN("")) ||
                 labels_is_label_name(SPAN("a.b")) || labels_is_metric_name(SPAN("\xc3\xa4")));
}

static int copy_without_memory(void *ctx)
{
    struct arena a;
    struct labels l = {0};
    (void)ctx;
    arena_init(&a, NULL);
    int r = labels_copy(&a, SET(up), &l);
    assert_true(r == 0 ? labels_eq(l, SET(up)) && l.at[0].name.p != up[0].name.p : l.n == 0);
    arena_done(&a);
    return r;
}

static void test_copy(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(copy_without_memory, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_hash_never_changes),
        cmocka_unit_test(test_of_some),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_within_a_maximum),
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_project),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests_name("series/labels", tests, NULL, NULL);
}
