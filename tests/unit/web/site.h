/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.h - a web server that answers by a table and notes what it was asked, and a client of it.
 *
 *   struct site s; site_start(&s, NULL);
 *   site_answer(&s, "/page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
 *   struct got g; fetch(&g, &(struct web_request){.url = site_url(&s, "127.0.0.1", "/page")});
 *   site_stop(&s);
 *
 * A thread for each connection, on 127.0.0.1. Nothing of it is from base/mem.h, so that allocations
 * that fail are the client's.
 */
#ifndef SITE_H
#define SITE_H

#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "peer.h"
#include "web/web.h"

enum { SITE_ANSWERS_MAX = 24, SITE_CONNECTIONS_MAX = 128, SITE_SEEN_MAX = 1 << 18 };

struct site_answer {
    const char *path; /* "*": any other */
    char *p;
    size_t n;
    int delay_ms;
    bool hangs;   /* then, until the client goes; else the connection ends */
    bool is_kept; /* waits for the next request */
};
struct site {
    SSL_CTX *tls;         /* NULL: none */
    const char *greeting; /* said before anything was asked, or NULL */
    uint16_t port;
    int listen_fd;
    struct site_answer answers[SITE_ANSWERS_MAX];
    size_t n_answers;
    pthread_t acceptor;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t ended;
    int fds[SITE_CONNECTIONS_MAX]; /* of those that are open; else 0 */
    int n_connections, n_open;
    char seen[SITE_SEEN_MAX]; /* requests, one after another */
    size_t n_seen;
};
struct site_connection {
    struct site *site;
    SSL *ssl;
    int fd;
};

static inline void site_note(struct site *s, const char *p, size_t n)
{
    pthread_mutex_lock(&s->lock);
    if (n < sizeof(s->seen) - s->n_seen) {
        memcpy(s->seen + s->n_seen, p, n);
        s->n_seen += n;
        s->seen[s->n_seen] = '\0';
    }
    pthread_mutex_unlock(&s->lock);
}

static inline int site_read(struct site_connection *c, char *p, size_t n)
{
    return c->ssl ? SSL_read(c->ssl, p, (int)n) : (int)recv(c->fd, p, n, 0);
}

static inline bool site_write(struct site_connection *c, const char *p, size_t n)
{
    while (n > 0) {
        int r = c->ssl ? SSL_write(c->ssl, p, (int)n) : (int)send(c->fd, p, n, MSG_NOSIGNAL);
        if (r <= 0)
            return false;
        p += r;
        n -= (size_t)r;
    }
    return true;
}

/* A request into p, noted; false: the client went. */
static inline bool site_request(struct site_connection *c, char *p, size_t size)
{
    size_t n = 0, want = SIZE_MAX;
    while (n < want && n + 1 < size) {
        int r = site_read(c, p + n, size - 1 - n);
        if (r <= 0)
            return false;
        n += (size_t)r;
        p[n] = '\0';
        char *end = strstr(p, "\r\n\r\n"), *length = strcasestr(p, "\r\nContent-Length:");
        if (end && want == SIZE_MAX)
            want = (size_t)(end + 4 - p) + (length ? strtoul(length + 17, NULL, 10) : 0);
    }
    site_note(c->site, p, n);
    return true;
}

static inline const struct site_answer *site_find(const struct site *s, char *request)
{
    char *target = strchr(request, ' '), *end = target ? strchr(target + 1, ' ') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    for (size_t i = 0; i < s->n_answers; i++)
        if (strcmp(s->answers[i].path, "*") == 0 || strcmp(s->answers[i].path, target + 1) == 0)
            return &s->answers[i];
    return NULL;
}

static inline bool site_serve_one(struct site_connection *c)
{
    char request[1 << 15];
    if (!site_request(c, request, sizeof(request)))
        return false;
    const struct site_answer *a = site_find(c->site, request);
    if (!a)
        return false;
    if (a->delay_ms > 0)
        (void)poll(NULL, 0, a->delay_ms);
    if (!site_write(c, a->p, a->n))
        return false;
    while (a->hangs && site_read(c, request, sizeof(request)) > 0)
        ;
    return a->is_kept;
}

static inline void site_greet(struct site_connection *c)
{
    char line[200];
    X509 *x = SSL_get_peer_certificate(c->ssl);
    const char *name = SSL_get_servername(c->ssl, TLSEXT_NAMETYPE_host_name);
    int n = snprintf(line, sizeof(line), "SNI: %s\r\nCertificate: %s\r\n", name ? name : "none",
                     x ? "yes" : "no");
    X509_free(x);
    site_note(c->site, line, (size_t)n);
}

/* Instead of was, which is in there. */
static inline void site_slot(struct site *s, int was, int is)
{
    size_t i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < SITE_CONNECTIONS_MAX && s->fds[i] != was)
        i++;
    if (i == SITE_CONNECTIONS_MAX)
        abort();
    s->fds[i] = is;
    if (is == 0)
        (void)close(was); /* here: from now on the number may be another's */
    s->n_connections += is != 0;
    s->n_open += is != 0 ? 1 : -1;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
}

