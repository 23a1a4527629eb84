/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tparser_pipe.c - pipelines: what may set variables, commands, operands.
 *
 * What can be seen to go wrong whenever it is run is refused here: a function with too few
 * arguments, arguments for what is no function, a field that . does not have at the beginning.
 */
#include "template/tparser.h"

#include <errno.h>

#include "base/suggest.h"

/* Parts of a pipeline as they are read; the arena keeps them. */
struct operands {
    struct toperand *at;
    size_t n, cap;
};

static int grow(struct tparser *p, void **at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return 0;
    void *more = arena_grow(&p->t->arena, *at, n, 1, cap, size);
    if (!more)
        return -ENOMEM;
    *at = more;
    return 0;
}

int tparser_declare(struct tparser *p, struct span name, size_t *ret_slot)
{
    void *at = p->variables;
    int r = grow(p, &at, p->n_variables, &p->cap_variables, sizeof(*p->variables));
    if (r != 0)
        return r;
    p->variables = at;
    p->variables[p->n_variables].name = name;
    *ret_slot = p->n_variables++;
    if (p->n_variables > p->definition->n_slots)
        p->definition->n_slots = p->n_variables;
    return 0;
}

/* near: empty where no name is. */
static void hint_near(struct tparser *p, const char *sign, struct span near)
{
    if (near.n > 0)
        err_hint(p->err, "did you mean \"%s%.*s\"?", sign, SPAN_ARG(near));
}

static int find_variable(struct tparser *p, const struct tword *w, size_t *ret_slot)
{
    struct suggest near;
    for (size_t i = p->n_variables; i > 0; i--) {
        if (!span_eq(p->variables[i - 1].name, w->text))
            continue;
        *ret_slot = i - 1;
        return 0;
    }
    suggest_init(&near, span_from(w->text, 1));
    for (size_t i = 1; i < p->n_variables; i++) /* [0] is $ alone */
        suggest_offer(&near, span_from(p->variables[i].name, 1));
    int r = tparser_fail(p, w->at, "undefined variable \"%.*s\"", SPAN_ARG(w->text));
    hint_near(p, "$", near.best);
    return r;
}

static int find_function(struct tparser *p, struct toperand *o)
{
    struct span name = p->word.text;
    o->kind = TOPERAND_FUNCTION;
    o->function = builtin_find(name);
    if (o->function)
        return 0;
    int r = tparser_fail(p, o->at, "function \"%.*s\" not defined",
                         (int)(name.n > 100 ? 100 : name.n), name.p);
    hint_near(p, "", builtin_suggest(name));
    return r;
}

static int parse_name(struct tparser *p, struct toperand *o)
{
    static const struct {
        const char *name;
        struct tvalue v;
    } constants[] = {
        {"true", {.kind = TVALUE_BOOL, .b = true}},
        {"false", {.kind = TVALUE_BOOL, .b = false}},
        {"nil", {.kind = TVALUE_NONE}},
    };
    for (size_t i = 0; i < ARRAY_LEN(constants); i++) {
        if (!span_eq(p->word.text, span_cstr(constants[i].name)))
            continue;
        o->kind = TOPERAND_CONSTANT;
        o->constant = constants[i].v;
        return 0;
    }
    return find_function(p, o);
}

static int parse_parenthesis(struct tparser *p, struct toperand *o)
{
    struct tpipe *pipe = NULL;
    int r = tparser_descend(p, o->at);
    if (r == 0)
        r = tparser_next(p);
    if (r == 0)
        r = tparser_pipe(p, "parenthesized pipeline", 0, &pipe);
    if (r != 0)
        return r;
    p->depth--;
    o->kind = TOPERAND_PIPE;
    o->pipe = pipe;
    return p->word.kind == TWORD_RIGHT_PAREN ? 0 : tparser_unexpected(p, "parenthesized pipeline");
}

/* The operand's first word; *ret_is_one: there is an operand. Its last word is still to be taken.
 */
static int parse_term(struct tparser *p, struct toperand *o, bool *ret_is_one)
{
    *o = (struct toperand){.kind = TOPERAND_DOT, .at = p->word.at};
    *ret_is_one = true;
    switch (p->word.kind) {
    case TWORD_DOT:
    case TWORD_FIELD: /* read as one behind the dot */
        return 0;
    case TWORD_NAME:
        return parse_name(p, o);
    case TWORD_VARIABLE:
        o->kind = TOPERAND_VARIABLE;
        return find_variable(p, &p->word, &o->slot);
    case TWORD_NUMBER:
    case TWORD_CHAR:
    case TWORD_STRING:
    case TWORD_RAW:
        o->kind = TOPERAND_CONSTANT;
        return tparser_literal(p, &p->word, &o->constant);
    case TWORD_LEFT_PAREN:
        return parse_parenthesis(p, o);
    default:
        *ret_is_one = false;
        return 0;
    }
}

