/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/tree.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "config_text.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"

static int parse(struct span text, struct yaml_node **ret)
{
    err_list_init(&errs);
    return yaml_read(text, "f.yaml", ret, &errs);
}

/* --- the tree --- */

/* "{a@1:1=1,b@2:1=[x@2:4,'y'@2:7]}" */
static void write_tree(const struct yaml_node *node, struct buf *out)
{
    int r = 0;

    if (node->kind == YAML_NODE_SCALAR)
        r = buf_printf(out, "%s%.*s%s", node->is_plain ? "" : "'", SPAN_ARG(yaml_span(node)),
                       node->is_plain ? "" : "'");
    else if (node->kind == YAML_NODE_BAD)
        r = buf_printf(out, "BAD");
    else
        r = buf_printf(out, node->kind == YAML_NODE_LIST ? "[" : "{");
    assert_int_equal(r, 0);
    for (const struct yaml_node *c = node->first; c; c = c->next) {
        write_tree(c, out);
        if (c->value) {
            assert_int_equal(buf_printf(out, "="), 0);
            write_tree(c->value, out);
        }
        if (c->next)
            assert_int_equal(buf_printf(out, ","), 0);
    }
    if (node->kind == YAML_NODE_LIST || node->kind == YAML_NODE_MAP)
        r = buf_printf(out, "%s%s", node->kind == YAML_NODE_LIST ? "]" : "}",
                       node->is_cut ? "..." : "");
    assert_int_equal(r, 0);
    assert_int_equal(buf_printf(out, "@%d:%d", node->line, node->column), 0);
}

