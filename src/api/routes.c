/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

static const struct route routes[] = {
    {SPAN_INIT("/"), false, status_handle_page, "the state of this gateway, for people"},
    {SPAN_INIT("/metrics"), false, metrics_page_handle,
     "Prometheus text, OpenMetrics or protobuf, by Accept; gzip on request"},
    {SPAN_INIT("/healthz"), false, health_handle_healthz, "200 while the process lives"},
    {SPAN_INIT("/readyz"), false, health_handle_readyz, "200 while traffic may be sent here"},
    {SPAN_INIT("/api/v1/status"), false, status_handle_json, "the same as JSON"},
    {SPAN_INIT("/api/v1/inflight"), false, requests_handle_inflight, "open requests"},
    {SPAN_INIT("/api/v1/requests/recent"), false, requests_handle_recent,
     "last finished requests, newest first; ?limit=N"},
    {SPAN_INIT("/-/reload"), true, actions_handle_reload,
     "POST: reads the configuration again, as SIGHUP does, and tells what came of it"},
};

const struct route *route_find(struct span path)
{
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (span_eq(routes[i].path, path))
            return &routes[i];
    return NULL;
}

const struct route *route_at(size_t i)
{
    return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}
