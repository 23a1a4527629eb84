/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config_text.h"
#include "daemon/config_keys.h"
#include "harness.h"
#include "memfail.h"

#define UPSTREAM "upstreams: http://127.0.0.1:8000\n"

static int load_text(const char *text, struct config **ret)
{
    return load_span(span_cstr(text), true, ret);
}

static struct config *must_load(const char *text)
{
    struct config *c = NULL;
    int r = load_text(text, &c);

    return must_be_loaded(text, r, c);
}

/* --- defaults --- */

static void test_defaults(void **state)
{
    struct config *c = NULL;

    (void)state;
    assert_int_equal(config_defaults(&c), 0);
    assert_int_equal(c->listen.n, 1);
    assert_string_equal(c->listen.items[0], "127.0.0.1:8400");
    assert_string_equal(c->admin_listen, "127.0.0.1:8401");
    assert_in_range(c->workers, 1, CONFIG_WORKERS_AUTO_MAX);
    assert_int_equal(c->upstreams.n, 0);
    assert_true(c->usage_inject);
    assert_int_equal(c->models.n, 0);
    assert_int_equal(c->bounds.n, 0);
    assert_int_equal(c->max_label_values, LIMIT_LABEL_VALUES);
    assert_int_equal(c->max_series, LIMIT_SERIES);
    assert_string_equal(c->log_file, "-");
    assert_int_equal(c->log_level, LOG_LEVEL_INFO);
    assert_string_equal(c->data_dir, "");
    assert_int_equal(c->drain_timeout_ns, 30 * NS_PER_S);
    assert_int_equal(c->drain_delay_ns, 0);
    assert_string_equal(c->handover, "");
    assert_int_equal(c->hung_after_ns, 60 * NS_PER_S);
    assert_int_equal(c->cut_after_ns, 0); /* watching changes nothing */
    assert_int_equal(config_n_set(c), 0);
    config_unref(c);
}

/* The table's defaults are the gateway's own. */
static void test_gateway_defaults(void **state)
{
    struct gateway_config *own = gateway_config_new();
    struct gateway_config *made = NULL;
    struct config *c = must_load(UPSTREAM);

    (void)state;
    assert_int_equal(config_to_gateway(c, &made, NULL), 0);
    assert_int_equal(made->n_upstreams, 1);
    assert_string_equal(made->upstreams[0].name, "127.0.0.1:8000");
    assert_string_equal(made->upstreams[0].host, "127.0.0.1");
    assert_int_equal(made->upstreams[0].port, 8000);
    assert_int_equal(made->request_window_bytes, own->request_window_bytes);
    assert_int_equal(made->max_body_bytes, own->max_body_bytes);
    assert_int_equal(made->max_conns, own->max_conns);
    assert_int_equal(made->max_idle_upstream, own->max_idle_upstream);
    assert_int_equal(made->connect_timeout_ns, own->connect_timeout_ns);
    assert_int_equal(made->first_byte_timeout_ns, own->first_byte_timeout_ns);
    assert_int_equal(made->idle_timeout_ns, own->idle_timeout_ns);
    assert_int_equal(made->total_timeout_ns, own->total_timeout_ns);
    assert_int_equal(made->client_head_timeout_ns, own->client_head_timeout_ns);
    assert_int_equal(made->client_body_timeout_ns, own->client_body_timeout_ns);
    assert_int_equal(made->client_idle_timeout_ns, own->client_idle_timeout_ns);
    assert_int_equal(made->client_write_timeout_ns, own->client_write_timeout_ns);
    assert_int_equal(made->upstream_idle_timeout_ns, own->upstream_idle_timeout_ns);
    assert_int_equal(made->dns_ttl_ns, own->dns_ttl_ns);
    gateway_config_unref(own);
    gateway_config_unref(made);
    config_unref(c);
}

/* --- what is accepted --- */

static const char all_keys[] = "listen: [\"0.0.0.0:1\", \"[::1]:2\", localhost:3]\n"
                               "workers: 7\n"
                               "data_dir: /var/lib/x y\n"
                               "time_zone: Asia/Shanghai\n"
                               "drain_timeout: 1m\n"
                               "drain_delay: 9s\n"
                               "handover: /run/h\n"
                               "models: [a/b, \"c d\", 'it''s']\n"
                               "upstreams:\n"
                               "  - name: vllm\n"
                               "    url: http://gpu-1:8000/base/v1/\n"
                               "aliases: [a=b]\n"
                               "labels: [{name: tenant, from: ['header:X-Tenant', key], "
                               "max: 9}, tier]\n"
                               "slos: [{name: own, preset: chat, match: {tier: [a, 'b*']}, "
                               "objectives: {ttft: 2s, queue: none, goodput: 98%}, window: 7d, "
                               "min_bad: 9}, batch]\n"
                               "models_refresh: 5m\n"
                               "kafka: [{name: jobs, brokers: 'k:9092', groups: [g]}]\n"
                               "listen_tls: {cert: c.pem, key: k.pem}\n"
                               "access: {keys: /etc/k.json, open: true}\n"
                               "admin: {listen: \":9\", token_file: /t, token_env: T, "
                               "read_token_file: /r, read_token_env: R, open_metrics: true, "
                               "open_health: false, session: 5m}\n"
                               "usage: {inject: false}\n"
                               "timeline: {every: 7}\n"
                               "limits:\n"
                               "  request_window: 64KiB\n"
                               "  max_body: 3MB\n"
                               "  max_connections: 11\n"
                               "  max_idle_upstream: 0\n"
                               "timeouts:\n"
                               "  connect: 1ms\n"
                               "  first_byte: 2s\n"
                               "  idle: 3s\n"
                               "  total: 4m\n"
                               "  client_head: 5s\n"
                               "  client_body: 6s\n"
                               "  client_idle: 7s\n"
                               "  client_write: 9s\n"
                               "  upstream_idle: 8s\n"
                               "retry: {attempts: 5, budget: 7, same_upstream: true, "
                               "backoff: 3ms, max_wait: 9s}\n"
                               "watchdog: {hung_after: 45s, cut_after: 90s}\n"
                               "runaway: {max_tokens: 9, max_time: 8s, cut: true}\n"
                               "dns: {ttl: 0}\n"
                               "metrics:\n"
                               "  bounds:\n"
                               "    llm_tokens_per_event: [0.001, 1, 1.25]\n"
                               "    llm_ttft_seconds: [1us, 1.5s, 1m]\n"
                               "    llm_prompt_tokens: [1, 1000]\n"
                               "  max_label_values: 12\n"
                               "  max_series: 13000\n"
                               "history: {interval: 15s, keep_raw: 2d, keep_5m: 3d, keep_1h: 4d, "
                               "max_disk: 5GiB, max_series: 6000}\n"
                               "requests: {keep: 7d, max_disk: 8GiB, archive: /a, spill: 9MiB}\n"
                               "scrape: {files: [/s/*.yml], targets: ['http://g:9/metrics'], "
                               "interval: 20s, timeout: 3s}\n"
                               "probe: {interval: 20s}\n"
                               "gpu: {source: none}\n"
                               "host: {metrics: false, engines: [{name: e, port: 8000}]}\n"
                               "rules: {files: [/r/*.yml], builtin: false, interval: 9s}\n"
                               "alerting: {file: /a.yml, alertmanagers: ['http://am:9093'], "
                               "external_url: 'http://i'}\n"
                               "query: {timeout: 10s, max_samples: 11000, max_memory: 12MiB}\n"
                               "cost: {currency: EUR, prices: [{model: m, prompt: 0.5, "
                               "completion: 1.25}]}\n"
                               "log:\n"
                               "  file: ''\n"
                               "  level: debug\n";

