/* SPDX-License-Identifier: Apache-2.0 */
/* policy/path: base URLs with and without a version, parameters taken out, names put in. */
#include "harness.h"

#include <errno.h>

#include "base/attr.h"
#include "policy/path.h"

static void targets_become_paths(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *want;
    } rows[] = {
        {"/v1/models", "/v1/models"},
        {"http://host/v1/models?a=b", "/v1/models?a=b"},
        {"HTTP://host:80", "/"},
        {"*", "*"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_span_equal(rows[i].target, path_of_target(span_cstr(rows[i].target)),
                          span_cstr(rows[i].want));
}

static void paths_are_repaired(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *want;
        enum path_repair repair;
    } rows[] = {
        {"/v1/chat/completions", "/v1/chat/completions", PATH_AS_IT_IS},
        {"/v1/v1/chat/completions", "/v1/chat/completions", PATH_DOUBLED},
        {"/v1/v1/v1/x?y", "/v1/x?y", PATH_DOUBLED},
        {"/v1/v1", "/v1/v1", PATH_AS_IT_IS},
        {"/v1/v1beta/x", "/v1/v1beta/x", PATH_AS_IT_IS},
        {"/chat/completions", "/v1/chat/completions", PATH_BARE},
        {"/chat/completions/", "/v1/chat/completions/", PATH_BARE},
        {"/models?limit=3", "/v1/models?limit=3", PATH_BARE},
        {"/messages", "/v1/messages", PATH_BARE},
        {"/messages/count_tokens", "/v1/messages/count_tokens", PATH_BARE},
        {"/models/x", "/models/x", PATH_AS_IT_IS},
        {"/openai/chat/completions", "/openai/chat/completions", PATH_AS_IT_IS},
        {"/health", "/health", PATH_AS_IT_IS},
        {"*", "*", PATH_AS_IT_IS},
        {"", "", PATH_AS_IT_IS},
    };
    struct buf room;
    buf_init(&room, 100);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span path = span_cstr(rows[i].path);
        enum path_repair repair;
        assert_int_equal(path_repair(&path, &room, &repair), 0);
        assert_span_equal(rows[i].path, path, span_cstr(rows[i].want));
        assert_row(rows[i].path, repair == rows[i].repair);
    }
    buf_done(&room);
    buf_init(&room, 5);
    struct span path = SPAN("/models");
    enum path_repair repair;
    assert_int_equal(path_repair(&path, &room, &repair), -EMSGSIZE);
    buf_done(&room);
}

static void parameters_are_taken_out(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *want;
    } rows[] = {
        {"/x", "/x"},
        {"/x?", "/x?"},
        {"/x?a=1", "/x?a=1"},
        {"/x?key=1", "/x"},
        {"/x?key", "/x"},
        {"/x?a=1&key=2&b=3", "/x?a=1&b=3"},
        {"/x?key=1&a=2&key=3", "/x?a=2"},
        {"/x?keys=1&monkey=2", "/x?keys=1&monkey=2"},
        {"/x?a=key=1", "/x?a=key=1"},
    };
    struct buf room;
    buf_init(&room, 100);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span path = span_cstr(rows[i].path);
        assert_int_equal(path_drop_parameter(&path, SPAN("key"), &room), 0);
        assert_span_equal(rows[i].path, path, span_cstr(rows[i].want));
    }
    buf_done(&room);
}

static void names_are_put_in(void **state)
{
    (void)state;
    struct span path = SPAN("/v1beta/models/NAME:generateContent?alt=sse");
    struct buf room;
    buf_init(&room, 100);
    assert_int_equal(path_replace(&path, 15, 4, SPAN("a b/c?#%\xc3\xa4"), &room), 0);
    assert_span_equal("escaped", path,
                      SPAN("/v1beta/models/a%20b/c%3F%23%25%C3%A4:generateContent?alt=sse"));
    buf_done(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_become_paths),
        cmocka_unit_test(paths_are_repaired),
        cmocka_unit_test(parameters_are_taken_out),
        cmocka_unit_test(names_are_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
