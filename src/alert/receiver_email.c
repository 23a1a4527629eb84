/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_email.c - mail over SMTP: TLS from the start on port 465, else STARTTLS, which is
 * needed unless require_tls says otherwise.
 */
#include <errno.h>

#include "alert/http_config.h"
#include "alert/letter.h"
#include "alert/mail.h"
#include "alert/options.h"
#include "alert/receiver_http.h"
#include "alert/receiver_kinds.h"
#include "base/num.h"

enum { TITLE_CHARS = 200, TEXT_BYTES = 200 * 1000, BODY_MAX = 4 << 20 };

struct email {
    struct texts to;
    struct span from, smarthost, hello, user;
    struct secret password;
    bool needs_tls, is_tls_from_start;
    struct web_link link;
    int language;
    int64_t timeout_ms;
    /* made of them */
    struct mail_address sender;
    struct mail_address *receivers;
};

#define TEXT_IS_FIXED                                                                              \
    .type = OPTION_REFUSED,                                                                        \
    .words = "the layout of messages is fixed; summary and description are annotations of a rule"
#define IN(member) offsetof(struct email, member)
static const struct option keys[] = {
    {.key = "send_resolved", .type = OPTION_PASSED},
    {.key = "to", .type = OPTION_TEXTS, .offset = IN(to)},
    {.key = "from", .type = OPTION_TEXT, .offset = IN(from)},
    {.key = "smarthost", .type = OPTION_TEXT, .offset = IN(smarthost)},
    {.key = "hello", .type = OPTION_TEXT, .offset = IN(hello)},
    {.key = "auth_username", .type = OPTION_TEXT, .offset = IN(user)},
    {.key = "auth_password", .type = OPTION_SECRET, .offset = IN(password)},
    {.key = "auth_password_file", .type = OPTION_SECRET_FILE, .offset = IN(password)},
    {.key = "auth_identity", .type = OPTION_REFUSED, .words = "auth_username is enough"},
    {.key = "auth_secret", .type = OPTION_REFUSED, .words = "use auth_password_file"},
    {.key = "require_tls", .type = OPTION_BOOL, .offset = IN(needs_tls)},
    {.key = "force_implicit_tls", .type = OPTION_BOOL, .offset = IN(is_tls_from_start)},
    {.key = "tls_config", .type = OPTION_MAP, .map = receiver_tls_keys, .offset = IN(link)},
    {.key = "language", .type = OPTION_WORD, .offset = IN(language), .words = LETTER_LANGUAGES},
    {.key = "timeout", .type = OPTION_DURATION, .offset = IN(timeout_ms)},
    {.key = "headers", TEXT_IS_FIXED},
    {.key = "html", TEXT_IS_FIXED},
    {.key = "text", TEXT_IS_FIXED},
    {0},
};
static const struct option global_keys[] = {
    {.key = "smtp_from", .type = OPTION_TEXT, .offset = IN(from)},
    {.key = "smtp_smarthost", .type = OPTION_TEXT, .offset = IN(smarthost)},
    {.key = "smtp_hello", .type = OPTION_TEXT, .offset = IN(hello)},
    {.key = "smtp_auth_username", .type = OPTION_TEXT, .offset = IN(user)},
    {.key = "smtp_auth_password", .type = OPTION_SECRET, .offset = IN(password)},
    {.key = "smtp_auth_password_file", .type = OPTION_SECRET_FILE, .offset = IN(password)},
    {.key = "smtp_require_tls", .type = OPTION_BOOL, .offset = IN(needs_tls)},
    {.key = "smtp_force_implicit_tls", .type = OPTION_BOOL, .offset = IN(is_tls_from_start)},
    {.key = "smtp_tls_config", .type = OPTION_MAP, .map = receiver_tls_keys, .offset = IN(link)},
};
#undef IN

/* --- configuration --- */

static int missing(const struct options *o, const struct yaml_node *map, const char *key,
                   const char *global)
{
    struct err *e = options_err(o, map);
    (void)err_set(e, -EINVAL, "\"%s\" is missing", key);
    err_hint(e, "give it here%s%s", global[0] ? ", or for all in global: " : "", global);
    return -EINVAL;
}

