/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/attr.h"
#include "doctor/leaves.h"
#include "guard.h"
#include "memfail.h"

/* "a.b=value;" for each leaf. */
struct seen {
    char text[4096];
    size_t n;
};

static void put(struct seen *s, struct span part, const char *end)
{
    int n = snprintf(s->text + s->n, sizeof(s->text) - s->n, "%.*s%s", SPAN_ARG(part), end);

    s->n += (size_t)n;
    assert_true(s->n < sizeof(s->text));
}

static void on_leaf(void *ctx, const struct span *path, size_t n, struct span value)
{
    struct seen *s = ctx;

    for (size_t i = 0; i < n; i++)
        put(s, path[i], i + 1 < n ? "." : "=");
    put(s, value, ";");
}

static const struct {
    enum leaves_format format;
    const char *text, *leaves;
    int line; /* of the mistake; -1: there is none */
} rows[] = {
    {LEAVES_JSON, "{\"a\": {\"b\": \"x\\u0041\", \"c\": [1, true, null]}}",
     "a.b=xA;a.c.[]=1;a.c.[]=true;a.c.[]=null;", -1},
    {LEAVES_JSON, "{\"a\": 1,}", "a=1;", 1},
    {LEAVES_JSON, "{\"a\": 1\n\n", "a=1;", 3},
    {LEAVES_JSON, "{\"a\": 1} x", "a=1;", 1},
    {LEAVES_JSON, "", "", 1},
    {LEAVES_JSON, "\xef\xbb\xbf{\"a\": 1}", "a=1;", -1},
    {LEAVES_JSONC, "{// one\n\"a\": \"// no\", /* two\n*/ \"b\": [1, 2, ], }",
     "a=// no;b.[]=1;b.[]=2;", -1},
    {LEAVES_JSONC, "{\"a\": \"\\\"/*\", \"b\": 1 /* open", "a=\"/*;b=1;", 1},
    {LEAVES_TOML,
     "a = 1 # c\nb.c = \"x # y\"\n[t]\nd = 'l\\n'\n[t.\"q.r\"]\ne = true\n[[u]]\nf = \"\\t\"\n",
     "a=1;b.c=x # y;t.d=l\\n;t.q.r.e=true;u.f=\t;", -1},
    {LEAVES_TOML, "a = [\n 1, \"]\",\n 2]\nb = 1\n", "a=[;b=1;", -1},
    {LEAVES_TOML, "a = \"\"\"\nx = 1\n\"\"\"\nb = 2\n", "b=2;", -1},
    {LEAVES_TOML, "a = \"\"\"one line\"\"\"\nb = 2\n", "b=2;", -1},
    {LEAVES_TOML, "a = \"\\\"[\"\nb = 2\n", "a=\"[;b=2;", -1},
    {LEAVES_TOML, "a 1\n", "", 1},
    {LEAVES_TOML, "a = # none\n", "", 1},
    {LEAVES_TOML, "\n[a\n", "", 2},
    {LEAVES_TOML, "a = \"x\n", "", 1},
    {LEAVES_YAML, "a: x\nb:\n- A=1\n- B=2\nc:\n  d: 'e'\n", "a=x;b.[]=A=1;b.[]=B=2;c.d=e;", -1},
    {LEAVES_YAML, "? {a: 1, b: 2}\n: c\nd: e\n", "=c;d=e;", 1},
    {LEAVES_YAML, "a: [1\n", NULL, 2},
    {LEAVES_ENV, "# c\n\nA=1\nexport B=\"x y\" # c\nC = z # c\nD=a#b\r\nE=''\n",
     "A=1;B=x y;C=z;D=a#b;E=;", -1},
    {LEAVES_ENV, "A=1\nnot a line\n", "A=1;", 2},
    {LEAVES_ENV, "1A=2\n", "", 1},
    {LEAVES_ENV, "A=\"open\n", "A=\"open;", -1},
    {LEAVES_ENV, "A=\"one\nB 'c\nd\"\nE='f\n'\nG=h\n", "G=h;", -1},
};

static void test_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen s = {.n = 0};
        int line = 99;
        int r = leaves_read(rows[i].format, span_cstr(rows[i].text), on_leaf, &s, &line);

        assert_row(rows[i].text, r == (rows[i].line >= 0 ? -EINVAL : 0));
        if (rows[i].leaves)
            assert_span_equal(rows[i].text, span_of(s.text, s.n), span_cstr(rows[i].leaves));
        if (rows[i].line > 0 && rows[i].format != LEAVES_YAML)
            assert_row(rows[i].text, line == rows[i].line);
    }
}

/* Every beginning of a file is a file: nothing behind it is read. */
static void test_prefixes(void **state)
{
    struct guard g;

    (void)state;
    guard_init(&g, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t all = strlen(rows[i].text);

        for (size_t n = 0; n <= all; n++) {
            struct seen s = {.n = 0};
            int line, r;

            r = leaves_read(rows[i].format, guard_copy(&g, span_of(rows[i].text, n)), on_leaf, &s,
                            &line);
            assert_row(rows[i].text, r == 0 || r == -EINVAL);
        }
    }
    guard_done(&g);
}

static void test_deep(void **state)
{
    char text[256] = "";
    struct seen s = {.n = 0};
    int line;

    (void)state;
    for (int i = 0; i < LEAVES_DEPTH_MAX + 1; i++)
        (void)strncat(text, "{\"a\":", sizeof(text) - strlen(text) - 1);
    (void)strncat(text, "1", sizeof(text) - strlen(text) - 1);
    for (int i = 0; i < LEAVES_DEPTH_MAX + 1; i++)
        (void)strncat(text, "}", sizeof(text) - strlen(text) - 1);
    assert_int_equal(leaves_read(LEAVES_JSON, span_cstr(text), on_leaf, &s, &line), 0);
    assert_int_equal(s.n, 0); /* passed over */
}

static void test_paths(void **state)
{
    struct span path[] = {SPAN("env"), SPAN("A")};

    (void)state;
    assert_true(leaves_is("env.*", path, 2));
    assert_true(leaves_is("env.A", path, 2));
    assert_false(leaves_is("env", path, 2));
    assert_false(leaves_is("env.*.*", path, 2));
    assert_false(leaves_is("*.B", path, 2));
    assert_true(leaves_is("*", path, 1));
    assert_false(leaves_is("*", path, 0));
}

static int attempt(void *ctx)
{
    struct seen s = {.n = 0};
    int line, r = 0;

    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(rows) && r != -ENOMEM; i++)
        r = leaves_read(rows[i].format, span_cstr(rows[i].text), on_leaf, &s, &line);
    return r == -ENOMEM ? r : 0;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),   cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_deep),      cmocka_unit_test(test_paths),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("doctor/leaves", tests, NULL, NULL);
}
