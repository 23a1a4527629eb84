/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/families.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "corpus.h"
#include "harness.h"
#include "memfail.h"
#include "pages.h"

static struct families page; /* large: two lists of mistakes */

static void read_page(const char *text, enum text_format format)
{
    assert_int_equal(families_read(span_cstr(text), format, "page", &page), 0);
}

static const struct page_family *family(const char *name)
{
    const struct page_family *f = families_find(&page, span_cstr(name));
    if (!f)
        fail_msg("no family %s", name);
    return f;
}

static void assert_family(const char *name, enum metric_type type, size_t n)
{
    const struct page_family *f = family(name);
    assert_span_equal(name, f->name, span_cstr(name));
    if (f->type != type || f->n != n)
        fail_msg("%s: %s with %zu samples", name, metric_type_name(f->type), f->n);
}

static void test_types_decide(void **state)
{
    (void)state;
    read_page("# HELP tokens_total Tokens of an iteration\\n.\n"
              "# TYPE tokens_total histogram\n"
              "tokens_total_sum{m=\"x\"} 9.5\n"
              "tokens_total_bucket{le=\"+Inf\",m=\"x\"} 4\n"
              "tokens_total_bucket{m=\"x\",le=\"1e+01\"} 3\n"
              "tokens_total_bucket{m=\"x\",le=\"2.0\"} 1\n"
              "tokens_total_count{m=\"x\"} 4\n"
              "tokens_total_created{m=\"x\"} 1.7e9\n"
              "# TYPE lag_sum gauge\n"
              "lag_sum 3\n"
              "# TYPE tgi_request_count counter\n"
              "tgi_request_count 109\n"
              "bare 1\n"
              "# TYPE s summary\n"
              "s{quantile=\"0.5\"} 1\n"
              "s_sum 2\n"
              "s_count 3\n"
              "s_bucket 4\n"
              "# HELP only_help\n"
              "# TYPE empty counter\n",
              TEXT_PROMETHEUS);
    assert_int_equal(page.n_mistakes, 0);
    assert_int_equal(page.advice.n, 0);
    assert_int_equal(page.n, 9);
    assert_int_equal(page.n_samples, 13);
    assert_family("tokens_total", METRIC_HISTOGRAM, 5);
    assert_family("tokens_total_created", METRIC_UNKNOWN, 1);
    assert_family("lag_sum", METRIC_GAUGE, 1);
    assert_family("tgi_request_count", METRIC_COUNTER, 1);
    assert_family("bare", METRIC_UNKNOWN, 1);
    assert_family("s", METRIC_SUMMARY, 3);
    assert_family("s_bucket", METRIC_UNKNOWN, 1);
    assert_family("only_help", METRIC_UNKNOWN, 0);
    assert_family("empty", METRIC_COUNTER, 0);
    assert_null(families_find(&page, SPAN("tokens_total_bucket")));
    const struct page_family *f = family("tokens_total");
    assert_span_equal("help", f->help, SPAN("Tokens of an iteration\n."));
    assert_int_equal(f->line, 1);
    assert_int_equal(f->samples[0].line, 3);
    assert_int_equal(f->n_hists, 1);
    assert_int_equal(f->hists[0].n_buckets, 3);
    assert_true(f->hists[0].buckets[0].le == 2 && f->hists[0].buckets[0].n == 1);
    assert_true(f->hists[0].buckets[1].le == 10 && f->hists[0].buckets[1].n == 3);
    assert_true(isinf(f->hists[0].buckets[2].le) && f->hists[0].buckets[2].n == 4);
    assert_true(f->hists[0].sum == 9.5 && f->hists[0].count == 4);
    assert_int_equal(f->hists[0].labels.n, 1);
    assert_span_equal("m", labels_get(f->hists[0].labels, SPAN("m")), SPAN("x"));
    families_done(&page);
}

