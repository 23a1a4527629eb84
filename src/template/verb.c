/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/verb.c - values of all kinds as text.
 */
#include "template/verb.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "template/datetime.h"

static const struct verb default_verb = {.rune = 'v', .width = -1, .precision = -1};

size_t verb_count(struct span s)
{
    size_t n = 0;
    for (; s.n > 0; n++)
        (void)utf8_take(&s);
    return n;
}

int verb_repeat(char c, size_t n, struct buf *out)
{
    char *p;
    int r;
    if (n == 0)
        return 0;
    r = buf_reserve(out, n, &p);
    if (r != 0)
        return r;
    memset(p, c, n);
    buf_commit(out, n);
    return 0;
}

static int append(struct buf *out, struct span s)
{
    return s.n > 0 ? buf_append(out, s) : 0;
}

int verb_pad(const struct verb *verb, struct span s, struct buf *out)
{
    size_t n = verb_count(s);
    size_t n_pad = verb->width > 0 && (size_t)verb->width > n ? (size_t)verb->width - n : 0;
    int r = 0;
    if (!verb->has_minus)
        r = verb_repeat(verb->has_zero ? '0' : ' ', n_pad, out);
    if (r == 0)
        r = append(out, s);
    return r == 0 && verb->has_minus ? verb_repeat(' ', n_pad, out) : r;
}

int verb_refuse(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    char rune[4];
    struct verb as_is = *verb;
    int r = append(out, SPAN("%!"));
    if (r == 0)
        r = append(out, span_of(rune, utf8_put(verb->rune, rune)));
    if (r == 0)
        r = append(out, SPAN("("));
    if (r == 0)
        r = append(out, span_cstr(tvalue_type(v->kind)));
    as_is.rune = 'v';
    if (r == 0 && v->kind != TVALUE_NONE)
        r = append(out, SPAN("="));
    if (r == 0 && v->kind != TVALUE_NONE)
        r = verb_value(&as_is, v, out);
    return r == 0 ? append(out, SPAN(")")) : r;
}

/* The first max characters. */
static struct span cut(struct span s, int max)
{
    struct span left = s;
    for (int n = 0; left.n > 0 && n < max; n++)
        (void)utf8_take(&left);
    return span_of(s.p, s.n - left.n);
}