static void test_all_keys(void **state)
{
    struct gateway_config *g = NULL;
    struct config *c = must_load(all_keys);

    (void)state;
    assert_int_equal(config_n_set(c), config_keys_n);
    assert_int_equal(c->listen.n, 3);
    assert_string_equal(c->listen.items[1], "[::1]:2");
    assert_int_equal(c->workers, 7);
    assert_int_equal(c->timeline_every, 7);
    assert_int_equal(c->hung_after_ns, 45 * NS_PER_S);
    assert_int_equal(c->cut_after_ns, 90 * NS_PER_S);
    assert_string_equal(c->data_dir, "/var/lib/x y");
    assert_int_equal(c->kafkas.n, 1);
    assert_int_equal(c->engines.n, 1);
    assert_int_equal(c->gpu, CONFIG_GPU_NONE);
    assert_int_equal(c->scrape_interval_ns, 20 * NS_PER_S);
    assert_int_equal(c->probe_interval_ns, 20 * NS_PER_S);
    assert_int_equal(c->history_keep_ns[2], 4 * 24 * 3600 * NS_PER_S);
    assert_int_equal(c->history_max_disk, 5 * GIB);
    assert_int_equal(c->requests_spill, 9 * MIB);
    assert_int_equal(c->query_max_bytes, 12 * MIB);
    assert_int_equal(c->drain_timeout_ns, 60 * NS_PER_S);
    assert_int_equal(c->drain_delay_ns, 9 * NS_PER_S);
    assert_string_equal(c->handover, "/run/h");
    assert_int_equal(c->models.n, 3);
    assert_string_equal(c->models.items[2], "it's");
    assert_string_equal(c->upstreams.items[0].name, "vllm");
    assert_int_equal(c->labels.n, 2);
    assert_string_equal(c->labels.items[0].name, "tenant");
    assert_string_equal(c->labels.items[0].from.items[1], "key");
    assert_int_equal(c->labels.items[0].max_values, 9);
    assert_string_equal(c->labels.items[1].from.items[0], "key");
    assert_int_equal(c->labels.items[1].max_values, LIMIT_LABEL_VALUES);
    assert_non_null(c->business);
    assert_string_equal(c->admin_listen, ":9");
    assert_string_equal(c->admin_token_file, "/t");
    assert_string_equal(c->admin_token_env, "T");
    assert_string_equal(c->admin_read_token_file, "/r");
    assert_string_equal(c->admin_read_token_env, "R");
    assert_true(c->admin_open_metrics);
    assert_false(c->admin_open_health);
    assert_int_equal(c->admin_session_ns, 300 * NS_PER_S);
    assert_string_equal(c->access_keys, "/etc/k.json");
    assert_true(c->access_open);
    assert_false(c->usage_inject);
    assert_int_equal(c->max_label_values, 12);
    assert_int_equal(c->max_series, 13000);
    assert_string_equal(c->log_file, "");
    assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);

    assert_int_equal(c->bounds.n, 3); /* in the order of the families */
    assert_int_equal(c->bounds.items[0].metric, METRIC_TTFT);
    assert_int_equal(c->bounds.items[0].n, 3);
    assert_int_equal(c->bounds.items[0].values[0], NS_PER_US);
    assert_int_equal(c->bounds.items[0].values[1], 1500 * NS_PER_MS);
    assert_int_equal(c->bounds.items[1].metric, METRIC_PROMPT_TOKENS);
    assert_int_equal(c->bounds.items[1].values[1], 1000);
    assert_int_equal(c->bounds.items[2].metric, METRIC_TOKENS_PER_EVENT);
    assert_int_equal(c->bounds.items[2].values[0], 1);
    assert_int_equal(c->bounds.items[2].values[2], 1250);

    assert_int_equal(config_to_gateway(c, &g, NULL), 0);
    assert_string_equal(g->upstreams[0].name, "vllm");
    assert_string_equal(g->upstreams[0].prefix, "/base");
    assert_int_equal(g->request_window_bytes, 64 * KIB);
    assert_int_equal(g->max_body_bytes, 3000000);
    assert_int_equal(g->max_conns, 11);
    assert_int_equal(g->max_idle_upstream, 0);
    assert_int_equal(g->connect_timeout_ns, NS_PER_MS);
    assert_int_equal(g->first_byte_timeout_ns, 2 * NS_PER_S);
    assert_int_equal(g->idle_timeout_ns, 3 * NS_PER_S);
    assert_int_equal(g->total_timeout_ns, 240 * NS_PER_S);
    assert_int_equal(g->client_head_timeout_ns, 5 * NS_PER_S);
    assert_int_equal(g->client_body_timeout_ns, 6 * NS_PER_S);
    assert_int_equal(g->client_idle_timeout_ns, 7 * NS_PER_S);
    assert_int_equal(g->client_write_timeout_ns, 9 * NS_PER_S);
    assert_int_equal(g->upstream_idle_timeout_ns, 8 * NS_PER_S);
    assert_int_equal(g->dns_ttl_ns, 0);
    gateway_config_unref(g);
    config_unref(c);
}

