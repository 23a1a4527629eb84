/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.h - the other end of a TLS connection: OpenSSL over memory on top of a struct peer, so that a
 * test decides how many encrypted bytes go out at a time.
 *
 *   struct far f; far_init(&f, ctx, true, fd);
 *   PUMP(loop, far_step(&f), f.is_ready);
 *   far_write(&f, SPAN("hello"));
 *   far_done(&f);
 */
#ifndef FAR_H
#define FAR_H

#include "harness.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include "peer.h"

struct far {
    struct peer peer;
    SSL *ssl;
    size_t step_bytes;       /* encrypted bytes sent per step; 0: all */
    bool is_ready, is_ended; /* ended: close_notify came */
    bool is_deaf;            /* reads nothing */
    const char *error;       /* OpenSSL's reason, or NULL */
    char *p;                 /* decrypted */
    size_t n;
};

static inline void far_init(struct far *f, SSL_CTX *ctx, bool is_server, int fd)
{
    *f = (struct far){.ssl = SSL_new(ctx)};
    assert_non_null(f->ssl);
    peer_adopt(&f->peer, fd);
    SSL_set_bio(f->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (is_server)
        SSL_set_accept_state(f->ssl);
    else
        SSL_set_connect_state(f->ssl);
}

/* Encrypted bytes out to the socket. */
static inline void far_push(struct far *f)
{
    char *at;
    BIO *b = SSL_get_wbio(f->ssl);
    size_t n = (size_t)BIO_get_mem_data(b, &at);
    if (f->step_bytes > 0 && n > f->step_bytes)
        n = f->step_bytes;
    if (n == 0 || f->peer.fd < 0 || f->peer.error != 0)
        return;
    n = peer_write(&f->peer, span_of(at, n));
    char drop[4096];
    while (n > 0)
        n -= (size_t)BIO_read(b, drop, (int)(n < sizeof(drop) ? n : sizeof(drop)));
}

static inline void far_failed(struct far *f, int r)
{
    int why = SSL_get_error(f->ssl, r);
    if (why == SSL_ERROR_ZERO_RETURN)
        f->is_ended = true;
    else if (why == SSL_ERROR_SSL && !f->error)
        f->error = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
}

static inline void far_step(struct far *f)
{
    char block[16384];
    int r;
    if (!f->is_deaf) {
        peer_read(&f->peer);
        if (f->peer.n > 0)
            assert_int_equal(BIO_write(SSL_get_rbio(f->ssl), f->peer.p, (int)f->peer.n), f->peer.n);
        peer_forget(&f->peer);
        if (!f->is_ready && !f->error) {
            r = SSL_do_handshake(f->ssl);
            f->is_ready = r == 1;
            if (r != 1)
                far_failed(f, r);
        }
        while (f->is_ready && !f->error && !f->is_ended) {
            r = SSL_read(f->ssl, block, sizeof(block));
            if (r <= 0) {
                far_failed(f, r);
                break;
            }
            f->p = realloc(f->p, f->n + (size_t)r + 1);
            assert_non_null(f->p);
            memcpy(f->p + f->n, block, (size_t)r);
            f->n += (size_t)r;
            f->p[f->n] = '\0';
        }
    }
    far_push(f);
}

static inline void far_write(struct far *f, struct span s)
{
    assert_int_equal(SSL_write(f->ssl, s.p, (int)s.n), s.n);
}

static inline void far_goodbye(struct far *f)
{
    (void)SSL_shutdown(f->ssl);
    far_push(f);
}

static inline bool far_has(const struct far *f, const char *text)
{
    return f->p && strstr(f->p, text);
}

static inline void far_done(struct far *f)
{
    if (f->ssl)
        SSL_free(f->ssl);
    free(f->p);
    peer_done(&f->peer);
    *f = (struct far){.peer = {.fd = -1}};
}

#endif
