/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file_print.c - a file of routes as YAML. What receivers took from `global:` stands in them.
 */
#include <errno.h>

#include "alert/file_read.h"
#include "series/duration.h"

static void put_formatted(struct yamlw *w, const char *key, int r, struct buf *text)
{
    yamlw_key(w, key);
    yamlw_str(w, buf_span(text));
    yamlw_fail(w, r);
    buf_done(text);
}

static void put_duration(struct yamlw *w, const char *key, int64_t ms)
{
    struct buf b;
    buf_init(&b, 64);
    put_formatted(w, key, duration_print(ms, &b), &b);
}

static void put_matchers(struct yamlw *w, const char *key, const struct matcher *at, size_t n)
{
    if (n == 0)
        return;
    yamlw_key(w, key);
    yamlw_begin_list(w);
    for (size_t i = 0; i < n; i++) {
        struct buf b;
        buf_init(&b, (size_t)4 << 20);
        int r = alert_matchers_print_one(&at[i], &b);
        yamlw_str(w, buf_span(&b));
        yamlw_fail(w, r);
        buf_done(&b);
    }
    yamlw_end_list(w);
}

static void put_spans(struct yamlw *w, const char *key, const struct span *at, size_t n)
{
    yamlw_key(w, key);
    yamlw_begin_list(w);
    for (size_t i = 0; i < n; i++)
        yamlw_str(w, at[i]);
    yamlw_end_list(w);
}

static void put_route(struct yamlw *w, const struct alert_route *r, const struct alert_route *above)
{
    static const struct span all[] = {SPAN_INIT("...")};
    yamlw_begin_map(w);
    yamlw_key(w, "receiver");
    yamlw_str(w, r->receiver);
    put_spans(w, "group_by", r->group_by_all ? all : r->group_by,
              r->group_by_all ? 1 : r->n_group_by);
    put_matchers(w, "matchers", r->matchers, r->n_matchers);
    if (above) {
        yamlw_key(w, "continue");
        yamlw_bool(w, r->goes_on);
    }
    put_duration(w, "group_wait", r->group_wait_ms);
    put_duration(w, "group_interval", r->group_interval_ms);
    put_duration(w, "repeat_interval", r->repeat_interval_ms);
    if (r->n_mute_times > 0)
        put_spans(w, "mute_time_intervals", r->mute_times, r->n_mute_times);
    if (r->n_active_times > 0)
        put_spans(w, "active_time_intervals", r->active_times, r->n_active_times);
    if (r->labels.n > 0) {
        yamlw_key(w, "labels");
        yamlw_begin_map(w);
        for (size_t i = 0; i < r->labels.n; i++) {
            yamlw_key_str(w, r->labels.at[i].name);
            yamlw_str(w, r->labels.at[i].value);
        }
        yamlw_end_map(w);
    }
    if (r->n_routes > 0) {
        yamlw_key(w, "routes");
        yamlw_begin_list(w);
        for (size_t i = 0; i < r->n_routes; i++)
            put_route(w, &r->routes[i], r);
        yamlw_end_list(w);
    }
    yamlw_end_map(w);
}

static void put_inhibitions(struct yamlw *w, const struct alert_file *f)
{
    yamlw_key(w, "inhibit_rules");
    yamlw_begin_list(w);
    for (size_t i = 0; i < f->n_inhibitions; i++) {
        const struct alert_inhibition *r = &f->inhibitions[i];
        yamlw_begin_map(w);
        if (r->name.n > 0) {
            yamlw_key(w, "name");
            yamlw_str(w, r->name);
        }
        put_matchers(w, "source_matchers", r->source, r->n_source);
        put_matchers(w, "target_matchers", r->target, r->n_target);
        if (r->n_equal > 0)
            put_spans(w, "equal", r->equal, r->n_equal);
        yamlw_end_map(w);
    }
    yamlw_end_list(w);
}

/* --- times --- */

static void put_minute(struct yamlw *w, const char *key, int minute)
{
    struct buf b;
    buf_init(&b, 64);
    put_formatted(w, key, buf_printf(&b, "%02d:%02d", minute / 60, minute % 60), &b);
}

