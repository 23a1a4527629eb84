/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_upstreams.c - the table of an upstream's keys, and the kinds of values that only
 * upstreams have.
 */
#include "daemon/config_upstreams.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "daemon/config_collect.h"
#include "daemon/config_values.h"

enum { URL_BYTES_MAX = 1000 };
#define UPSTREAM_QUEUE_MAX_NS (3600 * NS_PER_S)

/* --- kinds of values --- */

static int name_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char **name = field;
    char *text = NULL;
    struct err *e;
    int r = config_values_take_text(source, key, node, GATEWAY_NAME_MAX - 1, &text);

    (void)is_append;
    if (r < 0)
        return r;
    if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
            node->n &&
        (node->n > 0 || node->line == 0)) {
        mem_free(*name);
        *name = text;
        return 0;
    }
    mem_free(text);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL,
                  "upstream name \"%s\" has other characters than letters, digits, . _ : -",
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "it becomes a metric label; for example vllm-1");
    return -EINVAL;
}

static int url_set(const struct config_source *source, const struct config_key *key,
                   const struct yaml_node *node, bool is_append, void *field)
{
    struct gateway_upstream parsed;
    struct err parse_err = {0};
    char **url = field;
    char *text;
    int r = config_values_take_text(source, key, node, URL_BYTES_MAX, &text);

    (void)is_append;
    if (r < 0)
        return r;
    /* The gateway refuses credentials too, but its message would show them. */
    if (strchr(text, '@')) {
        r = err_set(&parse_err, -EINVAL, "an upstream URL with credentials is not supported");
        err_hint(&parse_err, "remove what is in front of the \"@\"");
    } else {
        r = gateway_upstream_parse("", text, &parsed, &parse_err);
    }
    if (r < 0) {
        mem_free(text);
        *config_keys_error(source, node) = parse_err;
        return -EINVAL;
    }
    mem_free(*url);
    *url = text;
    return 0;
}

static const struct config_type type_name = {
    .what = "a name of letters, digits, . _ : -",
    .is_scalar = true,
    .set = name_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

static const struct config_type type_url = {
    .what = "a URL",
    .is_scalar = true,
    .set = url_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- proxies --- */

static int proxy_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    struct proxy parsed;
    struct err parse_err = {0};
    char **proxy = field;
    char *text;
    int r = config_values_take_text(source, key, node, URL_BYTES_MAX, &text);

    (void)is_append;
    if (r < 0)
        return r;
    if (text[0] != '\0' && strcmp(text, "none") != 0 &&
        proxy_parse(span_cstr(text), "\"proxy\"", &parsed, &parse_err) < 0) {
        mem_free(text);
        *config_keys_error(source, node) = parse_err;
        return -EINVAL;
    }
    mem_free(*proxy);
    *proxy = text;
    return 0;
}

/* Without its credentials: this is what "config show" prints. */
static int proxy_format(const struct config_key *key, const void *field, struct buf *out)
{
    const char *text = *(char *const *)field;
    const char *at = strrchr(text, '@');
    char *shown;
    int r;

    if (!at)
        return config_type_text.format(key, field, out);
    shown = mem_alloc(URL_BYTES_MAX + sizeof("http://***"));
    if (!shown)
        return -ENOMEM;
    (void)snprintf(shown, URL_BYTES_MAX + sizeof("http://***"), "http://***%s", at);
    r = config_type_text.format(key, &shown, out);
    mem_free(shown);
    return r;
}

static const struct config_type type_proxy = {
    .what = "a URL, or none",
    .is_scalar = true,
    .set = proxy_set,
    .format = proxy_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- probes --- */

static int probe_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    static const char *const words[] = {"auto", "always", "never"};
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (config_values_need_scalar(source, key, node) < 0)
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_eq(yaml_span(node), span_cstr(words[i])))
            return config_type_text.set(source, key, node, is_append, field);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "an upstream is not probed \"%s\"",
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "auto, always or never");
    return -EINVAL;
}