/* What an exposition in either format says, it says here under the same names. */
static void test_openmetrics_names(void **state)
{
    (void)state;
    read_page("# TYPE c counter\n# HELP c Some \\\"counter\\\"\n# UNIT c tokens\n"
              "c_total{a=\"1\"} 5 # {t=\"x\"} 1\nc_created{a=\"1\"} 1.5\n"
              "# TYPE d_total counter\nd_total 1\n"
              "# TYPE b info\nb_info{v=\"1\"} 1\n"
              "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_count 1\nh_sum 2\nh_created 3\n"
              "# TYPE g gaugehistogram\ng_bucket{le=\"+Inf\"} 1\ng_gcount 1\ng_gsum 2\n"
              "# TYPE z stateset\nz{z=\"on\"} 1\n"
              "# TYPE y gauge\ny_created 1\n# EOF\n",
              TEXT_OPENMETRICS);
    assert_true(page.is_openmetrics);
    assert_int_equal(page.n_mistakes, 0);
    assert_int_equal(page.advice.n, 0);
    assert_family("c_total", METRIC_COUNTER, 1);
    assert_family("c_created", METRIC_GAUGE, 1);
    assert_family("d_total", METRIC_COUNTER, 1);
    assert_family("b_info", METRIC_INFO, 1);
    assert_family("h", METRIC_HISTOGRAM, 3);
    assert_family("h_created", METRIC_GAUGE, 1);
    assert_family("g", METRIC_GAUGE_HISTOGRAM, 3);
    assert_family("z", METRIC_STATE_SET, 1);
    assert_family("y", METRIC_GAUGE, 0);
    assert_family("y_created", METRIC_UNKNOWN, 1);
    assert_null(families_find(&page, SPAN("c")));
    assert_span_equal("help", family("c_total")->help, SPAN("Some \"counter\""));
    assert_span_equal("unit", family("c_total")->unit, SPAN("tokens"));
    assert_true(family("g")->hists[0].sum == 2 && family("g")->hists[0].count == 1);
    families_done(&page);
}

static void test_apart_and_twice(void **state)
{
    (void)state;
    read_page("h_count 2\n"
              "a 1\n"
              "# TYPE a gauge\n"
              "b 1\n"
              "a{x=\"\"} 2\n"
              "# TYPE h histogram\n"
              "h_bucket{le=\"1\"} 1\n"
              "h_bucket{le=\"1.0\"} 2\n"
              "h_bucket{le=\"one\"} 2\n"
              "h_bucket 2\n"
              "# TYPE a counter\n"
              "a{x=\"1\"} 3\n"
              "h_sum{x=\"1\"} 3\n",
              TEXT_PROMETHEUS);
    assert_int_equal(page.n_mistakes, 0);
    assert_family("a", METRIC_COUNTER, 2);
    assert_true(family("a")->samples[0].v == 2); /* the later one */
    assert_int_equal(family("a")->line, 3);
    assert_family("h", METRIC_HISTOGRAM, 6);
    assert_int_equal(family("h")->n_hists, 2);
    assert_int_equal(family("h")->hists[0].n_buckets, 1);
    assert_true(family("h")->hists[0].buckets[0].n == 2);
    assert_true(family("h")->hists[0].count == 2 && isnan(family("h")->hists[0].sum));
    assert_true(family("h")->hists[1].sum == 3 && family("h")->hists[1].n_buckets == 0);
    static const struct {
        int line;
        const char *text;
    } advice[] = {
        {5, "a series of \"a\" is there twice, in line 2 as well"},
        {8, "histogram \"h\" has a bound twice, the later bucket counts"},
        {9, "histogram \"h\" has a bucket without a bound"},
        {10, "histogram \"h\" has a bucket without a bound"},
        {11, "family \"a\" is declared again"},
    };
    assert_int_equal(page.advice.n, ARRAY_LEN(advice));
    for (size_t i = 0; i < ARRAY_LEN(advice); i++) {
        assert_int_equal(page.advice.items[i].line, advice[i].line);
        assert_string_equal(page.advice.items[i].err.text, advice[i].text);
    }
    families_done(&page);
}

static void test_mistakes(void **state)
{
    struct buf b;
    (void)state;
    read_page("ok 1\nbad x\n# TYPE ok wrong\nm{a=\"1\",a=\"2\"} 1\n\xff 1\n", TEXT_PROMETHEUS);
    assert_int_equal(page.n_mistakes, 4);
    assert_int_equal(page.mistakes.n, 4);
    assert_int_equal(page.n, 1);
    assert_string_equal(page.mistakes.items[0].where, "page");
    assert_int_equal(page.mistakes.items[0].line, 2);
    assert_int_equal(page.mistakes.items[0].column, 5);
    assert_string_equal(page.mistakes.items[2].err.text, "the series has a label twice");
    families_done(&page);

    buf_init(&b, 1 << 16);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_append(&b, SPAN("bad\ngood 1\n")), 0);
    assert_int_equal(families_read(buf_span(&b), TEXT_PROMETHEUS, "page", &page), 0);
    assert_int_equal(page.n_mistakes, 100);
    assert_int_equal(page.mistakes.n, ERR_LIST_MAX);
    assert_int_equal(page.n_samples, 1);
    families_done(&page);
    buf_done(&b);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(families_read((struct span){0}, TEXT_PROMETHEUS, "page", &page), 0);
    assert_true(page.n == 0 && page.n_mistakes == 0);
    assert_null(families_find(&page, SPAN("a")));
    families_done(&page);
}

