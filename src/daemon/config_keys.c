/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_keys.c - the table of configuration keys.
 *
 * Sections stand together and parents before children, since documents and examples follow the
 * order of the table. Defaults are written as a user would write them and go through the same
 * setters, so a default outside its own bounds fails the first test.
 */
#include "daemon/config_keys.h"

#include "base/clock.h"
#include "base/limits.h"
#include "daemon/config_collect.h"
#include "daemon/config_items.h"
#include "daemon/config_labels.h"
#include "daemon/config_prices.h"
#include "daemon/config_slos.h"
#include "daemon/config_upstreams.h"

#define FIELD(name) offsetof(struct config, name)
#define MINUTE      (60 * NS_PER_S)
#define HOUR        (60 * MINUTE)
#define DAY         (24 * HOUR)
#define YEAR        (INT64_C(365) * DAY)

const struct config_key config_keys[] = {
    {
        .path = "listen",
        .type = &config_type_addrs,
        .def = "127.0.0.1:8400",
        .min = 1,
        .max = 16,
        .reload = CONFIG_RESTART,
        .offset = FIELD(listen),
        .example = "[\"127.0.0.1:8400\", \"[::1]:8400\"]",
        .help = "Where clients connect: one address or a list. `:8400` means every IPv4 address, "
                "`unix:/PATH` is a Unix socket.",
    },
    {
        .path = "workers",
        .type = &config_type_count,
        .def = "auto",
        .min = 1,
        .max = 256,
        .reload = CONFIG_RESTART,
        .offset = FIELD(workers),
        .word = "auto",
        .help = "Threads that move bytes, each with an event loop. `auto` is one per CPU that the "
                "process may use, at most 64.",
    },
    {
        .path = "data_dir",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(data_dir),
        .example = "/var/lib/inferometer",
        .help = "Directory for what is kept across restarts: the history of all series, and the "
                "rows of requests. Made when it is not there. Empty: nothing is kept, and queries "
                "of the history have no answer.",
    },
    {
        .path = "time_zone",
        .type = &config_type_text,
        .def = "Local",
        .reload = CONFIG_RESTART,
        .offset = FIELD(time_zone),
        .example = "Asia/Shanghai",
        .help = "Zone in which the same time of day is looked for when rules ask what is usual "
                "(`llm_baseline`): an IANA name, `UTC`, or `Local`, which is the machine's.",
    },
    {
        .path = "drain_timeout",
        .type = &config_type_duration,
        .def = "30s",
        .min = 0,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(drain_timeout_ns),
        .help =
            "How long running requests may go on after a stop was asked for; then they are cut.",
    },
    {
        .path = "drain_delay",
        .type = &config_type_duration,
        .def = "0",
        .min = 0,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(drain_delay_ns),
        .example = "10s",
        .help = "How long new connections are still taken after a stop was asked for, with "
                "`/readyz` saying no already, so that load balancers notice in time.",
    },
    {
        .path = "handover",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(handover),
        .example = "/run/inferometer/handover",
        .help = "Path of a Unix socket where the next process gets the listening sockets, so that "
                "a restart loses no connection: start the new one, and the old one drains and "
                "leaves once the new one serves. Empty: none.",
    },
    {
        .path = "models",
        .type = &config_type_texts,
        .def = "[]",
        .max = 1000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(models),
        .example = "[llama-3.1-8b, qwen2.5-72b]",
        .help = "Model names that are metric label values from the start. Others become one when a "
                "request for them is answered with 2xx, and are `other` until then.",
    },
    {
        .path = "upstreams",
        .type = &config_type_items,
        .min = 1,
        .max = GATEWAY_UPSTREAMS_MAX,
        .reload = CONFIG_RESTART,
        .offset = FIELD(upstreams),
        .item = &config_item_upstream,
        .example = "[{name: vllm, url: \"http://127.0.0.1:8000\"}]",
        .help = "The inference servers: a list of mappings with the keys below. A URL alone will "
                "do for one.",
    },
    {
        .path = "aliases",
        .type = &config_type_aliases,
        .def = "[]",
        .max = 1000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(aliases),
        .example = "[\"gpt-4o=llama-3.1-70b\"]",
        .help = "Other names of models, as `NAME=MODEL`: a request for the first is routed, "
                "measured and sent as one for the second.",
    },
    {
        .path = "labels",
        .type = &config_type_items,
        .def = "[]",
        .max = CONFIG_LABELS_MAX,
        .reload = CONFIG_RESTART,
        .offset = FIELD(labels),
        .item = &config_item_label,
        .example = "[{name: tenant, from: [key, \"header:X-Tenant\"]}, tier]",
        .help = "Labels of your own for requests: a list of mappings with the keys below. A name "
                "alone will do for one that gateway keys tell. Families about requests have them "
                "(docs/METRICS.md), and so does the request log. They multiply series: "
                "`metrics.max_series` holds over all.",
    },
    {
        .path = "slos",
        .type = &config_type_items,
        .def = "[]",
        .max = SLO_MAX,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(slos),
        .item = &config_item_slo,
        .example = "[{name: chat, preset: chat, match: {model: [\"qwen*\", llama-3.1-8b]}}]",
        .help = "Service level objectives: a list of mappings with the keys below; the name of a "
                "preset alone will do for one. Requests are counted in `llm_slo_total` and "
                "`llm_slo_good_total`, `inferometer slo rules` makes alert rules of them, and "
                "every threshold becomes a bucket bound of its histogram (`metrics.bounds`).",
    },
    {
        .path = "models_refresh",
        .type = &config_type_duration,
        .def = "60s",
        .min = 100 * NS_PER_MS,
        .word = "0",
        .max = 24 * HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(models_refresh_ns),
        .help = "How often upstreams without `models` are asked for theirs (`GET /v1/models`), "
                "where there are several. 0: never.",
    },
    {
        .path = "kafka",
        .type = &config_type_items,
        .def = "[]",
        .max = 16,
        .reload = CONFIG_RESTART,
        .offset = FIELD(kafkas),
        .item = &config_item_kafka,
        .help = "Kafka clusters whose consumer groups feed the engines: how far they are behind.",
    },
    {
        .path = "listen_tls.cert",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(listen_cert),
        .example = "/etc/inferometer/tls.pem",
        .help = "PEM file with the certificate, and those of its issuers behind it: clients then "
                "speak TLS on every address of `listen` that is no Unix socket. Read again on "
                "reload.",
    },
    {
        .path = "listen_tls.key",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(listen_key),
        .example = "/etc/inferometer/tls.key",
        .help = "PEM file with its key, not encrypted; without one it is in the same file. Read "
                "again on "
                "reload.",
    },
    {
        .path = "access.keys",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(access_keys),
        .example = "/etc/inferometer/keys.json",
        .help = "File of the keys that clients have to show, made and changed with `inferometer "
                "key`; changes of the file are seen within two seconds. Clients' credentials then "
                "stay here and reach no upstream. Empty: no keys are needed.",
    },
    {
        .path = "access.open",
        .type = &config_type_bool,
        .def = "false",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(access_open),
        .help = "Serve everybody on an address that is not loopback although there are no keys. "
                "Without it, and without `access.keys`, such an address is refused.",
    },
    {
        .path = "admin.listen",
        .type = &config_type_addr,
        .def = "127.0.0.1:8401",
        .reload = CONFIG_RESTART,
        .offset = FIELD(admin_listen),
        .help = "Where pages, metrics, health, and the admin API are served. Without a token "
                "(`admin.token_file`) an address that other machines reach is refused.",
    },
    {
        .path = "admin.token_file",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_token_file),
        .example = "/etc/inferometer/admin.token",
        .help = "File with the token that opens the admin listener, for looking and for changing "
                "(silences, notes, reload): one line of 16 to 256 characters. Browsers log in with "
                "it, programs send `Authorization: Bearer TOKEN`. Read again on reload. Empty: no "
                "such token.",
    },
    {
        .path = "admin.token_env",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_token_env),
        .example = "INFEROMETER_TOKEN",
        .help = "Environment variable with that token instead of a file.",
    },
    {
        .path = "admin.read_token_file",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_read_token_file),
        .example = "/etc/inferometer/read.token",
        .help = "File with a token for looking only, likewise. Without one nobody is let in for "
                "looking only; without `admin.token_file` and `admin.token_env` nobody may change "
                "anything then.",
    },
    {
        .path = "admin.read_token_env",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_read_token_env),
        .example = "INFEROMETER_READ_TOKEN",
        .help = "Environment variable with that token instead of a file.",
    },
    {
        .path = "admin.open_metrics",
        .type = &config_type_bool,
        .def = "false",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_open_metrics),
        .help = "Serve `/metrics` without a token where there are tokens. Names of models and "
                "tenants stand there.",
    },
    {
        .path = "admin.open_health",
        .type = &config_type_bool,
        .def = "true",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_open_health),
        .help = "Likewise `/healthz` and `/readyz`.",
    },
    {
        .path = "admin.session",
        .type = &config_type_duration,
        .def = "12h",
        .min = 60 * NS_PER_S,
        .max = 90 * 24 * 3600 * NS_PER_S,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(admin_session_ns),
        .help = "How long a browser's login holds. Another token ends it at once.",
    },
    {
        .path = "usage.inject",
        .type = &config_type_bool,
        .def = "true",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(usage_inject),
        .help = "Ask the upstream for token usage in streams whose client did not, and remove the "
                "answer to that again. Without it, such streams have no token counts.",
    },
    {
        .path = "timeline.every",
        .type = &config_type_count,
        .def = "100",
        .max = 1000000000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(timeline_every),
        .help =
            "Keep when each part of the answer arrived (`timeline` in the request log) for every "
            "n-th stream, beside those that were slow or failed; 1 for all, 0 for those only.",
    },
    {
        .path = "limits.request_window",
        .type = &config_type_bytes,
        .def = "1MiB",
        .min = 4 * KIB,
        .max = 64 * MIB,
        .reload = CONFIG_RESTART,
        .offset = FIELD(request_window_bytes),
        .help =
            "Part of a request body that is held, read for the model name, and can be sent again. "
            "A larger body is streamed through without usage injection.",
    },
    {
        .path = "limits.max_body",
        .type = &config_type_bytes,
        .def = "64MiB",
        .min = KIB,
        .max = 16 * GIB,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(max_body_bytes),
        .help = "Largest request body; more is answered with 413.",
    },
    {
        .path = "limits.max_connections",
        .type = &config_type_count,
        .def = "20000",
        .min = 1,
        .max = 1000000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(max_conns),
        .help = "Client connections per worker; more are refused.",
    },
    {
        .path = "limits.max_idle_upstream",
        .type = &config_type_count,
        .def = "256",
        .min = 0,
        .max = 100000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(max_idle_upstream),
        .help = "Unused connections per worker that are kept open to an upstream.",
    },
    {
        .path = "timeouts.connect",
        .type = &config_type_duration,
        .def = "5s",
        .min = NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(connect_timeout_ns),
        .help = "Name lookup and connection to the upstream.",
    },
    {
        .path = "timeouts.first_byte",
        .type = &config_type_duration,
        .def = "10m",
        .min = NS_PER_MS,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(first_byte_timeout_ns),
        .help =
            "From the request sent to the head of the answer. Non-streams answer only when they "
            "are done.",
    },
    {
        .path = "timeouts.idle",
        .type = &config_type_duration,
        .def = "5m",
        .min = NS_PER_MS,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(idle_timeout_ns),
        .help = "Longest silence of the upstream inside an answer.",
    },
    {
        .path = "timeouts.total",
        .type = &config_type_duration,
        .def = "0",
        .min = 0,
        .max = INT64_C(7) * 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(total_timeout_ns),
        .example = "30m",
        .help = "A whole request, from its first byte to the end of the answer. 0: no limit.",
    },
    {
        .path = "timeouts.client_head",
        .type = &config_type_duration,
        .def = "10s",
        .min = NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(client_head_timeout_ns),
        .help = "For a client to send the head of a request.",
    },
    {
        .path = "timeouts.client_body",
        .type = &config_type_duration,
        .def = "30s",
        .min = NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(client_body_timeout_ns),
        .help = "Longest pause of a client inside a request body.",
    },
    {
        .path = "timeouts.client_idle",
        .type = &config_type_duration,
        .def = "75s",
        .min = NS_PER_MS,
        .max = 24 * HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(client_idle_timeout_ns),
        .help = "How long a client's connection is kept open between two requests.",
    },
    {
        .path = "timeouts.client_write",
        .type = &config_type_duration,
        .def = "2m",
        .min = NS_PER_MS,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(client_write_timeout_ns),
        .help = "How long a client may take nothing of the answer that waits for it before it "
                "counts as "
                "gone and its upstream is let go.",
    },
    {
        .path = "timeouts.upstream_idle",
        .type = &config_type_duration,
        .def = "4s",
        .min = NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(upstream_idle_timeout_ns),
        .help = "How long an unused connection to an upstream is kept. Below the upstream's own "
                "keep-alive time (5 s for uvicorn), so that no request meets a closing connection.",
    },
    {
        .path = "retry.attempts",
        .type = &config_type_count,
        .def = "3",
        .min = 1,
        .max = 8,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(retry_attempts),
        .help = "Tries of one request in all, as long as nothing of an answer went to the client: "
                "after a failed connection, a lost one, or status 429, 502 or 503, the next "
                "upstream that serves the model is asked. 1: no second try.",
    },
    {
        .path = "retry.budget",
        .type = &config_type_count,
        .def = "20",
        .max = 100,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(retry_budget),
        .help = "Second tries per hundred requests; a few more are free. So that an outage is not "
                "answered with several times the load.",
    },
    {
        .path = "retry.same_upstream",
        .type = &config_type_bool,
        .def = "false",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(retry_same_upstream),
        .help = "Ask the same upstream again, after a wait, where no other is left. Most client "
                "libraries do that by themselves.",
    },
    {
        .path = "retry.backoff",
        .type = &config_type_duration,
        .def = "100ms",
        .min = NS_PER_MS,
        .max = MINUTE,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(retry_backoff_ns),
        .help = "First wait before the same upstream is asked again; it doubles, and is longer by "
                "chance. An upstream's `Retry-After` is kept to.",
    },
    {
        .path = "retry.max_wait",
        .type = &config_type_duration,
        .def = "2s",
        .min = 0,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(retry_max_wait_ns),
        .help = "A longer wait is left to the client: it gets the upstream's answer.",
    },
    {
        .path = "watchdog.hung_after",
        .type = &config_type_duration,
        .def = "60s",
        .min = 0,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(hung_after_ns),
        .help = "Report an upstream for which requests wait and that has sent no output in any "
                "answer for so long. Longer than its longest prefill, and than its longest answer "
                "that is "
                "no stream, if it serves few requests at a time. 0: never.",
    },
    {
        .path = "watchdog.cut_after",
        .type = &config_type_duration,
        .def = "0",
        .min = 0,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(cut_after_ns),
        .example = "2m",
        .help = "Cut a stream that is stalled (no output for 1 s and 10 times its median gap) once "
                "it has been silent for so long; its outcome is `stalled`. Open streams follow a "
                "reload, too. 0: never.",
    },
    {
        .path = "runaway.max_tokens",
        .type = &config_type_count,
        .def = "0",
        .max = 1000000000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(runaway_tokens),
        .example = "16384",
        .help = "A stream of more completion tokens has run away: it is flagged and counted within "
                "a second. Where the engine tells no count on the way, it is estimated from the "
                "events. 0: no limit.",
    },
    {
        .path = "runaway.max_time",
        .type = &config_type_duration,
        .def = "0",
        .min = 0,
        .max = 24 * HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(runaway_ns),
        .example = "10m",
        .help = "A stream that has gone on for longer since its request was sent has run away, "
                "too. 0: no limit.",
    },
    {
        .path = "runaway.cut",
        .type = &config_type_bool,
        .def = "false",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(runaway_cut),
        .help = "Cut streams that have run away; their outcome is `cut_by_gateway` with the reason "
                "`runaway`.",
    },
    {
        .path = "dns.ttl",
        .type = &config_type_duration,
        .def = "30s",
        .min = 0,
        .max = 24 * HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(dns_ttl_ns),
        .help = "How long a looked-up address is used before the name is looked up again.",
    },
    {
        .path = "metrics.bounds",
        .type = &config_type_bounds,
        .def = "{}",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(bounds),
        .example = "{llm_ttft_seconds: [100ms, 250ms, 500ms, 1s, 3s, 10s]}",
        .help =
            "Bucket bounds of histograms in the classic format, by family: at most 40, ascending; "
            "durations for seconds, numbers for the others. A family not named keeps its default "
            "(docs/METRICS.md). A changed family starts anew.",
    },
    {
        .path = "metrics.max_label_values",
        .type = &config_type_count,
        .def = "200",
        .min = 1,
        .max = 100000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(max_label_values),
        .help = "Values per metric label; more become `other`, and are counted.",
    },
    {
        .path = "metrics.max_series",
        .type = &config_type_count,
        .def = "10000",
        .min = 100,
        .max = 10000000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(max_series),
        .help = "Series over all families; more are folded into `other`, and are counted.",
    },
    {
        .path = "history.interval",
        .type = &config_type_duration,
        .def = "10s",
        .min = NS_PER_S,
        .max = 5 * MINUTE,
        .reload = CONFIG_RESTART,
        .offset = FIELD(history_interval_ns),
        .help = "How often the program's own series are taken into the history.",
    },
    {
        .path = "history.keep_raw",
        .type = &config_type_duration,
        .def = "8d",
        .min = DAY,
        .max = 10 * YEAR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(history_keep_ns[0]),
        .help = "How long series are kept as they were taken. More than a week, where rules "
                "compare with `offset 7d`.",
    },
    {
        .path = "history.keep_5m",
        .type = &config_type_duration,
        .def = "90d",
        .min = DAY,
        .max = 10 * YEAR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(history_keep_ns[1]),
        .help = "How long they are kept with a sample every 5 minutes.",
    },
    {
        .path = "history.keep_1h",
        .type = &config_type_duration,
        .def = "400d",
        .min = DAY,
        .max = 10 * YEAR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(history_keep_ns[2]),
        .help = "How long they are kept with a sample every hour.",
    },
    {
        .path = "history.max_disk",
        .type = &config_type_bytes,
        .def = "10GiB",
        .max = 1024 * (1024 * GIB),
        .reload = CONFIG_RELOAD,
        .offset = FIELD(history_max_disk),
        .help = "Disk space for series; beyond it the oldest day goes, whatever the periods say. "
                "0: no limit.",
    },
    {
        .path = "history.max_series",
        .type = &config_type_count,
        .def = "1000000",
        .min = 1000,
        .max = 100000000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(history_max_series),
        .help = "Series that are kept at a time; new ones beyond that are refused, and counted.",
    },
    {
        .path = "requests.keep",
        .type = &config_type_duration,
        .def = "30d",
        .min = DAY,
        .max = 10 * YEAR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(requests_keep_ns),
        .help = "How long the rows of requests are kept. Whole days (UTC) go.",
    },
    {
        .path = "requests.max_disk",
        .type = &config_type_bytes,
        .def = "20GiB",
        .max = 1024 * (1024 * GIB),
        .reload = CONFIG_RELOAD,
        .offset = FIELD(requests_max_disk),
        .help = "Disk space for rows of requests; beyond it the oldest day goes. 0: no limit.",
    },
    {
        .path = "requests.archive",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(requests_archive),
        .example = "/var/lib/inferometer/archive",
        .help = "Directory for days of rows that go: each is written there first, as compressed "
                "JSON lines. Empty: they are not.",
    },
    {
        .path = "requests.spill",
        .type = &config_type_bytes,
        .def = "64MiB",
        .min = MIB,
        .max = 64 * GIB,
        .reload = CONFIG_RESTART,
        .offset = FIELD(requests_spill),
        .help = "File in `data_dir` where rows wait while the store cannot be written; taken from "
                "the disk at the start, so that it is there when the disk is full.",
    },
    {
        .path = "scrape.files",
        .type = &config_type_texts,
        .def = "[]",
        .max = 100,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(scrape_files),
        .example = "[/etc/prometheus/prometheus.yml]",
        .help = "Files with Prometheus' `scrape_configs`: engines, GPU exporters and others whose "
                "pages are kept in the history. Names may have `*`, `?` and `[...]`.",
    },
    {
        .path = "scrape.targets",
        .type = &config_type_pages,
        .def = "[]",
        .max = 1000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(scrape_targets),
        .example = "[http://gpu-1:9400/metrics]",
        .help = "Pages that are scraped as they are, without a file.",
    },
    {
        .path = "scrape.interval",
        .type = &config_type_duration,
        .def = "10s",
        .min = 100 * NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(scrape_interval_ns),
        .help = "How often upstreams and `scrape.targets` are scraped, and this machine, its GPUs "
                "and Kafka are looked at: these as often as at the start, until a restart. Jobs "
                "of `scrape.files` have their own.",
    },
    {
        .path = "scrape.timeout",
        .type = &config_type_duration,
        .def = "5s",
        .min = 10 * NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(scrape_timeout_ns),
        .help = "How long a page of these may take; at most `scrape.interval`.",
    },
    {
        .path = "probe.interval",
        .type = &config_type_duration,
        .def = "30s",
        .min = 100 * NS_PER_MS,
        .word = "0",
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(probe_interval_ns),
        .help = "How often each upstream is asked for what traffic does not tell: how long a new "
                "connection to it takes while it is idle, and how long its tokenizer takes for a "
                "short text (`POST /tokenize`, where it has one). `probe` of an upstream says "
                "which. These are in no count of requests, and no client's key goes with them. 0: "
                "never.",
    },
    {
        .path = "gpu.source",
        .type = &config_type_gpu,
        .def = "auto",
        .reload = CONFIG_RESTART,
        .offset = FIELD(gpu),
        .help = "Who is asked about GPUs of NVIDIA in this machine: `nvml`, the driver's library; "
                "`nvidia-smi`; `auto`, the first of them that works; or `none`.",
    },
    {
        .path = "host.metrics",
        .type = &config_type_bool,
        .def = "true",
        .reload = CONFIG_RESTART,
        .offset = FIELD(host_metrics),
        .help = "CPU, memory, disks, network, pressure and the clock of this machine are kept.",
    },
    {
        .path = "host.engines",
        .type = &config_type_items,
        .def = "[]",
        .max = 32,
        .reload = CONFIG_RESTART,
        .offset = FIELD(engines),
        .item = &config_item_engine,
        .help = "Engines that run on this machine: CPU, memory and threads of their processes.",
    },
    {
        .path = "rules.files",
        .type = &config_type_texts,
        .def = "[]",
        .max = 100,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(rule_files),
        .example = "[/etc/inferometer/rules/*.yml]",
        .help = "Rule files as Prometheus has them: recording rules and alerts, evaluated over the "
                "history (`data_dir`). Names may have `*`, `?` and `[...]`. A reload reads them "
                "again, and keeps the state of alerts.",
    },
    {
        .path = "rules.builtin",
        .type = &config_type_bool,
        .def = "true",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(rules_builtin),
        .help = "The rules that come with the program (deploy/rules) are evaluated, too. To change "
                "one: `false` here, and copies of those files in `rules.files`.",
    },
    {
        .path = "rules.interval",
        .type = &config_type_duration,
        .def = "30s",
        .min = NS_PER_S,
        .max = HOUR,
        .reload = CONFIG_RESTART,
        .offset = FIELD(rules_interval_ns),
        .help = "How often groups are evaluated that do not say it themselves.",
    },
    {
        .path = "alerting.file",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(alerting_file),
        .example = "/etc/inferometer/alerting.yml",
        .help = "Who is told of alerts: routes, receivers and inhibition in Alertmanager's format. "
                "Empty: alerts go to the log alone.",
    },
    {
        .path = "alerting.alertmanagers",
        .type = &config_type_texts,
        .def = "[]",
        .max = CONFIG_ALERTMANAGERS_MAX,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(alertmanagers),
        .example = "[http://127.0.0.1:9093]",
        .help = "Alertmanagers that get every alert, too.",
    },
    {
        .path = "alerting.external_url",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(external_url),
        .example = "https://inferometer.example.com",
        .help = "Where people reach the admin listener: what links in alerts begin with. Empty: "
                "`http://HOST:PORT`, the name of this host and the port of `admin.listen`.",
    },
    {
        .path = "query.timeout",
        .type = &config_type_duration,
        .def = "30s",
        .min = NS_PER_MS,
        .max = HOUR,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(query_timeout_ns),
        .help = "How long a query of the history may take.",
    },
    {
        .path = "query.max_samples",
        .type = &config_type_count,
        .def = "50000000",
        .min = 1000,
        .max = 100000000000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(query_max_samples),
        .help = "Samples that a query may read.",
    },
    {
        .path = "query.max_memory",
        .type = &config_type_bytes,
        .def = "1GiB",
        .min = MIB,
        .max = 1024 * GIB,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(query_max_bytes),
        .help = "Memory that a query may take. Two queries run at a time.",
    },
    {
        .path = "cost.currency",
        .type = &config_type_currency,
        .def = "USD",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(currency),
        .help = "What `cost.prices` are told in.",
    },
    {
        .path = "cost.prices",
        .type = &config_type_items,
        .def = "[]",
        .max = 256,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(prices),
        .item = &config_item_price,
        .help = "What tokens cost, by model: pages show cost by these (`/api/v1/prices`). Models "
                "that are not there have none.",
    },
    {
        .path = "log.file",
        .type = &config_type_text,
        .def = "-",
        .reload = CONFIG_RESTART,
        .offset = FIELD(log_file),
        .example = "/var/log/inferometer/requests.jsonl",
        .help = "Where the request log goes, one JSON object per request: a path, `-` for standard "
                "output, or empty for nowhere.",
    },
    {
        .path = "log.level",
        .type = &config_type_log_level,
        .def = "info",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(log_level),
        .help =
            "What the program says about itself on standard error: error, warn, info, or debug.",
    },
};
const size_t config_keys_n = ARRAY_LEN(config_keys);
const struct config_table config_top = {.keys = config_keys, .n = ARRAY_LEN(config_keys), .of = ""};
_Static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "one bit each in config._keys_set");
