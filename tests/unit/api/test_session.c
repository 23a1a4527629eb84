/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: who may what by which token or cookie; a cookie is worth nothing when anything in it is
 * other than it was made.
 */
#include <string.h>

#include "api/session.h"
#include "harness.h"

#define WRITE "write-token-of-32-characters-0001"
#define READ  "read-token-of-32-characters-00001"

enum { NOW_S = 1700000000 };

static struct api_access access_of(const char *write, const char *read)
{
    struct api_access a = {.session_ns = 3600 * NS_PER_S};
    span_copy(span_cstr(write), a.write_token, sizeof(a.write_token));
    span_copy(span_cstr(read), a.read_token, sizeof(a.read_token));
    return a;
}

static void test_tokens(void **state)
{
    static const struct {
        const char *write, *read, *shown;
        enum session_role role;
    } rows[] = {
        {WRITE, READ, WRITE, SESSION_WRITE},    {WRITE, READ, READ, SESSION_READ},
        {WRITE, "", WRITE, SESSION_WRITE},      {WRITE, "", "", SESSION_NONE},
        {"", READ, "", SESSION_NONE},           {"", READ, READ, SESSION_READ},
        {WRITE, READ, WRITE "x", SESSION_NONE}, {WRITE, READ, "write", SESSION_NONE},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_access a = access_of(rows[i].write, rows[i].read);
        assert_row(rows[i].shown, session_role_of(&a, span_cstr(rows[i].shown)) == rows[i].role);
        assert_true(session_is_needed(&a));
    }
    struct api_access none = access_of("", "");
    assert_false(session_is_needed(&none));
}

static void test_a_cookie_is_read_again(void **state)
{
    struct api_access a = access_of(WRITE, READ);
    (void)state;
    for (enum session_role r = SESSION_READ; r < SESSION_ROLE_COUNT_; r++) {
        char value[SESSION_VALUE_MAX], other[SESSION_VALUE_MAX];
        assert_int_equal(session_new(&a, r, NOW_S, value), 0);
        assert_int_equal(session_new(&a, r, NOW_S, other), 0);
        assert_string_not_equal(value, other);
        struct session s = session_read(&a, span_cstr(value), NOW_S + 3599);
        assert_int_equal(s.role, r);
        assert_int_equal(s.way, SESSION_COOKIE);
        assert_int_equal(s.expires_s, NOW_S + 3600);
        assert_int_equal(strlen(s.csrf), SESSION_MAC_HEX);
        assert_null(strstr(value, s.csrf)); /* who sees the cookie has not the other secret */
        assert_int_equal(session_read(&a, span_cstr(value), NOW_S + 3600).role, SESSION_NONE);
    }
}

static void test_any_other_character_spoils_it(void **state)
{
    struct api_access a = access_of(WRITE, READ);
    char value[SESSION_VALUE_MAX];
    (void)state;
    assert_int_equal(session_new(&a, SESSION_WRITE, NOW_S, value), 0);
    size_t n = strlen(value);
    for (size_t i = 0; i < n; i++) {
        char c = value[i];
        value[i] = c == '1' ? '2' : '1';
        struct session s = session_read(&a, span_of(value, n), NOW_S);
        assert_int_equal(s.role, SESSION_NONE);
        assert_string_equal(s.csrf, "");
        value[i] = c;
        assert_int_equal(session_read(&a, span_of(value, i), NOW_S).role, SESSION_NONE);
    }
    value[n] = '0';
    assert_int_equal(session_read(&a, span_of(value, n + 1), NOW_S).role, SESSION_NONE);
}

/* Who may look cannot make a session of who may change, nor keep one when the token is another. */
static void test_sessions_belong_to_their_token(void **state)
{
    struct api_access a = access_of(WRITE, READ);
    struct api_access swapped = access_of(READ, WRITE);
    struct api_access other = access_of("another-token-of-32-characters-01", READ);
    struct api_access none = access_of("", READ);
    char value[SESSION_VALUE_MAX];
    (void)state;
    assert_int_equal(session_new(&swapped, SESSION_WRITE, NOW_S, value), 0);
    assert_int_equal(session_read(&a, span_cstr(value), NOW_S).role, SESSION_NONE);
    assert_int_equal(session_new(&a, SESSION_WRITE, NOW_S, value), 0);
    assert_int_equal(session_read(&other, span_cstr(value), NOW_S).role, SESSION_NONE);
    assert_int_equal(session_read(&none, span_cstr(value), NOW_S).role, SESSION_NONE);
    assert_true(session_new(&none, SESSION_WRITE, NOW_S, value) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_a_cookie_is_read_again),
        cmocka_unit_test(test_any_other_character_spoils_it),
        cmocka_unit_test(test_sessions_belong_to_their_token),
    };
    return cmocka_run_group_tests_name("api/session", tests, NULL, NULL);
}