static void test_accepted(void **state)
{
    static const char *const texts[] = {
        UPSTREAM "timeouts:\n", /* a section whose keys are comments */
        UPSTREAM "workers: auto\n",
        "upstreams: [http://h]\n",
        "upstreams: [{url: 'http://[::1]:5/v1'}]\n",
        "%YAML 1.1\n---\n" UPSTREAM "...\n",
        "\xef\xbb\xbf" UPSTREAM, /* byte order mark */
        "upstreams: http://h\r\nworkers: 3\r\n",
        "{\"upstreams\": [{\"name\": \"a\", \"url\": \"http://h\"}], \"workers\": 3}", /* JSON */
        UPSTREAM "models: []\n",
        UPSTREAM "models: solo\n",
        UPSTREAM "metrics: {bounds: {}}\n",
        UPSTREAM "listen: 127.0.0.1:0\nadmin: {listen: '127.0.0.1:0'}\n",
        UPSTREAM "log: {file: null.log}\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        config_unref(must_load(texts[i]));
}

/* --- mistakes --- */

struct mistake {
    const char *text;
    int line, column;
    const char *message, *hint;
};

static const struct mistake mistakes[] = {
    /* names */
    {"listn: a\n" UPSTREAM, 1, 1, "unknown key \"listn\"", "did you mean \"listen\"?"},
    {UPSTREAM "timeouts:\n  conect: 1s\n", 3, 3, "unknown key \"conect\" in \"timeouts\"",
     "did you mean \"connect\"?"},
    {UPSTREAM "connect: 1s\n", 2, 1, "unknown key \"connect\"",
     "did you mean \"timeouts.connect\"?"},
    {UPSTREAM "timeouts.connect: 1s\n", 2, 1, "unknown key \"timeouts.connect\"",
     "write \"timeouts:\" and, indented on the next line, \"connect:\""},
    {UPSTREAM "dns: {zzzzz: 1}\n", 2, 7, "unknown key \"zzzzz\" in \"dns\"", "known here: ttl"},
    {UPSTREAM "<<: 1\n", 2, 1, "unknown key \"<<\"", "known here: listen, workers, data_dir, ..."},
    {UPSTREAM "workers: 2\nworkers: 3\n", 3, 1, "key \"workers\" stands twice",
     "the first one is on line 2; keep one of them"},
    {UPSTREAM "log: {level: info}\nlog: {level: warn}\n", 3, 1, "key \"log\" stands twice",
     "the first one is on line 2; keep one of them"},
    {UPSTREAM "? [a, b]\n: 1\n", 2, 3, "a key has to be a text, not a list or mapping",
     "put texts that begin with [ or { in quotes"},
    {UPSTREAM "\"a\\0b\": 1\n", 2, 1, "unknown key \"a?b\"",
     "known here: listen, workers, data_dir, ..."},
    {"workers: 1\n", 0, 0, "missing key \"upstreams\"",
     "add upstreams: [{name: vllm, url: \"http://127.0.0.1:8000\"}], or start with --upstream "
     "URL"},
    /* kinds */
    {UPSTREAM "workers: [1]\n", 2, 10, "\"workers\" has to be a whole number, not a list",
     "for example workers: auto"},
    {UPSTREAM "timeouts:\n  idle:\n    a: 1\n", 4, 5,
     "\"timeouts.idle\" has to be a duration, not a mapping", "for example idle: 5m"},
    {UPSTREAM "limits: 4\n", 2, 9, "\"limits\" has to be a mapping of keys, not a text",
     "known here: request_window, max_body, max_connections, max_idle_upstream"},
    {UPSTREAM "workers:\n", 2, 9, "\"workers\" has no value",
     "remove the line to get the default, which is auto"},
    {UPSTREAM "data_dir: ~\n", 2, 11, "\"data_dir\" has no value",
     "remove the line to get the default, which is \"\""},
    {"- a\n", 1, 1, "the configuration has to be a mapping of keys, not a list",
     "write lines like \"listen: 127.0.0.1:8400\""},
    {"just text\n", 1, 1, "the configuration has to be a mapping of keys, not a text",
     "write lines like \"listen: 127.0.0.1:8400\""},
    /* counts */
    {UPSTREAM "workers: many\n", 2, 10, "\"workers\": \"many\" is not a whole number",
     "allowed: 1 to 256, or auto"},
    {UPSTREAM "workers: 0\n", 2, 10, "\"workers\": 0 is out of range",
     "allowed: 1 to 256, or auto"},
    {UPSTREAM "workers: 257\n", 2, 10, "\"workers\": 257 is out of range",
     "allowed: 1 to 256, or auto"},
    {UPSTREAM "workers: 99999999999999999999\n", 2, 10,
     "\"workers\": 99999999999999999999 is out of range", "allowed: 1 to 256, or auto"},
    {UPSTREAM "workers: -1\n", 2, 10, "\"workers\": \"-1\" is not a whole number",
     "allowed: 1 to 256, or auto"},
    {UPSTREAM "metrics: {max_series: 99}\n", 2, 23, "\"metrics.max_series\": 99 is out of range",
     "allowed: 100 to 10000000"},
    /* durations */
    {UPSTREAM "timeouts: {idle: 5}\n", 2, 18, "\"timeouts.idle\": \"5\" has no unit",
     "did you mean 5s? units: us, ms, s, m, h, d"},
    {UPSTREAM "timeouts: {idle: 5sec}\n", 2, 18, "\"timeouts.idle\": \"5sec\" is not a duration",
     "one number and one unit (us, ms, s, m, h, d), for example 250ms or 1.5s"},
    {UPSTREAM "timeouts: {idle: 0}\n", 2, 18, "\"timeouts.idle\": 0 is out of range",
     "allowed: 1ms to 1d"},
    {UPSTREAM "timeouts: {idle: 25h}\n", 2, 18, "\"timeouts.idle\": 25h is out of range",
     "allowed: 1ms to 1d"},
    {UPSTREAM "kafka: [{name: a, brokers: b, groups: [g], properties: [sasl.password=x, "
              "sasl.password=x]}]\n",
     2, 74, "\"properties\": an item stands twice", "remove one of them"},
    {UPSTREAM "probe: {interval: 1us}\n", 2, 19, "\"probe.interval\": 1us is out of range",
     "allowed: 100ms to 1h, or 0"},
    {UPSTREAM "models_refresh: 99ms\n", 2, 17, "\"models_refresh\": 99ms is out of range",
     "allowed: 100ms to 1d, or 0"},
    {UPSTREAM "timeouts: {idle: 9999999d}\n", 2, 18,
     "\"timeouts.idle\": \"9999999d\" is too long or finer than a nanosecond", ""},
    /* sizes */
    {UPSTREAM "limits: {max_body: 1mb}\n", 2, 20, "\"limits.max_body\": \"1mb\" is not a size",
     "a whole number and a unit (KiB, MiB, GiB, or KB, MB, GB for powers of 1000; none: bytes), "
     "for example 64MiB"},
    {UPSTREAM "limits: {max_body: 17GiB}\n", 2, 20, "\"limits.max_body\": 17GiB is out of range",
     "allowed: 1KiB to 16GiB"},
    /* words */
    {UPSTREAM "usage: {inject: yes}\n", 2, 17,
     "\"usage.inject\": \"yes\" is neither true nor false", "write true"},
    {UPSTREAM "usage: {inject: 2}\n", 2, 17, "\"usage.inject\": \"2\" is neither true nor false",
     "write true or false"},
    {UPSTREAM "log: {level: warning}\n", 2, 14, "\"log.level\": \"warning\" is not a level",
     "did you mean \"warn\"?"},
    {UPSTREAM "log: {level: 3}\n", 2, 14, "\"log.level\": \"3\" is not a level",
     "one of error, warn, info, debug"},
    {UPSTREAM "log: {file: \"a\\nb\"}\n", 2, 13, "\"log.file\" has a control character (byte 2)",
     ""},
    {UPSTREAM "log: {file: \"\\u2028\"}\n", 2, 13, "\"log.file\" has a control character (byte 1)",
     ""},
    /* addresses */
    {UPSTREAM "listen: localhost\n", 2, 9, "\"listen\": address \"localhost\" has no port",
     "write it as ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080"},
    {UPSTREAM "listen:\n  - ':1'\n  - example.org:2\n", 4, 5,
     "\"listen\": \"example.org\" is not an IP address",
     "listening addresses are numeric, for example 127.0.0.1:8080"},
    {UPSTREAM "listen: []\n", 2, 9, "\"listen\" is empty", "allowed: 1 to 16 items"},
    {UPSTREAM "listen: [':1', ':1']\n", 2, 16, "\"listen\": \":1\" stands twice",
     "remove one of them"},
    {UPSTREAM "listen: {a: 1}\n", 2, 9, "a value in \"listen\" has to be a text, not a mapping",
     "for example listen: [\"127.0.0.1:8400\", \"[::1]:8400\"]"},
    {UPSTREAM "admin: {listen: 'localhost:8400'}\n", 2, 17,
     "\"admin.listen\" is the same address as in \"listen\": localhost:8400",
     "give one of them another port"},
    /* lists of texts */
    {UPSTREAM "models: [a, b, a]\n", 2, 16, "\"models\": \"a\" stands twice", "remove one of them"},
    {UPSTREAM "models: ['']\n", 2, 10, "\"models\" has an empty item", ""},
    {UPSTREAM "models: [[a]]\n", 2, 10, "a value in \"models\" has to be a text, not a list",
     "for example models: [llama-3.1-8b, qwen2.5-72b]"},
    /* upstreams */
    {"upstreams: []\n", 1, 12, "\"upstreams\" is empty",
     "allowed: 1 to 64 items, for example [{name: vllm, url: \"http://127.0.0.1:8000\"}]"},
    {"upstreams:\n  name: a\n  url: http://h\n", 2, 3,
     "\"upstreams\" has to be a list, not a mapping",
     "put \"- \" in front of the first key of each item"},
    {"upstreams:\n  - http://a\n  - http://b\n  - http://a/base\n", 4, 5,
     "an upstream \"a\" stands twice", "remove one of them, or give it another name"},
    {"upstreams: [{name: '', url: 'http://h'}]\n", 1, 20,
     "upstream name \"\" has other characters than letters, digits, . _ : -",
     "it becomes a metric label; for example vllm-1"},
    {"upstreams: [{url: 'http://h', weight: 0}]\n", 1, 39, "\"weight\": 0 is out of range",
     "allowed: 1 to 1000"},
    {"upstreams: [{url: 'http://h', key_file: a, key_env: B}]\n", 1, 13,
     "an upstream with both \"key_file\" and \"key_env\"", "remove one of them"},
    {"upstreams: [{url: 'http://h', models: [a, 'b*c']}]\n", 1, 43,
     "model \"b*c\": \"*\" is not at its end", "write NAME, PREFIX*, or NAME=SERVED"},
    {"upstreams: [{url: 'http://h', models: 'a='}]\n", 1, 39,
     "model \"a=\": there is nothing behind \"=\"", "write NAME, PREFIX*, or NAME=SERVED"},
    {UPSTREAM "aliases: [a=b, c]\n", 2, 16,
     "alias \"c\": an alias needs \"=\" and a model behind it",
     "write NAME=MODEL, for example gpt-4o=llama-3.1-70b"},
    {UPSTREAM "aliases: ['a*=b']\n", 2, 11, "alias \"a*=b\": an alias is one name, without \"*\"",
     "write NAME=MODEL, for example gpt-4o=llama-3.1-70b"},
    {"upstreams: [{url: 'http://h', models: [a, a]}]\n", 1, 43, "\"models\": \"a\" stands twice",
     "remove one of them"},
    {"upstreams:\n  - name: a\n", 2, 5, "an upstream without \"url\"", "add url: http://HOST:PORT"},
    {"upstreams:\n  - url: http://a\n    nam: b\n", 3, 5, "unknown key \"nam\" of an upstream",
     "did you mean \"name\"?"},
    {"upstreams:\n  - url: http://a\n    zzzzzz: 3\n", 3, 5,
     "unknown key \"zzzzzz\" of an upstream", "known here: name, url, models, ..."},
    {"upstreams: [{url: 'http://h', max_inflight: -1}]\n", 1, 45,
     "\"max_inflight\": \"-1\" is not a whole number", "allowed: 1 to 1000000, or none"},
    /* Whoever writes that wants that none waits, or that none goes there: it is no word for no
       limit. */
    {"upstreams: [{url: 'http://h', max_queue: 0}]\n", 1, 42, "\"max_queue\": 0 is out of range",
     "allowed: 1 to 1000000, or none"},
    {"upstreams: [{url: 'http://h', queue_timeout: 2h}]\n", 1, 46,
     "\"queue_timeout\": 2h is out of range", "allowed: 0 to 1h"},
    {"upstreams: [{name: 'a b', url: 'http://h'}]\n", 1, 20,
     "upstream name \"a b\" has other characters than letters, digits, . _ : -",
     "it becomes a metric label; for example vllm-1"},
    {"upstreams: [{url: 'http://h', tls: {ca: x}}]\n", 1, 13,
     "an upstream with \"tls\" whose URL is not https",
     "write the URL with https://, or remove \"tls\""},
    {"upstreams: [{url: 'https://h', tls: {key: x}}]\n", 1, 13,
     "an upstream with \"tls.key\" and without \"tls.cert\"", "name the certificate's file, too"},
    {"upstreams: [{url: 'https://h', tls: {ca: x, verify: false}}]\n", 1, 13,
     "an upstream with \"tls.ca\" whose certificate is not checked", "remove one of them"},
    {"upstreams: [{url: 'unix:/s', proxy: 'http://p'}]\n", 1, 13,
     "an upstream on a Unix socket with a proxy", "remove \"proxy\""},
    {"upstreams: [{url: 'https://h', proxy: 'socks5://user:secret@p'}]\n", 1, 39,
     "\"proxy\": proxies are spoken to in plain HTTP, no other scheme",
     "write the proxy as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"},
    {UPSTREAM "listen_tls: {key: k.pem}\n", 2, 19, "\"listen_tls\" has a key and no cert",
     "name the certificate's file, too"},
    {"upstreams: ftp://h\n", 1, 12,
     "upstream \"ftp://h\": does not begin with http://, https:// or unix:",
     "write it as http://HOST:PORT, https://HOST:PORT or unix:/PATH, for example "
     "http://127.0.0.1:8000"},
    {"upstreams: http://user:secret@h\n", 1, 12,
     "an upstream URL with credentials is not supported", "remove what is in front of the \"@\""},
    {"upstreams: [{url: 'http://h', metrics: 'http://user:secret@h/metrics'}]\n", 1, 40,
     "a page's address has neither credentials nor parameters",
     "auto, none, a path like /metrics, or a URL; credentials and parameters go into "
     "scrape.files"},
    {"upstreams: [{url: 'http://h', metrics: '/metrics?token=secret'}]\n", 1, 40,
     "a page's address has neither credentials nor parameters",
     "auto, none, a path like /metrics, or a URL; credentials and parameters go into "
     "scrape.files"},
    {UPSTREAM "scrape: {targets: ['http://h/metrics?token=secret']}\n", 2, 19,
     "a page's address has neither credentials nor parameters",
     "http://HOST:PORT/metrics; credentials and parameters go into scrape.files"},
    {UPSTREAM "scrape: {targets: ['h:9400']}\n", 2, 19,
     "\"h:9400\" is no address of a page of metrics",
     "http://HOST:PORT/metrics; credentials and parameters go into scrape.files"},
    {"upstreams: http://localhost:8400/v1\n", 1, 12,
     "upstream \"http://localhost:8400/v1\" is the gateway's own address",
     "write the inference server's address, or let \"listen\" be another"},
    /* bounds */
    {UPSTREAM "metrics: {bounds: {llm_tft_seconds: [1s]}}\n", 2, 20,
     "\"metrics.bounds\": there is no histogram \"llm_tft_seconds\"",
     "did you mean \"llm_ttft_seconds\"?"},
    {UPSTREAM "metrics: {bounds: {llm_tokens_total: [1]}}\n", 2, 20,
     "\"metrics.bounds\": there is no histogram \"llm_tokens_total\"",
     "docs/METRICS.md lists them, for example llm_ttft_seconds"},
    /* labels */
    {UPSTREAM "labels: [model]\n", 2, 10, "label name \"model\" is a label of the metrics already",
     "it becomes a metric label; for example tenant"},
    {UPSTREAM "labels: [le]\n", 2, 10, "label name \"le\" is a label of the metrics already",
     "it becomes a metric label; for example tenant"},
    {UPSTREAM "labels: [__a]\n", 2, 10,
     "label name \"__a\" begins with __, which is Prometheus' own",
     "it becomes a metric label; for example tenant"},
    {UPSTREAM "labels: [user-tier]\n", 2, 10,
     "label name \"user-tier\" has other characters than letters, digits, _, or begins with a "
     "digit",
     "it becomes a metric label; for example tenant"},
    {UPSTREAM "labels: [1a]\n", 2, 10,
     "label name \"1a\" has other characters than letters, digits, _, or begins with a digit",
     "it becomes a metric label; for example tenant"},
    {UPSTREAM "labels: [a, b, c, d, e]\n", 2, 9, "\"labels\" has too many items",
     "allowed: 0 to 4 items, for example [{name: tenant, from: [key, \"header:X-Tenant\"]}, tier]"},
    {UPSTREAM "labels: [a, a]\n", 2, 13, "a label \"a\" stands twice",
     "remove one of them, or give it another name"},
    {UPSTREAM "labels: [{from: key}]\n", 2, 10, "a label without \"name\"", "add name: tenant"},
    {UPSTREAM "labels: [{name: a, from: []}]\n", 2, 26, "\"from\" is empty",
     "allowed: 1 to 8 items"},
    {UPSTREAM "labels: [{name: a, from: body}]\n", 2, 10, "\"body\" is no source",
     "write key, key:NAME, header:NAME or metadata:NAME, for example header:X-Tenant"},
    {UPSTREAM "labels: [{name: a, from: 'header:Authorization'}]\n", 2, 10,
     "\"header:Authorization\" would put credentials into metrics and logs",
     "write key, key:NAME, header:NAME or metadata:NAME, for example header:X-Tenant"},
    {UPSTREAM "labels: [{name: a, max: 0}]\n", 2, 25, "\"max\": 0 is out of range",
     "allowed: 1 to 100000"},
    {UPSTREAM "metrics: {bounds: {a-B: [1]}}\n", 2, 20,
     "\"metrics.bounds\": \"a-B\" is not the name of a metric (letters a-z and _)",
     "docs/METRICS.md lists them, for example llm_ttft_seconds"},
    {UPSTREAM "metrics: {bounds: {llm_ttft_seconds: 1s}}\n", 2, 38,
     "\"metrics.bounds\": \"llm_ttft_seconds\" needs a list of 1 to 40 bounds",
     "for example [100ms, 500ms, 2s]"},
    {UPSTREAM "metrics: {bounds: {llm_prompt_tokens: []}}\n", 2, 39,
     "\"metrics.bounds\": \"llm_prompt_tokens\" needs a list of 1 to 40 bounds",
     "for example [16, 128, 1024]"},
    {UPSTREAM "metrics: {bounds: {llm_ttft_seconds: [1s, 500ms]}}\n", 2, 43,
     "\"metrics.bounds\": 500ms is not larger than the bound before it", "bounds ascend"},
    {UPSTREAM "metrics: {bounds: {llm_ttft_seconds: [0.5]}}\n", 2, 39,
     "\"metrics.bounds\": \"0.5\" has no unit", "did you mean 0.5s? units: us, ms, s, m, h, d"},
    {UPSTREAM "metrics: {bounds: {llm_ttft_seconds: [0]}}\n", 2, 39,
     "\"metrics.bounds\": a bound has to be larger than 0", ""},
    {UPSTREAM "metrics: {bounds: {llm_prompt_tokens: [1.5]}}\n", 2, 40,
     "\"metrics.bounds\": \"1.5\" is not a whole number from 1 to 1000000000000",
     "for example [16, 128, 1024]"},
    {UPSTREAM "metrics: {bounds: {llm_tokens_per_event: [1.0005]}}\n", 2, 43,
     "\"metrics.bounds\": \"1.0005\" is not a number with at most 3 decimals from 0.001 to "
     "1000000000",
     "for example [0.5, 1, 2]"},
    {UPSTREAM "metrics: {bounds: [1]}\n", 2, 19,
     "\"metrics.bounds\" has to be a mapping from histograms to bounds, not a list",
     "for example {llm_ttft_seconds: [100ms, 250ms, 500ms, 1s, 3s, 10s]}"},
    {UPSTREAM "metrics: {bounds: }\n", 2, 19, "\"metrics.bounds\" has no value",
     "remove the line to get the default, which is {}"},
    /* YAML */
    {UPSTREAM "workers: &n 3\n", 2, 10, "anchor \"&n\" is not supported",
     "write the value out, or put texts that begin with & in quotes"},
    {UPSTREAM "workers: *n\n", 2, 10, "alias \"*n\" is not supported",
     "write the value out, or put texts that begin with * in quotes"},
    {UPSTREAM "workers: !!int 3\n", 2, 10, "tag \"tag:yaml.org,2002:int\" is not supported",
     "remove it, or put texts that begin with ! in quotes"},
    {UPSTREAM "---\n" UPSTREAM, 2, 1, "a second document begins here",
     "one file holds one document; remove the line \"---\" or what follows it"},
    {UPSTREAM "timeouts:\n\tidle: 1s\n", 3, 1, "a tab in the indentation",
     "indent with spaces; YAML does not allow tabs there"},
    {UPSTREAM "timeouts:\n  idle: 1s\n  \tconnect: 1s\n", 4, 3, "a tab in the indentation",
     "indent with spaces; YAML does not allow tabs there"},
    {UPSTREAM "workers: 1: 2\n", 2, 11,
     "YAML syntax: mapping values are not allowed in this context",
     "check the indentation, and put texts with \": \" in quotes"},
    {UPSTREAM "data_dir: \"abc\n", 3, 1,
     "YAML syntax: found unexpected end of stream while scanning a quoted scalar that began on "
     "line 2",
     "close the quote"},
    {UPSTREAM "listen: [a, b\nworkers: 1\n", 3, 8,
     "YAML syntax: did not find expected ',' or ']' while parsing a flow sequence that began on "
     "line 2",
     "close the bracket, and put commas between the items"},
    {UPSTREAM "data_dir: @x\n", 2, 11,
     "YAML syntax: found character that cannot start any token while scanning for the next token "
     "that began on line 2",
     "put texts that begin with @ ` % or another special character in quotes"},
    {"workers: 1\n" UPSTREAM "data_dir: \xff\n", 3, 11, "not a text: invalid leading UTF-8 octet",
     "save the file as UTF-8, without control characters"},
    {"w\xc3\xb6rk: 1\n\xc3\xb6\xc3\xb6: [\x01]\n", 2, 6,
     "not a text: control characters are not allowed",
     "save the file as UTF-8, without control characters"},
    {"a: [[[[[[[[[[[1]]]]]]]]]]]\n", 1, 14, "more than 10 levels of nesting",
     "no key needs so many; is this the right file?"},
};

/* Equal, or beginning so where want ends with "..." (lists that grow with every key). */
static bool is_as_wanted(const char *got, const char *want)
{
    struct span beginning = span_cstr(want);
    if (!span_ends_with(beginning, SPAN("...")))
        return strcmp(got, want) == 0;
    beginning.n -= 3;
    return span_starts_with(span_cstr(got), beginning);
}

static void assert_mistake(const struct mistake *m, const struct err_item *item)
{
    if (item->line != m->line || item->column != m->column ||
        strcmp(item->err.text, m->message) != 0 || !is_as_wanted(item->err.hint, m->hint))
        fail_msg("for\n%s\ngot  %d:%d: %s (%s)\nwant %d:%d: %s (%s)", m->text, item->line,
                 item->column, item->err.text, item->err.hint, m->line, m->column, m->message,
                 m->hint);
    assert_string_equal(item->where, "f.yaml");
}

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct config *c = NULL;
        size_t found;
        int r = load_text(mistakes[i].text, &c);

        if (r != -EINVAL)
            fail_msg("accepted:\n%s", mistakes[i].text);
        assert_null(c);
        /* The last one: a text that cannot be followed has others before it. */
        found = errs.n - 1;
        assert_mistake(&mistakes[i], &errs.items[found]);
        if (errs.n != 1 && strstr(mistakes[i].text, "listen: [a, b") == NULL &&
            mistakes[i].text[0] == 'u')
            fail_msg("%zu mistakes instead of one:\n%s", errs.n, mistakes[i].text);
    }
}

