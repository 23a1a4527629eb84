/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/overlay: series of the store and of what is on its way, as one.
 */
#include "rig.h"

#include "memfail.h"
#include "rules/overlay.h"

struct both {
    struct memory *memory;
    struct overlay overlay;
    uint64_t n_batches;
};

static void open(struct both *b, uint64_t written)
{
    overlay_open(&b->overlay, memory_reader(b->memory), written);
}

static void init(struct both *b)
{
    *b = (struct both){.n_batches = 0};
    overlay_init(&b->overlay);
    assert_int_equal(memory_new(&b->memory), 0);
    open(b, 0);
}

static void done(struct both *b)
{
    overlay_done(&b->overlay);
    b->memory = memory_free(b->memory);
}

static struct labels parse(struct arena *a, const char *series)
{
    struct span s = span_cstr(series);
    struct promql_error error;
    struct labels l;
    if (promql_parse_series(&s, a, &l, &error) < 0)
        fail_msg("%s: %s", series, error.text);
    return l;
}

/* A batch of one sample; returns its number, 0: not taken. */
static uint64_t record(struct both *b, const char *series, int64_t t_ms, double v)
{
    struct arena a;
    struct recorded *s;
    arena_init(&a, NULL);
    assert_int_equal(recorded_get(&b->overlay.table, parse(&a, series), &s), 0);
    bool is_taken = recorded_judge(s, t_ms, v, false) == RECORDED_TAKEN;
    if (is_taken) {
        assert_int_equal(overlay_add(&b->overlay, s, t_ms, v, NULL), 0);
        overlay_commit(&b->overlay, ++b->n_batches);
    }
    recorded_unref(&b->overlay.table, s);
    arena_done(&a);
    return is_taken ? b->n_batches : 0;
}

static void store(struct both *b, const char *series, int64_t t_ms, double v)
{
    struct arena a;
    arena_init(&a, NULL);
    assert_int_equal(memory_append(b->memory, parse(&a, series), t_ms, v, NULL), 0);
    arena_done(&a);
}

/* Everything of a selector in (0, to_ms], as "name{labels}: v@t v@t ...". */
#define assert_range(b, query, to_ms, want) check_range(b, query, to_ms, want, __LINE__)
static void check_range(struct both *b, const char *selector, int64_t to_ms, const char *want,
                        int line)
{
    struct promql_options o = {.start_ms = to_ms, .end_ms = to_ms};
    struct promql_result result;
    struct promql_error error;
    struct promql_expr *e;
    struct buf out;
    char query[200];
    (void)snprintf(query, sizeof(query), "%s[1h]", selector);
    if (promql_parse(span_cstr(query), &e, &error) < 0 ||
        promql_query(e, overlay_reader(&b->overlay), &o, &result, &error) < 0)
        fail_msg("%s: %s", query, error.text);
    buf_init(&out, 1024 * 1024);
    for (size_t i = 0; i < result.value.n_runs; i++) {
        const struct run *run = &result.value.runs[i];
        assert_int_equal(labels_print(run->labels, &out), 0);
        for (size_t j = 0; j < run->n; j++)
            assert_int_equal(buf_printf(&out, " %g@%" PRId64, run->v[j], run->t[j]), 0);
        assert_int_equal(buf_append(&out, SPAN("\n")), 0);
    }
    harness_assert_span(query, buf_span(&out), span_cstr(want), __FILE__, line);
    buf_done(&out);
    promql_result_done(&result);
    (void)promql_free_expr(e);
}

static void test_as_one(void **state)
{
    struct both b;
    (void)state;
    init(&b);
    assert_ptr_equal(overlay_reader(&b.overlay), memory_reader(b.memory));
    store(&b, "x{i=\"1\"}", 10, 1);
    store(&b, "x{i=\"1\"}", 20, 2);
    store(&b, "x{i=\"2\"}", 10, 5);
    record(&b, "x{i=\"1\"}", 20, 7); /* the store has that moment */
    record(&b, "x{i=\"1\"}", 30, 3);
    record(&b, "x{i=\"1\"}", 40, 4);
    record(&b, "x{i=\"3\"}", 30, 9);
    record(&b, "y", 30, 8);
    assert_range(&b, "x", 100,
                 "x{i=\"1\"} 1@10 2@20 3@30 4@40\nx{i=\"2\"} 5@10\nx{i=\"3\"} 9@30\n");
    assert_range(&b, "x", 30, "x{i=\"1\"} 1@10 2@20 3@30\nx{i=\"2\"} 5@10\nx{i=\"3\"} 9@30\n");
    assert_range(&b, "x", 29, "x{i=\"1\"} 1@10 2@20\nx{i=\"2\"} 5@10\n");
    assert_range(&b, "{i=~\"1|3\"}", 100, "x{i=\"1\"} 1@10 2@20 3@30 4@40\nx{i=\"3\"} 9@30\n");
    assert_range(&b, "{__name__=~\"y|z\"}", 100, "y 8@30\n");
    assert_range(&b, "z", 100, "");
    done(&b);
}

/* What the store shows goes, batch by batch. */
/* --- a store that has nothing, and no list of it --- */

