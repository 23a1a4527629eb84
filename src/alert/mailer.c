/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/mailer.c - see mailer.h.
 *
 * A thread first tells what came of its mail and only then ends its connection. Its struct goes
 * when it has ended and its transfer was taken, at the next mailer_take.
 */
#include "alert/mailer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/process.h"

enum { QUIT_MS = 2000 };

struct mailing {
    struct list node;
    struct mailer *mailer;
    struct smtp *mail; /* NULL: was taken */
    CURL *easy;        /* the thread's, so that it can end it in its own time */
    pthread_t thread;
    int fd;       /* of the connection, or -1 */
    bool is_done; /* has a reply */
    mono_t t_done;
    bool is_over; /* the thread has nothing to do any more */
    atomic_bool must_stop;
};

struct mailer {
    pthread_mutex_t lock; /* of everything in a mailing but must_stop and the constants */
    struct list mailings;
    void (*on_waiting)(void *ctx);
    void *ctx;
};

int mailer_new(void (*on_waiting)(void *ctx), void *ctx, struct mailer **ret)
{
    struct mailer *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    pthread_mutex_init(&m->lock, NULL);
    list_init(&m->mailings);
    m->on_waiting = on_waiting;
    m->ctx = ctx;
    *ret = m;
    return 0;
}

/* --- the thread --- */

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct mailing *g = ctx;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    pthread_mutex_lock(&g->mailer->lock);
    g->fd = fd;
    pthread_mutex_unlock(&g->mailer->lock);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *ctx, curl_socket_t fd)
{
    struct mailing *g = ctx;
    pthread_mutex_lock(&g->mailer->lock);
    g->fd = g->fd == fd ? -1 : g->fd;
    int r = close(fd);
    pthread_mutex_unlock(&g->mailer->lock);
    return r;
}

static int on_progress(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    const struct mailing *g = ctx;
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return atomic_load(&g->must_stop);
}

static void *run(void *arg)
{
    struct mailing *g = arg;
    process_name_thread("mail");
    CURLcode code = curl_easy_perform(g->easy);
    smtp_end(g->mail, g->easy, code);
    curl_easy_reset(g->easy); /* forgets the transfer, which may go before the connection does */
    pthread_mutex_lock(&g->mailer->lock);
    g->is_done = true;
    g->t_done = clock_mono();
    pthread_mutex_unlock(&g->mailer->lock);
    g->mailer->on_waiting(g->mailer->ctx);
    curl_easy_cleanup(g->easy); /* QUIT, and its answer */
    pthread_mutex_lock(&g->mailer->lock);
    g->is_over = true;
    pthread_mutex_unlock(&g->mailer->lock);
    return NULL;
}

/* --- from outside --- */

/* Whatever waits for the connection fails: libcurl would wait for the answer to QUIT as long as for
 * any other. With the lock. */
static void break_off(struct mailing *g)
{
    if (g->fd >= 0)
        (void)shutdown(g->fd, SHUT_RDWR);
}

static void forget(struct mailing *g)
{
    pthread_join(g->thread, NULL);
    list_remove(&g->node);
    smtp_free(g->mail);
    mem_free(g);
}

struct mailer *mailer_free(struct mailer *m)
{
    if (!m)
        return NULL;
    pthread_mutex_lock(&m->lock);
    for (struct list *i = m->mailings.next; i != &m->mailings; i = i->next) {
        struct mailing *g = CONTAINER_OF(i, struct mailing, node);
        atomic_store(&g->must_stop, true);
        break_off(g);
    }
    pthread_mutex_unlock(&m->lock);
    while (!list_is_empty(&m->mailings))
        forget(CONTAINER_OF(m->mailings.next, struct mailing, node));
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
    return NULL;
}

static int set_up(struct mailing *g, CURL *easy)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, g);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, g);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    code = code ? code : curl_easy_setopt(easy, CURLOPT_XFERINFODATA, g);
    return code == CURLE_OK ? 0 : -ENOMEM;
}

int mailer_start(struct mailer *m, struct smtp *mail)
{
    struct mailing *g = mem_zalloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    list_init(&g->node);
    g->mailer = m;
    g->fd = -1;
    g->easy = mail->handle.easy;
    g->mail = mail;
    int r = set_up(g, mail->handle.easy);
    mail->handle.easy = r == 0 ? NULL : mail->handle.easy; /* the thread's */
    if (r == 0 && (r = process_start_thread(&g->thread, NULL, run, g)) < 0)
        mail->handle.easy = g->easy;
    if (r < 0) {
        mem_free(g);
        return r;
    }
    list_push_back(&m->mailings, &g->node);
    return 0;
}

struct smtp *mailer_take(struct mailer *m)
{
    struct smtp *ret = NULL;
    struct mailing *over = NULL;
    mono_t now = clock_mono();
    pthread_mutex_lock(&m->lock);
    for (struct list *i = m->mailings.next; i != &m->mailings; i = i->next) {
        struct mailing *g = CONTAINER_OF(i, struct mailing, node);
        if (!ret && g->is_done && g->mail) {
            ret = g->mail;
            g->mail = NULL;
        } else if (!over && g->is_over && !g->mail) {
            over = g;
        } else if (g->is_done && mono_diff(now, g->t_done) > QUIT_MS * NS_PER_MS) {
            break_off(g);
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (over)
        forget(over);
    return ret;
}
