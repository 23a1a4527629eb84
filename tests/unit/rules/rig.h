/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct rules over series in memory, whose writer is as late as the test wants.
 */
#ifndef RIG_H
#define RIG_H

#include "harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "promql/query.h"
#include "rules/rules.h"
#include "series/memory.h"

enum { S = 1000, MINUTE = 60 * S, HOUR = 60 * MINUTE };
/* A round moment, so that whole minutes are easy to see. */
#define T0 INT64_C(1700000040000)

/* A test needs some of these. */
#define RIG static __attribute__((unused))

struct rig {
    struct rules *rules;
    struct memory *memory;
    struct batch *first, **last; /* on their way */
    uint64_t n_given, n_stored;
    bool is_late; /* the store takes batches only when rig_store is called */
    int open_error, write_error;
    int n_open;      /* readers */
    int n_samples;   /* given to the store */
    struct buf told; /* of notices, a line each */
    size_t n_told;
    bool is_silent; /* only counts what is told: allocates nothing */
};

RIG int rig_open(void *ctx, struct reader **ret)
{
    struct rig *g = ctx;
    if (g->open_error < 0)
        return g->open_error;
    g->n_open++;
    *ret = memory_reader(g->memory);
    return 0;
}

RIG void rig_close(void *ctx, struct reader *r)
{
    (void)r;
    ((struct rig *)ctx)->n_open--;
}

/* Everything that is on its way is stored. */
RIG void rig_store(struct rig *g)
{
    for (struct batch *b = g->first, *next; b; b = next) {
        next = b->next;
        for (size_t i = 0; i < b->n; i++) {
            int r =
                memory_append(g->memory, b->at[i].labels, b->at[i].t_ms, b->at[i].v, b->at[i].h);
            assert_true(r == 0 || r == -EINVAL); /* not newer */
        }
        g->n_stored = b->number;
        (void)batch_free(b);
    }
    g->first = NULL;
    g->last = &g->first;
}

RIG int rig_write(void *ctx, struct batch *b, uint64_t *ret)
{
    struct rig *g = ctx;
    if (g->write_error < 0)
        return g->write_error;
    g->n_samples += (int)b->n;
    *ret = b->number = ++g->n_given;
    b->next = NULL;
    *g->last = b;
    g->last = &b->next;
    if (!g->is_late)
        rig_store(g);
    return 0;
}

RIG uint64_t rig_written(void *ctx)
{
    return ((struct rig *)ctx)->n_stored;
}

RIG void rig_notify(void *ctx, const struct alert_notice *notices, size_t n)
{
    struct rig *g = ctx;
    for (size_t i = 0; i < n && !g->is_silent; i++) {
        const struct alert_notice *a = &notices[i];
        assert_int_equal(labels_print(a->labels, &g->told), 0);
        assert_int_equal(buf_printf(&g->told, " %s value=%g starts=%+" PRId64 " ends=%+" PRId64,
                                    a->is_resolved ? "resolved" : "firing", a->value,
                                    (a->starts_ms - T0) / S, (a->ends_ms - T0) / S),
                         0);
        for (size_t j = 0; j < a->annotations.n; j++)
            assert_int_equal(buf_printf(&g->told, " %.*s=\"%.*s\"",
                                        SPAN_ARG(a->annotations.at[j].name),
                                        SPAN_ARG(a->annotations.at[j].value)),
                             0);
        assert_int_equal(buf_append(&g->told, SPAN("\n")), 0);
    }
    g->n_told += n;
}

RIG struct rules_ops rig_ops(struct rig *g)
{
    return (struct rules_ops){.reader_open = rig_open,
                              .reader_close = rig_close,
                              .write = rig_write,
                              .written = rig_written,
                              .notify = rig_notify,
                              .ctx = g};
}

/* A new struct rules over what is stored: a start. */
RIG void rig_start(struct rig *g, const struct rules_config *config)
{
    const struct rules_ops ops = rig_ops(g);
    assert_int_equal(rules_new(config, &ops, &g->rules), 0);
}

/* The end: it may be followed by rig_start. */
RIG void rig_stop(struct rig *g)
{
    g->rules = rules_free(g->rules);
    rig_store(g);
    assert_int_equal(g->n_open, 0);
}

