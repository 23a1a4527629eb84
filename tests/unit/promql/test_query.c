/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/query: what scripts cannot say: limits and their texts, the end of a query from outside,
 * closed ranges, sparse data, how much memory is needed, order of results, allocations that fail.
 * What functions and operators mean is in tests/data/promql/.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "memfail.h"
#include "promql/query.h"
#include "series/memory.h"

enum { MINUTE_MS = 60 * 1000 };

static struct labels labels_of(struct arena *a, const char *series)
{
    struct span s = span_cstr(series);
    struct promql_error error;
    struct labels l;
    if (promql_parse_series(&s, a, &l, &error) < 0)
        fail_msg("%s: %s", series, error.text);
    return l;
}

/* n samples of a series, first at t_ms, value + k * step. */
static void add(struct memory *m, const char *series, int n, int64_t t_ms, int64_t apart_ms,
                double value, double step)
{
    struct arena a;
    arena_init(&a, NULL);
    struct labels l = labels_of(&a, series);
    for (int i = 0; i < n; i++)
        assert_int_equal(memory_append(m, l, t_ms + i * apart_ms, value + i * step, NULL), 0);
    arena_done(&a);
}

static void add_histogram(struct memory *m, const char *series, int64_t t_ms, const char *text)
{
    struct arena a;
    struct fhist *h;
    struct span s = span_cstr(text);
    arena_init(&a, NULL);
    assert_int_equal(fhist_parse(&s, &a, &h, NULL), 0);
    assert_int_equal(memory_append(m, labels_of(&a, series), t_ms, 0, h), 0);
    arena_done(&a);
}

/* An hour: two counters, a gauge, histograms of both kinds. */
static struct memory *new_memory(void)
{
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    add(m, "c_total{i=\"1\"}", 61, 0, MINUTE_MS, 0, 60);
    add(m, "c_total{i=\"2\"}", 61, 0, MINUTE_MS, 0, 120);
    add(m, "g", 61, 0, MINUTE_MS, 0, 1);
    add(m, "x_bucket{le=\"1\"}", 61, 0, MINUTE_MS, 0, 1);
    add(m, "x_bucket{le=\"+Inf\"}", 61, 0, MINUTE_MS, 0, 2);
    for (int i = 0; i < 10; i++) {
        add_histogram(m, "h{i=\"1\"}", i * MINUTE_MS, "{{schema:0 sum:3 count:3 buckets:[1 2]}}");
        add_histogram(m, "h{i=\"2\"}", i * MINUTE_MS, "{{schema:1 sum:3 count:3 buckets:[1 2]}}");
    }
    return m;
}

static int run(struct reader *r, const char *query, const struct promql_options *o,
               struct promql_result *ret, struct promql_error *error)
{
    struct promql_expr *e;
    if (promql_parse(span_cstr(query), &e, error) < 0)
        fail_msg("%s: %s", query, error->text);
    int rc = promql_query(e, r, o, ret, error);
    (void)promql_free_expr(e);
    return rc;
}

static const struct promql_options an_hour = {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS};

static int over(void *ctx)
{
    int *n = ctx;
    return (*n)-- > 0 ? 0 : -ETIMEDOUT;
}

static int canceled(void *ctx)
{
    (void)ctx;
    return -ECANCELED;
}

static int ended(void *ctx)
{
    (void)ctx;
    return -EIO;
}

