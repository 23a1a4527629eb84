/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tparser.c - nodes: text, actions, and those that hold others up to their end.
 */
#include "template/tparser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int parse_list(struct tparser *p, struct tlist *list, enum tparser_ending *ret);
static int parse_keyword(struct tparser *p, struct tlist *list, struct span word, size_t at);

int tparser_fail(struct tparser *p, size_t at, const char *fmt, ...)
{
    char text[300];
    int line, column;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    tlexer_place(p->t->text, at, &line, &column);
    return err_set(p->err, -EINVAL, "%d:%d: %s", line, column, text);
}

int tparser_unexpected(struct tparser *p, const char *where)
{
    struct span text = p->word.text;
    return tparser_fail(p, p->word.at, "unexpected \"%.*s\" in %s",
                        (int)(text.n > 40 ? 40 : text.n), text.p, where);
}

int tparser_next(struct tparser *p)
{
    p->word = tlexer_next(&p->lexer);
    if (p->word.kind == TWORD_ERROR)
        return tparser_fail(p, p->word.at, "%s", p->lexer.error);
    return 0;
}

int tparser_skip_space(struct tparser *p)
{
    return p->word.kind == TWORD_SPACE ? tparser_next(p) : 0;
}

int tparser_descend(struct tparser *p, size_t at)
{
    int line, column;
    if (++p->depth <= TEMPLATE_DEPTH_MAX)
        return 0;
    tlexer_place(p->t->text, at, &line, &column);
    return err_set(p->err, -E2BIG, "%d:%d: nested more than %d deep", line, column,
                   TEMPLATE_DEPTH_MAX);
}

int tparser_add(struct tparser *p, struct tlist *list, enum tnode_kind kind, size_t at,
                struct tnode **ret)
{
    struct tnode *n = arena_zalloc(&p->t->arena, 1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->kind = kind;
    n->at = at;
    if (list->last)
        list->last->next = n;
    else
        list->first = n;
    list->last = n;
    *ret = n;
    return 0;
}

int tparser_close(struct tparser *p, const char *where)
{
    int r = tparser_skip_space(p);
    if (r != 0)
        return r;
    return p->word.kind == TWORD_CLOSE ? tparser_next(p) : tparser_unexpected(p, where);
}

static int parse_action(struct tparser *p, struct tlist *list, size_t at)
{
    struct tnode *n = NULL;
    struct tpipe *pipe = NULL;
    int r = tparser_add(p, list, TNODE_ACTION, at, &n);
    if (r == 0)
        r = tparser_pipe(p, "command", 1, &pipe);
    if (r != 0)
        return r;
    n->pipe = pipe;
    return tparser_close(p, "command");
}

int tparser_body(struct tparser *p, struct tlist *body, const char *where, enum tparser_ending *ret)
{
    size_t n = p->n_variables;
    int r = tparser_close(p, where);
    if (r == 0)
        r = parse_list(p, body, ret);
    p->n_variables = n;
    if (r == 0 && *ret == TPARSER_AT_TEXT)
        return tparser_fail(p, p->word.at, "unexpected end of the text: {{%s}} without {{end}}",
                            where);
    return r;
}

/* Behind else: if or with makes a node of its own, which shares the end. */
static int parse_else(struct tparser *p, struct tnode *n, const char *where)
{
    enum tparser_ending ending = TPARSER_AT_TEXT;
    struct tword w = p->word;
    if (w.kind == TWORD_KEYWORD && n->kind != TNODE_RANGE && span_eq(w.text, span_cstr(where))) {
        int r = tparser_next(p);
        return r == 0 ? parse_keyword(p, &n->otherwise, w.text, w.at) : r;
    }
    int r = tparser_body(p, &n->otherwise, where, &ending);
    if (r == 0 && ending == TPARSER_AT_ELSE)
        return tparser_fail(p, p->ended_at, "expected end; found {{else}}");
    return r == 0 ? tparser_close(p, "end") : r;
}

/* if, with, range: behind the keyword. */
static int parse_branch(struct tparser *p, struct tlist *list, enum tnode_kind kind,
                        const char *where, size_t at)
{
    size_t n_variables = p->n_variables;
    bool is_dot_data = p->is_dot_data;
    struct tnode *n = NULL;
    struct tpipe *pipe = NULL;
    enum tparser_ending ending = TPARSER_AT_TEXT;
    int r = tparser_descend(p, at);
    if (r == 0)
        r = tparser_add(p, list, kind, at, &n);
    if (r == 0)
        r = tparser_pipe(p, where, kind == TNODE_RANGE ? 2 : 1, &pipe);
    if (r != 0)
        return r;
    n->pipe = pipe;
    p->n_ranges += kind == TNODE_RANGE ? 1 : 0;
    p->is_dot_data = is_dot_data && kind == TNODE_IF;
    r = tparser_body(p, &n->body, where, &ending);
    p->n_ranges -= kind == TNODE_RANGE ? 1 : 0;
    p->is_dot_data = is_dot_data;
    if (r == 0)
        r = ending == TPARSER_AT_ELSE ? parse_else(p, n, where) : tparser_close(p, "end");
    p->n_variables = n_variables;
    p->depth--;
    return r;
}

static int parse_if(struct tparser *p, struct tlist *list, size_t at)
{
    return parse_branch(p, list, TNODE_IF, "if", at);
}

static int parse_with(struct tparser *p, struct tlist *list, size_t at)
{
    return parse_branch(p, list, TNODE_WITH, "with", at);
}

static int parse_range(struct tparser *p, struct tlist *list, size_t at)
{
    return parse_branch(p, list, TNODE_RANGE, "range", at);
}

static int parse_leave(struct tparser *p, struct tlist *list, enum tnode_kind kind,
                       const char *where, size_t at)
{
    struct tnode *n;
    int r;
    if (p->n_ranges == 0)
        return tparser_fail(p, at, "{{%s}} outside {{range}}", where);
    r = tparser_add(p, list, kind, at, &n);
    return r == 0 ? tparser_close(p, where) : r;
}

static int parse_break(struct tparser *p, struct tlist *list, size_t at)
{
    return parse_leave(p, list, TNODE_BREAK, "break", at);
}

static int parse_continue(struct tparser *p, struct tlist *list, size_t at)
{
    return parse_leave(p, list, TNODE_CONTINUE, "continue", at);
}

static const struct {
    const char *word;
    int (*parse)(struct tparser *p, struct tlist *list, size_t at);
} keywords[] = {
    {"if", parse_if},
    {"with", parse_with},
    {"range", parse_range},
    {"break", parse_break},
    {"continue", parse_continue},
    {"define", tparser_define},
    {"template", tparser_template},
    {"block", tparser_block},
};

static int parse_keyword(struct tparser *p, struct tlist *list, struct span word, size_t at)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        if (span_eq(word, span_cstr(keywords[i].word)))
            return keywords[i].parse(p, list, at);
    return tparser_fail(p, at, "unexpected {{%.*s}}", SPAN_ARG(word));
}

