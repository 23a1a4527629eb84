/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/receiver_http.h"

#include <errno.h>

#include "alert/jsontree.h"

int http_receiver_read(const struct options *o, const struct yaml_node *map,
                       const struct yaml_node *global, const struct option *table, size_t size,
                       void **ret)
{
    struct http_receiver *h = arena_zalloc(o->arena, 1, size);
    if (!h)
        return -ENOMEM;
    int r = options_read(o, map, table, h);
    int http = r == -ENOMEM ? 0 : http_config_read(o, map, global, &h->http);
    if (r < 0 || http < 0)
        return r == -ENOMEM || http == -ENOMEM ? -ENOMEM : -EINVAL;
    *ret = h;
    return 0;
}

void http_receiver_print(const struct option *table, const struct http_receiver *h, struct yamlw *w)
{
    options_print(table, h, w);
    http_config_print(&h->http, w);
}

int http_receiver_need_url(const struct options *o, const struct yaml_node *map,
                           const struct http_receiver *h, const char *names)
{
    if (secret_is_set(&h->url) || secret_is_set(&h->token))
        return 0;
    struct err *e = options_err(o, map);
    (void)err_set(e, -EINVAL, "it is not said where to send to");
    err_hint(e, "one of: %s", names);
    return -EINVAL;
}

/* --- request --- */

static int with_token(const struct http_receiver *h, const char *prefix, struct arena *a,
                      struct span *ret, struct err *reterr)
{
    struct span token;
    struct buf url;
    int r = secret_get(&h->token, a, &token, reterr);
    if (r < 0)
        return r;
    buf_init(&url, 1 << 20);
    r = buf_append(&url, span_cstr(prefix));
    if (r == 0)
        r = prose_percent(token, &url);
    if (r == 0 && !(*ret = arena_dup(a, buf_span(&url))).p)
        r = -ENOMEM;
    buf_done(&url);
    return r < 0 ? err_set(reterr, r, "out of memory") : 0;
}

int http_receiver_begin(const struct http_receiver *h, const char *prefix, struct arena *a,
                        struct receiver_request *ret, struct err *reterr)
{
    *ret = (struct receiver_request){.kind = REQUEST_HTTP, .timeout_ms = h->timeout_ms};
    if (secret_is_set(&h->token))
        return with_token(h, prefix, a, &ret->url, reterr);
    int r = secret_get(&h->url, a, &ret->url, reterr);
    if (r == 0 && !options_is_http_url(ret->url)) {
        err_set(reterr, -EINVAL, "the file \"%.*s\" does not hold an http:// or https:// URL",
                SPAN_ARG(h->url.file));
        return -EINVAL;
    }
    return r;
}

int http_receiver_end(const struct http_receiver *h, const struct jsonw *json,
                      const struct buf *body, struct arena *a, struct receiver_request *ret,
                      struct err *reterr)
{
    int r = jsonw_error(json);
    if (r < 0)
        return err_set(reterr, r, "could not make the message: %s", err_str(r));
    ret->body = arena_dup(a, buf_span(body));
    if (!ret->body.p)
        return err_set(reterr, -ENOMEM, "out of memory");
    return http_config_apply(&h->http, a, ret, reterr);
}

/* --- answers --- */

struct span http_receiver_said(struct span body, char *dst, size_t cap)
{
    enum { SHOWN_CHARS = 120 };
    struct buf b;
    buf_init(&b, 4096);
    bool is_clean = prose_clean(prose_cut(body, SHOWN_CHARS), false, &b) == 0;
    size_t n = span_copy(is_clean ? prose_cut_bytes(buf_span(&b), cap - 1) : SPAN(""), dst, cap);
    buf_done(&b);
    return span_of(dst, n);
}

static const struct status_row {
    int status;
    const char *hint;
} status_rows[] = {
    {401, "check the receiver's credentials"},
    {403, "check the receiver's credentials, and whether this host may use it"},
    {404, "check the URL; the webhook may have been removed"},
    {405, "check the URL; it does not take POST"},
    {410, "the webhook was removed, make a new one"},
    {413, "the message is too large for the receiver: max_alerts makes it smaller"},
};

