/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls.c - contexts from files.
 *
 * OpenSSL's error queue of a thread is empty whenever none of our functions runs: who finds an
 * error there takes it out. So nothing has to be cleared before each call on the path of a byte.
 */
#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/tls_private.h"

static const unsigned char alpn_http11[] = "\x08http/1.1";
enum { ALPN_BYTES = sizeof(alpn_http11) - 1 };

struct tls_context {
    atomic_int refs;
    bool is_server;
    bool is_unverified;
    char *ca_file, *cert_file, *key_file;
    pthread_mutex_t lock; /* guards ssl_ctx against a reload */
    SSL_CTX *ssl_ctx;
};

/* What an SSL_CTX was made of never changes; so its number says whose certificates were checked
 * when a session began. */
static _Atomic uint64_t n_settings;

static uint64_t settings_of(const SSL *ssl)
{
    return (uint64_t)(uintptr_t)SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

/* --- files --- */

/* OpenSSL says "no such file" in many ways; we look first. */
static int file_check(const char *path, const char *what, struct err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        close(fd);
        return 0;
    }
    int r = -errno;
    err_set(reterr, r, "could not read %s file \"%s\": %s", what, path, err_str(r));
    if (r == -EACCES)
        err_hint(reterr, "let the user that this program runs as read it");
    else
        err_hint(reterr, "name a PEM file that exists");
    return r;
}

static int file_refused(const char *path, const char *what, const char *why, const char *hint,
                        struct err *reterr)
{
    ERR_clear_error();
    err_set(reterr, -EINVAL, "%s file \"%s\" %s", what, path, why);
    err_hint(reterr, "%s", hint);
    return -EINVAL;
}

static int trust_load(SSL_CTX *x, const char *ca_file, struct err *reterr)
{
    int r;

    if (!ca_file) {
        (void)SSL_CTX_set_default_verify_paths(x); /* an empty store shows at the first server */
        ERR_clear_error();
        return 0;
    }
    r = file_check(ca_file, "CA", reterr);
    if (r < 0)
        return r;
    if (SSL_CTX_load_verify_file(x, ca_file) != 1)
        return file_refused(ca_file, "CA", "has no certificate in it",
                            "it must have the issuers' certificates in PEM form", reterr);
    return 0;
}

/* An encrypted key must not make a server ask at its terminal. */
static int no_password(char *buf, int size, int is_writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)is_writing;
    (void)arg;
    return 0;
}

static int key_refused(const char *key, const char *cert, struct err *reterr)
{
    unsigned long e = ERR_peek_error();

    if (ERR_GET_LIB(e) == ERR_LIB_X509) {
        (void)file_refused(key, "key", "does not belong to the certificate", "", reterr);
        err_hint(reterr, "name the key that the certificate in \"%s\" was made for", cert);
        return -EINVAL;
    }
    if (ERR_GET_LIB(e) == ERR_LIB_OSSL_DECODER) /* nothing that looks like a key */
        return file_refused(key, "key", "has no private key in it",
                            "it must have the key in PEM form", reterr);
    return file_refused(key, "key", "could not be read",
                        "it must be in PEM form and not encrypted (openssl pkey -in IN -out OUT)",
                        reterr);
}

