/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that send a request on: where to, with what, and how often.
 * test-links: ssl crypto
 */
#include "site.h"

#include "base/arena.h"
#include "base/num.h"
#include "memfail.h"
#include "web/handle.h"
#include "web/redirect.h"

static struct site site, other; /* other: another port */
static struct got got;

static int start_sites(void **state)
{
    (void)state;
    site_start(&site, NULL);
    site_start(&other, NULL);
    return 0;
}

static int stop_sites(void **state)
{
    (void)state;
    site_stop(&site);
    site_stop(&other);
    return 0;
}

/* --- where to --- */

static const struct place_row {
    const char *first, *from, *location;
    int error;
    const char *url, *shown;
    bool is_home;
} place_rows[] = {
    {"http://h:1/a/b?c", NULL, "d", 0, "http://h:1/a/d", NULL, true},
    {"http://h:1/a/b?c", NULL, "/d?e#f", 0, "http://h:1/d?e#f", NULL, true},
    {"http://h:1/a", NULL, "?x", 0, "http://h:1/a?x", NULL, true},
    {"http://h:1/a", NULL, "../../x", 0, "http://h:1/x", NULL, true},
    {"http://h:1/a", NULL, "//i/x", 0, "http://i/x", NULL, false},
    {"http://h:1/a", NULL, "http://H:1/x", 0, "http://H:1/x", NULL, true},
    {"http://h:1/a", NULL, "http://h:2/x", 0, "http://h:2/x", NULL, false},
    {"http://h/a", NULL, "http://h:80/x", 0, "http://h:80/x", NULL, true},
    {"http://h/a", NULL, "https://h/x", 0, "https://h/x", NULL, true},
    {"http://h:80/a", NULL, "https://h:443/x", 0, "https://h:443/x", NULL, true},
    {"http://h:8080/a", NULL, "https://h:8443/x", 0, "https://h:8443/x", NULL, false},
    {"https://h/a", NULL, "http://h/x", 0, "http://h/x", NULL, false},
    {"https://h/a", NULL, "https://sub.h/x", 0, "https://sub.h/x", NULL, false},
    {"https://h/a", NULL, "https://h.evil/x", 0, "https://h.evil/x", NULL, false},
    {"https://h/a", NULL, "https://h@evil/x", 0, "https://evil/x", NULL, false},
    {"https://h/a", NULL, "https://evil\\@h/x", 0, "https://h/x", NULL, true},
    {"http://[::1]:5/a", NULL, "/x", 0, "http://[::1]:5/x", NULL, true},
    {"http://u:p@h/a", NULL, "/x", 0, "http://u:p@h/x", "http://h/x", true},
    {"http://u:p@h/a", NULL, "http://v:q@h/x", 0, "http://u:p@h/x", "http://h/x", true},
    {"http://u:p@h/a", NULL, "http://v:q@i/x", 0, "http://i/x", NULL, false},
    {"http://u:p@h/a", "http://i/b", "/x", 0, "http://i/x", NULL, false},
    {"http://u:p@h/a", "http://i/b", "http://h/x", 0, "http://u:p@h/x", "http://h/x", true},
    {"http://h/a", NULL, "/with blank", 0, "http://h/with%20blank", NULL, true},
    {"http://h/a", NULL, "file:///etc/passwd", -EPROTONOSUPPORT, NULL, NULL, false},
    {"http://h/a", NULL, "ftp://h/x", -EPROTONOSUPPORT, NULL, NULL, false},
    {"http://h/a", NULL, "smtp://h/x", -EPROTONOSUPPORT, NULL, NULL, false},
    {"http://h/a", NULL, "gopher://h/_x", -EPROTONOSUPPORT, NULL, NULL, false},
    {"http://h/a", NULL, "unheard-of://h/x", -EPROTONOSUPPORT, NULL, NULL, false},
    {"http://h/a", NULL, "http://", -EBADMSG, NULL, NULL, false},
    {"http://h/a", NULL, "http://h:70000/", -EBADMSG, NULL, NULL, false},
    {"http://h/a", NULL, "http://h h/", -EBADMSG, NULL, NULL, false},
};