static void test_all_mistakes_at_once(void **state)
{
    static const struct {
        int line, column;
    } places[] = {{1, 1}, {2, 10}, {4, 12}, {5, 3}, {6, 20}, {8, 5}, {8, 11}, {11, 1}};
    struct config *c = NULL;
    char *printed = NULL;
    size_t n_printed = 0;
    FILE *out;

    (void)state;
    assert_int_equal(load_text("wrkers: 1\n"
                               "workers: x\n"
                               "timeouts:\n"
                               "  connect: 5\n"
                               "  conect: 5s\n"
                               "limits: {max_body: 1, request_window: 1MiB}\n"
                               "upstreams:\n"
                               "  - name: 'ö ö'\n"
                               "models: []\n"
                               "foo\n",
                               &c),
                     -EINVAL);
    assert_int_equal(errs.n, ARRAY_LEN(places));
    for (size_t i = 0; i < errs.n; i++) {
        assert_int_equal(errs.items[i].line, places[i].line);
        assert_int_equal(errs.items[i].column, places[i].column);
    }
    out = open_memstream(&printed, &n_printed);
    err_list_print(&errs, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(printed, "f.yaml:1:1: unknown key \"wrkers\"\n"
                                    "  hint: did you mean \"workers\"?\n"
                                    "f.yaml:2:10: \"workers\": \"x\" is not a whole number\n"
                                    "  hint: allowed: 1 to 256, or auto\n"));
    free(printed);
}

