/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_feishu.c - robot of a Feishu (Lark) group: a card, signed in its body.
 *
 * Here time, newline and secret are the signature's key, and its message is empty. Labels and
 * annotations stand in plain_text elements, which have no markup that they could use.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"

enum {
    TITLE_CHARS = 200,
    TEXT_JSON_BYTES = 15 * 1000, /* the API takes 20 KiB of body */
    RATE_PER_MIN = 90,           /* 100 */
    RATE_WAIT_MS = 30 * 1000,
    BODY_MAX = 1 << 20,
};

struct feishu {
    struct http_receiver http;
    struct secret secret;
    struct texts at_users;
    bool at_all;
    struct span keyword;
};

#define IN(member) offsetof(struct feishu, member)
static const struct option keys[] = {
    HTTP_RECEIVER_KEYS,
    HTTP_RECEIVER_LANGUAGE,
    {.key = "secret", .type = OPTION_SECRET, .offset = IN(secret)},
    {.key = "secret_file", .type = OPTION_SECRET_FILE, .offset = IN(secret)},
    {.key = "at_users", .type = OPTION_TEXTS, .offset = IN(at_users)},
    {.key = "at_all", .type = OPTION_BOOL, .offset = IN(at_all)},
    {.key = "keyword", .type = OPTION_TEXT, .offset = IN(keyword)},
    {0},
};
#undef IN

static bool is_id(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return true;
}

static int check(const struct options *o, const struct yaml_node *map, const struct feishu *c)
{
    for (size_t i = 0; i < c->at_users.n; i++)
        if (!is_id(c->at_users.at[i]))
            return err_set(options_err(o, options_find(map, "at_users")), -EINVAL,
                           "\"at_users\" has to have open_ids or user_ids");
    return http_receiver_need_url(o, map, &c->http, "url, url_file");
}

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    void *config;
    int r = http_receiver_read(&o, map, global, keys, sizeof(struct feishu), &config);
    if (r == 0)
        r = check(&o, map, config);
    if (r == 0)
        *ret = config;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    http_receiver_print(keys, config, w);
}

/* --- signature --- */

static int write_signature(const struct feishu *c, int64_t now_ms, struct arena *a, struct jsonw *w,
                           struct err *reterr)
{
    struct span secret;
    struct buf key, sign;
    char seconds[24];
    if (!secret_is_set(&c->secret))
        return 0;
    int r = secret_get(&c->secret, a, &secret, reterr);
    if (r < 0)
        return r;
    buf_init(&key, BODY_MAX);
    buf_init(&sign, 256);
    (void)snprintf(seconds, sizeof(seconds), "%" PRId64, now_ms / 1000);
    r = buf_printf(&key, "%s\n%.*s", seconds, SPAN_ARG(secret));
    if (r == 0)
        r = prose_sign(buf_span(&key), SPAN(""), &sign);
    jsonw_put_cstr(w, "timestamp", seconds);
    jsonw_put_str(w, "sign", buf_span(&sign));
    buf_done(&sign);
    buf_done(&key);
    return r < 0 ? err_set(reterr, r, "could not sign the message: %s", err_str(r)) : 0;
}

/* --- card --- */

static void write_tagged(struct jsonw *w, const char *tag, struct span text)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "tag", tag);
    jsonw_put_str(w, "content", text);
    jsonw_end_object(w);
}

static void write_div(struct jsonw *w, const char *tag, struct span text)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "tag", "div");
    jsonw_key(w, "text");
    write_tagged(w, tag, text);
    jsonw_end_object(w);
}

static void write_header(struct jsonw *w, struct span title, bool is_resolved)
{
    jsonw_key(w, "config");
    jsonw_begin_object(w);
    jsonw_put_bool(w, "wide_screen_mode", true);
    jsonw_end_object(w);
    jsonw_key(w, "header");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "template", is_resolved ? "green" : "red");
    jsonw_key(w, "title");
    write_tagged(w, "plain_text", title);
    jsonw_end_object(w);
}

static int write_mentions(const struct feishu *c, struct jsonw *w)
{
    struct buf b;
    int r = 0;
    buf_init(&b, BODY_MAX);
    if (c->at_all)
        r = buf_append(&b, SPAN("<at id=all></at>"));
    for (size_t i = 0; i < c->at_users.n && r == 0; i++)
        r = buf_printf(&b, "<at id=%.*s></at>", SPAN_ARG(c->at_users.at[i]));
    if (r == 0 && buf_len(&b) > 0)
        write_div(w, "lark_md", buf_span(&b));
    buf_done(&b);
    return r;
}

