/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/write.c - block style; what a mapping or list is preceded by is decided when its first key
 * or item comes, so that an empty one can be written as {} or [].
 */
#include "yaml/write.h"

#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/num.h"
#include "base/utf8.h"

void yamlw_init(struct yamlw *w, struct buf *b)
{
    *w = (struct yamlw){._b = b};
}

int yamlw_error(const struct yamlw *w)
{
    return w->_error;
}

void yamlw_fail(struct yamlw *w, int r)
{
    if (r < 0 && w->_error == 0)
        w->_error = r;
}

static void put(struct yamlw *w, struct span s)
{
    if (w->_error == 0)
        w->_error = buf_append(w->_b, s);
}

static void new_line(struct yamlw *w)
{
    for (int i = 1; i < w->_depth; i++)
        put(w, SPAN("  "));
}

/* What stands before a value: a blank behind a key, or the dash of an item. */
static void before_value(struct yamlw *w, bool is_inside)
{
    bool is_item = w->_depth > 0 && w->_levels[w->_depth - 1].is_list;
    if (is_item) {
        if (!w->_levels[w->_depth - 1].is_used && (w->_is_behind_key || w->_is_behind_dash))
            put(w, SPAN("\n"));
        w->_levels[w->_depth - 1].is_used = true;
        w->_is_behind_key = false;
        new_line(w);
        put(w, SPAN("- "));
        w->_is_behind_dash = is_inside;
    } else if (w->_is_behind_key && !is_inside) {
        put(w, SPAN(" "));
        w->_is_behind_key = false;
    }
}

static void begin(struct yamlw *w, bool is_list)
{
    before_value(w, true);
    if (w->_depth == YAMLW_DEPTH_MAX) {
        w->_error = w->_error ? w->_error : -E2BIG;
        return;
    }
    w->_levels[w->_depth].is_list = is_list;
    w->_levels[w->_depth].is_used = false;
    w->_depth++;
}

static void end(struct yamlw *w, struct span empty)
{
    if (w->_error != 0)
        return;
    ASSERT(w->_depth > 0);
    if (!w->_levels[w->_depth - 1].is_used) {
        if (w->_is_behind_key)
            put(w, SPAN(" "));
        put(w, empty);
        put(w, SPAN("\n"));
        w->_is_behind_key = w->_is_behind_dash = false;
    }
    w->_depth--;
}

void yamlw_begin_map(struct yamlw *w)
{
    begin(w, false);
}

void yamlw_end_map(struct yamlw *w)
{
    end(w, SPAN("{}"));
}

void yamlw_begin_list(struct yamlw *w)
{
    begin(w, true);
}

void yamlw_end_list(struct yamlw *w)
{
    end(w, SPAN("[]"));
}

/* Safe without quotes wherever it stands: a letter, then letters, digits and _ - . / and no word
 * that means something else. */
static bool is_plain(struct span s)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  "nan"};
    if (s.n == 0 || !(((s.p[0] | 0x20) >= 'a' && (s.p[0] | 0x20) <= 'z') || s.p[0] == '_'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
            c != '.' && c != '/')
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (span_eq_nocase(s, span_cstr(words[i])))
            return false;
    }
    return true;
}

static void put_quoted(struct yamlw *w, struct span s)
{
    put(w, SPAN("\""));
    while (s.n > 0) {
        char escaped[16];
        struct span c = s;
        uint32_t code = utf8_take(&s);
        c.n -= s.n;
        if (code == '"' || code == '\\')
            put(w, SPAN("\\"));
        if (code == '\n')
            c = SPAN("\\n");
        else if (utf8_is_odd(code))
            c = span_of(escaped,
                        (size_t)snprintf(escaped, sizeof(escaped),
                                         code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code));
        put(w, c);
    }
    put(w, SPAN("\""));
}

static void put_text(struct yamlw *w, struct span s)
{
    if (is_plain(s))
        put(w, s);
    else
        put_quoted(w, s);
}

void yamlw_key_str(struct yamlw *w, struct span key)
{
    if (w->_error != 0)
        return;
    ASSERT(w->_depth > 0 && !w->_levels[w->_depth - 1].is_list);
    if (w->_is_behind_key)
        put(w, SPAN("\n"));
    if (!w->_is_behind_dash)
        new_line(w);
    w->_levels[w->_depth - 1].is_used = true;
    w->_is_behind_dash = false;
    put_text(w, key);
    put(w, SPAN(":"));
    w->_is_behind_key = true;
}

void yamlw_key(struct yamlw *w, const char *key)
{
    yamlw_key_str(w, span_cstr(key));
}

void yamlw_str(struct yamlw *w, struct span s)
{
    before_value(w, false);
    put_text(w, s);
    put(w, SPAN("\n"));
}

void yamlw_bool(struct yamlw *w, bool v)
{
    before_value(w, false);
    put(w, v ? SPAN("true\n") : SPAN("false\n"));
}

void yamlw_i64(struct yamlw *w, int64_t v)
{
    char text[24];
    before_value(w, false);
    put(w, span_of(text, num_format_i64(v, text)));
    put(w, SPAN("\n"));
}

void yamlw_secret(struct yamlw *w)
{
    before_value(w, false);
    put(w, SPAN("<secret>\n"));
}