static void test_too_many_mistakes(void **state)
{
    struct config *c = NULL;
    char text[4000];
    int n = 0;
    char *printed = NULL;
    size_t n_printed = 0;
    FILE *out;

    (void)state;
    for (int i = 0; i < 100; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "zz%d: 1\n", i);
    assert_int_equal(load_text(text, &c), -EINVAL);
    assert_int_equal(errs.n, ERR_LIST_MAX);
    assert_int_equal(errs.n + errs.n_dropped, 101); /* and "upstreams" is missing */
    out = open_memstream(&printed, &n_printed);
    err_list_print(&errs, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(printed, "(61 more mistakes are not shown)\n"));
    free(printed);
}

/* What a message quotes cannot steer a terminal, and is cut between characters. */
static void test_shown_texts(void **state)
{
    static const struct {
        const char *in, *expect;
    } rows[] = {
        {"plain", "plain"},
        {"a\x1b[31m\x7f", "a?[31m?"},
        {"\xc2\x9b"
         "5m",
         "??5m"},
        {"\xc3\xa4", "\xc3\xa4"},
        {"123456789012345678901234567890123456789012345678901234567890",
         "123456789012345678901234567890123456789012345678901234567890"},
        {"1234567890123456789012345678901234567890123456789012345678901",
         "123456789012345678901234567890123456789012345678901234567890..."},
        {"12345678901234567890123456789012345678901234567890123456789\xc3\xa4",
         "12345678901234567890123456789012345678901234567890123456789..."},
    };
    char shown[ERR_LIST_SHOWN_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(err_list_shown(span_cstr(rows[i].in), shown), rows[i].expect);
}

/* --- files --- */

static void test_files(void **state)
{
    char path[] = "/tmp/test_config_XXXXXX";
    struct config *c = NULL;

    (void)state;
    make_file(path, all_keys);
    err_list_init(&errs);
    assert_int_equal(config_load(path, &c, &errs), 0);
    assert_int_equal(c->workers, 7);
    c = config_unref(c);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(config_load(path, &c, &errs), -ENOENT);
    assert_null(c);
    assert_int_equal(errs.n, 1);
    assert_string_equal(errs.items[0].where, path);
    assert_string_equal(errs.items[0].err.text,
                        "could not open the file: no such file or directory");

    err_list_init(&errs);
    assert_int_equal(config_load("/", &c, &errs), -EISDIR);
    assert_string_equal(errs.items[0].err.text, "could not read the file: is a directory");

    err_list_init(&errs);
    assert_int_equal(config_load("/dev/zero", &c, &errs), -EINVAL);
    assert_string_equal(errs.items[0].err.text, "larger than 1024 KiB");

    err_list_init(&errs);
    assert_int_equal(config_load(NULL, &c, &errs), -EINVAL); /* no upstream */
    assert_int_equal(errs.n, 1);
}

static void test_partial(void **state)
{
    struct config *c = NULL;

    (void)state;
    err_list_init(&errs);
    assert_int_equal(config_load_partial("/dev/null", &c, &errs), 0);
    assert_int_equal(c->upstreams.n, 0);
    config_unref(c);
}

/* What "config show" prints has no credentials. */
static void test_proxy_is_masked(void **state)
{
    struct config *c = must_load("upstreams: [{url: 'https://h', proxy: "
                                 "'http://user:secret@p:3128'}]\n");
    struct gateway_config *g = NULL;
    struct buf out;

    (void)state;
    buf_init(&out, 64 * KIB);
    assert_int_equal(config_to_yaml(c, &out), 0);
    assert_true(span_find(buf_span(&out), SPAN("secret")) == buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("http://***@p:3128")) < buf_len(&out));
    buf_done(&out);
    assert_int_equal(config_to_gateway(c, &g, NULL), 0);
    assert_string_equal(g->upstreams[0].proxy.host, "p");
    assert_string_equal(g->upstreams[0].proxy.authorization, "Basic dXNlcjpzZWNyZXQ=");
    assert_true(g->upstreams[0].is_tls && g->upstreams[0].tls);
    gateway_config_unref(g);
    config_unref(c);
}

