/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_dingtalk.c - robot of a DingTalk group: markdown, signed in the URL.
 *
 * The signature's key is the secret and its message is time, newline, secret; it holds for an hour,
 * so it is made for each attempt. A robot that only takes messages with a keyword gets it in a line
 * of its own where the text has it nowhere.
 */
#include <errno.h>
#include <inttypes.h>

#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"

enum {
    TITLE_CHARS = 200,
    TEXT_JSON_BYTES = 15 * 1000, /* the API takes 20,000 bytes of body */
    RATE_PER_MIN = 18,           /* 20 a minute, or it is deaf for 10 minutes */
    DEAF_MS = 600 * 1000,
    BODY_MAX = 1 << 20,
};

struct dingtalk {
    struct http_receiver http;
    struct secret secret;
    struct texts at_mobiles, at_users;
    bool at_all;
    struct span keyword;
};

#define IN(member) offsetof(struct dingtalk, member)
static const struct option keys[] = {
    HTTP_RECEIVER_KEYS,
    HTTP_RECEIVER_LANGUAGE,
    {.key = "access_token", .type = OPTION_SECRET, .offset = IN(http.token)},
    {.key = "access_token_file", .type = OPTION_SECRET_FILE, .offset = IN(http.token)},
    {.key = "secret", .type = OPTION_SECRET, .offset = IN(secret)},
    {.key = "secret_file", .type = OPTION_SECRET_FILE, .offset = IN(secret)},
    {.key = "at_mobiles", .type = OPTION_TEXTS, .offset = IN(at_mobiles)},
    {.key = "at_users", .type = OPTION_TEXTS, .offset = IN(at_users)},
    {.key = "at_all", .type = OPTION_BOOL, .offset = IN(at_all)},
    {.key = "keyword", .type = OPTION_TEXT, .offset = IN(keyword)},
    {0},
};
#undef IN

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    void *config;
    int r = http_receiver_read(&o, map, global, keys, sizeof(struct dingtalk), &config);
    if (r == 0)
        r = http_receiver_need_url(&o, map, config,
                                   "url, url_file, access_token, access_token_file");
    if (r == 0)
        *ret = config;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    http_receiver_print(keys, config, w);
}

/* --- message --- */

/* "@138..." in the text is what makes a mention of at.atMobiles light up. */
static int put_mentions(const struct texts *who, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < who->n && r == 0; i++)
        r = buf_printf(out, "%s@%.*s", i == 0 ? "\n\n" : " ", SPAN_ARG(who->at[i]));
    return r;
}

static int put_text(const struct dingtalk *c, const struct alert_message *m, struct span title,
                    int64_t now_ms, struct buf *out)
{
    struct letter l = {&markup_dingtalk, (enum letter_language)c->http.language, LETTER_JSON_BYTES,
                       0, now_ms};
    struct buf tail;
    buf_init(&tail, BODY_MAX);
    int r = put_mentions(&c->at_mobiles, &tail);
    if (r == 0)
        r = put_mentions(&c->at_users, &tail);
    if (r == 0)
        r = buf_append(out, SPAN("#### "));
    if (r == 0)
        r = markup_text(&markup_dingtalk, title, false, out);
    if (r == 0)
        r = buf_append(out, SPAN("\n\n"));
    size_t used = buf_len(out) + buf_len(&tail) + c->keyword.n;
    l.max = used < TEXT_JSON_BYTES ? TEXT_JSON_BYTES - used : 0;
    if (r == 0)
        r = letter_text(&l, m, out);
    if (r == 0 && span_find(buf_span(out), c->keyword) == buf_len(out))
        r = buf_printf(out, "\n\n%.*s", SPAN_ARG(c->keyword));
    if (r == 0)
        r = buf_append(out, buf_span(&tail));
    buf_done(&tail);
    return r;
}

static void write_texts(struct jsonw *w, const char *key, const struct texts *t)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < t->n; i++)
        jsonw_str(w, t->at[i]);
    jsonw_end_array(w);
}

static void write_body(const struct dingtalk *c, struct span title, struct span text,
                       struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "msgtype", "markdown");
    jsonw_key(w, "markdown");
    jsonw_begin_object(w);
    jsonw_put_str(w, "title", title);
    jsonw_put_str(w, "text", text);
    jsonw_end_object(w);
    jsonw_key(w, "at");
    jsonw_begin_object(w);
    write_texts(w, "atMobiles", &c->at_mobiles);
    write_texts(w, "atUserIds", &c->at_users);
    jsonw_put_bool(w, "isAtAll", c->at_all);
    jsonw_end_object(w);
    jsonw_end_object(w);
}