static int check_first_field(struct tparser *p, const struct toperand *o, const struct tword *w)
{
    static const char *const known[] = {"Labels", "ExternalLabels", "ExternalURL", "Value"};
    bool is_data = (o->kind == TOPERAND_DOT && p->is_dot_data) ||
                   (o->kind == TOPERAND_VARIABLE && o->slot == 0 && !p->definition->name.p);
    struct span name = span_from(w->text, 1);
    struct suggest near;
    if (!is_data)
        return 0;
    suggest_init(&near, name);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (span_eq(name, span_cstr(known[i])))
            return 0;
        suggest_offer(&near, span_cstr(known[i]));
    }
    int r = tparser_fail(p, w->at, "there is no field \"%.*s\"", (int)(name.n > 100 ? 100 : name.n),
                         name.p);
    err_hint(p->err, "labels are at .Labels.NAME, or $labels.NAME");
    hint_near(p, ".", near.best);
    return r;
}

/* .a.b right behind a term, or as one. */
static int parse_fields(struct tparser *p, struct toperand *o)
{
    struct span *fields = NULL;
    size_t cap = 0;
    int r = 0;
    while (r == 0 && p->word.kind == TWORD_FIELD) {
        if (o->kind == TOPERAND_CONSTANT)
            return tparser_fail(p, p->word.at, "unexpected . after a constant");
        void *at = fields;
        r = o->n_fields == 0 ? check_first_field(p, o, &p->word) : 0;
        if (r == 0)
            r = grow(p, &at, o->n_fields, &cap, sizeof(*fields));
        if (r != 0)
            return r;
        fields = at;
        fields[o->n_fields++] = span_from(p->word.text, 1);
        o->fields = fields;
        r = tparser_next(p);
    }
    return r;
}

static int parse_operand(struct tparser *p, struct toperand *o, bool *ret_is_one)
{
    bool is_field = p->word.kind == TWORD_FIELD;
    int r = parse_term(p, o, ret_is_one);
    if (r != 0 || !*ret_is_one)
        return r;
    if (!is_field)
        r = tparser_next(p);
    if (r == 0 && p->word.kind == TWORD_FIELD && o->kind == TOPERAND_DOT && !is_field)
        return tparser_fail(p, p->word.at, "unexpected . after .");
    return r == 0 ? parse_fields(p, o) : r;
}

static int check_count(struct tparser *p, const struct toperand *f, size_t n)
{
    size_t want;
    bool is_least;
    if (builtin_takes(f->function, n, &want, &is_least))
        return 0;
    return tparser_fail(p, f->at, "wrong number of args for %s: want %s%zu got %zu",
                        f->function->name, is_least ? "at least " : "", want, n);
}

/* stage: commands in front of it; the last of them hands its value on. */
static int check_command(struct tparser *p, const struct tcommand *c, size_t stage)
{
    const struct toperand *first = &c->at[0];
    size_t n_before = stage > 0 ? 1 : 0;
    bool is_call = first->kind == TOPERAND_FUNCTION && first->n_fields == 0;
    for (size_t i = is_call ? 1 : 0; i < c->n; i++) {
        if (c->at[i].kind != TOPERAND_FUNCTION)
            continue;
        int r = check_count(p, &c->at[i], 0);
        if (r != 0)
            return r;
    }
    if (is_call)
        return check_count(p, first, c->n - 1 + n_before);
    if (first->kind == TOPERAND_CONSTANT && first->constant.kind == TVALUE_NONE)
        return tparser_fail(p, first->at, "nil is not a command");
    if (first->n_fields > 0)
        return 0; /* whether that is a method is known when it is run */
    if (n_before > 0)
        return tparser_fail(p, first->at, "non executable command in pipeline stage %zu",
                            stage + 1);
    return c->n == 1 ? 0 : tparser_fail(p, first->at, "can't give argument to non-function");
}

