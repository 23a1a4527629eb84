/* SPDX-License-Identifier: Apache-2.0 */
#include "top/lists.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/timestamp.h"
#include "top/cells.h"

const char top_lists_question[] =
    "{__name__=~\"engine_running|engine_waiting|engine_kv_usage_ratio|gpu_utilization_ratio\"}";

void top_lists_init(struct top_lists *l)
{
    *l = (struct top_lists){0};
    arena_init(&l->_arena, NULL);
    top_lists_reset(l);
}

void top_lists_reset(struct top_lists *l)
{
    struct arena a = l->_arena;
    arena_reset(&a);
    *l = (struct top_lists){.uptime_s = (double)NAN,
                            .running = (double)NAN,
                            .waiting = (double)NAN,
                            .kv_ratio_max = (double)NAN,
                            .gpu_ratio_mean = (double)NAN,
                            ._arena = a};
}

void top_lists_done(struct top_lists *l)
{
    arena_done(&l->_arena);
}

/* --- values of an answer --- */

static json_t *load(struct span json)
{
    return json_loadb(json.p ? json.p : "", json.n, JSON_ALLOW_NUL, NULL);
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* false: no memory. What is no text is an empty one. */
static bool text(struct top_lists *l, const json_t *object, const char *key, struct span *ret)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_string(v)) {
        *ret = SPAN("");
        return true;
    }
    *ret = arena_dup(&l->_arena, span_of(json_string_value(v), json_string_length(v)));
    return ret->p != NULL;
}

/* Room for the items of a list that are shown: *ret_n of them. NULL: no memory. */
static void *room(struct top_lists *l, const json_t *list, size_t size, size_t *ret_n,
                  size_t *ret_more)
{
    size_t n = json_array_size(list);
    *ret_n = n < TOP_LIST_MAX ? n : TOP_LIST_MAX;
    *ret_more = n - *ret_n;
    return arena_zalloc(&l->_arena, *ret_n + 1, size);
}

/* --- the gateway --- */

static bool read_upstream(struct top_lists *l, const json_t *one, struct top_upstream *to)
{
    to->inflight = number(one, "in_flight");
    to->waiting = number(one, "waiting") + number(one, "waiting_batch");
    return text(l, one, "name", &to->name) && text(l, one, "breaker", &to->breaker);
}

int top_lists_status(struct top_lists *l, struct span json)
{
    json_t *all = load(json);
    const json_t *upstreams = json_object_get(all, "upstreams");
    size_t n = 0, n_more = 0;
    int r = json_is_array(upstreams) ? 0 : -EPROTO;
    struct top_upstream *at = r == 0 ? room(l, upstreams, sizeof(*at), &n, &n_more) : NULL;
    bool is_good = at && text(l, all, "version", &l->version) && text(l, all, "state", &l->state);
    for (size_t i = 0; is_good && i < n; i++)
        is_good = read_upstream(l, json_array_get(upstreams, i), &at[i]);
    if (is_good) {
        l->uptime_s = number(all, "uptime_s");
        l->upstreams = at;
        l->n_upstreams = n;
    }
    json_decref(all);
    return is_good || r < 0 ? r : -ENOMEM;
}

/* --- open requests --- */

static int oldest_first(const void *a, const void *b)
{
    const struct top_flight *x = a, *y = b;
    return (x->age_ms < y->age_ms) - (x->age_ms > y->age_ms);
}

static bool read_flight(struct top_lists *l, const json_t *one, struct top_flight *to)
{
    to->age_ms = number(one, "age_ms");
    to->since_first_ms = number(one, "since_first_token_ms");
    to->since_last_ms = number(one, "since_last_token_ms");
    to->stalled_ms = number(one, "stalled_ms");
    to->n_events = number(one, "n_output_events");
    return text(l, one, "request_id", &to->id) && text(l, one, "model", &to->model) &&
           text(l, one, "upstream", &to->upstream) && text(l, one, "endpoint", &to->endpoint);
}

int top_lists_flights(struct top_lists *l, struct span json)
{
    json_t *all = load(json);
    const json_t *list = json_object_get(all, "requests");
    size_t n = 0, n_more = 0;
    int r = json_is_array(list) ? 0 : -EPROTO;
    struct top_flight *at = r == 0 ? room(l, list, sizeof(*at), &n, &n_more) : NULL;
    bool is_good = at != NULL;
    for (size_t i = 0; is_good && i < n; i++)
        is_good = read_flight(l, json_array_get(list, i), &at[i]);
    if (is_good) {
        qsort(at, n, sizeof(*at), oldest_first);
        l->flights = at;
        l->n_flights = n;
        l->n_more_flights = n_more;
    }
    json_decref(all);
    return is_good || r < 0 ? r : -ENOMEM;
}

