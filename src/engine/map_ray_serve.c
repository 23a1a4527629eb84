/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_ray_serve.c - Ray Serve. Its counters may have _total, and the engine behind it has
 * names of its own.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"ray_serve_deployment_error_counter", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_deployment_processing_latency_ms", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_deployment_queued_queries", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_deployment_queuing_latency_ms", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_deployment_request_counter", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_num_http_error_requests", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_num_http_requests", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_replica_processing_queries", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"ray_serve_replica_queued_queries", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING, .part = {M("ray_serve_replica_processing_queries")}},
    {.signal = SIGNAL_WAITING, .part = {M("ray_serve_replica_queued_queries")}},
    {.signal = SIGNAL_WAITING, .part = {M("ray_serve_deployment_queued_queries")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {M("ray_serve_replica_processing_queries"), M("ray_serve_replica_queued_queries")}},
    {.signal = SIGNAL_E2E,
     .part = {M("ray_serve_deployment_processing_latency_ms")},
     .scale = 1e-3},
    {.signal = SIGNAL_QUEUE,
     .part = {M("ray_serve_deployment_queuing_latency_ms")},
     .scale = 1e-3,
     .note = "at the handle"},
    {.signal = SIGNAL_SUCCESS,
     .part = {M("ray_serve_deployment_request_counter")},
     .note = "all requests that were processed"},
    {.signal = SIGNAL_FAILURE, .part = {M("ray_serve_deployment_error_counter")}},
    {.signal = SIGNAL_FAILURE,
     .part = {M("ray_serve_num_http_error_requests")},
     .label_from = "error_code"},
    {.signal = SIGNAL_ARRIVED, .part = {M("ray_serve_num_http_requests")}},
};

static const struct engine_prefix prefixes[] = {
    {.as = "ray_serve_", .in_table = "ray_serve_", .flags = ENGINE_PREFIX_NO_TOTAL},
    {.as = NULL},
};

static const enum signal expected[] = {
    SIGNAL_RUNNING,
    SIGNAL_E2E,
};

const struct engine_map map_ray_serve = {
    .name = "ray-serve",
    .title = "Ray Serve",
    .rank = ENGINE_RANK_WRAPPER,
    .prefixes = prefixes,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = expected,
    .n_expected = ARRAY_LEN(expected),
    .print_version = map_print_release,
};
