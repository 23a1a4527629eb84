/* SPDX-License-Identifier: Apache-2.0 */
/* The status for a terminal, and the choice of a language. */
#include "api/status_text.h"

#include "base/attr.h"
#include "harness.h"
#include "memfail.h"

static void test_language(void **state)
{
    static const struct {
        const char *accept;
        enum language want;
    } rows[] = {
        {"", LANGUAGE_EN},
        {"zh", LANGUAGE_ZH},
        {"zh-CN,zh;q=0.9,en;q=0.8", LANGUAGE_ZH},
        {"ZH-tw", LANGUAGE_ZH},
        {"en-US,en;q=0.9,zh;q=0.8", LANGUAGE_EN},
        {"en;q=0.5, zh;q=0.6", LANGUAGE_ZH},
        {"en;q=0.55,zh;q=0.6", LANGUAGE_ZH},
        {"zh;q=0", LANGUAGE_EN},
        {"zh;q=0,en;q=0", LANGUAGE_EN},
        {"en,zh", LANGUAGE_EN}, /* the first of equals */
        {"zh,en", LANGUAGE_ZH},
        {"fr,de;q=0.9", LANGUAGE_EN},
        {"fr, zh;q=0.1", LANGUAGE_ZH},
        {"*", LANGUAGE_EN},
        {"*;q=0.1, zh", LANGUAGE_ZH},
        {"zhx", LANGUAGE_EN},
        {"zh;q=x", LANGUAGE_EN},
        {",,;,zh;;", LANGUAGE_ZH},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].accept, language_choose(span_cstr(rows[i].accept)) == rows[i].want);
}

static const char *const json =
    "{\"version\":\"1\",\"state\":\"serving\",\"config_file\":\"\",\"x\":\"a\\\"b\","
    "\"listeners\":[{\"address\":\"a:1\",\"for\":\"clients\",\"tls\":true},{\"address\":\"b:2\"}],"
    "\"last_reload\":{\"at\":\"t\",\"changed\":[\"k\",\"l\"],\"mistakes\":[{\"where\":\"f\","
    "\"line\":3,\"deep\":{\"a\":[1]}}],\"deep\":{\"a\":1}},\"upstreams\":[],\"none_yet\":null}";

static void test_lines(void **state)
{
    static const struct {
        enum language language;
        const char *want;
    } rows[] = {
        {LANGUAGE_EN, "version                 1\n"
                      "state                   serving\n"
                      "configuration\n"
                      "x                       a\"b\n"
                      "listeners\n"
                      "  a:1                   for: clients, TLS: yes\n"
                      "  b:2\n"
                      "last reload\n"
                      "  at                    t\n"
                      "  changed\n"
                      "    k\n"
                      "    l\n"
                      "  mistakes\n"
                      "    f                   line: 3\n"
                      "  deep\n"
                      "upstreams\n"
                      "none_yet                none\n"},
        {LANGUAGE_ZH, "版本                    1\n"
                      "状态                    服务中\n"
                      "配置文件\n"
                      "x                       a\"b\n"
                      "监听地址\n"
                      "  a:1                   用途: 客户端, TLS: 是\n"
                      "  b:2\n"
                      "上次重新加载\n"
                      "  时间                  t\n"
                      "  变更\n"
                      "    k\n"
                      "    l\n"
                      "  配置错误\n"
                      "    f                   行: 3\n"
                      "  deep\n"
                      "上游\n"
                      "none_yet                无\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out;

        buf_init(&out, 64 * 1024);
        assert_int_equal(status_text_append(span_cstr(json), rows[i].language, &out), 0);
        assert_span_equal(language_tag(rows[i].language), buf_span(&out), span_cstr(rows[i].want));
        buf_done(&out);
    }
}

static void test_long_labels(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1024);
    assert_int_equal(status_text_line(SPAN("abcd"), 4, SPAN("x"), &out), 0);
    assert_int_equal(status_text_line(SPAN("abc"), 4, SPAN("x"), &out), 0);
    assert_int_equal(status_text_line(SPAN("abc"), 4, SPAN(""), &out), 0);
    assert_span_equal("lines", buf_span(&out), SPAN("abcd x\nabc x\nabc\n"));
    buf_done(&out);
}

static int attempt(void *ctx)
{
    struct buf out;
    int r;

    (void)ctx;
    buf_init(&out, 64 * 1024);
    r = status_text_append(span_cstr(json), LANGUAGE_EN, &out);
    buf_done(&out);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_labels),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("api/status_text", tests, NULL, NULL);
}