/* The environment names a proxy unless the key does. */
static void test_proxy_of_environment(void **state)
{
    static const struct {
        const char *upstream, *proxy;
    } rows[] = {
        {"{url: 'https://h'}", "e"},
        {"{url: 'https://h', proxy: none}", ""},
        {"{url: 'https://h', proxy: 'http://p'}", "p"},
        {"{url: 'https://127.0.0.1'}", ""},
        {"{url: 'https://127.0.0.1', proxy: 'http://p'}", "p"},
        {"{url: 'unix:/s'}", ""},
        {"{url: 'http://h'}", ""},
    };

    (void)state;
    assert_int_equal(setenv("https_proxy", "http://e:1", 1), 0);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("no_proxy") | unsetenv("NO_PROXY"), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gateway_config *g = NULL;
        struct config *c;
        char text[128];

        (void)snprintf(text, sizeof(text), "upstreams: [%s]\n", rows[i].upstream);
        c = must_load(text);
        assert_int_equal(config_to_gateway(c, &g, NULL), 0);
        assert_string_equal(g->upstreams[0].proxy.host, rows[i].proxy);
        gateway_config_unref(g);
        config_unref(c);
    }
    assert_int_equal(setenv("https_proxy", "socks5://user:secret@e", 1), 0);
    {
        struct gateway_config *g = NULL;
        struct config *c = must_load("upstreams: https://h\n");
        struct err e = {0};

        assert_int_equal(config_to_gateway(c, &g, &e), -EINVAL);
        assert_non_null(strstr(e.text, "https_proxy"));
        assert_null(strstr(e.text, "secret"));
        config_unref(c);
    }
    assert_int_equal(unsetenv("https_proxy"), 0);
}

