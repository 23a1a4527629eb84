/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_file_advise.c - what is allowed in a rule file and will surprise.
 */
#include <errno.h>
#include <stdlib.h>

#include "rules/file.h"

struct advice {
    const struct rule_file *file;
    const struct rule_group *group; /* the rule's */
    int64_t interval_ms;
    struct err_list *list;
};

static struct err *add(struct advice *a, const struct rule *rule)
{
    return err_list_add(a->list, a->file->path, rule->line, rule->column);
}

static const char *shown_name(const struct rule *rule, char *dst)
{
    return err_list_shown(rule->name, dst);
}

/* --- names --- */

static void old_name(struct advice *a, const struct rule *rule, const char *what, struct span name)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = add(a, rule);

    (void)err_set(e, 0, "%s \"%s\" is not of letters, digits and _ only", what,
                  err_list_shown(name, shown));
    err_hint(e, "Prometheus before 3.0 refuses it, Alertmanager before 0.28 its labels");
}

static void check_texts(struct advice *a, const struct rule *rule, const char *what,
                        const struct rule_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!labels_is_label_name(texts[i].name))
            old_name(a, rule, what, texts[i].name);
}

static void check_names(struct advice *a, const struct rule *rule)
{
    if (!rule->is_alert && !labels_is_metric_name(rule->name))
        old_name(a, rule, "the name", rule->name);
    check_texts(a, rule, "label", rule->labels, rule->n_labels);
    check_texts(a, rule, "annotation", rule->annotations, rule->n_annotations);
}

/* --- alerts --- */

/* Whether needle stands between {{ and }}. */
static bool is_in_action(struct span text, struct span needle)
{
    for (;;) {
        size_t from = span_find(text, SPAN("{{"));
        struct span inside = span_from(text, from);
        size_t n = span_find(inside, SPAN("}}"));

        if (from == text.n)
            return false;
        if (span_find(span_of(inside.p, n), needle) < n)
            return true;
        text = span_from(inside, n);
    }
}

static void check_labels(struct advice *a, const struct rule *rule)
{
    char shown[ERR_LIST_SHOWN_MAX];

    for (size_t i = 0; i < rule->n_labels; i++) {
        const struct rule_text *label = &rule->labels[i];
        bool has_value = is_in_action(label->value, SPAN("$value")) ||
                         is_in_action(label->value, SPAN(".Value"));
        struct err *e;

        if (has_value) {
            e = add(a, rule);
            (void)err_set(e, 0, "label \"%s\" has the value of the moment in it",
                          err_list_shown(label->name, shown));
            err_hint(e, "each new value is another alert, that waits its `for` anew; put it into "
                        "an annotation");
        }
        if (span_eq(label->name, SPAN("alertname"))) {
            e = add(a, rule);
            (void)err_set(e, 0, "label \"alertname\" is replaced by the alert's name");
            err_hint(e, "remove it");
        }
    }
}

static void check_for(struct advice *a, const struct rule *rule)
{
    char shown[ERR_LIST_SHOWN_MAX];
    int64_t interval_ms = a->group->interval_ms > 0 ? a->group->interval_ms : a->interval_ms;
    struct err *e;

    if (rule->for_ms >= interval_ms || (rule->has_for && rule->for_ms == 0))
        return;
    e = add(a, rule);
    if (rule->for_ms == 0) {
        (void)err_set(e, 0, "alert \"%s\" has no `for`", shown_name(rule, shown));
        err_hint(e, "a single value over the limit wakes people; \"for: 2m\" waits for more, "
                    "\"for: 0s\" says that it is meant");
        return;
    }
    (void)err_set(e, 0, "`for` of alert \"%s\" is shorter than the interval of %lld s",
                  shown_name(rule, shown), (long long)(interval_ms / 1000));
    err_hint(e, "it fires at the second evaluation at the earliest, whatever less it says");
}

static bool may_be_empty(const struct node *n);

static bool may_call_be_empty(const struct node *n)
{
    struct span name = span_cstr(n->call.function->name);

    if (span_starts_with(name, SPAN("absent")))
        return true;
    for (size_t i = 0; i < n->call.n_args; i++)
        if (may_be_empty(n->call.args[i]))
            return true;
    return false;
}

/* What makes an expression say no: a comparison, a set operator, absent(), alerts of others. */
static bool may_be_empty(const struct node *n)
{
    switch (n->kind) {
    case NODE_PAREN:
    case NODE_NEGATE:
        return may_be_empty(n->inner);
    case NODE_BINARY:
        if (binary_ops[n->binary.op].is_comparison)
            return !n->binary.is_bool;
        return n->binary.op == OP_AND || n->binary.op == OP_UNLESS ||
               may_be_empty(n->binary.left) || may_be_empty(n->binary.right);
    case NODE_AGGREGATE:
        return may_be_empty(n->aggregate.inner);
    case NODE_CALL:
        return may_call_be_empty(n);
    case NODE_SELECTOR:
        return span_starts_with(n->selector.name, SPAN("ALERTS")) || n->selector.name.n == 0;
    case NODE_SUBQUERY:
        return may_be_empty(n->subquery.inner);
    default:
        return false;
    }
}

static int is_there(void *ctx, const struct node *selector)
{
    (void)ctx;
    (void)selector;
    return 1;
}