static int identity_load(SSL_CTX *x, const char *cert, const char *key, struct err *reterr)
{
    int r = file_check(cert, "certificate", reterr);

    if (!key)
        key = cert;
    if (r == 0)
        r = file_check(key, "key", reterr);
    if (r < 0)
        return r;
    SSL_CTX_set_default_passwd_cb(x, no_password);
    if (SSL_CTX_use_certificate_chain_file(x, cert) != 1)
        return file_refused(cert, "certificate", "has no certificate in it",
                            "it must have the certificate, then those of its issuers, in PEM form",
                            reterr);
    if (SSL_CTX_use_PrivateKey_file(x, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(x) != 1)
        return key_refused(key, cert, reterr);
    return 0;
}

/* --- contexts --- */

/* Servers: HTTP/1.1, or the handshake fails. Clients that offer nothing are fine. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                   const unsigned char *in, unsigned in_n, void *arg)
{
    unsigned char *chosen;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, out_n, alpn_http11, ALPN_BYTES, in, in_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void client_settings(SSL_CTX *x, bool is_unverified)
{
    (void)SSL_CTX_set_alpn_protos(x, alpn_http11, ALPN_BYTES);
    SSL_CTX_set_verify(x, is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    /* Sessions are kept by tls_peer. */
    (void)SSL_CTX_set_session_cache_mode(x,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(x, tls_link_on_session);
}

static void server_settings(SSL_CTX *x)
{
    SSL_CTX_set_alpn_select_cb(x, on_alpn, NULL);
    /* Clients keep their sessions themselves (tickets): no memory, no lock, and one is enough. */
    (void)SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(x, 1);
}

static int ssl_ctx_new(const struct tls_context *c, SSL_CTX **ret, struct err *reterr)
{
    SSL_CTX *x = SSL_CTX_new(c->is_server ? TLS_server_method() : TLS_client_method());
    int r = 0;

    if (!x) {
        ERR_clear_error();
        return err_set(reterr, -ENOMEM, "out of memory");
    }
    (void)SSL_CTX_set_app_data(x, (void *)(uintptr_t)atomic_fetch_add(&n_settings, 1));
    (void)SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(x, SSL_OP_NO_RENEGOTIATION);
    /* Buffers of quiet connections are given back: 34 KiB each. */
    (void)SSL_CTX_set_mode(x, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(x, 1);
    if (c->is_server)
        server_settings(x);
    else
        client_settings(x, c->is_unverified);
    if (!c->is_server && !c->is_unverified)
        r = trust_load(x, c->ca_file, reterr);
    if (r == 0 && c->cert_file)
        r = identity_load(x, c->cert_file, c->key_file, reterr);
    if (r < 0) {
        SSL_CTX_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

static bool text_keep(const char *text, char **ret)
{
    if (text)
        *ret = mem_strdup(text);
    return !text || *ret;
}

/* Fills c->ssl_ctx; takes c. */
static int context_finish(struct tls_context *c, bool has_names, struct tls_context **ret,
                          struct err *reterr)
{
    int r =
        has_names ? ssl_ctx_new(c, &c->ssl_ctx, reterr) : err_set(reterr, -ENOMEM, "out of memory");

    if (r < 0) {
        tls_context_unref(c);
        return r;
    }
    *ret = c;
    return 0;
}

static struct tls_context *context_alloc(bool is_server)
{
    struct tls_context *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return NULL;
    atomic_init(&c->refs, 1);
    c->is_server = is_server;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

int tls_client_new(const struct tls_client_config *config, struct tls_context **ret,
                   struct err *reterr)
{
    struct tls_context *c = context_alloc(false);
    bool has_names;

    if (!c)
        return err_set(reterr, -ENOMEM, "out of memory");
    c->is_unverified = config->is_unverified;
    has_names = text_keep(config->ca_file, &c->ca_file) &&
                text_keep(config->cert_file, &c->cert_file) &&
                text_keep(config->key_file, &c->key_file);
    if (c->is_unverified)
        LOG_WARN("certificates of servers are not checked: whoever is between can read and change "
                 "what is said");
    return context_finish(c, has_names, ret, reterr);
}

int tls_server_new(const struct tls_server_config *config, struct tls_context **ret,
                   struct err *reterr)
{
    struct tls_context *c = context_alloc(true);
    bool has_names;

    if (!c)
        return err_set(reterr, -ENOMEM, "out of memory");
    has_names =
        text_keep(config->cert_file, &c->cert_file) && text_keep(config->key_file, &c->key_file);
    return context_finish(c, has_names, ret, reterr);
}

int tls_context_reload(struct tls_context *c, struct err *reterr)
{
    SSL_CTX *fresh, *old;
    int r = ssl_ctx_new(c, &fresh, reterr);

    if (r < 0)
        return r;
    pthread_mutex_lock(&c->lock);
    old = c->ssl_ctx;
    c->ssl_ctx = fresh;
    pthread_mutex_unlock(&c->lock);
    SSL_CTX_free(old);
    return 0;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

struct tls_context *tls_context_unref(struct tls_context *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    SSL_CTX_free(c->ssl_ctx);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->ca_file);
    mem_free(c->cert_file);
    mem_free(c->key_file);
    mem_free(c);
    return NULL;
}

/* --- connections --- */

static SSL *ssl_new(struct tls_context *c)
{
    SSL *ssl;

    pthread_mutex_lock(&c->lock);
    ssl = SSL_new(c->ssl_ctx);
    pthread_mutex_unlock(&c->lock);
    return ssl;
}

SSL *tls_ssl_server(struct tls_context *context)
{
    SSL *ssl = ssl_new(context);

    if (ssl)
        SSL_set_accept_state(ssl);
    else
        ERR_clear_error();
    return ssl;
}

static bool peer_name_set(struct tls_peer *p, SSL *ssl)
{
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (p->_is_ip)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), p->_name) == 1;
    return SSL_set_tlsext_host_name(ssl, p->_name) == 1 && SSL_set1_host(ssl, p->_name) == 1;
}

SSL *tls_ssl_client(struct tls_peer *peer)
{
    SSL *ssl = ssl_new(peer->_context);

    if (ssl && !peer_name_set(peer, ssl)) {
        SSL_free(ssl);
        ssl = NULL;
    }
    if (!ssl) {
        ERR_clear_error();
        return NULL;
    }
    SSL_set_connect_state(ssl);
    if (peer->_session && peer->_session_of == settings_of(ssl) &&
        SSL_set_session(ssl, peer->_session) != 1)
        ERR_clear_error(); /* a whole handshake, then */
    return ssl;
}

void tls_peer_init(struct tls_peer *p, struct tls_context *context, const char *name)
{
    struct addr a;

    *p = (struct tls_peer){._context = tls_context_ref(context)};
    span_copy(span_cstr(name), p->_name, sizeof(p->_name));
    p->_is_ip = addr_from_ip(span_cstr(name), 0, &a);
}

void tls_peer_set_context(struct tls_peer *p, struct tls_context *context)
{
    struct tls_context *old = p->_context;

    p->_context = tls_context_ref(context);
    tls_context_unref(old);
}

void tls_peer_done(struct tls_peer *p)
{
    SSL_SESSION_free(p->_session);
    p->_session = NULL;
    p->_context = tls_context_unref(p->_context);
}

bool tls_peer_remember(struct tls_peer *p, const SSL *ssl, SSL_SESSION *session)
{
    if (SSL_SESSION_is_resumable(session) != 1)
        return false;
    SSL_SESSION_free(p->_session);
    p->_session = session;
    p->_session_of = settings_of(ssl);
    return true;
}
