/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/transport.h"

#include <errno.h>

#include "alert/mailer.h"
#include "alert/transfer.h"
#include "base/mem.h"

struct transport {
    CURLM *multi;
    struct mailer *mailer;
    struct list transfers; /* over HTTP */
    size_t n;
};

static void on_mail_waiting(void *ctx)
{
    transport_wake(ctx);
}

int transport_new(struct transport **ret)
{
    int r = transfer_global_init();
    struct transport *t = r == 0 ? mem_zalloc(1, sizeof(*t)) : NULL;
    if (!t)
        return r < 0 ? r : -ENOMEM;
    list_init(&t->transfers);
    t->multi = curl_multi_init();
    r = t->multi ? mailer_new(on_mail_waiting, t, &t->mailer) : -ENOMEM;
    if (r < 0) {
        transport_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct transport *transport_free(struct transport *t)
{
    if (!t)
        return NULL;
    t->mailer = mailer_free(t->mailer);
    while (!list_is_empty(&t->transfers)) {
        struct transfer *one = CONTAINER_OF(t->transfers.next, struct transfer, node);
        (void)curl_multi_remove_handle(t->multi, one->easy); /* fails for no reason of ours */
        transfer_free(one);
    }
    if (t->multi)
        (void)curl_multi_cleanup(t->multi);
    mem_free(t);
    return NULL;
}

static int add(struct transport *t, struct transfer *one)
{
    CURLMcode code = curl_multi_add_handle(t->multi, one->easy);
    if (code != CURLM_OK)
        return code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
    list_push_back(&t->transfers, &one->node);
    return 0;
}

int transport_start(struct transport *t, const struct receiver_request *r, transport_done done,
                    void *ctx, void *tag)
{
    struct transfer *one;
    int error = transfer_new(r, &one);
    if (error < 0)
        return error;
    one->done = done;
    one->ctx = ctx;
    one->tag = tag;
    error = r->kind == REQUEST_MAIL ? mailer_start(t->mailer, one) : add(t, one);
    if (error < 0)
        transfer_free(one);
    else
        t->n++;
    return error;
}

static void finish(struct transport *t, struct transfer *one)
{
    t->n--;
    one->done(one->ctx, one->tag, &one->reply);
    transfer_free(one);
}

/* How many there were. */
static size_t take_finished(struct transport *t)
{
    CURLMsg *m;
    int n_left;
    size_t n_before = t->n;
    struct transfer *mail;
    while ((m = curl_multi_info_read(t->multi, &n_left))) {
        char *private = NULL;
        CURLcode code = m->data.result;
        CURL *easy = m->easy_handle;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private) != CURLE_OK)
            continue;
        struct transfer *one = (struct transfer *)(void *)private;
        (void)curl_multi_remove_handle(t->multi, easy); /* m is void from here on */
        transfer_end(one, easy, code);
        finish(t, one);
    }
    while ((mail = mailer_take(t->mailer)))
        finish(t, mail);
    return n_before - t->n;
}

void transport_turn(struct transport *t, int64_t wait_ms)
{
    int n_running;
    wait_ms = wait_ms < 0 ? 0 : wait_ms > 60000 ? 60000 : wait_ms;
    (void)curl_multi_perform(t->multi, &n_running); /* what fails, fails its transfer */
    if (take_finished(t) > 0)
        return; /* who was told may have more to do than to wait */
    (void)curl_multi_poll(t->multi, NULL, 0, (int)wait_ms, NULL);
    (void)curl_multi_perform(t->multi, &n_running);
    (void)take_finished(t);
}

void transport_wake(struct transport *t)
{
    (void)curl_multi_wakeup(t->multi);
}

size_t transport_n(const struct transport *t)
{
    return t->n;
}
