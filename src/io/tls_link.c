/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls_link.c - OpenSSL between a socket and its descriptor.
 *
 * Reading ahead: one recvmsg fills OpenSSL's buffer, be it with a part of a record or with several.
 * Records that are whole after it are taken out before the next one, so all bytes of a delivery
 * came with the stamp that goes with it. A read that filled the room it had may have left something
 * in the kernel, where no edge will tell: tls_link_has_more.
 */
#include "io/tls_link.h"

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <time.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "io/fd.h"
#include "io/tls_private.h"

struct tls_link {
    struct sock *sock;
    SSL *ssl;
    struct tls_peer *peer; /* client: takes new sessions; NULL: server */
    size_t n_out;          /* encrypted bytes in the loop's write buffer, during one call */
    struct stamp at;       /* of the last kernel read */
    int error;             /* of a system call, or of the queue */
    int end;               /* as is_ended says: 0 or an error */
    bool is_ended;         /* nothing more can be read */
    bool is_ready;         /* handshake done */
    bool may_read;         /* from the kernel: not while records are left from the read before */
    bool is_drained;       /* the last read found the kernel empty */
    bool has_fin;          /* the peer's FIN was seen */
    bool has_rest;         /* decryption stopped because the room was full */
    bool is_broken;        /* by OpenSSL's own account: it must not be used any more */
};

/* --- the way to the kernel --- */

static int out_flush(struct tls_link *t, mono_t *ret_before)
{
    struct iovec iov = {.iov_base = loop_write_buffer(t->sock->_loop), .iov_len = t->n_out};

    t->n_out = 0;
    return iov.iov_len > 0 ? sock_put(t->sock, &iov, 1, ret_before) : 0;
}

/* Takes everything; sending is out_flush's. */
static int bio_write(BIO *b, const char *p, int n)
{
    struct tls_link *t = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    if (n <= 0 || NEVER((size_t)n > LIMIT_WRITE_BYTES))
        return -1;
    if (t->n_out + (size_t)n > LIMIT_WRITE_BYTES) {
        int r = out_flush(t, NULL);
        if (r < 0) {
            t->error = r;
            return -1;
        }
    }
    memcpy(loop_write_buffer(t->sock->_loop) + t->n_out, p, (size_t)n);
    t->n_out += (size_t)n;
    return n;
}

/* A FIN is not told: OpenSSL would take it for an attack and the session for a bad one, and many
 * servers end that way. link_failure knows better. */
static int bio_read(BIO *b, char *dst, int cap)
{
    struct tls_link *t = BIO_get_data(b);
    struct sock *s = t->sock;
    int64_t real_ns;
    ssize_t n;

    BIO_clear_retry_flags(b);
    if (cap > 0 && t->may_read && !t->has_fin) {
        n = fd_read(s->_watch.fd, dst, (size_t)cap, &real_ns);
        if (n > 0) {
            t->at = stamp_map(loop_stamps(s->_loop), real_ns, s->_last_stamp, clock_mono());
            s->_last_stamp = t->at.at;
            t->is_drained = n < cap;
            return (int)n;
        }
        t->is_drained = true;
        t->has_fin = n == 0;
        if (n < 0 && errno != EAGAIN) {
            t->error = -errno;
            return -1;
        }
    }
    BIO_set_retry_read(b);
    return -1;
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
    (void)b;
    (void)n;
    (void)p;
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method;

static void bio_method_make(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket with stamps");

    if (m && (BIO_meth_set_read(m, bio_read) != 1 || BIO_meth_set_write(m, bio_write) != 1 ||
              BIO_meth_set_ctrl(m, bio_ctrl) != 1)) {
        BIO_meth_free(m);
        m = NULL;
    }
    bio_method = m;
}

static BIO *bio_new(struct tls_link *t)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    BIO *b;

    pthread_once(&once, bio_method_make);
    b = bio_method ? BIO_new(bio_method) : NULL;
    if (b) {
        BIO_set_data(b, t);
        BIO_set_init(b, 1);
    }
    return b;
}

/* --- life --- */

int tls_link_new(struct sock *s, struct tls_peer *peer, struct tls_context *context,
                 struct tls_link **ret)
{
    struct tls_link *t = mem_zalloc(1, sizeof(*t));
    BIO *b;

    if (!t)
        return -ENOMEM;
    t->sock = s;
    t->peer = peer;
    t->may_read = true;
    t->ssl = peer ? tls_ssl_client(peer) : tls_ssl_server(context);
    b = t->ssl ? bio_new(t) : NULL;
    if (!b) {
        SSL_free(t->ssl);
        mem_free(t);
        ERR_clear_error();
        return -ENOMEM;
    }
    SSL_set_bio(t->ssl, b, b);
    (void)SSL_set_app_data(t->ssl, t); /* that slot is always there */
    *ret = t;
    return 0;
}

void tls_link_shutdown(struct tls_link *t)
{
    if (!t->is_ready || t->is_broken || (SSL_get_shutdown(t->ssl) & SSL_SENT_SHUTDOWN))
        return;
    if (SSL_shutdown(t->ssl) < 0)
        ERR_clear_error();
    (void)out_flush(t, NULL); /* the connection's own error is told by reading */
}