static int select_nothing(struct reader *r, const struct series_select *what, struct arena *a,
                          struct series_ref **ret, size_t *ret_n)
{
    (void)r;
    (void)what;
    (void)a;
    *ret = NULL;
    *ret_n = 0;
    return 0;
}

static void test_empty_store(void **state)
{
    static const struct reader_ops ops = {.select = select_nothing};
    struct reader nothing = {.ops = &ops};
    const struct series_select all = {.from_ms = 0, .to_ms = INT64_MAX};
    struct series_ref *refs;
    struct both b;
    struct arena a;
    size_t n;
    (void)state;
    init(&b);
    arena_init(&a, NULL);
    assert_true(record(&b, "r", 1, 1) > 0);
    overlay_open(&b.overlay, &nothing, 0);
    struct reader *r = overlay_reader(&b.overlay);
    assert_int_equal(r->ops->select(r, &all, &a, &refs, &n), 0);
    assert_int_equal(n, 1);
    arena_done(&a);
    done(&b);
}

static void test_written(void **state)
{
    struct both b;
    (void)state;
    init(&b);
    uint64_t first = record(&b, "x", 10, 1);
    uint64_t second = record(&b, "x", 20, 2);
    assert_int_equal(b.overlay.n_samples, 2);
    store(&b, "x", 10, 1);
    assert_range(&b, "x", 100, "x 1@10 2@20\n"); /* it has it, and nobody said so yet */
    open(&b, first);
    assert_int_equal(b.overlay.n_samples, 1);
    assert_range(&b, "x", 100, "x 1@10 2@20\n");
    store(&b, "x", 20, 2);
    open(&b, second);
    assert_int_equal(b.overlay.n_samples, 0);
    assert_int_equal(b.overlay.table.n, 0);
    assert_ptr_equal(overlay_reader(&b.overlay), memory_reader(b.memory));
    assert_range(&b, "x", 100, "x 1@10 2@20\n");
    done(&b);
}

/* A sample that the store would refuse is not shown. */
static void test_order(void **state)
{
    struct both b;
    (void)state;
    init(&b);
    assert_int_not_equal(record(&b, "x", 20, 1), 0);
    assert_int_equal(record(&b, "x", 20, 2), 0);
    assert_int_equal(record(&b, "x", 10, 3), 0);
    assert_range(&b, "x", 100, "x 1@20\n");
    store(&b, "x", 50, 9); /* somebody else's */
    assert_range(&b, "x", 100, "x 9@50\n");
    done(&b);
}

static void test_cancelled(void **state)
{
    struct both b;
    struct recorded *s;
    struct label pair = {SPAN(LABEL_NAME), SPAN("x")};
    (void)state;
    init(&b);
    record(&b, "x", 10, 1);
    assert_int_equal(recorded_get(&b.overlay.table, (struct labels){&pair, 1}, &s), 0);
    assert_int_equal(overlay_add(&b.overlay, s, 20, 2, NULL), 0);
    overlay_cancel(&b.overlay);
    assert_int_equal(recorded_judge(s, 20, 2, false), RECORDED_TAKEN);
    recorded_unref(&b.overlay.table, s);
    assert_range(&b, "x", 100, "x 1@10\n");
    done(&b);
}

/* Many series, in an order of their own, come and go. */
static void test_many(void **state)
{
    enum { N = 500 };
    struct both b;
    char name[40];
    (void)state;
    init(&b);
    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof(name), "x{i=\"%d\"}", i * 7919 % N);
        if (i % 3 == 0)
            store(&b, name, 5, i);
        record(&b, name, 10, i);
    }
    struct promql_options o = {.start_ms = 100, .end_ms = 100};
    struct promql_result result;
    struct promql_error error;
    struct promql_expr *e;
    assert_int_equal(promql_parse(SPAN("sum(count_over_time(x[1h]))"), &e, &error), 0);
    assert_int_equal(promql_query(e, overlay_reader(&b.overlay), &o, &result, &error), 0);
    assert_true(result.value.columns[0].v[0] == N + (N + 2) / 3);
    promql_result_done(&result);
    (void)promql_free_expr(e);
    open(&b, N / 2);
    assert_int_equal(b.overlay.n_samples, N / 2);
    assert_int_equal(b.overlay.table.n, N / 2);
    open(&b, UINT64_MAX);
    assert_int_equal(b.overlay.table.n, 0);
    done(&b);
}

static int attempt(void *ctx)
{
    struct overlay o;
    struct recorded *s;
    struct label pair = {SPAN(LABEL_NAME), SPAN("x")};
    (void)ctx;
    overlay_init(&o);
    int r = recorded_get(&o.table, (struct labels){&pair, 1}, &s);
    if (r == 0) {
        r = overlay_add(&o, s, 20, 2, NULL);
        if (r == 0)
            overlay_commit(&o, 1);
        recorded_unref(&o.table, s);
    }
    overlay_done(&o);
    return r;
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_one),    cmocka_unit_test(test_empty_store),
        cmocka_unit_test(test_written),   cmocka_unit_test(test_order),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_many),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