static void test_trees(void **state)
{
    static const struct {
        const char *text;
        int r;
        size_t n_errs;
        const char *tree;
    } rows[] = {
        {"", 0, 0, ""},
        {"# nothing\n", 0, 0, ""},
        {"---\n...\n", 0, 0, ""},
        {"~", 0, 0, ""},
        {"a", 0, 0, "a@1:1"},
        {"''", 0, 0, "''@1:1"},
        {"a: 1\n", 0, 0, "{a@1:1=1@1:4}@1:1"},
        {"a:\n- x\n- 'y'\nb: {c: |\n  d}\n", -EBADMSG, 1,
         "{a@1:1=[x@2:3,'y'@3:3]@2:1,b@4:1={c@4:5}...@4:4}...@1:1"},
        {"a:\n  b:\n", 0, 0, "{a@1:1={b@2:3=@2:5}@2:3}@1:1"},
        {"\xc3\xa4: \xc3\xb6\xc3\xb6  # c\n", 0, 0, "{\xc3\xa4@1:1=\xc3\xb6\xc3\xb6@1:4}@1:1"},
        {"a: 1\na: 2\na: 3\n", -EINVAL, 2, "{a@1:1=1@1:4,BAD@2:1=2@2:4,BAD@3:1=3@3:4}@1:1"},
        {"a: *x\nb: &x [*x]\n", -EINVAL, 3, "{a@1:1=BAD@1:4,b@2:1=[BAD@2:8]@2:4}@1:1"},
        {"a: [1, 2\n", -EBADMSG, 1, "{a@1:1=[1@1:5,2@1:8]...@1:4}...@1:1"},
        {"a: 1\n  - b\n", 0, 0, "{a@1:1=1 - b@1:4}@1:1"},
        {"a: 1\n---\nb: 1\n", -EBADMSG, 1, "{a@1:1=1@1:4}@1:1"},
        {"--- \n--- \n", -EBADMSG, 1, ""},
        {"? {x: 1}\n: 2\n", -EINVAL, 1, "{BAD@1:3=2@2:3}@1:1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct yaml_node *root = NULL;
        struct buf out;
        int r = parse(span_cstr(rows[i].text), &root);

        buf_init(&out, 4096);
        if (root)
            write_tree(root, &out);
        /* Children of a refused key are not looked at; leave them out of the comparison. */
        if (!strchr(rows[i].text, '?'))
            assert_span_equal(rows[i].text, buf_span(&out), span_cstr(rows[i].tree));
        assert_row(rows[i].text, r == rows[i].r);
        assert_row(rows[i].text, errs.n == rows[i].n_errs);
        buf_done(&out);
        yaml_free(root);
    }
}

static void test_null(void **state)
{
    static const struct {
        const char *text;
        bool is_null;
    } rows[] = {{"[]", false}, {"''", false}, {"\"~\"", false}, {"0", false}, {"nil", false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct yaml_node *root = NULL;

        assert_int_equal(parse(span_cstr(rows[i].text), &root), 0);
        assert_row(rows[i].text, root && yaml_is_null(root) == rows[i].is_null);
        yaml_free(root);
    }
}

/* --- hostile texts: bounded time and memory, a message, no leak --- */

struct repeat {
    const char *name, *before, *unit, *after;
    size_t n;
};

static void make_text(struct buf *out, const struct repeat *rep)
{
    assert_int_equal(buf_append(out, span_cstr(rep->before)), 0);
    for (size_t i = 0; i < rep->n; i++)
        assert_int_equal(buf_append(out, span_cstr(rep->unit)), 0);
    assert_int_equal(buf_append(out, span_cstr(rep->after)), 0);
}

static void test_hostile(void **state)
{
    static const struct repeat rows[] = {
        {"brackets", "a: ", "[", "", 500000},
        {"braces", "a: ", "{", "", 500000},
        {"braces with keys", "", "{a: ", "", 200000},
        {"dashes", "", "- ", "", 300000},
        {"question marks", "", "? ", "", 300000},
        {"colons", "", ": ", "", 300000},
        {"list items", "models:\n", "- a\n", "", 100000},
        {"flow items", "models: [", "a, ", "]", 100000},
        {"anchors", "models: [", "&a a, ", "]", 50000},
        {"aliases", "models: [&a a, ", "*a, ", "]", 50000},
        {"tags", "models: [", "!!str a, ", "]", 50000},
        {"same keys", "", "workers: 1\n", "", 50000},
        {"one plain scalar", "data_dir: ", "x", "", 1000000},
        {"many lines in one scalar", "data_dir: a\n", "  x\n", "", 200000},
        {"quoted scalar", "data_dir: \"", "\\x41", "\"", 200000},
        {"open quote", "data_dir: \"", "x\n", "", 300000},
        {"block scalar", "data_dir: |\n", "  x\n", "", 200000},
        {"comments", "", "# x\n", "", 200000},
        {"spaces", "a:", " ", "1", 1000000},
        {"empty lines", "a: 1", "\n", "", 1000000},
        {"documents", "", "--- a\n", "", 100000},
        {"long key", "", "k", ": 1", 900000},
        {"directives", "", "%TAG !a! tag:a,2000:\n", "--- a\n", 20000},
        {"NUL bytes", "a: 1\n", "\x01", "", 10000},
        {"carriage returns", "a: 1", "\r", "b", 100000},
        {"too large", "# ", "x", "", YAML_BYTES_MAX},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t n_live = mem_live_blocks();
        struct config *c = NULL;
        struct buf text;

        buf_init(&text, (size_t)4 << 20);
        make_text(&text, &rows[i]);
        assert_row(rows[i].name, load_span(buf_span(&text), true, &c) == -EINVAL);
        assert_row(rows[i].name, errs.n > 0 && c == NULL);
        buf_done(&text);
        assert_row(rows[i].name, mem_live_blocks() == n_live);
    }
}

/* Each level names the one before twice: 2^20 values if it were expanded. */
static void test_alias_bomb(void **state)
{
    struct yaml_node *root = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    assert_int_equal(buf_printf(&text, "a0: &a0 [x]\n"), 0);
    for (int i = 1; i <= 20; i++)
        assert_int_equal(buf_printf(&text, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1), 0);
    assert_int_equal(parse(buf_span(&text), &root), -EINVAL);
    assert_int_equal(errs.n + errs.n_dropped, 61);
    assert_string_equal(errs.items[0].err.text, "anchor \"&a0\" is not supported");
    yaml_free(root);
    buf_done(&text);
}

static void test_limits(void **state)
{
    struct yaml_node *root = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)2 << 20);
    /* The root and the nodes below it: exactly the limit, then one more. */
    assert_int_equal(buf_append(&text, SPAN("[")), 0);
    for (int i = 0; i < YAML_NODES_MAX - 1; i++)
        assert_int_equal(buf_append(&text, SPAN("a, ")), 0);
    assert_int_equal(buf_append(&text, SPAN("]")), 0);
    assert_int_equal(parse(buf_span(&text), &root), 0);
    assert_int_equal(root->n, YAML_NODES_MAX - 1);
    root = yaml_free(root);
    buf_truncate(&text, buf_len(&text) - 1);
    assert_int_equal(buf_append(&text, SPAN("a]")), 0);
    assert_int_equal(parse(buf_span(&text), &root), -EBADMSG);
    assert_string_equal(errs.items[0].err.text, "more than 10000 keys and values");
    root = yaml_free(root);

    /* Bytes: comments count. */
    buf_clear(&text);
    for (int i = 0; i < YAML_BYTES_MAX / 4; i++)
        assert_int_equal(buf_append(&text, SPAN("# x\n")), 0);
    assert_int_equal(parse(buf_span(&text), &root), 0);
    assert_null(root);
    assert_int_equal(buf_append(&text, SPAN("\n")), 0);
    assert_int_equal(parse(buf_span(&text), &root), -EBADMSG);
    assert_string_equal(errs.items[0].err.text, "larger than 1024 KiB");
    buf_done(&text);
}

