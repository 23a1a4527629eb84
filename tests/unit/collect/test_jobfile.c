/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/jobfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "harness.h"
#include "memfail.h"

#define JOB "scrape_configs:\n- job_name: a\n"

static struct err_list errs;

static struct scrape_file *read_good(const char *text)
{
    struct scrape_file *f = NULL;

    err_list_init(&errs);
    int r = scrape_file_read(span_cstr(text), "/etc/x/prometheus.yml", &f, &errs);
    if (r != 0)
        fail_msg("%s\n%d:%d: %s", text, errs.items[0].line, errs.items[0].column,
                 errs.items[0].err.text);
    assert_int_equal(errs.n, 0);
    return f;
}

static void assert_text(struct span got, const char *want)
{
    assert_span_equal(want, got, span_cstr(want));
}

static const char whole[] =
    "global: {scrape_interval: 20s, scrape_timeout: 15s, evaluation_interval: 1m,\n"
    "         external_labels: {a: b}}\n"
    "rule_files: [x.yml]\n"
    "alerting: {alertmanagers: [{static_configs: [{targets: [x]}]}]}\n"
    "scrape_configs:\n"
    "- job_name: engines\n"
    "  scrape_interval: 5s\n"
    "  scrape_timeout: 2s\n"
    "  metrics_path: /prometheus/metrics\n"
    "  scheme: https\n"
    "  params: {'match[]': [a, b], c: ['1']}\n"
    "  honor_labels: true\n"
    "  honor_timestamps: false\n"
    "  follow_redirects: false\n"
    "  basic_auth: {username: u, password_file: secrets/p}\n"
    "  tls_config: {ca_file: ca.pem, cert_file: /c.pem, key_file: k.pem, server_name: s,\n"
    "               insecure_skip_verify: true, min_version: TLS12}\n"
    "  proxy_url: http://proxy:3128\n"
    "  body_size_limit: 10MB\n"
    "  sample_limit: 1000\n"
    "  label_limit: 30\n"
    "  label_name_length_limit: 100\n"
    "  label_value_length_limit: 200\n"
    "  target_limit: 50\n"
    "  static_configs:\n"
    "  - targets: ['gpu1:8000', gpu2]\n"
    "    labels: {zone: eu, empty: ''}\n"
    "  file_sd_configs:\n"
    "  - files: [targets/*.json, /abs/t.yml]\n"
    "    refresh_interval: 1m\n"
    "  dns_sd_configs:\n"
    "  - names: [_m._tcp.x, y]\n"
    "  - {names: [z], type: a, port: 8000, refresh_interval: 10s}\n"
    "  relabel_configs:\n"
    "  - {source_labels: [__address__, zone], separator: '', regex: (.*), target_label: t,\n"
    "     replacement: $1, action: Replace}\n"
    "  - {action: keep, source_labels: [zone], regex: eu}\n"
    "  metric_relabel_configs:\n"
    "  - {action: labeldrop, regex: tmp_.*}\n"
    "- job_name: gateway\n"
    "  authorization: {credentials_file: token}\n"
    "  static_configs: [{targets: ['[::1]:9090']}]\n";