/* vector(1) is meant to fire always. */
static void check_comparison(struct advice *a, const struct rule *rule)
{
    const struct node *root = promql_root(rule->expr);
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (may_be_empty(root) || node_each_selector(root, is_there, NULL) == 0)
        return;
    e = add(a, rule);
    (void)err_set(e, 0, "the expression of alert \"%s\" has no comparison",
                  shown_name(rule, shown));
    err_hint(e, "it fires for every series there is, also where the value is 0; write \"... > 0\"");
}

/* --- rules of one group --- */

struct later {
    const struct rule_group *group;
    const struct rule *rule, *found;
};

/* One that is recorded before, too (with other labels), is read as it is now. */
static int find_later(void *ctx, const struct node *selector)
{
    struct later *l = ctx;

    for (const struct rule *r = l->group->rules; r < l->rule; r++) {
        if (!r->is_alert && span_eq(r->name, selector->selector.name))
            return 0;
    }
    for (const struct rule *r = l->rule + 1; r < l->group->rules + l->group->n; r++) {
        if (!r->is_alert && span_eq(r->name, selector->selector.name)) {
            l->found = r;
            return 1;
        }
    }
    return 0;
}

static void check_order(struct advice *a, const struct rule *rule)
{
    struct later l = {a->group, rule, NULL};
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (node_each_selector(promql_root(rule->expr), find_later, &l) == 0)
        return;
    e = add(a, rule);
    (void)err_set(e, 0, "reads \"%s\", which the rule on line %d records later in the same group",
                  shown_name(l.found, shown), l.found->line);
    err_hint(e, "it sees the value of the evaluation before; put this rule behind that one");
}

/* --- duplicates --- */

/* A rule with what its series are called. */
struct named {
    const struct rule *rule;
    struct labels labels;
};

/* The labels of a rule over those of its group; empty ones are none. */
static int merge(struct arena *a, const struct rule_group *group, const struct rule *rule,
                 struct labels *ret)
{
    struct label *pairs = arena_array(a, group->labels.n + rule->n_labels, sizeof(*pairs));
    size_t n = 0;

    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < rule->n_labels; i++)
        pairs[n++] = (struct label){rule->labels[i].name, rule->labels[i].value};
    for (size_t i = 0; i < group->labels.n; i++) {
        size_t j = 0;
        while (j < rule->n_labels && !span_eq(rule->labels[j].name, group->labels.at[i].name))
            j++;
        if (j == rule->n_labels)
            pairs[n++] = group->labels.at[i];
    }
    return labels_normalise(pairs, n, ret, NULL);
}

static int named_cmp(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    struct label one = {SPAN("_"), x->rule->name};
    struct label other = {SPAN("_"), y->rule->name};
    int c = labels_cmp((struct labels){&one, 1}, (struct labels){&other, 1});

    if (c == 0)
        c = labels_cmp(x->labels, y->labels);
    return c != 0 ? c : (x->rule->line > y->rule->line) - (x->rule->line < y->rule->line);
}

static void duplicate(struct advice *a, const struct rule *rule, const struct rule *before)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = add(a, rule);

    (void)err_set(e, 0, "a second rule \"%s\" with the same labels", shown_name(rule, shown));
    err_hint(e,
             "the one before is on line %d; give one of them another name or a label, else they "
             "write the same series",
             before->line);
}

static int check_duplicates(struct advice *a)
{
    struct arena arena;
    struct named *all;
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < a->file->n; i++)
        n += a->file->groups[i].n;
    arena_init(&arena, NULL);
    all = arena_array(&arena, n, sizeof(*all));
    n = 0;
    if (!all)
        r = -ENOMEM;
    for (size_t i = 0; i < a->file->n && r == 0; i++) {
        const struct rule_group *group = &a->file->groups[i];
        for (size_t j = 0; j < group->n && r == 0; j++) {
            all[n].rule = &group->rules[j];
            r = merge(&arena, group, &group->rules[j], &all[n++].labels);
        }
    }
    if (r == 0 && n > 1)
        qsort(all, n, sizeof(*all), named_cmp);
    for (size_t i = 1; i < n && r == 0; i++)
        if (span_eq(all[i].rule->name, all[i - 1].rule->name) &&
            labels_eq(all[i].labels, all[i - 1].labels))
            duplicate(a, all[i].rule, all[i - 1].rule);
    arena_done(&arena);
    return r;
}

static void check_group_labels(struct advice *a)
{
    const struct rule here = {.line = a->group->line, .column = a->group->column};

    for (size_t i = 0; i < a->group->labels.n; i++)
        if (!labels_is_label_name(a->group->labels.at[i].name))
            old_name(a, &here, "label", a->group->labels.at[i].name);
}

static void check_rule(struct advice *a, const struct rule *rule)
{
    check_names(a, rule);
    check_order(a, rule);
    if (!rule->is_alert)
        return;
    check_labels(a, rule);
    check_for(a, rule);
    check_comparison(a, rule);
}

int rule_file_advise(const struct rule_file *f, int64_t interval_ms, struct err_list *advice)
{
    struct advice a = {f, NULL, interval_ms, advice};
    size_t first = advice->n;

    for (size_t i = 0; i < f->n; i++) {
        a.group = &f->groups[i];
        check_group_labels(&a);
        for (size_t j = 0; j < a.group->n; j++)
            check_rule(&a, &a.group->rules[j]);
    }
    int r = check_duplicates(&a);
    err_list_sort(advice, first);
    return r;
}
