/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts_write.c - what is active, who is told, what is silenced: as Alertmanager's API v2.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alert/alerts_private.h"
#include "alert/prose.h"

struct writing {
    const struct alerts_filter *f;
    struct jsonw *w;
    const struct dispatch_group *group; /* whose head is not written yet */
    bool is_group_open;
};

/* --- pieces --- */

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    struct buf b;
    buf_init(&b, 64);
    jsonw_key(w, key);
    if (prose_rfc3339(ms, &b) == 0)
        jsonw_str(w, buf_span(&b));
    else
        jsonw_null(w);
    buf_done(&b);
}

static void write_fingerprint(struct jsonw *w, uint64_t fingerprint)
{
    char text[17];
    (void)snprintf(text, sizeof(text), "%016" PRIx64, fingerprint);
    jsonw_cstr(w, text);
}

static void write_receiver(struct jsonw *w, struct span name)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", name);
    jsonw_end_object(w);
}

/* muted_by: times that keep its group quiet, or "". */
static void write_status(struct jsonw *w, const struct dispatch_seen *s, struct span muted_by)
{
    bool is_suppressed = s->silenced_by || s->n_inhibited_by > 0 || muted_by.n > 0;
    jsonw_key(w, "status");
    jsonw_begin_object(w);
    jsonw_put_str(w, "state", is_suppressed ? SPAN("suppressed") : SPAN("active"));
    jsonw_key(w, "silencedBy");
    jsonw_begin_array(w);
    if (s->silenced_by)
        jsonw_cstr(w, s->silenced_by);
    jsonw_end_array(w);
    jsonw_key(w, "inhibitedBy");
    jsonw_begin_array(w);
    for (size_t i = 0; i < s->n_inhibited_by; i++)
        write_fingerprint(w, s->inhibited_by[i]);
    jsonw_end_array(w);
    jsonw_key(w, "mutedBy");
    jsonw_begin_array(w);
    if (muted_by.n > 0)
        jsonw_str(w, muted_by);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void write_alert(struct jsonw *w, const struct dispatch_seen *s, struct span muted_by)
{
    jsonw_begin_object(w);
    labels_write(s->alert->annotations, "annotations", w);
    write_time(w, "endsAt", s->alert->ends_ms);
    jsonw_key(w, "fingerprint");
    write_fingerprint(w, s->alert->fingerprint);
    jsonw_key(w, "receivers");
    jsonw_begin_array(w);
    for (size_t i = 0; i < s->n_receivers; i++)
        write_receiver(w, s->receivers[i]);
    jsonw_end_array(w);
    write_time(w, "startsAt", s->alert->starts_ms);
    write_status(w, s, muted_by);
    write_time(w, "updatedAt", s->updated_ms);
    jsonw_put_str(w, "generatorURL", s->alert->generator_url);
    labels_write(s->alert->labels, "labels", w);
    jsonw_end_object(w);
}

/* --- alerts --- */

static bool has_receiver(const struct dispatch_seen *s, const struct matcher *name)
{
    for (size_t i = 0; i < s->n_receivers; i++)
        if (matcher_matches(name, s->receivers[i]))
            return true;
    return false;
}

static bool is_wanted(const struct alerts_filter *f, const struct dispatch_seen *s)
{
    bool is_silenced = s->silenced_by != NULL, is_inhibited = s->n_inhibited_by > 0;
    if (f->receiver && !has_receiver(s, f->receiver))
        return false;
    if ((f->no_silenced && is_silenced) || (f->no_inhibited && is_inhibited) ||
        (f->no_active && !is_silenced && !is_inhibited))
        return false;
    return matcher_matches_all(f->matchers, f->n_matchers, s->alert->labels);
}

static int on_alert(void *ctx, const struct dispatch_seen *s)
{
    const struct writing *x = ctx;
    if (is_wanted(x->f, s))
        write_alert(x->w, s, SPAN(""));
    return jsonw_error(x->w);
}

void alerts_write(struct alerts *a, const struct alerts_filter *f, struct jsonw *w)
{
    struct writing x = {f, w, NULL, false};
    jsonw_begin_array(w);
    pthread_mutex_lock(&a->lock);
    int r = dispatch_each_alert(a->dispatch, a->silences, alerts_now().wall_ms, on_alert, &x);
    pthread_mutex_unlock(&a->lock);
    jsonw_end_array(w);
    jsonw_fail(w, r);
}

/* --- groups --- */

static int on_group(void *ctx, const struct dispatch_group *g)
{
    struct writing *x = ctx;
    bool is_wanted_one = !(x->f->no_muted && g->muted_by.n > 0) &&
                         (!x->f->receiver || matcher_matches(x->f->receiver, g->receiver));
    x->group = g;
    x->is_group_open = false;
    return is_wanted_one ? 0 : 1;
}

/* A group's head comes with the first of its alerts that is wanted. */
static int on_group_alert(void *ctx, const struct dispatch_seen *s)
{
    struct writing *x = ctx;
    if (!is_wanted(x->f, s))
        return 0;
    if (!x->is_group_open) {
        jsonw_begin_object(x->w);
        labels_write(x->group->labels, "labels", x->w);
        jsonw_key(x->w, "receiver");
        write_receiver(x->w, x->group->receiver);
        jsonw_key(x->w, "alerts");
        jsonw_begin_array(x->w);
        x->is_group_open = true;
    }
    write_alert(x->w, s, x->group->muted_by);
    return jsonw_error(x->w);
}

static int on_group_end(void *ctx)
{
    struct writing *x = ctx;
    if (x->is_group_open) {
        jsonw_end_array(x->w);
        jsonw_end_object(x->w);
    }
    x->is_group_open = false;
    return jsonw_error(x->w);
}

void alerts_write_groups(struct alerts *a, const struct alerts_filter *f, struct jsonw *w)
{
    struct writing x = {f, w, NULL, false};
    const struct dispatch_group_visitor v = {on_group, on_group_alert, on_group_end, &x};
    jsonw_begin_array(w);
    pthread_mutex_lock(&a->lock);
    int r = dispatch_each_group(a->dispatch, a->silences, alerts_now().wall_ms, &v);
    pthread_mutex_unlock(&a->lock);
    jsonw_end_array(w);
    jsonw_fail(w, r);
}

/* --- silences --- */

/* Whether each matcher that is asked for fits one of the silence's with that name. */
static bool is_wanted_silence(const struct alerts_filter *f, const struct silence *s)
{
    for (size_t i = 0; i < f->n_matchers; i++) {
        bool is_there = false;
        for (size_t k = 0; k < s->n_matchers && !is_there; k++)
            is_there = span_eq(s->matchers[k].name, f->matchers[i].name) &&
                       matcher_matches(&f->matchers[i], s->matchers[k].value);
        if (!is_there)
            return false;
    }
    return true;
}

void alerts_write_silences(struct alerts *a, const struct alerts_filter *f, struct jsonw *w)
{
    jsonw_begin_array(w);
    pthread_mutex_lock(&a->lock);
    int64_t now_ms = alerts_now().wall_ms;
    for (size_t i = 0; i < silences_n(a->silences); i++)
        if (is_wanted_silence(f, silences_at(a->silences, i)))
            silence_write(silences_at(a->silences, i), now_ms, w);
    pthread_mutex_unlock(&a->lock);
    jsonw_end_array(w);
}

int alerts_write_silence(struct alerts *a, struct span id, struct jsonw *w)
{
    pthread_mutex_lock(&a->lock);
    const struct silence *s = silences_get(a->silences, id);
    if (s)
        silence_write(s, alerts_now().wall_ms, w);
    pthread_mutex_unlock(&a->lock);
    return s ? 0 : -ENOENT;
}

/* --- the rest --- */

void alerts_write_receivers(struct alerts *a, struct jsonw *w)
{
    jsonw_begin_array(w);
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->file->n_receivers; i++)
        write_receiver(w, a->file->receivers[i].name);
    pthread_mutex_unlock(&a->lock);
    jsonw_end_array(w);
}

