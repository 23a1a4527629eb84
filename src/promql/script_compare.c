/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_compare.c - a result against what a test script tells of it.
 *
 * Results of every kind become rows: labels, and a cell per step.
 */
#include <errno.h>
#include <float.h>
#include <math.h>

#include "promql/script_private.h"
#include "series/number.h"

/* Relative; as Prometheus' own runner has it. */
#define TOLERANCE 0.000001

struct row {
    struct labels labels;
    size_t n;
    const uint8_t *has;
    const double *v;
    const struct fhist *const *h; /* NULL: floats only */
};

struct rows {
    struct row *at;
    size_t n;
};

static bool is_close(double a, double b)
{
    double sum = fabs(a) + fabs(b);

    if (series_is_stale(a) || series_is_stale(b))
        return series_is_stale(a) && series_is_stale(b);
    if ((isnan(a) && isnan(b)) || a == b)
        return true;
    if (a == 0 || b == 0 || sum < DBL_MIN)
        return fabs(a - b) < TOLERANCE * DBL_MIN;
    return fabs(a - b) / fmin(sum, DBL_MAX) < TOLERANCE;
}

static size_t skip_empty(const struct fhist_side *side, size_t i)
{
    while (i < side->n && side->at[i].count == 0)
        i++;
    return i;
}

static bool is_side_close(const struct fhist_side *a, const struct fhist_side *b)
{
    size_t i = 0;
    size_t j = 0;

    for (;; i++, j++) {
        i = skip_empty(a, i);
        j = skip_empty(b, j);
        if (i == a->n || j == b->n)
            return i == a->n && j == b->n;
        if (a->at[i].index != b->at[j].index || !is_close(a->at[i].count, b->at[j].count))
            return false;
    }
}

static bool is_hist_close(const struct fhist *a, const struct fhist *b, bool with_hint)
{
    if (a->schema != b->schema || a->zero_threshold != b->zero_threshold ||
        a->n_custom != b->n_custom || (with_hint && a->hint != b->hint) ||
        !is_close(a->count, b->count) || !is_close(a->sum, b->sum) ||
        !is_close(a->zero_count, b->zero_count))
        return false;
    for (size_t i = 0; i < a->n_custom; i++)
        if (a->custom[i] != b->custom[i])
            return false;
    return is_side_close(&a->positive, &b->positive) && is_side_close(&a->negative, &b->negative);
}

/* Printing; what is too long is cut. */
static int say_cell(struct buf *to, bool has, double v, const struct fhist *h)
{
    int r = script_say(to, " ");
    if (r == 0 && !has)
        r = script_say(to, "_");
    else if (r == 0 && h)
        r = script_said(fhist_print(h, to));
    else if (r == 0)
        r = series_is_stale(v) ? script_say(to, "stale") : script_said(number_print(v, to));
    return r;
}

static int say_row(struct buf *to, const struct row *row)
{
    int r = script_said(labels_print(row->labels, to));
    for (size_t i = 0; i < row->n && r == 0; i++)
        r = say_cell(to, row->has[i], row->v[i], row->h ? row->h[i] : NULL);
    return r;
}

static int say_series(struct buf *to, const struct script_series *series)
{
    int r = script_said(labels_print(series->labels, to));
    for (size_t i = 0; i < series->n && r == 0; i++)
        r = say_cell(to, !series->values[i].is_omitted, series->values[i].v, series->values[i].h);
    return r;
}

/* Either may be NULL: nothing there. */
static int differ(struct script *s, const struct script_series *wanted, const struct row *got)
{
    int r = wanted ? say_series(&s->wanted, wanted) : script_say(&s->wanted, "no such series");

    if (r == 0)
        r = got ? say_row(&s->got, got) : script_say(&s->got, "no such series");
    return r == 0 ? SCRIPT_DIFFERS : r;
}

static int differ_in_words(struct script *s, const char *wanted, const char *got)
{
    int r = script_say(&s->wanted, "%s", wanted);
    if (r == 0)
        r = script_say(&s->got, "%s", got);
    return r == 0 ? SCRIPT_DIFFERS : r;
}

static bool is_cell_close(const struct script_value *wanted, const struct row *row, size_t i)
{
    const struct fhist *h = row->h ? row->h[i] : NULL;

    if (wanted->is_omitted || !row->has[i])
        return wanted->is_omitted && !row->has[i];
    if ((wanted->h != NULL) != (h != NULL))
        return false;
    return h ? is_hist_close(wanted->h, h, wanted->has_hint) : is_close(wanted->v, row->v[i]);
}

static bool is_row_close(const struct script_series *wanted, const struct row *row)
{
    static const struct script_value none = {.is_omitted = true};

    if (wanted->n > row->n)
        return false;
    for (size_t i = 0; i < row->n; i++)
        if (!is_cell_close(i < wanted->n ? &wanted->values[i] : &none, row, i))
            return false;
    return true;
}

