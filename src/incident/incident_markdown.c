/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident_markdown.c - an incident for people and tickets: what, when, how long, alerts,
 * curves as small plots, what people wrote. Texts of others stay texts.
 */
#include <errno.h>
#include <math.h>

#include "incident/incidents_private.h"
#include "incident/markdown.h"
#include "incident/readable.h"

enum { ALERTS_MAX = 50, PLOT_WIDTH = 40, SHOWN_MAX = 8 };

static int put(struct buf *out, const char *s)
{
    return buf_append(out, span_cstr(s));
}

static int put_moment(struct buf *out, int64_t ms)
{
    char text[READABLE_TIME_BYTES];
    return put(out, readable_moment(ms, text));
}

/* In front of what is not in the table already. */
static int put_labels(struct buf *out, struct labels l)
{
    int r = 0;
    bool is_first = true;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        struct span name = l.at[i].name;
        if (span_eq(name, SPAN("alertname")) || span_eq(name, SPAN("tier")) ||
            span_eq(name, SPAN(LABEL_NAME)))
            continue;
        r = put(out, is_first ? "" : ", ");
        if (r == 0)
            r = markdown_text(name, out);
        if (r == 0)
            r = put(out, "=");
        if (r == 0)
            r = markdown_text(l.at[i].value, out);
        is_first = false;
    }
    return r;
}

/* --- head --- */

static int64_t end_of(const struct incident_view *v, int64_t to_ms)
{
    return to_ms ? to_ms : v->now_ms;
}

static int put_head(const struct incident_view *v, struct buf *out)
{
    const struct incident *c = v->incident;
    const struct incident_act *ack = incident_view_acknowledged(v);
    int r = buf_printf(out, "# Incident %s\n\n%.*s, ", c->id, SPAN_ARG(incident_tier(c)));
    if (r == 0)
        r = put_moment(out, c->from_ms);
    if (r == 0 && c->to_ms)
        r = put(out, " to ");
    if (r == 0 && c->to_ms)
        r = put_moment(out, c->to_ms);
    if (r == 0)
        r = put(out, c->to_ms ? " UTC (" : " UTC, not over yet (");
    if (r == 0)
        r = readable_duration(end_of(v, c->to_ms) - c->from_ms, out);
    if (r == 0)
        r = put(out, ").\n");
    if (r == 0 && ack)
        r = put(out, "Acknowledged by ");
    if (r == 0 && ack)
        r = markdown_text(ack->author, out);
    if (r == 0 && ack)
        r = put(out, ", ");
    if (r == 0 && ack)
        r = put_moment(out, ack->t_ms);
    return r == 0 && ack ? put(out, " UTC.\n") : r;
}

/* --- alerts --- */

static int put_row(const struct incident_view *v, const struct incident_episode *e, struct buf *out)
{
    char first[READABLE_NUMBER_BYTES], last[READABLE_NUMBER_BYTES];
    struct span name = labels_get(e->labels, SPAN("alertname"));
    int r = put(out, "| ");
    if (r == 0)
        r = markdown_text(labels_get(e->labels, SPAN("tier")), out);
    if (r == 0)
        r = put(out, " | ");
    if (r == 0)
        r = markdown_text(name, out);
    if (r == 0 && incident_view_is_noise(v, name))
        r = put(out, " (noise)");
    if (r == 0)
        r = put(out, " | ");
    if (r == 0)
        r = put_labels(out, e->labels);
    if (r == 0)
        r = put(out, " | ");
    if (r == 0)
        r = put_moment(out, e->from_ms);
    if (r == 0)
        r = put(out, " | ");
    if (r == 0)
        r = readable_duration(end_of(v, e->to_ms) - e->from_ms, out);
    if (r == 0)
        r = buf_printf(out, "%s | %s | %s |\n", e->to_ms ? "" : ", fires",
                       readable_number(e->value, first), readable_number(e->last_value, last));
    return r;
}

static int put_table(const struct incident_view *v, struct buf *out)
{
    const struct incident *c = v->incident;
    size_t n = c->n_episodes < ALERTS_MAX ? c->n_episodes : ALERTS_MAX;
    int r = put(out, "\n## Alerts\n\n| tier | alert | labels | from (UTC) | for | value | last |\n"
                     "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n && r == 0; i++)
        r = put_row(v, &c->episodes[i], out);
    if (r == 0 && c->n_episodes > n)
        r = buf_printf(out, "\nand %zu more\n", c->n_episodes - n);
    return r;
}

static int put_field(const char *before, struct span s, struct buf *out)
{
    int r = s.n > 0 ? put(out, before) : 0;
    if (r == 0)
        r = markdown_text(s, out);
    return r == 0 && s.n > 0 ? put(out, "\n") : r;
}

static struct span found(const struct incident_episode *e, struct span name)
{
    struct span s = labels_get(e->evidence, name);
    return s.n > 0 ? s : labels_get(e->annotations, name);
}

/* The texts of an alert's first time; they differ little later. */
static int put_texts(const struct incident_episode *e, struct buf *out)
{
    int r = put(out, "\n### ");
    if (r == 0)
        r = markdown_text(labels_get(e->labels, SPAN("alertname")), out);
    if (r == 0)
        r = put(out, "\n\n");
    if (r == 0)
        r = put_field("- ", found(e, SPAN("summary")), out);
    if (r == 0)
        r = put_field("- ", found(e, SPAN("description")), out);
    if (r == 0)
        r = put_field("- evidence: ", found(e, SPAN("evidence")), out);
    if (r == 0)
        r = put_field("- requests: ", found(e, SPAN("exemplar_requests")), out);
    if (r == 0)
        r = put_field("- runbook: ", found(e, SPAN("runbook_url")), out);
    return r == 0 ? put_field("- rule: ", e->expr, out) : r;
}

static bool is_first_time(const struct incident *c, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (c->episodes[k].hash == c->episodes[i].hash)
            return false;
    }
    return true;
}

