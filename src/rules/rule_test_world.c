/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_world.c - what a unit test of rules runs in: its memory, its input, the
 * evaluator.
 *
 * What rules record goes to the same memory as the input, at once, so that nothing is on its way.
 */
#include <errno.h>
#include <stdlib.h>

#include "rules/rule_test_private.h"

/* --- the seam to the evaluator --- */

static int reader_open(void *ctx, struct reader **ret)
{
    struct rule_test_running *t = ctx;

    *ret = memory_reader(t->run.memory);
    return 0;
}

static void reader_close(void *ctx, struct reader *r)
{
    (void)ctx;
    (void)r;
}

static uint64_t written(void *ctx)
{
    struct rule_test_running *t = ctx;

    return t->n_batches;
}

/* Two sources of one series: the input of the test, and a rule. */
static void conflict(struct rule_test_running *t, struct labels labels, int64_t t_ms)
{
    struct rule_test_run *run = &t->run;

    if (t->has_conflict)
        return;
    t->has_conflict = true;
    buf_clear(&run->got);
    (void)!labels_print(labels, &run->got); /* as much of it as there is */
    (void)!buf_printf(&run->got, " at %lld ms: the input has a sample there already",
                      (long long)t_ms);
}

static int store(void *ctx, struct batch *b, uint64_t *ret_number)
{
    struct rule_test_running *t = ctx;
    int r = 0;

    for (size_t i = 0; i < b->n && r == 0; i++) {
        const struct batch_sample *s = &b->at[i];
        r = memory_append(t->run.memory, s->labels, s->t_ms, s->v, s->h);
        if (r == -EINVAL) {
            if (!series_is_stale(s->v))
                conflict(t, s->labels, s->t_ms);
            r = 0;
        }
    }
    if (r < 0) {
        t->store_error = r; /* the evaluator only counts it */
        return r;
    }
    batch_free(b);
    *ret_number = ++t->n_batches;
    return 0;
}

/* --- setting up --- */

struct ranked {
    size_t rank, i;
};

static int ranked_cmp(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    int c = (x->rank > y->rank) - (x->rank < y->rank);

    return c != 0 ? c : (x->i > y->i) - (x->i < y->i);
}

/* Groups that are not in group_eval_order come with the first of it, as in promtool. */
static size_t rank_of(const struct rule_test *file, struct span group)
{
    for (size_t i = 0; i < file->n_order; i++)
        if (span_eq(file->order[i].text, group))
            return i;
    return 0;
}

static int order_groups(struct rule_test_running *t, struct arena *a)
{
    const struct rule_test *file = t->run.file;
    struct ranked *ranked;
    size_t n = 0;

    for (size_t i = 0; i < file->n_files; i++)
        n += file->files[i]->n;
    ranked = arena_array(a, n, sizeof(*ranked));
    t->order = arena_array(a, n, sizeof(*t->order));
    if (!ranked || !t->order)
        return -ENOMEM;
    n = 0;
    for (size_t i = 0; i < file->n_files; i++)
        for (size_t j = 0; j < file->files[i]->n; j++, n++)
            ranked[n] = (struct ranked){rank_of(file, file->files[i]->groups[j].name), n};
    if (n > 1)
        qsort(ranked, n, sizeof(*ranked), ranked_cmp);
    for (size_t i = 0; i < n; i++)
        t->order[i] = ranked[i].i;
    return 0;
}

static int time_cmp(const void *a, const void *b)
{
    const struct rule_test_alerts *x = *(const struct rule_test_alerts *const *)a;
    const struct rule_test_alerts *y = *(const struct rule_test_alerts *const *)b;
    int c = (x->eval_ms > y->eval_ms) - (x->eval_ms < y->eval_ms);

    return c != 0 ? c : (x > y) - (x < y);
}

static int order_alerts(struct rule_test_running *t, struct arena *a)
{
    const struct rule_test_case *test = t->run.test;

    t->by_time = arena_array(a, test->n_alerts, sizeof(struct rule_test_alerts *));
    if (!t->by_time)
        return -ENOMEM;
    for (size_t i = 0; i < test->n_alerts; i++)
        t->by_time[i] = &test->alerts[i];
    if (test->n_alerts > 1)
        qsort(t->by_time, test->n_alerts, sizeof(struct rule_test_alerts *), time_cmp);
    return 0;
}

static int feed_input(struct rule_test_running *t)
{
    const struct rule_test_case *test = t->run.test;
    struct err why = {.text = ""};
    int r = script_feed_new(test->start_ms, test->interval_ms, &t->feed);

    for (size_t i = 0; i < test->n_series && r == 0; i++) {
        const struct rule_test_series *s = &test->series[i];
        r = script_feed_add(t->feed, s->series, s->values, &why);
        if (r == -E2BIG) {
            rule_test_say_when(&t->run, "input", test->start_ms);
            (void)!buf_printf(&t->run.got, "%s", why.text);
            rule_test_fail(&t->run, s->at);
            t->has_failed = true;
            return 0;
        }
    }
    return r;
}

static int load_rules(struct rule_test_running *t)
{
    const struct rule_test *file = t->run.file;
    const struct rule_test_case *test = t->run.test;
    struct rules_config config = {
        .interval_ms = file->interval_ms, /* of subqueries; groups are evaluated from here */
        .external_labels = test->external_labels,
        .external_url = test->external_url,
    };
    const struct rules_ops ops = {.reader_open = reader_open,
                                  .reader_close = reader_close,
                                  .write = store,
                                  .written = written,
                                  .ctx = t};
    int r = rules_new(&config, &ops, &t->rules);

    return r == 0 ? rules_load(t->rules, file->files, file->n_files, 0, test->start_ms) : r;
}

int rule_test_set_up(struct rule_test_running *t)
{
    int r = memory_new(&t->run.memory);

    if (r == 0)
        r = order_groups(t, &t->arena);
    if (r == 0)
        r = order_alerts(t, &t->arena);
    if (r == 0)
        r = feed_input(t);
    return r == 0 && !t->has_failed ? load_rules(t) : r;
}

void rule_test_tear_down(struct rule_test_running *t)
{
    rules_free(t->rules); /* writes its last markers */
    memory_free(t->run.memory);
    script_feed_free(t->feed);
}
