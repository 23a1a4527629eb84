/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_run.c - one unit test after the other, with the evaluator that serves, too.
 *
 * Time only moves in steps of evaluation_interval.
 */
#include <errno.h>

#include "base/limits.h"
#include "base/suggest.h"
#include "rules/rule_test_private.h"
#include "series/duration.h"

#define SAID_MAX_BYTES (64 * KIB)

void rule_test_say_when(struct rule_test_run *run, const char *what, int64_t ts_ms)
{
    buf_clear(&run->title);
    buf_clear(&run->wanted);
    (void)!buf_printf(&run->title, "%s at ", what);
    (void)!duration_print(ts_ms - run->test->start_ms, &run->title);
}

static int check_rule(void *ctx, const struct rule_group *g, const struct rule *rule,
                      struct span error)
{
    struct rule_test_running *t = ctx;
    struct rule_test_run *run = &t->run;

    if (error.n == 0)
        return 0;
    rule_test_say_when(run, "evaluation", t->ts_ms);
    buf_clear(&run->got);
    (void)!buf_printf(&run->got, "%s:%d: rule \"%.*s\": %.*s", g->file, rule->line,
                      SPAN_ARG(rule->name), SPAN_ARG(error));
    rule_test_fail(run, run->test->at);
    t->has_failed = true;
    return 0;
}

static int add_got(struct rule_test_running *t, const struct rules_alert *a)
{
    struct rule_test_got got = {{NULL, 0}, {NULL, 0}};
    struct rule_test_got *at =
        arena_grow(&t->run.arena, t->got, t->n_got, 1, &t->cap_got, sizeof(*t->got));
    int r = at ? labels_copy(&t->run.arena, a->labels, &got.labels) : -ENOMEM;

    if (r == 0)
        r = labels_copy(&t->run.arena, a->annotations, &got.annotations);
    if (r < 0)
        return r;
    at[t->n_got++] = got;
    t->got = at;
    return 0;
}

struct wanted_alert {
    struct rule_test_running *t;
    struct span name;
};

static int take_alert(void *ctx, const struct rules_alert *a)
{
    struct wanted_alert *w = ctx;

    return a->is_firing && span_eq(a->rule->name, w->name) ? add_got(w->t, a) : 0;
}

static bool has_alert(const struct rule_test *file, struct span name, struct suggest *s)
{
    for (size_t i = 0; i < file->n_files; i++)
        for (size_t j = 0; j < file->files[i]->n; j++)
            for (size_t k = 0; k < file->files[i]->groups[j].n; k++) {
                const struct rule *rule = &file->files[i]->groups[j].rules[k];
                if (!rule->is_alert)
                    continue;
                if (span_eq(rule->name, name))
                    return true;
                suggest_offer(s, rule->name);
            }
    return false;
}

/* It cannot fire, so that "no alerts" passes, whatever the rules are. */
static void remark_unknown(struct rule_test_run *run, const struct rule_test_alerts *wanted)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;

    suggest_init(&s, wanted->name);
    if (!run->report->on_remark || has_alert(run->file, wanted->name, &s))
        return;
    buf_clear(&run->got);
    (void)!buf_printf(&run->got, "no rule has the alert \"%s\"",
                      err_list_shown(wanted->name, shown));
    if (s.best.n > 0)
        (void)!buf_printf(&run->got, "; did you mean \"%.*s\"?", SPAN_ARG(s.best));
    run->report->on_remark(run->report->ctx, wanted->at.line, wanted->at.column,
                           buf_span(&run->got));
}

static int check_alerts(struct rule_test_running *t, const struct rule_test_alerts *wanted)
{
    struct wanted_alert w = {t, wanted->name};
    int r;

    remark_unknown(&t->run, wanted);
    t->got = NULL;
    t->n_got = t->cap_got = 0;
    r = rules_each_alert(t->rules, take_alert, &w);
    if (r == 0)
        r = rule_test_compare_alerts(&t->run, wanted, t->got, t->n_got);
    arena_reset(&t->run.arena);
    return r;
}

/* Those whose time is not behind the next step. */
static int check_due(struct rule_test_running *t)
{
    const struct rule_test_case *test = t->run.test;
    int64_t next_ms = t->ts_ms - test->start_ms + t->run.file->interval_ms;
    int r = 0;

    while (r == 0 && t->n_checked < test->n_alerts && t->by_time[t->n_checked]->eval_ms < next_ms)
        r = check_alerts(t, t->by_time[t->n_checked++]);
    return r;
}

/* --- one step --- */

static int step(struct rule_test_running *t)
{
    struct rule_test_run *run = &t->run;
    struct err why = {.text = ""};
    int r = script_feed_until(t->feed, t->ts_ms, run->memory, &why);

    if (r == -EINVAL) {
        rule_test_say_when(run, "input", t->ts_ms);
        buf_clear(&run->got);
        (void)!buf_printf(&run->got, "%s (a rule records it, too)", why.text);
        rule_test_fail(run, run->test->at);
        t->has_failed = true;
        return 0;
    }
    if (r < 0)
        return r;
    rules_evaluate_in(t->rules, t->order, t->ts_ms);
    if (t->store_error < 0)
        return t->store_error;
    r = rules_each_rule(t->rules, check_rule, t);
    if (r == 0 && t->has_conflict) {
        rule_test_say_when(run, "recording", t->ts_ms);
        rule_test_fail(run, run->test->at);
        t->has_failed = true;
    }
    return r == 0 && !t->has_failed ? check_due(t) : r;
}

static int run_steps(struct rule_test_running *t)
{
    const struct rule_test_case *test = t->run.test;
    int64_t end_ms = test->start_ms + rule_test_last_ms(test);
    int r = 0;

    for (t->ts_ms = test->start_ms; t->ts_ms <= end_ms && r == 0 && !t->has_failed;
         t->ts_ms += t->run.file->interval_ms)
        r = step(t);
    for (size_t i = 0; i < test->n_exprs && r == 0 && !t->has_failed; i++) {
        r = rule_test_compare_expr(&t->run, &test->exprs[i]);
        arena_reset(&t->run.arena);
    }
    return r;
}

static int run_test(struct rule_test *file, const struct rule_test_case *test,
                    struct rule_test_report *report)
{
    struct rule_test_running t = {.run = {.file = file, .test = test, .report = report}};
    struct buf *texts[] = {&t.run.wanted, &t.run.got, &t.run.title};
    int r;

    arena_init(&t.arena, NULL);
    arena_init(&t.run.arena, NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_init(texts[i], SAID_MAX_BYTES);
    r = rule_test_set_up(&t);
    if (r == 0 && !t.has_failed)
        r = run_steps(&t);
    rule_test_tear_down(&t);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_done(texts[i]);
    arena_done(&t.run.arena);
    arena_done(&t.arena);
    return r;
}

int rule_test_run(struct rule_test *t, struct rule_test_report *report, struct err_list *errs)
{
    int r = rule_test_find_files(t, report, errs);

    report->n_rules += t->n_rules;
    for (size_t i = 0; i < t->n && r == 0; i++) {
        report->n_tests++;
        r = run_test(t, &t->tests[i], report);
    }
    return r;
}
