/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"
#include "api/prom.h"
#include "api/web_files.h"

#define PAGE(path, handle, help)                                                                   \
    {                                                                                              \
        SPAN_INIT(path), ROUTE_PAGE, handle, NULL, help, ROUTE_GUARDED, NULL                       \
    }
#define OPEN_PAGE(path, handle, access, help)                                                      \
    {                                                                                              \
        SPAN_INIT(path), ROUTE_PAGE, handle, NULL, help, access, NULL                              \
    }
#define FORM(path, handle, post, help)                                                             \
    {                                                                                              \
        SPAN_INIT(path), ROUTE_FORM, handle, NULL, help, ROUTE_OPEN, post                          \
    }
#define CALL(path, kind, call, help)                                                               \
    {                                                                                              \
        SPAN_INIT("/api/v1/" path), kind, NULL, call, help, ROUTE_GUARDED, NULL                    \
    }
#define CALL2(path, kind, call, help)                                                              \
    {                                                                                              \
        SPAN_INIT("/api/v2/" path), kind, NULL, call, help, ROUTE_GUARDED, NULL                    \
    }

static const struct route routes[] = {
    OPEN_PAGE("/", web_files_handle_index, ROUTE_OPEN,
              "pages for people; for terminals the state of this gateway"),
    PAGE("/status", status_handle_page, "the state of this gateway, for people"),
    PAGE("/status.css", status_handle_style, "how that page looks"),
    PAGE("/status.js", status_handle_script, "what fills it"),
    OPEN_PAGE("/ui/**", web_files_handle_app, ROUTE_OPEN, "links into the pages at /"),
    OPEN_PAGE("/assets/*", web_files_handle_asset, ROUTE_OPEN, "what the pages load"),
    FORM("/login", login_handle_page, login_post, "POST: a token; a browser's session begins"),
    FORM("/logout", login_handle_page, login_post_leave, "POST: it ends"),
    OPEN_PAGE("/login.css", login_handle_style, ROUTE_OPEN, "how the page of /login looks"),
    OPEN_PAGE("/api/v1/session", login_handle_session, ROUTE_OPEN, "who asks, and what they may"),
    OPEN_PAGE("/metrics", metrics_page_handle, ROUTE_OPEN_METRICS,
              "Prometheus text, OpenMetrics or protobuf, by Accept; gzip on request"),
    OPEN_PAGE("/healthz", health_handle_healthz, ROUTE_OPEN_HEALTH, "200 while the process lives"),
    OPEN_PAGE("/readyz", health_handle_readyz, ROUTE_OPEN_HEALTH,
              "200 while traffic may be sent here"),
    PAGE("/api/v1/status", status_handle_json, "the same as JSON"),
    PAGE("/api/v1/definitions", definitions_handle,
         "what every metric, field and figure means, in English and Chinese"),
    PAGE("/api/v1/events", changes_handle, "what has changed, as server-sent events"),
    {SPAN_INIT("/graph"), ROUTE_QUERY, NULL, prom_query_graph,
     "where links in alerts lead: g0.expr at this moment, as /api/v1/query answers", ROUTE_GUARDED,
     NULL},
    {SPAN_INIT("/federate"), ROUTE_QUERY, NULL, prom_federate_text,
     "the last sample of each series that match[] means, for another Prometheus (honor_labels)",
     ROUTE_GUARDED, NULL},
    CALL("collected", ROUTE_QUERY, collected_get,
         "what is scraped and measured beside the traffic, and what was recognised"),
    CALL("prices", ROUTE_CALL, collected_prices, "what tokens cost, as cost.prices tells"),
    PAGE("/api/v1/inflight", requests_handle_inflight, "open requests"),
    PAGE("/api/v1/requests/recent", requests_handle_recent,
         "last finished requests, newest first; ?limit=N"),
    CALL("requests", ROUTE_QUERY, search_list,
         "requests that are kept; from, to, FIELD=VALUE, FIELD>=VALUE, order, limit, after"),
    CALL("requests/*", ROUTE_QUERY, search_one, "one of them by its id"),
    CALL("query", ROUTE_QUERY, prom_query_instant, "PromQL at a moment: query, time"),
    CALL("query_range", ROUTE_QUERY, prom_query_range,
         "PromQL over a range: query, start, end, step"),
    CALL("series", ROUTE_QUERY, prom_labels_series, "series that match[] means"),
    CALL("labels", ROUTE_QUERY, prom_labels_names, "names of labels"),
    CALL("label/*/values", ROUTE_QUERY, prom_labels_values, "values of a label"),
    CALL("query_exemplars", ROUTE_CALL, prom_exemplars_query,
         "requests behind buckets of histograms, the newest of each"),
    CALL("format_query", ROUTE_CALL, prom_query_format, "a query as it is written best"),
    CALL("metadata", ROUTE_CALL, prom_info_metadata, "types and help of metrics"),
    CALL("targets", ROUTE_QUERY, prom_info_targets, "what is scraped"),
    CALL("rules", ROUTE_CALL, alerting_rules,
         "recording and alerting rules; type, rule_name[], rule_group[], file[], exclude_alerts"),
    CALL("alerts", ROUTE_CALL, alerting_alerts, "alerts that are pending or firing"),
    CALL("alerts/deliveries", ROUTE_CALL, alerting_deliveries,
         "what was delivered last to whom, what failed and is tried again"),
    CALL("alerts/test", ROUTE_WORK, alerting_test, "POST: sends a test alert to a receiver"),
    CALL("alerts/route", ROUTE_CALL, alerting_route, "receivers of an alert with label=NAME=VALUE"),
    CALL("incidents", ROUTE_QUERY, incident_calls_list,
         "what went wrong, newest first; from, to, open, limit"),
    CALL("incidents/*", ROUTE_QUERY, incident_calls_one,
         "one of them with alerts, curves and notes; format=markdown"),
    CALL("incidents/*/notes", ROUTE_WORK, incident_calls_add_note,
         "POST: adds a note; text, author"),
    CALL("incidents/*/ack", ROUTE_WORK, incident_calls_ack, "POST: somebody sees to it; author"),
    CALL("incidents/*/noise", ROUTE_WORK, incident_calls_noise,
         "POST: it was noise, or one alert of it; author, alert, undo"),
    CALL("slo/review", ROUTE_QUERY, review_calls_get,
         "which alerts were noise, what none told of, budgets, advice; since=90d, to, "
         "format=markdown, only=budgets"),
    CALL2("alerts", ROUTE_VIEW, alerting_list, "alerts under delivery, as Alertmanager lists them"),
    CALL2("alerts/groups", ROUTE_VIEW, alerting_groups, "the same by group"),
    CALL2("silences", ROUTE_LIST, alerting_silences, "silences; POST makes or changes one"),
    CALL2("silence/*", ROUTE_OBJECT, alerting_silence, "one of them; DELETE ends it"),
    CALL2("receivers", ROUTE_VIEW, alerting_receivers, "names of receivers"),
    CALL2("status", ROUTE_VIEW, alerting_status, "for clients of Alertmanager"),
    CALL("status/buildinfo", ROUTE_CALL, prom_info_build, "version, for clients of Prometheus"),
    {SPAN_INIT("/-/reload"), ROUTE_CHANGE, actions_handle_reload, NULL,
     "POST: reads the configuration again, as SIGHUP does, and tells what came of it",
     ROUTE_GUARDED, NULL},
};

static bool is_match(struct span pattern, struct span path)
{
    size_t at = span_find_char(pattern, '*');
    if (at == pattern.n)
        return span_eq(pattern, path);
    struct span behind = span_from(pattern, at + 1);
    if (span_eq(behind, SPAN("*")))
        return span_starts_with(path, span_of(pattern.p, at));
    if (path.n <= at + behind.n || !span_starts_with(path, span_of(pattern.p, at)) ||
        !span_ends_with(path, behind))
        return false;
    struct span any = span_of(path.p + at, path.n - at - behind.n);
    return span_find_char(any, '/') == any.n;
}

const struct route *route_find(struct span path)
{
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (is_match(routes[i].path, path))
            return &routes[i];
    }
    return NULL;
}

const struct route *route_at(size_t i)
{
    return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}

bool route_is_open(const struct route *r, const struct api_access *a, const struct session *s)
{
    return s->role != SESSION_NONE || r->access == ROUTE_OPEN ||
           (r->access == ROUTE_OPEN_HEALTH && a->open_health) ||
           (r->access == ROUTE_OPEN_METRICS && a->open_metrics);
}
