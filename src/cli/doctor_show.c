/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_show.h"

#include <string.h>

#include "base/jsonw.h"
#include "cli/terminal.h"

enum { TITLE_WIDTH = 24 };

static const struct doctor_result *main_of(const struct doctor_report *r)
{
    return r->main >= 0 ? &r->results[r->main] : NULL;
}

/* --- for people --- */

static int put(struct buf *out, const char *before, struct span text, const char *after)
{
    int r = buf_append(out, span_cstr(before));

    if (r == 0)
        r = terminal_put(text, out);
    return r == 0 ? buf_append(out, span_cstr(after)) : r;
}

static int put_summary(const struct doctor_report *report, struct buf *out)
{
    const struct doctor_result *m = main_of(report);
    int r;

    if (!m)
        return buf_append(out, SPAN("OK: nothing was found\n\n"));
    r = buf_printf(out, "%s: %s: ", doctor_level_name(m->level), doctor_steps[m->step].title);
    if (r == 0)
        r = put(out, "", m->text, "\n");
    return r == 0 ? put(out, "  ", m->remedy, "\n\n") : r;
}

/* The title once for all of its step's results. */
static int put_result(const struct doctor_report *report, size_t i, struct buf *out)
{
    const struct doctor_result *m = &report->results[i];
    bool is_first = i == 0 || report->results[i - 1].step != m->step;
    int r = buf_printf(out, "%-4s  %-*s ", doctor_level_name(m->level), TITLE_WIDTH,
                       is_first ? doctor_steps[m->step].title : "");

    if (r == 0)
        r = put(out, "", m->text, "");
    if (r == 0 && m->because >= 0 && m->cause != CAUSE_NO_CAUSE) /* else it says what it needs */
        r = buf_printf(out, "; explained by \"%s\"",
                       doctor_steps[report->results[m->because].step].title);
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0 && m->level >= DOCTOR_WARN)
        r = buf_printf(out, "      %-*s ", TITLE_WIDTH, "");
    return r == 0 && m->level >= DOCTOR_WARN ? put(out, "> ", m->remedy, "\n") : r;
}

int doctor_show_table(const struct doctor_report *report, struct buf *out)
{
    int r = put_summary(report, out);

    for (size_t i = 0; i < report->n && r == 0; i++)
        r = put_result(report, i, out);
    return r;
}

/* --- for programs --- */

static void write_text(struct jsonw *w, const char *key, struct span text)
{
    jsonw_key(w, key);
    if (text.n > 0)
        jsonw_str(w, text);
    else
        jsonw_null(w);
}

static void write_result(const struct doctor_report *report, const struct doctor_result *m,
                         struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "step", doctor_steps[m->step].id);
    jsonw_put_cstr(w, "result", doctor_level_name(m->level));
    write_text(w, "cause", span_cstr(doctor_causes[m->cause].id));
    write_text(w, "text", m->text);
    write_text(w, "remedy", m->remedy);
    write_text(w, "explained_by",
               m->because >= 0 ? span_cstr(doctor_causes[report->results[m->because].cause].id)
                               : (struct span){"", 0});
    jsonw_end_object(w);
}

int doctor_show_json(const struct doctor_report *report, struct buf *out)
{
    const struct doctor_result *m = main_of(report);
    struct jsonw w;
    int r;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "verdict", doctor_level_name(doctor_worst(report)));
    write_text(&w, "summary", m ? m->text : SPAN("nothing was found"));
    write_text(&w, "cause", m ? span_cstr(doctor_causes[m->cause].id) : (struct span){"", 0});
    write_text(&w, "url", report->url);
    jsonw_put_cstr(&w, "api", report->api);
    jsonw_key(&w, "results");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < report->n; i++)
        write_result(report, &report->results[i], &w);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    r = jsonw_error(&w);
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}
