/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a value and where they stand in the file, in every style of YAML. */
#include "harness.h"
#include "yaml/tree.h"

static struct err_list errs;
static const struct yaml_options options = {1 << 16, 1000, 100, true};

/* The value of the first key, or of the first item. */
static struct yaml_node *read_value(const char *text, const struct yaml_node **ret)
{
    struct yaml_node *root = NULL;

    err_list_init(&errs);
    assert_row(text, yaml_read_with(span_cstr(text), "f", &options, &root, &errs) == 0);
    *ret = root->first->value ? root->first->value : root->first;
    return root;
}

static void test_places(void **state)
{
    static const struct {
        const char *text, *at; /* the byte of the value where this begins; "$": its end */
        int line, column;
    } rows[] = {
        {"e: sum(x) by b\n", "by", 1, 11},
        {"e: sum\n", "sum", 1, 4},
        {"e: sum\n", "$", 1, 7},
        {"- x ==1\n", "==", 1, 5},
        {"e: sum(x)\n   by   z # no\n", "z", 2, 9},
        {"e: sum(x)\n\n   by z\n", "z", 3, 7},
        {"e: 'a{b=''c''} >'\n", "'}", 1, 12},
        {"e: 'a{b=''c''} >'\n", "c", 1, 11},
        {"e: 'a{b=''c''} >'\n", ">", 1, 16},
        {"e: \"a{b=\\\"c\\\"} >\"\n", "c", 1, 11},
        {"e: \"a{b=\\\"c\\\"} >\"\n", "\"} ", 1, 12},
        {"e: \"a{b=\\\"c\\\"} >\"\n", ">", 1, 16},
        {"e: \"\\x61bc \\u0064e\"\n", "e", 1, 18},
        {"e: \"a\\nb\\tc\"\n", "b", 1, 8},
        {"e: \"a\\nb\\tc\"\n", "c", 1, 11},
        {"e: \"a \\\n  b c\"\n", "c", 2, 5},
        {"e: \"a\\x20b\\u000ac\"\n", "b", 1, 10},
        {"e: \"a\\x20b\\u000ac\"\n", "c", 1, 17},
        {"e: |\n  sum(x)\n  by z\n", "z", 3, 6},
        {"e: |2\n    sum(x)\n  by z\n", "sum", 2, 5},
        {"e: |- # why\n  sum(x)\n    by z\n", "z", 3, 8},
        {"e: >\n  sum(x)\n  by z\n", "z", 3, 6},
        {"e: >-\n  a\n\n\n  b\n", "b", 5, 3},
        {"e: |\n  a\n\n\n", "$", 2, 4},
        {"e: &x a == b\n", "==", 1, 9},
        {"e: &x\n  'a == b'\n", "==", 2, 6},
        {"e: \xc3\xa4\xc3\xb6 == b\n", "==", 1, 7},
        {"\xef\xbb\xbf"
         "e: a == b\n",
         "==", 1, 6},
        {"e: a\r\n  == b\r\n", "==", 2, 3},
        {"e:\n\n  a == b\n", "==", 3, 5},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct yaml_node *value;
        struct yaml_node *root = read_value(rows[i].text, &value);
        bool is_end = strcmp(rows[i].at, "$") == 0;
        size_t at = is_end ? value->n : span_find(yaml_span(value), span_cstr(rows[i].at));
        int line = 0, column = 0;

        assert_row(rows[i].text, is_end || at < value->n);
        assert_row(rows[i].text, yaml_place(span_cstr(rows[i].text), value, at, &line, &column));
        if (line != rows[i].line || column != rows[i].column)
            print_error("%s: %d:%d\n", rows[i].text, line, column);
        assert_row(rows[i].text, line == rows[i].line && column == rows[i].column);
        yaml_free(root);
    }
}

static void test_another_text_is_noticed(void **state)
{
    const struct yaml_node *value;
    struct yaml_node *root = read_value("e: sum(x)\n", &value);
    int line, column;

    (void)state;
    assert_false(yaml_place(SPAN("e: max(x)\n"), value, 4, &line, &column));
    assert_int_equal(line, 1);
    assert_int_equal(column, 4);
    assert_false(yaml_place(SPAN("e:"), value, 4, &line, &column));
    assert_false(yaml_place(SPAN(""), value, 0, &line, &column));
    yaml_free(root);
}

/* Cut anywhere, the text is another one or too short; nothing behind it is read. */
static void test_every_prefix(void **state)
{
    static const char text[] = "e: \"a{b=\\\"c\\\"} \\x41 \\u0042\\\n  \\\\ >\"\n";
    const struct yaml_node *value;
    struct yaml_node *root = read_value(text, &value);

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++)
        for (size_t at = 0; at <= value->n; at++) {
            int line = 0, column = 0;
            (void)yaml_place(span_of(text, n), value, at, &line, &column);
            assert_true(line >= 1 && line <= 2 && column >= 1);
        }
    yaml_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_another_text_is_noticed),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