static bool is_empty(const struct row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->has[i])
            return false;
    return true;
}

static struct script_series *find_expected(struct script_eval *e, struct labels l)
{
    struct script_series *found = NULL; /* told twice: the last one counts */

    for (struct script_series *i = e->series; i; i = i->next)
        if (labels_eq(i->labels, l))
            found = i;
    return found;
}

static int compare_row(struct script *s, struct script_eval *e, const struct row *row,
                       size_t position)
{
    struct script_series *wanted = find_expected(e, row->labels);

    if (!wanted || !is_row_close(wanted, row))
        return differ(s, wanted, row);
    if (position > 0 && (e->expects_of & 1U << EXPECT_ORDERED) && wanted->position != position) {
        int r = script_say(&s->wanted, "at place %zu: ", wanted->position);
        if (r == 0)
            r = script_say(&s->got, "at place %zu: ", position);
        return r == 0 ? differ(s, wanted, row) : r;
    }
    wanted->is_seen = true;
    return 0;
}

static int compare_rows(struct script *s, struct script_eval *e, struct rows rows, bool is_vector)
{
    size_t n = 0;
    int r = 0;

    if (e->is_scalar)
        return differ_in_words(s, "a scalar", is_vector ? "a vector" : "a matrix");
    for (struct script_series *i = e->series; i; i = i->next)
        i->is_seen = false;
    for (size_t i = 0; i < rows.n && r == 0; i++)
        if (!is_empty(&rows.at[i]))
            r = compare_row(s, e, &rows.at[i], is_vector ? ++n : 0);
    for (struct script_series *i = e->series; i && r == 0; i = i->next)
        if (!i->is_seen && find_expected(e, i->labels) == i)
            r = differ(s, i, NULL);
    return r;
}

/* Results of ranges come in the order of their labels. */
static int compare_order(struct script *s, struct rows rows)
{
    const struct row *before = NULL;

    for (size_t i = 0; i < rows.n; i++) {
        if (is_empty(&rows.at[i]))
            continue;
        if (before && labels_cmp(before->labels, rows.at[i].labels) > 0) {
            int r = script_say(&s->wanted, "series in the order of their labels, not this behind ");
            if (r == 0)
                r = say_row(&s->wanted, before);
            if (r == 0)
                r = say_row(&s->got, &rows.at[i]);
            return r == 0 ? SCRIPT_DIFFERS : r;
        }
        before = &rows.at[i];
    }
    return 0;
}

/* Steps from .. from + n of a vector's or a scalar's columns. */
static int rows_of_columns(struct script *s, const struct value *v, size_t from, size_t n,
                           struct rows *ret)
{
    struct row *at = arena_array(&s->arena, v->n_columns, sizeof(*at));

    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++) {
        const struct column *c = &v->columns[i];
        at[i] = (struct row){c->labels, n, c->has + from, c->v + from, c->h ? c->h + from : NULL};
    }
    *ret = (struct rows){at, v->n_columns};
    return 0;
}

/* A run on the grid of expected times. A sample beside it makes one cell more than can be told. */
static int row_of_run(struct script *s, const struct script_eval *e, const struct run *run,
                      struct row *ret)
{
    int64_t step = e->step_ms > 0 ? e->step_ms : 1;
    size_t n = (size_t)((e->end_ms - e->start_ms) / step) + 1;
    size_t cap = n + run->n;
    uint8_t *has = arena_zalloc(&s->arena, cap, sizeof(*has));
    double *v = arena_zalloc(&s->arena, cap, sizeof(*v));
    const struct fhist **h = arena_zalloc(&s->arena, cap, sizeof(const struct fhist *));

    if (!has || !v || !h)
        return -ENOMEM;
    size_t n_cells = n;
    for (size_t i = 0; i < run->n; i++) {
        int64_t behind = run->t[i] - e->start_ms;
        bool is_on_grid = behind >= 0 && run->t[i] <= e->end_ms && behind % step == 0;
        size_t at = is_on_grid ? (size_t)(behind / step) : n_cells++;
        has[at] = 1;
        v[at] = run->v[i];
        h[at] = run->h ? run->h[i] : NULL;
    }
    *ret = (struct row){run->labels, n_cells, has, v, h};
    return 0;
}

static int compare_runs(struct script *s, struct script_eval *e, const struct value *v)
{
    struct rows rows = {arena_array(&s->arena, v->n_runs, sizeof(*rows.at)), v->n_runs};
    int r = rows.at ? 0 : -ENOMEM;

    if (e->expects_of & 1U << EXPECT_ORDERED)
        return differ_in_words(s, "an ordered vector", "a matrix");
    for (size_t i = 0; i < v->n_runs && r == 0; i++)
        r = row_of_run(s, e, &v->runs[i], &rows.at[i]);
    if (r == 0)
        r = compare_order(s, rows);
    return r == 0 ? compare_rows(s, e, rows, false) : r;
}

