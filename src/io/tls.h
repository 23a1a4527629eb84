/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls.h - whom to trust and who we are: TLS contexts, and what a client remembers of a server.
 *
 * Role:      made from files when the configuration is read, used by sock_start_tls (io/sock.h).
 * Protocol:  TLS 1.2 and 1.3, ALPN "http/1.1", no renegotiation.
 * Clients:   check the server's certificate against the system's trusted issuers or a file, and its
 *            name or address against the one that was asked for; resume sessions.
 * Errors:    -EINVAL, -ENOENT and other errno, with the file and a hint; -ENOMEM.
 * Threading: a tls_context may be used by any number of threads; a tls_peer belongs to one.
 */
#ifndef IO_TLS_H
#define IO_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "io/addr.h"

struct tls_context;

struct tls_client_config {
    const char *ca_file;   /* PEM, the trusted issuers; NULL: the system's */
    const char *cert_file; /* PEM, our certificate and those that lead to its issuer; NULL: none */
    const char *key_file;  /* PEM, not encrypted; NULL: it is in cert_file */
    bool is_unverified;    /* any certificate will do; logged */
};

struct tls_server_config {
    const char *cert_file; /* as above */
    const char *key_file;
};

/* Reads the files. One reference. */
int tls_client_new(const struct tls_client_config *config, struct tls_context **ret,
                   struct err *reterr) WARN_UNUSED;
int tls_server_new(const struct tls_server_config *config, struct tls_context **ret,
                   struct err *reterr) WARN_UNUSED;

/* Reads the files again, for connections from now on. On error everything stays as it was. */
int tls_context_reload(struct tls_context *c, struct err *reterr) WARN_UNUSED;

struct tls_context *tls_context_ref(struct tls_context *c);
struct tls_context *tls_context_unref(struct tls_context *c); /* NULL is allowed; returns NULL */

/* --- a server, as its clients know it --- */
struct tls_peer {
    struct tls_context *_context;
    char _name[ADDR_HOST_MAX];
    bool _is_ip;
    struct ssl_session_st *_session; /* the latest one; the next handshake is shorter with it */
    uint64_t _session_of;            /* the settings that it was made with */
};

/* name: DNS name or IP literal that the certificate must be for; a name is also sent (SNI). Takes a
 * reference. */
void tls_peer_init(struct tls_peer *p, struct tls_context *context, const char *name);
/* Handshakes from now on go by that context. */
void tls_peer_set_context(struct tls_peer *p, struct tls_context *context);
/* After the last socket that was started with it. Idempotent; a zeroed one is fine, too. */
void tls_peer_done(struct tls_peer *p);

#endif
