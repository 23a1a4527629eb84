/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident_write.c - incidents as JSON. Times are RFC 3339, null where something has not
 * happened yet.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "incident/incidents_private.h"
#include "incident/readable.h"

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[READABLE_TIME_BYTES];
    jsonw_key(w, key);
    if (ms == 0)
        jsonw_null(w);
    else
        jsonw_cstr(w, readable_time(ms, text));
}

/* "open": something fires; "ending": nothing does, and it may come back; "closed". */
static const char *state_name(enum incident_state state, int64_t to_ms)
{
    if (state != INCIDENT_OPEN)
        return "closed";
    return to_ms == 0 ? "open" : "ending";
}

static void write_acknowledged(struct jsonw *w, struct span by, int64_t ms)
{
    jsonw_key(w, "acknowledged_by");
    if (by.n > 0)
        jsonw_str(w, by);
    else
        jsonw_null(w);
    write_time(w, "acknowledged_at", ms);
}

static void write_head(struct jsonw *w, struct span id, const char *state, struct span tier,
                       int64_t from_ms, int64_t to_ms)
{
    jsonw_put_str(w, "id", id);
    jsonw_put_str(w, "state", span_cstr(state));
    jsonw_put_str(w, "tier", tier);
    write_time(w, "started_at", from_ms);
    write_time(w, "ended_at", to_ms);
}

void incident_write_summary(const struct incident_summary *s, struct jsonw *w)
{
    jsonw_begin_object(w);
    write_head(w, s->id, state_name(s->state, s->to_ms), s->tier, s->from_ms, s->to_ms);
    jsonw_key(w, "alerts");
    jsonw_raw(w, s->names);
    jsonw_put_i64(w, "times_fired", s->n_alerts);
    jsonw_put_i64(w, "firing", s->n_firing);
    jsonw_put_i64(w, "notes", s->n_notes);
    write_acknowledged(w, s->acknowledged_by, s->acknowledged_ms);
    jsonw_put_bool(w, "is_noise", s->is_noise);
    jsonw_end_object(w);
}

/* --- alerts --- */

/* "id, id, ..." as a list. */
static void write_requests(struct jsonw *w, const struct incident_episode *e)
{
    struct span rest = labels_get(e->evidence, SPAN("exemplar_requests"));
    if (rest.n == 0)
        rest = labels_get(e->annotations, SPAN("exemplar_requests"));
    jsonw_key(w, "requests");
    jsonw_begin_array(w);
    while (rest.n > 0) {
        struct span id = span_trim(span_split(&rest, ','));
        if (id.n > 0)
            jsonw_str(w, id);
    }
    jsonw_end_array(w);
}

static void write_episode(const struct incident_view *v, const struct incident_episode *e,
                          struct jsonw *w)
{
    struct span name = labels_get(e->labels, SPAN("alertname"));
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", name);
    jsonw_put_str(w, "tier", labels_get(e->labels, SPAN("tier")));
    jsonw_put_bool(w, "is_firing", e->to_ms == 0);
    jsonw_put_bool(w, "is_noise", incident_view_is_noise(v, name));
    write_time(w, "started_at", e->from_ms);
    write_time(w, "ended_at", e->to_ms);
    jsonw_put_double(w, "value", e->value);
    jsonw_put_double(w, "last_value", e->last_value);
    labels_write(e->labels, "labels", w);
    labels_write(e->annotations, "annotations", w);
    labels_write(e->evidence, "evidence", w);
    write_requests(w, e);
    jsonw_put_str(w, "expr", e->expr);
    jsonw_put_str(w, "generator_url", e->url);
    jsonw_end_object(w);
}

/* --- curves --- */

/* Seven digits, as many as a float has. */
static void write_point(struct jsonw *w, float v)
{
    char text[32];
    if (!isfinite(v)) {
        jsonw_null(w);
        return;
    }
    int n = snprintf(text, sizeof(text), "%.7g", (double)v);
    jsonw_raw(w, span_of(text, (size_t)n));
}