static void places(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(place_rows); i++) {
        const struct place_row *row = &place_rows[i];
        struct redirect to = {.url = SPAN("untouched")};
        const char *from = row->from ? row->from : row->first;
        int r = redirect_resolve(row->first, from, row->location, &a, &to);
        if (r != row->error)
            fail_msg("%s: %d, %.*s", row->location, r, SPAN_ARG(to.url));
        const char *url = r == 0 ? row->url : "untouched";
        assert_span_equal(row->location, to.url, span_cstr(url));
        assert_row(row->location, to.is_home == row->is_home);
        if (r == 0)
            assert_span_equal(row->location, to.shown,
                              span_cstr(row->shown ? row->shown : row->url));
    }
    arena_done(&a);
}

static void a_host_by_another_name(void **state)
{
    (void)state;
    static const struct {
        const char *url, *renamed, *connect_to, *host;
    } rows[] = {
        {"https://10.0.0.1/m?x", "https://name/m?x", "name:443:10.0.0.1:443", "Host: 10.0.0.1"},
        {"https://h:443/", "https://name:443/", "name:443:h:443", "Host: h"},
        {"https://h:8443/", "https://name:8443/", "name:8443:h:8443", "Host: h:8443"},
        {"https://[::1]:8443/", "https://name:8443/", "name:8443:[::1]:8443", "Host: [::1]:8443"},
        {"http://h/", "", "", ""},
    };
    struct arena a;
    struct renamed by;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(redirect_rename(rows[i].url, SPAN("name"), &a, &by), 0);
        assert_span_equal(rows[i].url, by.url, span_cstr(rows[i].renamed));
        assert_span_equal(rows[i].url, by.connect_to, span_cstr(rows[i].connect_to));
        assert_span_equal(rows[i].url, by.host, span_cstr(rows[i].host));
    }
    assert_int_equal(redirect_rename("https://h/", SPAN("a/b"), &a, &by), -EINVAL);
    assert_int_equal(redirect_rename("https://h/", SPAN("a b"), &a, &by), -EINVAL);
    arena_done(&a);
}

static int place_of_each(void *ctx)
{
    struct arena a;
    struct redirect to;
    struct renamed by;
    (void)ctx;
    arena_init(&a, NULL);
    int r = redirect_resolve("http://u:p@h/a", "http://h/a", "/b", &a, &to);
    if (r == 0)
        r = redirect_rename("https://h:8443/", SPAN("name"), &a, &by);
    arena_done(&a);
    return r;
}

static void places_without_memory(void **state)
{
    (void)state;
    assert_int_equal(web_handle_global(), 0);
    assert_true(memfail_each(place_of_each, NULL) > 20);
}

/* --- with what --- */

static const struct web_header headers[] = {
    {SPAN_INIT("Authorization"), SPAN_INIT("Bearer SECRET")},
    {SPAN_INIT("X-Api-Key"), SPAN_INIT("SECRET")},
    {SPAN_INIT("Cookie"), SPAN_INIT("SECRET")},
};

static void serve_end(struct site *s)
{
    site_answer(s, "/end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static void within_a_host_everything_goes_along(void **state)
{
    (void)state;
    site_redirect(&site, "/", 301, "/next");
    site_redirect(&site, "/next", 308, "end");
    serve_end(&site);
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                      .headers = headers,
                                      .n_headers = ARRAY_LEN(headers),
                                      .follows_redirects = true});
    assert_int_equal(got.reply.status, 200);
    assert_span_equal("body", got.reply.body, SPAN("ok"));
    assert_span_equal("to", got.reply.redirected_to, site_url(&site, "127.0.0.1", "/end"));
    assert_int_equal(site_saw(&site, "Authorization: Bearer SECRET"), 3);
    assert_int_equal(site_saw(&site, "X-Api-Key: SECRET"), 3);
    assert_int_equal(site_connections(&site), 3);
    assert_true(got.reply.name_ns > 0 && got.reply.connect_ns > got.reply.name_ns);
    assert_true(got.reply.total_ns >= got.reply.first_byte_ns);
}