/* "host:port", "[::1]:port" */
static bool is_host_port(struct span s)
{
    size_t colon = s.n;
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    struct span port = span_from(s, colon);
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f ||
            strchr("/?#@\\%", s.p[i]))
            return false;
    uint64_t number;
    return colon > 1 && num_parse_u64(port, &number) == 0 && number > 0 && number < 65536;
}

/* It becomes a part of a URL. */
static bool is_host_name(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
              (s.p[i] >= '0' && s.p[i] <= '9') || strchr(".-[]:", s.p[i])))
            return false;
    return s.n > 0;
}

static int check_addresses(const struct options *o, const struct yaml_node *map, struct email *c)
{
    const struct yaml_node *to = options_find(map, "to");
    if (!mail_address_parse(c->from, &c->sender))
        return err_set(options_err(o, map), -EINVAL, "\"from\" is no mail address");
    c->receivers = arena_zalloc(o->arena, c->to.n, sizeof(*c->receivers));
    if (!c->receivers)
        return -ENOMEM;
    for (size_t i = 0; i < c->to.n; i++) {
        char shown[ERR_LIST_SHOWN_MAX];
        if (!mail_address_parse(c->to.at[i], &c->receivers[i]))
            return err_set(options_err(o, to), -EINVAL, "\"%s\" is no mail address",
                           err_list_shown(c->to.at[i], shown));
    }
    return 0;
}

static int check(const struct options *o, const struct yaml_node *map, struct email *c)
{
    if (c->to.n == 0)
        return missing(o, map, "to", "");
    if (c->from.n == 0)
        return missing(o, map, "from", "smtp_from");
    if (c->smarthost.n == 0)
        return missing(o, map, "smarthost", "smtp_smarthost");
    if (!is_host_port(c->smarthost))
        return err_set(options_err(o, map), -EINVAL, "\"smarthost\" has to be host:port");
    if (c->hello.n > 0 && !is_host_name(c->hello))
        return err_set(options_err(o, map), -EINVAL, "\"hello\" has to be a host's name");
    if (span_ends_with(c->smarthost, SPAN(":465")))
        c->is_tls_from_start = true;
    int r = http_config_check_tls(o, map, &c->link);
    return r < 0 ? r : check_addresses(o, map, c);
}

/* The entry over what global has. */
static int read_both(const struct options *o, const struct yaml_node *map,
                     const struct yaml_node *global, struct email *c)
{
    struct email all = {.needs_tls = true, .hello = SPAN_INIT("localhost")};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(global_keys) && r == 0; i++) {
        const struct yaml_node *node = options_find(global, global_keys[i].key);
        r = node ? options_read_one(o, &global_keys[i], node, &all) : 0;
    }
    *c = all;
    c->password = (struct secret){.value = SPAN_INIT("")};
    if (r == 0)
        r = options_read(o, map, keys, c);
    if (!secret_is_set(&c->password))
        c->password = all.password;
    return r;
}

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    struct options o = {where, a, errs};
    struct email *c = arena_zalloc(a, 1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    int r = read_both(&o, map, global, c);
    if (r == 0)
        r = check(&o, map, c);
    if (r == 0)
        *ret = c;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    options_print(keys, config, w);
}

/* --- message --- */

static int put_parts(const struct email *c, const struct alert_message *m, int64_t now_ms,
                     struct span title, struct buf *text, struct buf *html)
{
    struct letter l = {&markup_plain, (enum letter_language)c->language, LETTER_BYTES, TEXT_BYTES,
                       now_ms};
    int r = buf_printf(text, "%.*s\n\n", SPAN_ARG(title));
    if (r == 0)
        r = letter_text(&l, m, text);
    if (r == 0)
        r = buf_printf(html,
                       "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head>"
                       "<body style=\"font-family:sans-serif\">\n<h3 style=\"color:%s\">",
                       m->n_firing > 0 ? "#b3261e" : "#146c2e");
    if (r == 0)
        r = markup_text(&markup_html, title, false, html);
    if (r == 0)
        r = buf_append(html, SPAN("</h3>\n"));
    l.markup = &markup_html;
    if (r == 0)
        r = letter_text(&l, m, html);
    return r < 0 ? r : buf_append(html, SPAN("\n</body></html>\n"));
}

