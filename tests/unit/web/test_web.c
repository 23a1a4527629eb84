/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: what goes out, what comes back, many at once, connections, proxies, no memory.
 * test-links: ssl crypto z
 */
#include "site.h"

#include "base/num.h"
#include "memfail.h"
#include "squeeze.h"

static struct site site;
static struct got got;

static int start_site(void **state)
{
    (void)state;
    site_start(&site, NULL);
    return 0;
}

static int stop_site(void **state)
{
    (void)state;
    site_stop(&site);
    return 0;
}

/* --- what goes out and what comes back --- */

static void a_page_is_fetched(void **state)
{
    (void)state;
    site_answer(&site, "/metrics?a=b",
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                "Content-Length: 5\r\n\r\nup 1\n");
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/metrics?a=b")});
    const struct web_reply *r = &got.reply;
    assert_int_equal(r->error, 0);
    assert_int_equal(r->status, 200);
    assert_span_equal("body", r->body, SPAN("up 1\n"));
    assert_span_equal("type", r->content_type, SPAN("text/plain; version=0.0.4"));
    assert_int_equal(r->redirected_to.n, 0);
    assert_int_equal(r->words.n, 0);
    assert_int_equal(r->retry_after_ms, -1);
    assert_false(r->is_cut);
    assert_true(r->name_ns > 0 && r->connect_ns >= r->name_ns);
    assert_int_equal(r->tls_ns, -1);
    assert_true(r->first_byte_ns >= r->connect_ns && r->total_ns >= r->first_byte_ns);
    assert_int_equal(site_saw(&site, "GET /metrics?a=b HTTP/1.1\r\n"), 1);
    assert_int_equal(site_saw(&site, "User-Agent: inferometer\r\n"), 1);
    assert_int_equal(site_saw(&site, "Accept-Encoding"), 0);
    assert_int_equal(site_saw(&site, "Content-"), 0);
    assert_int_equal(site_saw(&site, "Authorization"), 0);
}

static void a_body_is_posted(void **state)
{
    (void)state;
    static const struct web_header headers[] = {
        {SPAN_INIT("X-Key"), SPAN_INIT("k")},
        {SPAN_INIT("X-Empty"), SPAN_INIT("")},
        {SPAN_INIT("User-Agent"), SPAN_INIT("another")},
    };
    site_answer(&site, "/hook", "HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    fetch(&got, &(struct web_request){.is_post = true,
                                      .url = site_url(&site, "127.0.0.1", "/hook"),
                                      .body = SPAN("{\"a\":1}"),
                                      .content_type = SPAN("application/json"),
                                      .headers = headers,
                                      .n_headers = ARRAY_LEN(headers),
                                      .user = SPAN("u"),
                                      .password = SPAN("p w")});
    assert_int_equal(got.reply.status, 503);
    assert_int_equal(got.reply.retry_after_ms, 7000);
    assert_int_equal(site_saw(&site, "POST /hook HTTP/1.1\r\n"), 1);
    assert_int_equal(site_saw(&site, "\r\nContent-Type: application/json\r\n"), 1);
    assert_int_equal(site_saw(&site, "\r\nX-Key: k\r\n"), 1);
    assert_int_equal(site_saw(&site, "\r\nX-Empty:\r\n"), 1);
    assert_int_equal(site_saw(&site, "\r\nUser-Agent: another\r\n"), 1);
    assert_int_equal(site_saw(&site, "User-Agent"), 1);
    assert_int_equal(site_saw(&site, "\r\nAuthorization: Basic dTpwIHc=\r\n"), 1);
    assert_int_equal(site_saw(&site, "\r\n\r\n{\"a\":1}"), 1);
    assert_int_equal(site_saw(&site, "Expect"), 0);
}

/* libcurl would ask first whether it may send that much. */
static void a_large_body_is_just_sent(void **state)
{
    (void)state;
    enum { LARGE = 2 << 20 };
    char *large = calloc(1, LARGE);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")->hangs = true;
    fetch(&got, &(struct web_request){.is_post = true,
                                      .url = site_url(&site, "127.0.0.1", "/"),
                                      .body = span_of(large, LARGE)});
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&site, "Expect"), 0);
    assert_int_equal(site_saw(&site, "Content-Length: 2097152\r\n"), 1);
    free(large);
}

