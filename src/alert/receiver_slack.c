/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_slack.c - incoming webhook of Slack (Mattermost and others take the same).
 *
 * A title, then sections, in an attachment for its colour. Limits are in characters: 150 of a
 * header, 3,000 of a section, 50 blocks, and some 13,000 of all together.
 */
#include <errno.h>

#include "alert/jsontree.h"
#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"

enum {
    TITLE_CHARS = 150,
    SECTION_CHARS = 3000,
    TEXT_CHARS = 12000,
    RATE_PER_MIN = 55, /* about one a second for a channel */
    BODY_MAX = 1 << 20,
};

struct slack {
    struct http_receiver http;
    struct span channel, username, icon_emoji, icon_url;
};

#define TEXT_IS_FIXED                                                                              \
    .type = OPTION_REFUSED,                                                                        \
    .words = "the layout of messages is fixed; summary and description are annotations of a rule"
#define IN(member) offsetof(struct slack, member)
static const struct option keys[] = {
    HTTP_RECEIVER_KEYS,
    HTTP_RECEIVER_LANGUAGE,
    {.key = "api_url", .type = OPTION_SECRET_URL, .offset = IN(http.url), .is_alias = true},
    {.key = "api_url_file", .type = OPTION_SECRET_FILE, .offset = IN(http.url), .is_alias = true},
    {.key = "channel", .type = OPTION_TEXT, .offset = IN(channel)},
    {.key = "username", .type = OPTION_TEXT, .offset = IN(username)},
    {.key = "icon_emoji", .type = OPTION_TEXT, .offset = IN(icon_emoji)},
    {.key = "icon_url", .type = OPTION_URL, .offset = IN(icon_url)},
    {.key = "color", TEXT_IS_FIXED},
    {.key = "title", TEXT_IS_FIXED},
    {.key = "title_link", TEXT_IS_FIXED},
    {.key = "pretext", TEXT_IS_FIXED},
    {.key = "text", TEXT_IS_FIXED},
    {.key = "fields", TEXT_IS_FIXED},
    {.key = "footer", TEXT_IS_FIXED},
    {.key = "fallback", TEXT_IS_FIXED},
    {.key = "actions", TEXT_IS_FIXED},
    {0},
};
static const struct option global_keys[] = {
    {.key = "slack_api_url", .type = OPTION_SECRET_URL, .offset = IN(http.url)},
    {.key = "slack_api_url_file", .type = OPTION_SECRET_FILE, .offset = IN(http.url)},
};
#undef IN

/* What global has, where the entry has none. */
static int read_global(const struct options *o, const struct yaml_node *global, struct slack *c)
{
    for (size_t i = 0; i < ARRAY_LEN(global_keys) && !secret_is_set(&c->http.url); i++) {
        const struct yaml_node *node = options_find(global, global_keys[i].key);
        int r = node ? options_read_one(o, &global_keys[i], node, c) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    void *config;
    int r = http_receiver_read(&o, map, global, keys, sizeof(struct slack), &config);
    if (r == 0)
        r = read_global(&o, global, config);
    if (r == 0)
        r = http_receiver_need_url(&o, map, config,
                                   "api_url, api_url_file, global slack_api_url_file");
    if (r == 0)
        *ret = config;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    http_receiver_print(keys, config, w);
}

/* --- message --- */

static void write_block(struct jsonw *w, const char *block, const char *type, struct span text)
{
    bool is_plain = strcmp(type, "plain_text") == 0;
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "type", block);
    jsonw_key(w, "text");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "type", type);
    jsonw_put_str(w, "text", text);
    jsonw_key(w, is_plain ? "emoji" : "verbatim"); /* nothing is made of what looks like one */
    jsonw_bool(w, !is_plain);
    jsonw_end_object(w);
    jsonw_end_object(w);
}

/* How much of text goes into one section: to the end of a paragraph, else of a line, else to where
 * no escape (&lt;) or link (<...>) is cut. */
static size_t section_end(struct span text)
{
    struct span most = prose_cut(text, SECTION_CHARS);
    if (most.n == text.n)
        return text.n;
    for (size_t i = most.n; i > 1; i--)
        if (most.p[i - 1] == '\n' && most.p[i - 2] == '\n')
            return i;
    for (size_t i = most.n; i > 1; i--)
        if (most.p[i - 1] == '\n')
            return i;
    for (size_t i = most.n; i > most.n - 16; i--)
        if (most.p[i - 1] == '&')
            return i - 1;
    return most.n;
}

static void write_sections(struct jsonw *w, struct span text)
{
    while (text.n > 0) {
        struct span one = span_take(&text, section_end(text));
        while (one.n > 0 && one.p[one.n - 1] == '\n')
            one.n--;
        if (one.n > 0)
            write_block(w, "section", "mrkdwn", one);
    }
}

static void write_given(struct jsonw *w, const char *key, struct span text)
{
    if (text.n == 0)
        return;
    jsonw_put_str(w, key, text);
}

