/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/transport.h"

#include <errno.h>

#include "alert/mailer.h"
#include "base/list.h"
#include "base/mem.h"

/* A request over HTTP, under way. */
struct post {
    struct list node;
    struct web_request request;
    transport_done done;
    void *ctx, *tag;
};

struct transport {
    struct web *web;
    struct mailer *mailer;
    struct list posts;
    size_t n;
};

static void on_mail_waiting(void *ctx)
{
    transport_wake(ctx);
}

int transport_new(struct transport **ret)
{
    struct transport *t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    list_init(&t->posts);
    int r = web_new(&t->web);
    if (r == 0)
        r = mailer_new(on_mail_waiting, t, &t->mailer);
    if (r < 0)
        transport_free(t);
    else
        *ret = t;
    return r;
}

static void forget(struct post *p)
{
    list_remove(&p->node);
    mem_free(p);
}

struct transport *transport_free(struct transport *t)
{
    if (!t)
        return NULL;
    t->mailer = mailer_free(t->mailer);
    t->web = web_free(t->web);
    while (!list_is_empty(&t->posts))
        forget(CONTAINER_OF(t->posts.next, struct post, node));
    mem_free(t);
    return NULL;
}

/* --- over HTTP --- */

static void on_answer(void *ctx, void *tag, const struct web_reply *r)
{
    struct transport *t = ctx;
    struct post *p = tag;
    const struct receiver_reply reply = {.error = r->error,
                                         .words = r->words,
                                         .status = r->status,
                                         .body = r->body,
                                         .retry_after_ms = r->retry_after_ms};
    t->n--;
    p->done(p->ctx, p->tag, &reply);
    forget(p);
}

static int start_post(struct transport *t, const struct receiver_request *r, transport_done done,
                      void *ctx, void *tag)
{
    struct post *p = mem_zalloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct post){.done = done, .ctx = ctx, .tag = tag};
    list_init(&p->node);
    p->request = (struct web_request){.is_post = true,
                                      .url = r->url,
                                      .body = r->body,
                                      .content_type = r->content_type,
                                      .headers = r->headers,
                                      .n_headers = r->n_headers,
                                      .link = r->link,
                                      .timeout_ms = r->timeout_ms,
                                      .answer_max = TRANSPORT_ANSWER_MAX};
    int error = web_start(t->web, &p->request, on_answer, t, p);
    if (error < 0)
        forget(p);
    else
        list_push_back(&t->posts, &p->node);
    return error;
}

/* --- mails --- */

static int start_mail(struct transport *t, const struct receiver_request *r, transport_done done,
                      void *ctx, void *tag)
{
    struct smtp *m;
    int error = smtp_new(r, &m);
    if (error < 0)
        return error;
    m->done = done;
    m->ctx = ctx;
    m->tag = tag;
    error = mailer_start(t->mailer, m);
    if (error < 0)
        smtp_free(m);
    return error;
}

/* How many there were. */
static size_t take_mails(struct transport *t)
{
    size_t n = 0;
    struct smtp *m;
    for (; (m = mailer_take(t->mailer)); n++) {
        t->n--;
        m->done(m->ctx, m->tag, &m->reply);
        smtp_free(m);
    }
    return n;
}

/* --- both --- */

int transport_start(struct transport *t, const struct receiver_request *r, transport_done done,
                    void *ctx, void *tag)
{
    int error = r->kind == REQUEST_MAIL ? start_mail(t, r, done, ctx, tag)
                                        : start_post(t, r, done, ctx, tag);
    t->n += error == 0;
    return error;
}

void transport_turn(struct transport *t, int64_t wait_ms)
{
    /* Who was told may have more to do than to wait. */
    web_turn(t->web, take_mails(t) > 0 ? 0 : wait_ms);
    (void)take_mails(t);
}

void transport_wake(struct transport *t)
{
    web_wake(t->web);
}

size_t transport_n(const struct transport *t)
{
    return t->n;
}
