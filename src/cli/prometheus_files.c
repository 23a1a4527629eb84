/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prometheus_files.h"

#include <errno.h>
#include <string.h>

#include "base/jsonw.h"
#include "cli/dialog.h"
#include "series/duration.h"
#include "yaml/write.h"

/* --- what is scraped --- */

/* A JSON string is one of YAML. */
static int put_text(struct span text, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_str(&w, text);
    return jsonw_error(&w);
}

static int put_target(const struct prometheus_setup *s, struct buf *out)
{
    int r = buf_append(out, SPAN("    static_configs: [{targets: ["));
    if (r == 0)
        r = put_text(s->target, out);
    if (r == 0)
        r = buf_append(out, SPAN("]}]\n"));
    if (r == 0 && s->token_file.n > 0) {
        r = buf_append(out, SPAN("    authorization: {credentials_file: "));
        if (r == 0)
            r = put_text(s->token_file, out);
        if (r == 0)
            r = buf_append(out, SPAN("}\n"));
    }
    return r;
}

static int put_alertmanager(const struct prometheus_setup *s, struct buf *out)
{
    if (s->alertmanager.n == 0)
        return 0;
    int r = buf_append(out, SPAN("alerting:\n"
                                 "  alertmanagers:\n"
                                 "    - static_configs: [{targets: ["));
    if (r == 0)
        r = put_text(s->alertmanager, out);
    return r < 0 ? r : buf_append(out, SPAN("]}]\n"));
}

int prometheus_files_config(const struct prometheus_setup *s, struct buf *out)
{
    int r =
        buf_printf(out,
                   "# Prometheus %s: the gateway's own numbers, and what it scrapes and measures\n"
                   "# beside the traffic, under the names that rules and dashboards ask for.\n"
                   "global: {scrape_interval: %llds, evaluation_interval: %llds}\n"
                   "rule_files: [%.*s]\n",
                   s->version == 3 ? "3.0 and later" : "2.42 and later (3.x: --for 3)",
                   (long long)s->interval_s, (long long)s->interval_s, SPAN_ARG(s->rule_files));
    if (r == 0)
        r = put_alertmanager(s, out);
    if (r == 0)
        r = buf_append(out, SPAN("scrape_configs:\n  - job_name: inferometer\n"));
    if (r == 0 && s->version == 3)
        r = buf_append(out,
                       SPAN("    # classic buckets stay where native histograms are scraped, too\n"
                            "    always_scrape_classic_histograms: true\n"));
    if (r == 0)
        r = put_target(s, out);
    if (r == 0)
        r = buf_append(out,
                       SPAN("  - job_name: inferometer-collected\n"
                            "    honor_labels: true # those of what was measured\n"
                            "    metrics_path: /federate\n"
                            "    params:\n"
                            "      'match[]':\n"
                            "        - '{__name__=~\"(engine|gpu|host|clock|kafka|scrape|source)_"
                            ".+|up|llm_baseline\"}'\n"));
    return r < 0 ? r : put_target(s, out);
}

/* --- rules --- */

#define DURATION_MS_MAX 9e15 /* what a double holds exactly */

static void put_duration(struct yamlw *w, const char *key, const json_t *seconds)
{
    double ms = json_number_value(seconds) * 1000 + 0.5;
    struct buf b;
    if (!(ms >= 1))
        return;
    buf_init(&b, 64);
    yamlw_fail(w, ms < DURATION_MS_MAX ? duration_print((int64_t)ms, &b) : -EPROTO);
    yamlw_key(w, key);
    yamlw_str(w, buf_span(&b));
    buf_done(&b);
}

static void put_texts(struct yamlw *w, const char *key, json_t *texts)
{
    const char *name;
    json_t *value;
    if (json_object_size(texts) == 0)
        return;
    yamlw_key(w, key);
    yamlw_begin_map(w);
    json_object_foreach(texts, name, value)
    {
        yamlw_key_str(w, span_cstr(name));
        yamlw_str(w, span_cstr(json_string_value(value)));
    }
    yamlw_end_map(w);
}

static void put_rule(struct yamlw *w, const json_t *rule)
{
    bool is_alert = span_eq(dialog_text(rule, "type"), SPAN("alerting"));
    yamlw_begin_map(w);
    yamlw_key(w, is_alert ? "alert" : "record");
    yamlw_str(w, dialog_text(rule, "name"));
    yamlw_key(w, "expr");
    yamlw_str(w, dialog_text(rule, "query"));
    put_duration(w, "for", json_object_get(rule, "duration"));
    put_duration(w, "keep_firing_for", json_object_get(rule, "keepFiringFor"));
    put_texts(w, "labels", json_object_get(rule, "labels"));
    put_texts(w, "annotations", json_object_get(rule, "annotations"));
    yamlw_end_map(w);
}

static void put_group(struct yamlw *w, const json_t *group)
{
    size_t i;
    json_t *rule;
    json_int_t limit = json_integer_value(json_object_get(group, "limit"));
    yamlw_begin_map(w);
    yamlw_key(w, "name");
    yamlw_str(w, dialog_text(group, "name"));
    put_duration(w, "interval", json_object_get(group, "interval"));
    if (limit > 0) {
        yamlw_key(w, "limit");
        yamlw_i64(w, limit);
    }
    yamlw_key(w, "rules");
    yamlw_begin_list(w);
    json_array_foreach(json_object_get(group, "rules"), i, rule)
    {
        put_rule(w, rule);
    }
    yamlw_end_list(w);
    yamlw_end_map(w);
}

int prometheus_files_rules(const json_t *groups, struct span file, struct buf *out)
{
    struct yamlw w;
    size_t i;
    json_t *group;
    yamlw_init(&w, out);
    yamlw_begin_map(&w);
    yamlw_key(&w, "groups");
    yamlw_begin_list(&w);
    json_array_foreach(groups, i, group)
    {
        if (span_eq(dialog_text(group, "file"), file))
            put_group(&w, group);
    }
    yamlw_end_list(&w);
    yamlw_end_map(&w);
    return yamlw_error(&w);
}
