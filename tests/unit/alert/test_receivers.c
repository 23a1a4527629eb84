/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of receiver: the exact bytes of a message at a fixed time. The signatures were
 * computed with "openssl dgst -sha256 -hmac" and Python's hmac, not with this program.
 */
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "alert/receiver_http.h"
#include "base/utf8.h"
#include "memfail.h"
#include "tempdir.h"

#define DINGTALK_SIGN "wG3ucyOxXVLQMVYZWxdIYTGIq8OjB6RViglRnN8Dg%2B8%3D"
#define FEISHU_SIGN   "q/iNf3g5HHrmAW9I5BhWQkL8rZam5oZVspZ7zotPgwY="

struct exact {
    const char *name;
    const struct receiver_kind *kind;
    const char *yaml;
    const char *url, *shown, *body;
};

static const struct exact rows[] = {
    {"webhook", &receiver_webhook,
     "receiver: {url: 'http://user:pw@hook.example:8080/a/b?token=t'}",
     "http://user:pw@hook.example:8080/a/b?token=t", "http://hook.example:8080/...",
     "{\"receiver\":\"oncall\",\"status\":\"firing\",\"alerts\":[{\"status\":\"firing\","
     "\"labels\":{\"alertname\":\"HighTTFT\",\"model\":\"llama-3\",\"tier\":\"P1\","
     "\"upstream\":\"a\"},\"annotations\":{\"description\":\"p99 TTFT is 4.1 s,\\nfor 10 "
     "minutes\",\"exemplar_requests\":\"0af7651916cd43dd, 4bf92f3577b34da6\","
     "\"runbook_url\":\"https://runbooks.example/HighTTFT\","
     "\"summary\":\"time to first token is high\"},\"startsAt\":\"2025-11-30T04:18:00.000Z\","
     "\"endsAt\":\"0001-01-01T00:00:00Z\",\"generatorURL\":\"http://gw.example/graph?q=1\","
     "\"fingerprint\":\"0123456789abcdef\"}],\"notification_reason\":\"first_notification\","
     "\"groupLabels\":{\"alertname\":\"HighTTFT\"},\"commonLabels\":{\"alertname\":\"HighTTFT\","
     "\"model\":\"llama-3\",\"tier\":\"P1\",\"upstream\":\"a\"},"
     "\"commonAnnotations\":{\"description\":\"p99 TTFT is 4.1 s,\\nfor 10 minutes\","
     "\"exemplar_requests\":\"0af7651916cd43dd, 4bf92f3577b34da6\","
     "\"runbook_url\":\"https://runbooks.example/HighTTFT\","
     "\"summary\":\"time to first token is high\"},\"routeLabels\":{},"
     "\"externalURL\":\"http://gw.example/alerts\",\"version\":\"4\","
     "\"groupKey\":\"{}:{alertname=\\\"HighTTFT\\\"}\",\"truncatedAlerts\":0}"},
    {"dingtalk", &receiver_dingtalk,
     "receiver: {access_token: tok+en, secret: SECthis is secret, at_mobiles: ['13800000000'], "
     "keyword: gateway}",
     "https://oapi.dingtalk.com/robot/"
     "send?access_token=tok%2Ben&timestamp=1764477000123&sign=" DINGTALK_SIGN,
     "https://oapi.dingtalk.com/...",
     "{\"msgtype\":\"markdown\",\"markdown\":{\"title\":\"[FIRING:1] HighTTFT (P1, llama-3, a)\","
     "\"text\":\"#### [FIRING:1] HighTTFT (P1, llama-3, a)\\n\\n"
     "time to first token is high  \\np99 TTFT is 4.1 s,  \\nfor 10 minutes  \\n"
     "Value: 4.1  \\nSince: 2025-11-30 04:18:00 +00:00 (12m)  \\n"
     "Labels: model=llama-3, tier=P1, upstream=a  \\n"
     "Requests: 0af7651916cd43dd, 4bf92f3577b34da6  \\n"
     "[Runbook](https://runbooks.example/HighTTFT)  \\n"
     "[Source](http://gw.example/graph?q=1)\\n\\n[All alerts](http://gw.example/alerts)"
     "\\n\\ngateway\\n\\n@13800000000\"},"
     "\"at\":{\"atMobiles\":[\"13800000000\"],\"atUserIds\":[],\"isAtAll\":false}}"},
    {"dingtalk, in Chinese", &receiver_dingtalk,
     "receiver: {url: 'https://d.example/send?access_token=abc', language: zh, at_all: true}",
     "https://d.example/send?access_token=abc", "https://d.example/...",
     "{\"msgtype\":\"markdown\",\"markdown\":{\"title\":\"[告警:1] HighTTFT (P1, llama-3, a)\","
     "\"text\":\"#### [告警:1] HighTTFT (P1, llama-3, a)\\n\\n"
     "time to first token is high  \\np99 TTFT is 4.1 s,  \\nfor 10 minutes  \\n"
     "当前值: 4.1  \\n开始时间: 2025-11-30 04:18:00 +00:00 (12m)  \\n"
     "标签: model=llama-3, tier=P1, upstream=a  \\n"
     "相关请求: 0af7651916cd43dd, 4bf92f3577b34da6  \\n"
     "[处理手册](https://runbooks.example/HighTTFT)  \\n"
     "[来源](http://gw.example/graph?q=1)\\n\\n[查看全部](http://gw.example/alerts)\"},"
     "\"at\":{\"atMobiles\":[],\"atUserIds\":[],\"isAtAll\":true}}"},
    {"feishu", &receiver_feishu,
     "receiver: {url: 'https://open.feishu.cn/open-apis/bot/v2/hook/xyz', "
     "secret: SECthis is secret, at_users: [ou_1]}",
     "https://open.feishu.cn/open-apis/bot/v2/hook/xyz", "https://open.feishu.cn/...",
     "{\"timestamp\":\"1764477000\",\"sign\":\"" FEISHU_SIGN "\",\"msg_type\":\"interactive\","
     "\"card\":{\"config\":{\"wide_screen_mode\":true},\"header\":{\"template\":\"red\","
     "\"title\":{\"tag\":\"plain_text\",\"content\":\"[FIRING:1] HighTTFT (P1, llama-3, a)\"}},"
     "\"elements\":[{\"tag\":\"div\",\"text\":{\"tag\":\"plain_text\",\"content\":"
     "\"time to first token is high\\np99 TTFT is 4.1 s,\\nfor 10 minutes\\nValue: 4.1\\n"
     "Since: 2025-11-30 04:18:00 +00:00 (12m)\\nLabels: model=llama-3, tier=P1, upstream=a\\n"
     "Requests: 0af7651916cd43dd, 4bf92f3577b34da6\\n"
     "Runbook: https://runbooks.example/HighTTFT\\nSource: http://gw.example/graph?q=1\\n\\n"
     "All alerts: http://gw.example/alerts\"}},"
     "{\"tag\":\"div\",\"text\":{\"tag\":\"lark_md\",\"content\":\"<at id=ou_1></at>\"}},"
     "{\"tag\":\"action\",\"actions\":[{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\","
     "\"content\":\"Runbook\"},\"type\":\"default\",\"url\":\"https://runbooks.example/"
     "HighTTFT\"},{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"All "
     "alerts\"},\"type\":\"default\",\"url\":\"http://gw.example/alerts\"}]}]}}"},
    {"wecom", &receiver_wecom, "receiver: {key: k-1, mentioned_list: [ann, bob]}",
     "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=k-1", "https://qyapi.weixin.qq.com/...",
     "{\"msgtype\":\"markdown\",\"markdown\":{\"content\":\"**<font "
     "color=\\\"warning\\\">[FIRING:1] HighTTFT (P1, llama-3, a)</font>**\\n"
     "time to first token is high\\np99 TTFT is 4.1 s,\\nfor 10 minutes\\nValue: 4.1\\n"
     "Since: 2025-11-30 04:18:00 +00:00 (12m)\\nLabels: model=llama-3, tier=P1, upstream=a\\n"
     "Requests: 0af7651916cd43dd, 4bf92f3577b34da6\\n"
     "[Runbook](https://runbooks.example/HighTTFT)\\n[Source](http://gw.example/graph?q=1)\\n\\n"
     "[All alerts](http://gw.example/alerts)\\n<@ann> <@bob>\"}}"},
    {"wecom, text", &receiver_wecom,
     "receiver: {key: k, type: text, mentioned_mobile_list: ['13800000000']}",
     "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=k", "https://qyapi.weixin.qq.com/...",
     "{\"msgtype\":\"text\",\"text\":{\"content\":\"[FIRING:1] HighTTFT (P1, llama-3, a)\\n"
     "time to first token is high\\np99 TTFT is 4.1 s,\\nfor 10 minutes\\nValue: 4.1\\n"
     "Since: 2025-11-30 04:18:00 +00:00 (12m)\\nLabels: model=llama-3, tier=P1, upstream=a\\n"
     "Requests: 0af7651916cd43dd, 4bf92f3577b34da6\\n"
     "Runbook: https://runbooks.example/HighTTFT\\nSource: http://gw.example/graph?q=1\\n\\n"
     "All alerts: http://gw.example/alerts\",\"mentioned_mobile_list\":[\"13800000000\"]}}"},
    {"slack", &receiver_slack,
     "{receiver: {channel: '#ops', username: gw, icon_emoji: ':fire:'}, "
     "global: {slack_api_url: 'https://hooks.slack.com/services/T/B/x'}}",
     "https://hooks.slack.com/services/T/B/x", "https://hooks.slack.com/...",
     "{\"channel\":\"#ops\",\"username\":\"gw\",\"icon_emoji\":\":fire:\",\"attachments\":[{"
     "\"color\":\"#d9393d\",\"fallback\":\"[FIRING:1] HighTTFT (P1, llama-3, a)\",\"blocks\":[{"
     "\"type\":\"header\",\"text\":{\"type\":\"plain_text\",\"text\":\"[FIRING:1] HighTTFT (P1, "
     "llama-3, a)\",\"emoji\":false}},{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\","
     "\"text\":\"time to first token is high\\np99 TTFT is 4.1 s,\\nfor 10 minutes\\nValue: "
     "4.1\\nSince: 2025-11-30 04:18:00 +00:00 (12m)\\nLabels: model=llama-3, tier=P1, "
     "upstream=a\\nRequests: 0af7651916cd43dd, 4bf92f3577b34da6\\n"
     "<https://runbooks.example/HighTTFT|Runbook>\\n<http://gw.example/graph?q=1|Source>\\n\\n"
     "<http://gw.example/alerts|All alerts>\",\"verbatim\":true}}]}]}"},
    {"log", &receiver_log, "receiver: {}", "", "log",
     "alert firing: HighTTFT value=\"4.1\" summary=\"time to first token is high\" "
     "requests=\"0af7651916cd43dd, 4bf92f3577b34da6\" model=\"llama-3\" tier=\"P1\" "
     "upstream=\"a\"\n"},
};