static void user_or_password_may_be_empty(void **state)
{
    (void)state;
    site_answer(&site, "*", "HTTP/1.1 204 No Content\r\n\r\n");
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/"), .user = SPAN("u")};
    fetch(&got, &r);
    assert_int_equal(site_saw(&site, "Authorization: Basic dTo=\r\n"), 1);
    r.user = SPAN("");
    r.password = SPAN("p");
    fetch(&got, &r);
    assert_int_equal(site_saw(&site, "Authorization: Basic OnA=\r\n"), 1);
    /* A POST of nothing is no form. */
    r.is_post = true;
    fetch(&got, &r);
    assert_int_equal(site_saw(&site, "Content-Length: 0\r\n"), 1);
    assert_int_equal(site_saw(&site, "Content-Type"), 0);
}

/* --- where nobody is --- */

/* A port where nobody listens. */
static uint16_t closed_port(void)
{
    uint16_t port;
    (void)close(peer_listen(&port));
    return port;
}

static void ways_that_lead_nowhere(void **state)
{
    (void)state;
    uint16_t port = closed_port();
    fetch(&got, &(struct web_request){.url = site_at("http", "127.0.0.1", port, "/secret")});
    assert_int_equal(got.reply.error, -ECONNREFUSED);
    assert_null(strstr(got.words, "secret"));
    assert_non_null(strstr(got.words, "onnect"));
    assert_int_equal(got.reply.connect_ns, -1);
    assert_int_equal(got.reply.first_byte_ns, -1);
    fetch(&got, &(struct web_request){.url = SPAN("http://u:secret@nowhere.invalid/secret"),
                                      .timeout_ms = 8000});
    assert_int_equal(got.reply.error, -EHOSTUNREACH);
    assert_null(strstr(got.words, "secret"));
    assert_non_null(strstr(got.words, "nowhere.invalid"));
    assert_int_equal(got.reply.name_ns, -1);
    fetch(&got, &(struct web_request){.url = SPAN("http://[::1/secret")});
    assert_int_equal(got.reply.error, -EINVAL);
    assert_null(strstr(got.words, "secret"));
}

/* --- many, and none --- */

static void none_waits_for_another(void **state)
{
    (void)state;
    enum { N = 30 };
    static struct got many[N], never;
    struct web *w;
    site_answer(&site, "/silent", "")->hangs = true;
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")->delay_ms = 20;
    const struct web_request silent = {.url = site_url(&site, "127.0.0.1", "/silent")};
    const struct web_request quick = {.url = site_url(&site, "127.0.0.1", "/")};
    memset(&never, 0, sizeof(never));
    assert_int_equal(web_new(&w), 0);
    assert_int_equal(web_start(w, &silent, on_done, NULL, &never), 0);
    for (int i = 0; i < N; i++) {
        many[i].n = 0;
        assert_int_equal(web_start(w, &quick, on_done, NULL, &many[i]), 0);
    }
    assert_int_equal(web_n(w), N + 1);
    for (int64_t end = peer_now_ms() + 5000; web_n(w) > 1;) {
        web_turn(w, 100);
        assert_true(peer_now_ms() < end);
    }
    for (int i = 0; i < N; i++)
        assert_true(many[i].n == 1 && many[i].reply.status == 200);
    web_free(w); /* breaks off */
    assert_int_equal(never.n, 0);
}

struct chain {
    struct web *web;
    const struct web_request *request;
    int n_left, n_ok;
};

static void on_link(void *ctx, void *tag, const struct web_reply *r)
{
    struct chain *c = ctx;
    (void)tag;
    c->n_ok += r->status == 200;
    if (--c->n_left > 0)
        assert_int_equal(web_start(c->web, c->request, on_link, c, NULL), 0);
}

static void the_next_may_be_started_when_one_is_done(void **state)
{
    (void)state;
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")->is_kept = true;
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/"), .keeps_connection = true};
    struct chain c = {.request = &r, .n_left = 4};
    assert_int_equal(web_new(&c.web), 0);
    assert_int_equal(web_start(c.web, &r, on_link, &c, NULL), 0);
    turn_all(c.web);
    assert_int_equal(c.n_ok, 4);
    assert_int_equal(site_connections(&site), 1);
    web_free(c.web);
}

static void *wake(void *w)
{
    (void)poll(NULL, 0, 30);
    web_wake(w);
    return NULL;
}

static void another_thread_ends_the_wait(void **state)
{
    (void)state;
    struct web *w;
    pthread_t thread;
    assert_int_equal(web_new(&w), 0);
    int64_t start = peer_now_ms();
    assert_int_equal(pthread_create(&thread, NULL, wake, w), 0);
    web_turn(w, 30000);
    assert_true(peer_now_ms() - start < 10000);
    assert_int_equal(pthread_join(thread, NULL), 0);
    web_free(w);
}

/* --- connections --- */

