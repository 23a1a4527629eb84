/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/leaves_lines.c - formats that go by lines: TOML, as far as settings need it, and .env.
 */
#include <errno.h>

#include "doctor/leaves.h"

static struct span next_line(struct span *text)
{
    struct span line = span_split(text, '\n');

    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return span_trim(line);
}

/* --- quoted texts --- */

/* What stands for a byte behind a backslash. */
static char unescaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        return c;
    }
}

/* A text in quotation marks at the front of *s, moved behind it; false: it has no end there. With
 * backslashes between double ones only. dst: LEAVES_VALUE_MAX. */
static bool take_quoted(struct span *s, char *dst, struct span *ret)
{
    char mark = s->p[0];
    size_t n = 0;

    for (size_t i = 1; i < s->n; i++) {
        char c = s->p[i];

        if (c == mark) {
            *s = span_from(*s, i + 1);
            *ret = span_of(dst, n);
            return true;
        }
        if (c == '\\' && mark == '"' && i + 1 < s->n)
            c = unescaped(s->p[++i]);
        if (n < LEAVES_VALUE_MAX)
            dst[n++] = c;
    }
    return false;
}

static bool is_quote(struct span s)
{
    return s.n > 0 && (s.p[0] == '"' || s.p[0] == '\'');
}

/* --- TOML --- */

struct toml {
    leaves_visit visit;
    void *ctx;
    struct span path[LEAVES_DEPTH_MAX];
    size_t n_table; /* keys of the table's head */
    size_t n;       /* with those of the line */
    bool is_too_deep;
    struct span until; /* inside of a text over several lines: its end */
    char value[LEAVES_VALUE_MAX];
};

/* A key, quoted ones as they stand between the marks. */
static bool take_key(struct span *s, struct span *ret)
{
    size_t n = 0;

    if (is_quote(*s)) {
        struct span inside = span_from(*s, 1);
        n = span_find_char(inside, s->p[0]);
        *ret = span_of(inside.p, n);
        *s = span_trim(span_from(inside, n + 1));
        return n < inside.n;
    }
    while (n < s->n && s->p[n] != '.' && s->p[n] != '=' && s->p[n] != ']' && s->p[n] != ' ' &&
           s->p[n] != '\t')
        n++;
    *ret = span_of(s->p, n);
    *s = span_trim(span_from(*s, n));
    return n > 0;
}

static bool take_keys(struct toml *t, struct span *s)
{
    struct span key;

    do {
        if (!take_key(s, &key))
            return false;
        if (t->n == LEAVES_DEPTH_MAX)
            t->is_too_deep = true;
        else
            t->path[t->n++] = key;
        if (s->n == 0 || s->p[0] != '.')
            return true;
        *s = span_trim(span_from(*s, 1));
    } while (true);
}

/* [a.b] and [[a.b]] */
static bool toml_table(struct toml *t, struct span line)
{
    bool is_list = span_starts_with(line, SPAN("[["));

    t->n = 0;
    t->is_too_deep = false;
    line = span_trim(span_from(line, is_list ? 2 : 1));
    if (!take_keys(t, &line))
        return false;
    t->n_table = t->n;
    return span_starts_with(line, is_list ? SPAN("]]") : SPAN("]"));
}

static bool toml_value(struct toml *t, struct span s)
{
    struct span value = span_trim(span_of(s.p, span_find_char(s, '#')));

    if (span_starts_with(s, SPAN("\"\"\"")) || span_starts_with(s, SPAN("'''"))) {
        struct span mark = span_of(s.p, 3), rest = span_from(s, 3);
        if (span_find(rest, mark) == rest.n)
            t->until = mark;
        return true;
    }
    if (is_quote(s) ? !take_quoted(&s, t->value, &value) : value.n == 0)
        return false;
    if (!t->is_too_deep)
        t->visit(t->ctx, t->path, t->n, value);
    return true;
}

static bool toml_line(struct toml *t, struct span line)
{
    if (t->until.n > 0) {
        if (span_find(line, t->until) < line.n)
            t->until.n = 0;
        return true;
    }
    if (line.n == 0 || line.p[0] == '#')
        return true;
    if (line.p[0] == '[')
        return toml_table(t, line);
    t->n = t->n_table;
    t->is_too_deep = false;
    if (!take_keys(t, &line) || line.n == 0 || line.p[0] != '=')
        return false;
    return toml_value(t, span_trim(span_from(line, 1)));
}

/* Inside of a list over several lines: how many brackets are open behind this line. */
static int open_brackets(struct span line, int open)
{
    char mark = 0;

    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];

        if (mark == '"' && c == '\\')
            i++;
        else if (mark != 0)
            mark = c == mark ? 0 : mark;
        else if (c == '"' || c == '\'')
            mark = c;
        else if (c == '#')
            break;
        else
            open += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    return open;
}

int leaves_toml(struct span text, leaves_visit visit, void *ctx, int *ret_line)
{
    struct toml t = {.visit = visit, .ctx = ctx};
    int open = 0;

    for (int line = 1; text.n > 0; line++) {
        struct span s = next_line(&text);
        bool is_table = open == 0 && t.until.n == 0 && s.n > 0 && s.p[0] == '[';
        bool is_inside = open > 0;

        if (!is_table && t.until.n == 0)
            open = open_brackets(s, open);
        if (open < 0 || (!is_inside && !toml_line(&t, s))) {
            *ret_line = line;
            return -EINVAL;
        }
    }
    return 0;
}

/* --- .env --- */

static bool is_name(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.n > 0;
}

/* Without quotes a comment begins behind a blank. */
static struct span env_value(struct span s, char *dst)
{
    struct span value = s;

    if (is_quote(s)) {
        struct span rest = s;
        if (take_quoted(&rest, dst, &value))
            return value;
        return s;
    }
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '#' && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            return span_trim(span_of(s.p, i));
    return value;
}

/* Its end is on a later line (keys in PEM). A mark that is nowhere closed is a part of the value.
 */
static bool is_open(struct span value, struct span rest, char *dst)
{
    struct span s = value, inside;

    return is_quote(value) && !take_quoted(&s, dst, &inside) &&
           span_find_char(rest, value.p[0]) < rest.n;
}

int leaves_env(struct span text, leaves_visit visit, void *ctx, int *ret_line)
{
    char value[LEAVES_VALUE_MAX];
    char until = 0; /* inside of a value over several lines: the mark that ends it */

    for (int line = 1; text.n > 0; line++) {
        struct span s = next_line(&text);

        if (until != 0) {
            until = span_find_char(s, until) < s.n ? 0 : until;
            continue;
        }
        if (s.n == 0 || s.p[0] == '#')
            continue;
        if (span_starts_with(s, SPAN("export ")))
            s = span_trim(span_from(s, 7));
        size_t at = span_find_char(s, '=');
        struct span name = span_trim(span_of(s.p, at));
        if (at == s.n || !is_name(name)) {
            *ret_line = line;
            return -EINVAL;
        }
        s = span_trim(span_from(s, at + 1));
        if (is_open(s, text, value))
            until = s.p[0];
        else
            visit(ctx, &name, 1, env_value(s, value));
    }
    return 0;
}