/* An action, p being at {{; *ret_is_over: it ends the list, and p is behind its keyword. */
static int parse_braces(struct tparser *p, struct tlist *list, enum tparser_ending *ret,
                        bool *ret_is_over)
{
    size_t at = p->word.at;
    int r = tparser_next(p);
    if (r == 0)
        r = tparser_skip_space(p);
    if (r != 0)
        return r;
    if (p->word.kind != TWORD_KEYWORD)
        return parse_action(p, list, at);
    struct span word = p->word.text;
    at = p->word.at;
    r = tparser_next(p);
    if (r == 0)
        r = tparser_skip_space(p);
    if (r != 0)
        return r;
    *ret_is_over = span_eq(word, SPAN("end")) || span_eq(word, SPAN("else"));
    if (!*ret_is_over)
        return parse_keyword(p, list, word, at);
    p->ended_at = at;
    *ret = span_eq(word, SPAN("end")) ? TPARSER_AT_END : TPARSER_AT_ELSE;
    return 0;
}

static int parse_list(struct tparser *p, struct tlist *list, enum tparser_ending *ret)
{
    bool is_over = false;
    *ret = TPARSER_AT_TEXT;
    while (!is_over && p->word.kind != TWORD_END) {
        struct tnode *n;
        int r;
        if (p->word.kind != TWORD_TEXT) {
            r = parse_braces(p, list, ret, &is_over);
        } else {
            r = tparser_add(p, list, TNODE_TEXT, p->word.at, &n);
            if (r == 0) {
                n->text = p->word.text;
                r = tparser_next(p);
            }
        }
        if (r != 0)
            return r;
    }
    return 0;
}

static int declare_known(struct tparser *p)
{
    static const struct span names[] = {SPAN_INIT("$"), SPAN_INIT("$labels"),
                                        SPAN_INIT("$externalLabels"), SPAN_INIT("$externalURL"),
                                        SPAN_INIT("$value")};
    size_t slot;
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(names) && r == 0; i++)
        r = tparser_declare(p, names[i], &slot);
    return r;
}

int tparser_run(struct tparser *p)
{
    enum tparser_ending ending = TPARSER_AT_TEXT;
    p->definition = arena_zalloc(&p->t->arena, 1, sizeof(*p->definition));
    if (!p->definition)
        return -ENOMEM;
    p->t->definitions = p->definition;
    p->is_dot_data = true;
    tlexer_init(&p->lexer, p->t->text);
    int r = declare_known(p);
    if (r == 0)
        r = tparser_next(p);
    if (r == 0)
        r = parse_list(p, &p->definition->body, &ending);
    if (r != 0)
        return r;
    if (ending != TPARSER_AT_TEXT)
        return tparser_fail(p, p->ended_at, "unexpected {{%s}}",
                            ending == TPARSER_AT_END ? "end" : "else");
    for (const struct tdefinition *d = p->t->definitions; d && r == 0; d = d->next)
        r = tparser_resolve(p, &d->body);
    return r;
}
