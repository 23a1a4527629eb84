/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anchors, aliases and merge keys: what they stand for, and that a small file cannot stand for a
 * large one.
 */
#include <errno.h>

#include "base/buf.h"
#include "harness.h"
#include "memfail.h"
#include "yaml/tree.h"

static struct err_list errs;

static const struct yaml_options options = {1 << 16, 1000, 100, true};

static int parse(const char *text, struct yaml_node **ret)
{
    err_list_init(&errs);
    return yaml_read_with(span_cstr(text), "f.yml", &options, ret, &errs);
}

/* {a:1,b:[x,y]}; keys that have said what they had to are left out. */
static void write_tree(const struct yaml_node *node, struct buf *out)
{
    const char *before = "";
    int r;

    if (node->kind == YAML_NODE_SCALAR || node->kind == YAML_NODE_BAD) {
        r = buf_printf(out, "%s", node->kind == YAML_NODE_BAD ? "BAD" : node->text);
        assert_int_equal(r, 0);
        return;
    }
    assert_int_equal(buf_printf(out, node->kind == YAML_NODE_LIST ? "[" : "{"), 0);
    for (const struct yaml_node *c = node->first; c; c = c->next) {
        if (node->kind == YAML_NODE_MAP && c->kind == YAML_NODE_BAD)
            continue;
        assert_int_equal(buf_printf(out, "%s", before), 0);
        before = ",";
        write_tree(c, out);
        if (!c->value)
            continue;
        assert_int_equal(buf_printf(out, ":"), 0);
        write_tree(c->value, out);
    }
    assert_int_equal(buf_printf(out, node->kind == YAML_NODE_LIST ? "]" : "}"), 0);
}

static void test_trees(void **state)
{
    static const struct {
        const char *text, *tree;
    } rows[] = {
        {"a: &x 1\nb: *x\n", "{a:1,b:1}"},
        {"a: &x [1, {c: 2}]\nb: *x\n", "{a:[1,{c:2}],b:[1,{c:2}]}"},
        {"- &k key\n- *k : v\n", "[key,{key:v}]"},
        {"- &a 1\n- &a 2\n- *a\n", "[1,2,2]"}, /* the last one above */
        {"- &a {x: &b 1}\n- *b\n- *a\n", "[{x:1},1,{x:1}]"},
        {"d: &d {a: 1, b: 2}\ne: {<<: *d, b: 3}\n", "{d:{a:1,b:2},e:{b:3,a:1}}"},
        {"d: &d {a: 1}\ne: {b: 3, <<: *d}\nf: *d\n", "{d:{a:1},e:{b:3,a:1},f:{a:1}}"},
        /* The first of a list wins. */
        {"- &d {a: 1}\n- &e {a: 2, b: 2}\n- <<: [*d, *e]\n  c: 3\n",
         "[{a:1},{a:2,b:2},{c:3,a:1,b:2}]"},
        {"- &d {a: 1}\n- &e {<<: *d, b: 2}\n- <<: *e\n", "[{a:1},{b:2,a:1},{b:2,a:1}]"},
        /* As long a chain as one likes. */
        {"- &a {a: 1}\n- &b {<<: *a}\n- &c {<<: *b}\n- &d {<<: *c}\n- &e {<<: *d}\n"
         "- &f {<<: *e}\n- &g {<<: *f}\n- &h {<<: *g}\n- &i {<<: *h}\n- &j {<<: *i}\n"
         "- &k {<<: *j}\n- {<<: *k}\n",
         "[{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1},{a:1}]"},
        {"'<<': 1\n", "{<<:1}"}, /* in quotes it is a key like others */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct yaml_node *root = NULL;
        struct buf out;

        buf_init(&out, 1000);
        assert_row(rows[i].text, parse(rows[i].text, &root) == 0);
        write_tree(root, &out);
        assert_span_equal(rows[i].text, buf_span(&out), span_cstr(rows[i].tree));
        buf_done(&out);
        yaml_free(root);
    }
}

