/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests over TLS: who is believed, by which name, and who is told who we are.
 * test-links: ssl crypto
 */
#include "site.h"

#include "base/num.h"
#include "certs.h"
#include "tempdir.h"

static struct tempdir dir;
static struct cert ca;
static struct got got;

static int accept_any(int is_ok, X509_STORE_CTX *x)
{
    (void)is_ok;
    (void)x;
    return 1;
}

/* A site with a certificate for names. issuer NULL: its own. */
static void start(struct site *s, const struct cert *issuer, const char *names, int to_days)
{
    struct cert leaf;
    cert_make(&leaf, issuer, names, to_days < 0 ? to_days - 1 : 0, to_days);
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    assert_non_null(tls);
    assert_int_equal(SSL_CTX_use_certificate(tls, leaf.x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(tls, leaf.key), 1);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, accept_any);
    assert_int_equal(SSL_CTX_set_session_id_context(tls, (const unsigned char *)"s", 1), 1);
    cert_done(&leaf);
    site_start(s, tls);
    site_answer(s, "/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static void stop(struct site *s)
{
    SSL_CTX *tls = s->tls;
    site_stop(s);
    SSL_CTX_free(tls);
}

static struct span file(const char *name)
{
    return span_cstr(tempdir_file(&dir, name));
}

#define NAMES "DNS:localhost,DNS:engine.example,IP:127.0.0.1"

static const struct {
    const char *name, *names;
    int to_days;
    bool is_own, has_ca, skips;
    const char *server_name;
    int error;
    const char *words;
} rows[] = {
    {"believed", NAMES, 1, false, true, false, "", 0, NULL},
    {"by another name", "DNS:engine.example", 1, false, true, false, "engine.example", 0, NULL},
    {"unchecked", "DNS:other", -1, true, false, true, "", 0, NULL},
    {"unknown issuer", NAMES, 1, false, false, false, "", -EKEYREJECTED, "local issuer"},
    {"its own issuer", NAMES, 1, true, true, false, "", -EKEYREJECTED, "certificate"},
    {"wrong name", "DNS:other", 1, false, true, false, "", -EKEYREJECTED, "name"},
    {"wrong by another name", NAMES, 1, false, true, false, "b.example", -EKEYREJECTED, "name"},
    {"expired", NAMES, -1, false, true, false, "", -EKEYREJECTED, "expired"},
};

static void who_is_believed(void **state)
{
    (void)state;
    static struct site s;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(&s, rows[i].is_own ? NULL : &ca, rows[i].names, rows[i].to_days);
        fetch(&got,
              &(struct web_request){.url = site_url(&s, "127.0.0.1", "/"),
                                    .headers = &(struct web_header){SPAN("X-Key"), SPAN("SECRET")},
                                    .n_headers = 1,
                                    .link = {.ca_file = rows[i].has_ca ? file("ca.pem") : SPAN(""),
                                             .server_name = span_cstr(rows[i].server_name),
                                             .skips_verification = rows[i].skips}});
        if (got.reply.error != rows[i].error)
            fail_msg("%s: %d, %s", rows[i].name, got.reply.error, got.words);
        assert_row(rows[i].name, !rows[i].words || strstr(got.words, rows[i].words));
        assert_row(rows[i].name, site_saw(&s, "SECRET") == (rows[i].error == 0));
        if (rows[i].error == 0)
            assert_row(rows[i].name, got.reply.tls_ns > got.reply.connect_ns);
        stop(&s);
    }
}

/* The name is that of the certificate only; who is asked for is the host of the URL. */
static void a_server_name(void **state)
{
    (void)state;
    static struct site s;
    char host[64];
    start(&s, &ca, NAMES, 1);
    site_redirect(&s, "/on", 302, "/");
    (void)snprintf(host, sizeof(host), "\r\nHost: 127.0.0.1:%u\r\n", s.port);
    fetch(&got, &(struct web_request){
                    .url = site_url(&s, "127.0.0.1", "/on"),
                    .link = {.ca_file = file("ca.pem"), .server_name = SPAN("engine.example")},
                    .follows_redirects = true});
    assert_int_equal(got.reply.error, 0);
    assert_int_equal(site_saw(&s, "SNI: engine.example"), 2);
    assert_int_equal(site_saw(&s, host), 2);
    assert_int_equal(site_saw(&s, "Host: engine"), 0);
    assert_span_equal("to", got.reply.redirected_to, site_url(&s, "127.0.0.1", "/"));
    stop(&s);
}

/* Who it sends on to has a name of its own. */
static void a_server_name_is_for_one_host(void **state)
{
    (void)state;
    static struct site s, other;
    start(&s, &ca, "DNS:engine.example", 1);
    start(&other, &ca, "DNS:localhost", 1);
    site_redirect(&s, "/on", 302, site_url(&other, "localhost", "/").p);
    fetch(&got, &(struct web_request){
                    .url = site_url(&s, "127.0.0.1", "/on"),
                    .link = {.ca_file = file("ca.pem"), .server_name = SPAN("engine.example")},
                    .follows_redirects = true});
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&other, "SNI: localhost"), 1);
    stop(&s);
    stop(&other);
}

