/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the part of who has alerts: alert/alerts.h with a line of JSON for each call, one line of
 * JSON back for each. For alerts.test.mjs; built as build/PRESET/tests/alert_player.
 *
 *   alert_player ROUTES.yml [dir=DIR] [alertmanager=URL]...
 *   {"put": [{"labels": {..}, "annotations": {..}, "resolved": false, "startsMs": .., "endsMs":
 * ..}]}
 *   {"test": "RECEIVER", "timeoutMs": ..}, {"silence": {..}}, {"expire": "ID"}, {"reload":
 * ROUTES.yml}
 *   {"show": "alerts" | "groups" | "silences" | "deliveries" | "status" | "receivers" | "stats"}
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/alerts.h"
#include "alert/jsontree.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

struct player {
    struct alerts *alerts;
    struct alerts_config config;
    struct span managers[8];
    json_t *call;
    struct buf out;
    struct jsonw w;
};

static int read_routes(const char *path, struct alert_file **ret)
{
    static struct err_list errs;
    struct buf text;
    buf_init(&text, 1 << 20);
    err_list_init(&errs);
    int r = file_read(path, 1 << 20, &text);
    r = r < 0 ? r : alert_file_read(buf_span(&text), path, ret, &errs);
    err_list_print(&errs, stderr);
    buf_done(&text);
    return r;
}

/* Up to five request ids, as the gateway would find them; the value as a number behind it. */
static int find_evidence(void *ctx, const struct alert_notice *n, struct arena *a,
                         struct labels *ret)
{
    static const struct label found[] = {
        {SPAN_INIT("exemplar_requests"), SPAN_INIT("req-1, req-2")},
        {SPAN_INIT("requests_looked_at"), SPAN_INIT("42")},
    };
    (void)ctx;
    (void)n;
    return labels_copy(a, (struct labels){found, ARRAY_LEN(found)}, ret);
}

static int labels_of(json_t *object, struct arena *a, struct labels *ret)
{
    struct label *at = arena_zalloc(a, json_object_size(object) + 1, sizeof(*at));
    const char *key;
    json_t *value;
    size_t n = 0;
    if (!at)
        return -ENOMEM;
    json_object_foreach(object, key, value)
    {
        at[n].name = span_cstr(key);
        at[n++].value = span_of(json_string_value(value), json_string_length(value));
    }
    return labels_normalise(at, n, ret, NULL);
}

static int put(struct player *p, const json_t *list)
{
    struct arena a;
    int64_t now_ms = clock_wall().us / 1000;
    arena_init(&a, NULL);
    size_t n = json_array_size(list);
    struct alert_notice *at = arena_zalloc(&a, n, sizeof(*at));
    int r = at ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *starts = json_object_get(one, "startsMs"),
                     *ends = json_object_get(one, "endsMs");
        r = labels_of(json_object_get(one, "labels"), &a, &at[i].labels);
        if (r == 0)
            r = labels_of(json_object_get(one, "annotations"), &a, &at[i].annotations);
        at[i].is_resolved = json_is_true(json_object_get(one, "resolved"));
        at[i].starts_ms = starts ? json_integer_value(starts) : now_ms;
        at[i].ends_ms = ends ? json_integer_value(ends) : now_ms + (at[i].is_resolved ? 0 : 240000);
        at[i].value = 4.5;
        at[i].expr = SPAN("up == 0");
        at[i].generator_url = SPAN("http://gw.example/graph");
    }
    if (r == 0)
        r = alerts_put(p->alerts, at, n);
    arena_done(&a);
    return r;
}

static void show_stats(struct player *p)
{
    struct alerts_stats s;
    alerts_stats(p->alerts, &s);
    jsonw_begin_object(&p->w);
    jsonw_key(&p->w, "active");
    jsonw_u64(&p->w, s.n_active);
    jsonw_key(&p->w, "waiting");
    jsonw_u64(&p->w, s.n_waiting);
    jsonw_key(&p->w, "delivered");
    jsonw_u64(&p->w, s.n_delivered);
    jsonw_key(&p->w, "failedAttempts");
    jsonw_u64(&p->w, s.n_failed_attempts);
    jsonw_key(&p->w, "givenUp");
    jsonw_u64(&p->w, s.n_given_up);
    jsonw_end_object(&p->w);
}