int alerts_write_route(struct alerts *a, struct labels labels, struct jsonw *w)
{
    struct buf lines;
    buf_init(&lines, 1 << 22);
    pthread_mutex_lock(&a->lock);
    int r = alert_route_explain(a->file, labels, &lines);
    pthread_mutex_unlock(&a->lock);
    jsonw_begin_array(w);
    for (struct span rest = buf_span(&lines); rest.n > 0 && r == 0;) {
        struct span line = span_split(&rest, '\n');
        jsonw_str(w, span_split(&line, '\t'));
    }
    jsonw_end_array(w);
    buf_done(&lines);
    return r;
}

static void write_version(struct jsonw *w)
{
    jsonw_key(w, "versionInfo");
    jsonw_begin_object(w);
    jsonw_put_str(w, "branch", SPAN(""));
    jsonw_put_str(w, "buildDate", SPAN(""));
    jsonw_put_str(w, "buildUser", SPAN(""));
    jsonw_put_str(w, "goVersion", SPAN(""));
    jsonw_put_str(w, "revision", SPAN(""));
    jsonw_put_str(w, "version", SPAN("inferometer " PROJECT_VERSION));
    jsonw_end_object(w);
}

void alerts_write_status(struct alerts *a, struct jsonw *w)
{
    struct buf yaml;
    buf_init(&yaml, 1 << 24);
    pthread_mutex_lock(&a->lock);
    int r = alert_file_print(a->file, &yaml);
    pthread_mutex_unlock(&a->lock);
    jsonw_begin_object(w);
    jsonw_key(w, "cluster");
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", SPAN(""));
    jsonw_put_str(w, "status", SPAN("disabled"));
    jsonw_key(w, "peers");
    jsonw_begin_array(w);
    jsonw_end_array(w);
    jsonw_end_object(w);
    write_version(w);
    jsonw_key(w, "config");
    jsonw_begin_object(w);
    jsonw_put_str(w, "original", buf_span(&yaml));
    jsonw_end_object(w);
    write_time(w, "uptime", a->started_ms);
    jsonw_end_object(w);
    buf_done(&yaml);
    jsonw_fail(w, r);
}

void alerts_write_deliveries(struct alerts *a, struct jsonw *w)
{
    jsonw_begin_object(w);
    pthread_mutex_lock(&a->lock);
    delivery_write(a->delivery, alerts_now(), w);
    alertmanagers_write(a->managers, w);
    pthread_mutex_unlock(&a->lock);
    jsonw_end_object(w);
}