static const struct config_type type_probe = {
    .what = "auto, always or never",
    .is_scalar = true,
    .set = probe_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- the table --- */

#define FIELD(name) offsetof(struct config_upstream, name)

static const struct config_key keys[] = {
    {
        .path = "name",
        .type = &type_name,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(name),
        .example = "vllm-1",
        .help = "Metric label, and what logs call it. Without one: host and port of the URL.",
    },
    {
        .path = "url",
        .type = &type_url,
        .reload = CONFIG_RESTART,
        .offset = FIELD(url),
        .example = "http://HOST:PORT",
        .help =
            "Where it is: `http://HOST:PORT`, `https://HOST:PORT`, or `unix:/PATH`, with a base "
            "path behind a further `:`. A base path is put before the request's; `/v1` at its end "
            "may be "
            "there or not. Another version there (`/api/paas/v4`) takes the place of the "
            "client's `/v1`.",
    },
    {
        .path = "models",
        .type = &config_type_models,
        .def = "[]",
        .max = 1000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(models),
        .example = "[llama-3.1-8b, \"qwen*\", \"gpt-4o=meta-llama/Llama-3.1-70B\"]",
        .help = "What it serves: names, beginnings of names with `*` behind, or `NAME=SERVED` "
                "where the server calls the model otherwise. A name goes to the upstreams that "
                "have it as it is, else to those with the longest beginning, else to those with "
                "`*` or without this key.",
    },
    {
        .path = "weight",
        .type = &config_type_count,
        .def = "1",
        .min = 1,
        .max = 1000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(weight),
        .help = "Share of the requests among upstreams of the same priority.",
    },
    {
        .path = "priority",
        .type = &config_type_count,
        .def = "0",
        .max = 100,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(priority),
        .help = "Order of failover: upstreams with a higher number are used when those with a "
                "lower one fail or have no room.",
    },
    {
        .path = "version",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(version),
        .example = "2026-11-01",
        .help = "Version of the model or of the deployment, as a metric label, so that versions "
                "can be compared.",
    },
    {
        .path = "key_file",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(key_file),
        .example = "/etc/inferometer/openai.key",
        .help = "File with the API key that this upstream wants, read at start and on reload. It "
                "replaces the credentials of the client.",
    },
    {
        .path = "key_env",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(key_env),
        .example = "OPENAI_API_KEY",
        .help = "Environment variable that has this key, instead of a file.",
    },
    {
        .path = "key_header",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(key_header),
        .example = "api-key",
        .help = "Header that carries the key. Without one: `Authorization: Bearer`, `x-api-key` "
                "for Anthropic's API, `x-goog-api-key` for Google's.",
    },
    {
        .path = "max_inflight",
        .type = &config_type_count,
        .def = "none",
        .min = 1,
        .max = 1000000,
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(max_inflight),
        .example = "64",
        .help = "Requests that may be under way there at the same time, over all "
                "workers. The next ones wait in the gateway for their turn. Best a "
                "little above what the engine works on at once, so that its own queue "
                "stays short.",
    },
    {
        .path = "max_tokens_inflight",
        .type = &config_type_count,
        .def = "none",
        .min = 1,
        .max = INT64_C(1000000000000),
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(max_tokens),
        .example = "200000",
        .help = "Estimated prompt tokens of the requests that may "
                "be under way there at the same time. A single larger request goes "
                "when nothing else is under way.",
    },
    {
        .path = "max_queue",
        .type = &config_type_count,
        .def = "1000",
        .min = 1,
        .max = 1000000,
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(max_queue),
        .help = "Interactive requests that may wait for their turn. The next ones are "
                "refused: 429 with `Retry-After`.",
    },
    {
        .path = "queue_timeout",
        .type = &config_type_duration,
        .def = "30s",
        .max = UPSTREAM_QUEUE_MAX_NS,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(queue_timeout_ns),
        .help = "How long an interactive request may wait for its turn; then it is "
                "refused likewise. 0: no limit.",
    },
    {
        .path = "batch_max_inflight",
        .type = &config_type_count,
        .def = "none",
        .min = 1,
        .max = 1000000,
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(batch_max_inflight),
        .example = "16",
        .help = "Batch requests that may be under way there, as a part of "
                "`max_inflight`. Interactive requests go first; of ten grants one is "
                "for batch while both wait.",
    },
    {
        .path = "batch_max_tokens_inflight",
        .type = &config_type_count,
        .def = "none",
        .min = 1,
        .max = INT64_C(1000000000000),
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(batch_max_tokens),
        .example = "50000",
        .help = "Their estimated tokens, as a part of `max_tokens_inflight`.",
    },
    {
        .path = "batch_max_queue",
        .type = &config_type_count,
        .def = "1000",
        .min = 1,
        .max = 1000000,
        .word = "none",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(batch_max_queue),
        .help = "Batch requests that may wait for their turn.",
    },
    {
        .path = "batch_queue_timeout",
        .type = &config_type_duration,
        .def = "10m",
        .max = UPSTREAM_QUEUE_MAX_NS,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(batch_queue_timeout_ns),
        .help = "How long a batch request may wait for its turn. 0: no limit.",
    },
    {
        .path = "tls.ca",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(tls_ca),
        .example = "/etc/inferometer/ca.pem",
        .help = "PEM file with the issuers of certificates that are trusted, instead of the "
                "system's. These files are read again on reload.",
    },
    {
        .path = "tls.cert",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(tls_cert),
        .example = "/etc/inferometer/client.pem",
        .help = "PEM file with our certificate, where the server wants one.",
    },
    {
        .path = "tls.key",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(tls_key),
        .example = "/etc/inferometer/client.key",
        .help = "PEM file with its key, not encrypted. Without one it is in the same file.",
    },
    {
        .path = "tls.server_name",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(tls_server_name),
        .example = "engine.example.com",
        .help = "Name or address that the server's certificate must be for. Without one: the "
                "URL's host.",
    },
    {
        .path = "tls.verify",
        .type = &config_type_bool,
        .def = "true",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(tls_verify),
        .help = "Check the server's certificate. Without, whoever is on the way can read and "
                "change everything.",
    },
    {
        .path = "metrics",
        .type = &config_type_page,
        .def = "auto",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(metrics),
        .example = "/metrics",
        .help =
            "Page of the engine's own metrics, scraped into the history: a URL, a path at this "
            "upstream's host and port, or `none`. `auto`: `/metrics` where the URL is `http://`; "
            "an upstream without such a page is left alone. One that several have is scraped "
            "once, under the name of the first. Neither the key nor `tls` of the upstream is used "
            "for it: a page that needs them goes into `scrape.files`.",
    },
    {
        .path = "probe",
        .type = &type_probe,
        .def = "auto",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(probe),
        .help = "Whether it is probed every `probe.interval`: `always`, `never`, or `auto`: where "
                "the URL is not `https://`, behind which a paid service may be.",
    },
    {
        .path = "proxy",
        .type = &type_proxy,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = FIELD(proxy),
        .example = "http://proxy.example.com:3128",
        .help = "Forward proxy on the way to it, `http://USER:PASSWORD@HOST:PORT`, or `none`. "
                "Without one the environment counts: `HTTPS_PROXY`, `http_proxy`, `ALL_PROXY`, "
                "`NO_PROXY`.",
    },
};

static int fill_name(struct config_upstream *u)
{
    struct gateway_upstream parsed;
    int r = gateway_upstream_parse("", u->url, &parsed, NULL);
    const char *text;
    char *name;

    if (r < 0)
        return r;
    /* Of a Unix socket: its file. */
    text = strchr(parsed.host, '/') ? strrchr(parsed.host, '/') + 1 : parsed.authority;
    name = mem_strndup(text, strnlen(text, GATEWAY_NAME_MAX - 1));
    if (!name)
        return -ENOMEM;
    mem_free(u->name);
    u->name = name;
    return 0;
}

/* What does not fit together; NULL: nothing. */
static const char *clash_of(const struct config_upstream *u, const char **ret_hint)
{
    bool has_tls = u->tls_ca[0] || u->tls_cert[0] || u->tls_key[0] || u->tls_server_name[0];

    if ((has_tls || !u->tls_verify) && strncmp(u->url, "https://", 8) != 0) {
        *ret_hint = "write the URL with https://, or remove \"tls\"";
        return "an upstream with \"tls\" whose URL is not https";
    }
    if (u->tls_key[0] && !u->tls_cert[0]) {
        *ret_hint = "name the certificate's file, too";
        return "an upstream with \"tls.key\" and without \"tls.cert\"";
    }
    if (u->tls_ca[0] && !u->tls_verify) {
        *ret_hint = "remove one of them";
        return "an upstream with \"tls.ca\" whose certificate is not checked";
    }
    if (u->proxy[0] && strcmp(u->proxy, "none") != 0 && strncmp(u->url, "unix:", 5) == 0) {
        *ret_hint = "remove \"proxy\"";
        return "an upstream on a Unix socket with a proxy";
    }
    return NULL;
}

static int finish(const struct config_source *source, const struct yaml_node *node, void *item)
{
    struct config_upstream *u = item;
    const char *hint;
    const char *clash = clash_of(u, &hint);

    if (clash) {
        struct err *e = config_keys_error(source, node);

        (void)err_set(e, -EINVAL, "%s", clash);
        err_hint(e, "%s", hint);
        return -EINVAL;
    }

    if (strlen(u->version) >= GATEWAY_MODEL_VERSION_MAX) {
        struct err *e = config_keys_error(source, node);

        (void)err_set(e, -EINVAL, "an upstream with a \"version\" of more than %d bytes",
                      GATEWAY_MODEL_VERSION_MAX - 1);
        err_hint(e, "it becomes a metric label; shorten it");
        return -EINVAL;
    }
    if (u->key_file[0] != '\0' && u->key_env[0] != '\0') {
        struct err *e = config_keys_error(source, node);

        (void)err_set(e, -EINVAL, "an upstream with both \"key_file\" and \"key_env\"");
        err_hint(e, "remove one of them");
        return -EINVAL;
    }
    return u->name[0] == '\0' ? fill_name(u) : 0;
}

static const char *name_of(const void *item)
{
    const struct config_upstream *u = item;
    return u->name;
}

const struct config_item config_item_upstream = {
    .table = {.keys = keys, .n = ARRAY_LEN(keys), .of = " of an upstream"},
    .size = sizeof(struct config_upstream),
    .noun = "an upstream",
    .one_word = &keys[1],
    .finish = finish,
    .name = name_of,
};
_Static_assert(ARRAY_LEN(keys) <= CONFIG_KEYS_MAX, "one bit each while an item is read");
