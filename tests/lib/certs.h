/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certs.h - certificates and keys made for one test, and files of them.
 *
 *   struct cert ca, leaf;
 *   cert_make(&ca, NULL, NULL, 0, 1);                       self-signed, an issuer
 *   cert_make(&leaf, &ca, "DNS:localhost,IP:127.0.0.1", 0, 1);
 *   cert_write(&leaf, dir, "leaf");                         DIR/leaf.pem, DIR/leaf.key
 *
 * For tests of modules that io is below of (they link OpenSSL).
 */
#ifndef CERTS_H
#define CERTS_H

#include "harness.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

struct cert {
    EVP_PKEY *key;
    X509 *x;
};

static inline void cert_extend(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

/* names: of the subject; NULL: an issuer of certificates. Valid from_days to to_days from now. */
static inline void cert_make(struct cert *c, const struct cert *issuer, const char *names,
                             int from_days, int to_days)
{
    static long serial = 1;
    char cn[32];
    X509_NAME *name;
    c->key = EVP_EC_gen("P-256");
    c->x = X509_new();
    assert_non_null(c->key);
    assert_non_null(c->x);
    assert_int_equal(X509_set_version(c->x, 2), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(c->x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(c->x), from_days * 86400L - 60);
    X509_gmtime_adj(X509_getm_notAfter(c->x), to_days * 86400L - 30);
    assert_int_equal(X509_set_pubkey(c->x, c->key), 1);
    name = X509_get_subject_name(c->x);
    (void)snprintf(cn, sizeof(cn), "test %ld", serial);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    assert_int_equal(X509_set_issuer_name(c->x, issuer ? X509_get_subject_name(issuer->x) : name),
                     1);
    if (names)
        cert_extend(c->x, NID_subject_alt_name, names);
    else
        cert_extend(c->x, NID_basic_constraints, "critical,CA:TRUE");
    assert_true(X509_sign(c->x, issuer ? issuer->key : c->key, EVP_sha256()) > 0);
}

static inline void cert_done(struct cert *c)
{
    X509_free(c->x);
    EVP_PKEY_free(c->key);
    *c = (struct cert){0};
}

static inline FILE *cert_file(const char *dir, const char *name, const char *suffix)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

static inline void cert_write(const struct cert *c, const char *dir, const char *name)
{
    FILE *f = cert_file(dir, name, ".pem");
    assert_int_equal(PEM_write_X509(f, c->x), 1);
    assert_int_equal(fclose(f), 0);
    f = cert_file(dir, name, ".key");
    assert_int_equal(PEM_write_PrivateKey(f, c->key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(f), 0);
}

static inline void cert_unlink(const char *dir, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s.pem", dir, name);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/%s.key", dir, name);
    (void)unlink(path);
}

#endif