/* What sends on is no part of the answer, however long. */
static void bodies_of_redirects_do_not_count(void **state)
{
    (void)state;
    site_redirect(&site, "/", 302, "/end"); /* with 4 bytes */
    serve_end(&site);
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                      .answer_max = 2,
                                      .follows_redirects = true});
    assert_int_equal(got.reply.error, 0);
    assert_span_equal("body", got.reply.body, SPAN("ok"));
    assert_false(got.reply.is_cut);
}

static int n_secrets(struct site *s)
{
    return site_saw(s, "SECRET") + site_saw(s, "Authorization");
}

static void another_host_gets_no_secret(void **state)
{
    (void)state;
    const struct {
        const char *path;
        struct site *at;
        struct span url;
    } rows[] = {
        {"/host", &site, site_url(&site, "localhost", "/end")},
        {"/port", &other, site_url(&other, "127.0.0.1", "/end")},
    };
    serve_end(&site);
    serve_end(&other);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        site_redirect(&site, rows[i].path, 307, rows[i].url.p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char url[100];
        (void)snprintf(url, sizeof(url), "http://NAME:WORD@127.0.0.1:%u%s", site.port,
                       rows[i].path);
        const struct web_request requests[] = {
            {.url = span_cstr(url), .follows_redirects = true},
            {.url = site_url(&site, "127.0.0.1", rows[i].path),
             .headers = headers,
             .n_headers = ARRAY_LEN(headers),
             .follows_redirects = true},
            {.url = site_url(&site, "127.0.0.1", rows[i].path),
             .user = SPAN("u"),
             .password = SPAN("p"),
             .follows_redirects = true},
        };
        for (size_t k = 0; k < ARRAY_LEN(requests); k++) {
            int n_before = n_secrets(&site) + n_secrets(&other);
            fetch(&got, &requests[k]);
            assert_int_equal(got.reply.status, 200);
            assert_span_equal(rows[i].path, got.reply.redirected_to, rows[i].url);
            /* The first request's. */
            assert_int_equal(n_secrets(&site) + n_secrets(&other) - n_before, k == 1 ? 4 : 1);
        }
        assert_int_equal(n_secrets(&other), 0);
        assert_int_equal(site_saw(rows[i].at, "GET /end"), ARRAY_LEN(requests));
    }
}

static void back_home_they_are_sent_again(void **state)
{
    (void)state;
    site_redirect(&site, "/", 302, site_url(&other, "127.0.0.1", "/away").p);
    site_redirect(&other, "/away", 302, site_url(&site, "127.0.0.1", "/end").p);
    serve_end(&site);
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                      .user = SPAN("u"),
                                      .password = SPAN("p"),
                                      .follows_redirects = true});
    assert_int_equal(got.reply.status, 200);
    assert_int_equal(site_saw(&site, "Authorization: Basic dTpw"), 2);
    assert_int_equal(site_saw(&other, "Authorization"), 0);
}

static void methods_and_bodies(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool keeps_body;
    } rows[] = {{301, false}, {302, false}, {303, false}, {307, true}, {308, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        site_start(&site, NULL);
        site_redirect(&site, "/", rows[i].status, "/end");
        serve_end(&site);
        fetch(&got, &(struct web_request){.is_post = true,
                                          .url = site_url(&site, "127.0.0.1", "/"),
                                          .body = SPAN("a body"),
                                          .content_type = SPAN("text/x"),
                                          .follows_redirects = true});
        assert_int_equal(got.reply.status, 200);
        assert_int_equal(site_saw(&site, "POST /end"), rows[i].keeps_body);
        assert_int_equal(site_saw(&site, "GET /end"), !rows[i].keeps_body);
        assert_int_equal(site_saw(&site, "\r\n\r\na body"), 1 + rows[i].keeps_body);
        assert_int_equal(site_saw(&site, "Content-Type: text/x"), 1 + rows[i].keeps_body);
        site_stop(&site);
    }
}

