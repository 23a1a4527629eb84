/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls_private.h - private to io/: what OpenSSL calls a context, and why it said no.
 */
#ifndef IO_TLS_PRIVATE_H
#define IO_TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "io/tls.h"

/* A connection of that context, SSL_set_app_data(ssl, link). NULL: out of memory. */
SSL *tls_ssl_client(struct tls_peer *peer);
SSL *tls_ssl_server(struct tls_context *context);

/* A new session came on a connection; true: kept. */
bool tls_peer_remember(struct tls_peer *p, const SSL *ssl, SSL_SESSION *session);

/* tls_link.c: SSL_CTX_sess_set_new_cb. */
int tls_link_on_session(SSL *ssl, SSL_SESSION *session);

/* tls_errors.c: why a handshake or a record failed, from OpenSSL's error queue, as the end of a
 * sentence about the peer ("its certificate has expired"). Static text. */
const char *tls_error_text(const SSL *ssl);

#endif
