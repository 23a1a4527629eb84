/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept_show.c - request rows as a table, as JSON lines, as CSV.
 */
#include "cli/kept_show.h"

#include <math.h>
#include <stdio.h>

#include "cli/csv.h"
#include "cli/terminal.h"
#include "store/fields.h"

enum { WIDTH_MAX = 40, MS_TEXT_BYTES = 32 };

void kept_columns_init(struct kept_columns *c)
{
    static const char *const names[] = {"started_at",    "request_id",       "model",   "upstream",
                                        "outcome",       "status",           "ttft_ms", "total_ms",
                                        "prompt_tokens", "completion_tokens"};
    *c = (struct kept_columns){0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        kept_columns_add(c, fields_find(span_cstr(names[i])));
}

void kept_columns_add(struct kept_columns *c, int field)
{
    bool is_there = c->n == KEPT_COLUMNS_MAX || field < 0;
    for (size_t i = 0; i < c->n && !is_there; i++)
        is_there = c->fields[i] == field;
    if (is_there)
        return;
    c->fields[c->n] = field;
    c->widths[c->n++] = strlen(record_fields[field].name);
}

/* --- a table --- */

static bool is_number(enum record_type type)
{
    return !fields_is_text(type) && type != RECORD_WALL && type != RECORD_ENUM &&
           type != RECORD_FLAGS && type != RECORD_BOOL;
}

/* A value as a cell shows it: milliseconds and times no finer than anybody reads. */
static struct span cell_of(int field, struct span value, char text[MS_TEXT_BYTES])
{
    enum record_type type = record_fields[field].type;
    double ms = kept_number(value);
    if (!value.p)
        return SPAN("-");
    if (type == RECORD_WALL && value.n > 23)
        return span_of(value.p, 23); /* 2026-11-30T02:10:00.123 */
    if (type == RECORD_DURATION && !isnan(ms) && ms < 1e12)
        return span_of(
            text, (size_t)snprintf(text, MS_TEXT_BYTES, ms < 1 && ms > 0 ? "%.3f" : "%.1f", ms));
    return value;
}

static void widen(struct kept_columns *c, const struct kept_page *p)
{
    char text[MS_TEXT_BYTES];
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < c->n; k++) {
            int field = c->fields[k];
            size_t n = terminal_columns(cell_of(field, p->rows[i].values[field], text));
            n = n > WIDTH_MAX ? WIDTH_MAX : n;
            c->widths[k] = n > c->widths[k] ? n : c->widths[k];
        }
    }
}

static int put_cell(const struct kept_columns *c, size_t k, struct span s, struct buf *out)
{
    size_t n = terminal_columns(s);
    int pad = n < c->widths[k] ? (int)(c->widths[k] - n) : 0;
    bool is_right = is_number(record_fields[c->fields[k]].type);
    bool is_last = k + 1 == c->n;
    int r = k > 0 ? buf_append(out, SPAN("  ")) : 0;
    if (r == 0 && is_right)
        r = buf_printf(out, "%*s", pad, "");
    if (r == 0)
        r = terminal_put(s, out);
    if (r == 0 && !is_right && !is_last)
        r = buf_printf(out, "%*s", pad, "");
    return r == 0 && is_last ? buf_append(out, SPAN("\n")) : r;
}

int kept_show_table(struct kept_columns *c, const struct kept_page *p, struct buf *out)
{
    char text[MS_TEXT_BYTES];
    int r = 0;
    if (p->n == 0)
        return c->has_head ? 0 : buf_append(out, SPAN("no requests\n"));
    widen(c, p);
    for (size_t k = 0; k < c->n && r == 0 && !c->has_head; k++)
        r = put_cell(c, k, span_cstr(record_fields[c->fields[k]].name), out);
    c->has_head = true;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < c->n && r == 0; k++)
            r = put_cell(c, k, cell_of(c->fields[k], p->rows[i].values[c->fields[k]], text), out);
    }
    return r;
}

/* --- for other programs --- */

int kept_show_json(const struct kept_page *p, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < p->n && r == 0; i++) {
        r = buf_append(out, p->rows[i].json);
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

int kept_show_csv(const struct kept_page *p, bool has_head, struct buf *out)
{
    int r = 0;
    for (size_t k = 0; k < record_n_fields && r == 0 && !has_head; k++)
        r = buf_printf(out, "%s%s%s", k ? "," : "", record_fields[k].name,
                       k + 1 == record_n_fields ? "\n" : "");
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < record_n_fields && r == 0; k++) {
            if (k > 0)
                r = buf_append(out, SPAN(","));
            if (r == 0 && p->rows[i].values[k].p)
                r = csv_field(p->rows[i].values[k], out);
        }
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}