static void test_limits(void **state)
{
    static int none;
    static const struct {
        const char *query;
        struct promql_options o;
        int code;
        const char *text; /* what is in the error */
    } rows[] = {
        {"sum(c_total)", {.end_ms = 1000, .step_ms = 1000, .max_samples = 20}, 0, ""},
        {"sum(c_total)",
         {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS, .max_samples = 100},
         -E2BIG,
         "query processing would load too many samples into memory in query execution"},
        {"vector(1) + on () vector(2)",
         {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS, .max_samples = 60},
         -E2BIG,
         "too many samples"},
        {"count_over_time(vector(1)[1h:1ms])", {.max_samples = 10000}, -E2BIG, "too many samples"},
        {"count_over_time(vector(1)[100y:1ms])", {.max_samples = 0}, -E2BIG, "too many samples"},
        {"c_total",
         {.end_ms = 60 * MINUTE_MS, .step_ms = 400, .max_bytes = 100 * 1024},
         -E2BIG,
         "query needs more memory than the 0 MiB"},
        {"c_total",
         {.end_ms = 11001 * INT64_C(1000), .step_ms = 1000},
         -E2BIG,
         "exceeded maximum resolution of 11,000 points per timeseries"},
        {"g", {.end_ms = 1, .step_ms = 0}, -EINVAL, "zero or negative query resolution"},
        {"g", {.end_ms = 1, .step_ms = -1}, -EINVAL, "zero or negative query resolution"},
        {"g", {.start_ms = 1}, -EINVAL, "end timestamp must not be before start time"},
        {"g", {.start_ms = INT64_MIN, .end_ms = INT64_MAX, .step_ms = 1}, -EINVAL, "out of range"},
        {"g[5m]",
         {.end_ms = 1, .step_ms = 1},
         -EINVAL,
         "invalid expression type \"range vector\" for range query, must be Scalar or instant "
         "Vector"},
        {"\"x\"", {.end_ms = 1, .step_ms = 1}, -EINVAL, "invalid expression type \"string\""},
        {"sum_over_time(g[1h:1s])",
         {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS, .is_over = over, .ctx = &none},
         -ETIMEDOUT,
         "query timed out in expression evaluation"},
        {"sum_over_time(g[1h:1s])",
         {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS, .is_over = canceled},
         -ECANCELED,
         "query was canceled in expression evaluation"},
        {"sum_over_time(g[1h:1s])",
         {.end_ms = 60 * MINUTE_MS, .step_ms = MINUTE_MS, .is_over = ended},
         -EIO,
         "query ended in expression evaluation"},
    };
    struct memory *m = new_memory();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct promql_result result;
        struct promql_error error;
        none = 1;
        int r = run(memory_reader(m), rows[i].query, &rows[i].o, &result, &error);
        if (r != rows[i].code || !strstr(error.text, rows[i].text))
            fail_msg("row %zu, %s: %d, %s", i, rows[i].query, r, error.text);
        if (r < 0)
            assert_int_equal(error.line, 0);
        promql_result_done(&result);
        promql_result_done(&result); /* again does no harm */
    }
    (void)memory_free(m);
}

/* An expression is evaluated without an error's room, too. */
static void test_no_error_wanted(void **state)
{
    struct memory *m = new_memory();
    struct promql_expr *e;
    struct promql_result result;
    struct promql_options o = {.max_samples = 1};
    (void)state;
    assert_int_equal(promql_parse(SPAN("c_total + c_total"), &e, NULL), 0);
    assert_int_equal(promql_query(e, memory_reader(m), &o, &result, NULL), -E2BIG);
    (void)promql_free_expr(e);
    (void)memory_free(m);
}

static double first_value(struct reader *r, const char *query, const struct promql_options *o)
{
    struct promql_result result;
    struct promql_error error;
    if (run(r, query, o, &result, &error) < 0)
        fail_msg("%s: %s", query, error.text);
    if (result.value.n_columns != 1 || !result.value.columns[0].has[0])
        fail_msg("%s: %zu series", query, result.value.n_columns);
    double v = result.value.columns[0].v[0];
    promql_result_done(&result);
    return v;
}