static void a_connection_is_kept_where_asked_for(void **state)
{
    (void)state;
    struct web *w;
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")->is_kept = true;
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/")};
    assert_int_equal(web_new(&w), 0);
    for (int i = 0; i < 2; i++)
        fetch_with(w, &got, &r);
    assert_int_equal(site_connections(&site), 2);
    r.keeps_connection = true;
    for (int i = 0; i < 3; i++) {
        fetch_with(w, &got, &r);
        assert_int_equal(got.reply.status, 200);
        assert_true((got.reply.connect_ns > 0) == (i == 0));
        assert_true((got.reply.name_ns > 0) == (i == 0));
        assert_true(got.reply.first_byte_ns > 0);
    }
    assert_int_equal(site_connections(&site), 3);
    web_free(w);
}

/* The server ends it after each answer, without a word in that. */
static void a_kept_connection_that_ended_is_made_again(void **state)
{
    (void)state;
    struct web *w;
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/"), .keeps_connection = true};
    assert_int_equal(web_new(&w), 0);
    for (int i = 0; i < 20; i++) {
        fetch_with(w, &got, &r);
        assert_int_equal(got.reply.error, 0);
    }
    assert_int_equal(site_connections(&site), 20);
    web_free(w);
}

/* --- proxies --- */

static void proxies(void **state)
{
    (void)state;
    char proxy[64], bad[] = "carrier-pigeon://u:secret@p:1";
    site_answer(&site, "*", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    (void)snprintf(proxy, sizeof(proxy), "http://u:p@127.0.0.1:%u", site.port);
    struct web_request r = {.url = SPAN("http://nowhere.invalid/a"),
                            .link.proxy_url = span_cstr(proxy)};
    fetch(&got, &r);
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&site, "GET http://nowhere.invalid/a HTTP/1.1\r\n"), 1);
    assert_int_equal(site_saw(&site, "Proxy-Authorization: Basic dTpw\r\n"), 1);
    /* the environment's */
    assert_int_equal(setenv("http_proxy", proxy, 1), 0);
    r.url = site_url(&site, "127.0.0.1", "/b");
    r.link.proxy_url = SPAN("");
    fetch(&got, &r);
    assert_int_equal(site_saw(&site, "GET http://127.0.0.1"), 1);
    r.link.proxy_url = SPAN("none");
    fetch(&got, &r);
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&site, "GET /b HTTP/1.1\r\n"), 1);
    /* one that is none: without its password */
    assert_int_equal(setenv("http_proxy", bad, 1), 0);
    r.link.proxy_url = SPAN("");
    fetch(&got, &r);
    assert_true(got.reply.error < 0);
    assert_null(strstr(got.words, "secret"));
    assert_int_equal(unsetenv("http_proxy"), 0);
    r.link.proxy_url = span_cstr(bad);
    fetch(&got, &r);
    assert_true(got.reply.error < 0);
    assert_null(strstr(got.words, "secret"));
}

/* --- what is not sent --- */

