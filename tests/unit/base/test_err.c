/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "harness.h"

static void test_set_and_hint(void **state)
{
    struct err err = {0};
    (void)state;
    err_hint(&err, "old hint");
    assert_int_equal(err_set(&err, -EINVAL, "bad value \"%s\" at %d:%d", "x", 3, 4), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.text, "bad value \"x\" at 3:4");
    assert_string_equal(err.hint, ""); /* the old hint does not fit the new text */
    err_hint(&err, "try %d", 5);
    assert_string_equal(err.hint, "try 5");
    assert_string_equal(err.text, "bad value \"x\" at 3:4");
}

static void test_without_a_place(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, -ENOENT, "nobody reads this"), -ENOENT);
    err_hint(NULL, "nor this");
}

static void test_cut(void **state)
{
    struct err err;
    char text[2000];
    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)err_set(&err, -EINVAL, "%s", text);
    err_hint(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void test_str(void **state)
{
    static const struct {
        int code;
        const char *expect;
    } rows[] = {
        {0, "success"},
        {-ECONNREFUSED, "connection refused"},
        {-ETIMEDOUT, "timed out"},
        {-EMSGSIZE, "too large"},
        {-EAGAIN, "temporarily unavailable"},
        {-ENOTSUP, "not supported"},
        {-EXDEV, "Invalid cross-device link"}, /* the C library's text */
        {-99999, "unknown error"},
        {EINVAL, "unknown error"}, /* codes are negative */
        {INT_MIN, "unknown error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(err_str(rows[i].code), rows[i].expect);
}

/* Every value that our code returns has a text of our own: lower case. */
static void test_ours_are_lower_case(void **state)
{
    static const int codes[] = {EINVAL,  ENOMEM,     EPROTO, EMSGSIZE,     ETIMEDOUT,
                                ENOBUFS, EPIPE,      ERANGE, ECONNRESET,   ENOSPC,
                                EMFILE,  EADDRINUSE, EACCES, EHOSTUNREACH, ENETUNREACH,
                                EBADMSG, EOVERFLOW,  ENOENT, EISDIR};
    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        const char *text = err_str(-codes[i]);
        assert_true(islower((unsigned char)text[0]));
        assert_true(text[strlen(text) - 1] != '.');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_hint),
        cmocka_unit_test(test_without_a_place),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_str),
        cmocka_unit_test(test_ours_are_lower_case),
    };
    return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