static void test_too_many(void **state)
{
    size_t n = 5 * ((size_t)FAMILIES_SAMPLES_MAX + 1);
    char *text = malloc(n);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i += 5)
        memcpy(text + i, "a 12\n", 5);
    assert_int_equal(families_read(span_of(text, n), TEXT_PROMETHEUS, "page", &page), -E2BIG);
    free(text);
}

/* Of random pages: nothing gets lost, families are sorted, each sample is in its own. */
static void test_random(void **state)
{
    struct pages p = {0};
    struct text t;
    struct text_item item;
    (void)state;
    rng_seed(&p.rng, 21);
    buf_init(&p.out, 1 << 16);
    for (int i = 0; i < 500; i++) {
        size_t n = 0, n_wrong = 0, n_there = 0;
        p.format = i % 2 == 0 ? TEXT_PROMETHEUS : TEXT_OPENMETRICS;
        pages_make(&p, 40);
        text_init(&t, buf_span(&p.out), p.format);
        for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item)) {
            n += item.kind == TEXT_SAMPLE;
            n_wrong += item.kind == TEXT_MISTAKE;
        }
        assert_int_equal(families_read(buf_span(&p.out), p.format, "page", &page), 0);
        for (size_t f = 0; f < page.n; f++) {
            n_there += page.at[f].n;
            assert_ptr_equal(families_find(&page, page.at[f].name), &page.at[f]);
            for (size_t s = 0; s < page.at[f].n; s++)
                assert_true(
                    span_starts_with(labels_name(page.at[f].samples[s].labels), page.at[f].name));
            for (size_t s = 1; s < page.at[f].n; s++)
                assert_true(page.at[f].samples[s - 1].line < page.at[f].samples[s].line);
        }
        assert_int_equal(n_there, page.n_samples);
        assert_true(n_there <= n &&
                    n_there + page.n_mistakes + page.advice.n + page.advice.n_dropped >=
                        n + n_wrong);
        families_done(&page);
    }
    buf_done(&p.out);
}

static int attempt(void *ctx)
{
    static const char text[] =
        "# HELP h a\\nb\n# TYPE h histogram\nh_bucket{le=\"1\\n\"} 1\n"
        "h_bucket{le=\"1\"} 1\nh_sum 2\n# TYPE c counter\nc_total 1\n# EOF\n";
    (void)ctx;
    int r = families_read(span_cstr(text), TEXT_OPENMETRICS, "page", &page);
    if (r == 0) {
        assert_int_equal(page.n_samples, 4);
        families_done(&page);
    }
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

/* Each saved page of an engine, and every cut of it. */
static void visit(void *ctx, const char *path, struct span content)
{
    size_t step = 1 + content.n / 60;
    (void)ctx;
    assert_int_equal(families_read(content, TEXT_PROMETHEUS, path, &page), 0);
    if (page.n_mistakes > 0)
        fail_msg("%s:%d: %s", path, page.mistakes.items[0].line, page.mistakes.items[0].err.text);
    size_t n_samples = page.n_samples;
    assert_true(n_samples > 0);
    families_done(&page);
    for (size_t at = 0; at < content.n; at += step) {
        assert_int_equal(families_read(span_of(content.p, at), TEXT_PROMETHEUS, path, &page), 0);
        assert_true(page.n_samples <= n_samples && page.n_mistakes <= 1);
        families_done(&page);
    }
}

static void test_saved_pages(void **state)
{
    (void)state;
    (void)corpus_each("reference/metrics-dumps", ".prom", visit, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_decide),    cmocka_unit_test(test_openmetrics_names),
        cmocka_unit_test(test_apart_and_twice), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_nothing),         cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_random),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_saved_pages),
    };
    return cmocka_run_group_tests_name("scrape/families", tests, NULL, NULL);
}