static void test_every_key(void **state)
{
    (void)state;
    struct scrape_file *f = read_good(whole);
    const struct scrape_job *j = &f->jobs[0];
    assert_int_equal(f->n, 2);
    assert_text(j->name, "engines");
    assert_int_equal(j->line, 6);
    assert_int_equal(j->interval_ms, 5000);
    assert_int_equal(j->timeout_ms, 2000);
    assert_text(j->path, "/prometheus/metrics");
    assert_text(j->scheme, "https");
    assert_int_equal(j->n_params, 2);
    assert_text(j->params[0].name, "match[]");
    assert_int_equal(j->params[0].n, 2);
    assert_text(j->params[0].values[1], "b");
    assert_true(j->honors_labels && !j->honors_timestamps && !j->follows_redirects);
    assert_text(j->auth.user, "u");
    assert_text(j->auth.password_file, "/etc/x/secrets/p");
    assert_text(j->link.ca_file, "/etc/x/ca.pem");
    assert_text(j->link.cert_file, "/c.pem");
    assert_text(j->link.server_name, "s");
    assert_true(j->link.skips_verification);
    assert_text(j->link.proxy_url, "http://proxy:3128");
    assert_int_equal(j->limits.body_bytes, 10 << 20);
    assert_int_equal(j->limits.samples, 1000);
    assert_int_equal(j->limits.labels, 30);
    assert_int_equal(j->limits.name_bytes, 100);
    assert_int_equal(j->limits.value_bytes, 200);
    assert_int_equal(j->limits.targets, 50);
    assert_int_equal(j->n_groups, 1);
    assert_int_equal(j->groups[0].n, 2);
    assert_text(j->groups[0].addresses[1], "gpu2");
    assert_int_equal(j->groups[0].labels.n, 1);
    assert_text(j->files[0].patterns[0], "/etc/x/targets/*.json");
    assert_text(j->files[0].patterns[1], "/abs/t.yml");
    assert_int_equal(j->files[0].refresh_ms, 60000);
    assert_int_equal(j->n_dns, 2);
    assert_int_equal(j->dns[0].type, SCRAPE_DNS_SRV);
    assert_int_equal(j->dns[0].n, 2);
    assert_int_equal(j->dns[0].refresh_ms, 30000);
    assert_int_equal(j->dns[1].type, SCRAPE_DNS_A);
    assert_int_equal(j->dns[1].port, 8000);
    assert_int_equal(j->relabel.n, 2);
    assert_int_equal(j->metric_relabel.n, 1);
    j = &f->jobs[1];
    assert_text(j->path, "/metrics");
    assert_text(j->scheme, "http");
    assert_true(!j->honors_labels && j->honors_timestamps && j->follows_redirects);
    assert_int_equal(j->interval_ms, 20000);
    assert_int_equal(j->timeout_ms, 15000);
    assert_text(j->auth.type, "Bearer");
    assert_text(j->auth.credentials_file, "/etc/x/token");
    struct scrape_file *again = scrape_file_ref(f);
    scrape_file_unref(f);
    assert_text(again->jobs[0].name, "engines");
    scrape_file_unref(again);
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int interval_ms, timeout_ms;
    } rows[] = {
        {JOB, 10000, 10000},
        {JOB "  scrape_interval: 3s\n", 3000, 3000},
        {JOB "  scrape_interval: 1m\n", 60000, 10000},
        {JOB "  scrape_timeout: 5s\n", 10000, 5000},
        {JOB "  scrape_timeout: 30s\n", 30000, 30000}, /* fits into Prometheus' minute */
        {JOB "  scrape_interval: 0s\n", 10000, 10000},
        {"global: {scrape_interval: 30s}\n" JOB, 30000, 10000},
        {"global: {scrape_interval: 30s, scrape_timeout: 20s}\n" JOB, 30000, 20000},
        {"global: {scrape_interval: 30s, scrape_timeout: 20s}\n" JOB "  scrape_interval: 15s\n",
         15000, 15000},
        {"global: {scrape_timeout: 20s}\n" JOB, 20000, 20000},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scrape_file *f = read_good(rows[i].text);
        assert_row(rows[i].text, f->jobs[0].interval_ms == rows[i].interval_ms);
        assert_row(rows[i].text, f->jobs[0].timeout_ms == rows[i].timeout_ms);
        scrape_file_unref(f);
    }
}

static void test_nothing(void **state)
{
    static const char *const texts[] = {"", "# nothing\n", "scrape_configs: []\n",
                                        "scrape_configs:\n", "global:\nscrape_configs: []\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scrape_file *f = read_good(texts[i]);
        assert_int_equal(f->n, 0);
        scrape_file_unref(f);
    }
}