static void put_range(struct yamlw *w, enum alert_interval_part part, struct alert_range r)
{
    static const char *const weekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                           "thursday", "friday", "saturday"};
    struct buf b;
    int e;
    if (part == INTERVAL_TIMES) {
        yamlw_begin_map(w);
        put_minute(w, "start_time", r.first);
        put_minute(w, "end_time", r.last);
        yamlw_end_map(w);
        return;
    }
    buf_init(&b, 64);
    if (part == INTERVAL_WEEKDAYS)
        e = buf_printf(&b, "%s:%s", weekdays[r.first], weekdays[r.last]);
    else
        e = buf_printf(&b, "%d:%d", r.first, r.last);
    yamlw_str(w, buf_span(&b));
    yamlw_fail(w, e);
    buf_done(&b);
}

static void put_interval(struct yamlw *w, const struct alert_interval *in)
{
    static const char *const keys[INTERVAL_COUNT_] = {
        [INTERVAL_TIMES] = "times",        [INTERVAL_WEEKDAYS] = "weekdays",
        [INTERVAL_DAYS] = "days_of_month", [INTERVAL_MONTHS] = "months",
        [INTERVAL_YEARS] = "years",
    };
    yamlw_begin_map(w);
    for (int part = 0; part < INTERVAL_COUNT_; part++) {
        const struct alert_ranges *l = &in->parts[part];
        if (!l->is_written)
            continue;
        yamlw_key(w, keys[part]);
        yamlw_begin_list(w);
        for (size_t i = 0; i < l->n; i++)
            put_range(w, (enum alert_interval_part)part, l->at[i]);
        yamlw_end_list(w);
    }
    if (in->location.n > 0) {
        yamlw_key(w, "location");
        yamlw_str(w, in->location);
    }
    yamlw_end_map(w);
}

static void put_times(struct yamlw *w, const struct alert_file *f)
{
    yamlw_key(w, "time_intervals");
    yamlw_begin_list(w);
    for (size_t i = 0; i < f->n_times; i++) {
        yamlw_begin_map(w);
        yamlw_key(w, "name");
        yamlw_str(w, f->times[i].name);
        yamlw_key(w, "time_intervals");
        yamlw_begin_list(w);
        for (size_t k = 0; k < f->times[i].n; k++)
            put_interval(w, &f->times[i].intervals[k]);
        yamlw_end_list(w);
        yamlw_end_map(w);
    }
    yamlw_end_list(w);
}

/* --- receivers --- */

/* One kind at a time: a key may stand once only. */
static void put_kind(struct yamlw *w, const struct alert_receiver *r, size_t first)
{
    const struct receiver_kind *kind = r->integrations[first].kind;
    for (size_t i = 0; i < first; i++) {
        if (r->integrations[i].kind == kind)
            return;
    }
    yamlw_key(w, kind->key);
    yamlw_begin_list(w);
    for (size_t i = first; i < r->n; i++) {
        if (r->integrations[i].kind != kind)
            continue;
        yamlw_begin_map(w);
        yamlw_key(w, "send_resolved");
        yamlw_bool(w, r->integrations[i].send_resolved);
        kind->print(r->integrations[i].config, w);
        yamlw_end_map(w);
    }
    yamlw_end_list(w);
}

static void put_receivers(struct yamlw *w, const struct alert_file *f)
{
    yamlw_key(w, "receivers");
    yamlw_begin_list(w);
    for (size_t i = 0; i < f->n_receivers; i++) {
        yamlw_begin_map(w);
        yamlw_key(w, "name");
        yamlw_str(w, f->receivers[i].name);
        for (size_t k = 0; k < f->receivers[i].n; k++)
            put_kind(w, &f->receivers[i], k);
        yamlw_end_map(w);
    }
    yamlw_end_list(w);
}

int alert_file_print(const struct alert_file *f, struct buf *out)
{
    struct yamlw w;
    yamlw_init(&w, out);
    yamlw_begin_map(&w);
    yamlw_key(&w, "global");
    yamlw_begin_map(&w);
    put_duration(&w, "resolve_timeout", f->resolve_timeout_ms);
    yamlw_end_map(&w);
    yamlw_key(&w, "route");
    put_route(&w, f->route, NULL);
    if (f->n_inhibitions > 0)
        put_inhibitions(&w, f);
    if (f->n_times > 0)
        put_times(&w, f);
    put_receivers(&w, f);
    yamlw_end_map(&w);
    return yamlw_error(&w);
}