static void test_tls_files(void **state)
{
    struct gateway_config *g = NULL;
    struct config *c = must_load("upstreams: [{url: 'https://h', tls: {ca: /nowhere/ca.pem}}]\n");
    struct err e = {0};

    (void)state;
    assert_int_equal(config_to_gateway(c, &g, &e), -ENOENT);
    assert_non_null(strstr(e.text, "/nowhere/ca.pem"));
    config_unref(c);
}

/* --- differences, references --- */

static void test_diff(void **state)
{
    const char *paths[CONFIG_KEYS_MAX];
    struct config *a = must_load(UPSTREAM "workers: 3\n");
    struct config *b = must_load(UPSTREAM "workers: 3\n");
    struct config *other = must_load(all_keys);
    struct config *few = must_load("upstreams: [{name: x, url: 'http://127.0.0.1:8000'}]\n"
                                   "workers: 4\nmodels: [m]\nmetrics: {bounds: "
                                   "{llm_ttft_seconds: [1s]}}\n");
    size_t n;

    (void)state;
    assert_int_equal(config_diff(a, b, CONFIG_RESTART, paths), 0);
    assert_int_equal(config_diff(a, b, CONFIG_RELOAD, paths), 0);
    n = config_diff(a, few, CONFIG_RESTART, paths);
    assert_int_equal(n, 2);
    assert_string_equal(paths[0], "workers");
    assert_string_equal(paths[1], "upstreams");
    n = config_diff(a, few, CONFIG_RELOAD, paths);
    assert_int_equal(n, 2);
    assert_string_equal(paths[0], "models");
    assert_string_equal(paths[1], "metrics.bounds");
    n = config_diff(a, other, CONFIG_RESTART, paths);
    n += config_diff(a, other, CONFIG_RELOAD, paths);
    assert_int_equal(n, config_keys_n); /* every type sees a difference */
    struct config *heavy = must_load("upstreams: [{url: 'http://127.0.0.1:8000', weight: 2}]\n"
                                     "workers: 3\n");
    assert_int_equal(config_diff(a, heavy, CONFIG_RESTART, paths), 0); /* its own class */
    assert_int_equal(config_diff(a, heavy, CONFIG_RELOAD, paths), 1);
    assert_string_equal(paths[0], "upstreams");
    config_unref(heavy);
    /* The names of labels are fixed while it runs, where their values come from is not. */
    struct config *label = must_load(UPSTREAM "workers: 3\nlabels: [{name: a, from: key}]\n");
    struct config *from = must_load(UPSTREAM "workers: 3\nlabels: [{name: a, from: 'key:b'}]\n");
    assert_int_equal(config_diff(a, label, CONFIG_RESTART, paths), 1);
    assert_string_equal(paths[0], "labels");
    assert_int_equal(config_diff(label, from, CONFIG_RESTART, paths), 0);
    assert_int_equal(config_diff(label, from, CONFIG_RELOAD, paths), 1);
    config_unref(label);
    config_unref(from);
    config_unref(a);
    config_unref(b);
    config_unref(few);
    config_unref(other);
}

static void test_refs(void **state)
{
    int64_t n_live = mem_live_blocks();
    struct config *c = must_load(UPSTREAM);

    (void)state;
    assert_ptr_equal(config_ref(c), c);
    assert_null(config_unref(c));
    assert_int_equal(c->upstreams.n, 1);
    assert_null(config_unref(c));
    assert_null(config_unref(NULL));
    assert_int_equal(mem_live_blocks(), n_live);
}

/* --- texts made from the table --- */

/* What show prints reads back as the same configuration. */
static void assert_reads_back(struct config *c)
{
    const char *paths[CONFIG_KEYS_MAX];
    char text[8192];
    struct config *back;
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    assert_int_equal(config_to_yaml(c, &out), 0);
    (void)span_copy(buf_span(&out), text, sizeof(text));
    back = must_load(text);
    assert_int_equal(config_diff(c, back, CONFIG_RESTART, paths), 0);
    assert_int_equal(config_diff(c, back, CONFIG_RELOAD, paths), 0);
    assert_int_equal(config_n_set(back), config_keys_n);
    config_unref(back);
    buf_done(&out);
    config_unref(c);
}

/* A secret where none belongs is not shown. */
static void test_show_no_secrets(void **state)
{
    struct config *c = must_load(
        UPSTREAM "kafka: [{name: a, brokers: 'k:1', groups: [g], properties: [client.id=me, "
                 "sasl.password=hunter=2, ssl.key.pem=hunter2]}]\n");
    struct buf out;

    (void)state;
    buf_init(&out, 64 * 1024);
    assert_int_equal(config_to_yaml(c, &out), 0);
    assert_int_equal(span_find(buf_span(&out), SPAN("hunter")), buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("client.id=me")) < buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("sasl.password=<secret>")) < buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("ssl.key.pem=<secret>")) < buf_len(&out));
    buf_done(&out);
    config_unref(c);
}

static void test_show(void **state)
{
    (void)state;
    assert_reads_back(must_load(UPSTREAM));
    assert_reads_back(must_load(all_keys));
    assert_reads_back(
        must_load(UPSTREAM "labels: [{name: a, from: ['metadata:x \"y', 'key:b']}]\n"));
    assert_reads_back(must_load(
        "upstreams: [http://a, {url: 'http://b', name: bee, models: [m, 'q*', 'x=y/z'], weight: 3, "
        "priority: 2, version: v1, key_env: KEY, key_header: api-key, max_inflight: 9, "
        "max_queue: none, batch_queue_timeout: 0}]\n"));
    assert_reads_back(must_load(
        UPSTREAM "models: [\"null\", \"~\", \"-\", \"- a\", \"a: b\", \"[x]\", 'q\"\\', \"# c\", "
                 "\" a \", \"true\", \"1\", \"@\", \"\xc3\xa4\", \"%\", \"...\", \"'\"]\n"
                 "dns: {ttl: 1.001us}\n"));
}

static struct admission_limits limits_of(const char *text)
{
    struct config *c = must_load(text);
    struct gateway_config *g = NULL;
    struct admission_limits l;

