/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/peers.h"

#include "base/jsonw.h"

static void begin(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
}

static void begin_list(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
}

static void rule_files(struct jsonw *w, const char *key, const struct verify_addresses *a)
{
    begin_list(w, key);
    for (size_t i = 0; i < a->n_rules; i++)
        jsonw_cstr(w, a->rules[i]);
    jsonw_end_array(w);
}

/* --- the gateway --- */

static void gateway_upstream(struct jsonw *w, const struct verify_addresses *a)
{
    begin_list(w, "upstreams");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", "verify");
    jsonw_put_cstr(w, "url", a->engine);
    jsonw_put_cstr(w, "metrics", a->metrics ? a->metrics : "none");
    jsonw_put_cstr(w, "proxy", "none");
    jsonw_end_object(w);
    jsonw_end_array(w);
}

static void gateway_rules(struct jsonw *w, const struct verify_addresses *a)
{
    begin(w, "rules");
    rule_files(w, "files", a);
    jsonw_put_bool(w, "builtin", false);
    jsonw_end_object(w);
    begin(w, "alerting");
    begin_list(w, "alertmanagers");
    if (a->alertmanager)
        jsonw_cstr(w, a->alertmanager);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

/* One sample a second of everything; nothing of this machine. */
static void gateway_samples(struct jsonw *w)
{
    begin(w, "history");
    jsonw_put_cstr(w, "interval", "1s");
    jsonw_end_object(w);
    begin(w, "scrape");
    jsonw_put_cstr(w, "interval", "1s");
    jsonw_put_cstr(w, "timeout", "1s");
    jsonw_end_object(w);
    begin(w, "host");
    jsonw_put_bool(w, "metrics", false);
    jsonw_end_object(w);
    begin(w, "gpu");
    jsonw_put_cstr(w, "source", "none");
    jsonw_end_object(w);
    begin(w, "requests");
    jsonw_put_cstr(w, "spill", "1MiB");
    jsonw_end_object(w);
}

int verify_peers_gateway(const struct verify_addresses *a, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "listen", "127.0.0.1:0");
    begin(&w, "admin");
    jsonw_put_cstr(&w, "listen", "127.0.0.1:0");
    jsonw_end_object(&w);
    jsonw_put_i64(&w, "workers", 1);
    jsonw_put_cstr(&w, "data_dir", a->data_dir);
    jsonw_put_cstr(&w, "drain_timeout", "1s");
    begin(&w, "log");
    jsonw_put_cstr(&w, "file", "");
    jsonw_end_object(&w);
    gateway_upstream(&w, a);
    gateway_samples(&w);
    gateway_rules(&w, a);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

/* --- Prometheus --- */

/* The path of a URL behind its host; "/metrics" where it has none. */
static struct span path_of(const char *url, struct span *ret_host, struct span *ret_scheme)
{
    struct span rest = span_cstr(url);
    size_t n = span_find(rest, SPAN("://"));

    *ret_scheme = SPAN("http");
    if (n < rest.n) {
        *ret_scheme = span_take(&rest, n);
        (void)span_take(&rest, strlen("://"));
    }
    *ret_host = span_take(&rest, span_find_char(rest, '/'));
    return rest.n > 0 ? rest : SPAN("/metrics");
}

static void put_target(struct jsonw *w, struct span host)
{
    begin_list(w, "static_configs");
    jsonw_begin_object(w);
    begin_list(w, "targets");
    jsonw_str(w, host);
    jsonw_end_array(w);
    jsonw_end_object(w);
    jsonw_end_array(w);
}

static void scrape_job(struct jsonw *w, const char *name, const char *url)
{
    struct span host, scheme;
    struct span path = path_of(url, &host, &scheme);

    jsonw_begin_object(w);
    jsonw_put_cstr(w, "job_name", name);
    jsonw_put_str(w, "scheme", scheme);
    jsonw_put_str(w, "metrics_path", path);
    put_target(w, host);
    jsonw_end_object(w);
}

static void prometheus_alerting(struct jsonw *w, const struct verify_addresses *a)
{
    struct span host, scheme;

    (void)path_of(a->alertmanager, &host, &scheme);
    begin(w, "alerting");
    begin_list(w, "alertmanagers");
    jsonw_begin_object(w);
    put_target(w, host);
    jsonw_end_object(w);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

int verify_peers_prometheus(const struct verify_addresses *a, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    begin(&w, "global");
    jsonw_put_cstr(&w, "scrape_interval", "1s");
    jsonw_put_cstr(&w, "scrape_timeout", "1s");
    jsonw_put_cstr(&w, "evaluation_interval", "1s");
    begin(&w, "external_labels");
    jsonw_put_cstr(&w, VERIFY_SOURCE_LABEL, VERIFY_SOURCE_PROM);
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    begin_list(&w, "scrape_configs");
    scrape_job(&w, "gateway", a->admin);
    if (a->metrics)
        scrape_job(&w, "engine", a->metrics);
    jsonw_end_array(&w);
    rule_files(&w, "rule_files", a);
    if (a->alertmanager)
        prometheus_alerting(&w, a);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

/* --- Alertmanager --- */

int verify_peers_alertmanager(struct buf *out)
{
    /* Nobody is told: what is looked at is what it holds. */
    return buf_append(out, SPAN("{\"route\":{\"receiver\":\"nobody\",\"group_wait\":\"1s\","
                                "\"group_interval\":\"1s\",\"repeat_interval\":\"1h\"},"
                                "\"receivers\":[{\"name\":\"nobody\"}]}"));
}
