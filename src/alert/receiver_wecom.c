/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_wecom.c - robot of a WeCom group: markdown, or text where people are mentioned by
 * their number. Both are limited in bytes, title and mentions included.
 */
#include <errno.h>

#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"

enum {
    TITLE_CHARS = 150,
    MARKDOWN_BYTES = 4096,
    TEXT_BYTES = 2048,
    RATE_PER_MIN = 18, /* 20 a minute */
    RATE_WAIT_MS = 60 * 1000,
    BODY_MAX = 1 << 20,
};

enum wecom_type { WECOM_MARKDOWN, WECOM_TEXT };

struct wecom {
    struct http_receiver http;
    int type; /* enum wecom_type */
    struct texts mentioned, mentioned_mobiles;
};

#define IN(member) offsetof(struct wecom, member)
static const struct option keys[] = {
    HTTP_RECEIVER_KEYS,
    HTTP_RECEIVER_LANGUAGE,
    {.key = "key", .type = OPTION_SECRET, .offset = IN(http.token)},
    {.key = "key_file", .type = OPTION_SECRET_FILE, .offset = IN(http.token)},
    {.key = "type", .type = OPTION_WORD, .offset = IN(type), .words = "markdown text"},
    {.key = "mentioned_list", .type = OPTION_TEXTS, .offset = IN(mentioned)},
    {.key = "mentioned_mobile_list", .type = OPTION_TEXTS, .offset = IN(mentioned_mobiles)},
    {0},
};
#undef IN

static int check(const struct options *o, const struct yaml_node *map, const struct wecom *c)
{
    if (c->mentioned_mobiles.n > 0 && c->type == WECOM_MARKDOWN) {
        struct err *e = options_err(o, options_find(map, "mentioned_mobile_list"));
        (void)err_set(e, -EINVAL, "\"mentioned_mobile_list\" has no effect in markdown");
        err_hint(e, "add type: text, or name people in mentioned_list");
        return -EINVAL;
    }
    return http_receiver_need_url(o, map, &c->http, "url, url_file, key, key_file");
}

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    void *config;
    int r = http_receiver_read(&o, map, global, keys, sizeof(struct wecom), &config);
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

/* --- message --- */

static int put_mentions(const struct texts *who, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < who->n && r == 0; i++)
        r = buf_printf(out, "%s<@%.*s>", i == 0 ? "\n" : " ", SPAN_ARG(who->at[i]));
    return r;
}

static int put_title(const struct wecom *c, const struct alert_message *m, struct buf *out)
{
    const char *colour = m->n_firing > 0 ? "warning" : "info";
    const struct markup *markup = c->type == WECOM_TEXT ? &markup_plain : &markup_wecom;
    struct buf title;
    buf_init(&title, BODY_MAX);
    int r = letter_title(m, (enum letter_language)c->http.language, TITLE_CHARS, &title);
    if (r == 0 && c->type == WECOM_MARKDOWN)
        r = buf_printf(out, "**<font color=\"%s\">", colour);
    if (r == 0)
        r = markup_text(markup, buf_span(&title), false, out);
    if (r == 0)
        r = buf_append(out, c->type == WECOM_MARKDOWN ? SPAN("</font>**\n") : SPAN("\n"));
    buf_done(&title);
    return r;
}

static int put_text(const struct wecom *c, const struct alert_message *m, int64_t now_ms,
                    struct buf *out)
{
    bool is_text = c->type == WECOM_TEXT;
    size_t max = is_text ? TEXT_BYTES : MARKDOWN_BYTES;
    struct letter l = {is_text ? &markup_plain : &markup_wecom,
                       (enum letter_language)c->http.language, LETTER_BYTES, 0, now_ms};
    struct buf tail;
    buf_init(&tail, BODY_MAX);
    int r = is_text ? 0 : put_mentions(&c->mentioned, &tail);
    if (r == 0)
        r = put_title(c, m, out);
    size_t used = buf_len(out) + buf_len(&tail);
    l.max = used < max ? max - used : 0;
    if (r == 0)
        r = letter_text(&l, m, out);
    if (r == 0)
        r = buf_append(out, buf_span(&tail));
    buf_done(&tail);
    return r;
}

static void write_texts(struct jsonw *w, const char *key, const struct texts *t)
{
    if (t->n == 0)
        return;
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < t->n; i++)
        jsonw_str(w, t->at[i]);
    jsonw_end_array(w);
}

static void write_body(const struct wecom *c, struct span text, struct jsonw *w)
{
    const char *type = c->type == WECOM_TEXT ? "text" : "markdown";
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "msgtype", type);
    jsonw_key(w, type);
    jsonw_begin_object(w);
    jsonw_put_str(w, "content", text);
    if (c->type == WECOM_TEXT) {
        write_texts(w, "mentioned_list", &c->mentioned);
        write_texts(w, "mentioned_mobile_list", &c->mentioned_mobiles);
    }
    jsonw_end_object(w);
    jsonw_end_object(w);
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct wecom *c = config;
    struct buf text, body;
    struct jsonw w;
    int r = http_receiver_begin(
        &c->http, "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", a, ret, reterr);
    if (r < 0)
        return r;
    buf_init(&text, BODY_MAX);
    buf_init(&body, BODY_MAX);
    jsonw_init(&w, &body);
    r = put_text(c, m, now_ms, &text);
    if (r == 0)
        write_body(c, buf_span(&text), &w);
    r = r < 0 ? err_set(reterr, r, "could not make the message: %s", err_str(r))
              : http_receiver_end(&c->http, &w, &body, a, ret, reterr);
    buf_done(&body);
    buf_done(&text);
    return r;
}

/* --- answers --- */

static const struct answer_code codes[] = {
    {-1, VERDICT_LATER, -1, "the system is busy", ""},
    {45009, VERDICT_LATER, RATE_WAIT_MS, "too many messages",
     "20 a minute for a robot; others may send through the same one"},
    {45033, VERDICT_LATER, RATE_WAIT_MS, "too many messages at once",
     "others may send through the same robot"},
    {40008, VERDICT_NEVER, -1, "the type of the message is not valid", "please report this"},
    {40058, VERDICT_NEVER, -1, "the message has a wrong form or is too long", "please report this"},
    {44004, VERDICT_NEVER, -1, "the message is empty", "please report this"},
    {45002, VERDICT_NEVER, -1, "the message is too long", "please report this"},
    {93000, VERDICT_NEVER, -1, "the webhook's key is not valid",
     "check key or url; the robot may have been removed from the group"},
    {93004, VERDICT_NEVER, -1, "the robot was stopped", "start it again, or make a new one"},
    {93008, VERDICT_NEVER, -1, "the robot is not in the group", "add it again, or make a new one"},
};

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    static const struct answer_codes all = {"errcode", "errmsg", codes, ARRAY_LEN(codes)};
    (void)config;
    return http_receiver_judge_code(&all, r, ret_wait_ms, ret_why);
}

const struct receiver_kind receiver_wecom = {
    .key = "wecom_configs",
    .name = "wecom",
    .rate_per_min = RATE_PER_MIN,
    .tells_resolved = true,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