static void one_alert_becomes_these_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sample s;
        sample_setup(&s);
        sample_render(&s, rows[i].kind, rows[i].yaml, &sample_one);
        assert_span_equal(rows[i].name, s.request.url, span_cstr(rows[i].url));
        assert_span_equal(rows[i].name, s.request.shown, span_cstr(rows[i].shown));
        assert_span_equal(rows[i].name, s.request.body, span_cstr(rows[i].body));
        sample_teardown(&s);
    }
}

/* --- keys --- */

struct mistake {
    const char *name;
    const struct receiver_kind *kind;
    const char *yaml, *text;
};

static const struct mistake mistakes[] = {
    {"no URL", &receiver_webhook, "receiver: {max_alerts: 3}", "it is not said where to send to"},
    {"unknown", &receiver_webhook, "receiver: {url: 'http://a', max_alert: 3}",
     "unknown key \"max_alert\""},
    {"both", &receiver_webhook, "receiver: {url: 'http://a', url_file: /a}",
     "\"url_file\" stands beside another key for the same secret"},
    {"scheme", &receiver_webhook, "receiver: {url: 'file:///etc/passwd'}",
     "\"url\" is no http:// or https:// URL with a host"},
    {"no host", &receiver_webhook, "receiver: {url: 'http:///a'}",
     "\"url\" is no http:// or https:// URL with a host"},
    {"two lines", &receiver_webhook, "receiver: {url: \"http://a/\\r\\nX: y\"}",
     "\"url\" is no http:// or https:// URL with a host"},
    {"count", &receiver_webhook, "receiver: {url: 'http://a', max_alerts: many}",
     "\"max_alerts\" has to be a whole number from 0 to 1000000"},
    {"time", &receiver_webhook, "receiver: {url: 'http://a', timeout: 2d}",
     "\"timeout\" has to be a time from 0 to 1h, as in 10s"},
    {"redirects", &receiver_webhook,
     "receiver: {url: 'http://a', http_config: {follow_redirects: true}}",
     "\"follow_redirects\" is not supported here"},
    {"two ways", &receiver_webhook,
     "receiver: {url: 'http://a', http_config: {bearer_token: a, basic_auth: {username: u}}}",
     "basic_auth and authorization exclude each other"},
    {"header", &receiver_webhook,
     "receiver: {url: 'http://a', http_config: {http_headers: {'A B': {values: [c]}}}}",
     "this is no name of a header field"},
    {"header value", &receiver_webhook,
     "receiver: {url: 'http://a', http_config: {http_headers: {A: {values: [\"c\\r\\nd\"]}}}}",
     "the value of a header field has to be one line of text"},
    {"certificate", &receiver_webhook,
     "receiver: {url: 'http://a', http_config: {tls_config: {cert_file: /a}}}",
     "cert_file and key_file belong together"},
    {"language", &receiver_dingtalk, "receiver: {access_token: a, language: fr}",
     "\"language\" cannot be \"fr\""},
    {"no token", &receiver_dingtalk, "receiver: {secret: a}", "it is not said where to send to"},
    {"mobiles", &receiver_wecom, "receiver: {key: a, mentioned_mobile_list: [1]}",
     "\"mentioned_mobile_list\" has no effect in markdown"},
    {"ids", &receiver_feishu, "receiver: {url: 'http://a', at_users: ['<at>']}",
     "\"at_users\" has to have open_ids or user_ids"},
    {"layout", &receiver_slack, "receiver: {api_url: 'http://a', title: x}",
     "\"title\" is not supported here"},
    {"to", &receiver_email, "receiver: {from: a@b, smarthost: 'h:25'}", "\"to\" is missing"},
    {"from", &receiver_email, "receiver: {to: a@b, smarthost: 'h:25'}", "\"from\" is missing"},
    {"smarthost", &receiver_email, "receiver: {to: a@b, from: a@b, smarthost: h}",
     "\"smarthost\" has to be host:port"},
    {"smarthost's path", &receiver_email, "receiver: {to: a@b, from: a@b, smarthost: 'h/x:25'}",
     "\"smarthost\" has to be host:port"},
    {"smarthost's port", &receiver_email, "receiver: {to: a@b, from: a@b, smarthost: 'h:65536'}",
     "\"smarthost\" has to be host:port"},
    {"mail's certificate", &receiver_email,
     "receiver: {to: a@b, from: a@b, smarthost: 'h:25', tls_config: {cert_file: /a}}",
     "cert_file and key_file belong together"},
    {"hello", &receiver_email, "receiver: {to: a@b, from: a@b, smarthost: 'h:25', hello: 'a b'}",
     "\"hello\" has to be a host's name"},
    {"address", &receiver_email, "receiver: {to: 'a@b, c d', from: a@b, smarthost: 'h:25'}",
     "\"c d\" is no mail address"},
    {"log", &receiver_log, "receiver: {url: 'http://a'}", "unknown key \"url\""},
};

