/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "base/attr.h"
#include "doctor/doctor_url.h"
#include "guard.h"

static const struct {
    const char *text;
    enum doctor_cause cause;
    const char *host;
    int port;
    const char *path;
    bool has_slash, is_tls;
} urls[] = {
    {"http://h", CAUSE_NO_CAUSE, "h", 80, "", false, false},
    {"HTTPS://h", CAUSE_NO_CAUSE, "h", 443, "", false, true},
    {"https://u:p@h:8000/v1/", CAUSE_NO_CAUSE, "h", 8000, "/v1", true, true},
    {"https://u:p@ss@h/", CAUSE_NO_CAUSE, "h", 443, "", true, true},
    {"http://[::1]:8000/a/b", CAUSE_NO_CAUSE, "::1", 8000, "/a/b", false, false},
    {"http://h/v1?x=/y/", CAUSE_NO_CAUSE, "h", 80, "/v1", false, false},
    {"http://h#/v1", CAUSE_NO_CAUSE, "h", 80, "", false, false},
    {"h:8000/v1", CAUSE_URL_SCHEME, NULL, 0, NULL, false, false},
    {"", CAUSE_URL_SCHEME, NULL, 0, NULL, false, false},
    {"ftp://h/v1", CAUSE_URL_SCHEME, NULL, 0, NULL, false, false},
    {"http://", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http:///v1", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http://h:/v1", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http://h:0/v1", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http://h:65536/v1", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http://[::1/v1", CAUSE_URL_BAD, NULL, 0, NULL, false, false},
    {"http://h/v1 ", CAUSE_URL_STRAY, NULL, 0, NULL, false, false},
    {" http://h/v1", CAUSE_URL_STRAY, NULL, 0, NULL, false, false},
    {"http://h/v1\r\n", CAUSE_URL_STRAY, NULL, 0, NULL, false, false},
    {"http://h/v1\xe2\x80\x8b", CAUSE_URL_STRAY, NULL, 0, NULL, false, false},
    {"\"http://h/v1\"", CAUSE_URL_QUOTES, NULL, 0, NULL, false, false},
    {"\xe2\x80\x9chttp://h/v1\xe2\x80\x9d", CAUSE_URL_QUOTES, NULL, 0, NULL, false, false},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct doctor_url u = {.port = 1};

        assert_row(urls[i].text, doctor_url_parse(span_cstr(urls[i].text), &u) == urls[i].cause);
        if (urls[i].cause != CAUSE_NO_CAUSE) {
            assert_row(urls[i].text, u.port == 1); /* untouched */
            continue;
        }
        assert_span_equal(urls[i].text, u.host, span_cstr(urls[i].host));
        assert_span_equal(urls[i].text, u.path, span_cstr(urls[i].path));
        assert_row(urls[i].text, u.port == urls[i].port);
        assert_row(urls[i].text, u.has_slash == urls[i].has_slash);
        assert_row(urls[i].text, u.is_tls == urls[i].is_tls);
    }
}

static const struct {
    const char *text;
    enum doctor_cause cause;
} oddities[] = {
    {"http://h/v1", CAUSE_NO_CAUSE},
    {"http://h/", CAUSE_NO_CAUSE},
    {"http://h/v1/", CAUSE_URL_SLASH},
    {"http://h/v1/v1", CAUSE_URL_DOUBLED_V1},
    {"http://h/v1/v1/", CAUSE_URL_DOUBLED_V1},
    {"http://h/a/v3/v3", CAUSE_URL_DOUBLED_V1},
    {"http://h/v1/v3", CAUSE_NO_CAUSE},
    {"http://h/a/a", CAUSE_NO_CAUSE},
    {"http://h/v1/chat/completions", CAUSE_URL_ENDPOINT},
    {"http://h/v1/messages", CAUSE_URL_ENDPOINT},
    {"http://h/v1/models/", CAUSE_URL_ENDPOINT},
    {"http://h/v1?key=x", CAUSE_URL_QUERY},
    {"http://0.0.0.0:8000/v1", CAUSE_URL_LISTEN},
    {"http://[::]:8000/v1", CAUSE_URL_LISTEN},
};

static void test_oddity(void **state)
{
    struct doctor_url u;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(oddities); i++) {
        assert_int_equal(doctor_url_parse(span_cstr(oddities[i].text), &u), CAUSE_NO_CAUSE);
        assert_row(oddities[i].text, doctor_url_oddity(&u) == oddities[i].cause);
    }
}

static void test_loopback(void **state)
{
    (void)state;
    assert_true(doctor_host_is_loopback(SPAN("localhost")));
    assert_true(doctor_host_is_loopback(SPAN("a.LOCALHOST")));
    assert_true(doctor_host_is_loopback(SPAN("127.1.2.3")));
    assert_true(doctor_host_is_loopback(SPAN("::1")));
    assert_false(doctor_host_is_loopback(SPAN("10.0.0.1")));
    assert_false(doctor_host_is_loopback(SPAN("notlocalhost")));
    assert_false(doctor_host_is_loopback(SPAN("")));
}

static void test_version(void **state)
{
    (void)state;
    assert_true(doctor_url_has_version(SPAN("/v1")));
    assert_true(doctor_url_has_version(SPAN("/a/v1beta")));
    assert_false(doctor_url_has_version(SPAN("")));
    assert_false(doctor_url_has_version(SPAN("/v")));
    assert_false(doctor_url_has_version(SPAN("/v1/openai")));
}

/* Nothing behind the text is read. */
static void test_prefixes(void **state)
{
    static const char text[] = "https://u:p@[fe80::1]:8443/openai/v1/v1/?q#f";

    struct guard g;

    (void)state;
    guard_init(&g, sizeof(text));
    for (size_t n = 0; n < sizeof(text); n++) {
        struct doctor_url u;

        if (doctor_url_parse(guard_copy(&g, span_of(text, n)), &u) == CAUSE_NO_CAUSE)
            (void)doctor_url_oddity(&u);
    }
    guard_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),    cmocka_unit_test(test_oddity),
        cmocka_unit_test(test_loopback), cmocka_unit_test(test_version),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests_name("doctor/doctor_url", tests, NULL, NULL);
}
