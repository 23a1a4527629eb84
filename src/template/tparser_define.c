/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tparser_define.c - templates in a template: define, block, template.
 */
#include <errno.h>

#include "template/tparser.h"

/* The text of a name between quotes. */
static int parse_template_name(struct tparser *p, const char *where, struct span *ret)
{
    struct tvalue v;
    int r = tparser_skip_space(p);
    if (r == 0 && p->word.kind != TWORD_STRING && p->word.kind != TWORD_RAW)
        return tparser_unexpected(p, where);
    if (r == 0)
        r = tparser_literal(p, &p->word, &v);
    if (r == 0)
        r = tparser_next(p);
    if (r == 0)
        r = tparser_skip_space(p);
    if (r == 0)
        *ret = v.s;
    return r;
}

int tparser_template(struct tparser *p, struct tlist *list, size_t at)
{
    struct tnode *n = NULL;
    struct tpipe *pipe = NULL;
    struct span name = {NULL, 0};
    int r = tparser_add(p, list, TNODE_TEMPLATE, at, &n);
    if (r == 0)
        r = parse_template_name(p, "template", &name);
    if (r == 0 && p->word.kind != TWORD_CLOSE)
        r = tparser_pipe(p, "template", 1, &pipe);
    if (r != 0)
        return r;
    n->name = name;
    n->pipe = pipe;
    return tparser_close(p, "template");
}

static bool is_blank(const struct tlist *l)
{
    for (const struct tnode *n = l->first; n; n = n->next) {
        if (n->kind != TNODE_TEXT)
            return false;
        for (size_t i = 0; i < n->text.n; i++)
            if (!tlexer_is_space(n->text.p[i]))
                return false;
    }
    return true;
}

/* A definition takes the place of a blank one of its name; a blank one never takes a place. */
static int add_definition(struct tparser *p, struct tdefinition *d, size_t at)
{
    struct tdefinition *last = p->t->definitions;
    for (;; last = last->next) {
        if (last->name.p && span_eq(last->name, d->name)) {
            if (is_blank(&d->body))
                return 0;
            if (!is_blank(&last->body))
                return tparser_fail(p, at, "multiple definition of template \"%.*s\"",
                                    (int)(d->name.n > 100 ? 100 : d->name.n), d->name.p);
            last->body = d->body;
            last->n_slots = d->n_slots;
            return 0;
        }
        if (!last->next)
            break;
    }
    last->next = d;
    return 0;
}

/* The body of a definition, behind what names it: it sees no variables but its own $. */
static int parse_definition(struct tparser *p, struct span name, const char *where, size_t at)
{
    struct tparser outer = *p;
    size_t slot;
    enum tparser_ending ending = TPARSER_AT_TEXT;
    struct tdefinition *d = arena_zalloc(&p->t->arena, 1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->name = name;
    p->definition = d;
    p->variables = NULL;
    p->n_variables = p->cap_variables = 0;
    p->n_ranges = 0;
    p->is_dot_data = false;
    int r = tparser_declare(p, SPAN("$"), &slot);
    if (r == 0)
        r = tparser_body(p, &d->body, where, &ending);
    if (r == 0 && ending == TPARSER_AT_ELSE)
        return tparser_fail(p, p->ended_at, "unexpected {{else}} in %s clause", where);
    if (r == 0)
        r = add_definition(p, d, at);
    p->definition = outer.definition;
    p->variables = outer.variables;
    p->n_variables = outer.n_variables;
    p->cap_variables = outer.cap_variables;
    p->n_ranges = outer.n_ranges;
    p->is_dot_data = outer.is_dot_data;
    return r == 0 ? tparser_close(p, "end") : r;
}

int tparser_define(struct tparser *p, struct tlist *list, size_t at)
{
    struct span name = {NULL, 0};
    int r;
    (void)list;
    if (p->depth > 0 || p->definition->name.p)
        return tparser_fail(p, at, "unexpected {{define}}: it stands outside of everything else");
    r = parse_template_name(p, "define clause", &name);
    return r == 0 ? parse_definition(p, name, "define", at) : r;
}

int tparser_block(struct tparser *p, struct tlist *list, size_t at)
{
    struct tnode *n = NULL;
    struct tpipe *pipe = NULL;
    struct span name = {NULL, 0};
    int r = tparser_descend(p, at);
    if (r == 0)
        r = tparser_add(p, list, TNODE_TEMPLATE, at, &n);
    if (r == 0)
        r = parse_template_name(p, "block clause", &name);
    if (r == 0)
        r = tparser_pipe(p, "block clause", 1, &pipe);
    if (r != 0)
        return r;
    n->name = name;
    n->pipe = pipe;
    r = parse_definition(p, name, "block", at);
    p->depth--;
    return r;
}

int tparser_resolve(struct tparser *p, const struct tlist *list)
{
    int r = 0;
    for (struct tnode *n = list->first; n && r == 0; n = n->next) {
        if (n->kind == TNODE_IF || n->kind == TNODE_WITH || n->kind == TNODE_RANGE)
            r = tparser_resolve(p, &n->body);
        if (r == 0)
            r = tparser_resolve(p, &n->otherwise);
        if (r != 0 || n->kind != TNODE_TEMPLATE)
            continue;
        for (const struct tdefinition *d = p->t->definitions; d; d = d->next)
            if (d->name.p && span_eq(d->name, n->name))
                n->definition = d;
        if (!n->definition)
            r = tparser_fail(p, n->at, "template \"%.*s\" not defined",
                             (int)(n->name.n > 100 ? 100 : n->name.n), n->name.p);
    }
    return r;
}
