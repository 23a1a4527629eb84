/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_keys.c - the table of configuration keys, and questions about it.
 *
 * Sections stand together and parents before children, since documents and examples follow the
 * order of the table. Defaults are written as a user would write them and go through the same
 * setters, so a default outside its own bounds fails the first test.
 */
#include "daemon/config_keys.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/suggest.h"
#include "daemon/config_values.h"

#define FIELD(name) offsetof(struct config, name)
#define MINUTE      (60 * NS_PER_S)
#define HOUR        (60 * MINUTE)

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
        .help = "Where clients connect: one address or a list. `:8400` means every IPv4 address.",
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
        .help = "Directory for what is kept across restarts. Empty: nothing is kept.",
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
        .type = &config_type_upstreams,
        .min = 1,
        .max = 1,
        .reload = CONFIG_RESTART,
        .offset = FIELD(upstreams),
        .example = "[{name: vllm, url: \"http://127.0.0.1:8000\"}]",
        .help =
            "The inference servers: a list of `url` (`http://HOST:PORT`, with or without `/v1`) "
            "and `name` (metric label; default: host and port of the URL). A URL alone will do. "
            "One upstream for now.",
    },
    {
        .path = "admin.listen",
        .type = &config_type_addr,
        .def = "127.0.0.1:8401",
        .reload = CONFIG_RESTART,
        .offset = FIELD(admin_listen),
        .help =
            "Where metrics, health, and the admin API are served. It has no access control of its "
            "own; keep it off public networks.",
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
_Static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "one bit each in config._keys_set");

const struct config_key *config_keys_find(struct span path)
{
    for (size_t i = 0; i < config_keys_n; i++) {
        if (span_eq(span_cstr(config_keys[i].path), path))
            return &config_keys[i];
    }
    return NULL;
}

/* The part of path behind "section.", or NULL when it is not below section ("" is the top). */
static const char *below(struct span section, const char *path)
{
    if (section.n == 0)
        return path;
    if (!span_starts_with(span_cstr(path), section) || path[section.n] != '.')
        return NULL;
    return path + section.n + 1;
}

bool config_keys_is_section(struct span path)
{
    for (size_t i = 0; i < config_keys_n; i++) {
        if (path.n > 0 && below(path, config_keys[i].path))
            return true;
    }
    return false;
}

const char *config_keys_leaf(const struct config_key *key)
{
    const char *dot = strrchr(key->path, '.');
    return dot ? dot + 1 : key->path;
}

static const char *format_bound(const struct config_key *key, int64_t v, char *dst, size_t cap)
{
    if (key->type == &config_type_duration)
        config_values_duration(v, dst, cap);
    else if (key->type == &config_type_bytes)
        config_values_bytes((uint64_t)v, dst, cap);
    else
        (void)snprintf(dst, cap, "%lld", (long long)v);
    return dst;
}

const char *config_keys_range(const struct config_key *key, char *dst)
{
    char min[32], max[32];

    dst[0] = '\0';
    if (key->max == 0)
        return dst;
    format_bound(key, key->min, min, sizeof(min));
    format_bound(key, key->max, max, sizeof(max));
    if (key->type->is_list)
        (void)snprintf(dst, CONFIG_RANGE_MAX, key->min == key->max ? "%s item" : "%s to %s items",
                       min, max);
    else
        (void)snprintf(dst, CONFIG_RANGE_MAX, "%s to %s%s%s", min, max, key->word ? ", or " : "",
                       key->word ? key->word : "");
    return dst;
}

/* --- unknown names --- */

/* Calls offer with every name directly in section, once. */
static void each_name(struct span section, void (*offer)(void *ctx, struct span name), void *ctx)
{
    struct span before = {0};

    for (size_t i = 0; i < config_keys_n; i++) {
        const char *rest = below(section, config_keys[i].path);
        struct span name;

        if (!rest)
            continue;
        name = span_of(rest, span_find_char(span_cstr(rest), '.'));
        if (!span_eq(name, before)) /* sections stand together */
            offer(ctx, name);
        before = name;
    }
}

static void offer_suggestion(void *ctx, struct span name)
{
    suggest_offer(ctx, name);
}

struct name_list {
    char text[200];
    size_t n;
};

static void offer_to_list(void *ctx, struct span name)
{
    struct name_list *l = ctx;
    int n = snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s%.*s", l->n > 0 ? ", " : "",
                     SPAN_ARG(name));

    if (n > 0 && l->n + (size_t)n < sizeof(l->text))
        l->n += (size_t)n;
    else
        l->text[l->n] = '\0'; /* no half name at the end */
}

/* "timeouts.connect" at the top, written as one key. */
static bool hint_nested(struct span name, struct err *e)
{
    const struct config_key *key = config_keys_find(name);
    const char *leaf;

    if (!key || span_find_char(name, '.') == name.n)
        return false;
    leaf = config_keys_leaf(key);
    err_hint(e, "write \"%.*s:\" and, indented on the next line, \"%s:\"",
             (int)(leaf - 1 - key->path), key->path, leaf);
    return true;
}

/* The right name, more or less, in the wrong place. */
static bool hint_elsewhere(struct span name, struct err *e)
{
    struct suggest s;

    suggest_init(&s, name);
    for (size_t i = 0; i < config_keys_n; i++)
        suggest_offer(&s, span_cstr(config_keys_leaf(&config_keys[i])));
    for (size_t i = 0; i < config_keys_n && s.best.n > 0; i++) {
        if (config_keys_leaf(&config_keys[i]) == s.best.p) {
            err_hint(e, "did you mean \"%s\"?", config_keys[i].path);
            return true;
        }
    }
    return false;
}

void config_keys_hint(struct span section, struct span name, struct err *e)
{
    struct name_list list = {.n = 0};
    struct suggest s;

    if (section.n == 0 && hint_nested(name, e))
        return;
    suggest_init(&s, name);
    each_name(section, offer_suggestion, &s);
    if (s.best.n > 0) {
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
        return;
    }
    if (hint_elsewhere(name, e))
        return;
    each_name(section, offer_to_list, &list);
    err_hint(e, "known here: %s", list.text);
}
