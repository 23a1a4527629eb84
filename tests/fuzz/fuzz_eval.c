/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/query: the bytes choose an expression, its steps and its limits; it is evaluated over a
 * few series of all kinds. Whatever it is, limits hold, errors have a reason, results are what
 * query.h says, and nothing is left.
 * fuzz-links: promql series
 */
#include "pieces.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "promql/query.h"
#include "series/memory.h"

enum { DEPTH_MAX = 6, TEXT_MAX = 4000 };

struct maker {
    const uint8_t *at, *end;
    char text[TEXT_MAX];
    size_t n;
};

static unsigned choose(struct maker *m, unsigned n)
{
    return m->at < m->end ? *m->at++ % n : 0;
}

static void put(struct maker *m, const char *s)
{
    size_t n = strlen(s);
    if (m->n + n < TEXT_MAX) {
        memcpy(m->text + m->n, s, n);
        m->n += n;
    }
}

static void put_one(struct maker *m, const char *const *from, unsigned n)
{
    put(m, from[choose(m, n)]);
}

#define PUT_ONE(m, list) put_one(m, list, ARRAY_LEN(list))

static void put_vector(struct maker *m, int depth);
static void put_scalar(struct maker *m, int depth);

static void put_selector(struct maker *m)
{
    static const char *const names[] = {"a",         "b_total",          "h",    "n", "x_bucket",
                                        "{l!=\"\"}", "{__name__!=\"\"}", "gone", "c"};
    static const char *const matchers[] = {"", "", "{l=\"1\"}", "{l=~\"1|2\"}", "{m!~\"y.*\"}"};
    unsigned name = choose(m, ARRAY_LEN(names));
    put(m, names[name]);
    if (names[name][0] != '{')
        PUT_ONE(m, matchers);
}

static void put_when(struct maker *m)
{
    static const char *const whens[] = {"",
                                        "",
                                        "",
                                        "",
                                        " offset 1m",
                                        " offset -90s",
                                        " @ 300",
                                        " @ start()",
                                        " @ end() offset 30s",
                                        " offset step()",
                                        " @ -9e15",
                                        " offset 200y"};
    PUT_ONE(m, whens);
}

static void put_matrix(struct maker *m, int depth)
{
    static const char *const ranges[] = {"[5m]", "[1m]", "[90s]", "[1ms]", "[1h]", "[step() + 1]"};
    static const char *const steps[] = {"[5m:]", "[3m:30s]", "[10m:7s]", "[1h:1m]", "[1d:1ms]"};
    if (depth > 0 && choose(m, 4) == 0) {
        put(m, "(");
        put_vector(m, depth - 1);
        put(m, ")");
        PUT_ONE(m, steps);
    } else {
        put_selector(m);
        PUT_ONE(m, ranges);
    }
    put_when(m);
}

static void put_text(struct maker *m)
{
    static const char *const texts[] = {"\"l\"",    "\"m\"", "\"__name__\"", "\"new\"", "\"$1\"",
                                        "\"(.*)\"", "\"\"",  "\"(\"",        "\"le\""};
    PUT_ONE(m, texts);
}

static void put_arg(struct maker *m, enum promql_type type, int depth)
{
    if (type == PROMQL_SCALAR)
        put_scalar(m, depth);
    else if (type == PROMQL_VECTOR)
        put_vector(m, depth);
    else if (type == PROMQL_MATRIX)
        put_matrix(m, depth);
    else
        put_text(m);
}

static void put_call(struct maker *m, int depth, enum promql_type returns)
{
    const struct function_info *f = &function_infos[choose(m, (unsigned)n_function_infos)];
    for (size_t i = 0; i < n_function_infos && f->returns != returns; i++)
        f = f + 1 < function_infos + n_function_infos ? f + 1 : function_infos;
    unsigned n = f->n_min;
    if (f->n_max > f->n_min)
        n += choose(m, f->n_max - f->n_min + 1U > 3 ? 3 : f->n_max - f->n_min + 1U);
    put(m, f->name);
    put(m, "(");
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            put(m, ", ");
        put_arg(m, f->args[i < f->n_args ? i : f->n_args - 1U], depth - 1);
    }
    put(m, ")");
}

static void put_aggregate(struct maker *m, int depth)
{
    static const char *const groups[] = {
        "", " by (l)", " without (m)", " by (le, m)", " by (__name__)", " without (le)"};
    unsigned op = choose(m, AGG_COUNT_);
    put(m, aggregate_ops[op].text);
    PUT_ONE(m, groups);
    put(m, "(");
    if (aggregate_ops[op].has_parameter) {
        put_arg(m, aggregate_ops[op].parameter, depth - 1);
        put(m, ", ");
    }
    put_vector(m, depth - 1);
    put(m, ")");
}