/* Every prefix of a text, in front of an inaccessible page; and random damage. */
static const char sample[] = "upstreams:\n  - {name: \"v\\x41\", url: http://h:1/v1}\n"
                             "timeouts:\n  connect: 5s # c\n  'idle': |-\n    7s\n"
                             "models: [a, 'b', \"c\"]\n"
                             "metrics: {bounds: {llm_ttft_seconds: [1s, 2s]}}\n";

static void load_any(struct span text)
{
    struct config *c = NULL;
    int r = load_span(text, true, &c);

    assert_int_not_equal(r, -ENOMEM);
    if (r == 0)
        assert_true(err_list_is_empty(&errs));
    else
        assert_false(err_list_is_empty(&errs));
    config_unref(c);
}

static void test_prefixes_and_damage(void **state)
{
    struct span whole = span_of(sample, sizeof(sample) - 1);
    char text[sizeof(sample)];
    struct guard guard;
    struct rng rng;

    (void)state;
    guard_init(&guard, 4096);
    for (size_t n = 0; n <= whole.n; n++)
        load_any(guard_copy(&guard, span_of(whole.p, n)));
    assert_true(err_list_is_empty(&errs));
    rng_seed(&rng, 3);
    for (int i = 0; i < 3000; i++) {
        static const char bytes[] = "\t\n -:[]{}&*!|>'\"%@#,?\\\0\xff";

        memcpy(text, sample, sizeof(sample));
        for (int j = 0; j < 3; j++)
            text[rng_u64(&rng) % whole.n] = bytes[rng_u64(&rng) % (sizeof(bytes) - 1)];
        load_any(guard_copy(&guard, span_of(text, whole.n)));
    }
    guard_done(&guard);
}

static int attempt_parse(void *ctx)
{
    struct yaml_node *root = NULL;
    int r = parse(span_cstr(ctx), &root);

    yaml_free(root);
    return r;
}

static void test_no_memory(void **state)
{
    char text[sizeof(sample)];

    (void)state;
    memcpy(text, sample, sizeof(sample));
    assert_true(memfail_each(attempt_parse, text) > 20);
    assert_null(yaml_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),     cmocka_unit_test(test_null),
        cmocka_unit_test(test_hostile),   cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_prefixes_and_damage),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("daemon/config_yaml", tests, NULL, NULL);
}