bool verb_is_shown(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},          {0x600, 0x605},
        {0x61c, 0x61c},   {0x6dd, 0x6dd},     {0x70f, 0x70f},        {0x1680, 0x1680},
        {0x180e, 0x180e}, {0x2000, 0x200f},   {0x2028, 0x202f},      {0x205f, 0x206f},
        {0x3000, 0x3000}, {0xd800, 0xf8ff},   {0xfeff, 0xfeff},      {0xfff0, 0xfffb},
        {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xe01f0, UINT32_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

/* Between quotes; in ASCII only, or with what is shown as it is. */
static int quote(struct span s, bool is_ascii, struct buf *out)
{
    struct buf text;
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    int r = labels_quote(s, &text);
    struct span left = buf_span(&text);
    while (left.n > 0 && r == 0) {
        uint32_t c = utf8_take(&left);
        bool is_plain = c < 0x80 || (!is_ascii && verb_is_shown(c));
        char plain[4];
        r = is_plain ? buf_append(out, span_of(plain, utf8_put(c, plain)))
                     : buf_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
    }
    buf_done(&text);
    return r;
}

static int quoted(const struct verb *verb, struct span s, struct buf *out)
{
    struct buf text;
    bool is_raw = verb->has_sharp && verb->rune == 'q';
    for (size_t i = 0; i < s.n && is_raw; i++)
        is_raw =
            s.p[i] != '`' && s.p[i] != 0x7f && ((unsigned char)s.p[i] >= ' ' || s.p[i] == '\t');
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    int r = is_raw ? buf_printf(&text, "`%.*s`", SPAN_ARG(s)) : quote(s, verb->has_plus, &text);
    if (r == 0)
        r = verb_pad(verb, buf_span(&text), out);
    buf_done(&text);
    return r;
}

/* Bytes in hex, whose number the precision limits; with a blank between them and 0x in front where
 * the flags say so. */
static int hex(const struct verb *verb, struct span s, struct buf *out)
{
    const char *digits = verb->rune == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    struct buf text;
    int r = 0;
    if (verb->precision >= 0 && (size_t)verb->precision < s.n)
        s.n = (size_t)verb->precision;
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    for (size_t i = 0; i < s.n && r == 0; i++) {
        char two[2] = {digits[(unsigned char)s.p[i] >> 4], digits[s.p[i] & 15]};
        if (verb->has_space && i > 0)
            r = append(&text, SPAN(" "));
        if (r == 0 && verb->has_sharp && (verb->has_space || i == 0))
            r = buf_printf(&text, "0%c", (char)verb->rune);
        if (r == 0)
            r = append(&text, span_of(two, 2));
    }
    if (r == 0)
        r = verb_pad(verb, buf_span(&text), out);
    buf_done(&text);
    return r;
}

bool verb_is_one_of(const struct verb *verb, const char *runes)
{
    return verb->rune > 0 && verb->rune <= 0x7f && strchr(runes, (int)verb->rune);
}

int verb_text(const struct verb *verb, struct span s, const struct tvalue *v, struct buf *out)
{
    if (!verb_is_one_of(verb, "vsqxX"))
        return verb_refuse(verb, v, out);
    if ((verb->rune | 0x20) == 'x')
        return hex(verb, s, out);
    if (verb->precision >= 0)
        s = cut(s, verb->precision);
    return verb->rune == 'q' || verb->is_sharp_v ? quoted(verb, s, out) : verb_pad(verb, s, out);
}

static int print_bool(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    if (verb->rune != 't' && verb->rune != 'v')
        return verb_refuse(verb, v, out);
    return verb_pad(verb, v->b ? SPAN("true") : SPAN("false"), out);
}

static int print_none(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    return verb->rune == 'v' ? verb_pad(verb, SPAN("<nil>"), out) : verb_refuse(verb, v, out);
}

/* Each key and value with the same verb. */
static int print_map(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    int64_t n = tvalue_len(v);
    int r = append(out, SPAN("map["));
    for (int64_t i = 0; i < n && r == 0; i++) {
        struct tvalue key, element;
        tvalue_element(v, (size_t)i, &key, &element);
        r = i > 0 ? append(out, SPAN(" ")) : 0;
        if (r == 0)
            r = verb_value(verb, &key, out);
        if (r == 0)
            r = append(out, SPAN(":"));
        if (r == 0)
            r = verb_value(verb, &element, out);
    }
    return r == 0 ? append(out, SPAN("]")) : r;
}

static int print_list(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    int r = append(out, SPAN("["));
    for (size_t i = 0; i < v->samples.n && r == 0; i++) {
        struct tvalue one = {.kind = TVALUE_SAMPLE, .sample = &v->samples.at[i]};
        r = i > 0 ? append(out, SPAN(" ")) : 0;
        if (r == 0)
            r = verb_value(verb, &one, out);
    }
    return r == 0 ? append(out, SPAN("]")) : r;
}

static int print_fields(const struct verb *verb, const struct tvalue *v, const struct span *names,
                        size_t n, struct buf *out)
{
    int r = append(out, SPAN("{"));
    for (size_t i = 0; i < n && r == 0; i++) {
        struct tvalue field;
        r = tvalue_field(v, names[i], &field);
        if (r == 0 && i > 0)
            r = append(out, SPAN(" "));
        if (r == 0 && verb->is_plus_v)
            r = append(out, names[i]);
        if (r == 0 && verb->is_plus_v)
            r = append(out, SPAN(":"));
        if (r == 0)
            r = verb_value(verb, &field, out);
    }
    return r == 0 ? append(out, SPAN("}")) : r;
}

static int print_sample(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    static const struct span names[] = {SPAN_INIT("Labels"), SPAN_INIT("Value")};
    return print_fields(verb, v, names, ARRAY_LEN(names), out);
}

static int print_data(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    static const struct span names[] = {SPAN_INIT("Labels"), SPAN_INIT("ExternalLabels"),
                                        SPAN_INIT("ExternalURL"), SPAN_INIT("Value")};
    return print_fields(verb, v, names, ARRAY_LEN(names), out);
}

/* Kinds that have a text of their own: it takes the place of the value. */
static int print_own_text(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    struct buf text;
    int r;
    if (!verb_is_one_of(verb, "vsqxX")) { /* nor is there a number */
        char rune[4];
        r = append(out, SPAN("%!"));
        if (r == 0)
            r = append(out, span_of(rune, utf8_put(verb->rune, rune)));
        return r == 0 ? buf_printf(out, "(%s)", tvalue_type(v->kind)) : r;
    }
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    if (v->kind == TVALUE_HIST)
        r = fhist_describe(v->hist, &text);
    else if (v->kind == TVALUE_TIME)
        r = datetime_print(v->i, &text);
    else
        r = datetime_print_duration(v->i, &text);
    if (r == 0)
        r = verb_text(verb, buf_span(&text), v, out);
    buf_done(&text);
    return r;
}

static int print_string(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    return verb_text(verb, v->s, v, out);
}

static int (*const prints[TVALUE_COUNT_])(const struct verb *verb, const struct tvalue *v,
                                          struct buf *out) = {
    [TVALUE_NONE] = print_none,         [TVALUE_BOOL] = print_bool,
    [TVALUE_INT] = verb_integer,        [TVALUE_FLOAT] = verb_float,
    [TVALUE_STRING] = print_string,     [TVALUE_LABELS] = print_map,
    [TVALUE_DATA] = print_data,         [TVALUE_ARGS] = print_map,
    [TVALUE_SAMPLES] = print_list,      [TVALUE_SAMPLE] = print_sample,
    [TVALUE_HIST] = print_own_text,     [TVALUE_TIME] = print_own_text,
    [TVALUE_DURATION] = print_own_text,
};

int verb_value(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    return prints[v->kind](verb, v, out);
}

int verb_print(const struct tvalue *v, struct buf *out)
{
    return verb_value(&default_verb, v, out);
}

int verb_print_all(const struct tvalue *args, size_t n, bool is_line, struct buf *out)
{
    bool was_text = true;
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        bool is_text = args[i].kind == TVALUE_STRING;
        if (i > 0 && (is_line || (!is_text && !was_text)))
            r = append(out, SPAN(" "));
        was_text = is_text;
        if (r == 0)
            r = verb_print(&args[i], out);
    }
    return r == 0 && is_line ? append(out, SPAN("\n")) : r;
}