static void put_binary(struct maker *m, int depth)
{
    static const char *const matchings[] = {" ",
                                            " ",
                                            " on (l) ",
                                            " ignoring (m) ",
                                            " on (l) group_left ",
                                            " on (l) group_right (m) ",
                                            " ignoring (l) group_left (new) ",
                                            " on () "};
    unsigned op = choose(m, OP_COUNT_);
    put_vector(m, depth - 1);
    put(m, " ");
    put(m, binary_ops[op].text);
    if (binary_ops[op].is_comparison && choose(m, 2))
        put(m, " bool");
    if (choose(m, 3) == 0) {
        put(m, " ");
        put_scalar(m, depth - 1);
        return;
    }
    put_one(m, matchings, binary_ops[op].is_set ? 4 : ARRAY_LEN(matchings));
    if (!binary_ops[op].is_set && choose(m, 8) == 0)
        put(m, "fill (3) ");
    put_vector(m, depth - 1);
}

static void put_vector(struct maker *m, int depth)
{
    unsigned kind = depth > 0 ? choose(m, 8) : 0;
    if (kind < 2) {
        put_selector(m);
        put_when(m);
    } else if (kind < 4) {
        put_call(m, depth, PROMQL_VECTOR);
    } else if (kind < 6) {
        put_aggregate(m, depth);
    } else {
        put(m, kind == 6 ? "(" : "-(");
        put_binary(m, depth);
        put(m, ")");
    }
}

static void put_scalar(struct maker *m, int depth)
{
    static const char *const numbers[] = {"0",   "1",     "0.5",  "2",    "-1", "NaN",
                                          "Inf", "1e308", "-0.0", "0.99", "3",  "1e-3"};
    unsigned kind = depth > 0 ? choose(m, 6) : 0;
    if (kind < 3) {
        PUT_ONE(m, numbers);
    } else if (kind < 5) {
        put_call(m, depth, PROMQL_SCALAR);
    } else {
        put(m, "(");
        put_scalar(m, depth - 1);
        put(m, " / ");
        put_scalar(m, depth - 1);
        put(m, ")");
    }
}

static void add(struct memory *memory, struct arena *a, const char *series, int64_t t_ms, double v,
                const char *histogram)
{
    struct span s = span_cstr(series), text = span_cstr(histogram ? histogram : "");
    struct promql_error error;
    struct fhist *h = NULL;
    struct labels l;
    FUZZ_CHECK(promql_parse_series(&s, a, &l, &error) == 0);
    if (histogram)
        FUZZ_CHECK(fhist_parse(&text, a, &h, NULL) == 0);
    FUZZ_CHECK(memory_append(memory, l, t_ms, v, h) == 0);
}

/* Twenty minutes of counters with resets, gauges with gaps and odd values, classic and native
 * histograms of different layouts, and series that change their kind. */
static struct memory *new_memory(void)
{
    static const char *const histograms[] = {
        "{{schema:0 sum:5 count:4 buckets:[1 2 1]}}",
        "{{schema:2 sum:9 count:9 z_bucket:1 z_bucket_w:0.01 buckets:[3 2] n_buckets:[1 2]}}",
        "{{schema:0 sum:3 count:2 buckets:[1 1]}}",
        "{{schema:-53 sum:7 count:6 custom_values:[1 2 4] buckets:[1 2 2 1]}}",
        "{{schema:-53 sum:7 count:5 custom_values:[1 4] buckets:[1 3 1]}}",
        "{{schema:1 sum:NaN count:5 buckets:[1 1 1]}}",
    };
    static const double odd[] = {
        1, -2, (double)NAN, (double)INFINITY, -(double)INFINITY, 0, -0.0, 1e308, 5, 5, 3};
    struct memory *memory;
    struct arena a;
    FUZZ_CHECK(memory_new(&memory) == 0);
    arena_init(&a, NULL);
    for (int i = 0; i < 40; i++) {
        int64_t t = i * 30000;
        const char *h = histograms[(size_t)i / 3 % ARRAY_LEN(histograms)];
        add(memory, &a, "a{l=\"1\",m=\"x\"}", t, odd[(size_t)i % ARRAY_LEN(odd)], NULL);
        if (i % 7 != 3)
            add(memory, &a, "a{l=\"2\",m=\"y\"}", t + 7, i % 9 == 8 ? series_stale() : i, NULL);
        add(memory, &a, "b_total{l=\"1\"}", t, i % 13, NULL);
        add(memory, &a, "b_total{l=\"2\",m=\"yy\"}", t, 3 * i, NULL);
        add(memory, &a, "h{l=\"1\"}", t, 0, histograms[i < 20 ? 0 : 2]);
        add(memory, &a, "n{l=\"1\",m=\"x\"}", t, 0, h);
        add(memory, &a, "n{l=\"2\"}", t, i, i % 5 < 2 ? h : NULL);
        add(memory, &a, "x_bucket{l=\"1\",le=\"0.5\"}", t, i, NULL);
        add(memory, &a, "x_bucket{l=\"1\",le=\"2\"}", t, 2 * i % 17, NULL);
        add(memory, &a, "x_bucket{l=\"1\",le=\"+Inf\"}", t, 3 * i, NULL);
        add(memory, &a, "x_bucket{l=\"2\",le=\"odd\"}", t, 1, NULL);
    }
    add(memory, &a, "c", 600000, 1, NULL);
    arena_done(&a);
    return memory;
}

