/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/mem.h"
#include "gateway/gateway.h"
#include "harness.h"
#include "memfail.h"

static void test_upstream_parse(void **state)
{
    static const struct {
        const char *url;
        const char *host; /* NULL: refused */
        uint16_t port;
        const char *authority, *prefix;
    } table[] = {
        {"http://h", "h", 80, "h", ""},
        {"http://h/", "h", 80, "h", ""},
        {"http://h:8000", "h", 8000, "h:8000", ""},
        {"http://h:8000/v1", "h", 8000, "h:8000", ""},
        {"http://h:8000/v1/", "h", 8000, "h:8000", ""},
        {"http://h/base", "h", 80, "h", "/base"},
        {"http://h/base///", "h", 80, "h", "/base"},
        {"http://h/base/v1", "h", 80, "h", "/base"},
        {"http://h/xv1", "h", 80, "h", "/xv1"},
        {"http://my-host_1.example.com/a/b", "my-host_1.example.com", 80, "my-host_1.example.com",
         "/a/b"},
        {"http://127.0.0.1:1", "127.0.0.1", 1, "127.0.0.1:1", ""},
        {"http://[::1]", "::1", 80, "[::1]", ""},
        {"http://[::1]:65535/x", "::1", 65535, "[::1]:65535", "/x"},
        {"https://h", "h", 443, "h", ""},
        {"https://h:8443/base/v1", "h", 8443, "h:8443", "/base"},
        {"https://[::1]", "::1", 443, "[::1]", ""},
        {"unix:/run/s", "unix:/run/s", 80, "localhost", ""},
        {"unix:/run/s:/base/v1/", "unix:/run/s", 80, "localhost", "/base"},
        {"unix:/run/s:/", "unix:/run/s", 80, "localhost", ""},
        {"", NULL, 0, NULL, NULL},
        {"h:8000", NULL, 0, NULL, NULL},
        {"https://", NULL, 0, NULL, NULL},
        {"unix:", NULL, 0, NULL, NULL},
        {"unix:run/s", NULL, 0, NULL, NULL},
        {"unix:/run/s:/a b", NULL, 0, NULL, NULL},
        {"ftp://h", NULL, 0, NULL, NULL},
        {"http://", NULL, 0, NULL, NULL},
        {"http:///x", NULL, 0, NULL, NULL},
        {"http://:80", NULL, 0, NULL, NULL},
        {"http://h:0", NULL, 0, NULL, NULL},
        {"http://h:65536", NULL, 0, NULL, NULL},
        {"http://h:80:90", NULL, 0, NULL, NULL},
        {"http://h:http", NULL, 0, NULL, NULL},
        {"http://user:pw@h", NULL, 0, NULL, NULL},
        {"http://h/x?y", NULL, 0, NULL, NULL},
        {"http://h/x#y", NULL, 0, NULL, NULL},
        {"http://h/a b", NULL, 0, NULL, NULL},
        {"http://h/a\r\nX: y", NULL, 0, NULL, NULL},
        {"http://h/\xc3\xa4", NULL, 0, NULL, NULL},
        {"http://h%41", NULL, 0, NULL, NULL},
        {"http://[::1", NULL, 0, NULL, NULL},
        {"http://[]", NULL, 0, NULL, NULL},
        {"http://[127.0.0.1.5]", NULL, 0, NULL, NULL},
        {"http://[::1]x", NULL, 0, NULL, NULL},
        {"http://h/"
         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "x"
         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
         NULL, 0, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct gateway_upstream u = {.port = 4711};
        struct err e = {0};
        int r = gateway_upstream_parse("name", table[i].url, &u, &e);

        if (!table[i].host) {
            assert_row(table[i].url, r == -EINVAL);
            assert_row(table[i].url, u.port == 4711); /* untouched */
            assert_row(table[i].url, e.text[0] != '\0' && e.hint[0] != '\0');
            continue;
        }
        assert_row(table[i].url, r == 0);
        assert_string_equal(u.name, "name");
        assert_string_equal(u.host, table[i].host);
        assert_string_equal(u.authority, table[i].authority);
        assert_string_equal(u.prefix, table[i].prefix);
        assert_int_equal(u.port, table[i].port);
        assert_int_equal(u.is_tls, strncmp(table[i].url, "https:", 6) == 0);
    }
}

/* Credentials are never repeated. */
static void test_no_secrets_in_errors(void **state)
{
    static const char *const urls[] = {"http://user:secret@h", "https://user:secret@h",
                                       "user:secret@h", "http://h:x/user:secret@h"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct gateway_upstream u;
        struct err e = {0};

        assert_int_equal(gateway_upstream_parse("n", urls[i], &u, &e), -EINVAL);
        assert_null(strstr(e.text, "secret"));
        assert_null(strstr(e.hint, "secret"));
    }
}

static void test_proxy(void **state)
{
    struct proxy none = {.port = 0}, some = {.host = "p", .port = 3128};
    struct gateway_upstream u;
    (void)state;
    assert_int_equal(gateway_upstream_parse("n", "http://h:81/base", &u, NULL), 0);
    gateway_upstream_set_proxy(&u, &none);
    assert_string_equal(u.prefix, "/base");
    gateway_upstream_set_proxy(&u, &some);
    assert_string_equal(u.prefix, "http://h:81/base");
    assert_string_equal(u.proxy.host, "p");
    assert_int_equal(gateway_upstream_parse("n", "https://h/base", &u, NULL), 0);
    gateway_upstream_set_proxy(&u, &some); /* in a tunnel nothing changes */
    assert_string_equal(u.prefix, "/base");
}

static void test_references(void **state)
{
    int64_t n_live = mem_live_blocks();
    struct gateway_config *c = gateway_config_new();
    (void)state;
    assert_non_null(c);
    assert_ptr_equal(gateway_config_ref(c), c);
    assert_null(gateway_config_unref(c));
    assert_int_equal(mem_live_blocks(), n_live + 1);
    assert_null(gateway_config_unref(c));
    assert_int_equal(mem_live_blocks(), n_live);
    assert_null(gateway_config_unref(NULL));
}

static int attempt(void *ctx)
{
    struct gateway_config *c = gateway_config_new();
    (void)ctx;
    gateway_config_unref(c);
    return c ? 0 : -ENOMEM;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upstream_parse), cmocka_unit_test(test_no_secrets_in_errors),
        cmocka_unit_test(test_proxy),          cmocka_unit_test(test_references),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
