/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/overview.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/stat.h"

enum { TIME_TEXT_MAX = 40 };

/* "2026-11-29T15:04:05Z" */
static void time_write(struct jsonw *w, const char *key, wall_t at)
{
    char text[TIME_TEXT_MAX] = "";
    time_t s = (time_t)(at.us / 1000000);
    struct tm tm;

    if (gmtime_r(&s, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    jsonw_put_cstr(w, key, text);
}

void overview_init(struct overview *o)
{
    o->started = clock_wall();
    o->t_started = clock_mono();
    (void)pthread_mutex_init(&o->_lock, NULL);
    buf_init(&o->_reload, 512 * KIB);
}

void overview_done(struct overview *o)
{
    buf_done(&o->_reload);
    (void)pthread_mutex_destroy(&o->_lock);
}

void overview_set_reload(struct overview *o, wall_t at, struct span json)
{
    struct buf b;
    struct jsonw w;

    buf_init(&b, 512 * KIB);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    time_write(&w, "at", at);
    if (jsonw_error(&w) < 0 || buf_append(&b, SPAN(",")) < 0 ||
        buf_append(&b, span_from(json, 1)) < 0) {
        LOG_WARN("the report of a reload is not on the status page: out of memory");
        buf_clear(&b);
    }
    (void)pthread_mutex_lock(&o->_lock);
    buf_done(&o->_reload);
    o->_reload = b;
    (void)pthread_mutex_unlock(&o->_lock);
}

/* --- the parts of the page --- */

static void reload_write(struct overview *o, struct jsonw *w)
{
    struct span json;

    jsonw_key(w, "last_reload");
    (void)pthread_mutex_lock(&o->_lock);
    json = buf_span(&o->_reload);
    while (json.n > 0 && json.p[json.n - 1] == '\n')
        json.n--;
    if (json.n > 0)
        jsonw_raw(w, json);
    else
        jsonw_null(w);
    (void)pthread_mutex_unlock(&o->_lock);
}

static void listeners_write(const struct overview_of *of, struct jsonw *w)
{
    const struct listeners *l = of->listeners;

    jsonw_key(w, "listeners");
    jsonw_begin_array(w);
    for (size_t i = 0; i < l->n_all; i++) {
        bool is_unix = span_starts_with(span_cstr(l->texts[i]), SPAN("unix:"));

        jsonw_begin_object(w);
        jsonw_put_cstr(w, "address", l->texts[i]);
        jsonw_put_cstr(w, "for", i < l->n ? "clients" : "admin");
        jsonw_put_bool(w, "tls", i < l->n && of->has_tls && !is_unix);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

/* The cause in `cause="log_queue"`. */
static struct span cause_of(const char *labels)
{
    struct span rest = span_cstr(labels);

    (void)span_split(&rest, '"');
    return span_split(&rest, '"');
}

static void drops_write(struct jsonw *w)
{
    jsonw_key(w, "drops");
    jsonw_begin_array(w);
    for (int i = 0; i < STAT_COUNT_; i++) {
        if (strcmp(stat_table[i].name, "inferometer_drops_total") != 0)
            continue;
        jsonw_begin_object(w);
        jsonw_put_str(w, "cause", cause_of(stat_table[i].labels));
        jsonw_put_i64(w, "n", stat_sum((enum stat_id)i));
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

void overview_write(struct overview *o, const struct overview_of *of, struct jsonw *w)
{
    jsonw_put_cstr(w, "state", of->is_draining ? "draining" : "serving");
    time_write(w, "started", o->started);
    jsonw_put_i64(w, "uptime_s", mono_diff(clock_mono(), o->t_started) / NS_PER_S);
    jsonw_put_i64(w, "pid", getpid());
    jsonw_put_cstr(w, "config_file", of->config->file ? of->config->file : "");
    jsonw_put_i64(w, "workers", (int64_t)of->n_workers);
    jsonw_put_i64(w, "in_flight", stat_sum(STAT_EXCHANGES_OPEN));
    jsonw_put_i64(w, "client_connections", stat_sum(STAT_CONNS_CLIENT_OPEN));
    jsonw_put_i64(w, "upstream_connections", stat_sum(STAT_CONNS_UPSTREAM_OPEN));
    listeners_write(of, w);
    reload_write(o, w);
    drops_write(w);
}

/* --- an upstream --- */

static void name_part(const struct overview_of *of, size_t i, struct jsonw *w)
{
    jsonw_put_cstr(w, "name", of->config->upstreams.items[i].name);
    jsonw_put_cstr(w, "url", of->config->upstreams.items[i].url);
}

static void admission_part(const struct overview_of *of, size_t i, struct jsonw *w)
{
    struct admission_numbers n;
    int64_t n_rejected = 0;

    admission_read(of->upstreams->admission[i], &n);
    for (int c = 0; c < ADMISSION_CLASSES; c++)
        n_rejected += (int64_t)(n.classes[c].n_full + n.classes[c].n_timeouts);
    jsonw_put_i64(w, "in_flight", n.n_inflight);
    jsonw_put_i64(w, "waiting", n.classes[ADMISSION_INTERACTIVE].n_waiting);
    jsonw_put_i64(w, "waiting_batch", n.classes[ADMISSION_BATCH].n_waiting);
    jsonw_put_i64(w, "rejected", n_rejected);
}

static void breaker_part(const struct overview_of *of, size_t i, struct jsonw *w)
{
    struct breaker_snapshot s = breaker_read(&of->upstreams->breakers[i], clock_mono());

    jsonw_put_cstr(w, "breaker", breaker_state_name(s.state));
    jsonw_put_i64(w, "failures_in_row", s.n_failures_in_row);
}

static void (*const upstream_parts[])(const struct overview_of *of, size_t i, struct jsonw *w) = {
    name_part,
    admission_part,
    breaker_part,
};

void overview_upstreams(const struct overview_of *of, struct jsonw *w)
{
    for (size_t i = 0; i < of->config->upstreams.n; i++) {
        jsonw_begin_object(w);
        for (size_t k = 0; k < ARRAY_LEN(upstream_parts); k++)
            upstream_parts[k](of, i, w);
        jsonw_end_object(w);
    }
}