static void check_labels(struct labels l)
{
    for (size_t i = 0; i < l.n; i++) {
        FUZZ_CHECK(l.at[i].name.n > 0 && l.at[i].value.n > 0);
        FUZZ_CHECK(i == 0 || !span_eq(l.at[i - 1].name, l.at[i].name));
        (void)pieces_hash(0, l.at[i].value);
    }
}

static void check_histogram(const struct fhist *h)
{
    struct fhist_walk w;
    struct fhist_range b;
    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b))
        FUZZ_CHECK(!(b.lower > b.upper));
}

static void check_vector(const struct value *v)
{
    for (size_t k = 0; k < v->n_columns; k++) {
        const struct column *c = &v->columns[k];
        bool has_any = false;
        check_labels(c->labels);
        for (size_t i = 0; i < v->n_steps; i++) {
            FUZZ_CHECK(c->has[i] <= 1);
            has_any |= c->has[i];
            if (c->has[i] && c->h && c->h[i])
                check_histogram(c->h[i]);
        }
        FUZZ_CHECK(has_any);
        for (size_t i = 0; i < k; i++)
            FUZZ_CHECK(!labels_eq(v->columns[i].labels, c->labels));
    }
}

static void check_result(const struct promql_result *r, const struct promql_options *o)
{
    const struct value *v = &r->value;
    FUZZ_CHECK(r->n_samples <= o->max_samples);
    FUZZ_CHECK(r->_budget.n_peak <= o->max_bytes);
    FUZZ_CHECK(v->n_columns * v->n_steps <= o->max_samples);
    for (size_t i = 0; i < r->n_notes; i++)
        FUZZ_CHECK(span_starts_with(r->notes[i].text, SPAN("PromQL ")));
    if (v->type == PROMQL_VECTOR)
        check_vector(v);
    if (v->type == PROMQL_SCALAR)
        FUZZ_CHECK(v->n_columns == 1);
    for (size_t i = 0; i < v->n_runs; i++) {
        check_labels(v->runs[i].labels);
        for (size_t k = 1; k < v->runs[i].n; k++)
            FUZZ_CHECK(v->runs[i].t[k - 1] < v->runs[i].t[k]);
    }
}

static void evaluate(struct memory *memory, struct span text, const struct promql_options *o)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    struct promql_result result;
    if (promql_parse(text, &e, &error) < 0)
        return;
    int r = promql_query(e, memory_reader(memory), o, &result, &error);
    if (r == 0)
        check_result(&result, o);
    else
        FUZZ_CHECK((r == -EINVAL || r == -E2BIG) && error.text[0] != '\0');
    promql_result_done(&result);
    (void)promql_free_expr(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct memory *memory;
    struct maker m = {.at = data, .end = data + size};
    struct promql_options o = {.max_bytes = (size_t)4 << 20, .max_samples = 20000};
    if (!memory)
        memory = new_memory();
    int64_t blocks = mem_live_blocks();
    unsigned how = choose(&m, 16);
    o.start_ms = 60000 * (int64_t)choose(&m, 20);
    o.end_ms = o.start_ms;
    o.is_range_closed = how & 1;
    if (how & 2) {
        o.step_ms = 15000 * (1 + (int64_t)choose(&m, 8));
        o.end_ms += 20000 * (int64_t)choose(&m, 40);
    }
    if (how & 4)
        o.max_bytes = (size_t)1024 * choose(&m, 256) + 1;
    if (how & 8)
        o.max_samples = 1 + 10 * choose(&m, 256);
    if (choose(&m, 8) == 0)
        put_matrix(&m, DEPTH_MAX);
    else
        put_vector(&m, DEPTH_MAX);
    evaluate(memory, span_of(m.text, m.n), &o);
    FUZZ_CHECK(mem_live_blocks() == blocks);
    return 0;
}