static void write_series(const struct curve *c, const struct curve_series *s, struct jsonw *w)
{
    jsonw_begin_object(w);
    labels_write(s->labels, "labels", w);
    jsonw_key(w, "values");
    jsonw_begin_array(w);
    for (size_t k = 0; k < c->n_points; k++)
        write_point(w, s->at[k]);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static int write_points(const struct incident_curve *k, struct jsonw *w)
{
    struct arena a;
    struct curve c;
    arena_init(&a, NULL);
    int r = curve_unpack(buf_span(&k->packed), &a, &c);
    if (r == 0) {
        write_time(w, "from", c.start_ms);
        jsonw_put_i64(w, "step_seconds", c.step_ms / 1000);
        jsonw_put_i64(w, "series_left_out", (int64_t)c.n_left_out);
        jsonw_key(w, "series");
        jsonw_begin_array(w);
        for (size_t i = 0; i < c.n_series; i++)
            write_series(&c, &c.series[i], w);
        jsonw_end_array(w);
    }
    arena_done(&a);
    return r;
}

/* What cannot be read any more is told as such; the rest of the incident is still there. */
static int write_curve(const struct incident_view *v, size_t i, struct jsonw *w)
{
    const struct curves_kind *kind = &curves_kinds[i];
    const struct incident_curve *k = &v->incident->curves[i];
    struct buf expr;
    buf_init(&expr, 64 * KIB);
    int r = curves_expr(kind, v->range_ms, &expr);
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", span_cstr(kind->name));
    jsonw_put_str(w, "title", span_cstr(kind->title));
    jsonw_put_str(w, "unit", span_cstr(kind->unit));
    jsonw_put_str(w, "expr", buf_span(&expr));
    jsonw_put_bool(w, "is_complete", k->is_complete);
    if (r == 0 && buf_len(&k->packed) > 0)
        r = write_points(k, w);
    if (r == -EBADMSG)
        jsonw_put_bool(w, "is_damaged", true);
    jsonw_end_object(w);
    buf_done(&expr);
    return r == -EBADMSG ? 0 : r;
}

/* --- people --- */

static const char *const acts[] = {
    [INCIDENT_ACK] = "acknowledged", [INCIDENT_NOISE] = "noise", [INCIDENT_NO_NOISE] = "no noise"};

static void write_act(const struct incident_act *a, struct jsonw *w)
{
    jsonw_begin_object(w);
    write_time(w, "at", a->t_ms);
    jsonw_put_str(w, "author", a->author);
    if (a->kind == INCIDENT_NOTE) {
        jsonw_put_str(w, "text", a->text);
    } else {
        jsonw_put_str(w, "act", span_cstr((size_t)a->kind < ARRAY_LEN(acts) ? acts[a->kind] : ""));
        jsonw_put_str(w, "alert", a->text);
    }
    jsonw_end_object(w);
}

static void write_acts(const struct incident_view *v, const char *key, bool are_notes,
                       struct jsonw *w)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t k = 0; k < v->n_acts; k++) {
        if ((v->acts[k].kind == INCIDENT_NOTE) == are_notes)
            write_act(&v->acts[k], w);
    }
    jsonw_end_array(w);
}

int incident_write_view(const struct incident_view *v, struct jsonw *w)
{
    const struct incident *c = v->incident;
    const struct incident_act *ack = incident_view_acknowledged(v);
    int r = 0;
    jsonw_begin_object(w);
    write_head(w, span_cstr(c->id), state_name(c->state, c->to_ms), incident_tier(c), c->from_ms,
               c->to_ms);
    write_acknowledged(w, ack ? ack->author : SPAN(""), ack ? ack->t_ms : 0);
    jsonw_key(w, "alerts");
    jsonw_begin_array(w);
    for (size_t i = 0; i < c->n_episodes; i++)
        write_episode(v, &c->episodes[i], w);
    jsonw_end_array(w);
    jsonw_put_bool(w, "has_more_alerts", c->is_cut);
    write_acts(v, "notes", true, w);
    write_acts(v, "marks", false, w);
    jsonw_key(w, "curves");
    jsonw_begin_array(w);
    for (size_t i = 0; i < curves_n && r == 0; i++)
        r = write_curve(v, i, w);
    jsonw_end_array(w);
    jsonw_end_object(w);
    return r < 0 ? r : jsonw_error(w);
}
