/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "web/transfer.h"

/* Connections kept for later; libcurl would keep four for each request under way. */
enum { CONNECTIONS_MAX = 256, WAIT_MAX_MS = 60 * 1000, IDLE_MAX = 2 };

struct web {
    CURLM *multi;
    struct list transfers;
    size_t n;
    struct transfer *idle[IDLE_MAX]; /* for the next ones: what they have need not be made anew */
    size_t n_idle;
};

int web_new(struct web **ret)
{
    int r = web_handle_global();
    struct web *w = r == 0 ? mem_zalloc(1, sizeof(*w)) : NULL;
    if (!w)
        return r < 0 ? r : -ENOMEM;
    list_init(&w->transfers);
    w->multi = curl_multi_init();
    if (!w->multi ||
        curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX) != CURLM_OK) {
        web_free(w);
        return -ENOMEM;
    }
    *ret = w;
    return 0;
}

struct web *web_free(struct web *w)
{
    if (!w)
        return NULL;
    while (!list_is_empty(&w->transfers)) {
        struct transfer *t = CONTAINER_OF(w->transfers.next, struct transfer, node);
        (void)curl_multi_remove_handle(w->multi, t->handle.easy); /* fails for no reason of ours */
        transfer_free(t);
    }
    while (w->n_idle > 0)
        transfer_free(w->idle[--w->n_idle]);
    if (w->multi)
        (void)curl_multi_cleanup(w->multi);
    mem_free(w);
    return NULL;
}

static int add(struct web *w, struct transfer *t)
{
    CURLMcode code = curl_multi_add_handle(w->multi, t->handle.easy);
    return code == CURLM_OK ? 0 : code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static void put_away(struct web *w, struct transfer *t)
{
    if (transfer_rest(t) && w->n_idle < IDLE_MAX)
        w->idle[w->n_idle++] = t;
    else
        transfer_free(t);
}

int web_start(struct web *w, const struct web_request *r, web_done done, void *ctx, void *tag)
{
    struct transfer *t = w->n_idle > 0 ? w->idle[--w->n_idle] : NULL;
    int error = t ? 0 : transfer_new(&t);
    if (error < 0)
        return error;
    error = transfer_begin(t, r);
    if (error < 0) {
        put_away(w, t);
        return error;
    }
    t->done = done;
    t->ctx = ctx;
    t->tag = tag;
    error = add(w, t);
    if (error < 0) {
        put_away(w, t);
        return error;
    }
    list_push_back(&w->transfers, &t->node);
    w->n++;
    return 0;
}

static void finish(struct web *w, struct transfer *t)
{
    w->n--;
    t->done(t->ctx, t->tag, &t->reply);
    put_away(w, t);
}

/* It is libcurl's no more: handed over, or sent on. */
static bool end(struct web *w, struct transfer *t, CURLcode code)
{
    if (!transfer_end(t, code)) {
        int error = add(w, t);
        if (error == 0)
            return false;
        transfer_fail(t, error, span_cstr(err_str(error)));
    }
    finish(w, t);
    return true;
}

/* How many there were. */
static size_t take_finished(struct web *w)
{
    CURLMsg *m;
    int n_left;
    size_t n = 0;
    while ((m = curl_multi_info_read(w->multi, &n_left))) {
        char *private = NULL;
        CURLcode code = m->data.result;
        CURL *easy = m->easy_handle;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private) != CURLE_OK)
            continue;
        (void)curl_multi_remove_handle(w->multi, easy); /* m is void from here on */
        n += end(w, (struct transfer *)(void *)private, code);
    }
    return n;
}

void web_turn(struct web *w, int64_t wait_ms)
{
    int n_running;
    wait_ms = wait_ms < 0 ? 0 : wait_ms > WAIT_MAX_MS ? WAIT_MAX_MS : wait_ms;
    (void)curl_multi_perform(w->multi, &n_running); /* what fails, fails its transfer */
    if (take_finished(w) > 0)
        return; /* who was told may have more to do than to wait */
    (void)curl_multi_poll(w->multi, NULL, 0, (int)wait_ms, NULL);
    (void)curl_multi_perform(w->multi, &n_running);
    (void)take_finished(w);
}

void web_wake(struct web *w)
{
    (void)curl_multi_wakeup(w->multi);
}

size_t web_n(const struct web *w)
{
    return w->n;
}