/* --- alerts --- */

static int firing_first(const void *a, const void *b)
{
    const struct top_alert *x = a, *y = b;
    if (x->is_firing != y->is_firing)
        return x->is_firing ? -1 : 1;
    return (x->since_ms > y->since_ms) - (x->since_ms < y->since_ms);
}

static bool is_column(const char *label)
{
    return strcmp(label, "alertname") == 0 || strcmp(label, "tier") == 0 ||
           strcmp(label, "severity") == 0 || strcmp(label, "job") == 0;
}

/* "model=m upstream=u": without what is a column of its own. */
static bool read_of(struct top_lists *l, json_t *labels, struct span *ret)
{
    struct buf of;
    const char *key;
    json_t *value;
    int r = 0;
    buf_init(&of, 64 * 1024);
    json_object_foreach(labels, key, value)
    {
        if (r == 0 && !is_column(key) && json_is_string(value) && buf_len(&of) < TOP_CLIP_BYTES)
            r = buf_printf(&of, "%s%.*s=%.*s", buf_len(&of) > 0 ? " " : "",
                           SPAN_ARG(top_cells_clip(span_cstr(key))),
                           SPAN_ARG(top_cells_clip(span_cstr(json_string_value(value)))));
    }
    *ret = arena_dup(&l->_arena, buf_span(&of));
    buf_done(&of);
    return r == 0 && ret->p;
}

static bool read_alert(struct top_lists *l, const json_t *one, struct top_alert *to)
{
    json_t *labels = json_object_get(one, "labels");
    const char *tier = json_object_get(labels, "tier") ? "tier" : "severity";
    struct span state, since;
    wall_t at;
    if (!text(l, one, "state", &state) || !text(l, one, "activeAt", &since) ||
        !text(l, labels, "alertname", &to->name) || !text(l, labels, tier, &to->tier) ||
        !text(l, json_object_get(one, "annotations"), "summary", &to->summary) ||
        !read_of(l, labels, &to->of))
        return false;
    to->is_firing = span_eq(state, SPAN("firing"));
    if (timestamp_parse(since, &at) == 0)
        to->since_ms = at.us / 1000;
    return true;
}

int top_lists_alerts(struct top_lists *l, struct span json)
{
    json_t *all = load(json);
    const json_t *list = json_object_get(json_object_get(all, "data"), "alerts");
    size_t n = 0, n_more = 0;
    int r = json_is_array(list) ? 0 : -EPROTO;
    struct top_alert *at = r == 0 ? room(l, list, sizeof(*at), &n, &n_more) : NULL;
    bool is_good = at != NULL;
    for (size_t i = 0; is_good && i < n; i++)
        is_good = read_alert(l, json_array_get(list, i), &at[i]);
    if (is_good) {
        qsort(at, n, sizeof(*at), firing_first);
        l->alerts = at;
        l->n_alerts = n;
        l->n_more_alerts = n_more;
    }
    json_decref(all);
    return is_good || r < 0 ? r : -ENOMEM;
}

/* --- engines --- */

static void add(double *sum, double v)
{
    *sum = isnan(*sum) ? v : *sum + v;
}

int top_lists_engines(struct top_lists *l, struct span json)
{
    json_t *all = load(json), *one;
    const json_t *list = json_object_get(json_object_get(all, "data"), "result");
    int r = json_is_array(list) ? 0 : -EPROTO;
    double gpu = (double)NAN, v;
    size_t i, n_gpus = 0;
    json_array_foreach(list, i, one)
    {
        const char *name =
            json_string_value(json_object_get(json_object_get(one, "metric"), "__name__"));
        const char *value = json_string_value(json_array_get(json_object_get(one, "value"), 1));
        if (!name || !value || num_parse_double(span_cstr(value), &v) < 0)
            continue;
        if (strcmp(name, "engine_running") == 0)
            add(&l->running, v);
        else if (strcmp(name, "engine_waiting") == 0)
            add(&l->waiting, v);
        else if (strcmp(name, "engine_kv_usage_ratio") == 0)
            l->kv_ratio_max = fmax(l->kv_ratio_max, v);
        else {
            add(&gpu, v);
            n_gpus++;
        }
    }
    if (n_gpus > 0)
        l->gpu_ratio_mean = gpu / (double)n_gpus;
    json_decref(all);
    return r;
}