static void mistakes_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct sample s;
        sample_setup(&s);
        assert_row(mistakes[i].name, sample_read(&s, mistakes[i].kind, mistakes[i].yaml) == NULL);
        assert_span_equal(mistakes[i].name, span_cstr(s.errs.items[0].err.text),
                          span_cstr(mistakes[i].text));
        assert_row(mistakes[i].name, s.errs.items[0].line == 1);
        sample_teardown(&s);
    }
}

/* What is printed reads back, prints the same, and has no secret. */
static void configuration_is_printed_without_secrets(void **state)
{
    (void)state;
    static const struct {
        const struct receiver_kind *kind;
        const char *yaml, *printed;
    } prints[] = {
        {&receiver_webhook,
         "receiver: {url: 'http://h/SECRET', timeout: 5s, http_config: {authorization: "
         "{credentials: SECRET}, http_headers: {X-Key: {secrets: [SECRET]}, Y: {files: [/f]}}, "
         "proxy_url: 'http://u:SECRET@p', tls_config: {ca_file: /ca}}}",
         "receiver:\n  url: <secret>\n  timeout: \"5000ms\"\n  max_alerts: 0\n  http_config:\n"
         "    authorization:\n      credentials: <secret>\n    http_headers:\n      X-Key:\n"
         "        secrets:\n          - <secret>\n      \"Y\":\n        files:\n          - "
         "\"/f\"\n"
         "    proxy_url: <secret>\n    tls_config:\n      ca_file: \"/ca\"\n      "
         "insecure_skip_verify: false\n"},
        {&receiver_dingtalk,
         "receiver: {access_token_file: /t, secret: SECRET, at_mobiles: [a, b], language: zh}",
         "receiver:\n  language: zh\n  access_token_file: \"/t\"\n  secret: <secret>\n"
         "  at_mobiles:\n    - a\n    - b\n  at_all: false\n"},
        {&receiver_email,
         "receiver: {to: [a@b, c@d], from: e@f, smarthost: 'h:25', auth_password: SECRET}",
         "receiver:\n  to:\n    - \"a@b\"\n    - \"c@d\"\n  from: \"e@f\"\n  smarthost: \"h:25\"\n"
         "  hello: localhost\n  auth_password: <secret>\n  require_tls: true\n"
         "  force_implicit_tls: false\n  language: en\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(prints); i++) {
        struct sample s;
        struct buf out;
        struct yamlw w;
        sample_setup(&s);
        buf_init(&out, 1 << 16);
        yamlw_init(&w, &out);
        yamlw_begin_map(&w);
        yamlw_key(&w, "receiver");
        yamlw_begin_map(&w);
        prints[i].kind->print(sample_config(&s, prints[i].kind, prints[i].yaml), &w);
        yamlw_end_map(&w);
        yamlw_end_map(&w);
        assert_int_equal(yamlw_error(&w), 0);
        assert_span_equal(prints[i].yaml, buf_span(&out), span_cstr(prints[i].printed));
        buf_done(&out);
        sample_teardown(&s);
    }
}

/* --- secrets from files --- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void secrets_are_read_each_time(void **state)
{
    (void)state;
    struct sample s;
    struct tempdir dir;
    char yaml[512];
    sample_setup(&s);
    tempdir_make(&dir);
    const char *path = tempdir_file(&dir, "token");
    snprintf(yaml, sizeof(yaml),
             "receiver: {url: 'http://h/', http_config: {authorization: {credentials_file: '%s'}}}",
             path);
    const void *config = sample_config(&s, &receiver_webhook, yaml);
    static const char *const values[] = {"one\n", "  two\r\n\n"};
    static const char *const wanted[] = {"Bearer one", "Bearer two"};
    for (size_t i = 0; i < 2; i++) {
        write_file(path, values[i]);
        assert_int_equal(receiver_webhook.render(config, &sample_one, SAMPLE_NOW_MS, &s.arena,
                                                 &s.request, &s.err),
                         0);
        assert_int_equal(s.request.n_headers, 1);
        assert_span_equal("name", s.request.headers[0].name, SPAN("Authorization"));
        assert_span_equal("value", s.request.headers[0].value, span_cstr(wanted[i]));
    }
    static const char *const bad[] = {"", "a\nb\n"};
    for (size_t i = 0; i < 2; i++) {
        write_file(path, bad[i]);
        assert_int_equal(receiver_webhook.render(config, &sample_one, SAMPLE_NOW_MS, &s.arena,
                                                 &s.request, &s.err),
                         -EINVAL);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(
        receiver_webhook.render(config, &sample_one, SAMPLE_NOW_MS, &s.arena, &s.request, &s.err),
        -ENOENT);
    assert_non_null(strstr(s.err.text, path));
    tempdir_remove(&dir);
    sample_teardown(&s);
}

static void credentials_become_header_fields(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    sample_render(&s, &receiver_webhook,
                  "receiver: {url: 'http://h/', http_config: {basic_auth: {username: ann, "
                  "password: 'p:w'}, http_headers: {X-A: {values: [b, c]}}}}",
                  &sample_one);
    assert_int_equal(s.request.n_headers, 3);
    assert_span_equal("basic", s.request.headers[0].value, SPAN("Basic YW5uOnA6dw=="));
    assert_span_equal("x", s.request.headers[1].name, SPAN("X-A"));
    assert_span_equal("b", s.request.headers[1].value, SPAN("b"));
    assert_span_equal("c", s.request.headers[2].value, SPAN("c"));
    sample_teardown(&s);
}

/* --- limits and harm --- */

static bool is_utf8(struct span s)
{
    bool is_valid = true;
    while (s.n > 0 && is_valid)
        (void)span_take(&s, utf8_step(s, &is_valid));
    return is_valid;
}

static bool has(struct span s, const char *text)
{
    return span_find(s, span_cstr(text)) < s.n;
}

struct limited {
    const char *name;
    const struct receiver_kind *kind;
    const char *yaml, *path;
    size_t max_bytes, max_chars;
};

static const struct limited limits[] = {
    {"dingtalk", &receiver_dingtalk, "receiver: {access_token: a, keyword: k}", "markdown.text",
     15000, SIZE_MAX},
    {"wecom", &receiver_wecom, "receiver: {key: a, mentioned_list: [a]}", "markdown.content", 4096,
     SIZE_MAX},
    {"wecom, text", &receiver_wecom, "receiver: {key: a, type: text}", "text.content", 2048,
     SIZE_MAX},
    {"feishu", &receiver_feishu, "receiver: {url: 'http://a'}", "card.elements.0.text.content",
     15000, SIZE_MAX},
    {"slack", &receiver_slack, "receiver: {api_url: 'http://a'}",
     "attachments.0.blocks.1.text.text", SIZE_MAX, 3000},
};

static void long_messages_are_cut_at_whole_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const struct limited *l = &limits[i];
        struct sample s;
        json_t *root;
        sample_setup(&s);
        const struct alert_message messages[] = {
            sample_evil(&s.arena),
            sample_many(&s.arena, 500, 300, sample_alert.annotations),
        };
        for (size_t k = 0; k < ARRAY_LEN(messages); k++) {
            sample_render(&s, l->kind, l->yaml, &messages[k]);
            assert_row(l->name, s.request.body.n < 20000);
            assert_int_equal(jsontree_read(s.request.body, &root, &s.err), 0);
            struct span text = sample_text(root, l->path);
            assert_row(l->name, text.n <= l->max_bytes && text.n > 500);
            assert_row(l->name, prose_chars(text) <= l->max_chars);
            assert_row(l->name, is_utf8(text));
            if (k == 1 && l->kind != &receiver_slack) {
                assert_row(l->name, has(text, "HighTTFT") && has(text, " more"));
                assert_row(l->name, has(text, "number=0") && !has(text, "number=499"));
            }
            json_decref(root);
        }
        sample_teardown(&s);
    }
}