void tls_link_free(struct tls_link *t, bool with_goodbye)
{
    if (!t)
        return;
    if (with_goodbye)
        tls_link_shutdown(t);
    /* Else OpenSSL takes the session for a bad one; a fatal alert has seen to that before. */
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    mem_free(t);
}

int tls_link_on_session(SSL *ssl, SSL_SESSION *session)
{
    const struct tls_link *t = SSL_get_app_data(ssl);

    return t && t->peer && tls_peer_remember(t->peer, ssl, session);
}

/* --- what OpenSSL said --- */

static const char handshake_cut[] = "it closed the connection during the handshake";

/* A call returned r <= 0: 0 (regular end), -EAGAIN, or what went wrong. */
static int link_failure(struct tls_link *t, int r)
{
    int why = SSL_get_error(t->ssl, r);

    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (why == SSL_ERROR_WANT_READ && !t->has_fin)
        return -EAGAIN;
    t->is_broken = true;
    if (why == SSL_ERROR_WANT_READ) {
        if (!t->is_ready)
            t->sock->_tls_error = handshake_cut;
        return -ECONNRESET;
    }
    if (t->error < 0) { /* a system call's */
        ERR_clear_error();
        return t->error;
    }
    t->sock->_tls_error = tls_error_text(t->ssl);
    ERR_clear_error();
    return t->is_ready ? -ECONNABORTED : -EPROTO;
}

int tls_link_handshake(struct tls_link *t)
{
    int r = SSL_do_handshake(t->ssl);
    int failure = r == 1 ? 0 : link_failure(t, r);
    int flushed = out_flush(t, NULL);

    if (r == 1) {
        t->is_ready = true;
        return flushed;
    }
    if (failure == 0) /* close_notify in the middle of it */
        t->sock->_tls_error = handshake_cut;
    return failure == 0 ? -ECONNRESET : failure;
}

bool tls_link_is_ready(const struct tls_link *t)
{
    return t->is_ready;
}

static bool time_of(const ASN1_TIME *t, int64_t *ret_s)
{
    struct tm tm;

    if (!t || ASN1_TIME_to_tm(t, &tm) != 1)
        return false;
    *ret_s = (int64_t)timegm(&tm);
    return true;
}

bool tls_link_validity(const struct tls_link *t, int64_t *ret_from_s, int64_t *ret_until_s)
{
    const X509 *certificate = SSL_get0_peer_certificate(t->ssl);

    return certificate && time_of(X509_get0_notBefore(certificate), ret_from_s) &&
           time_of(X509_get0_notAfter(certificate), ret_until_s);
}

/* --- records in --- */

size_t tls_link_read(struct tls_link *t, char *dst, struct stamp *ret_at, int *ret_end)
{
    size_t n = 0, got;
    int r = 1;

    t->may_read = true;
    while (n < LIMIT_READ_BYTES && !t->is_ended) {
        r = SSL_read_ex(t->ssl, dst + n, LIMIT_READ_BYTES - n, &got);
        if (r != 1)
            break;
        n += got;
        t->may_read = false;
        if (!SSL_has_pending(t->ssl)) /* asking it for more would cost as much as a record */
            break;
    }
    t->has_rest = n == LIMIT_READ_BYTES;
    if (r != 1) {
        t->end = link_failure(t, r);
        t->is_ended = t->end != -EAGAIN;
    }
    (void)out_flush(t, NULL); /* answers of the protocol itself; an error is told by reading */
    *ret_at = t->at;
    if (n == 0)
        *ret_end = t->end;
    return n;
}

bool tls_link_has_more(const struct tls_link *t)
{
    return t->has_rest || t->is_ended || !t->is_drained;
}

/* --- records out --- */

static int link_encrypt(struct tls_link *t, const char *p, size_t n)
{
    size_t done;
    int r = SSL_write_ex(t->ssl, p, n, &done);

    if (r == 1)
        return 0;
    r = link_failure(t, r);
    if (r == 0 || r == -EAGAIN)
        r = -ECONNABORTED;
    t->n_out = 0;
    t->is_broken = true;
    if (r != -EMSGSIZE && r != -ENOMEM)
        sock_break(t->sock, r);
    return r;
}

int tls_link_send(struct tls_link *t, const struct iovec *iov, int n, mono_t *ret_before)
{
    char *stage = loop_stage_buffer(t->sock->_loop);
    size_t n_staged = 0;
    int r = t->is_ready && !t->is_broken ? 0 : -ENOTCONN;

    for (int i = 0; i < n && r == 0; i++) {
        const char *p = iov[i].iov_base;
        size_t left = iov[i].iov_len;

        while (left > 0 && r == 0) {
            bool is_direct = n_staged == 0 && left >= LIMIT_RECORD_BYTES;
            size_t room = LIMIT_RECORD_BYTES - n_staged;
            size_t take = left < room ? left : room;

            if (!is_direct)
                memcpy(stage + n_staged, p, take);
            n_staged += take;
            if (n_staged == LIMIT_RECORD_BYTES) {
                r = link_encrypt(t, is_direct ? p : stage, n_staged);
                n_staged = 0;
            }
            p += take;
            left -= take;
        }
    }
    if (r == 0 && n_staged > 0)
        r = link_encrypt(t, stage, n_staged);
    return r < 0 ? r : out_flush(t, ret_before);
}
