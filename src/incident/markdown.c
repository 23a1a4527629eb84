/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/markdown.h"

#include "base/utf8.h"

static bool is_markup(unsigned char c)
{
    return strchr("\\`*_[]<>|~&!#$^", c) != NULL;
}

/* What means something in front of a line only. */
static bool is_leading(unsigned char c)
{
    return strchr("-+=:.)(", c) != NULL;
}

static int put(struct span c, bool is_in_front, struct buf *out)
{
    unsigned char first = (unsigned char)c.p[0];
    bool is_control =
        first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)c.p[1] < 0xa0);
    if (first == '\n' || first == '\r' || first == '\t')
        return buf_append(out, SPAN(" "));
    if (is_control)
        return buf_append(out, SPAN("?"));
    if (c.n == 1 && (is_markup(first) || (is_in_front && is_leading(first)))) {
        int r = buf_append(out, SPAN("\\"));
        if (r < 0)
            return r;
    }
    return buf_append(out, c);
}

int markdown_text(struct span s, struct buf *out)
{
    bool is_in_front = true; /* digits before a dot are, too: "1. " begins a list */
    int r = 0;
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\t')) /* four would be code */
        (void)span_take(&s, 1);
    while (s.n > 0 && r == 0) {
        bool is_valid;
        struct span c = span_take(&s, utf8_step(s, &is_valid));
        r = put(is_valid ? c : SPAN("?"), is_in_front, out);
        is_in_front = is_in_front && c.n == 1 && *c.p >= '0' && *c.p <= '9';
    }
    return r;
}

int markdown_quote(struct span s, struct buf *out)
{
    int r = 0;
    do {
        struct span line = span_split(&s, '\n');
        r = buf_append(out, line.n > 0 ? SPAN("> ") : SPAN(">"));
        if (r == 0)
            r = markdown_text(line, out);
        if (r == 0)
            r = buf_append(out, s.n > 0 && line.n > 0 ? SPAN("  \n") : SPAN("\n"));
    } while (s.n > 0 && r == 0);
    return r;
}
