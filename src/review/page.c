/* SPDX-License-Identifier: Apache-2.0 */
#include "review/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "incident/markdown.h"
#include "incident/readable.h"
#include "series/duration.h"

void page_add(struct page *p, const char *fmt, ...)
{
    char text[512]; /* of ours: what others say goes through page_text */
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (p->error == 0)
        p->error = buf_append(p->out, span_cstr(text));
}

void page_text(struct page *p, struct span s)
{
    if (p->error == 0)
        p->error = markdown_text(s, p->out);
}

void page_labels(struct page *p, struct labels l)
{
    bool is_first = true;
    for (size_t i = 0; i < l.n; i++) {
        if (span_eq(l.at[i].name, SPAN("alertname")))
            continue;
        page_add(p, is_first ? " {" : ", ");
        page_text(p, l.at[i].name);
        page_add(p, "=\"");
        page_text(p, l.at[i].value);
        page_add(p, "\"");
        is_first = false;
    }
    page_add(p, is_first ? "" : "}");
}

void page_moment(struct page *p, int64_t ms)
{
    char text[READABLE_TIME_BYTES];
    page_add(p, "%s", readable_moment(ms, text));
}

void page_duration(struct page *p, int64_t ms)
{
    if (p->error == 0)
        p->error = readable_duration(ms, p->out);
}

void page_for(struct page *p, int64_t ms)
{
    if (p->error == 0)
        p->error = duration_print(ms, p->out);
}

void page_number(struct page *p, double v)
{
    char text[READABLE_NUMBER_BYTES];
    page_add(p, "%s", readable_number(v, text));
}

/* What is not quite all is not shown as 100 %. */
void page_percent(struct page *p, double ratio)
{
    if (!isfinite(ratio))
        page_add(p, "not known");
    else
        page_add(p, "%.*f %%", ratio > 0.99 && ratio < 1 ? 3 : 1, ratio * 100);
}

void page_times(struct page *p, unsigned n)
{
    page_add(p, "%u time%s", n, n == 1 ? "" : "s");
}