/* Up to a bar, a parenthesis or }}. */
static int parse_command(struct tparser *p, struct tcommand *c, size_t stage)
{
    struct operands list = {NULL, 0, 0};
    for (;;) {
        bool is_one = false;
        void *at;
        struct toperand o = {.kind = TOPERAND_DOT};
        int r = tparser_skip_space(p);
        if (r == 0)
            r = parse_operand(p, &o, &is_one);
        if (r != 0)
            return r;
        if (!is_one)
            break;
        at = list.at;
        r = grow(p, &at, list.n, &list.cap, sizeof(*list.at));
        if (r != 0)
            return r;
        list.at = at;
        list.at[list.n++] = o;
        if (p->word.kind != TWORD_SPACE)
            break;
    }
    *c = (struct tcommand){list.at, list.n};
    return list.n == 0 ? 0 : check_command(p, c, stage);
}

static int parse_commands(struct tparser *p, const char *where, struct tpipe *pipe)
{
    struct tcommand *commands = NULL;
    size_t cap = 0;
    for (;;) {
        struct tcommand c;
        void *at = commands;
        int r = parse_command(p, &c, pipe->n);
        if (r != 0)
            return r;
        bool is_end = p->word.kind == TWORD_CLOSE || p->word.kind == TWORD_RIGHT_PAREN;
        if (c.n == 0 && (is_end || p->word.kind == TWORD_BAR))
            return tparser_fail(p, p->word.at, "missing value for %s", where);
        if (!is_end && p->word.kind != TWORD_BAR)
            return tparser_unexpected(p, c.n == 0 ? where : "operand");
        r = grow(p, &at, pipe->n, &cap, sizeof(*commands));
        if (r != 0)
            return r;
        commands = at;
        commands[pipe->n++] = c;
        pipe->commands = commands;
        if (is_end)
            return 0;
        r = tparser_next(p);
        if (r != 0)
            return r;
    }
}

/* What is in front of := or =. */
struct setting {
    struct tword names[TPIPE_VARIABLES_MAX];
    size_t n;
    bool is_declaring;
};

/* p is at a variable; *ret_is_setting: it, and another one perhaps, are to be set. */
static int parse_setting(struct tparser *p, const char *where, size_t max, struct setting *s,
                         bool *ret_is_setting)
{
    int r = 0;
    *ret_is_setting = false;
    while (r == 0 && p->word.kind == TWORD_VARIABLE) {
        struct tword name = p->word;
        r = tparser_next(p);
        if (r == 0)
            r = tparser_skip_space(p);
        bool is_comma = p->word.kind == TWORD_COMMA;
        *ret_is_setting = p->word.kind == TWORD_DECLARE || p->word.kind == TWORD_ASSIGN;
        if (r != 0 || (!*ret_is_setting && !is_comma))
            return r;
        if (s->n >= max || (is_comma && s->n + 1 >= max))
            return tparser_fail(p, name.at, "too many declarations in %s", where);
        s->names[s->n++] = name;
        s->is_declaring = p->word.kind == TWORD_DECLARE;
        r = tparser_next(p);
        if (r == 0)
            r = tparser_skip_space(p);
        if (*ret_is_setting)
            return r;
    }
    return r != 0 ? r : tparser_fail(p, p->word.at, "range can only initialize variables");
}

static int set_slots(struct tparser *p, const struct setting *s, struct tpipe *pipe)
{
    int r = 0;
    for (size_t i = 0; i < s->n && r == 0; i++)
        r = s->is_declaring ? tparser_declare(p, s->names[i].text, &pipe->slots[i])
                            : find_variable(p, &s->names[i], &pipe->slots[i]);
    pipe->n_slots = s->n;
    return r;
}

int tparser_pipe(struct tparser *p, const char *where, size_t max_variables, struct tpipe **ret)
{
    struct setting setting = {.n = 0};
    struct tpipe *pipe = arena_zalloc(&p->t->arena, 1, sizeof(*pipe));
    int r = pipe ? tparser_skip_space(p) : -ENOMEM;
    if (r != 0)
        return r;
    pipe->at = p->word.at;
    if (p->word.kind == TWORD_VARIABLE) {
        struct tlexer lexer = p->lexer;
        struct tword word = p->word;
        bool is_setting;
        r = parse_setting(p, where, max_variables, &setting, &is_setting);
        if (r != 0)
            return r;
        if (!is_setting) {
            p->lexer = lexer;
            p->word = word;
            setting.n = 0;
        }
    }
    r = parse_commands(p, where, pipe);
    /* Only behind its pipeline is a variable known: {{$x := $x}} reads an outer one. */
    if (r == 0)
        r = set_slots(p, &setting, pipe);
    if (r == 0)
        *ret = pipe;
    return r;
}
