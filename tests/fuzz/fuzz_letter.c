/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_*.c: what a receiver answered (first byte 0), else labels and annotations of
 * alerts on their way into messages: these are JSON within their limits, cut at whole characters,
 * with no mention that came from a label; mails have no header field that did.
 *
 * fuzz-links: alert
 */
#include "pieces.h"

#include <string.h>

#include "alert/jsontree.h"
#include "alert/prose.h"
#include "alert/receiver_kinds.h"
#include "base/utf8.h"

enum { LABELS_MAX = 12, ALERTS_MAX = 4 };

/* --- answers --- */

static void judge(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 204, 302, 400, 404, 429, 500, 550};
    struct receiver_reply r = {.status = statuses[size > 0 ? data[0] % 8 : 0],
                               .body = span_of(data, size),
                               .retry_after_ms = -1};
    for (size_t i = 0; i < receiver_table_n; i++) {
        struct err why = {.text = ""};
        int64_t wait_ms = 0;
        enum verdict v = receiver_table[i]->judge(NULL, &r, &wait_ms, &why);
        FUZZ_CHECK(v == VERDICT_DELIVERED || why.text[0] != '\0');
        for (const char *p = why.text; *p; p++)
            FUZZ_CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
    }
}

/* --- messages --- */

struct target {
    const struct receiver_kind *kind;
    const char *yaml, *path;
    size_t max_bytes;
};

static const struct target targets[] = {
    {&receiver_webhook, "{url: 'http://a', max_alerts: 2}", NULL, SIZE_MAX},
    {&receiver_dingtalk, "{access_token: a, keyword: k, at_mobiles: [b]}", "markdown.text", 15000},
    {&receiver_wecom, "{key: a, mentioned_list: [b]}", "markdown.content", 4096},
    {&receiver_wecom, "{key: a, type: text, language: zh}", "text.content", 2048},
    {&receiver_feishu, "{url: 'http://a', secret: s, at_all: true}", NULL, SIZE_MAX},
    {&receiver_slack, "{api_url: 'http://a'}", NULL, SIZE_MAX},
    {&receiver_email, "{to: a@b, from: c@d, smarthost: 'h:25'}", NULL, SIZE_MAX},
    {&receiver_log, "{}", NULL, SIZE_MAX},
};

/* "name\nvalue\nname\nvalue...": the first half labels, the rest annotations. */
static struct labels take_labels(struct span *in, struct label *at, size_t max)
{
    struct labels ret = {0};
    size_t n = 0;
    while (n < max && in->n > 0) {
        at[n].name = span_split(in, '\n');
        at[n].value = span_split(in, '\n');
        n += at[n].name.n > 0;
    }
    if (labels_normalise(at, n, &ret, NULL) < 0)
        ret = (struct labels){0};
    return ret;
}

static bool is_utf8(struct span s)
{
    bool is_valid = true;
    while (s.n > 0 && is_valid)
        (void)span_take(&s, utf8_step(s, &is_valid));
    return is_valid;
}

static void check_text(const struct target *t, const json_t *root)
{
    char path[64];
    struct span rest = span_of(path, span_copy(span_cstr(t->path), path, sizeof(path)));
    while (rest.n > 0) {
        struct span name = span_split(&rest, '.');
        root = json_object_getn(root, name.p, name.n);
    }
    struct span text = span_of(json_string_value(root), json_string_length(root));
    FUZZ_CHECK(text.n <= t->max_bytes && is_utf8(text));
    if (t->kind != &receiver_dingtalk && strstr(t->yaml, "text"))
        return;
    FUZZ_CHECK(span_find(text, SPAN("<@all>")) == text.n);
}

static void check_mail(struct span mail)
{
    struct span head = span_of(mail.p, span_find(mail, SPAN("\r\n\r\n")));
    FUZZ_CHECK(head.n < mail.n);
    static const char *const names[] = {"From:",         "To:",          "Subject:",    "Date:",
                                        "Message-ID:",   "In-Reply-To:", "References:", "Auto-",
                                        "MIME-Version:", "Content-Type:"};
    while (head.n > 0) {
        struct span line = span_split(&head, '\n');
        bool is_known = line.n > 0 && line.p[0] == ' ';
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            is_known = is_known || span_starts_with(line, span_cstr(names[i]));
        FUZZ_CHECK(is_known && line.n < 400);
    }
}

static void check(const struct target *t, const struct receiver_request *r)
{
    json_t *root;
    if (t->kind == &receiver_email) {
        check_mail(r->body);
        return;
    }
    if (t->kind == &receiver_log)
        return;
    FUZZ_CHECK(t->kind == &receiver_webhook || r->body.n < 40000);
    FUZZ_CHECK(jsontree_read(r->body, &root, NULL) == 0);
    if (t->path)
        check_text(t, root);
    json_decref(root);
}

static void render(const struct target *t, const struct alert_message *m)
{
    struct arena a;
    struct yaml_node *root = NULL;
    static struct err_list errs;
    struct receiver_request request;
    struct err err = {.text = ""};
    const void *config = NULL;
    err_list_init(&errs);
    arena_init(&a, NULL);
    FUZZ_CHECK(yaml_read(span_cstr(t->yaml), "t", &root, &errs) == 0);
    FUZZ_CHECK(t->kind->read(root, NULL, "t", &a, &config, &errs) == 0 && config);
    FUZZ_CHECK(t->kind->render(config, m, INT64_C(1764477000123), &a, &request, &err) == 0);
    check(t, &request);
    arena_done(&a);
    yaml_free(root);
}

static bool has_nul_in_names(struct labels l)
{
    for (size_t i = 0; i < l.n; i++)
        if (memchr(l.at[i].name.p, 0, l.at[i].name.n) || !is_utf8(l.at[i].name))
            return true; /* no name of a label; JSON of it does not read back */
    return false;
}

static void write(struct span in, size_t n, size_t n_firing)
{
    struct label labels[LABELS_MAX], annotations[LABELS_MAX];
    struct labels l = take_labels(&in, labels, LABELS_MAX);
    struct labels an = take_labels(&in, annotations, LABELS_MAX);
    struct alert_view alerts[ALERTS_MAX];
    if (has_nul_in_names(l) || has_nul_in_names(an))
        return;
    for (size_t i = 0; i < n; i++)
        alerts[i] = (struct alert_view){.labels = l,
                                        .annotations = an,
                                        .starts_ms = (int64_t)in.n * 1000,
                                        .is_resolved = i >= n_firing,
                                        .value = (double)in.n,
                                        .generator_url = labels_get(an, SPAN("u"))};
    struct alert_message m = {.receiver = SPAN_INIT("r"),
                              .group_key = labels_get(l, SPAN("k")),
                              .external_url = labels_get(an, SPAN("e")),
                              .group_labels = l,
                              .common_labels = n == 1 ? l : (struct labels){0},
                              .common_annotations = an,
                              .alerts = alerts,
                              .n = n,
                              .n_firing = n_firing};
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        render(&targets[i], &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 64 * 1024)
        return 0;
    if (data[0] == 0) {
        judge(data + 1, size - 1);
        return 0;
    }
    size_t n = 1 + data[0] % ALERTS_MAX;
    write(span_of(data + 2, size - 2), n, data[1] % (n + 1));
    return 0;
}