/* What JSON escapes counts: their APIs limit the body. */
static void texts_full_of_quotes_are_cut_earlier(void **state)
{
    (void)state;
    static const struct receiver_kind *const kinds[] = {&receiver_dingtalk, &receiver_feishu};
    char quotes[1500];
    memset(quotes, '"', sizeof(quotes));
    const struct label description = {SPAN_INIT("description"), {quotes, sizeof(quotes)}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct sample s;
        sample_setup(&s);
        struct alert_message m = sample_many(&s.arena, 50, 50, (struct labels){&description, 1});
        sample_render(&s, kinds[i], "receiver: {url: 'http://a'}", &m);
        assert_row(kinds[i]->name, s.request.body.n > 10000 && s.request.body.n < 20000);
        sample_teardown(&s);
    }
}

static void nothing_in_labels_does_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const struct limited *l = &limits[i];
        struct sample s;
        json_t *root;
        sample_setup(&s);
        struct alert_message m = sample_evil(&s.arena);
        sample_render(&s, l->kind, l->yaml, &m);
        assert_int_equal(jsontree_read(s.request.body, &root, &s.err), 0);
        struct span text = sample_text(root, l->path);
        assert_row(l->name, !has(text, "\r") && !has(text, "\xe2\x80\xae"));
        assert_row(l->name, has(text, "\xef\xbf\xbd"));
        bool is_markup = l->kind != &receiver_feishu && !strstr(l->name, "text");
        if (is_markup) {
            assert_row(l->name, !has(text, "<@all>") && !has(text, "<!channel>"));
            assert_row(l->name, !has(text, "<script>") && !has(text, "<at "));
            assert_row(l->name, l->kind == &receiver_slack || !has(text, "](http://evil"));
        }
        json_decref(root);
        sample_teardown(&s);
    }
}