static void a_certificate_is_for_one_host(void **state)
{
    (void)state;
    static struct site s, other;
    struct cert client;
    cert_make(&client, &ca, "DNS:client", 0, 1);
    cert_write(&client, dir.path, "client");
    cert_done(&client);
    start(&s, &ca, NAMES, 1);
    start(&other, &ca, NAMES, 1);
    site_redirect(&s, "/home", 302, "/");
    site_redirect(&s, "/away", 302, site_url(&other, "127.0.0.1", "/").p);
    struct web_request r = {.url = site_url(&s, "127.0.0.1", "/home"),
                            .link = {.ca_file = file("ca.pem"),
                                     .cert_file = file("client.pem"),
                                     .key_file = file("client.key")},
                            .follows_redirects = true};
    fetch(&got, &r);
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&s, "Certificate: yes"), 2);
    r.url = site_url(&s, "127.0.0.1", "/away");
    fetch(&got, &r);
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&s, "Certificate: yes"), 3);
    assert_int_equal(site_saw(&other, "Certificate: no"), 1);
    stop(&s);
    stop(&other);
}

static void a_kept_connection_has_one_handshake(void **state)
{
    (void)state;
    static struct site s;
    struct web *w;
    start(&s, &ca, NAMES, 1);
    s.answers[0].is_kept = true;
    struct web_request r = {.url = site_url(&s, "127.0.0.1", "/"),
                            .link.ca_file = file("ca.pem"),
                            .keeps_connection = true};
    assert_int_equal(web_new(&w), 0);
    for (int i = 0; i < 3; i++) {
        fetch_with(w, &got, &r);
        assert_int_equal(got.reply.status, 200);
        assert_true((got.reply.tls_ns > 0) == (i == 0));
    }
    assert_int_equal(site_connections(&s), 1);
    /* Whoever trusts somebody else has not checked that one. */
    r.link.ca_file = SPAN("");
    fetch_with(w, &got, &r);
    assert_int_equal(got.reply.error, -EKEYREJECTED);
    web_free(w);
    stop(&s);
}

static void what_is_no_tls(void **state)
{
    (void)state;
    static struct site plain, s;
    site_start(&plain, NULL);
    plain.greeting = "220 mail.example ESMTP\r\n";
    start(&s, &ca, NAMES, 1);
    fetch(&got, &(struct web_request){.url = site_at("https", "127.0.0.1", plain.port, "/")});
    assert_int_equal(got.reply.error, -EPROTO);
    fetch(&got, &(struct web_request){.url = site_at("http", "127.0.0.1", s.port, "/")});
    assert_true(got.reply.error == -ECONNRESET || got.reply.error == -EBADMSG);
    fetch(&got, &(struct web_request){.url = site_url(&s, "127.0.0.1", "/"),
                                      .link.ca_file = file("missing.pem")});
    assert_int_equal(got.reply.error, -EKEYREJECTED);
    fetch(&got, &(struct web_request){.url = site_url(&s, "127.0.0.1", "/"),
                                      .link = {.ca_file = file("ca.pem"),
                                               .cert_file = file("missing.pem"),
                                               .key_file = file("missing.key")}});
    assert_int_equal(got.reply.error, -EKEYREJECTED);
    stop(&s);
    site_stop(&plain);
}

static int make_dir(void **state)
{
    (void)state;
    tempdir_make(&dir);
    cert_make(&ca, NULL, NULL, 0, 1);
    cert_write(&ca, dir.path, "ca");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    cert_done(&ca);
    tempdir_remove(&dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_believed),
        cmocka_unit_test(a_server_name),
        cmocka_unit_test(a_server_name_is_for_one_host),
        cmocka_unit_test(a_certificate_is_for_one_host),
        cmocka_unit_test(a_kept_connection_has_one_handshake),
        cmocka_unit_test(what_is_no_tls),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