static const struct wrong {
    const char *text;
    int line, column;
    const char *what, *hint;
} wrongs[] = {
    {"scrape_config: []\n", 1, 1, "no key \"scrape_config\"", "scrape_configs"},
    {"scrape_configs: {a: b}\n", 1, 17, "has to be a list", ""},
    {"scrape_configs: [a]\n", 1, 18, "has to be a mapping", ""},
    {"scrape_configs:\n-\n", 2, 2, "nothing where a job", ""},
    {"scrape_configs:\n- scheme: http\n", 2, 3, "without \"job_name\"", "label \"job\""},
    {"scrape_configs:\n- job_name: ''\n", 2, 3, "is empty", ""},
    {JOB "- job_name: a\n", 3, 3, "a second job \"a\"", "line 2"},
    {JOB "  scrape_intervall: 1s\n", 3, 3, "no key", "did you mean \"scrape_interval\"?"},
    {JOB "  scrape_interval: 5\n", 3, 20, "no duration", "\"5s\""},
    {JOB "  scrape_interval: 2y\n", 3, 20, "longer than a year", "10s"},
    {JOB "  scrape_interval: 5s\n  scrape_timeout: 6s\n", 4, 3, "longer than the interval", ""},
    {"global: {scrape_interval: 5s, scrape_timeout: 6s}\n", 1, 31, "longer than", ""},
    {JOB "  scheme: ftp\n", 3, 11, "no scheme", "http or https"},
    {JOB "  honor_labels: 'true'\n", 3, 17, "neither true nor false", ""},
    {JOB "  body_size_limit: 10 MB\n", 3, 20, "no size", "powers of 1024"},
    {JOB "  sample_limit: -1\n", 3, 17, "below 0", ""},
    {JOB "  params: [a]\n", 3, 11, "has to be a mapping", ""},
    {JOB "  params: {a: b}\n", 3, 15, "has to be a list", ""},
    {JOB "  basic_auth: {username: u, password: x, password_file: y}\n", 3, 42, "both there", ""},
    {JOB "  basic_auth: {user: u}\n", 3, 16, "no key \"user\"", "username"},
    {JOB "  basic_auth: {username: u}\n  authorization: {credentials: x}\n", 4, 3, "both there",
     "enough"},
    {JOB "  bearer_token: x\n  bearer_token_file: y\n", 4, 3, "both there", ""},
    {JOB "  authorization: {type: Basic, credentials: x}\n", 3, 25, "cannot be Basic",
     "basic_auth"},
    {JOB "  tls_config: {cert_file: a}\n", 3, 3, "need each other", ""},
    {JOB "  tls_config: {min_version: 1.2}\n", 3, 29, "no version of TLS", "TLS12"},
    {JOB "  tls_config: {ca: x}\n", 3, 16, "\"ca\" is not supported", "ca_file"},
    {JOB "  proxy_url: proxy:3128\n", 3, 14, "no URL of a proxy", "http://"},
    {JOB "  static_configs: [{targets: [http://a]}]\n", 3, 31, "no address", "metrics_path"},
    {JOB "  static_configs: [{targets: a}]\n", 3, 30, "has to be a list", ""},
    {JOB "  static_configs: [{labels: {a-b: c}}]\n", 3, 30, "no label's name", ""},
    {JOB "  static_configs: [{target: [a]}]\n", 3, 21, "no key", "did you mean \"targets\"?"},
    {JOB "  static_configs: [null]\n", 3, 20, "nothing where a group", ""},
    {JOB "  file_sd_configs: [{files: [a.txt]}]\n", 3, 30, "no name of files", ".json"},
    {JOB "  file_sd_configs: [{files: ['*/a.yml']}]\n", 3, 30, "no name of files", "last part"},
    {JOB "  file_sd_configs: [{files: []}]\n", 3, 22, "without a file", ""},
    {JOB "  file_sd_configs: [{refresh_interval: 1m}]\n", 3, 21, "without a file", ""},
    {JOB "  dns_sd_configs: [{names: []}]\n", 3, 21, "without a name", ""},
    {JOB "  dns_sd_configs: [{names: [a], type: TXT, port: 1}]\n", 3, 39, "no type of records",
     "SRV, A"},
    {JOB "  dns_sd_configs: [{names: [a], type: A}]\n", 3, 20, "without \"port\"", "SRV"},
    {JOB "  dns_sd_configs: [{names: [a], type: A, port: 70000}]\n", 3, 48, "is none", ""},
    {JOB "  kubernetes_sd_configs: [{role: pod}]\n", 3, 3, "is not supported", "file_sd_configs"},
    {JOB "  consul_sd_configs: []\n", 3, 3, "is not supported", "dns_sd_configs"},
    {JOB "  http_sd_configs: [{url: x}]\n", 3, 3, "is not supported", "file_sd_configs"},
    {JOB "  oauth2: {client_id: x}\n", 3, 3, "is not supported", "authorization"},
    {JOB "  relabel_configs: [{action: keeps}]\n", 3, 30, "no action", "did you mean \"keep\"?"},
    {JOB "  relabel_configs: [{action: replace}]\n", 3, 21, "needs a target_label", ""},
    {JOB "  relabel_configs: [{action: keep, regex: '('}]\n", 3, 43, "", ""},
    {JOB "  relabel_configs: [{source_labels: [a-b], target_label: c}]\n", 3, 37, "no label's name",
     ""},
    {JOB "  relabel_configs: [{source_label: [a], target_label: c}]\n", 3, 22, "no key",
     "source_labels"},
    {JOB "  metric_relabel_configs: [null]\n", 3, 28, "nothing where a rule", ""},
    {"scrape_config_files: [a]\n", 1, 1, "is not supported", "beside"},
    {"scrape_configs:\n- job_name: a\n   x: b\n", 3, 5, "", ""},
};

static void check_wrong(const struct wrong *w)
{
    struct scrape_file *f = NULL;
    const struct err_item *it = errs.items;

    err_list_init(&errs);
    assert_row(w->text, scrape_file_read(span_cstr(w->text), "f.yml", &f, &errs) == -EINVAL);
    assert_row(w->text, f == NULL && errs.n == 1);
    if (it->line != w->line || it->column != w->column || !strstr(it->err.text, w->what) ||
        !strstr(it->err.hint, w->hint))
        fail_msg("%s\n%d:%d: %s\n  hint: %s", w->text, it->line, it->column, it->err.text,
                 it->err.hint);
    assert_string_equal(it->where, "f.yml");
}

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrongs); i++)
        check_wrong(&wrongs[i]);
}

