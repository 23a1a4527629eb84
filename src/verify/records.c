/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/records.h"

#include <errno.h>
#include <stdlib.h>

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
    for (size_t i = 0; i < selector->selector.n_matchers; i++) {
        const struct matcher *m = &selector->selector.matchers[i];
        if (!span_eq(m->name, SPAN(LABEL_NAME)) && !agrees(m, rule))
            return false;
    }
    return true;
}

/* --- all of them --- */

static int by_name(const void *a, const void *b)
{
    const struct verify_record *x = a, *y = b;
    int c = span_cmp(x->rule->name, y->rule->name);

    return c != 0 ? c : (x->i > y->i) - (x->i < y->i);
}

static size_t count(const struct rule_file *const *files, size_t n_files)
{
    size_t n = 0;

    for (size_t f = 0; f < n_files; f++)
        for (size_t g = 0; g < files[f]->n; g++)
            n += files[f]->groups[g].n;
    return n;
}

int verify_records_make(const struct rule_file *const *files, size_t n_files, struct arena *a,
                        struct verify_records *ret)
{
    struct verify_record *at = arena_array(a, count(files, n_files), sizeof(*at));
    size_t n = 0;

    if (!at)
        return -ENOMEM;
    for (size_t f = 0; f < n_files; f++)
        for (size_t g = 0; g < files[f]->n; g++)
            for (size_t i = 0; i < files[f]->groups[g].n; i++) {
                const struct rule_group *group = &files[f]->groups[g];
                if (group->rules[i].is_alert)
                    continue;
                at[n] = (struct verify_record){&group->rules[i], group, n};
                n++;
            }
    if (n > 1)
        qsort(at, n, sizeof(*at), by_name);
    *ret = (struct verify_records){.at = at, .n = n, .arena = a};
    return 0;
}

void verify_records_begin(struct verify_records *r)
{
    r->steps_left = VERIFY_RECORDS_STEPS;
}

/* The first one whose name is not less. */
static size_t find(const struct verify_records *r, struct span name)
{
    size_t from = 0, to = r->n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (span_cmp(r->at[mid].rule->name, name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

bool verify_records_next(struct verify_records *r, struct verify_records_cursor *c)
{
    struct span name = verify_records_name(c->selector);

    if (!c->_has_begun)
        c->_at = find(r, name);
    c->_has_begun = true;
    for (; c->_at < r->n && span_eq(r->at[c->_at].rule->name, name); c->_at++) {
        if (!is_meant(c->selector, r->at[c->_at].rule))
            continue;
        if (r->steps_left == 0)
            return false;
        r->steps_left--;
        c->rule = r->at[c->_at].rule;
        c->group = r->at[c->_at++].group;
        return true;
    }
    return false;
}
