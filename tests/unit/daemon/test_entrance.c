/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens of the admin listener: where they stand, what is no token, and what is told of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/entrance.h"
#include "harness.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static char path[] = "/tmp/test_entrance_XXXXXX";

static int group_setup(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int group_teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

static struct config config_of(const char *file, const char *env, const char *read_file,
                               const char *read_env)
{
    return (struct config){.admin_token_file = text(file),
                           .admin_token_env = text(env),
                           .admin_read_token_file = text(read_file),
                           .admin_read_token_env = text(read_env),
                           .external_url = text("https://a.example:8443/x/")};
}

static void test_files(void **state)
{
    static const struct {
        const char *text, *token; /* NULL: refused */
    } rows[] = {
        {TOKEN, TOKEN},
        {TOKEN "\n", TOKEN},
        {" " TOKEN "\r\n\n", TOKEN},
        {"0123456789abcde\n", NULL},
        {"", NULL},
        {"\n\n", NULL},
        {TOKEN " " TOKEN, NULL},
        {TOKEN "\n" TOKEN "\n", NULL},
        {TOKEN "\xc3\xa9", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config c = config_of(path, "", "", "");
        struct api_access a = {.session_ns = 7};
        struct err e = {0};
        put(rows[i].text, strlen(rows[i].text));
        int r = entrance_read(&c, &a, &e);
        if (rows[i].token) {
            assert_row(rows[i].text, r == 0 && strcmp(a.write_token, rows[i].token) == 0);
            assert_string_equal(a.origin, "https://a.example:8443");
        } else {
            assert_row(rows[i].text, r == -EINVAL && strstr(e.text, path) && e.hint[0]);
            assert_row(rows[i].text, !strstr(e.text, "0123"));
            assert_int_equal(a.session_ns, 7); /* untouched */
        }
    }
}

static void test_a_zero_byte_is_no_end(void **state)
{
    struct config c = config_of(path, "", "", "");
    struct api_access a;
    struct err e = {0};
    (void)state;
    put(TOKEN "\0x", strlen(TOKEN) + 2);
    assert_int_equal(entrance_read(&c, &a, &e), -EINVAL);
}

static void test_variables(void **state)
{
    struct config c = config_of("", "TEST_ENTRANCE", "", "");
    struct api_access a;
    struct err e = {0};
    (void)state;
    assert_int_equal(unsetenv("TEST_ENTRANCE"), 0);
    assert_int_equal(entrance_read(&c, &a, &e), -ENOENT);
    assert_non_null(strstr(e.text, "TEST_ENTRANCE"));
    assert_int_equal(setenv("TEST_ENTRANCE", TOKEN, 1), 0);
    assert_int_equal(entrance_read(&c, &a, &e), 0);
    assert_string_equal(a.write_token, TOKEN);
    assert_string_equal(a.read_token, "");
    c = config_of("", "", "", "TEST_ENTRANCE");
    assert_int_equal(entrance_read(&c, &a, &e), 0);
    assert_string_equal(a.read_token, TOKEN);
    assert_string_equal(a.write_token, "");
}

static void test_what_cannot_be_meant(void **state)
{
    struct config both = config_of(path, "TEST_ENTRANCE", "", "");
    struct config same = config_of(path, "", "", "TEST_ENTRANCE");
    struct config absent = config_of("/nonexistent/token", "", "", "");
    struct api_access a;
    struct err e = {0};
    (void)state;
    put(TOKEN, strlen(TOKEN));
    assert_int_equal(setenv("TEST_ENTRANCE", TOKEN, 1), 0);
    assert_int_equal(entrance_read(&both, &a, &e), -EINVAL);
    assert_int_equal(entrance_read(&same, &a, &e), -EINVAL);
    assert_int_equal(entrance_read(&absent, &a, &e), -ENOENT);
    assert_non_null(strstr(e.text, "/nonexistent/token"));
}

static void test_what_is_in_force(void **state)
{
    struct api_access given = {.write_token = TOKEN, .open_metrics = true}, got;
    struct entrance e;
    (void)state;
    entrance_init(&e);
    entrance_access(&e, &got);
    assert_string_equal(got.write_token, "");
    entrance_take(&e, &given);
    entrance_access(&e, &got);
    assert_string_equal(got.write_token, TOKEN);
    assert_true(got.open_metrics);
    /* Streams of events go on unless tokens are others. */
    uint64_t number = got.number;
    given.open_metrics = false;
    entrance_take(&e, &given);
    entrance_access(&e, &got);
    assert_int_equal(got.number, number);
    given.read_token[0] = 'r';
    entrance_take(&e, &given);
    entrance_access(&e, &got);
    assert_int_equal(got.number, number + 1);
    entrance_done(&e);
    assert_string_equal(e._now.write_token, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_a_zero_byte_is_no_end),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_what_cannot_be_meant),
        cmocka_unit_test(test_what_is_in_force),
    };
    return cmocka_run_group_tests_name("daemon/entrance", tests, group_setup, group_teardown);
}