/* All mistakes at once, in the order of the file. */
static void test_all_at_once(void **state)
{
    static const char text[] =
        "scrape_configs:\n"
        "- job_name: a\n"
        "  scheme: x\n"
        "  metric_relabel_configs: [{action: no}, {action: keep, regex: a}]\n"
        "  scrape_timeout: 1\n"
        "- {static_configs: [{targets: [a/b]}, {labels: {'1': x}}]}\n";
    static const int lines[] = {3, 4, 5, 6, 6, 6};
    struct scrape_file *f = NULL;
    (void)state;
    err_list_init(&errs);
    assert_int_equal(scrape_file_read(span_cstr(text), "f", &f, &errs), -EINVAL);
    assert_int_equal(errs.n, ARRAY_LEN(lines));
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        assert_int_equal(errs.items[i].line, lines[i]);
}

/* A secret in a file with mistakes, at them too, is in no message. */
static void test_secrets(void **state)
{
    static const char *const texts[] = {
        JOB "  basic_auth: {username: u, password: canary, password_file: canary}\n",
        JOB "  basic_auth: {password: [canary]}\n",
        JOB "  bearer_token: canary\n  bearer_token_file: x\n  scheme: x\n",
        JOB "  authorization: {type: basic, credentials: canary}\n",
        JOB "  authorization: {credentials: {canary: 1}}\n",
        JOB "  proxy_url: u:canary@proxy\n",
        JOB "  bearer_token: {a: canary}\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scrape_file *f = NULL;
        err_list_init(&errs);
        assert_row(texts[i], scrape_file_read(span_cstr(texts[i]), "f", &f, &errs) == -EINVAL);
        for (size_t k = 0; k < errs.n; k++)
            assert_row(texts[i], !strstr(errs.items[k].err.text, "canary") &&
                                     !strstr(errs.items[k].err.hint, "canary"));
    }
}

static void test_groups(void **state)
{
    static const char *const texts[] = {
        "- targets: [a:1, b]\n  labels: {x: y}\n- targets: [c]\n",
        "[{\"targets\": [\"a:1\", \"b\"], \"labels\": {\"x\": \"y\"}},\n\t{\"targets\": [\"c\"]}]",
    };
    static const char *const bad[] = {
        "- targetss: [a]\n", "targets: [a]\n", "[{\"targets\": [", "- targets: [http://a]\n", "[1]",
        "- null\n"};
    struct scrape_group *g;
    struct arena a;
    size_t n;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        err_list_init(&errs);
        assert_int_equal(jobfile_groups_read(span_cstr(texts[i]), "t", &a, &g, &n, &errs), 0);
        assert_int_equal(n, 2);
        assert_text(g[0].addresses[1], "b");
        assert_text(labels_get(g[0].labels, SPAN("x")), "y");
        assert_text(g[1].addresses[0], "c");
    }
    err_list_init(&errs);
    assert_int_equal(jobfile_groups_read(SPAN(""), "t", &a, &g, &n, &errs), 0);
    assert_int_equal(n, 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err_list_init(&errs);
        assert_row(bad[i],
                   jobfile_groups_read(span_cstr(bad[i]), "t", &a, &g, &n, &errs) == -EINVAL);
        assert_row(bad[i], errs.n >= 1);
    }
    arena_done(&a);
}

static void test_prefixes(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(whole); n++) {
        struct scrape_file *f = NULL;
        char *cut = malloc(n + 1); /* exact, so that a step too far is seen */
        assert_non_null(cut);
        memcpy(cut, whole, n);
        err_list_init(&errs);
        int r = scrape_file_read(span_of(cut, n), "f", &f, &errs);
        assert_true(r == 0 ? errs.n == 0 : r == -EINVAL && errs.n > 0);
        scrape_file_unref(f);
        free(cut);
    }
}

static int read_whole(void *ctx)
{
    struct scrape_file *f = NULL;
    err_list_init(&errs);
    int r = scrape_file_read(span_cstr(ctx), "f", &f, &errs);
    assert_true(r == 0 || !f);
    scrape_file_unref(f);
    return r;
}

static void test_no_memory(void **state)
{
    static char text[sizeof(whole)];
    (void)state;
    memcpy(text, whole, sizeof(whole));
    assert_true(memfail_each(read_whole, text) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key),   cmocka_unit_test(test_times),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_all_at_once), cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_groups),      cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