/* With closed ranges a sample at the beginning counts, and lookback reaches one further. */
static void test_closed_ranges(void **state)
{
    static const struct {
        const char *query;
        double open, closed;
    } rows[] = {
        {"count_over_time(g[5m])", 5, 6},
        {"sum_over_time(g[5m])", 40, 45},
        {"count_over_time(g[5m:1m])", 5, 6},
        {"rate(c_total{i=\"1\"}[5m])", 1, 1},
        {"sum(increase(c_total{i=\"1\"}[1m])) or vector(-1)", -1, 60},
        {"count(g @ 3900) or vector(-1)", -1, 1}, /* five minutes behind the last one */
    };
    struct promql_options o = {.start_ms = 10 * MINUTE_MS, .end_ms = 10 * MINUTE_MS};
    struct memory *m = new_memory();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        o.is_range_closed = false;
        double open = first_value(memory_reader(m), rows[i].query, &o);
        o.is_range_closed = true;
        double closed = first_value(memory_reader(m), rows[i].query, &o);
        if (fabs(open - rows[i].open) > 1e-9 || fabs(closed - rows[i].closed) > 1e-9)
            fail_msg("%s: open %g, closed %g", rows[i].query, open, closed);
    }
    (void)memory_free(m);
}

static void test_lookback_is_an_option(void **state)
{
    struct memory *m = new_memory();
    struct promql_options o = {.start_ms = 61 * MINUTE_MS, .end_ms = 61 * MINUTE_MS};
    (void)state;
    assert_true(first_value(memory_reader(m), "g", &o) == 60);
    o.lookback_ms = MINUTE_MS;
    assert_true(first_value(memory_reader(m), "count(g) or vector(-1)", &o) == -1);
    o.default_step_ms = 10 * 1000;
    assert_true(first_value(memory_reader(m), "count_over_time(vector(1)[1m:])", &o) == 6);
    (void)memory_free(m);
}

/* A reader that holds, before half an hour, one sample per ten minutes, and says what it is asked
 * for. */
struct sparse {
    struct reader reader;
    struct reader *inner;
    enum series_aspect asked;
};

static int sparse_select(struct reader *r, const struct series_select *what, struct arena *a,
                         struct series_ref **ret, size_t *ret_n)
{
    struct sparse *s = CONTAINER_OF(r, struct sparse, reader);
    return s->inner->ops->select(s->inner, what, a, ret, ret_n);
}

static int sparse_samples(struct reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                          enum series_aspect aspect, struct samples *out)
{
    struct sparse *s = CONTAINER_OF(r, struct sparse, reader);
    struct samples all;
    samples_init(&all, NULL);
    s->asked = aspect;
    int rc = s->inner->ops->samples(s->inner, id, from_ms, to_ms, SERIES_LAST, &all);
    for (size_t i = 0; i < all.n && rc == 0; i++)
        if (all.t[i] >= 30 * MINUTE_MS)
            rc = samples_add(out, all.t[i], aspect == SERIES_COUNT ? 1 : all.v[i]);
        else if (all.t[i] % (10 * MINUTE_MS) == 0)
            rc = samples_add(out, all.t[i], aspect == SERIES_COUNT ? 10 : all.v[i]);
    samples_done(&all);
    return rc;
}

static int64_t sparse_resolution(struct reader *r, int64_t t_ms)
{
    (void)r;
    return t_ms < 30 * MINUTE_MS ? 10 * MINUTE_MS : 0;
}

static const struct reader_ops sparse_ops = {sparse_select, sparse_samples, sparse_resolution};