static inline void *site_serve(void *arg)
{
    struct site_connection *c = arg;
    struct site *s = c->site;
    bool is_ready = true;
    if (s->tls) {
        c->ssl = SSL_new(s->tls);
        is_ready = c->ssl && SSL_set_fd(c->ssl, c->fd) == 1 && SSL_accept(c->ssl) == 1;
        if (is_ready)
            site_greet(c);
    }
    if (s->greeting)
        (void)site_write(c, s->greeting, strlen(s->greeting));
    while (is_ready && site_serve_one(c))
        ;
    if (is_ready && c->ssl)
        (void)SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    int fd = c->fd;
    free(c);
    site_slot(s, fd, 0);
    return NULL;
}

static inline void *site_accept(void *arg)
{
    struct site *s = arg;
    int fd;
    while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0) {
        pthread_t thread;
        struct site_connection *c = calloc(1, sizeof(*c));
        if (!c)
            abort();
        *c = (struct site_connection){.site = s, .fd = fd};
        site_slot(s, 0, fd);
        if (pthread_create(&thread, NULL, site_serve, c) != 0 || pthread_detach(thread) != 0)
            abort();
    }
    return NULL;
}

static inline void site_start(struct site *s, SSL_CTX *tls)
{
    memset(s, 0, sizeof(*s));
    s->tls = tls;
    (void)signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    s->listen_fd = peer_listen(&s->port);
    (void)fcntl(s->listen_fd, F_SETFL, fcntl(s->listen_fd, F_GETFL) & ~O_NONBLOCK);
    assert_int_equal(pthread_create(&s->acceptor, NULL, site_accept, s), 0);
}

static inline void site_stop(struct site *s)
{
    (void)shutdown(s->listen_fd, SHUT_RDWR);
    (void)pthread_join(s->acceptor, NULL);
    (void)close(s->listen_fd);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SITE_CONNECTIONS_MAX; i++)
        if (s->fds[i] > 0)
            (void)shutdown(s->fds[i], SHUT_RDWR);
    while (s->n_open > 0)
        pthread_cond_wait(&s->ended, &s->lock);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < s->n_answers; i++)
        free(s->answers[i].p);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
}

/* Before the first request. */
static inline struct site_answer *site_bytes(struct site *s, const char *path, const char *head,
                                             struct span body)
{
    struct site_answer *a = &s->answers[s->n_answers++];
    assert_true(s->n_answers <= SITE_ANSWERS_MAX);
    size_t n = strlen(head);
    *a = (struct site_answer){.path = path, .p = malloc(n + body.n + 1), .n = n + body.n};
    assert_non_null(a->p);
    memcpy(a->p, head, n);
    if (body.n > 0)
        memcpy(a->p + n, body.p, body.n);
    return a;
}

static inline struct site_answer *site_answer(struct site *s, const char *path, const char *text)
{
    return site_bytes(s, path, text, SPAN(""));
}

/* path sends on to location. */
static inline struct site_answer *site_redirect(struct site *s, const char *path, int status,
                                                const char *location)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nContent-Length: 4\r\n\r\ngone", status,
                   location);
    return site_answer(s, path, text);
}

/* In one of eight turns of a static buffer; not a URL of TLS. */
static inline struct span site_at(const char *scheme, const char *host, uint16_t port,
                                  const char *path)
{
    static char urls[8][256];
    static size_t turn;
    char *url = urls[turn++ % 8];
    (void)snprintf(url, sizeof(urls[0]), "%s://%s:%u%s", scheme, host, port, path);
    return span_cstr(url);
}

static inline struct span site_url(const struct site *s, const char *host, const char *path)
{
    return site_at(s->tls ? "https" : "http", host, s->port, path);
}

/* How often it was asked something that has text in it. */
static inline int site_saw(struct site *s, const char *text)
{
    int n = 0;
    pthread_mutex_lock(&s->lock);
    for (const char *p = s->seen; (p = strstr(p, text)); p += strlen(text))
        n++;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static inline int site_connections(struct site *s)
{
    pthread_mutex_lock(&s->lock);
    int n = s->n_connections;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* --- the client --- */

struct got {
    int n;                  /* times that done was called */
    struct web_reply reply; /* with texts of its own: */
    char words[512], body[1 << 17], type[128], to[512];
};

static inline void on_done(void *ctx, void *tag, const struct web_reply *r)
{
    struct got *g = tag;
    (void)ctx;
    g->n++;
    g->reply = *r;
    g->reply.words = span_of(g->words, span_copy(r->words, g->words, sizeof(g->words)));
    g->reply.body = span_of(g->body, span_copy(r->body, g->body, sizeof(g->body)));
    g->reply.content_type = span_of(g->type, span_copy(r->content_type, g->type, sizeof(g->type)));
    g->reply.redirected_to = span_of(g->to, span_copy(r->redirected_to, g->to, sizeof(g->to)));
}

/* Until nothing is under way. */
static inline void turn_all(struct web *w)
{
    int64_t end = peer_now_ms() + 20000;
    while (web_n(w) > 0) {
        web_turn(w, 100);
        assert_true(peer_now_ms() < end);
    }
}

static inline void fetch_with(struct web *w, struct got *g, const struct web_request *r)
{
    g->n = 0;
    assert_int_equal(web_start(w, r, on_done, NULL, g), 0);
    turn_all(w);
    assert_int_equal(g->n, 1);
}

static inline void fetch(struct got *g, const struct web_request *r)
{
    struct web *w;
    assert_int_equal(web_new(&w), 0);
    fetch_with(w, g, r);
    web_free(w);
}

#endif
