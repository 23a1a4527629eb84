/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/collecting_own.c - upstreams and scrape.targets as a file of scrape_configs: one way to
 * read what is scraped, and what it says can be taken to a Prometheus.
 */
#include "base/num.h"
#include "daemon/collecting.h"
#include "yaml/write.h"

enum { URL_MAX = 4096 };

static void duration(struct yamlw *w, const char *key, int64_t ns)
{
    char text[32];
    size_t n = num_format_i64(ns / NS_PER_MS, text);
    text[n] = 'm';
    text[n + 1] = 's';
    yamlw_key(w, key);
    yamlw_str(w, span_of(text, n + 2));
}

static void text(struct yamlw *w, const char *key, struct span value)
{
    yamlw_key(w, key);
    yamlw_str(w, value);
}

static void job_begin(struct yamlw *w, const char *name, const struct config *c)
{
    int64_t timeout_ns =
        c->scrape_timeout_ns < c->scrape_interval_ns ? c->scrape_timeout_ns : c->scrape_interval_ns;
    yamlw_begin_map(w);
    text(w, "job_name", span_cstr(name));
    duration(w, "scrape_interval", c->scrape_interval_ns);
    duration(w, "scrape_timeout", timeout_ns);
    yamlw_key(w, "static_configs");
    yamlw_begin_list(w);
}

/* Scheme and path stand with each target, as Prometheus reads them from labels. */
static void target(struct yamlw *w, struct span url, const char *upstream)
{
    struct span rest = span_from(url, span_find(url, SPAN("//")) + 2);
    struct span scheme = span_starts_with(url, SPAN("https")) ? SPAN("https") : SPAN("http");
    size_t slash = span_find_char(rest, '/');
    struct span path = span_from(rest, slash);
    yamlw_begin_map(w);
    yamlw_key(w, "targets");
    yamlw_begin_list(w);
    yamlw_str(w, span_of(rest.p, slash));
    yamlw_end_list(w);
    yamlw_key(w, "labels");
    yamlw_begin_map(w);
    text(w, "__scheme__", scheme);
    text(w, "__metrics_path__", path.n > 0 ? path : SPAN("/metrics"));
    if (upstream)
        text(w, "upstream", span_cstr(upstream));
    yamlw_end_map(w);
    yamlw_end_map(w);
}

static void job_end(struct yamlw *w)
{
    yamlw_end_list(w);
    yamlw_end_map(w);
}

/* Where an upstream's page is, into out; nothing: it has none that we know of. */
static int upstream_url(const struct config_upstream *u, struct buf *out)
{
    struct span url = span_cstr(u->url), page = span_cstr(u->metrics);
    bool is_auto = span_eq(page, SPAN("auto"));
    if (span_starts_with(page, SPAN("http")))
        return buf_append(out, page);
    if (span_eq(page, SPAN("none")) || span_starts_with(url, SPAN("unix:")) ||
        (is_auto && !span_starts_with(url, SPAN("http://"))))
        return 0;
    size_t host = span_find(url, SPAN("//")) + 2;
    size_t end = host + span_find_char(span_from(url, host), '/');
    int r = buf_append(out, span_of(url.p, end));
    return r < 0 ? r : buf_append(out, is_auto ? SPAN("/metrics") : page);
}

/* A server behind several upstreams has one page. */
static int is_listed(const struct config *c, size_t n_before, struct span url, bool *ret)
{
    struct buf other;
    int r = 0;
    buf_init(&other, URL_MAX);
    *ret = false;
    for (size_t i = 0; r == 0 && i < n_before && !*ret; i++) {
        buf_clear(&other);
        r = upstream_url(&c->upstreams.items[i], &other);
        *ret = r == 0 && span_eq(buf_span(&other), url);
    }
    buf_done(&other);
    return r;
}

static void upstreams(struct yamlw *w, const struct config *c)
{
    job_begin(w, "upstreams", c);
    for (size_t i = 0; i < c->upstreams.n; i++) {
        struct buf url;
        bool is_there = false;
        buf_init(&url, URL_MAX);
        int r = upstream_url(&c->upstreams.items[i], &url);
        if (r == 0)
            r = is_listed(c, i, buf_span(&url), &is_there);
        yamlw_fail(w, r);
        if (buf_len(&url) > 0 && !is_there)
            target(w, buf_span(&url), c->upstreams.items[i].name);
        buf_done(&url);
    }
    job_end(w);
}

static void targets(struct yamlw *w, const struct config *c)
{
    job_begin(w, "targets", c);
    for (size_t i = 0; i < c->scrape_targets.n; i++)
        target(w, span_cstr(c->scrape_targets.items[i]), NULL);
    job_end(w);
}

int collecting_own_write(const struct config *c, struct buf *out)
{
    struct yamlw w;
    yamlw_init(&w, out);
    yamlw_begin_map(&w);
    yamlw_key(&w, "scrape_configs");
    yamlw_begin_list(&w);
    upstreams(&w, c);
    if (c->scrape_targets.n > 0)
        targets(&w, c);
    yamlw_end_list(&w);
    yamlw_end_map(&w);
    return yamlw_error(&w);
}
