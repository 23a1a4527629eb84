/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_webhook.c - POST of a group as Alertmanager's webhook has it (version "4"), so
 * that what takes those takes ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"

enum { BODY_MAX = 64 << 20 };

struct webhook {
    struct http_receiver http;
    size_t max_alerts; /* 0: all */
};

static const struct option keys[] = {
    HTTP_RECEIVER_KEYS,
    {.key = "max_alerts", .type = OPTION_COUNT, .offset = offsetof(struct webhook, max_alerts)},
    {.key = "payload",
     .type = OPTION_REFUSED,
     .words = "the payload is that of Alertmanager's webhook, version 4"},
    {0},
};

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    void *config;
    int r = http_receiver_read(&o, map, global, keys, sizeof(struct webhook), &config);
    if (r == 0)
        r = http_receiver_need_url(&o, map, config, "url, url_file");
    if (r == 0)
        *ret = config;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    http_receiver_print(keys, config, w);
}

/* --- payload --- */

static void write_time(struct jsonw *w, const char *key, int64_t ms, bool is_set)
{
    struct buf b;
    buf_init(&b, 64);
    jsonw_key(w, key);
    if (!is_set)
        jsonw_cstr(w, "0001-01-01T00:00:00Z");
    else if (prose_rfc3339(ms, &b) == 0)
        jsonw_str(w, buf_span(&b));
    else
        jsonw_null(w); /* no memory: the rest will not have any either */
    buf_done(&b);
}

static void write_alert(struct jsonw *w, const struct alert_view *a)
{
    char fingerprint[17];
    (void)snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, a->fingerprint);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "status", a->is_resolved ? "resolved" : "firing");
    labels_write(a->labels, "labels", w);
    labels_write(a->annotations, "annotations", w);
    write_time(w, "startsAt", a->starts_ms, true);
    write_time(w, "endsAt", a->ends_ms, a->is_resolved);
    jsonw_put_str(w, "generatorURL", a->generator_url);
    jsonw_put_cstr(w, "fingerprint", fingerprint);
    jsonw_end_object(w);
}

void receiver_webhook_payload(const struct alert_message *m, size_t max_alerts, struct jsonw *w)
{
    size_t n = max_alerts > 0 && max_alerts < m->n ? max_alerts : m->n;
    jsonw_begin_object(w);
    jsonw_put_str(w, "receiver", m->receiver);
    jsonw_put_str(w, "status", m->n_firing > 0 ? SPAN("firing") : SPAN("resolved"));
    jsonw_key(w, "alerts");
    jsonw_begin_array(w);
    for (size_t i = 0; i < n; i++)
        write_alert(w, &m->alerts[i]);
    jsonw_end_array(w);
    jsonw_put_str(w, "notification_reason", m->reason);
    labels_write(m->group_labels, "groupLabels", w);
    labels_write(m->common_labels, "commonLabels", w);
    labels_write(m->common_annotations, "commonAnnotations", w);
    labels_write(m->route_labels, "routeLabels", w);
    jsonw_put_str(w, "externalURL", m->external_url);
    jsonw_put_str(w, "version", SPAN("4"));
    jsonw_put_str(w, "groupKey", m->group_key);
    jsonw_put_u64(w, "truncatedAlerts", m->n_truncated + (m->n - n));
    jsonw_end_object(w);
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct webhook *c = config;
    struct jsonw w;
    struct buf body;
    (void)now_ms;
    int r = http_receiver_begin(&c->http, "", a, ret, reterr);
    if (r < 0)
        return r;
    buf_init(&body, BODY_MAX);
    jsonw_init(&w, &body);
    receiver_webhook_payload(m, c->max_alerts, &w);
    r = http_receiver_end(&c->http, &w, &body, a, ret, reterr);
    buf_done(&body);
    return r;
}

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    (void)config;
    return http_receiver_judge(r, ret_wait_ms, ret_why);
}

const struct receiver_kind receiver_webhook = {
    .key = "webhook_configs",
    .name = "webhook",
    .tells_resolved = true,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
