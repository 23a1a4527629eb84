/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/incident_show.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/timestamp.h"
#include "cli/dialog.h"
#include "cli/terminal.h"
#include "incident/incidents.h"
#include "incident/readable.h"

static int put(struct buf *out, const char *before, struct span s)
{
    int r = buf_append(out, span_cstr(before));
    return r < 0 ? r : terminal_put(s, out);
}

/* "2026-11-30 04:12:03" of RFC 3339. */
static int put_moment(struct buf *out, const char *before, struct span time)
{
    char text[READABLE_TIME_BYTES];
    wall_t t;
    if (timestamp_parse(time, &t) < 0)
        return 0;
    return put(out, before, span_cstr(readable_moment(t.us / 1000, text)));
}

/* "12 min 5 s", between two moments that are there. */
static int put_length(struct buf *out, const char *before, const json_t *o)
{
    wall_t from, to;
    if (timestamp_parse(dialog_text(o, "started_at"), &from) < 0 ||
        timestamp_parse(dialog_text(o, "ended_at"), &to) < 0)
        return 0;
    int r = buf_append(out, span_cstr(before));
    return r < 0 ? r : readable_duration((to.us - from.us) / 1000, out);
}

static int put_head(struct buf *out, const json_t *o)
{
    int r = put(out, "", dialog_text(o, "id"));
    if (r == 0)
        r = put(out, "  ", dialog_text(o, "tier"));
    if (r == 0)
        r = put(out, "  ", dialog_text(o, "state"));
    if (r == 0)
        r = put_moment(out, "  from ", dialog_text(o, "started_at"));
    if (r == 0)
        r = buf_append(out, SPAN(" UTC"));
    return r == 0 ? put_length(out, ", ", o) : r;
}

/* --- the list --- */

static int put_names(struct buf *out, const json_t *names)
{
    const json_t *name;
    size_t i;
    int r = 0;
    json_array_foreach(names, i, name)
    {
        if (r == 0)
            r = put(out, i == 0 ? "    " : ", ",
                    span_of(json_string_value(name), json_string_length(name)));
    }
    return r == 0 && i > 0 ? buf_append(out, SPAN("\n")) : r;
}

static int put_summary(struct buf *out, const json_t *o)
{
    long long n_notes = (long long)json_integer_value(json_object_get(o, "notes"));
    if (!json_is_object(o))
        return -EPROTO;
    int r = put_head(out, o);
    if (r == 0 && dialog_text(o, "acknowledged_by").n > 0)
        r = put(out, ", acknowledged by ", dialog_text(o, "acknowledged_by"));
    if (r == 0 && n_notes > 0)
        r = buf_printf(out, ", %lld note%s", n_notes, n_notes == 1 ? "" : "s");
    if (r == 0 && json_is_true(json_object_get(o, "is_noise")))
        r = buf_append(out, SPAN(", noise"));
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    return r == 0 ? put_names(out, json_object_get(o, "alerts")) : r;
}

int incident_show_list(struct span json, size_t width, struct buf *out)
{
    json_t *all = dialog_load(json);
    const json_t *list = json_object_get(all, "data"), *one;
    size_t i;
    int r = json_is_array(list) ? 0 : -EPROTO;
    (void)width;
    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = put_summary(out, one);
    }
    if (r == 0 && json_array_size(list) == 0)
        r = buf_append(out, SPAN("nothing went wrong\n"));
    json_decref(all);
    return r;
}

/* --- one --- */

static int put_labels(struct buf *out, const char *before, json_t *labels)
{
    const char *key;
    json_t *value;
    bool is_first = true;
    int r = 0;
    json_object_foreach(labels, key, value)
    {
        if (r < 0 || strcmp(key, "alertname") == 0 || strcmp(key, "tier") == 0)
            continue;
        r = put(out, is_first ? before : "  ", span_cstr(key));
        if (r == 0)
            r = put(out, "=", dialog_text(labels, key));
        is_first = false;
    }
    return r;
}

static int put_number(struct buf *out, const char *before, const json_t *v)
{
    char text[READABLE_NUMBER_BYTES];
    double d = json_is_number(v) ? json_number_value(v) : (double)NAN;
    return put(out, before, span_cstr(readable_number(d, text)));
}

static int put_field(struct buf *out, const char *before, struct span s)
{
    int r = s.n > 0 ? put(out, before, s) : 0;
    return r == 0 && s.n > 0 ? buf_append(out, SPAN("\n")) : r;
}

static struct span found(const json_t *alert, const char *key)
{
    struct span s = dialog_text(json_object_get(alert, "evidence"), key);
    return s.n > 0 ? s : dialog_text(json_object_get(alert, "annotations"), key);
}

static int put_texts(struct buf *out, const json_t *alert)
{
    static const struct {
        const char *key, *before;
    } fields[] = {{"summary", "      "},
                  {"description", "      "},
                  {"evidence", "      evidence: "},
                  {"exemplar_requests", "      requests: "},
                  {"runbook_url", "      runbook: "}};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(fields) && r == 0; i++)
        r = put_field(out, fields[i].before, found(alert, fields[i].key));
    return r;
}

