/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_eval.c - one evaluation of a test script, in all the ways it must come out.
 */
#include <errno.h>

#include "promql/script_private.h"

enum { MINUTE_MS = 60 * 1000 };

/* One way to ask: at a time, or over a range. */
struct way {
    struct span query;
    int64_t start_ms, end_ms, step_ms;
    bool is_range;
};

static int tell_failure(struct script *s, const struct script_eval *e, const struct way *w)
{
    struct buf query;
    int r;

    if (!s->report->on_failure)
        return 0;
    buf_init(&query, w->query.n + 200);
    if (w->is_range)
        r = buf_printf(&query, "range from %lldms to %lldms step %lldms: ", (long long)w->start_ms,
                       (long long)w->end_ms, (long long)w->step_ms);
    else
        r = buf_printf(&query, "instant at %lldms: ", (long long)w->start_ms);
    if (r == 0)
        r = buf_append(&query, w->query);
    if (r == 0) {
        struct script_failure f = {e->line, buf_span(&query), buf_span(&s->wanted),
                                   buf_span(&s->got)};
        s->report->on_failure(s->report->ctx, &f);
    }
    buf_done(&query);
    return r;
}

/* The query failed: is that what was expected? */
static int compare_error(struct script *s, const struct script_eval *e,
                         const struct promql_error *error)
{
    int r;

    for (const struct script_expect *i = e->expects; i; i = i->next)
        if (i->kind == EXPECT_FAIL) {
            if (script_expect_matches(i, span_cstr(error->text)))
                return 0;
            r = script_say(&s->wanted, "error %s\"%.*s\"", i->pattern ? "matching " : "",
                           SPAN_ARG(i->text));
            if (r == 0)
                r = script_say(&s->got, "error \"%s\"", error->text);
            return r == 0 ? SCRIPT_DIFFERS : r;
        }
    r = script_say(&s->wanted, "a result");
    if (r == 0)
        r = script_said(promql_error_print(error, &s->got));
    return r == 0 ? SCRIPT_DIFFERS : r;
}

static int differs(struct script *s, const char *wanted, const char *got)
{
    int r = script_say(&s->wanted, "%s", wanted);
    if (r == 0)
        r = script_say(&s->got, "%s", got);
    return r == 0 ? SCRIPT_DIFFERS : r;
}

/* Errors that say something of the query, rather than of this process. */
static bool is_of_query(int r)
{
    return r == -EINVAL || r == -E2BIG || r == -ETIMEDOUT;
}

static int query(struct script *s, const struct promql_expr *x, const struct way *w,
                 struct promql_result *ret, struct promql_error *error)
{
    struct promql_options o = {
        .start_ms = w->start_ms, .end_ms = w->end_ms, .step_ms = w->is_range ? w->step_ms : 0};
    return promql_query(x, memory_reader(s->memory), &o, ret, error);
}

/* Asked this way, result and notes are as told. *ret_is_checked: there is a result that was. */
static int run_told(struct script *s, struct script_eval *e, const struct promql_expr *x,
                    const struct way *w, bool *ret_is_checked)
{
    struct promql_result result;
    struct promql_error error = {.text = ""};
    int r = query(s, x, w, &result, &error);

    *ret_is_checked = false;
    if (is_of_query(r)) {
        r = compare_error(s, e, &error);
    } else if (r == 0 && (e->expects_of & 1U << EXPECT_FAIL)) {
        r = differs(s, "an error", "a result");
    } else if (r == 0) {
        *ret_is_checked = true;
        r = script_compare_notes(s, e, &result);
        if (r == 0)
            r = script_compare_value(s, e, &result.value);
    }
    promql_result_done(&result);
    return r;
}

/* An instant evaluation, as the middle of three steps. */
static int run_as_range(struct script *s, struct script_eval *e, const struct promql_expr *x,
                        struct way *w)
{
    struct promql_result result;
    struct promql_error error = {.text = ""};
    int r;

