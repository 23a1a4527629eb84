/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/shape.c - see shape.h. What ends in front of a hole tells what the hole is: a quote opens
 * a string, anything else a number.
 */
#include "dialect/shape.h"

#include <string.h>

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Takes off the brace that ends an object, and the white space in front of it. */
static bool take_brace(struct span *data)
{
    if (data->n == 0 || data->p[data->n - 1] != '}')
        return false;
    data->n--;
    while (data->n > 0 && is_space(data->p[data->n - 1]))
        data->n--;
    return true;
}

/* The holes in the order of their places. */
static void sort(struct span *holes, int n)
{
    for (int i = 1; i < n; i++) {
        struct span hole = holes[i];
        int at = i;
        for (; at > 0 && holes[at - 1].p > hole.p; at--)
            holes[at] = holes[at - 1];
        holes[at] = hole;
    }
}

void shape_learn(struct shape *s, struct span data, uint32_t kinds, struct span text,
                 const struct span *others, int n_others)
{
    struct span holes[SHAPE_HOLES_MAX];
    int n_holes = 0;

    s->_n_holes = 0;
    if (!take_brace(&data))
        return;
    size_t n_bytes = data.n - text.n;
    holes[n_holes++] = text;
    for (int i = 0; i < n_others && n_holes < SHAPE_HOLES_MAX; i++) {
        n_bytes -= others[i].n;
        holes[n_holes++] = others[i];
    }
    if (n_bytes > SHAPE_BYTES_MAX)
        return;
    sort(holes, n_holes);
    const char *from = data.p;
    char *to = s->_bytes;
    for (int i = 0; i <= n_holes; i++) {
        const char *until = i < n_holes ? holes[i].p : data.p + data.n;
        s->_n[i] = (uint16_t)(until - from);
        memcpy(to, from, s->_n[i]);
        to += s->_n[i];
        if (i == n_holes)
            break;
        if (holes[i].p == text.p)
            s->_text = (uint8_t)i;
        from = holes[i].p + holes[i].n;
    }
    s->_kinds = kinds;
    s->_n_holes = (uint8_t)n_holes;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What may follow a backslash in a string, \u apart. */
static inline bool is_escaped(char c)
{
    return c == '"' || c == '\\' || c == 'n' || c == '/' || c == 't' || c == 'r' || c == 'b' ||
           c == 'f';
}

/* The end of the string at p: its quote, or whatever is too much for a quick look. */
static const char *pass_string(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p >= 0x20 && *p != '"') {
        if (*p != '\\') {
            p++;
            continue;
        }
        if (end - p < 2 || !is_escaped(p[1]))
            return p;
        p += 2;
    }
    return p;
}

/* The end of the whole number at p; p where there is none. */
static const char *pass_number(const char *p, const char *end)
{
    if (p < end && *p == '0')
        return p + 1;
    while (p < end && is_digit(*p))
        p++;
    return p;
}

bool shape_matches(const struct shape *s, struct span data, uint32_t *ret_kinds)
{
    const char *bytes = s->_bytes;
    const char *p = data.p;
    const char *end = data.p + data.n;
    if (s->_n_holes == 0)
        return false;
    for (int i = 0;; i++) {
        size_t n = s->_n[i];
        if ((size_t)(end - p) < n || memcmp(p, bytes, n) != 0)
            return false;
        p += n;
        bytes += n;
        if (i == s->_n_holes)
            break;
        bool is_string = bytes[-1] == '"';
        const char *behind = is_string ? pass_string(p, end) : pass_number(p, end);
        if (behind == p && (!is_string || i == s->_text))
            return false;
        p = behind;
    }
    while (p < end && is_space(*p))
        p++;
    if (end - p != 1 || *p != '}')
        return false;
    *ret_kinds = s->_kinds;
    return true;
}
