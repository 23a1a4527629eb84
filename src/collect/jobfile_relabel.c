/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_relabel.c - rules of relabelling out of a scrape file.
 */
#include <errno.h>

#include "base/num.h"
#include "base/suggest.h"
#include "collect/jobfile_private.h"

enum {
    KEY_SOURCES,
    KEY_SEPARATOR,
    KEY_REGEX,
    KEY_MODULUS,
    KEY_TARGET,
    KEY_REPLACEMENT,
    KEY_ACTION,
    KEY_COUNT_
};
static const char *const rule_keys[KEY_COUNT_] = {
    "source_labels", "separator", "regex", "modulus", "target_label", "replacement", "action"};

/* false: a mistake, which is listed. */
static bool read_action(struct file_reading *f, const struct doc_key *k, enum relabel_action *ret)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;

    *ret = RELABEL_REPLACE;
    if (!k->value)
        return true;
    if (!doc_is(&f->doc, k, YAML_NODE_SCALAR))
        return false;
    if (relabel_action_of(yaml_span(k->value), ret) == 0)
        return true;
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no action", err_list_shown(yaml_span(k->value), shown));
    suggest_init(&s, yaml_span(k->value));
    for (int i = 0; i < RELABEL_ACTION_COUNT_; i++)
        suggest_offer(&s, span_cstr(relabel_action_name((enum relabel_action)i)));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "replace, keep, drop, hashmod, labelmap, labeldrop, labelkeep, lowercase, "
                    "uppercase, keepequal, dropequal");
    return false;
}

static int read_wish(struct file_reading *f, const struct doc_key *keys, struct relabel_wish *w)
{
    int r = jobfile_texts(f, &keys[KEY_SOURCES], &w->sources, &w->n_sources);

    if (r == 0)
        r = doc_text(&f->doc, &keys[KEY_SEPARATOR], &w->separator);
    if (r == 0)
        r = doc_text(&f->doc, &keys[KEY_REGEX], &w->regex);
    if (r == 0)
        r = doc_text(&f->doc, &keys[KEY_TARGET], &w->target);
    if (r == 0)
        r = doc_text(&f->doc, &keys[KEY_REPLACEMENT], &w->replacement);
    jobfile_count(f, &keys[KEY_MODULUS], &w->modulus);
    w->has_separator = keys[KEY_SEPARATOR].value != NULL;
    w->has_regex = keys[KEY_REGEX].value != NULL;
    w->has_replacement = keys[KEY_REPLACEMENT].value != NULL;
    return r;
}

/* Where the mistake of a rule stands: at the key, or at the rule where that is not written. */
static const struct yaml_node *place_of(const struct yaml_node *node, const struct doc_key *keys,
                                        const char *field)
{
    for (size_t i = 0; i < KEY_COUNT_; i++)
        if (strcmp(rule_keys[i], field) == 0 && keys[i].key)
            return keys[i].value ? keys[i].value : keys[i].key;
    return node;
}

static int read_rule(void *ctx, const struct yaml_node *node, void *ret)
{
    struct file_reading *f = ctx;
    const struct relabel_rule **rule = ret;
    size_t n_mistakes = f->doc.errs->n + f->doc.errs->n_dropped;
    struct doc_key keys[KEY_COUNT_];
    struct relabel_wish w = {.sources = NULL};
    const char *field = "action";
    struct err why = {.code = 0};

    if (jobfile_is_null(f, node, "a rule"))
        return 0;
    (void)doc_keys(&f->doc, node, "a rule of relabelling", rule_keys, KEY_COUNT_, keys);
    bool is_good = read_action(f, &keys[KEY_ACTION], &w.action);
    int r = read_wish(f, keys, &w);
    if (r < 0 || !is_good || f->doc.errs->n + f->doc.errs->n_dropped > n_mistakes)
        return r;
    r = relabel_make(&w, f->doc.arena, rule, &field, &why);
    if (r == -EINVAL) {
        *doc_error(&f->doc, place_of(node, keys, field)) = why;
        r = 0;
    }
    return r;
}

int jobfile_relabel(struct file_reading *f, const struct doc_key *k, struct relabel_list *ret)
{
    const struct relabel_rule **rules = NULL;
    size_t n = 0, n_made = 0;

    if (k->value && k->value->kind == YAML_NODE_LIST && k->value->n > RELABEL_RULES_MAX) {
        struct err *e = doc_error(&f->doc, k->key);
        (void)err_set(e, -E2BIG, "more than %d rules", RELABEL_RULES_MAX);
        err_hint(e, "one expression may do for several values: a|b|c");
        return 0;
    }
    int r = doc_list(&f->doc, k, sizeof(*rules), read_rule, f, &rules, &n);
    for (size_t i = 0; i < n; i++)
        if (rules[i])
            rules[n_made++] = rules[i]; /* all of them, unless the file is refused */
    *ret = (struct relabel_list){rules, n_made};
    return r;
}
