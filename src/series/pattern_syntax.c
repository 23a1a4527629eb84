/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/pattern_syntax.c - what PCRE2 takes and RE2 does not.
 *
 * One pass over the pattern, aware of escapes, quoting and classes. What neither takes is left to
 * PCRE2's own messages.
 */
#include "series/pattern.h"

#include <string.h>

#include "base/utf8.h"

struct scan {
    struct span text;
    size_t at;
    const char *wrong;
    size_t wrong_at;
};

static void scan_refuse(struct scan *s, size_t at, const char *why)
{
    s->wrong = why;
    s->wrong_at = at;
    s->at = s->text.n;
}

/* The byte n behind the current one; 0 at the end. */
static char scan_peek(const struct scan *s, size_t n)
{
    return span_at(s->text, s->at + n);
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* At a backslash. In classes the assertions are not allowed, which PCRE2 says itself. */
static void scan_escape(struct scan *s)
{
    char c = scan_peek(s, 1);
    char after = scan_peek(s, 2);

    if (c == 'Q') { /* up to \E, plain */
        size_t end = span_find(span_from(s->text, s->at), SPAN("\\E"));
        s->at += end;
        s->at += end < s->text.n ? 2 : 0;
        s->at = s->at > s->text.n ? s->text.n : s->at;
        return;
    }
    if (c >= '1' && c <= '9' && !(c <= '7' && after >= '0' && after <= '7')) {
        scan_refuse(s, s->at, "invalid escape sequence (a reference to a group)");
        return;
    }
    if (is_alnum(c) && !strchr("afnrtvdDsSwWbBAzpPxE01234567", c)) {
        scan_refuse(s, s->at, "invalid escape sequence");
        return;
    }
    s->at += s->at + 1 < s->text.n ? 2 : 1;
}

/* At a '['. */
static void scan_class(struct scan *s)
{
    s->at++;
    if (scan_peek(s, 0) == '^')
        s->at++;
    if (scan_peek(s, 0) == ']')
        s->at++;
    while (s->at < s->text.n && scan_peek(s, 0) != ']') {
        if (scan_peek(s, 0) == '\\') {
            scan_escape(s);
        } else if (scan_peek(s, 0) == '[' && scan_peek(s, 1) == ':') {
            size_t end = span_find(span_from(s->text, s->at), SPAN(":]"));
            s->at += end + 2 <= s->text.n - s->at ? end + 2 : 1;
        } else {
            s->at++;
        }
    }
    s->at += s->at < s->text.n ? 1 : 0;
}

/* At a '('. */
static void scan_group(struct scan *s)
{
    if (scan_peek(s, 1) == '*') {
        scan_refuse(s, s->at + 1, "missing argument to repetition operator: `*`");
        return;
    }
    if (scan_peek(s, 1) != '?') {
        s->at++;
        return;
    }
    size_t at = s->at + 2;
    struct span rest = span_from(s->text, at);
    if (span_starts_with(rest, SPAN("P<")) ||
        (span_starts_with(rest, SPAN("<")) && rest.n > 1 && rest.p[1] != '=' && rest.p[1] != '!')) {
        s->at = at;
        return;
    }
    while (rest.n > 0 && strchr("imsU-", rest.p[0]))
        (void)span_take(&rest, 1);
    if (rest.n > 0 && rest.p[0] != ':' && rest.p[0] != ')')
        scan_refuse(s, s->at, "invalid or unsupported Perl syntax");
    else
        s->at = at;
}

/* {n}, {n,}, {n,m}: its length, 0 when the brace is plain. *ret_is_large: beyond RE2's 1000. */
static size_t repeat_length(struct span s, bool *ret_is_large)
{
    size_t n = 1;
    size_t number = 0;
    bool has_digit = false;

    *ret_is_large = false;
    for (; n < s.n && s.p[n] != '}'; n++) {
        if (s.p[n] == ',' && has_digit) {
            number = 0;
        } else if (s.p[n] >= '0' && s.p[n] <= '9') {
            has_digit = true;
            number = number > 1000 ? number : 10 * number + (size_t)(s.p[n] - '0');
            *ret_is_large |= number > 1000;
        } else {
            return 0;
        }
    }
    return n < s.n && has_digit ? n + 1 : 0;
}

/* At what may be a repetition: consumes it with one '?' behind; a second one is refused. */
static bool scan_repeat(struct scan *s)
{
    bool is_large = false;
    char c = scan_peek(s, 0);
    size_t n = c == '{' ? repeat_length(span_from(s->text, s->at), &is_large) : 1;

    if (!strchr("*+?{", c) || c == '\0' || n == 0)
        return false;
    if (is_large) {
        scan_refuse(s, s->at, "invalid repeat count");
        return true;
    }
    s->at += n;
    if (scan_peek(s, 0) == '?')
        s->at++;
    c = scan_peek(s, 0);
    if (c == '*' || c == '+' || c == '?' ||
        (c == '{' && repeat_length(span_from(s->text, s->at), &is_large) > 0))
        scan_refuse(s, s->at, "invalid nested repetition operator");
    return true;
}

/* Offset of the first byte that is no UTF-8; text.n when there is none. */
static size_t utf8_length(struct span text)
{
    size_t n = 0;
    bool is_valid;

    while (n < text.n) {
        size_t step = utf8_step(span_from(text, n), &is_valid);
        if (!is_valid)
            break;
        n += step;
    }
    return n;
}

const char *pattern_syntax_check(struct span text, size_t *ret_at)
{
    struct scan s = {.text = text};
    size_t n_valid = utf8_length(text);

    if (n_valid < text.n)
        scan_refuse(&s, n_valid, "invalid UTF-8");
    while (s.at < s.text.n) {
        char c = scan_peek(&s, 0);
        if (c == '\\')
            scan_escape(&s);
        else if (c == '[')
            scan_class(&s);
        else if (c == '(')
            scan_group(&s);
        else if (!scan_repeat(&s))
            s.at++;
    }
    *ret_at = s.wrong_at;
    return s.wrong;
}