/* --- how often --- */

static void five_are_followed_and_a_loop_is_not(void **state)
{
    (void)state;
    static const char *const paths[] = {"/0", "/1", "/2", "/3", "/4", "/5", "/end"};
    for (size_t i = 0; i + 1 < ARRAY_LEN(paths); i++)
        site_redirect(&site, paths[i], 302, paths[i + 1]);
    site_redirect(&site, "/loop", 302, "/loop");
    serve_end(&site);
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/1"), .follows_redirects = true};
    fetch(&got, &r);
    assert_int_equal(got.reply.status, 200);
    r.url = site_url(&site, "127.0.0.1", "/0");
    fetch(&got, &r);
    assert_int_equal(got.reply.error, -ELOOP);
    assert_span_equal("words", got.reply.words, SPAN("redirected more than 5 times"));
    assert_int_equal(site_saw(&site, "GET /end"), 1);
    r.url = site_url(&site, "127.0.0.1", "/loop");
    fetch(&got, &r);
    assert_int_equal(got.reply.error, -ELOOP);
    assert_int_equal(site_saw(&site, "GET /loop"), 6);
}

static void the_timeout_is_that_of_all(void **state)
{
    (void)state;
    site_redirect(&site, "/loop", 302, "/loop")->delay_ms = 120;
    int64_t start = peer_now_ms();
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/loop"),
                                      .timeout_ms = 400,
                                      .follows_redirects = true});
    assert_int_equal(got.reply.error, -ETIMEDOUT);
    assert_true(peer_now_ms() - start >= 390 && peer_now_ms() - start < 5000);
    assert_true(site_saw(&site, "GET /loop") <= 4);
}

static void ways_out_of_the_web(void **state)
{
    (void)state;
    static const struct {
        const char *location;
        int error;
    } rows[] = {
        {"file:///etc/hostname", -EPROTONOSUPPORT},
        {"ftp://127.0.0.1/", -EPROTONOSUPPORT},
        {"http://h:99999/", -EBADMSG},
        {"http://", -EBADMSG},
        {"http://h/\x01SECRET", -EBADMSG},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        site_start(&site, NULL);
        site_redirect(&site, "/", 302, rows[i].location);
        fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                          .follows_redirects = true});
        if (got.reply.error != rows[i].error)
            fail_msg("%s: %d, %s", rows[i].location, got.reply.error, got.words);
        assert_int_equal(got.reply.status, 302);
        assert_int_equal(got.reply.body.n, 0);
        assert_non_null(strstr(got.words, "redirected to"));
        assert_null(strstr(got.words, "SECRET"));
        site_stop(&site);
    }
}

/* A redirect to nowhere in particular is an answer. */
static void without_location_nothing_is_followed(void **state)
{
    (void)state;
    site_answer(&site, "/", "HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nno");
    fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                      .follows_redirects = true});
    assert_int_equal(got.reply.error, 0);
    assert_int_equal(got.reply.status, 302);
    assert_span_equal("body", got.reply.body, SPAN("no"));
}

#define WITH_SITES(f) cmocka_unit_test_setup_teardown(f, start_sites, stop_sites)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(a_host_by_another_name),
        cmocka_unit_test(places_without_memory),
        WITH_SITES(within_a_host_everything_goes_along),
        WITH_SITES(bodies_of_redirects_do_not_count),
        WITH_SITES(another_host_gets_no_secret),
        WITH_SITES(back_home_they_are_sent_again),
        cmocka_unit_test(methods_and_bodies),
        WITH_SITES(five_are_followed_and_a_loop_is_not),
        WITH_SITES(the_timeout_is_that_of_all),
        cmocka_unit_test(ways_out_of_the_web),
        WITH_SITES(without_location_nothing_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