static int put_alerts(const struct incident_view *v, struct buf *out)
{
    const struct incident *c = v->incident;
    size_t n_told = 0;
    int r = put_table(v, out);
    for (size_t i = 0; i < c->n_episodes && n_told < ALERTS_MAX && r == 0; i++) {
        if (!is_first_time(c, i))
            continue;
        r = put_texts(&c->episodes[i], out);
        n_told++;
    }
    return r;
}

/* --- curves --- */

static int put_series(const struct curve *c, const struct curve_series *s, struct buf *out)
{
    char least[READABLE_NUMBER_BYTES], most[READABLE_NUMBER_BYTES], last[READABLE_NUMBER_BYTES];
    float min = INFINITY, now = NAN;
    for (size_t k = 0; k < c->n_points; k++) {
        min = fminf(min, s->at[k]);
        now = isnan(s->at[k]) ? now : s->at[k];
    }
    int r = put(out, "| ");
    if (r == 0)
        r = put_labels(out, s->labels);
    if (r == 0)
        r = put(out, " | ");
    if (r == 0)
        r = readable_plot(s->at, c->n_points, PLOT_WIDTH, out);
    if (r == 0)
        r = buf_printf(out, " | %s | %s | %s |\n", readable_number((double)min, least),
                       readable_number((double)s->max, most), readable_number((double)now, last));
    return r;
}

static int put_curve(const struct curves_kind *kind, const struct curve *c, struct buf *out)
{
    size_t n = c->n_series < SHOWN_MAX ? c->n_series : SHOWN_MAX;
    size_t n_more = c->n_series - n + c->n_left_out;
    int r = buf_printf(out, "\n### %s%s%s%s\n\n", kind->title, kind->unit[0] ? " (" : "",
                       kind->unit, kind->unit[0] ? ")" : "");
    if (r == 0)
        r = put_moment(out, c->start_ms);
    if (r == 0)
        r = put(out, " to ");
    if (r == 0)
        r = put_moment(out, c->start_ms + (int64_t)c->n_points * c->step_ms);
    if (r == 0)
        r = put(out, " UTC\n\n| series | curve | least | most | last |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < n && r == 0; i++)
        r = put_series(c, &c->series[i], out);
    return r == 0 && n_more > 0 ? buf_printf(out, "\nand %zu more series\n", n_more) : r;
}

/* Those that have something to show. */
static int put_curves(const struct incident_view *v, struct buf *out)
{
    bool has_head = false;
    int r = 0;
    for (size_t i = 0; i < curves_n && r == 0; i++) {
        struct span packed = buf_span(&v->incident->curves[i].packed);
        struct arena a;
        struct curve c = {0};
        arena_init(&a, NULL);
        r = packed.n > 0 ? curve_unpack(packed, &a, &c) : 0;
        r = r == -EBADMSG ? 0 : r; /* it is left out; the rest is still there */
        if (r == 0 && c.n_series > 0 && !has_head)
            r = put(out, "\n## Curves\n");
        has_head = has_head || c.n_series > 0;
        if (r == 0 && c.n_series > 0)
            r = put_curve(&curves_kinds[i], &c, out);
        arena_done(&a);
    }
    return r;
}

/* --- people --- */

static const char *const acts[] = {[INCIDENT_NOTE] = "wrote:",
                                   [INCIDENT_ACK] = "acknowledged it",
                                   [INCIDENT_NOISE] = "marked as noise: ",
                                   [INCIDENT_NO_NOISE] = "marked as no noise: "};

static int put_act(const struct incident_act *a, struct buf *out)
{
    int r = put(out, "\n");
    if (r == 0)
        r = put_moment(out, a->t_ms);
    if (r == 0)
        r = put(out, " UTC, ");
    if (r == 0)
        r = markdown_text(a->author, out);
    if (r == 0)
        r = put(out, " ");
    if (r == 0)
        r = put(out, (size_t)a->kind < ARRAY_LEN(acts) ? acts[a->kind] : "");
    if (r == 0 && a->kind >= INCIDENT_NOISE)
        r = markdown_text(a->text.n > 0 ? a->text : SPAN("all alerts"), out);
    if (r == 0)
        r = put(out, "\n");
    if (r == 0 && a->kind == INCIDENT_NOTE)
        r = put(out, "\n");
    return r == 0 && a->kind == INCIDENT_NOTE ? markdown_quote(a->text, out) : r;
}

static int put_people(const struct incident_view *v, struct buf *out)
{
    int r = v->n_acts > 0 ? put(out, "\n## Notes\n") : 0;
    for (size_t k = 0; k < v->n_acts && r == 0; k++)
        r = put_act(&v->acts[k], out);
    return r;
}

int incident_markdown_print(const struct incident_view *v, struct buf *out)
{
    int r = put_head(v, out);
    if (r == 0)
        r = put_alerts(v, out);
    if (r == 0)
        r = put_curves(v, out);
    return r == 0 ? put_people(v, out) : r;
}