static void too_many_alerts_are_counted(void **state)
{
    (void)state;
    struct sample s;
    json_t *root;
    sample_setup(&s);
    struct alert_message m = sample_many(&s.arena, 10, 4, sample_alert.annotations);
    m.n_truncated = 5;
    sample_render(&s, &receiver_webhook, "receiver: {url: 'http://a', max_alerts: 3}", &m);
    assert_int_equal(jsontree_read(s.request.body, &root, &s.err), 0);
    assert_int_equal(json_array_size(sample_member(root, "alerts")), 3);
    assert_int_equal(json_integer_value(sample_member(root, "truncatedAlerts")), 12);
    json_decref(root);
    m.n_firing = 0;
    sample_render(&s, &receiver_webhook, "receiver: {url: 'http://a'}", &m);
    assert_true(has(s.request.body, "\"status\":\"resolved\",\"alerts\""));
    assert_true(has(s.request.body, "\"endsAt\":\"2025-11-30T04:30:00.000Z\""));
    sample_teardown(&s);
}

/* --- no memory --- */

struct attempt_at {
    size_t row;
    struct alert_message message;
};

static int try_all(void *ctx)
{
    const struct attempt_at *t = ctx;
    const struct exact *row = &rows[t->row];
    struct arena a;
    struct yaml_node *root = NULL;
    struct err_list errs;
    struct receiver_request request;
    const void *config = NULL;
    err_list_init(&errs);
    int r = yaml_read(span_cstr(row->yaml), "t", &root, &errs);
    if (r < 0)
        return r;
    arena_init(&a, NULL);
    const struct yaml_node *map = NULL, *global = NULL;
    for (const struct yaml_node *k = root->first; k; k = k->next)
        *(strcmp(k->text, "global") == 0 ? &global : &map) = k->value;
    r = row->kind->read(map, global, "t", &a, &config, &errs);
    if (r == 0)
        r = row->kind->render(config, &t->message, SAMPLE_NOW_MS, &a, &request, NULL);
    arena_done(&a);
    yaml_free(root);
    return r;
}

static void without_memory_nothing_is_made(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct attempt_at one = {i, sample_one};
        assert_true(memfail_each(try_all, &one) > 2);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alert_becomes_these_bytes),
        cmocka_unit_test(mistakes_are_found),
        cmocka_unit_test(configuration_is_printed_without_secrets),
        cmocka_unit_test(secrets_are_read_each_time),
        cmocka_unit_test(credentials_become_header_fields),
        cmocka_unit_test(long_messages_are_cut_at_whole_characters),
        cmocka_unit_test(texts_full_of_quotes_are_cut_earlier),
        cmocka_unit_test(nothing_in_labels_does_harm),
        cmocka_unit_test(too_many_alerts_are_counted),
        cmocka_unit_test(without_memory_nothing_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