static void test_sparse_data_widens_ranges(void **state)
{
    static const struct {
        const char *query;
        int at_min;
        enum series_aspect asked;
        double want;
        bool is_widened;
    } rows[] = {
        {"g", 25, SERIES_LAST, 20, true},
        {"g", 45, SERIES_LAST, 45, false},
        {"max_over_time(g[5m])", 25, SERIES_MAX, 20, true},
        {"min_over_time(g[5m])", 25, SERIES_MIN, 10, true},
        {"sum_over_time(g[5m])", 25, SERIES_SUM, 30, true},
        {"avg_over_time(g[5m])", 25, SERIES_MEAN, 15, true},
        {"count_over_time(g[5m])", 25, SERIES_COUNT, 20, true},
        {"count_over_time(g[5m])", 50, SERIES_LAST, 5, false},
        {"rate(c_total{i=\"1\"}[5m])", 25, SERIES_LAST, 1, true},
        {"increase(c_total{i=\"1\"}[5m])", 25, SERIES_LAST, 300, true},
        {"rate(c_total{i=\"1\"}[1h])", 60, SERIES_LAST, 1, false},
        {"max_over_time(g[1h])", 60, SERIES_MAX, 60, false},
        {"count_over_time(g[1h])", 60, SERIES_COUNT, 51, false},
    };
    struct memory *m = new_memory();
    struct sparse s = {.reader = {&sparse_ops}, .inner = memory_reader(m)};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct promql_options o = {.start_ms = rows[i].at_min * MINUTE_MS,
                                   .end_ms = rows[i].at_min * MINUTE_MS};
        struct promql_result result;
        struct promql_error error;
        assert_int_equal(run(&s.reader, rows[i].query, &o, &result, &error), 0);
        assert_row(rows[i].query, result.value.n_columns == 1);
        assert_row(rows[i].query, fabs(result.value.columns[0].v[0] - rows[i].want) < 1e-9);
        assert_row(rows[i].query, s.asked == rows[i].asked);
        assert_row(rows[i].query, (result.widened_ms == 20 * MINUTE_MS) == rows[i].is_widened);
        assert_row(rows[i].query, (result.n_notes == 1) == rows[i].is_widened);
        promql_result_done(&result);
    }
    (void)memory_free(m);
}

/* From step to step windows are as wide as each needs. */
static void test_sparse_data_step_by_step(void **state)
{
    struct memory *m = new_memory();
    struct sparse s = {.reader = {&sparse_ops}, .inner = memory_reader(m)};
    struct promql_options o = {
        .start_ms = 25 * MINUTE_MS, .end_ms = 45 * MINUTE_MS, .step_ms = 5 * MINUTE_MS};
    /* At 30 min two: of 20 min and a raw one; from 35 min on the range begins where raw data does.
     */
    static const double want[] = {20, 11, 5, 5, 5};
    struct promql_result result;
    struct promql_error error;
    (void)state;
    assert_int_equal(run(&s.reader, "count_over_time(g[5m])", &o, &result, &error), 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_true(result.value.columns[0].v[i] == want[i]);
    promql_result_done(&result);
    (void)memory_free(m);
}

static void test_notes_are_told_once(void **state)
{
    struct memory *m = new_memory();
    struct promql_result result;
    struct promql_error error;
    (void)state;
    assert_int_equal(run(memory_reader(m),
                         "\n rate(g[5m]) + on () group_right rate(g[9m]) or sum(h)", &an_hour,
                         &result, &error),
                     0);
    assert_int_equal(result.n_notes, 1);
    assert_false(result.notes[0].is_warning);
    assert_span_equal("note", result.notes[0].text,
                      SPAN("PromQL info: metric might not be a counter, name does not end in "
                           "_total/_sum/_count/_bucket: \"g\" (2:7)"));
    promql_result_done(&result);
    (void)memory_free(m);
}

static void test_order(void **state)
{
    struct memory *m = new_memory();
    struct promql_result result;
    struct promql_error error;
    struct promql_options o = {.start_ms = MINUTE_MS, .end_ms = MINUTE_MS};
    (void)state;
    assert_int_equal(run(memory_reader(m), "sort_desc(c_total)", &o, &result, &error), 0);
    assert_true(result.value.is_ordered);
    assert_true(result.value.columns[0].v[0] == 120 && result.value.columns[1].v[0] == 60);
    assert_int_equal(result.n_samples, 4);
    promql_result_done(&result);
    assert_int_equal(run(memory_reader(m), "topk(9, -c_total)", &an_hour, &result, &error), 0);
    assert_false(result.value.is_ordered);
    assert_int_equal(result.value.n_columns, 2);
    assert_true(labels_cmp(result.value.columns[0].labels, result.value.columns[1].labels) < 0);
    assert_int_equal(result.value.n_steps, 61);
    promql_result_done(&result);
    (void)memory_free(m);
}

/* An aggregation holds one series at a time: 200 series need little more than one. */
static void test_streams(void **state)
{
    struct memory *m;
    char name[40];
    size_t peak[2];
    struct promql_options o = {.end_ms = 60 * MINUTE_MS, .step_ms = 1000};
    (void)state;
    assert_int_equal(memory_new(&m), 0);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "c_total{i=\"%d\"}", i);
        add(m, name, 61, 0, MINUTE_MS, i, 60);
    }
    static const char *const queries[] = {"sum(rate(c_total{i=\"1\"}[5m]))",
                                          "sum(rate(c_total[5m])) and avg(c_total)"};
    for (size_t i = 0; i < 2; i++) {
        struct promql_result result;
        struct promql_error error;
        assert_int_equal(run(memory_reader(m), queries[i], &o, &result, &error), 0);
        assert_true(fabs(result.value.columns[0].v[3000] - (i ? 200 : 1)) < 1e-9);
        peak[i] = result._budget.n_peak;
        promql_result_done(&result);
    }
    assert_true(peak[1] < 4 * peak[0]);
    (void)memory_free(m);
}

