/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept_one.c - one request: where its time went, and everything else that is known of it.
 *
 * Stages follow each other without a gap (docs/RECORD.md), so each bar begins where the one above
 * it ends.
 */
#include <math.h>

#include "cli/kept_show.h"
#include "cli/terminal.h"

enum { LABEL_WIDTH = 12, NUMBERS_WIDTH = 24, BAR_MIN = 20, BAR_MAX = 100, NAME_WIDTH = 22 };

static const char stages_group[] = "Stages";

static bool is_stage(size_t field)
{
    return strcmp(record_fields[field].group, stages_group) == 0;
}

static double sum_of_stages(const struct kept_row *row)
{
    double sum = 0;
    for (size_t i = 0; i < record_n_fields; i++) {
        double ms = is_stage(i) ? kept_number(row->values[i]) : (double)NAN;
        sum += isnan(ms) ? 0 : ms;
    }
    return sum;
}

/* "stage_first_token_ms": first_token. */
static struct span stage_label(size_t field)
{
    struct span s = span_from(span_cstr(record_fields[field].name), strlen("stage_"));
    return span_of(s.p, s.n - strlen("_ms"));
}

static int put_times(const char *what, int n, struct buf *out)
{
    int r = 0;
    for (int i = 0; i < n && r == 0; i++)
        r = buf_append(out, span_cstr(what));
    return r;
}

/* A stage that took any time at all has one column at least. */
static int put_bar(double from, double ms, double total, const struct kept_one_options *o,
                   struct buf *out)
{
    int room = o->width - LABEL_WIDTH - NUMBERS_WIDTH;
    int width = room < BAR_MIN ? BAR_MIN : room > BAR_MAX ? BAR_MAX : room;
    int first = (int)floor(from / total * width);
    int last = (int)ceil((from + ms) / total * width - 1e-9);
    if (first >= width)
        first = width - 1;
    if (last > width)
        last = width;
    if (last <= first)
        last = first + 1;
    int r = put_times(" ", 2 + first, out);
    return r ? r : put_times(o->has_utf8 ? "\u2588" : "#", last - first, out);
}

static int put_stages(const struct kept_row *row, const struct kept_one_options *o, struct buf *out)
{
    double total = sum_of_stages(row), from = 0;
    if (!(total > 0))
        return 0;
    int r = buf_printf(out, "\n%-*s%12s%9s\n", LABEL_WIDTH, "stage", "ms", "share");
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        double ms = is_stage(i) ? kept_number(row->values[i]) : (double)NAN;
        struct span label = isnan(ms) ? SPAN("") : stage_label(i);
        if (isnan(ms))
            continue;
        r = buf_printf(out, "%-*.*s%12.3f%8.1f%%", LABEL_WIDTH, SPAN_ARG(label), ms,
                       100 * ms / total);
        if (r == 0 && ms > 0)
            r = put_bar(from, ms, total, o, out);
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
        from += ms;
    }
    return r ? r : buf_printf(out, "%-*s%12.3f\n", LABEL_WIDTH, "total", total);
}

/* How many entries a timeline has: the arrays in the array. */
static size_t count_entries(struct span timeline)
{
    size_t n = 0;
    for (size_t i = 1; i < timeline.n; i++)
        n += timeline.p[i] == '[';
    return n;
}

static int put_value(size_t field, struct span value, struct buf *out)
{
    const struct record_field *f = &record_fields[field];
    int r = buf_printf(out, "  %-*s", NAME_WIDTH, f->name);
    if (r == 0 && f->type == RECORD_TIMELINE)
        r = buf_printf(out, "%zu arrivals, in full with --format json", count_entries(value));
    else if (r == 0)
        r = terminal_put(value, out);
    return r ? r : buf_append(out, SPAN("\n"));
}

/* Groups come in several pieces; each has one heading. */
static bool is_first_of_group(size_t field)
{
    for (size_t i = 0; i < field; i++) {
        if (strcmp(record_fields[i].group, record_fields[field].group) == 0)
            return false;
    }
    return true;
}

static int put_group(const struct kept_row *row, const char *group, struct buf *out)
{
    bool has_head = false;
    int r = 0;
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        struct span v = row->values[i];
        if (!v.p || strcmp(record_fields[i].group, group) != 0)
            continue;
        if (!has_head)
            r = buf_printf(out, "\n%s\n", group);
        has_head = true;
        if (r == 0)
            r = put_value(i, v, out);
    }
    return r;
}

int kept_show_one(const struct kept_row *row, const struct kept_one_options *o, struct buf *out)
{
    int r = buf_append(out, SPAN("request "));
    if (r == 0)
        r = terminal_put(kept_value(row, "request_id"), out);
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0)
        r = put_stages(row, o, out);
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        if (!is_stage(i) && is_first_of_group(i))
            r = put_group(row, record_fields[i].group, out);
    }
    return r;
}