RIG void rig_init(struct rig *g, const struct rules_config *config)
{
    *g = (struct rig){.n_given = 0};
    g->last = &g->first;
    buf_init(&g->told, 1024 * 1024);
    assert_int_equal(memory_new(&g->memory), 0);
    rig_start(g, config);
}

RIG void rig_done(struct rig *g)
{
    rig_stop(g);
    g->memory = memory_free(g->memory);
    buf_done(&g->told);
}

RIG struct rule_file *rig_file(const char *text, const char *name)
{
    struct rule_file *f;
    static struct err_list errs;
    err_list_init(&errs);
    if (rule_file_read(span_cstr(text), name, &f, &errs) < 0)
        fail_msg("%s:%d:%d: %s", name, errs.items[0].line, errs.items[0].column,
                 errs.items[0].err.text);
    return f;
}

RIG void rig_load(struct rig *g, const char *text, int64_t now_ms)
{
    struct rule_file *f = rig_file(text, "a.yml");
    assert_int_equal(rules_load(g->rules, &f, 1, 0, now_ms), 0);
    (void)rule_file_unref(f);
}

RIG void rig_put(struct rig *g, const char *series, int64_t t_ms, double v)
{
    struct span s = span_cstr(series);
    struct promql_error error;
    struct labels l;
    struct arena a;
    arena_init(&a, NULL);
    if (promql_parse_series(&s, &a, &l, &error) < 0)
        fail_msg("%s: %s", series, error.text);
    assert_int_equal(memory_append(g->memory, l, t_ms, v, NULL), 0);
    arena_done(&a);
}

/* The result of a query on what is stored, a line for each series. */
RIG void rig_query(struct rig *g, const char *query, int64_t t_ms, struct buf *out)
{
    struct promql_options o = {.start_ms = t_ms, .end_ms = t_ms};
    struct promql_result result;
    struct promql_error error;
    struct promql_expr *e;
    rig_store(g);
    if (promql_parse(span_cstr(query), &e, &error) < 0 ||
        promql_query(e, memory_reader(g->memory), &o, &result, &error) < 0)
        fail_msg("%s: %s", query, error.text);
    buf_clear(out);
    for (size_t i = 0; i < result.value.n_columns; i++) {
        const struct column *c = &result.value.columns[i];
        assert_int_equal(labels_print(c->labels, out), 0);
        assert_int_equal(buf_append(out, SPAN(" ")), 0);
        if (c->h && c->h[0])
            assert_int_equal(fhist_print(c->h[0], out), 0);
        else
            assert_int_equal(buf_printf(out, "%.17g", c->v[0]), 0);
        assert_int_equal(buf_append(out, SPAN("\n")), 0);
    }
    promql_result_done(&result);
    (void)promql_free_expr(e);
}

#define assert_query(g, query, t_ms, want)                                                         \
    rig_assert_query(g, query, t_ms, want, __FILE__, __LINE__)
RIG void rig_assert_query(struct rig *g, const char *query, int64_t t_ms, const char *want,
                          const char *file, int line)
{
    struct buf out;
    buf_init(&out, 1024 * 1024);
    rig_query(g, query, t_ms, &out);
    harness_assert_span(query, buf_span(&out), span_cstr(want), file, line);
    buf_done(&out);
}

/* What was told since the last time. */
#define assert_told(g, want) rig_assert_told(g, want, __FILE__, __LINE__)
RIG void rig_assert_told(struct rig *g, const char *want, const char *file, int line)
{
    harness_assert_span("told", buf_span(&g->told), span_cstr(want), file, line);
    buf_clear(&g->told);
}

/* The last error of the only rule of that name. */
struct rig_wanted {
    struct span name, error;
};
RIG int rig_find_error(void *ctx, const struct rule_group *group, const struct rule *rule,
                       struct span error)
{
    struct rig_wanted *w = ctx;
    (void)group;
    if (!span_eq(rule->name, w->name))
        return 0;
    w->error = error;
    return 1;
}

#define assert_error(g, name, want) rig_assert_error(g, name, want, __FILE__, __LINE__)
RIG void rig_assert_error(struct rig *g, const char *name, const char *want, const char *file,
                          int line)
{
    struct rig_wanted w = {.name = span_cstr(name)};
    assert_int_equal(rules_each_rule(g->rules, rig_find_error, &w), 1);
    harness_assert_span(name, w.error, span_cstr(want), file, line);
}

#endif
