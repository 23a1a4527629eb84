/* SPDX-License-Identifier: Apache-2.0 */
#include "io/addr.h"

#include <errno.h>

#include "harness.h"

/* A path of 107 bytes. */
#define UNIX_LONGEST                                                                               \
    "unix:/"                                                                                       \
    "234567890123456789012345678901234567890123456789012345678901234567890123456789012345678"      \
    "9012345678901234567"

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        const char *expect; /* formatted again; NULL: refused */
        bool is_loopback;
    } table[] = {
        {"127.0.0.1:8080", "127.0.0.1:8080", true},
        {"127.255.0.9:1", "127.255.0.9:1", true},
        {"0.0.0.0:65535", "0.0.0.0:65535", false},
        {":8080", "0.0.0.0:8080", false},
        {"10.1.2.3:0", "10.1.2.3:0", false},
        {"localhost:80", "127.0.0.1:80", true},
        {"[::1]:8080", "[::1]:8080", true},
        {"[::]:80", "[::]:80", false},
        {"[2001:db8:0:0:0:0:0:1]:443", "[2001:db8::1]:443", false},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535",
         "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", false},
        {"unix:/run/x.sock", "unix:/run/x.sock", true},
        {"unix:/", "unix:/", true},
        {UNIX_LONGEST, UNIX_LONGEST, true},
        {UNIX_LONGEST "x", NULL, false},
        {"unix:", NULL, false},
        {"unix:run/x.sock", NULL, false},
        {"unix://run/x.sock", "unix://run/x.sock", true},
        {"UNIX:/run/x.sock", NULL, false},
        {"", NULL, false},
        {":", NULL, false},
        {"127.0.0.1", NULL, false},
        {"127.0.0.1:", NULL, false},
        {"127.0.0.1:65536", NULL, false},
        {"127.0.0.1:-1", NULL, false},
        {"127.0.0.1:+1", NULL, false},
        {"127.0.0.1: 80", NULL, false},
        {"127.0.0.1:80x", NULL, false},
        {"127.0.0.1:99999999999999999999", NULL, false},
        {"127.0.0.256:80", NULL, false},
        {"example.com:80", NULL, false},
        {"LOCALHOST:80", NULL, false},
        {"[::1]", NULL, false},
        {"[::1]80", NULL, false},
        {"[::1", NULL, false},
        {"[]:80", NULL, false},
        {"[", NULL, false},
        {"[:80", NULL, false},
        {"::1", NULL, false},
        {"[::1%lo]:80", NULL, false},
        {"1111111111111111111111111111111111111111111111111111111111111111111:80", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct addr a = {.len = 12345};
        struct err e = {0};
        char text[ADDR_TEXT_MAX];
        int r = addr_parse(span_cstr(table[i].text), &a, &e);

        if (!table[i].expect) {
            assert_row(table[i].text, r == -EINVAL);
            assert_row(table[i].text, a.len == 12345); /* untouched */
            continue;
        }
        assert_row(table[i].text, r == 0);
        addr_format(&a, text);
        assert_string_equal(text, table[i].expect);
        assert_row(table[i].text, addr_is_loopback(&a) == table[i].is_loopback);
    }
}

static void test_from_ip(void **state)
{
    static const struct {
        const char *host;
        const char *expect; /* NULL: a name */
    } table[] = {
        {"127.0.0.1", "127.0.0.1:7"}, {"::1", "[::1]:7"}, {"::ffff:1.2.3.4", "[::ffff:1.2.3.4]:7"},
        {"localhost", NULL},          {"", NULL},         {"1.2.3", NULL},
        {"1.2.3.4.", NULL},           {"[::1]", NULL},    {"01.2.3.4", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct addr a;
        char text[ADDR_TEXT_MAX];
        bool is_ip = addr_from_ip(span_cstr(table[i].host), 7, &a);

        assert_row(table[i].host, is_ip == (table[i].expect != NULL));
        if (!is_ip)
            continue;
        addr_format(&a, text);
        assert_string_equal(text, table[i].expect);
        assert_int_equal(addr_port(&a), 7);
    }
}

static void test_from_literal(void **state)
{
    struct addr a, b;
    (void)state;
    assert_true(addr_from_literal(SPAN("unix:/a/b"), 7, &a));
    assert_true(addr_is_unix(&a));
    assert_string_equal(addr_unix_path(&a), "/a/b");
    assert_int_equal(addr_port(&a), 0);
    assert_true(addr_from_literal(SPAN("unix:/a/c"), 7, &b));
    assert_false(addr_is_equal(&a, &b));
    assert_true(addr_from_literal(SPAN("::1"), 7, &a));
    assert_true(addr_from_literal(SPAN("0:0:0:0:0:0:0:1"), 7, &b));
    assert_true(addr_is_equal(&a, &b));
    assert_true(addr_from_literal(SPAN("::1"), 8, &b));
    assert_false(addr_is_equal(&a, &b));
    assert_false(addr_is_unix(&a));
    assert_false(addr_from_literal(SPAN("localhost"), 7, &a));
    assert_false(addr_from_unix(span_of("unix:/a\0b", 9), &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_from_ip),
        cmocka_unit_test(test_from_literal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
