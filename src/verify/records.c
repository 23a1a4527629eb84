/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/records.h"

struct span verify_records_name(const struct node *selector)
{
    if (selector->selector.name.n > 0)
        return selector->selector.name;
    for (size_t i = 0; i < selector->selector.n_matchers; i++) {
        const struct matcher *m = &selector->selector.matchers[i];
        if (m->op == MATCH_EQ && span_eq(m->name, SPAN(LABEL_NAME)))
            return m->value;
    }
    return SPAN("");
}

/* A label that the rule sets decides; others come from what it reads. */
static bool agrees(const struct matcher *m, const struct rule *rule)
{
    for (size_t i = 0; i < rule->n_labels; i++)
        if (span_eq(rule->labels[i].name, m->name))
            return matcher_matches(m, rule->labels[i].value);
    return true;
}

static bool is_meant(const struct node *selector, const struct rule *rule)
{
    if (rule->is_alert || !span_eq(rule->name, verify_records_name(selector)))
        return false;
    for (size_t i = 0; i < selector->selector.n_matchers; i++) {
        const struct matcher *m = &selector->selector.matchers[i];
        if (!span_eq(m->name, SPAN(LABEL_NAME)) && !agrees(m, rule))
            return false;
    }
    return true;
}

bool verify_records_next(const struct verify_records *r, struct verify_records_cursor *c)
{
    for (; c->_file < r->n_files; c->_file++, c->_group = 0) {
        const struct rule_file *f = r->files[c->_file];
        for (; c->_group < f->n; c->_group++, c->_rule = 0) {
            c->group = &f->groups[c->_group];
            while (c->_rule < c->group->n) {
                c->rule = &c->group->rules[c->_rule++];
                if (is_meant(c->selector, c->rule))
                    return true;
            }
        }
    }
    return false;
}
