/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/rule_rows.c - which rule an alert is of, and what came of all of its alerts.
 *
 * An alert is a rule's when it has its name and all of its labels that are plain texts: several
 * rules may share a name (the pages of several objectives do).
 */
#include <errno.h>
#include <stdlib.h>

#include "review/review_private.h"

enum { INTERVAL_MS = 30 * 1000 };

static struct span text_of(const struct rule *rule, struct span name)
{
    for (size_t i = 0; i < rule->n_labels; i++)
        if (span_eq(rule->labels[i].name, name))
            return rule->labels[i].value;
    return SPAN("");
}

static struct rule_row *row_new(struct review *r)
{
    struct rule_row *at = arena_grow(&r->arena, r->rows, r->n_rows, 1, &r->cap_rows, sizeof(*at));
    if (!at)
        return NULL;
    r->rows = at;
    at[r->n_rows] = (struct rule_row){.name = {"", 0}, .tier = {"", 0}};
    return &at[r->n_rows++];
}

static int64_t step_of(const struct review *r, const struct rule_group *g)
{
    if (g && g->interval_ms > 0)
        return g->interval_ms;
    return r->q.interval_ms > 0 ? r->q.interval_ms : INTERVAL_MS;
}

static int add_group(struct review *r, const struct rule_group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        struct rule_row *row = g->rules[i].is_alert ? row_new(r) : NULL;
        if (!g->rules[i].is_alert)
            continue;
        if (!row)
            return -ENOMEM;
        row->name = g->rules[i].name;
        row->tier = text_of(&g->rules[i], SPAN("tier"));
        if (row->tier.n == 0)
            row->tier = labels_get(g->labels, SPAN("tier"));
        row->rule = &g->rules[i];
        row->group = g;
        row->step_ms = step_of(r, g);
    }
    return 0;
}

int rule_rows_init(struct review *r)
{
    int error = 0;
    for (size_t i = 0; i < r->q.n_files && error == 0; i++)
        for (size_t g = 0; g < r->q.files[i]->n && error == 0; g++)
            error = add_group(r, &r->q.files[i]->groups[g]);
    return error;
}

static bool is_plain(struct span text)
{
    return text.n > 0 && span_find(text, SPAN("{{")) == text.n;
}

/* Labels of the alert that the rule says; -1: it says another value. */
static int n_labels_of(const struct rule_row *row, struct labels alert)
{
    int n = 0;
    for (size_t i = 0; i < row->rule->n_labels; i++) {
        const struct rule_text *t = &row->rule->labels[i];
        if (!is_plain(t->value) || span_eq(t->name, SPAN("alertname")))
            continue;
        if (!span_eq(labels_get(alert, t->name), t->value))
            return -1;
        n++;
    }
    for (size_t i = 0; i < row->group->labels.n; i++) {
        struct label l = row->group->labels.at[i];
        if (text_of(row->rule, l.name).n == 0 && is_plain(l.value) &&
            !span_eq(labels_get(alert, l.name), l.value))
            return -1;
    }
    return n;
}

static bool is_gone_row(const struct rule_row *row, struct span name, struct span tier)
{
    return !row->rule && span_eq(row->name, name) && span_eq(row->tier, tier);
}

/* The rule that says most of an alert's labels. */
int rule_rows_find(struct review *r, struct labels alert, size_t *ret_row)
{
    struct span name = labels_get(alert, SPAN("alertname"));
    struct span tier = labels_get(alert, SPAN("tier"));
    int best = -1;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct rule_row *row = &r->rows[i];
        int n = -1;
        if (row->rule && span_eq(row->name, name))
            n = n_labels_of(row, alert);
        else if (is_gone_row(row, name, tier))
            n = 0;
        if (n > best) {
            best = n;
            *ret_row = i;
        }
    }
    if (best >= 0)
        return 0;
    struct rule_row *row = row_new(r);
    if (!row)
        return -ENOMEM;
    row->name = name;
    row->tier = tier;
    row->step_ms = step_of(r, NULL);
    *ret_row = r->n_rows - 1;
    return 0;
}

/* --- sums --- */

static void add_firing(struct rule_row *row, struct alert_series *s, const struct firing *f)
{
    enum verdict v = judgement_of(f);
    if (f->firing_ms == 0) {
        row->n_pending++;
        return;
    }
    row->n_fired++;
    row->n_marked += f->is_marked;
    judgement_add(&row->fired, v);
    row->firing_ms += f->firing_ms;
    row->noise_ms += v == VERDICT_NOISE ? f->firing_ms : 0;
    if (f->firing_ms > row->longest_ms)
        row->longest_ms = f->firing_ms;
    if (f->fired_ms > row->last_ms)
        row->last_ms = f->fired_ms;
    if (f->burn > (row->worst ? row->worst->burn : 0))
        row->worst = f;
    s->n_fired++;
    s->n_noise += v == VERDICT_NOISE;
    s->firing_ms += f->firing_ms;
}

static bool is_before(const struct alert_series *a, const struct alert_series *b)
{
    if (a->n_noise != b->n_noise)
        return a->n_noise > b->n_noise;
    return a->n_fired > b->n_fired;
}

static void add_top(struct rule_row *row, const struct alert_series *s)
{
    size_t at = row->n_top;
    while (at > 0 && is_before(s, row->top[at - 1]))
        at--;
    if (at == REVIEW_TOP)
        return;
    if (row->n_top < REVIEW_TOP)
        row->n_top++;
    for (size_t i = row->n_top - 1; i > at; i--)
        row->top[i] = row->top[i - 1];
    row->top[at] = s;
}

static int compare_rows(const void *a, const void *b)
{
    const struct rule_row *x = *(const struct rule_row *const *)a;
    const struct rule_row *y = *(const struct rule_row *const *)b;
    if (x->fired.n_noise != y->fired.n_noise)
        return x->fired.n_noise > y->fired.n_noise ? -1 : 1;
    if (x->n_fired != y->n_fired)
        return x->n_fired > y->n_fired ? -1 : 1;
    int order = span_cmp(x->name, y->name);
    return order != 0 ? order : x < y ? -1 : 1;
}

static int order_make(struct review *r)
{
    r->order = arena_array(&r->arena, r->n_rows, sizeof(struct rule_row *));
    if (!r->order)
        return -ENOMEM;
    for (size_t i = 0; i < r->n_rows; i++)
        r->order[i] = &r->rows[i];
    if (r->n_rows > 0)
        qsort(r->order, r->n_rows, sizeof(struct rule_row *), compare_rows);
    return 0;
}

int rule_rows_sum(struct review *r)
{
    for (size_t i = 0; i < r->n_series; i++) {
        struct alert_series *s = &r->series[i];
        struct rule_row *row = &r->rows[s->row];
        for (size_t k = 0; k < s->n; k++)
            add_firing(row, s, &s->at[k]);
        if (s->n_fired == 0)
            continue;
        row->n_series++;
        add_top(row, s);
    }
    return order_make(r);
}