struct attempt {
    struct memory *m;
    const char *query;
};

static int attempt(void *ctx)
{
    const struct attempt *x = ctx;
    struct promql_expr *e;
    struct promql_error error;
    struct promql_result result;
    const struct promql_options o = {.end_ms = 9 * MINUTE_MS, .step_ms = 3 * MINUTE_MS};
    int r = promql_parse(span_cstr(x->query), &e, &error);
    if (r < 0)
        return r;
    r = promql_query(e, memory_reader(x->m), &o, &result, &error);
    if (r == -ENOMEM)
        assert_string_equal(error.text, "out of memory");
    promql_result_done(&result);
    (void)promql_free_expr(e);
    return r;
}

static void test_allocation_failures(void **state)
{
    static const char *const queries[] = {
        "histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m])))",
        "histogram_quantiles(h, \"q\", 0.5, 0.9) or histogram_fraction(0, 1, h)",
        "sum(h) / on () group_right max_over_time(c_total[5m:1m])",
        "label_replace(label_join(topk(1, c_total), 'a', '-', 'i'), 'b', '$1', 'i', '(.*)')",
        "count_values(\"v\", h) unless on (i) quantile by (i) (0.5, c_total)",
        "avg_over_time(h[5m]) + rate(h[9m]) == bool delta(h[9m])",
        "sort_by_label(c_total, \"i\") > on (i) group_left timestamp(c_total @ 60)",
        "quantile_over_time(0.5, c_total[5m]) + ignoring (i) group_left fill (1) absent(nothing)",
        "-h * 2 or absent_over_time(nothing{a=\"b\"}[5m]) or vector(scalar(g))",
    };
    struct memory *m = new_memory();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct attempt x = {m, queries[i]};
        assert_row(queries[i], memfail_each(attempt, &x) > 3);
    }
    (void)memory_free(m);
}

/* A budget that is too small by any amount is told, and leaves nothing behind. */
static void test_any_budget(void **state)
{
    struct memory *m = new_memory();
    int64_t blocks = mem_live_blocks();
    struct promql_options o = {.end_ms = 9 * MINUTE_MS, .step_ms = 3 * MINUTE_MS};
    int r = -E2BIG;
    (void)state;
    for (size_t n = 512; r < 0; n += 512) {
        struct promql_result result;
        struct promql_error error;
        o.max_bytes = n;
        r = run(memory_reader(m), "sum by (i) (h) * on (i) rate(c_total[5m])", &o, &result, &error);
        assert_true(r == 0 || r == -E2BIG);
        assert_true(result._budget.n_peak <= n);
        promql_result_done(&result);
        assert_int_equal(mem_live_blocks(), blocks);
        assert_true(n < 1024 * 1024);
    }
    (void)memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_error_wanted),
        cmocka_unit_test(test_closed_ranges),
        cmocka_unit_test(test_lookback_is_an_option),
        cmocka_unit_test(test_sparse_data_widens_ranges),
        cmocka_unit_test(test_sparse_data_step_by_step),
        cmocka_unit_test(test_notes_are_told_once),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_any_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
