/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/verb_printf.c - a format with its verbs, and what it says of those that do not fit.
 */
#include <errno.h>

#include "base/utf8.h"
#include "template/verb.h"

enum { NUMBER_MAX = 1000000 }; /* of widths and precisions */

struct printing {
    struct span format; /* what is left of it */
    const struct tvalue *args;
    size_t n, at;      /* the next argument */
    bool is_reordered; /* [n] was there */
    bool is_index_good;
    struct buf *out;
};

static bool is_next(struct printing *p, char c)
{
    if (p->format.n == 0 || p->format.p[0] != c)
        return false;
    (void)span_take(&p->format, 1);
    return true;
}

/* Digits, if there are any: -1 else; -2: too many. */
static int take_number(struct span *s)
{
    int v = -1;
    while (s->n > 0 && s->p[0] >= '0' && s->p[0] <= '9') {
        int digit = span_take(s, 1).p[0] - '0';
        v = v == -2 || v > NUMBER_MAX ? -2 : (v < 0 ? 0 : v) * 10 + digit;
    }
    return v > NUMBER_MAX ? -2 : v;
}

/* [n]: the argument that is meant. */
static void take_index(struct printing *p, bool *ret_is_there)
{
    *ret_is_there = p->format.n > 0 && p->format.p[0] == '[';
    if (!*ret_is_there)
        return;
    p->is_reordered = true;
    size_t end = span_find_char(p->format, ']');
    struct span inner = span_of(p->format.p + 1, end - 1);
    int number = take_number(&inner);
    if (end == p->format.n || number < 1 || inner.n > 0 || (size_t)number > p->n) {
        p->is_index_good = false;
        (void)span_take(&p->format, end == p->format.n ? 1 : end + 1);
        return;
    }
    (void)span_take(&p->format, end + 1);
    p->at = (size_t)number - 1;
}

static void take_flags(struct printing *p, struct verb *verb)
{
    for (;;) {
        if (is_next(p, '#'))
            verb->has_sharp = true;
        else if (is_next(p, '0'))
            verb->has_zero = true;
        else if (is_next(p, '+'))
            verb->has_plus = true;
        else if (is_next(p, ' '))
            verb->has_space = true;
        else if (is_next(p, '-'))
            verb->has_minus = true;
        else
            break;
    }
    verb->has_zero = verb->has_zero && !verb->has_minus; /* zeros only on the left */
}

/* A '*': the number is an argument. INT32_MIN: it is none that can be. */
static int take_star(struct printing *p)
{
    const struct tvalue *v = p->at < p->n ? &p->args[p->at] : NULL;
    if (v)
        p->at++;
    if (!v || v->kind != TVALUE_INT || v->i > NUMBER_MAX || v->i < -NUMBER_MAX)
        return INT32_MIN;
    return (int)v->i;
}

static int take_width(struct printing *p, struct verb *verb, bool *is_index)
{
    if (is_next(p, '*')) {
        verb->width = take_star(p);
        *is_index = false;
        if (verb->width == INT32_MIN) {
            verb->width = -1;
            return buf_append(p->out, SPAN("%!(BADWIDTH)"));
        }
        if (verb->width < 0) {
            verb->width = -verb->width;
            verb->has_minus = true;
            verb->has_zero = false;
        }
        return 0;
    }
    int v = take_number(&p->format);
    verb->width = v < 0 ? -1 : v;
    if (*is_index && v >= 0)
        p->is_index_good = false; /* "%[3]2d" */
    return 0;
}

static int take_precision(struct printing *p, struct verb *verb, bool *is_index)
{
    if (!is_next(p, '.'))
        return 0;
    if (*is_index)
        p->is_index_good = false; /* "%[3].2d" */
    take_index(p, is_index);
    if (is_next(p, '*')) {
        verb->precision = take_star(p);
        *is_index = false;
        if (verb->precision < 0) {
            verb->precision = -1;
            return buf_append(p->out, SPAN("%!(BADPREC)"));
        }
        return 0;
    }
    int v = take_number(&p->format);
    verb->precision = v < 0 ? 0 : v;
    return 0;
}

static int complain(struct printing *p, const struct verb *verb, const char *what)
{
    char rune[4];
    return buf_printf(p->out, "%%!%.*s(%s)", (int)utf8_put(verb->rune, rune), rune, what);
}

static int print_next(struct printing *p, struct verb *verb)
{
    if (!p->is_index_good)
        return complain(p, verb, "BADINDEX");
    if (p->at >= p->n)
        return complain(p, verb, "MISSING");
    if (verb->rune == 'v') {
        verb->is_sharp_v = verb->has_sharp;
        verb->is_plus_v = verb->has_plus;
        verb->has_sharp = verb->has_plus = false;
    }
    return verb_value(verb, &p->args[p->at++], p->out);
}

/* Behind a %. */
static int print_verb(struct printing *p)
{
    struct verb verb = {.width = -1, .precision = -1};
    bool is_index = false;
    int r;
    p->is_index_good = true;
    take_flags(p, &verb);
    take_index(p, &is_index);
    r = take_width(p, &verb, &is_index);
    if (r == 0)
        r = take_precision(p, &verb, &is_index);
    if (r != 0)
        return r;
    if (!is_index)
        take_index(p, &is_index);
    if (p->format.n == 0)
        return buf_append(p->out, SPAN("%!(NOVERB)"));
    verb.rune = utf8_take(&p->format);
    return verb.rune == '%' ? buf_append(p->out, SPAN("%")) : print_next(p, &verb);
}

/* Arguments that no verb asked for. */
static int print_extra(struct printing *p)
{
    int r = buf_append(p->out, SPAN("%!(EXTRA "));
    for (size_t i = p->at; i < p->n && r == 0; i++) {
        const struct tvalue *v = &p->args[i];
        r = buf_printf(p->out, "%s%s%s", i > p->at ? ", " : "", tvalue_type(v->kind),
                       v->kind == TVALUE_NONE ? "" : "=");
        if (r == 0 && v->kind != TVALUE_NONE)
            r = verb_print(v, p->out);
    }
    return r == 0 ? buf_append(p->out, SPAN(")")) : r;
}

int verb_printf(struct span format, const struct tvalue *args, size_t n, struct buf *out)
{
    struct printing p = {.format = format, .args = args, .n = n, .out = out};
    int r = 0;
    while (p.format.n > 0 && r == 0) {
        struct span text = span_take(&p.format, span_find_char(p.format, '%'));
        r = text.n > 0 ? buf_append(out, text) : 0;
        if (r == 0 && is_next(&p, '%'))
            r = print_verb(&p);
    }
    return r == 0 && !p.is_reordered && p.at < n ? print_extra(&p) : r;
}