static int write_mail(const struct email *c, const struct alert_message *m, int64_t now_ms,
                      struct buf *out)
{
    struct buf title, text, html;
    buf_init(&title, BODY_MAX);
    buf_init(&text, BODY_MAX);
    buf_init(&html, BODY_MAX);
    int r = letter_title(m, (enum letter_language)c->language, TITLE_CHARS, &title);
    if (r == 0)
        r = put_parts(c, m, now_ms, buf_span(&title), &text, &html);
    if (r == 0) {
        struct mail mail = {.from = c->sender,
                            .to = c->receivers,
                            .n_to = c->to.n,
                            .subject = buf_span(&title),
                            .text = buf_span(&text),
                            .html = buf_span(&html),
                            .now_ms = now_ms,
                            .thread = m->group_key};
        r = mail_write(&mail, out);
    }
    buf_done(&html);
    buf_done(&text);
    buf_done(&title);
    return r;
}

static int put_url(const struct email *c, struct arena *a, struct receiver_request *ret)
{
    struct buf url;
    struct span *to = arena_zalloc(a, c->to.n, sizeof(*to));
    if (!to)
        return -ENOMEM;
    for (size_t i = 0; i < c->to.n; i++)
        to[i] = c->receivers[i].address;
    ret->to = to;
    ret->n_to = c->to.n;
    buf_init(&url, 4096);
    int r =
        buf_printf(&url, "smtp%s://%.*s", c->is_tls_from_start ? "s" : "", SPAN_ARG(c->smarthost));
    if (r == 0 && !(ret->url = arena_dup(a, buf_span(&url))).p)
        r = -ENOMEM;
    buf_done(&url);
    ret->shown = ret->url;
    return r;
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    const struct email *c = config;
    struct buf body;
    *ret = (struct receiver_request){.kind = REQUEST_MAIL,
                                     .from = c->sender.address,
                                     .user = c->user,
                                     .hello = c->hello,
                                     .needs_tls = c->needs_tls,
                                     .link = c->link,
                                     .timeout_ms = c->timeout_ms};
    int r = secret_get(&c->password, a, &ret->password, reterr);
    if (r < 0)
        return r;
    buf_init(&body, BODY_MAX);
    r = write_mail(c, m, now_ms, &body);
    if (r == 0 && !(ret->body = arena_dup(a, buf_span(&body))).p)
        r = -ENOMEM;
    buf_done(&body);
    if (r == 0)
        r = put_url(c, a, ret);
    return r < 0 ? err_set(reterr, r, "could not make the message: %s", err_str(r)) : 0;
}

/* --- answers --- */

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    char said[512];
    *ret_wait_ms = -1;
    (void)config;
    (void)http_receiver_said(r->body, said, sizeof(said));
    if (r->error < 0) {
        http_receiver_unreached(r, ret_why);
        return VERDICT_LATER;
    }
    if (r->status >= 200 && r->status < 400) {
        if (r->body.n > 0)
            err_set(ret_why, -EPROTO, "not taken for all addresses: %s", said);
        return VERDICT_DELIVERED;
    }
    err_set(ret_why, -EPROTO, "the mail server answered %d%s%s", r->status, said[0] ? ": " : "",
            said);
    if (r->status < 500)
        return VERDICT_LATER;
    err_hint(ret_why, "%s",
             r->status == 535 || r->status == 534 || r->status == 530
                 ? "check auth_username and auth_password_file"
                 : "check from, to, and what the server lets through");
    return VERDICT_NEVER;
}

const struct receiver_kind receiver_email = {
    .key = "email_configs",
    .name = "email",
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
