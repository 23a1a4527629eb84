/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that comes again: lines of series that are known, values set anew.
 */
#include <errno.h>
#include <math.h>

#include "base/attr.h"
#include "harness.h"
#include "memfail.h"
#include "scrape/families.h"

static void test_same_lines(void **state)
{
    static const struct {
        const char *body, *series;
        bool is_same;
    } rows[] = {
        {"a 1\n", "a", true},
        {"a 1", "a", true},
        {"a\t 1 77\n", "a", true},
        {"a{x=\"1\"} 1\n", "a{x=\"1\"}", true},
        {"a {x=\"1\"} 1\n", "a {x=\"1\"}", true},
        {"a x\n", "a", true}, /* and a mistake */
        {"a 1 2 3\n", "a", true},
        {"a {x=\"1\"} 1\n", "a", false},
        {"a{x=\"1\"} 1\n", "a", false},
        {"ab 1\n", "a", false},
        {" a 1\n", "a", false},
        {"a\n", "a", false},
        {"a", "a", false},
        {"a{x=\"1\"}1\n", "a{x=\"1\"}", false}, /* is read the long way */
        {"\n", "a", false},
        {"", "a", false},
        {"a 1\n", "", false},
        {"# a 1\n", "a", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int format = 0; format < 2; format++) {
            struct text t, long_way;
            struct text_item item, want;
            struct span body = span_cstr(rows[i].body);
            text_init(&t, body, (enum text_format)format);
            text_init(&long_way, body, (enum text_format)format);
            bool is_same = text_next_same(&t, span_cstr(rows[i].series), &item);
            assert_row(rows[i].body, is_same == rows[i].is_same);
            if (!is_same)
                text_next(&t, &item);
            text_next(&long_way, &want);
            assert_row(rows[i].body, item.kind == want.kind && item.line == want.line);
            assert_row(rows[i].body, item.column == want.column && item.mistake == want.mistake);
            if (item.kind == TEXT_SAMPLE) {
                assert_span_equal(rows[i].body, item.series, want.series);
                assert_row(rows[i].body, item.v == want.v && item.t_ms == want.t_ms);
            }
            text_next(&t, &item); /* and both are at the same place */
            text_next(&long_way, &want);
            assert_row(rows[i].body, item.kind == want.kind && item.line == want.line);
        }
}

static const char first[] = "# TYPE h histogram\n"
                            "h_bucket{m=\"a\",le=\"1\"} 1\nh_bucket{m=\"a\",le=\"+Inf\"} 2\n"
                            "h_sum{m=\"a\"} 3\nh_count{m=\"a\"} 2\n"
                            "h_bucket{m=\"b\",le=\"0.5\"} 4\nh_count{m=\"b\"} 5\nh_odd 1\n"
                            "# TYPE g gauge\ng{x=\"1\"} 6\ng{x=\"2\"} 7\n"
                            "other 8\n";

static double *slot(const struct families_selection *s, const char *series)
{
    struct arena a;
    struct labels l;
    const char *mistake;
    double *v = NULL;
    arena_init(&a, NULL);
    assert_int_equal(text_labels(span_cstr(series), &a, &l, &mistake), 0);
    for (size_t i = 0; i < s->n_slots; i++)
        if (labels_eq(s->slots[i].labels, l))
            v = s->slots[i].v;
    arena_done(&a);
    return v;
}

static void test_select(void **state)
{
    const struct span names[] = {SPAN_INIT("g"), SPAN_INIT("h"), SPAN_INIT("nothing")};
    static struct families f;
    struct families_selection s;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(families_read(span_cstr(first), TEXT_PROMETHEUS, "p", &f), 0);
    assert_int_equal(families_select(&f, names, ARRAY_LEN(names), &a, &s), 0);
    families_done(&f); /* nothing is borrowed from it */
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_slots, 8);
    for (size_t i = 1; i < s.n_slots; i++)
        assert_true(labels_cmp(s.slots[i - 1].labels, s.slots[i].labels) < 0);
    assert_span_equal("g", s.at[0].name, SPAN("g"));
    assert_int_equal(s.at[0].type, METRIC_GAUGE);
    assert_true(s.at[0].n == 2 && s.at[0].samples[1].v == 7);
    assert_int_equal(s.at[1].n_hists, 2);
    assert_null(slot(&s, "other"));
    assert_null(slot(&s, "h_odd"));
    *slot(&s, "g{x=\"2\"}") = 17;
    *slot(&s, "h_bucket{m=\"a\",le=\"+Inf\"}") = 12;
    *slot(&s, "h_sum{m=\"a\"}") = 13;
    *slot(&s, "h_count{m=\"b\"}") = 15;
    assert_true(s.at[0].samples[1].v == 17 && s.at[0].samples[0].v == 6);
    const struct family_hist *h = s.at[1].hists;
    assert_true(h[0].n_buckets == 2 && h[0].buckets[0].n == 1 && h[0].buckets[1].n == 12);
    assert_true(h[0].sum == 13 && h[0].count == 2);
    assert_true(h[1].n_buckets == 1 && h[1].buckets[0].n == 4 && isnan(h[1].sum));
    assert_true(h[1].count == 15);
    arena_done(&a);
}

static int select_without_memory(void *ctx)
{
    const struct span names[] = {SPAN_INIT("g"), SPAN_INIT("h")};
    struct families_selection s;
    struct arena a;
    arena_init(&a, NULL);
    int r = families_select(ctx, names, ARRAY_LEN(names), &a, &s);
    arena_done(&a);
    return r;
}

static void test_no_memory(void **state)
{
    static struct families f;
    (void)state;
    assert_int_equal(families_read(span_cstr(first), TEXT_PROMETHEUS, "p", &f), 0);
    assert_true(memfail_each(select_without_memory, &f) > 0);
    families_done(&f);
}

/* A histogram that is larger than a block of an arena: no bucket is left without its place. */
static int select_many(void *ctx)
{
    const struct span name = SPAN_INIT("h");
    struct families_selection s;
    struct arena a;
    arena_init(&a, NULL);
    int r = families_select(ctx, &name, 1, &a, &s);
    if (r == 0)
        assert_int_equal(s.n_slots, ((struct families *)ctx)->n_samples);
    arena_done(&a);
    return r;
}

static void test_no_memory_for_many(void **state)
{
    static struct families f;
    struct buf page;
    (void)state;
    buf_init(&page, 1 << 16);
    assert_int_equal(buf_printf(&page, "# TYPE h histogram\n"), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&page, "h_bucket{le=\"%d\"} 1\n", i), 0);
    assert_int_equal(families_read(buf_span(&page), TEXT_PROMETHEUS, "p", &f), 0);
    assert_true(memfail_each(select_many, &f) > 2);
    families_done(&f);
    buf_done(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_lines),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