static void write_button(struct jsonw *w, const char *words, struct span url)
{
    if (!markup_is_link(url))
        return;
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "tag", "button");
    jsonw_key(w, "text");
    write_tagged(w, "plain_text", span_cstr(words));
    jsonw_put_cstr(w, "type", "default");
    jsonw_put_str(w, "url", url);
    jsonw_end_object(w);
}

static void write_buttons(const struct feishu *c, const struct alert_message *m, struct jsonw *w)
{
    bool is_zh = c->http.language == LETTER_ZH;
    struct span runbook = m->n > 0 ? letter_runbook(&m->alerts[0]) : SPAN("");
    if (runbook.n == 0 && !markup_is_link(m->external_url))
        return;
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "tag", "action");
    jsonw_key(w, "actions");
    jsonw_begin_array(w);
    write_button(w, is_zh ? "处理手册" : "Runbook", runbook);
    write_button(w, is_zh ? "查看全部" : "All alerts", m->external_url);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static int write_card(const struct feishu *c, const struct alert_message *m, struct span title,
                      struct span text, struct jsonw *w)
{
    jsonw_put_cstr(w, "msg_type", "interactive");
    jsonw_key(w, "card");
    jsonw_begin_object(w);
    write_header(w, title, m->n_firing == 0);
    jsonw_key(w, "elements");
    jsonw_begin_array(w);
    write_div(w, "plain_text", text);
    int r = write_mentions(c, w);
    write_buttons(c, m, w);
    jsonw_end_array(w);
    jsonw_end_object(w);
    return r;
}

static int put_text(const struct feishu *c, const struct alert_message *m, struct span title,
                    int64_t now_ms, struct buf *out)
{
    struct letter l = {&markup_plain, (enum letter_language)c->http.language, LETTER_JSON_BYTES,
                       TEXT_JSON_BYTES, now_ms};
    int r = letter_text(&l, m, out);
    bool has_keyword = span_find(buf_span(out), c->keyword) < buf_len(out) ||
                       span_find(title, c->keyword) < title.n;
    if (r == 0 && c->keyword.n > 0 && !has_keyword)
        r = buf_printf(out, "\n\n%.*s", SPAN_ARG(c->keyword));
    return r;
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct feishu *c = config;
    struct buf title, text, body;
    struct jsonw w;
    int r = http_receiver_begin(&c->http, "", a, ret, reterr);
    if (r < 0)
        return r;
    buf_init(&title, BODY_MAX);
    buf_init(&text, BODY_MAX);
    buf_init(&body, BODY_MAX);
    jsonw_init(&w, &body);
    jsonw_begin_object(&w);
    r = write_signature(c, now_ms, a, &w, reterr);
    if (r == 0) {
        r = letter_title(m, (enum letter_language)c->http.language, TITLE_CHARS, &title);
        if (r == 0)
            r = put_text(c, m, buf_span(&title), now_ms, &text);
        if (r == 0)
            r = write_card(c, m, buf_span(&title), buf_span(&text), &w);
        if (r < 0)
            err_set(reterr, r, "could not make the message: %s", err_str(r));
    }
    jsonw_end_object(&w);
    if (r == 0)
        r = http_receiver_end(&c->http, &w, &body, a, ret, reterr);
    buf_done(&body);
    buf_done(&text);
    buf_done(&title);
    return r;
}

/* --- answers --- */

static const struct answer_code codes[] = {
    {9499, VERDICT_NEVER, -1, "the message has a wrong form", "please report this"},
    {19001, VERDICT_NEVER, -1, "the webhook's address is not valid", "check the URL"},
    {19021, VERDICT_NEVER, -1, "the signature does not match",
     "check secret, and this machine's clock: it may be wrong by at most an hour"},
    {19022, VERDICT_NEVER, -1, "this IP address may not send",
     "add it to the robot's list of IP addresses"},
    {19024, VERDICT_NEVER, -1, "the message has none of the robot's keywords",
     "configure one of them as keyword"},
    {11232, VERDICT_LATER, RATE_WAIT_MS, "too many messages",
     "100 a minute and 5 a second for a robot"},
    {11246, VERDICT_NEVER, -1, "the card was refused", "please report this"},
};

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    static const struct answer_codes all = {"code", "msg", codes, ARRAY_LEN(codes)};
    struct receiver_reply plain = *r;
    (void)config;
    /* Some errors come with 400 and the same body. */
    if (r->error == 0 && r->status == 400 && span_find(r->body, SPAN("\"code\"")) < r->body.n)
        plain.status = 200;
    return http_receiver_judge_code(&all, &plain, ret_wait_ms, ret_why);
}

const struct receiver_kind receiver_feishu = {
    .key = "feishu_configs",
    .name = "feishu",
    .rate_per_min = RATE_PER_MIN,
    .tells_resolved = true,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
