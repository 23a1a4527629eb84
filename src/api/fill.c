/* SPDX-License-Identifier: Apache-2.0 */
#include "api/fill.h"

#include "base/attr.h"

int fill_page(struct span page, fill_name on_name, void *ctx, struct buf *out)
{
    struct span rest = page;
    int r = 0;

    while (r == 0 && rest.n > 0) {
        r = buf_append(out, span_take(&rest, span_find(rest, SPAN("{{"))));
        if (r < 0 || rest.n == 0)
            break;
        rest = span_from(rest, 2);
        r = on_name(ctx, span_take(&rest, span_find(rest, SPAN("}}"))), out);
        rest = span_from(rest, 2);
    }
    return r;
}

static struct span escape_of(char c)
{
    switch (c) {
    case '<':
        return SPAN("&lt;");
    case '>':
        return SPAN("&gt;");
    case '&':
        return SPAN("&amp;");
    case '"':
        return SPAN("&quot;");
    case '\'':
        return SPAN("&#39;");
    default:
        return (struct span){0};
    }
}

int fill_escape(struct span text, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < text.n && r == 0; i++) {
        struct span e = escape_of(text.p[i]);
        r = buf_append(out, e.p ? e : span_of(text.p + i, 1));
    }
    return r;
}
