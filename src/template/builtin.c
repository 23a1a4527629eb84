/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin.c - the functions of all files: found, checked, called.
 */
#include "template/builtin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/suggest.h"
#include "series/number.h"
#include "template/verb.h"

static const struct builtin *const tables[] = {
    builtin_text_rows,    builtin_link_rows,       builtin_number_rows, builtin_query_rows,
    builtin_compare_rows, builtin_collection_rows, builtin_print_rows,
};

const struct builtin *builtin_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct builtin *f = tables[i]; f->name; f++)
            if (span_eq(name, span_cstr(f->name)))
                return f;
    return NULL;
}

struct span builtin_suggest(struct span name)
{
    struct suggest s;
    suggest_init(&s, name);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct builtin *f = tables[i]; f->name; f++)
            suggest_offer(&s, span_cstr(f->name));
    return s.best;
}

bool builtin_takes(const struct builtin *f, size_t n, size_t *ret_want, bool *ret_is_least)
{
    size_t n_letters = strlen(f->takes);
    *ret_is_least = n_letters > 0 && f->takes[n_letters - 1] == '*';
    *ret_want = *ret_is_least ? n_letters - 2 : n_letters;
    return *ret_is_least ? n >= *ret_want : n == *ret_want;
}

int builtin_fail(struct builtin_call *c, const char *fmt, ...)
{
    char text[360];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(&c->err, -EINVAL, "%s", text);
}

/* letter: what the function takes there. A missing list is an empty one. */
static int check_type(struct builtin_call *c, char letter, struct tvalue *v)
{
    static const struct {
        char letter;
        enum tvalue_kind kind;
    } kinds[] = {{'s', TVALUE_STRING}, {'q', TVALUE_SAMPLES}, {'p', TVALUE_SAMPLE}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (letter != kinds[i].letter || v->kind == kinds[i].kind)
            continue;
        if (letter == 'q' && v->kind == TVALUE_NONE) {
            *v = (struct tvalue){.kind = TVALUE_SAMPLES};
            return 0;
        }
        if (v->kind == TVALUE_NONE)
            return builtin_fail(c, "invalid value; expected %s", tvalue_type(kinds[i].kind));
        return builtin_fail(c, "wrong type for value; expected %s; got %s",
                            tvalue_type(kinds[i].kind), tvalue_type(v->kind));
    }
    return 0;
}

static int to_float(struct builtin_call *c, struct tvalue *v)
{
    double f = 0;
    if (v->kind == TVALUE_FLOAT)
        return 0;
    if (v->kind != TVALUE_INT && v->kind != TVALUE_STRING)
        return builtin_fail(c, "can't convert %s to float", tvalue_type(v->kind));
    int r = v->kind == TVALUE_STRING ? number_parse(v->s, &f) : 0;
    if (r != 0)
        return builtin_fail(c, "\"%.*s\" is no number%s", (int)(v->s.n > 100 ? 100 : v->s.n),
                            v->s.p, r == -ERANGE ? ": out of range" : "");
    *v = tvalue_float(v->kind == TVALUE_INT ? (double)v->i : f);
    return 0;
}

void builtin_enter(struct builtin_call *c)
{
    buf_clear(&c->scratch);
    c->n_steps = 0;
}

int builtin_leave(struct builtin_call *c, const char *name, int r)
{
    if (r == -EMSGSIZE || r == -E2BIG) {
        const char *why = r == -E2BIG ? "too much work" : "the text is too long";
        return err_set(&c->err, -E2BIG, "error calling %s: %s", name, why);
    }
    if (r != 0 && r != -ENOMEM) {
        struct err why = c->err;
        return err_set(&c->err, r, "error calling %s: %.*s", name, 400, why.text);
    }
    return r;
}

int builtin_run(const struct builtin *f, struct builtin_call *c, struct tvalue *args, size_t n,
                struct tvalue *ret)
{
    const char *letter = f->takes;
    for (size_t i = 0; i < n; i++) {
        int r = *letter == 'n' ? builtin_leave(c, f->name, to_float(c, &args[i]))
                               : check_type(c, *letter, &args[i]);
        if (r != 0)
            return r;
        if (letter[1] != '*')
            letter++;
    }
    builtin_enter(c);
    return builtin_leave(c, f->name, f->call(c, args, n, ret));
}

int builtin_text(struct builtin_call *c, int r, struct tvalue *ret)
{
    struct span s;
    if (r != 0)
        return r;
    s = arena_dup(c->arena, buf_span(&c->scratch));
    if (!s.p)
        return -ENOMEM;
    *ret = tvalue_string(s);
    return 0;
}

int builtin_join(struct builtin_call *c, const struct tvalue *args, size_t n, struct span *ret)
{
    struct tvalue text;
    int r;
    if (n == 1 && args[0].kind == TVALUE_STRING) {
        *ret = args[0].s;
        return 0;
    }
    if (n == 1 && args[0].kind == TVALUE_NONE) {
        *ret = SPAN("<no value>");
        return 0;
    }
    r = builtin_text(c, verb_print_all(args, n, false, &c->scratch), &text);
    buf_clear(&c->scratch);
    if (r == 0)
        *ret = text.s;
    return r;
}
