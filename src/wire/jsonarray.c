/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/jsonarray.c - see jsonarray.h.
 *
 * Invariant: outside of an element nothing is held, and white space, commas and the outer brackets
 * are passed over. Inside, _depth, _is_in_string and _is_escaped say what a byte means.
 */
#include "wire/jsonarray.h"

#include "wire/scan.h"

void jsonarray_init(struct jsonarray *r, size_t max_event_bytes)
{
    *r = (struct jsonarray){0};
    held_init(&r->_held, max_event_bytes);
}

void jsonarray_done(struct jsonarray *r)
{
    held_done(&r->_held);
}

static bool is_between(const struct jsonarray *r, char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ']' ||
           (c == '[' && !r->_has_outer);
}

/* Passes over what stands between elements. */
static size_t pass_between(struct jsonarray *r, struct span s)
{
    size_t i = 0;
    for (; i < s.n && is_between(r, s.p[i]); i++) {
        if (s.p[i] == '[')
            r->_has_outer = true;
        if (s.p[i] == ']' && r->_has_outer)
            r->is_over = true;
    }
    return i;
}

/* Bytes of a string up to its closing quote, which is taken too. */
static size_t pass_string(struct jsonarray *r, struct span s)
{
    size_t i = 0;
    while (i < s.n && r->_is_in_string) {
        if (r->_is_escaped) {
            r->_is_escaped = false;
            i++;
            continue;
        }
        i = (size_t)(scan_find(SCAN_STRING, s.p + i, s.p + s.n) - s.p);
        if (i == s.n)
            break;
        r->_is_escaped = s.p[i] == '\\';
        r->_is_in_string = s.p[i] != '"';
        i++;
    }
    return i;
}

/* One byte of an element outside of its strings. true: the element ends, *ret_takes: with it. The
 * first byte never ends it without being taken. */
static bool is_last(struct jsonarray *r, char c, bool *ret_takes)
{
    *ret_takes = true;
    switch (c) {
    case '"':
        r->_is_in_string = true;
        return false;
    case '{':
    case '[':
        r->_depth++;
        return false;
    case '}':
        if (r->_depth == 0)
            return false; /* closes nothing: a byte like any other, so that every element has one */
        r->_depth--;
        return r->_depth == 0;
    case ']':
        *ret_takes = r->_depth > 0; /* else it closes the outer array behind a number or word */
        r->_depth -= *ret_takes;
        return r->_depth == 0;
    case ',':
        *ret_takes = r->_depth > 0;
        return r->_depth == 0;
    default:
        return false;
    }
}

/* Bytes of the element in s; *ret_is_whole: it ends with them. */
static size_t pass_element(struct jsonarray *r, struct span s, bool *ret_is_whole)
{
    size_t i = 0;
    *ret_is_whole = false;
    while (i < s.n) {
        if (r->_is_in_string) {
            i += pass_string(r, span_from(s, i));
            continue;
        }
        bool is_taken;
        *ret_is_whole = is_last(r, s.p[i], &is_taken);
        i += is_taken;
        if (*ret_is_whole)
            return i;
    }
    return i;
}

static struct span take(struct jsonarray *r, struct span *in, size_t n)
{
    r->_consumed += n;
    return span_take(in, n);
}

enum event_status jsonarray_next(struct jsonarray *r, struct span *in, struct event *ret)
{
    bool is_whole;
    if (!held_begin(&r->_held))
        return EVENT_NO_MEMORY;
    if (!r->_is_in_element)
        (void)take(r, in, pass_between(r, *in));
    r->_is_in_element = r->_is_in_element || in->n > 0;
    struct span part = take(r, in, pass_element(r, *in, &is_whole));
    ret->end = r->_consumed;
    if (in->n == 0)
        r->_consumed = 0;
    if (!is_whole)
        return held_keep(&r->_held, part) ? EVENT_MORE : EVENT_NO_MEMORY;
    r->_is_in_element = false;
    return held_deliver(&r->_held, part, ret);
}

enum event_status jsonarray_finish(struct jsonarray *r, struct event *ret)
{
    if (!held_begin(&r->_held))
        return EVENT_NO_MEMORY;
    if (held_is_empty(&r->_held))
        return EVENT_MORE;
    ret->end = 0;
    r->_is_in_element = false;
    return held_deliver(&r->_held, (struct span){0}, ret);
}