static int put_alert(struct buf *out, const json_t *a)
{
    int r = put(out, "  ", dialog_text(a, "tier"));
    if (r == 0)
        r = put(out, "  ", dialog_text(a, "name"));
    if (r == 0)
        r = put_moment(out, "  from ", dialog_text(a, "started_at"));
    if (r == 0)
        r = put_length(out, ", ", a);
    if (r == 0 && json_is_true(json_object_get(a, "is_firing")))
        r = buf_append(out, SPAN(", fires"));
    if (r == 0)
        r = put_number(out, ", value ", json_object_get(a, "value"));
    if (r == 0)
        r = put_number(out, ", last ", json_object_get(a, "last_value"));
    if (r == 0)
        r = buf_append(out, json_is_true(json_object_get(a, "is_noise")) ? SPAN(", noise\n")
                                                                         : SPAN("\n"));
    size_t start = buf_len(out);
    if (r == 0)
        r = put_labels(out, "      ", json_object_get(a, "labels"));
    if (r == 0 && buf_len(out) > start)
        r = buf_append(out, SPAN("\n"));
    return r == 0 ? put_texts(out, a) : r;
}

static int put_series(struct buf *out, const json_t *s, size_t width)
{
    const json_t *values = json_object_get(s, "values"), *v;
    float at[INCIDENT_POINTS_MAX], max = -INFINITY;
    size_t i, n = 0;
    json_array_foreach(values, i, v)
    {
        if (n == ARRAY_LEN(at))
            break;
        at[n] = json_is_number(v) ? (float)json_number_value(v) : NAN;
        max = fmaxf(max, at[n++]);
    }
    char text[READABLE_NUMBER_BYTES];
    int r = buf_append(out, SPAN("    "));
    if (r == 0)
        r = readable_plot(at, n, width, out);
    if (r == 0)
        r = put(out, "  up to ", span_cstr(readable_number((double)max, text)));
    if (r == 0)
        r = put_labels(out, "  ", json_object_get(s, "labels"));
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

static int put_curve(struct buf *out, const json_t *c, size_t width)
{
    const json_t *list = json_object_get(c, "series"), *s;
    size_t i;
    if (json_array_size(list) == 0)
        return 0;
    int r = put(out, "  ", dialog_text(c, "title"));
    if (r == 0 && dialog_text(c, "unit").n > 0)
        r = put(out, ", ", dialog_text(c, "unit"));
    if (r == 0)
        r = put_moment(out, ", from ", dialog_text(c, "from"));
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    json_array_foreach(list, i, s)
    {
        if (r == 0)
            r = put_series(out, s, width);
    }
    return r;
}

static int put_note(struct buf *out, const json_t *n)
{
    struct span act = dialog_text(n, "act"), rest = dialog_text(n, "text");
    int r = put_moment(out, "  ", dialog_text(n, "at"));
    if (r == 0)
        r = put(out, "  ", dialog_text(n, "author"));
    if (r == 0 && act.n > 0)
        r = put(out, ": ", act);
    if (r == 0 && dialog_text(n, "alert").n > 0)
        r = put(out, " ", dialog_text(n, "alert"));
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    while (r == 0 && rest.n > 0)
        r = put_field(out, "      ", span_split(&rest, '\n'));
    return r;
}

/* Each element of a list, under its title. */
static int put_each(struct buf *out, const char *title, const json_t *list,
                    int (*show)(struct buf *out, const json_t *one))
{
    const json_t *one;
    size_t i;
    int r = json_array_size(list) > 0 ? buf_printf(out, "\n%s\n", title) : 0;
    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = show(out, one);
    }
    return r;
}

static int put_curves(struct buf *out, const json_t *list, size_t width)
{
    const json_t *one;
    size_t i;
    int r = buf_append(out, json_array_size(list) > 0
                                ? SPAN("\ncurves (UTC)\n")
                                : SPAN("\ncurves: none yet, they are taken while it lasts\n"));
    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = put_curve(out, one, width);
    }
    return r;
}

int incident_show_one(struct span json, size_t width, struct buf *out)
{
    json_t *all = dialog_load(json);
    const json_t *o = json_object_get(all, "data");
    int r = dialog_text(o, "id").n > 0 ? put_head(out, o) : -EPROTO;
    if (r == 0 && dialog_text(o, "acknowledged_by").n > 0)
        r = put(out, ", acknowledged by ", dialog_text(o, "acknowledged_by"));
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0)
        r = put_each(out, "alerts", json_object_get(o, "alerts"), put_alert);
    if (r == 0)
        r = put_curves(out, json_object_get(o, "curves"), width);
    if (r == 0)
        r = put_each(out, "notes", json_object_get(o, "notes"), put_note);
    if (r == 0)
        r = put_each(out, "marks", json_object_get(o, "marks"), put_note);
    json_decref(all);
    return r;
}
