/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/file_rule.c - one rule of a rule file.
 */
#include <errno.h>

#include "rules/file_private.h"

enum key {
    KEY_RECORD,
    KEY_ALERT,
    KEY_EXPR,
    KEY_FOR,
    KEY_KEEP_FIRING_FOR,
    KEY_LABELS,
    KEY_ANNOTATIONS,
    KEY_COUNT_,
};
static const char *const names[KEY_COUNT_] = {
    "record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations",
};

/* A key with a text that is not empty. */
static bool is_said(const struct doc_key *k)
{
    return k->value && (k->value->kind != YAML_NODE_SCALAR || k->value->n > 0);
}

/* false: it cannot be told which of the two it is. */
static bool check_kind(struct doc *d, const struct yaml_node *node, const struct doc_key *keys)
{
    const struct doc_key *record = &keys[KEY_RECORD];
    const struct doc_key *alert = &keys[KEY_ALERT];
    struct err *e;

    if (is_said(record) && is_said(alert)) {
        bool is_record_first = record->key->line <= alert->key->line;
        e = doc_error(d, is_record_first ? alert->key : record->key);
        (void)err_set(e, -EINVAL, "\"record\" and \"alert\" in one rule");
        err_hint(e, "make two rules of it, or remove one of them");
        return false;
    }
    if (is_said(record) || is_said(alert))
        return true;
    const struct yaml_node *empty = record->key ? record->key : alert->key;
    e = doc_error(d, empty ? empty : node);
    if (empty)
        (void)err_set(e, -EINVAL, "\"%s\" is empty", empty->text);
    else
        (void)err_set(e, -EINVAL, "a rule without \"record\" or \"alert\"");
    err_hint(e, "write \"record: NAME\" to keep the result as a series, or \"alert: NAME\"");
    return false;
}

static void check_record_name(struct doc *d, const struct doc_key *k)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (k->value->kind != YAML_NODE_SCALAR)
        return;
    struct span name = yaml_span(k->value);
    if (file_is_name(name))
        return;
    e = doc_error(d, k->value);
    (void)err_set(e, -EINVAL, "no name of a series: \"%s\"", err_list_shown(name, shown));
    if (span_find_char(name, '{') == name.n && span_find_char(name, '(') == name.n) {
        err_hint(e, "names are of letters, digits, _ and :");
        return;
    }
    err_hint(e, "the name goes to \"record\", its labels to \"labels\", what to calculate to "
                "\"expr\"");
}

/* Keys that only an alert can have. */
static void check_record(struct doc *d, const struct doc_key *keys, const struct rule *rule)
{
    const struct {
        const struct doc_key *key;
        bool is_there;
    } rows[] = {
        {&keys[KEY_FOR], rule->for_ms != 0},
        {&keys[KEY_KEEP_FIRING_FOR], rule->keep_firing_ms != 0},
        {&keys[KEY_ANNOTATIONS], rule->n_annotations > 0},
    };

    check_record_name(d, &keys[KEY_RECORD]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].is_there)
            continue;
        struct err *e = doc_error(d, rows[i].key->key);
        (void)err_set(e, -EINVAL, "a recording rule cannot have \"%s\"", rows[i].key->key->text);
        err_hint(e, "only alerts have it; remove it, or write \"alert\" instead of \"record\"");
    }
}

static void expr_error(struct doc *d, const struct yaml_node *expr, const struct promql_error *why)
{
    bool is_exact;
    struct err *e = doc_error_in(d, expr, why->line > 0 ? why->at : 0, &is_exact);

    if (is_exact || why->line == 0)
        (void)err_set(e, -EINVAL, "expr: %s", why->text);
    else
        (void)err_set(e, -EINVAL, "expr, at %d:%d of it: %s", why->line, why->column, why->text);
    if (expr->is_plain && expr->n == 0)
        err_hint(e, "write what to calculate");
}

static int read_expr(struct file_reading *f, const struct yaml_node *node,
                     const struct doc_key *keys, struct rule *rule)
{
    const struct doc_key *k = &keys[KEY_EXPR];
    struct file_held *held = arena_zalloc(f->doc.arena, 1, sizeof(*held));
    struct promql_error why = {.text = ""};
    int r;

    if (!held)
        return -ENOMEM;
    if (!is_said(k)) {
        struct err *e = doc_error(&f->doc, k->key ? k->key : node);
        (void)err_set(e, -EINVAL, "%s", k->key ? "\"expr\" is empty" : "a rule without \"expr\"");
        err_hint(e, "write what to calculate: \"expr: sum(rate(requests_total[5m]))\"");
        return 0;
    }
    if (!doc_is(&f->doc, k, YAML_NODE_SCALAR))
        return 0;
    r = promql_parse(yaml_span(k->value), &held->expr, &why);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        expr_error(&f->doc, k->value, &why);
        return 0;
    }
    held->next = f->held;
    f->held = held;
    rule->expr = held->expr;
    rule->text = promql_text(held->expr);
    return 0;
}

static int read_values(struct file_reading *f, const struct doc_key *keys, struct rule *rule)
{
    int r = doc_text(&f->doc, &keys[rule->is_alert ? KEY_ALERT : KEY_RECORD], &rule->name);

    doc_duration(&f->doc, &keys[KEY_FOR], promql_parse_duration, &rule->for_ms);
    doc_duration(&f->doc, &keys[KEY_KEEP_FIRING_FOR], promql_parse_duration, &rule->keep_firing_ms);
    if (r == 0)
        r = file_read_texts(f, &keys[KEY_LABELS], "label", rule->is_alert, &rule->labels,
                            &rule->n_labels);
    if (r == 0)
        r = file_read_texts(f, &keys[KEY_ANNOTATIONS], "annotation", rule->is_alert,
                            &rule->annotations, &rule->n_annotations);
    return r;
}

int file_read_rule(struct file_reading *f, const struct yaml_node *node, struct rule *ret)
{
    struct doc_key keys[KEY_COUNT_];
    struct rule rule = {.line = node->line, .column = node->column};
    bool is_whole = doc_keys(&f->doc, node, "a rule", names, KEY_COUNT_, keys);
    bool is_known = is_whole && check_kind(&f->doc, node, keys);
    int r;

    rule.is_alert = is_said(&keys[KEY_ALERT]);
    rule.has_for = keys[KEY_FOR].value != NULL;
    r = read_values(f, keys, &rule);
    if (r == 0 && (is_known || keys[KEY_EXPR].value))
        r = read_expr(f, node, keys, &rule);
    if (r == 0 && is_known && !rule.is_alert)
        check_record(&f->doc, keys, &rule);
    *ret = rule;
    return r;
}