static int compare_scalar(struct script *s, const struct script_eval *e, double v)
{
    if (e->is_scalar && is_close(e->scalar.v, v))
        return 0;
    int r = script_say(&s->wanted, e->is_scalar ? "scalar" : "a vector");
    if (r == 0 && e->is_scalar)
        r = say_cell(&s->wanted, true, e->scalar.v, NULL);
    if (r == 0)
        r = script_say(&s->got, "scalar");
    if (r == 0)
        r = say_cell(&s->got, true, v, NULL);
    return r == 0 ? SCRIPT_DIFFERS : r;
}

static int compare_string(struct script *s, const struct script_eval *e, struct span got)
{
    if (e->has_string && span_eq(e->string, got))
        return 0;
    int r = e->has_string ? script_said(labels_quote(e->string, &s->wanted))
                          : script_say(&s->wanted, "no string");
    if (r == 0)
        r = script_said(labels_quote(got, &s->got));
    return r == 0 ? SCRIPT_DIFFERS : r;
}

int script_compare_step(struct script *s, struct script_eval *e, const struct value *v, size_t step)
{
    struct rows rows;
    int r;

    if (v->type == PROMQL_SCALAR)
        return compare_scalar(s, e, v->columns[0].v[step]);
    r = rows_of_columns(s, v, step, 1, &rows);
    return r == 0 ? compare_rows(s, e, rows, true) : r;
}

int script_compare_value(struct script *s, struct script_eval *e, const struct value *v)
{
    struct rows rows;
    int r;

    if (v->type == PROMQL_STRING)
        return compare_string(s, e, v->string);
    if (v->type == PROMQL_MATRIX)
        return compare_runs(s, e, v);
    if (e->has_string)
        return differ_in_words(s, "a string", promql_type_name(v->type));
    if (!e->is_range)
        return script_compare_step(s, e, v, 0);
    r = rows_of_columns(s, v, 0, v->n_steps, &rows);
    if (r == 0)
        r = compare_order(s, rows);
    return r == 0 ? compare_rows(s, e, rows, false) : r;
}

/* Some note of this kind that does not match any of the expected ones; or an expected one without a
 * note. */
static bool is_matched(const struct script_eval *e, enum script_expect_kind kind, struct span text)
{
    for (const struct script_expect *i = e->expects; i; i = i->next)
        if (i->kind == kind && script_expect_matches(i, text))
            return true;
    return false;
}

static bool is_found(const struct script_expect *x, const struct promql_result *result,
                     bool is_warning)
{
    for (size_t i = 0; i < result->n_notes; i++)
        if (result->notes[i].is_warning == is_warning &&
            script_expect_matches(x, result->notes[i].text))
            return true;
    return false;
}

static int differ_in_notes(struct script *s, const char *wanted, struct span wanted_text,
                           const struct promql_result *result, bool is_warning)
{
    const char *what = is_warning ? "warning" : "info";
    int r = script_say(&s->wanted, "%s %s%s%.*s", wanted, what, wanted_text.n > 0 ? " " : "",
                       SPAN_ARG(wanted_text));
    size_t n = 0;

    for (size_t i = 0; i < result->n_notes && r == 0; i++)
        if (result->notes[i].is_warning == is_warning)
            r = script_say(&s->got, "%s%.*s", n++ > 0 ? "; " : "", SPAN_ARG(result->notes[i].text));
    if (r == 0 && n == 0)
        r = script_say(&s->got, "no %s", what);
    return r == 0 ? SCRIPT_DIFFERS : r;
}

static int compare_notes_of(struct script *s, const struct script_eval *e,
                            const struct promql_result *result, bool is_warning)
{
    enum script_expect_kind kind = is_warning ? EXPECT_WARN : EXPECT_INFO;
    enum script_expect_kind none = is_warning ? EXPECT_NO_WARN : EXPECT_NO_INFO;

    for (const struct script_expect *i = e->expects; i; i = i->next)
        if (i->kind == kind && !is_found(i, result, is_warning))
            return differ_in_notes(s,
                                   i->is_any    ? "a"
                                   : i->pattern ? "a matching"
                                                : "the",
                                   i->text, result, is_warning);
    for (size_t i = 0; i < result->n_notes; i++) {
        const struct promql_note *note = &result->notes[i];
        if (note->is_warning != is_warning)
            continue;
        if (e->expects_of & 1U << none)
            return differ_in_notes(s, "no", SPAN(""), result, is_warning);
        if ((e->expects_of & 1U << kind) && !is_matched(e, kind, note->text))
            return differ_in_notes(s, "no other", SPAN(""), result, is_warning);
    }
    return 0;
}

int script_compare_notes(struct script *s, const struct script_eval *e,
                         const struct promql_result *result)
{
    int r = compare_notes_of(s, e, result, true);
    return r == 0 ? compare_notes_of(s, e, result, false) : r;
}
