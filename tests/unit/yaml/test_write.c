/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>

#include "base/rng.h"
#include "memfail.h"
#include "yaml/tree.h"
#include "yaml/write.h"

static void write_all(struct yamlw *w)
{
    yamlw_begin_map(w);
    yamlw_key(w, "plain");
    yamlw_str(w, SPAN("a/b-c_d.e1"));
    yamlw_key(w, "quoted");
    yamlw_str(w, SPAN("a: \"b\"\\\n\t\x7f é"));
    yamlw_key(w, "words");
    yamlw_begin_list(w);
    yamlw_str(w, SPAN("yes"));
    yamlw_str(w, SPAN("12"));
    yamlw_str(w, SPAN(""));
    yamlw_str(w, SPAN("~"));
    yamlw_bool(w, true);
    yamlw_i64(w, -5);
    yamlw_secret(w);
    yamlw_begin_list(w);
    yamlw_str(w, SPAN("inner"));
    yamlw_end_list(w);
    yamlw_end_list(w);
    yamlw_key(w, "maps");
    yamlw_begin_list(w);
    yamlw_begin_map(w);
    yamlw_key(w, "a");
    yamlw_begin_map(w);
    yamlw_key(w, "b");
    yamlw_i64(w, 1);
    yamlw_end_map(w);
    yamlw_key_str(w, SPAN("c d"));
    yamlw_begin_list(w);
    yamlw_end_list(w);
    yamlw_end_map(w);
    yamlw_begin_map(w);
    yamlw_end_map(w);
    yamlw_end_list(w);
    yamlw_key(w, "empty");
    yamlw_begin_map(w);
    yamlw_end_map(w);
    yamlw_end_map(w);
}

static void test_shape(void **state)
{
    static const char want[] = "plain: a/b-c_d.e1\n"
                               "quoted: \"a: \\\"b\\\"\\\\\\n\\x09\\x7f é\"\n"
                               "words:\n"
                               "  - \"yes\"\n"
                               "  - \"12\"\n"
                               "  - \"\"\n"
                               "  - \"~\"\n"
                               "  - true\n"
                               "  - -5\n"
                               "  - <secret>\n"
                               "  - \n"
                               "    - inner\n"
                               "maps:\n"
                               "  - a:\n"
                               "      b: 1\n"
                               "    \"c d\": []\n"
                               "  - {}\n"
                               "empty: {}\n";
    struct buf b;
    struct yamlw w;
    (void)state;
    buf_init(&b, 10000);
    yamlw_init(&w, &b);
    write_all(&w);
    assert_int_equal(yamlw_error(&w), 0);
    assert_span_equal("shape", buf_span(&b), span_cstr(want));
    buf_done(&b);
}

/* Any text, as a key and as a value, reads back as itself. */
static void test_texts_read_back(void **state)
{
    static const char *const pieces[] = {"a",  "1",  ":",  ": ", "\"", "'", "\\", "\n", " ",
                                         "#",  " #", "-",  "- ", "{",  "]", ",",  "~",  "null",
                                         "\t", "é",  "漢", "%",  "@",  "&", "*",  "!",  "<"};
    static const char odd[] =
        "\x7f\xc2\x80\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbe";
    static struct err_list errs;
    struct rng rng;
    (void)state;
    rng_seed(&rng, 3);
    for (int i = 0; i < 3000; i++) {
        char text[128] = "";
        struct yaml_node *root = NULL;
        struct yamlw w;
        struct buf b;
        for (uint64_t n = rng_below(&rng, 6); n > 0; n--)
            strncat(text, pieces[rng_below(&rng, ARRAY_LEN(pieces))], 8);
        if (i % 10 == 0)
            strncat(text, odd, 32);
        buf_init(&b, 10000);
        yamlw_init(&w, &b);
        yamlw_begin_map(&w);
        yamlw_key_str(&w, span_cstr(text));
        yamlw_begin_list(&w);
        yamlw_str(&w, span_cstr(text));
        yamlw_end_list(&w);
        yamlw_end_map(&w);
        err_list_init(&errs);
        assert_row(text, yaml_read(buf_span(&b), "f", &root, &errs) == 0);
        assert_span_equal(text, yaml_span(root->first), span_cstr(text));
        assert_span_equal(text, yaml_span(root->first->value->first), span_cstr(text));
        assert_row(text, !yaml_is_null(root->first->value->first));
        yaml_free(root);
        buf_done(&b);
    }
}

static void test_errors_stay(void **state)
{
    struct yamlw w;
    struct buf b;
    (void)state;
    buf_init(&b, 60);
    yamlw_init(&w, &b);
    write_all(&w);
    assert_int_equal(yamlw_error(&w), -EMSGSIZE);
    buf_done(&b);
    buf_init(&b, 10000);
    yamlw_init(&w, &b);
    for (int i = 0; i <= YAMLW_DEPTH_MAX; i++)
        yamlw_begin_list(&w);
    assert_int_equal(yamlw_error(&w), -E2BIG);
    yamlw_fail(&w, -EIO);
    assert_int_equal(yamlw_error(&w), -E2BIG);
    buf_done(&b);
}

static int attempt(void *ctx)
{
    struct yamlw w;
    struct buf b;
    (void)ctx;
    buf_init(&b, 10000);
    yamlw_init(&w, &b);
    write_all(&w);
    buf_done(&b);
    return yamlw_error(&w);
}

static void test_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_texts_read_back),
        cmocka_unit_test(test_errors_stay),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