static void test_copies_have_the_places_of_what_they_copy(void **state)
{
    struct yaml_node *root = NULL;
    const struct yaml_node *copy;

    (void)state;
    assert_int_equal(parse("a: &x\n  - |\n    t\nb: *x\n", &root), 0);
    copy = root->first->next->value;
    assert_int_equal(copy->kind, YAML_NODE_LIST);
    assert_int_equal(copy->first->line, 2);
    assert_int_equal(copy->first->column, 5);
    assert_false(copy->first->is_plain);
    yaml_free(root);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text;
        int r, line, column;
        const char *says, *hint;
    } rows[] = {
        {"a: *x\n", -EINVAL, 1, 4, "alias \"*x\" has no anchor above it", "write &x in front"},
        {"a: *x\nb: &x 1\n", -EINVAL, 1, 4, "no anchor above it", ""},
        {"a: &x [1, *x]\n", -EINVAL, 1, 11, "stands inside of its own anchor", "itself"},
        {"a: &x {b: {c: *x}}\n", -EINVAL, 1, 15, "inside of its own anchor", ""},
        {"<<: 1\na: 1\n", -EINVAL, 1, 5, "\"<<\" wants a mapping", "*defaults"},
        {"<<: [{a: 1}, 2]\n", -EINVAL, 1, 14, "\"<<\" wants a mapping", ""},
        {"a: &x 1\n<<: *x\n", -EINVAL, 1, 4, "\"<<\" wants a mapping", ""},
        {"<<: {a: 1}\n<<: {a: 1}\n", -EINVAL, 2, 1, "stands twice", ""},
        {"a: !!str 1\n", -EINVAL, 1, 4, "tag \"tag:yaml.org,2002:str\" is not", ""},
        {"a: &x [[[[[1]]]]]\nb: [[[[[*x]]]]]\n", -EBADMSG, 1, 12, "levels of nesting", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct yaml_node *root = NULL;

        assert_row(rows[i].text, parse(rows[i].text, &root) == rows[i].r);
        assert_row(rows[i].text, errs.n == 1);
        assert_row(rows[i].text, strstr(errs.items[0].err.text, rows[i].says) != NULL);
        assert_row(rows[i].text, strstr(errs.items[0].err.hint, rows[i].hint) != NULL);
        assert_int_equal(errs.items[0].line, rows[i].line);
        assert_int_equal(errs.items[0].column, rows[i].column);
        yaml_free(root);
    }
}

/* a: 10 values; each further line ten times the one before. */
static void test_a_bomb_ends_at_the_limit(void **state)
{
    struct yaml_node *root = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 10000);
    assert_int_equal(buf_printf(&text, "l0: &l0 [1,1,1,1,1,1,1,1,1,1]\n"), 0);
    for (int i = 1; i < 9; i++) {
        assert_int_equal(buf_printf(&text, "l%d: &l%d [*l%d", i, i, i - 1), 0);
        for (int j = 1; j < 10; j++)
            assert_int_equal(buf_printf(&text, ",*l%d", i - 1), 0);
        assert_int_equal(buf_printf(&text, "]\n"), 0);
    }
    err_list_init(&errs);
    assert_int_equal(yaml_read_with(buf_span(&text), "f", &options, &root, &errs), -EBADMSG);
    assert_non_null(strstr(errs.items[0].err.text, "more than 1000 keys and values"));
    yaml_free(root);
    buf_done(&text);
}

static void test_a_bomb_of_one_long_text(void **state)
{
    struct yaml_node *root = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 16);
    assert_int_equal(buf_printf(&text, "- &a %01000d\n", 7), 0);
    for (int i = 0; i < 70; i++)
        assert_int_equal(buf_append(&text, SPAN("- *a\n")), 0);
    err_list_init(&errs);
    assert_int_equal(yaml_read_with(buf_span(&text), "f", &options, &root, &errs), -EBADMSG);
    assert_non_null(strstr(errs.items[0].err.text, "aliases make more than 64 KiB"));
    yaml_free(root);
    buf_done(&text);
}

static void test_many_anchors_and_many_keys(void **state)
{
    struct yaml_options wide = {1 << 16, 100000, 100, true};
    struct yaml_node *root = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 16);
    for (int i = 0; i < 1001; i++)
        assert_int_equal(buf_printf(&text, "- &a%d 1\n", i), 0);
    err_list_init(&errs);
    assert_int_equal(yaml_read_with(buf_span(&text), "f", &wide, &root, &errs), -EBADMSG);
    assert_non_null(strstr(errs.items[0].err.text, "more than 1000 anchors"));
    root = yaml_free(root);

    buf_clear(&text);
    for (int i = 0; i < 101; i++)
        assert_int_equal(buf_printf(&text, "k%d: 1\n", i), 0);
    err_list_init(&errs);
    assert_int_equal(yaml_read_with(buf_span(&text), "f", &wide, &root, &errs), -EBADMSG);
    assert_non_null(strstr(errs.items[0].err.text, "more than 100 keys"));
    assert_int_equal(root->n, 100);
    root = yaml_free(root);

    buf_clear(&text);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&text, "%sk%d: 1", i ? ", " : "- &a {", i), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&text, "%sj%d: 1", i ? ", " : "}\n- {<<: *a, ", i), 0);
    assert_int_equal(buf_append(&text, SPAN("}\n")), 0);
    err_list_init(&errs);
    assert_int_equal(yaml_read_with(buf_span(&text), "f", &wide, &root, &errs), -EBADMSG);
    assert_non_null(strstr(errs.items[0].err.text, "merged ones included"));
    yaml_free(root);
    buf_done(&text);
}

static int attempt(void *ctx)
{
    struct yaml_node *root = NULL;
    int r = parse("d: &d {a: 1, b: &x [1, 2]}\ne: {<<: *d, c: *x}\n", &root);

    (void)ctx;
    assert_true(r == 0 || (r == -ENOMEM && !root));
    yaml_free(root);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_copies_have_the_places_of_what_they_copy),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_a_bomb_ends_at_the_limit),
        cmocka_unit_test(test_a_bomb_of_one_long_text),
        cmocka_unit_test(test_many_anchors_and_many_keys),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