/* The text beside the blocks is what a notification shows: escaped as mrkdwn. */
static void write_body(const struct slack *c, const struct alert_message *m, struct span title,
                       struct span fallback, struct span text, struct jsonw *w)
{
    jsonw_begin_object(w);
    write_given(w, "channel", c->channel);
    write_given(w, "username", c->username);
    write_given(w, "icon_emoji", c->icon_emoji);
    write_given(w, "icon_url", c->icon_url);
    jsonw_key(w, "attachments");
    jsonw_begin_array(w);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "color", m->n_firing > 0 ? "#d9393d" : "#2eb67d");
    jsonw_put_str(w, "fallback", fallback);
    jsonw_key(w, "blocks");
    jsonw_begin_array(w);
    write_block(w, "header", "plain_text", title);
    write_sections(w, text);
    jsonw_end_array(w);
    jsonw_end_object(w);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct slack *c = config;
    struct buf title, fallback, text, body;
    struct jsonw w;
    struct letter l = {&markup_slack, (enum letter_language)c->http.language, LETTER_CHARS,
                       TEXT_CHARS, now_ms};
    int r = http_receiver_begin(&c->http, "", a, ret, reterr);
    if (r < 0)
        return r;
    buf_init(&title, BODY_MAX);
    buf_init(&fallback, BODY_MAX);
    buf_init(&text, BODY_MAX);
    buf_init(&body, BODY_MAX);
    jsonw_init(&w, &body);
    r = letter_title(m, l.language, TITLE_CHARS, &title);
    if (r == 0)
        r = markup_text(&markup_slack, buf_span(&title), false, &fallback);
    if (r == 0)
        r = letter_text(&l, m, &text);
    if (r == 0)
        write_body(c, m, buf_span(&title), buf_span(&fallback), buf_span(&text), &w);
    r = r < 0 ? err_set(reterr, r, "could not make the message: %s", err_str(r))
              : http_receiver_end(&c->http, &w, &body, a, ret, reterr);
    buf_done(&body);
    buf_done(&text);
    buf_done(&fallback);
    buf_done(&title);
    return r;
}

/* --- answers --- */

static const struct slack_error {
    const char *text;
    enum verdict verdict;
    const char *hint;
} errors[] = {
    {"invalid_token", VERDICT_NEVER, "the webhook's URL is not valid any more"},
    {"no_service", VERDICT_NEVER, "the webhook was removed or disabled, make a new one"},
    {"no_team", VERDICT_NEVER, "the webhook's URL is not valid"},
    {"channel_not_found", VERDICT_NEVER, "check channel: name or id"},
    {"channel_is_archived", VERDICT_NEVER, "unarchive the channel, or name another one"},
    {"action_prohibited", VERDICT_NEVER, "an administrator does not allow this"},
    {"posting_to_general_channel_denied", VERDICT_NEVER, "name another channel"},
    {"user_not_found", VERDICT_NEVER, "check channel"},
    {"invalid_payload", VERDICT_NEVER, "please report this"},
    {"invalid_blocks", VERDICT_NEVER, "please report this"},
    {"no_text", VERDICT_NEVER, "please report this"},
    {"invalid_auth", VERDICT_NEVER, "check the token"},
    {"not_authed", VERDICT_NEVER, "configure http_config.authorization"},
    {"rate_limited", VERDICT_LATER, ""},
    {"ratelimited", VERDICT_LATER, ""},
    {"rollup_error", VERDICT_LATER, ""},
};

static const struct slack_error *find_error(struct span text)
{
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (span_starts_with(text, span_cstr(errors[i].text)))
            return &errors[i];
    return NULL;
}

/* Within 200: "ok" is success, and nothing else. */
static enum verdict judge_text(struct span text, struct err *ret_why)
{
    char said[512];
    const struct slack_error *e = find_error(text);
    (void)http_receiver_said(text, said, sizeof(said));
    err_set(ret_why, -EPROTO, "answered: %s", said[0] ? said : "nothing");
    err_hint(ret_why, "%s", e ? e->hint : "a webhook of Slack answers \"ok\": check the URL");
    return e ? e->verdict : VERDICT_LATER;
}

/* The Web API's answer, and others' that imitate the webhook: {"ok": false, "error": "..."}. */
static enum verdict judge_json(const json_t *root, struct err *ret_why)
{
    const json_t *ok = json_object_get(root, "ok");
    if (!ok)
        ok = json_object_get(root, "success");
    if (json_is_true(ok))
        return VERDICT_DELIVERED;
    return judge_text(jsontree_text(root, "error"), ret_why);
}

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    json_t *root;
    struct span body = span_trim(r->body);
    enum verdict verdict = http_receiver_judge(r, ret_wait_ms, ret_why);
    (void)config;
    const struct slack_error *e = find_error(body);
    if (verdict == VERDICT_NEVER && e) {
        err_hint(ret_why, "%s", e->hint);
        return e->verdict;
    }
    if (verdict != VERDICT_DELIVERED || span_eq(body, SPAN("ok")))
        return verdict;
    if (jsontree_read(body, &root, NULL) < 0)
        return judge_text(body, ret_why);
    verdict = judge_json(root, ret_why);
    json_decref(root);
    return verdict;
}

const struct receiver_kind receiver_slack = {
    .key = "slack_configs",
    .name = "slack",
    .rate_per_min = RATE_PER_MIN,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