static void what_could_become_two_requests_is_not_sent(void **state)
{
    (void)state;
    static const struct web_header name = {SPAN_INIT("X\r\nY"), SPAN_INIT("a")};
    static const struct web_header value = {SPAN_INIT("X"), SPAN_INIT("a\r\nY: b")};
    static const struct span url = SPAN_INIT("http://127.0.0.1:9/");
    const struct web_request rows[] = {
        {.url = url, .headers = &name, .n_headers = 1},
        {.url = url, .headers = &value, .n_headers = 1},
        {.url = SPAN_INIT("http://127.0.0.1:9/\r\nX: y")},
        {.url = {"http://127.0.0.1:9/\0x", 21}},
        {.url = url, .user = SPAN_INIT("a\nb")},
        {.url = url, .user = SPAN_INIT("a"), .password = SPAN_INIT("a\rb")},
        {.url = url, .is_post = true, .content_type = SPAN_INIT("a\r\nb: c")},
        {.url = url, .link.proxy_url = SPAN_INIT("http://p\n/")},
        {.url = SPAN_INIT("https://127.0.0.1:9/"), .link.server_name = SPAN_INIT("a\r\nb")},
        {.url = SPAN_INIT("https://127.0.0.1:9/"), .link.server_name = SPAN_INIT("a b/c")},
        {.url = SPAN_INIT("")},
        {.url = SPAN_INIT("127.0.0.1:9/")},
        {.url = SPAN_INIT("ftp://127.0.0.1:9/")},
        {.url = SPAN_INIT("file:///etc/hostname")},
    };
    struct web *w;
    assert_int_equal(web_new(&w), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (web_start(w, &rows[i], on_done, NULL, &got) != -EINVAL)
            fail_msg("row %zu was started", i);
    assert_int_equal(web_n(w), 0);
    web_free(w);
}

/* --- no memory --- */

/* All of a request: allocations fail anywhere in it, also those of libcurl. */
static int whole(void *ctx)
{
    struct web *w;
    int r = web_new(&w);
    if (r < 0)
        return r;
    got.n = 0;
    r = web_start(w, ctx, on_done, NULL, &got);
    if (r == 0)
        turn_all(w);
    web_free(w);
    if (r < 0)
        return r;
    assert_int_equal(got.n, 1);
    if (got.reply.error == 0 && got.reply.status == 200)
        assert_span_equal("body", got.reply.body, SPAN("up 1\n"));
    return got.reply.error < 0 || got.reply.status != 200 ? -ENOMEM : 0;
}

static void without_memory_a_request_fails_and_nothing_is_left(void **state)
{
    (void)state;
    static const struct web_header header = {SPAN_INIT("X-Key"), SPAN_INIT("secret")};
    serve_squeezed(&site, "/b", "gzip", SPAN("up 1\n"), 1);
    site_redirect(&site, "/a", 307, "/b");
    struct web_request r = {.is_post = true,
                            .url = site_url(&site, "127.0.0.1", "/a"),
                            .body = SPAN("x"),
                            .content_type = SPAN("text/plain"),
                            .headers = &header,
                            .n_headers = 1,
                            .user = SPAN("u"),
                            .password = SPAN("p"),
                            .timeout_ms = 5000,
                            .follows_redirects = true,
                            .coding = WEB_CODING_ANY};
    assert_int_equal(whole(&r), 0);
    assert_true(memfail_each(whole, &r) > 40);
}

/* What one request was made with is used again, and nothing of it is left. */
static void the_next_request_has_nothing_of_the_one_before(void **state)
{
    (void)state;
    static const struct web_header header = {SPAN_INIT("X-Key"), SPAN_INIT("k")};
    struct web *w = NULL;
    assert_int_equal(web_new(&w), 0);
    serve_squeezed(&site, "/a", "gzip", SPAN("a long answer of the first one\n"), 1);
    site_answer(&site, "/b", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nshortest");
    fetch_with(w, &got,
               &(struct web_request){.is_post = true,
                                     .url = site_url(&site, "127.0.0.1", "/a"),
                                     .body = SPAN("x"),
                                     .content_type = SPAN("text/plain"),
                                     .headers = &header,
                                     .n_headers = 1,
                                     .user = SPAN("u"),
                                     .password = SPAN("p"),
                                     .coding = WEB_CODING_ANY});
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&site, "Authorization"), 1);
    assert_int_equal(site_saw(&site, "Accept-Encoding"), 1);
    assert_int_equal(web_start(w, &(struct web_request){.url = SPAN("ftp://h/")}, NULL, NULL, NULL),
                     -EINVAL);
    for (size_t max = 8; max > 6; max--) {
        struct web_request r = {.url = site_url(&site, "127.0.0.1", "/b"), .answer_max = max};
        fetch_with(w, &got, &r);
        assert_int_equal(got.reply.error, 0);
        assert_span_equal("body", got.reply.body, span_of("shortest", max));
        assert_int_equal(got.reply.is_cut, max < 8);
    }
    assert_int_equal(site_saw(&site, "GET /b HTTP/1.1\r\n"), 2);
    assert_int_equal(site_saw(&site, "Authorization"), 1);
    assert_int_equal(site_saw(&site, "X-Key"), 1);
    assert_int_equal(site_saw(&site, "Accept-Encoding"), 1);
    assert_int_equal(site_saw(&site, "Content-Type"), 1);
    web_free(w);
}

#define WITH_SITE(f) cmocka_unit_test_setup_teardown(f, start_site, stop_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SITE(a_page_is_fetched),
        WITH_SITE(a_body_is_posted),
        WITH_SITE(a_large_body_is_just_sent),
        WITH_SITE(user_or_password_may_be_empty),
        cmocka_unit_test(ways_that_lead_nowhere),
        WITH_SITE(none_waits_for_another),
        WITH_SITE(the_next_may_be_started_when_one_is_done),
        cmocka_unit_test(another_thread_ends_the_wait),
        WITH_SITE(a_connection_is_kept_where_asked_for),
        WITH_SITE(a_kept_connection_that_ended_is_made_again),
        WITH_SITE(the_next_request_has_nothing_of_the_one_before),
        WITH_SITE(proxies),
        cmocka_unit_test(what_could_become_two_requests_is_not_sent),
        WITH_SITE(without_memory_a_request_fails_and_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
