/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "certs.h"
#include "io/tls_private.h"
#include "memfail.h"

static char dir[64];
static struct cert ca, leaf, other;

/* DIR/name; a few may be in use at once. */
static const char *at(const char *name)
{
    static char paths[4][128];
    static int i;

    i = (i + 1) % 4;
    (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
    return paths[i];
}

static void put(const char *name, const char *text)
{
    FILE *f = cert_file(dir, name, "");

    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void test_refused_files(void **state)
{
    static const struct {
        const char *ca, *cert, *key; /* "" : not given */
        int error;
        const char *text, *hint;
    } table[] = {
        {"nothing.pem", "", "", -ENOENT, "could not read CA file", "PEM file"},
        {"leaf.key", "", "", -EINVAL, "has no certificate", "issuers"},
        {"", "nothing.pem", "", -ENOENT, "could not read certificate file", "PEM file"},
        {"", "leaf.pem", "nothing.key", -ENOENT, "could not read key file", "PEM file"},
        {"", "leaf.key", "leaf.key", -EINVAL, "has no certificate", "certificate, then"},
        {"", "leaf.pem", "leaf.pem", -EINVAL, "has no private key", "PEM form"},
        {"", "leaf.pem", "", -EINVAL, "has no private key", "PEM form"},
        {"", "leaf.pem", "other.key", -EINVAL, "does not belong", "leaf.pem"},
        {"", "leaf.pem", "locked.key", -EINVAL, "could not be read", "not encrypted"},
        {"", "leaf.pem", "garbage", -EINVAL, "has no private key", "PEM form"},
    };
    FILE *f = cert_file(dir, "locked", ".key");
    (void)state;
    assert_int_equal(PEM_write_PrivateKey(f, leaf.key, EVP_aes_128_cbc(),
                                          (unsigned char *)(uintptr_t) "word", 4, NULL, NULL),
                     1);
    assert_int_equal(fclose(f), 0);
    put("garbage", "no key at all\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct tls_client_config c = {
            .ca_file = table[i].ca[0] ? at(table[i].ca) : NULL,
            .cert_file = table[i].cert[0] ? at(table[i].cert) : NULL,
            .key_file = table[i].key[0] ? at(table[i].key) : NULL,
        };
        struct tls_context *t = NULL;
        struct err e = {0};

        assert_row(table[i].text, tls_client_new(&c, &t, &e) == table[i].error);
        assert_row(table[i].text, t == NULL);
        assert_row(table[i].text, strstr(e.text, table[i].text) != NULL);
        assert_row(e.hint, strstr(e.hint, table[i].hint) != NULL);
        assert_row(e.text, strstr(e.text, dir) != NULL); /* the file is named */
        assert_int_equal(ERR_peek_error(), 0);
    }
    (void)unlink(at("locked.key"));
    (void)unlink(at("garbage"));
}

static void test_unreadable(void **state)
{
    struct tls_server_config c = {.cert_file = at("leaf.pem"), .key_file = at("leaf.key")};
    struct tls_context *t = NULL;
    struct err e = {0};
    (void)state;
    if (geteuid() == 0) /* reads everything */
        skip();
    assert_int_equal(chmod(c.key_file, 0), 0);
    assert_int_equal(tls_server_new(&c, &t, &e), -EACCES);
    assert_non_null(strstr(e.hint, "user"));
}

static void test_reload(void **state)
{
    struct tls_server_config c = {.cert_file = at("s.pem"), .key_file = at("s.key")};
    struct tls_context *t = NULL;
    struct err e = {0};
    SSL *before, *after;
    (void)state;
    cert_write(&leaf, dir, "s");
    assert_int_equal(tls_server_new(&c, &t, &e), 0);
    before = tls_ssl_server(t);
    cert_write(&other, dir, "s");
    assert_int_equal(tls_context_reload(t, &e), 0);
    after = tls_ssl_server(t);
    assert_int_equal(X509_cmp(SSL_get_certificate(before), leaf.x), 0);
    assert_int_equal(X509_cmp(SSL_get_certificate(after), other.x), 0);
    SSL_free(before);
    SSL_free(after);
    cert_unlink(dir, "s");
    assert_int_equal(tls_context_reload(t, &e), -ENOENT);
    after = tls_ssl_server(t); /* as it was */
    assert_int_equal(X509_cmp(SSL_get_certificate(after), other.x), 0);
    SSL_free(after);
    assert_null(tls_context_unref(t));
}

static int attempt_client(void *ctx)
{
    struct tls_client_config c = {
        .ca_file = at("ca.pem"), .cert_file = at("leaf.pem"), .key_file = at("leaf.key")};
    struct tls_context *t = ctx;
    int r = tls_client_new(&c, &t, NULL);

    if (r == 0)
        tls_context_unref(t);
    else
        assert_ptr_equal(t, ctx);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt_client, NULL), 4);
}

/* --- threads --- */

enum { N_THREADS = 4, N_ROUNDS = 50 };

static void *use(void *arg)
{
    struct tls_context *t = arg;

    for (int i = 0; i < N_ROUNDS; i++) {
        struct tls_peer p;
        SSL *ssl;

        tls_peer_init(&p, t, "localhost");
        ssl = tls_ssl_client(&p);
        assert_non_null(ssl);
        SSL_free(ssl);
        tls_peer_done(&p);
    }
    tls_context_unref(t);
    return NULL;
}

static void test_threads(void **state)
{
    struct tls_client_config c = {.ca_file = at("ca.pem")};
    struct tls_context *t = NULL;
    pthread_t threads[N_THREADS];
    (void)state;
    assert_int_equal(tls_client_new(&c, &t, NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, tls_context_ref(t)), 0);
    for (int i = 0; i < N_ROUNDS; i++)
        assert_int_equal(tls_context_reload(t, NULL), 0);
    tls_context_unref(t);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_peer_zeroed(void **state)
{
    struct tls_peer p = {0};
    (void)state;
    tls_peer_done(&p);
    tls_peer_done(&p);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/inferometer-tls-XXXXXX");
    assert_non_null(mkdtemp(dir));
    cert_make(&ca, NULL, NULL, 0, 1);
    cert_make(&leaf, &ca, "DNS:localhost", 0, 1);
    cert_make(&other, &ca, "DNS:localhost", 0, 1);
    cert_write(&ca, dir, "ca");
    cert_write(&leaf, dir, "leaf");
    cert_write(&other, dir, "other");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cert_unlink(dir, "ca");
    cert_unlink(dir, "leaf");
    cert_unlink(dir, "other");
    cert_done(&ca);
    cert_done(&leaf);
    cert_done(&other);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_files), cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_reload),        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_peer_zeroed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