/* --- signature --- */

static int put_signature(struct span secret, int64_t now_ms, struct buf *url)
{
    struct buf message, sign;
    buf_init(&message, BODY_MAX);
    buf_init(&sign, 256);
    bool has_query = span_find_char(buf_span(url), '?') < buf_len(url);
    int r = buf_printf(&message, "%" PRId64 "\n%.*s", now_ms, SPAN_ARG(secret));
    if (r == 0)
        r = prose_sign(secret, buf_span(&message), &sign);
    if (r == 0)
        r = buf_printf(url, "%ctimestamp=%" PRId64 "&sign=", has_query ? '&' : '?', now_ms);
    if (r == 0)
        r = prose_percent(buf_span(&sign), url);
    buf_done(&sign);
    buf_done(&message);
    return r;
}

static int sign_url(const struct dingtalk *c, int64_t now_ms, struct arena *a, struct span *url,
                    struct err *reterr)
{
    struct span secret;
    struct buf b;
    if (!secret_is_set(&c->secret))
        return 0;
    int r = secret_get(&c->secret, a, &secret, reterr);
    if (r < 0)
        return r;
    buf_init(&b, BODY_MAX);
    r = buf_append(&b, *url);
    if (r == 0)
        r = put_signature(secret, now_ms, &b);
    if (r == 0 && !(*url = arena_dup(a, buf_span(&b))).p)
        r = -ENOMEM;
    buf_done(&b);
    return r < 0 ? err_set(reterr, r, "could not sign the message: %s", err_str(r)) : 0;
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct dingtalk *c = config;
    struct buf title, text, body;
    struct jsonw w;
    int r = http_receiver_begin(&c->http, "https://oapi.dingtalk.com/robot/send?access_token=", a,
                                ret, reterr);
    if (r == 0)
        r = sign_url(c, now_ms, a, &ret->url, reterr);
    if (r < 0)
        return r;
    buf_init(&title, BODY_MAX);
    buf_init(&text, BODY_MAX);
    buf_init(&body, BODY_MAX);
    jsonw_init(&w, &body);
    r = letter_title(m, (enum letter_language)c->http.language, TITLE_CHARS, &title);
    if (r == 0)
        r = put_text(c, m, buf_span(&title), now_ms, &text);
    if (r == 0)
        write_body(c, buf_span(&title), buf_span(&text), &w);
    r = r < 0 ? err_set(reterr, r, "could not make the message: %s", err_str(r))
              : http_receiver_end(&c->http, &w, &body, a, ret, reterr);
    buf_done(&body);
    buf_done(&text);
    buf_done(&title);
    return r;
}

/* --- answers --- */

static const struct answer_code codes[] = {
    {-1, VERDICT_LATER, -1, "the system is busy", ""},
    {130101, VERDICT_LATER, DEAF_MS, "too many messages",
     "20 a minute for a robot; others may send through the same one"},
    {302033, VERDICT_LATER, DEAF_MS, "too many messages",
     "20 a minute for a robot; others may send through the same one"},
    {410100, VERDICT_LATER, DEAF_MS, "too many messages",
     "20 a minute for a robot; others may send through the same one"},
    {310000, VERDICT_NEVER, -1, "the robot's security settings refuse the message",
     "secret (and this machine's clock), keyword, or the list of IP addresses: the text in "
     "parentheses says which; all that the robot asks for have to be configured"},
    {300001, VERDICT_NEVER, -1, "the access token is not valid", "check access_token"},
    {300005, VERDICT_NEVER, -1, "the access token is not valid", "check access_token"},
    {400013, VERDICT_NEVER, -1, "the group was dissolved", "make a robot in another group"},
    {400101, VERDICT_NEVER, -1, "the access token does not exist", "check access_token"},
    {400102, VERDICT_NEVER, -1, "the robot was stopped", "start it again in the group's settings"},
    {400106, VERDICT_NEVER, -1, "the robot does not exist", "check access_token"},
    {430102, VERDICT_NEVER, -1, "the text has words that are not allowed", ""},
    {430104, VERDICT_NEVER, -1, "the text has words that are not allowed", ""},
    {460101, VERDICT_NEVER, -1, "the message is too long", ""},
};

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    static const struct answer_codes all = {"errcode", "errmsg", codes, ARRAY_LEN(codes)};
    (void)config;
    return http_receiver_judge_code(&all, r, ret_wait_ms, ret_why);
}

const struct receiver_kind receiver_dingtalk = {
    .key = "dingtalk_configs",
    .name = "dingtalk",
    .rate_per_min = RATE_PER_MIN,
    .tells_resolved = true,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