static enum verdict refused(const struct receiver_reply *r, struct err *ret_why)
{
    char said[512];
    (void)http_receiver_said(r->body, said, sizeof(said));
    err_set(ret_why, -EPROTO, "answered %d%s%s", r->status, said[0] ? ": " : "", said);
    for (size_t i = 0; i < ARRAY_LEN(status_rows); i++)
        if (status_rows[i].status == r->status)
            err_hint(ret_why, "%s", status_rows[i].hint);
    return VERDICT_NEVER;
}

static enum verdict passing(const struct receiver_reply *r, struct err *ret_why)
{
    char said[512];
    (void)http_receiver_said(r->body, said, sizeof(said));
    err_set(ret_why, -EAGAIN, "answered %d%s%s", r->status, said[0] ? ": " : "", said);
    return VERDICT_LATER;
}

void http_receiver_unreached(const struct receiver_reply *r, struct err *ret_why)
{
    struct span words = r->words.n > 0 ? r->words : span_cstr(err_str(r->error));
    err_set(ret_why, r->error, "%.*s", SPAN_ARG(words));
    if (r->error == -EKEYREJECTED)
        err_hint(ret_why, "tls_config.ca_file names the issuers that are trusted; the certificate "
                          "has to hold now, and for the name that is configured");
    if (r->error == -EPROTONOSUPPORT)
        err_hint(ret_why, "TLS from the start is port 465 or force_implicit_tls: true; "
                          "require_tls: false sends without TLS, passwords as well");
}

enum verdict http_receiver_judge(const struct receiver_reply *r, int64_t *ret_wait_ms,
                                 struct err *ret_why)
{
    *ret_wait_ms = -1;
    if (r->error < 0) {
        http_receiver_unreached(r, ret_why);
        return VERDICT_LATER;
    }
    if (r->status >= 200 && r->status < 300)
        return VERDICT_DELIVERED;
    if (r->status == 429 || r->status == 408 || r->status >= 500 || r->status < 200) {
        *ret_wait_ms = r->retry_after_ms;
        return passing(r, ret_why);
    }
    if (r->status >= 400)
        return refused(r, ret_why);
    err_set(ret_why, -EPROTO, "answered %d, a redirect, which is not followed", r->status);
    err_hint(ret_why, "give the URL that is meant; a login page in between is no receiver");
    return VERDICT_NEVER;
}

static enum verdict garbage(const struct receiver_reply *r, struct err *ret_why)
{
    char said[512];
    (void)http_receiver_said(r->body, said, sizeof(said));
    err_set(ret_why, -EBADMSG, "answered %d with something else than its API does: %s", r->status,
            said[0] ? said : "nothing");
    err_hint(ret_why, "check the URL; a proxy or a login page in between is no receiver");
    return VERDICT_LATER;
}

static enum verdict judge_code(const struct answer_codes *codes, int64_t code, struct span text,
                               int64_t *ret_wait_ms, struct err *ret_why)
{
    char said[512];
    (void)http_receiver_said(text, said, sizeof(said));
    for (size_t i = 0; i < codes->n; i++) {
        const struct answer_code *row = &codes->at[i];
        if (row->code != code)
            continue;
        *ret_wait_ms = row->wait_ms;
        err_set(ret_why, row->verdict == VERDICT_LATER ? -EAGAIN : -EPROTO, "%s %lld: %s (%s)",
                codes->code_key, (long long)code, row->what, said);
        err_hint(ret_why, "%s", row->hint);
        return row->verdict;
    }
    err_set(ret_why, -EPROTO, "%s %lld: %s", codes->code_key, (long long)code, said);
    return VERDICT_LATER;
}

enum verdict http_receiver_judge_code(const struct answer_codes *codes,
                                      const struct receiver_reply *r, int64_t *ret_wait_ms,
                                      struct err *ret_why)
{
    json_t *root;
    enum verdict verdict = http_receiver_judge(r, ret_wait_ms, ret_why);
    if (verdict != VERDICT_DELIVERED)
        return verdict;
    if (jsontree_read(r->body, &root, NULL) < 0)
        return garbage(r, ret_why);
    const json_t *code = json_object_get(root, codes->code_key);
    if (!json_is_integer(code))
        verdict = garbage(r, ret_why);
    else if (json_integer_value(code) != 0)
        verdict = judge_code(codes, json_integer_value(code), jsontree_text(root, codes->text_key),
                             ret_wait_ms, ret_why);
    json_decref(root);
    return verdict;
}
