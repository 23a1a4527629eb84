/* SPDX-License-Identifier: Apache-2.0 */
#include "io/proxy.h"

#include <errno.h>
#include <string.h>

#include "harness.h"

static void test_parse(void **state)
{
    static const struct {
        const char *url;
        const char *host; /* NULL: refused */
        uint16_t port;
        const char *authorization;
    } table[] = {
        {"http://proxy:3128", "proxy", 3128, ""},
        {"http://proxy:3128/", "proxy", 3128, ""},
        {"HTTP://proxy", "proxy", 80, ""},
        {"proxy:8080", "proxy", 8080, ""},
        {"10.0.0.1:8080", "10.0.0.1", 8080, ""},
        {"http://[::1]:8080", "::1", 8080, ""},
        {"http://[::1]", "::1", 80, ""},
        {"http://user:pass@proxy:1", "proxy", 1, "Basic dXNlcjpwYXNz"},
        {"user:pass@proxy:1", "proxy", 1, "Basic dXNlcjpwYXNz"},
        {"http://user@proxy", "proxy", 80, "Basic dXNlcjo="},
        {"http://user:p%40ss%3A@proxy", "proxy", 80, "Basic dXNlcjpwQHNzOg=="},
        {"http://user:p@ss@proxy", "proxy", 80, "Basic dXNlcjpwQHNz"},
        {"", NULL, 0, NULL},
        {"http://", NULL, 0, NULL},
        {"http://user:secret@", NULL, 0, NULL},
        {"http://secret:%4@proxy", NULL, 0, NULL},
        {"http://secret:%zz@proxy", NULL, 0, NULL},
        {"https://user:secret@proxy", NULL, 0, NULL},
        {"socks5://user:secret@proxy", NULL, 0, NULL},
        {"http://user:secret@proxy:0", NULL, 0, NULL},
        {"http://user:secret@proxy:65536", NULL, 0, NULL},
        {"http://user:secret@proxy:8080x", NULL, 0, NULL},
        {"http://user:secret@proxy/path", NULL, 0, NULL},
        {"http://user:secret@[::1", NULL, 0, NULL},
        {"http://pro xy", NULL, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct proxy p = {.port = 7};
        struct err e = {0};
        int r = proxy_parse(span_cstr(table[i].url), "HTTPS_PROXY", &p, &e);

        assert_row(table[i].url, (r == 0) == (table[i].host != NULL));
        if (!table[i].host) {
            assert_row(table[i].url, r == -EINVAL && p.port == 7);
            assert_row(e.text, strncmp(e.text, "HTTPS_PROXY: ", 13) == 0);
            assert_row(e.text, !strstr(e.text, "secret") && !strstr(e.hint, "secret"));
            continue;
        }
        assert_string_equal(p.host, table[i].host);
        assert_row(table[i].url, p.port == table[i].port);
        assert_string_equal(p.authorization, table[i].authorization);
    }
}

static void test_parse_long(void **state)
{
    char url[2048] = "http://";
    struct proxy p;
    (void)state;
    memset(url + 7, 'u', 376);
    memcpy(url + 7 + 376, ":@proxy", 8);
    assert_int_equal(proxy_parse(span_cstr(url), "x", &p, NULL), 0);
    assert_true(strlen(p.authorization) < sizeof(p.authorization));
    memset(url + 7, 'u', 1000);
    memcpy(url + 7 + 1000, "@proxy", 7);
    assert_int_equal(proxy_parse(span_cstr(url), "x", &p, NULL), -EINVAL);
    memset(url + 7, 'h', 300);
    url[307] = '\0';
    assert_int_equal(proxy_parse(span_cstr(url), "x", &p, NULL), -EINVAL);
}

static void test_exceptions(void **state)
{
    static const struct {
        const char *list, *host;
        uint16_t port;
        bool is_excepted;
    } table[] = {
        {"", "a.b", 80, false},
        {"*", "a.b", 80, true},
        {"a.b", "a.b", 80, true},
        {"A.B", "a.b", 80, true},
        {"a.b", "x.a.b", 80, true},
        {".a.b", "x.a.b", 80, true},
        {".a.b", "a.b", 80, true},
        {"*.a.b", "x.a.b", 80, true},
        {"a.b", "xa.b", 80, false},
        {"b", "a.b", 80, true},
        {"a.b.c", "b.c", 80, false},
        {".", "a.b", 80, false},
        {"x, a.b ,y", "a.b", 80, true},
        {"x a.b", "a.b", 80, true},
        {",,", "a.b", 80, false},
        {"a.b:80", "a.b", 80, true},
        {"a.b:80", "a.b", 443, false},
        {"a.b:x", "a.b", 80, false},
        {"10.1.2.3", "10.1.2.3", 80, true},
        {"10.1.2.3:81", "10.1.2.3", 80, false},
        {"10.1.2.3", "10.1.2.4", 80, false},
        {"10.1.2.3", "110.1.2.3", 80, false},
        {"10.0.0.0/8", "10.1.2.3", 80, true},
        {"10.0.0.0/8", "11.1.2.3", 80, false},
        {"10.1.2.0/23", "10.1.3.255", 80, true},
        {"10.1.2.0/23", "10.1.4.0", 80, false},
        {"10.1.2.3/32", "10.1.2.3", 80, true},
        {"0.0.0.0/0", "9.9.9.9", 80, true},
        {"0.0.0.0/0", "::1", 80, false},
        {"::/0", "9.9.9.9", 80, true},
        {"10.0.0.0/33", "10.1.2.3", 80, false},
        {"10.0.0.0/x", "10.1.2.3", 80, false},
        {"10.0.0.0/8", "a.b", 80, false},
        {"fd00::/8", "fd12::1", 80, true},
        {"fd00::/8", "fe12::1", 80, false},
        {"fd00::1", "fd00:0::1", 80, true},
        {"[fd00::1]:80", "fd00::1", 80, true},
        {"[fd00::1]:81", "fd00::1", 80, false},
        {"[fd00::1", "fd00::1", 80, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_row(table[i].list,
                   proxy_is_excepted(span_cstr(table[i].list), span_cstr(table[i].host),
                                     table[i].port) == table[i].is_excepted);
}

/* NAME=value, up to a NULL. */
static const char *const *environment;

static const char *get(const char *name)
{
    for (const char *const *i = environment; *i; i++)
        if (strncmp(*i, name, strlen(name)) == 0 && (*i)[strlen(name)] == '=')
            return *i + strlen(name) + 1;
    return NULL;
}

static void test_environment(void **state)
{
    static const struct {
        const char *env[4];
        bool is_tls;
        const char *host, *proxy; /* NULL: refused */
    } table[] = {
        {{NULL}, true, "a.b", ""},
        {{"https_proxy=p", NULL}, true, "a.b", "p"},
        {{"HTTPS_PROXY=p", NULL}, true, "a.b", "p"},
        {{"HTTPS_PROXY=q", "https_proxy=p", NULL}, true, "a.b", "p"},
        {{"https_proxy=", "HTTPS_PROXY=p", NULL}, true, "a.b", "p"},
        {{"https_proxy=p", NULL}, false, "a.b", ""},
        {{"http_proxy=p", NULL}, false, "a.b", "p"},
        {{"http_proxy=p", NULL}, true, "a.b", ""},
        {{"HTTP_PROXY=p", NULL}, false, "a.b", ""}, /* a header of a CGI request */
        {{"ALL_PROXY=p", NULL}, false, "a.b", "p"},
        {{"all_proxy=p", NULL}, true, "a.b", "p"},
        {{"all_proxy=p", "https_proxy=q", NULL}, true, "a.b", "q"},
        {{"https_proxy=p", "NO_PROXY=b", NULL}, true, "a.b", ""},
        {{"https_proxy=p", "no_proxy=b", NULL}, true, "a.b", ""},
        {{"https_proxy=p", "no_proxy=c", "NO_PROXY=b", NULL}, true, "a.b", "p"},
        {{"https_proxy=p", NULL}, true, "localhost", ""},
        {{"https_proxy=p", NULL}, true, "x.localhost", ""},
        {{"https_proxy=p", NULL}, true, "127.9.9.9", ""},
        {{"https_proxy=p", NULL}, true, "::1", ""},
        {{"http_proxy=p", NULL}, false, "unix:/run/x", ""},
        {{"https_proxy=p", NULL}, true, "10.0.0.1", "p"},
        {{"https_proxy=socks5://p", NULL}, true, "a.b", NULL},
        {{"https_proxy=socks5://p", NULL}, true, "127.0.0.1", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct proxy p;
        struct err e = {0};
        int r;

        environment = table[i].env;
        r = proxy_from_env(get, table[i].is_tls, span_cstr(table[i].host), 443, &p, &e);
        assert_row(table[i].env[0], (r == 0) == (table[i].proxy != NULL));
        if (r == 0)
            assert_string_equal(p.host, table[i].proxy);
        else
            assert_non_null(strstr(e.text, "https_proxy"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_long),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
