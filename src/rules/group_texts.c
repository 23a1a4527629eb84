/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/group_texts.c - what a rule's labels, annotations and links are, made once per load.
 *
 * A rule's labels are those of its group, and its own on top. Those of alerts are templates; the
 * reader of the file has parsed a rule's own ones, a group's are parsed here, and one that does not
 * work gives the text of its error, as it would in Prometheus.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rules/rules_private.h"

/* Of a printed expression, or its link, in which a byte may become six: %5C%22, %5Cx01. */
enum { TEXT_MAX = 8 * PROMQL_QUERY_MAX };

static int compare_overrides(const void *a, const void *b)
{
    struct label x = {((const struct override *)a)->name, SPAN("-")};
    struct label y = {((const struct override *)b)->name, SPAN("-")};
    return labels_cmp((struct labels){&x, 1}, (struct labels){&y, 1});
}

/* Replaces the one of the same name, or adds it. */
static void put(struct override *set, size_t *n, struct override o)
{
    size_t i = 0;
    while (i < *n && !span_eq(set[i].name, o.name))
        i++;
    set[i] = o;
    *n += i == *n;
}

static void sort(struct override *set, size_t n)
{
    if (n > 1)
        qsort(set, n, sizeof(*set), compare_overrides);
}

/* --- labels of the group --- */

/* as: what they are for alerts. */
static int group_labels(struct group *g, struct override **as)
{
    const struct labels *l = &g->def->labels;
    *as = arena_array(&g->arena, l->n, sizeof(**as));
    g->templates = arena_array(&g->arena, l->n, sizeof(struct template *));
    if (!*as || !g->templates)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        struct template *t = NULL;
        struct err err = {0};
        (*as)[i] = (struct override){l->at[i].name, l->at[i].value, NULL};
        if (span_find(l->at[i].value, SPAN("{{")) == l->at[i].value.n)
            continue;
        int r = template_parse(l->at[i].value, &t, &err);
        if (r == 0) {
            g->templates[g->n_templates++] = t;
            (*as)[i].template = t;
        } else if (r != -ENOMEM) {
            r = override_error(&g->arena, err.text, &(*as)[i].value);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

void group_texts_done(struct group *g)
{
    for (size_t i = 0; i < g->n_templates; i++)
        (void)template_free(g->templates[i]);
    g->n_templates = 0;
}

/* --- a rule --- */

static struct override of_text(const struct rule_text *t)
{
    bool is_plain = !t->template || template_is_plain(t->template);
    return (struct override){t->name, t->value, is_plain ? NULL : t->template};
}

static int rule_labels(struct group *g, const struct override *of_group, struct rule_run *rule)
{
    const struct rule *def = rule->def;
    const struct labels *l = &g->def->labels;
    struct override *labels = arena_array(&g->arena, l->n + def->n_labels, sizeof(*labels));
    struct override *set = arena_array(&g->arena, l->n + def->n_labels + 2, sizeof(*set));
    if (!labels || !set)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        put(labels, &rule->n_labels, (struct override){l->at[i].name, l->at[i].value, NULL});
        put(set, &rule->n_set, def->is_alert ? of_group[i] : labels[i]);
    }
    for (size_t i = 0; i < def->n_labels; i++) {
        put(labels, &rule->n_labels, of_text(&def->labels[i]));
        put(set, &rule->n_set, of_text(&def->labels[i]));
    }
    put(set, &rule->n_set,
        (struct override){SPAN(LABEL_NAME), def->is_alert ? SPAN("") : def->name, NULL});
    if (def->is_alert)
        put(set, &rule->n_set, (struct override){SPAN("alertname"), def->name, NULL});
    sort(labels, rule->n_labels);
    sort(set, rule->n_set);
    rule->labels = labels;
    rule->set = set;
    return 0;
}

static int rule_annotations(struct group *g, struct rule_run *rule)
{
    const struct rule *def = rule->def;
    struct override *at = arena_array(&g->arena, def->n_annotations, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < def->n_annotations; i++)
        put(at, &rule->n_annotations, of_text(&def->annotations[i]));
    sort(at, rule->n_annotations);
    rule->annotations = at;
    return 0;
}

/* As a part of a URL's query. */
static int escape(struct span s, struct buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    int r = 0;
    for (size_t i = 0; i < s.n && r == 0; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char three[] = {'%', hex[c >> 4], hex[c & 15]};
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || (c != 0 && strchr("-_.~", c));
        r = buf_append(out, is_plain   ? span_of(&s.p[i], 1)
                            : c == ' ' ? SPAN("+")
                                       : span_of(three, sizeof(three)));
    }
    return r;
}

static int print_link(struct span external_url, struct span query, struct buf *out)
{
    int r = buf_append(out, external_url);
    if (r == 0)
        r = buf_append(out, SPAN("/graph?g0.expr="));
    if (r == 0)
        r = escape(query, out);
    return r == 0 ? buf_append(out, SPAN("&g0.tab=1")) : r;
}

static int keep(struct group *g, struct buf *text, struct span *ret)
{
    *ret = arena_dup(&g->arena, buf_span(text));
    buf_clear(text);
    return ret->p ? 0 : -ENOMEM;
}

static int rule_texts(struct group *g, struct span external_url, struct rule_run *rule,
                      struct buf *text)
{
    int r = promql_print(promql_root(rule->def->expr), text);
    if (r == 0)
        r = keep(g, text, &rule->query);
    if (r == 0 && rule->def->is_alert)
        r = print_link(external_url, rule->query, text);
    return r == 0 ? keep(g, text, &rule->generator_url) : r;
}

int group_texts(struct group *g, struct span external_url)
{
    struct override *of_group;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    int r = group_labels(g, &of_group);
    for (size_t i = 0; i < g->n && r == 0; i++) {
        r = rule_labels(g, of_group, &g->rules[i]);
        if (r == 0)
            r = rule_annotations(g, &g->rules[i]);
        if (r == 0)
            r = rule_texts(g, external_url, &g->rules[i], &text);
    }
    buf_done(&text);
    return r;
}
