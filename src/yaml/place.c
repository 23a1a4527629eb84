/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/place.c - from a byte of a scalar's value to its place in the file.
 *
 * Value and text are walked together. Whatever the style, the characters that are no white space
 * are the same on both sides and in the same order, but for escapes between quotes; folding,
 * indentation and chomping only touch what is between them. Where the two do not go together, the
 * text is not the one that the scalar came from.
 */
#include "base/num.h"
#include "yaml/tree.h"

struct walk {
    struct span rest; /* of the text */
    int line, column; /* of its first byte */
};

static bool is_tail_byte(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One byte of the text. */
static void step(struct walk *w)
{
    char c = w->rest.p[0];

    (void)span_take(&w->rest, 1);
    if (c == '\n' || (c == '\r' && (w->rest.n == 0 || w->rest.p[0] != '\n'))) {
        w->line++;
        w->column = 1;
    } else if (w->rest.n == 0 || !is_tail_byte(w->rest.p[0])) {
        w->column++;
    }
}

static void skip_spaces(struct walk *w)
{
    while (w->rest.n > 0 && is_space(w->rest.p[0]))
        step(w);
}

static void skip_word(struct walk *w)
{
    while (w->rest.n > 0 && !is_space(w->rest.p[0]))
        step(w);
}

static void skip_line(struct walk *w)
{
    while (w->rest.n > 0 && w->rest.p[0] != '\n' && w->rest.p[0] != '\r')
        step(w);
}

static bool go_to(struct walk *w, int line, int column)
{
    if (span_starts_with(w->rest, SPAN("\xef\xbb\xbf"))) /* a byte order mark has no place */
        (void)span_take(&w->rest, 3);
    while (w->rest.n > 0 && (w->line < line || (w->line == line && w->column < column)))
        step(w);
    return w->line == line && w->column == column;
}

/* To the first byte of the content; the style: ' " | (also for >) or 0 (plain). */
static char enter(struct walk *w)
{
    char style;

    while (w->rest.n > 0 && (w->rest.p[0] == '&' || w->rest.p[0] == '!')) {
        skip_word(w);
        skip_spaces(w);
    }
    style = span_at(w->rest, 0);
    if (style == '|' || style == '>') {
        skip_line(w);
        return '|';
    }
    if (style != '\'' && style != '"')
        return '\0';
    step(w);
    return style;
}

/* How many bytes of the text are an escape at its front; 0: there is none. */
static size_t escape_bytes(struct span text, char style)
{
    if (style == '\'')
        return span_starts_with(text, SPAN("''")) ? 2 : 0;
    if (style != '"' || text.n < 2 || text.p[0] != '\\')
        return 0;
    switch (text.p[1]) {
    case 'x':
        return 4;
    case 'u':
        return 6;
    case 'U':
        return 10;
    default:
        return 2;
    }
}

/* Whether the escape of n bytes is white space of the value, or none of it. */
static bool is_space_escape(struct span text, size_t n)
{
    uint64_t code;

    if (text.p[0] != '\\' || n > text.n)
        return false;
    if (n > 2)
        return num_parse_hex(span_of(text.p + 2, n - 2), &code) == 0 && code < 0x80 &&
               is_space((char)code);
    return is_space(text.p[1]) || text.p[1] == 'n' || text.p[1] == 't' || text.p[1] == 'r';
}

static size_t character_bytes(struct span value)
{
    size_t n = 1;

    while (n < value.n && is_tail_byte(value.p[n]))
        n++;
    return n;
}

/* Over white space of the text, escaped or not. */
static void skip_blank(struct walk *w, char style)
{
    for (;;) {
        size_t n;

        skip_spaces(w);
        n = escape_bytes(w->rest, style);
        if (n == 0 || !is_space_escape(w->rest, n))
            return;
        for (size_t i = 0; i < n && w->rest.n > 0; i++)
            step(w);
    }
}

/* One character of the value that is no white space; false: the text has another one. */
static bool match(struct walk *w, char style, struct span value, size_t n)
{
    size_t n_escape = escape_bytes(w->rest, style);

    if (n_escape == 0) {
        if (!span_starts_with(w->rest, span_of(value.p, n)))
            return false;
        n_escape = n;
    }
    for (size_t i = 0; i < n_escape && w->rest.n > 0; i++)
        step(w);
    return true;
}

static bool find(struct walk *w, char style, struct span value, size_t at)
{
    size_t i = 0;

    while (i < value.n) {
        size_t n = character_bytes(span_from(value, i));

        if (is_space(value.p[i])) {
            if (i >= at)
                return true;
            i++;
            continue;
        }
        skip_blank(w, style);
        if (i + n > at)
            return escape_bytes(w->rest, style) > 0 ||
                   span_starts_with(w->rest, span_of(value.p + i, n));
        if (!match(w, style, span_from(value, i), n))
            return false;
        i += n;
    }
    return true;
}

bool yaml_place(struct span text, const struct yaml_node *scalar, size_t at, int *ret_line,
                int *ret_column)
{
    struct walk w = {text, 1, 1};
    char style;

    *ret_line = scalar->line;
    *ret_column = scalar->column;
    if (!go_to(&w, scalar->line, scalar->column))
        return false;
    style = enter(&w);
    if (!find(&w, style, yaml_span(scalar), at))
        return false;
    *ret_line = w.line;
    *ret_column = w.column;
    return true;
}