static int show(struct player *p, struct span what)
{
    const struct alerts_filter all = {0};
    if (span_eq(what, SPAN("alerts")))
        alerts_write(p->alerts, &all, &p->w);
    else if (span_eq(what, SPAN("groups")))
        alerts_write_groups(p->alerts, &all, &p->w);
    else if (span_eq(what, SPAN("silences")))
        alerts_write_silences(p->alerts, &all, &p->w);
    else if (span_eq(what, SPAN("deliveries")))
        alerts_write_deliveries(p->alerts, &p->w);
    else if (span_eq(what, SPAN("status")))
        alerts_write_status(p->alerts, &p->w);
    else if (span_eq(what, SPAN("receivers")))
        alerts_write_receivers(p->alerts, &p->w);
    else
        show_stats(p);
    return jsonw_error(&p->w);
}

static int test(struct player *p, struct span receiver)
{
    struct buf text;
    struct err err = {.text = ""};
    const json_t *timeout = json_object_get(p->call, "timeoutMs");
    buf_init(&text, 1 << 20);
    const struct alerts_patience patience = {.timeout_ms =
                                                 timeout ? json_integer_value(timeout) : 10000};
    int r = alerts_test(p->alerts, receiver, &patience, &text, &err);
    jsonw_begin_object(&p->w);
    jsonw_key(&p->w, "result");
    jsonw_i64(&p->w, r);
    jsonw_key(&p->w, "text");
    jsonw_str(&p->w, buf_span(&text));
    jsonw_key(&p->w, "error");
    jsonw_cstr(&p->w, err.text);
    jsonw_end_object(&p->w);
    buf_done(&text);
    return 0;
}

static int append(const char *text, size_t n, void *ctx)
{
    return buf_append(ctx, span_of(text, n));
}

static int silence(struct player *p, const json_t *body)
{
    char id[SILENCE_ID_BYTES];
    struct err err = {.text = ""};
    struct buf json;
    buf_init(&json, 1 << 20);
    int r = json_dump_callback(body, append, &json, 0) == 0
                ? alerts_silence(p->alerts, buf_span(&json), id, &err)
                : -ENOMEM;
    buf_done(&json);
    if (r == 0)
        jsonw_cstr(&p->w, id);
    else
        jsonw_cstr(&p->w, err.text);
    return 0;
}

static int reload(struct player *p, struct span path)
{
    struct alert_file *file;
    int r = read_routes(path.p, &file);
    if (r < 0)
        return r;
    p->config.file = file;
    r = alerts_configure(p->alerts, &p->config);
    alert_file_unref(file);
    return r;
}

static int play(struct player *p)
{
    const json_t *list = json_object_get(p->call, "put"),
                 *body = json_object_get(p->call, "silence");
    if (list)
        return put(p, list);
    if (body)
        return silence(p, body);
    if (json_object_get(p->call, "expire"))
        return alerts_expire_silence(p->alerts, jsontree_text(p->call, "expire"));
    if (json_object_get(p->call, "test"))
        return test(p, jsontree_text(p->call, "test"));
    if (json_object_get(p->call, "reload"))
        return reload(p, jsontree_text(p->call, "reload"));
    return show(p, jsontree_text(p->call, "show"));
}

static void answer(struct player *p, struct span line)
{
    json_t *call;
    int r = jsontree_read(line, &call, NULL);
    buf_clear(&p->out);
    jsonw_init(&p->w, &p->out);
    p->call = r == 0 ? call : NULL;
    r = r == 0 ? play(p) : r;
    if (buf_len(&p->out) == 0 || r < 0) {
        buf_clear(&p->out);
        jsonw_init(&p->w, &p->out);
        jsonw_i64(&p->w, r);
    }
    printf("%.*s\n", SPAN_ARG(buf_span(&p->out)));
    (void)fflush(stdout);
    json_decref(p->call);
}

int main(int argc, char **argv)
{
    static struct player p;
    struct err err = {.text = ""};
    struct alert_file *file = NULL;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (argc < 2 || read_routes(argv[1], &file) < 0)
        return 2;
    p.config = (struct alerts_config){.file = file,
                                      .external_url = SPAN_INIT("http://gw.example"),
                                      .alertmanagers = p.managers,
                                      .evidence = find_evidence};
    for (int i = 2; i < argc; i++) {
        struct span value = span_cstr(argv[i]), key = span_split(&value, '=');
        if (span_eq(key, SPAN("dir")))
            p.config.dir = value.p;
        else
            p.managers[p.config.n_alertmanagers++] = value;
    }
    buf_init(&p.out, 64 << 20);
    if (log_start(&err) < 0 || alerts_new(&p.config, &p.alerts, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    alert_file_unref(file);
    puts("\"ready\"");
    (void)fflush(stdout);
    while ((n = getline(&line, &cap, stdin)) > 0)
        answer(&p, span_of(line, (size_t)n));
    free(line);
    alerts_free(p.alerts);
    buf_done(&p.out);
    log_stop();
    return 0;
}