    *w = (struct way){.query = w->query,
                      .start_ms = w->start_ms - MINUTE_MS,
                      .end_ms = w->start_ms + MINUTE_MS,
                      .step_ms = MINUTE_MS,
                      .is_range = true};
    r = query(s, x, w, &result, &error);
    if (is_of_query(r)) {
        r = script_say(&s->wanted, "a result in the middle of a range");
        if (r == 0)
            r = script_said(promql_error_print(&error, &s->got));
        r = r == 0 ? SCRIPT_DIFFERS : r;
    } else if (r == 0 && !(e->expects_of & 1U << EXPECT_ORDERED)) {
        r = script_compare_step(s, e, &result.value, 1);
    }
    promql_result_done(&result);
    return r;
}

/* start() and the like are something else in a range. */
static bool is_about_the_query(struct span query)
{
    static const struct span calls[] = {SPAN_INIT("start()"), SPAN_INIT("end()"),
                                        SPAN_INIT("range()"), SPAN_INIT("step()")};

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (span_find(query, calls[i]) < query.n)
            return true;
    return false;
}

static int run_way(struct script *s, struct script_eval *e, const struct promql_expr *x,
                   struct way w)
{
    bool is_checked;
    int r = run_told(s, e, x, &w, &is_checked);

    if (r == 0 && is_checked && !e->is_range && !e->has_range_vector && !e->has_string &&
        !is_about_the_query(w.query))
        r = run_as_range(s, e, x, &w);
    if (r != SCRIPT_DIFFERS)
        return r;
    r = tell_failure(s, e, &w);
    return r == 0 ? SCRIPT_DIFFERS : r;
}

/* The query pinned to its time, asked at other times. */
static int run_pinned(struct script *s, struct script_eval *e, const struct node *pinned)
{
    int64_t t = e->end_ms;
    const int64_t times[] = {t == 0 ? -1000 : -10 * t, 0, t == 0 ? 1000 : t / 5, t, 10 * t};
    struct promql_error error = {.text = ""};
    struct promql_expr *x = NULL;
    struct buf text;
    int r;

    buf_init(&text, PROMQL_QUERY_MAX);
    r = promql_print(pinned, &text);
    if (r == 0)
        r = promql_parse(buf_span(&text), &x, &error);
    if (r == -EINVAL) {
        r = compare_error(s, e, &error);
        if (r == SCRIPT_DIFFERS)
            (void)tell_failure(s, e, &(struct way){.query = buf_span(&text)});
    }
    for (size_t i = 0; i < ARRAY_LEN(times) && x && r == 0; i++)
        r = run_way(
            s, e, x,
            (struct way){.query = buf_span(&text), .start_ms = times[i], .end_ms = times[i]});
    promql_free_expr(x);
    buf_done(&text);
    return r == -EMSGSIZE ? 0 : r; /* too long to be written: it was fine as it was */
}

static int run_parsed(struct script *s, struct script_eval *e, const struct promql_expr *x)
{
    const struct node *root = promql_root(x);
    const struct node *pinned = root;
    struct way w = {e->query, e->start_ms, e->end_ms, e->step_ms, e->is_range};
    int r;

    if (!e->is_range)
        w.start_ms = e->end_ms; /* "expect range vector" tells of the samples' times */
    r = run_way(s, e, x, w);
    if (r != 0 || e->is_range)
        return r;
    r = script_pin(&s->arena, root, e->end_ms, &pinned);
    return r == 0 && pinned != root ? run_pinned(s, e, pinned) : r;
}

int script_run_eval(struct script *s, struct script_eval *e)
{
    struct promql_error error = {.text = ""};
    struct promql_expr *x = NULL;
    int r = promql_parse(e->query, &x, &error);

    buf_clear(&s->wanted);
    buf_clear(&s->got);
    if (is_of_query(r)) {
        r = compare_error(s, e, &error);
        if (r == SCRIPT_DIFFERS)
            (void)tell_failure(
                s, e, &(struct way){e->query, e->start_ms, e->end_ms, e->step_ms, e->is_range});
    } else if (r == 0) {
        r = run_parsed(s, e, x);
    }
    promql_free_expr(x);
    if (r < 0)
        return r;
    s->report->n_passed += r == 0 ? 1 : 0;
    s->report->n_failed += r == SCRIPT_DIFFERS ? 1 : 0;
    return 0;
}