    assert_int_equal(config_to_gateway(c, &g, NULL), 0);
    l = g->upstreams[0].limits;
    gateway_config_unref(g);
    config_unref(c);
    return l;
}

static void test_limits(void **state)
{
    struct admission_limits l = limits_of(UPSTREAM);
    (void)state;
    assert_int_equal(l.max_inflight, 0);
    assert_int_equal(l.max_tokens, 0);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_queue, 1000);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_queue_ns, 30 * NS_PER_S);
    assert_int_equal(l.classes[ADMISSION_BATCH].max_queue_ns, 600 * NS_PER_S);
    l = limits_of(
        "upstreams: [{url: 'http://h', max_inflight: 8, max_tokens_inflight: 100000000000, "
        "max_queue: none, queue_timeout: 1s, batch_max_inflight: 3, "
        "batch_max_tokens_inflight: 5, batch_max_queue: 6, batch_queue_timeout: 0}]\n");
    assert_int_equal(l.max_inflight, 8);
    assert_int_equal(l.max_tokens, 100000000000);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_inflight, 0);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_tokens, 0);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_queue, 0);
    assert_int_equal(l.classes[ADMISSION_INTERACTIVE].max_queue_ns, NS_PER_S);
    assert_int_equal(l.classes[ADMISSION_BATCH].max_inflight, 3);
    assert_int_equal(l.classes[ADMISSION_BATCH].max_tokens, 5);
    assert_int_equal(l.classes[ADMISSION_BATCH].max_queue, 6);
    assert_int_equal(l.classes[ADMISSION_BATCH].max_queue_ns, 0);
}

static void test_example_is_the_shipped_file(void **state)
{
    const char *paths[CONFIG_KEYS_MAX];
    struct config *example = NULL;
    struct config *defaults = must_load("upstreams: [{name: vllm, url: 'http://127.0.0.1:8000'}]");
    struct buf out;
    char text[16384];
    FILE *f;
    size_t n;

    (void)state;
    buf_init(&out, sizeof(text));
    assert_int_equal(config_to_yaml_example(&out), 0);
    f = fopen("deploy/inferometer.yaml", "re");
    if (!f)
        skip(); /* not run from the source tree */
    n = fread(text, 1, sizeof(text), f);
    assert_int_equal(fclose(f), 0);
    assert_span_equal("deploy/inferometer.yaml is stale", span_of(text, n), buf_span(&out));
    buf_done(&out);

    err_list_init(&errs);
    assert_int_equal(config_load("deploy/inferometer.yaml", &example, &errs), 0);
    assert_int_equal(config_n_set(example), 1);
    assert_int_equal(config_diff(example, defaults, CONFIG_RESTART, paths), 0);
    assert_int_equal(config_diff(example, defaults, CONFIG_RELOAD, paths), 0);
    config_unref(example);
    config_unref(defaults);
}

static void test_markdown(void **state)
{
    struct buf a, b;
    char text[65536];

    (void)state;
    buf_init(&a, sizeof(text) - 1);
    buf_init(&b, sizeof(text) - 1);
    assert_int_equal(config_to_markdown(&a), 0);
    assert_int_equal(config_to_markdown(&b), 0);
    assert_span_equal("same every time", buf_span(&a), buf_span(&b));
    (void)span_copy(buf_span(&a), text, sizeof(text));
    for (size_t i = 0; i < config_keys_n; i++) {
        char heading[80];

        (void)snprintf(heading, sizeof(heading), "\n### %s\n", config_keys[i].path);
        assert_non_null(strstr(text, heading));
    }
    assert_non_null(strstr(text, "\n### upstreams[].weight\n"));
    buf_done(&a);
    /* No room: out is as before. */
    buf_init(&a, 100);
    assert_int_equal(buf_printf(&a, "before"), 0);
    assert_int_equal(config_to_markdown(&a), -EMSGSIZE);
    assert_int_equal(config_to_yaml_example(&a), -EMSGSIZE);
    assert_span_equal("untouched", buf_span(&a), SPAN("before"));
    buf_done(&a);
    buf_done(&b);
}

/* Each example of the table is accepted for its key. */
static void test_examples_of_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_keys_n; i++) {
        const struct config_key *key = &config_keys[i];
        const char *leaf = config_keys_leaf(key);
        bool is_top = leaf == key->path;
        struct config *c = NULL;
        struct buf text;

        if (!key->example)
            continue;
        buf_init(&text, 1024);
        assert_int_equal(buf_append(&text, span_of(key->path, (size_t)(leaf - key->path))), 0);
        if (!is_top)
            buf_truncate(&text, buf_len(&text) - 1); /* the dot */
        assert_int_equal(
            buf_printf(&text, is_top ? "%s: %s\n" : ": {%s: %s}\n", leaf, key->example), 0);
        assert_row(key->path, load_span(buf_span(&text), false, &c) == 0);
        assert_int_equal(config_n_set(c), 1);
        config_unref(c);
        buf_done(&text);
    }
}

/* --- no memory --- */

static int attempt_load(void *ctx)
{
    struct config *c = NULL;
    int r = load_text(ctx, &c);

    if (r == 0)
        config_unref(c);
    else if (c != NULL)
        return -EFAULT;
    return r;
}

static int attempt_file(void *ctx)
{
    struct config *c = NULL;
    struct gateway_config *g = NULL;
    struct buf out;
    int r;

    err_list_init(&errs);
    buf_init(&out, 65536);
    r = config_load(ctx, &c, &errs);
    if (r < 0 && errs.n == 0)
        r = -EFAULT; /* nothing was said */
    if (r == 0)
        r = config_to_gateway(c, &g, NULL);
    if (r == 0)
        r = config_to_yaml(c, &out);
    if (r == 0)
        r = config_to_markdown(&out);
    buf_done(&out);
    gateway_config_unref(g);
    config_unref(c);
    return r;
}

/* With mistakes in it: neither a leak nor a wrong verdict. */
static int attempt_mistakes(void *ctx)
{
    int r = attempt_load(ctx);

    return r == -EINVAL ? 0 : r;
}

static void test_no_memory(void **state)
{
    char path[] = "/tmp/test_config_XXXXXX";
    static char good[sizeof(all_keys)];
    static char bad[] = "upstreams: [{name: a, url: 'http://h'}, {name: b, url: x}]\n"
                        "models: [a, b, c, a]\nlisten: [':1', x]\n"
                        "metrics: {bounds: {llm_ttft_seconds: [1s, 2s], a: [1]}}\n";

    (void)state;
    memcpy(good, all_keys, sizeof(good));
    assert_true(memfail_each(attempt_load, good) > 50);
    assert_true(memfail_each(attempt_mistakes, bad) > 30);
    make_file(path, all_keys);
    assert_true(memfail_each(attempt_file, path) > 50);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_gateway_defaults),
        cmocka_unit_test(test_all_keys),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_all_mistakes_at_once),
        cmocka_unit_test(test_too_many_mistakes),
        cmocka_unit_test(test_shown_texts),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_partial),
        cmocka_unit_test(test_proxy_is_masked),
        cmocka_unit_test(test_proxy_of_environment),
        cmocka_unit_test(test_tls_files),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_refs),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_show_no_secrets),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_example_is_the_shipped_file),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_examples_of_keys),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("daemon/config", tests, NULL, NULL);
}
