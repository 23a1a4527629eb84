/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/ask.h"

#include <ctype.h>
#include <errno.h>

#include "base/mem.h"
#include "verify/told.h"
#include "web/web.h"

enum { URL_MAX = 256 * 1024 };

struct verify_asker {
    struct web *web;
    struct buf body, url;
};

int verify_ask_new(struct verify_asker **ret)
{
    struct verify_asker *a = mem_zalloc(1, sizeof(*a));
    int r = a ? web_new(&a->web) : -ENOMEM;

    if (r < 0) {
        mem_free(a);
        return r;
    }
    buf_init(&a->body, VERIFY_ANSWER_MAX);
    buf_init(&a->url, URL_MAX);
    *ret = a;
    return 0;
}

struct verify_asker *verify_ask_free(struct verify_asker *a)
{
    if (!a)
        return NULL;
    web_free(a->web);
    buf_done(&a->body);
    buf_done(&a->url);
    mem_free(a);
    return NULL;
}

/* One request under way. */
struct asking {
    const char *url;
    struct buf *out;
    struct err *err;
    int r;
};

static void on_reply(void *ctx, void *tag, const struct web_reply *reply)
{
    struct asking *k = ctx;

    (void)tag;
    buf_clear(k->out);
    if (reply->error < 0)
        k->r = err_set(k->err, reply->error, "%.200s: %.*s", k->url, SPAN_ARG(reply->words));
    else if (reply->is_cut)
        k->r = err_set(k->err, -EMSGSIZE, "%.200s: the answer is too long", k->url);
    else if ((k->r = buf_append(k->out, reply->body)) == 0 && reply->status / 100 != 2)
        k->r = err_set(k->err, -EBADMSG, "%.200s: answered %d", k->url, reply->status);
}

int verify_ask(struct verify_asker *a, const char *url, const char *json, struct buf *out,
               struct err *reterr)
{
    struct asking k = {url, out, reterr, 0};
    const struct web_request q = {.is_post = json != NULL,
                                  .url = span_cstr(url),
                                  .body = span_cstr(json ? json : ""),
                                  .content_type = json ? SPAN("application/json") : SPAN(""),
                                  .link = {.proxy_url = SPAN("none")},
                                  .timeout_ms = VERIFY_ASK_MS,
                                  .answer_max = VERIFY_ANSWER_MAX,
                                  .keeps_connection = true};
    int r = web_start(a->web, &q, on_reply, &k, NULL);

    if (r < 0)
        return err_set(reterr, r, "\"%.200s\" cannot be asked: %s", url, err_str(r));
    while (web_n(a->web) > 0)
        web_turn(a->web, VERIFY_ASK_MS);
    return k.r;
}

static int encode(const char *text, struct buf *out)
{
    int r = 0;

    for (const char *p = text; *p && r == 0; p++) {
        unsigned char c = (unsigned char)*p;
        r = isalnum(c) ? buf_append(out, span_of(p, 1)) : buf_printf(out, "%%%02X", c);
    }
    return r == 0 ? buf_append(out, span_of("", 1)) : r; /* with its NUL */
}

int verify_ask_value(struct verify_asker *a, const char *server, const char *query, double *ret,
                     size_t *ret_n, struct err *reterr)
{
    int r;

    buf_clear(&a->url);
    r = buf_printf(&a->url, "%s/api/v1/query?query=", server);
    if (r == 0)
        r = encode(query, &a->url);
    if (r == 0)
        r = verify_ask(a, buf_span(&a->url).p, NULL, &a->body, reterr);
    return r < 0 ? r : verify_told_value(buf_span(&a->body), ret, ret_n);
}
