/* SPDX-License-Identifier: Apache-2.0 */
#include "promql/script.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>

#include "base/file.h"
#include "base/limits.h"
#include "harness.h"
#include "memfail.h"
#include "promql/ast.h"

/* The last failure, as text. */
struct seen {
    int n, line;
    char query[200], wanted[400], got[400];
};

static void on_failure(void *ctx, const struct script_failure *f)
{
    struct seen *seen = ctx;

    seen->n++;
    seen->line = f->line;
    (void)span_copy(f->query, seen->query, sizeof(seen->query));
    (void)span_copy(f->wanted, seen->wanted, sizeof(seen->wanted));
    (void)span_copy(f->got, seen->got, sizeof(seen->got));
}

#define LOAD "load 1m\n  m{a=\"1\"} 1+1x10\n  m{a=\"2\"} 2+2x10\n\n"

static void check(const char *script, uint64_t n_passed, uint64_t n_failed, struct seen *seen)
{
    struct err err = {.text = ""};
    *seen = (struct seen){0};
    struct script_report report = {.on_failure = on_failure, .ctx = seen};
    int r = script_run(span_cstr(script), &report, &err);
    if (r != 0)
        fail_msg("%s: %s", script, err.text);
    if (report.n_passed != n_passed || report.n_failed != n_failed)
        fail_msg("%s: %d passed, %d failed; wanted %s, got %s", script, (int)report.n_passed,
                 (int)report.n_failed, seen->wanted, seen->got);
    assert_int_equal(seen->n, n_failed);
}

static void test_passes(void **state)
{
    static const char *const scripts[] = {
        LOAD "eval instant at 1m m\n  m{a=\"1\"} 2\n  m{a=\"2\"} 4\n",
        LOAD "eval range from 0 to 2m step 1m sum(m)\n  {} 3 6 9\n",
        LOAD "eval instant at 1m 1 + 1\n  2\n",
        LOAD "eval_fail instant at 1m m + on() m\n",
        LOAD "eval_fail instant at 1m m + on() m\n  expected_fail_regexp many-to-many .*\n",
        LOAD "eval instant at 1m m + on() m\n expect fail regex: many.to.many\n",
        LOAD "eval_ordered instant at 1m sort_desc(m)\n  m{a=\"2\"} 4\n  m{a=\"1\"} 2\n",
        LOAD "eval instant at 1m sort(m)\n  expect ordered\n  m{a=\"1\"} 2\n  m{a=\"2\"} 4\n",
        LOAD "eval instant at 1m \"it's\"\n  expect string `it's`\n",
        LOAD "eval instant at 2m m{a=\"1\"}[2m]\n  expect range vector from 1m to 2m step 1m\n"
             "  m{a=\"1\"} 2 3\n",
        LOAD "eval instant at 1m rate(m[1m])\n  expect no_warn\n",
        LOAD "eval instant at 1m quantile(2, m)\n  expect warn regex: between 0 and 1\n  {} +Inf\n",
        LOAD "eval_warn instant at 1m quantile(2, m)\n  {} +Inf\n",
        LOAD "clear\neval instant at 1m m\n",
        "# a comment\n\nload 1m\n  m 1 _ 3 stale _x2 5x1\n\n"
        "eval range from 0 to 7m step 1m m\n  m 1 1 3 _ _ _ 5 5\n",
        "load 1m\n  m 1-0.5x2 Inf -Inf NaN .5 1e3\n\n"
        "eval range from 0 to 7m step 1m m\n  m 1 0.5 0 Inf -Inf NaN 0.5 1000\n",
        "load 1m\n  h {{count:1 sum:1 buckets:[1]}}+{{count:1 sum:2 buckets:[1]}}x2\n\n"
        "eval instant at 2m h\n  h {{count:3 sum:5 buckets:[3] counter_reset_hint:not_reset}}\n",
        "load 1m\n  h {{count:3 sum:9 buckets:[3]}}-{{count:1 sum:2 buckets:[1]}}x2\n\n"
        "eval instant at 2m h\n  h {{count:1 sum:5 buckets:[1]}}\n",
        "load_with_nhcb 1m\n  h_bucket{le=\"1\"} 1\n  h_bucket{le=\"2\"} 3\n  "
        "h_bucket{le=\"+Inf\"} "
        "4\n  h_count 4\n  h_sum 7\n\n"
        "eval instant at 0 h\n  h {{schema:-53 count:4 sum:7 custom_values:[1 2] buckets:[1 2 "
        "1]}}\n",
        "load 1m\n  m@st -1m+0sx2\n  m 1 2 3\n\neval instant at 2m m\n  m 3\n",
        "load 1m\n  m 1\n  m 2\n\neval instant at 0 m\n  m 2\n", /* the last one counts */
        "eval instant at 0 vector(1e-320)\n  {} 1e-320\n",
    };
    struct seen seen;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        check(scripts[i], 1, 0, &seen);
}

static void test_failures(void **state)
{
    static const struct {
        const char *script;
        int line;
        const char *query, *wanted, *got;
    } cases[] = {
        {LOAD "eval instant at 1m m{a=\"1\"}\n  m{a=\"1\"} 3\n", 5,
         "instant at 60000ms: m{a=\"1\"}", "m{a=\"1\"} 3", "m{a=\"1\"} 2"},
        {LOAD "eval instant at 1m m{a=\"1\"}\n", 5, "instant at 60000ms: m{a=\"1\"}",
         "no such series", "m{a=\"1\"} 2"},
        {LOAD "eval instant at 1m m{a=\"3\"}\n  m{a=\"3\"} 1\n", 5,
         "instant at 60000ms: m{a=\"3\"}", "m{a=\"3\"} 1", "no such series"},
        {LOAD "eval range from 0 to 2m step 1m sum(m)\n  {} 3 7 9\n", 5,
         "range from 0ms to 120000ms step 60000ms: sum(m)", "{} 3 7 9", "{} 3 6 9"},
        {LOAD "eval range from 0 to 1m step 1m sum(m)\n  {} 3\n", 5,
         "range from 0ms to 60000ms step 60000ms: sum(m)", "{} 3", "{} 3 6"},
        {LOAD "eval range from 0 to 1m step 1m sum(m)\n  {} 3 6 9\n", 5,
         "range from 0ms to 60000ms step 60000ms: sum(m)", "{} 3 6 9", "{} 3 6"},
        {LOAD "eval instant at 1m 2\n  3\n", 5, "instant at 60000ms: 2", "scalar 3", "scalar 2"},
        {LOAD "eval instant at 1m 2\n  {} 2\n", 5, "instant at 60000ms: 2", "a vector", "scalar 2"},
        {LOAD "eval instant at 1m vector(2)\n  2\n", 5, "instant at 60000ms: vector(2)", "a scalar",
         "a vector"},
        {LOAD "eval instant at 1m sort(m)\n  expect ordered\n  m{a=\"2\"} 4\n  m{a=\"1\"} 2\n", 5,
         "instant at 60000ms: sort(m)", "at place 2: m{a=\"1\"} 2", "at place 1: m{a=\"1\"} 2"},
        {LOAD "eval instant at 1m \"x\"\n  expect string \"y\"\n", 5, "instant at 60000ms: \"x\"",
         "\"y\"", "\"x\""},
        {LOAD "eval instant at 1m 1\n  expect fail\n", 5, "instant at 60000ms: 1", "an error",
         "a result"},
        {LOAD "eval instant at 1m m\n  expect warn\n", 5, "instant at 60000ms: m", "a warning",
         "no warning"},
        {LOAD "eval instant at 1m m\n  expect info msg: hello\n", 5, "instant at 60000ms: m",
         "the info hello", "no info"},
        {LOAD "eval instant at 1m m +\n", 5, "instant at 60000ms: m +", "a result",
         "1:4: parse error: unexpected end of input"},
        {"load 1m\n  h {{count:1 sum:1 buckets:[1]}}\n\neval instant at 0 h\n"
         "  h {{count:1 sum:1 buckets:[2]}}\n",
         4, "instant at 0ms: h", "h {{schema:0 count:1 sum:1 buckets:[2]}}",
         "h {{schema:0 count:1 sum:1 buckets:[1]}}"},
        {"load 1m\n  h {{counter_reset_hint:gauge}}\n\neval instant at 0 h\n"
         "  h {{counter_reset_hint:unknown}}\n",
         4, "instant at 0ms: h", "h {{schema:0 count:0 sum:0}}",
         "h {{schema:0 count:0 sum:0 counter_reset_hint:gauge}}"},
        {"load 1m\n  m 1\n\neval instant at 0 m\n  m {{}}\n", 4, "instant at 0ms: m",
         "m {{schema:0 count:0 sum:0}}", "m 1"},
    };
    struct seen seen;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check(cases[i].script, 0, 1, &seen);
        assert_int_equal(seen.line, cases[i].line);
        assert_string_equal(seen.query, cases[i].query);
        assert_string_equal(seen.wanted, cases[i].wanted);
        assert_string_equal(seen.got, cases[i].got);
    }
}

/* A failure does not end the script. */
static void test_goes_on(void **state)
{
    struct seen seen;
    (void)state;
    check(LOAD "eval instant at 1m 2\n  3\n\neval instant at 1m 2\n  2\n\n"
               "eval instant at 1m m - m\n  {a=\"1\"} 0\n  {a=\"2\"} 0\n",
          2, 1, &seen);
}

static void test_wrong_scripts(void **state)
{
    static const struct {
        const char *script, *text;
    } cases[] = {
        {"\nsave 1m\n", "2: there is no command \"save\" (clear, load, eval)"},
        {"load\n", "1: load wants a duration, not \"\""},
        {"load_all 1m\n", "1: there is no command \"load_all\" (load, load_with_nhcb)"},
        {"load 1y1z\n", "1: load wants a duration, not \"1y1z\""},
        {"load 1m\n  m 1 2y\n", "2: cannot read the values from \"y\" on"},
        {"load 1m\n  m 1+2\n", "2: cannot read the values from \"1+2\" on"},
        {"load 1m\n  m 1x\n", "2: cannot read the values from \"1x\" on"},
        {"load 1m\n  m {{buckets:[1}}\n", "2: cannot read the histogram from \"}}\" on"},
        {"load 1m\n  m 1x9999999999\n", "2: more than 1000000 values in one line"},
        {"load 1m\n  m _x9999999999\n", "2: more than 1000000 values in one line"},
        {"load 1m\n  m 1+1x9999999999\n", "2: more than 1000000 values in one line"},
        {"load 1m\n  a 1x999998\n  b 1x999998\n  c 1x999998\n  d 1x999998\n  e 1x999998\n  f "
         "1x10\n",
         "7: more than 5000000 values in one command"},
        {"load 1m\n  m 1 2\n\nload 1m\n  m 2\n",
         "5: m: a sample at 0 ms or later is loaded already"},
        {"load 1m\n  m {{schema:1}}+{{schema:0}}x2\n",
         "2: histograms of schema 1 and 0 cannot be combined"},
        {"load 1m\n  m {{}}+{{schema:-53 custom_values:[1]}}x2\n",
         "2: histograms of schema 0 and -53 cannot be combined"},
        {"load_with_nhcb 1m\n  h_bucket{le=\"1\"} 2\n  h_bucket{le=\"2\"} 1\n",
         "3: counts of a classic histogram decrease with le"},
        {"eval 1\n", "1: eval wants \"instant at TIME QUERY\" or \"range from TIME to TIME step "
                     "DURATION QUERY\""},
        {"eval_hard instant at 1m 1\n", "1: there is no command \"eval_hard\""},
        {"eval instant at x 1\n", "1: eval instant wants \"at TIME\""},
        {"eval instant at 1m\n", "1: there is nothing to evaluate"},
        {"eval range from 0 to 1m\n", "1: a range is \"from TIME to TIME step DURATION\""},
        {"eval range from 1m to 0 step 1m 1\n", "1: the range ends before it starts"},
        {"eval range from 0 to 1m step 0 1\n", "1: the step is not a length of time"},
        {"eval instant at 1m 1\n  expect nothing\n",
         "2: expect what? fail, warn, no_warn, info, no_info, ordered, string or range vector"},
        {"eval instant at 1m 1\n  expect warn says: x\n",
         "2: behind \"expect warn\" stands msg: or regex:"},
        {"eval instant at 1m 1\n  expect warn regex: (\n",
         "2: error parsing regexp: missing closing parenthesis at offset 9 of `.*(?:().*`"},
        {"eval instant at 1m 1\n  expect warn\n  expect no_warn\n",
         "3: warn and no_warn exclude each other"},
        {"eval instant at 1m 1\n  expect info\n  expect no_info\n",
         "3: info and no_info exclude each other"},
        {"eval instant at 1m 1\n  expect fail\n  expect fail\n",
         "3: there is more than one \"expect fail\""},
        {"eval instant at 1m 1\n  expect string x\n", "2: expect string wants a quoted string"},
        {"eval instant at 1m m\n  m 1 2\n",
         "2: an instant evaluation has one value; \"expect range vector\" tells of more"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct script_report report = {0};
        struct err err = {.text = ""};
        int r = script_run(span_cstr(cases[i].script), &report, &err);
        assert_row(cases[i].script, r == -EINVAL || r == -E2BIG);
        assert_string_equal(err.text, cases[i].text);
    }
}

/* A file of tests/data/promql. */
static void run_own(const char *path, struct buf *text)
{
    struct seen seen = {0};
    struct script_report report = {.on_failure = on_failure, .ctx = &seen};
    struct err err = {.text = ""};
    size_t n = buf_len(text);
    assert_int_equal(file_read(path, 4 * MIB, text), 0);
    if (script_run(span_from(buf_span(text), n), &report, &err) != 0)
        fail_msg("%s:%s", path, err.text);
    if (report.n_failed > 0)
        fail_msg("%s:%d: %s\nwanted %s\ngot %s\n(%d failed)", path, seen.line, seen.query,
                 seen.wanted, seen.got, (int)report.n_failed);
    assert_true(report.n_passed > 0);
}

static void assert_is_tested(struct span text, const char *name, const char *behind)
{
    char call[80];
    snprintf(call, sizeof(call), "%s%s", name, behind);
    assert_row(call, span_find(text, span_cstr(call)) < text.n);
}

static bool is_grouped(enum aggregate_op op)
{
    return op != AGG_LIMITK && op != AGG_LIMIT_RATIO && op != AGG_BOTTOMK;
}

/* The scripts of our own: each evaluation passes, and nothing of the language is left out. */
static void test_own_scripts(void **state)
{
    glob_t files;
    struct buf text;
    (void)state;
    assert_int_equal(glob("tests/data/promql/*.test", 0, NULL, &files), 0);
    buf_init(&text, 16 * MIB);
    for (size_t i = 0; i < files.gl_pathc; i++)
        run_own(files.gl_pathv[i], &text);
    for (size_t i = 0; i < n_function_infos; i++)
        if (!function_infos[i].is_unsupported)
            assert_is_tested(buf_span(&text), function_infos[i].name, "(");
    for (size_t i = 0; i < OP_COUNT_; i++)
        assert_is_tested(buf_span(&text), binary_ops[i].text, " ");
    for (size_t i = 0; i < AGG_COUNT_; i++)
        assert_is_tested(buf_span(&text), aggregate_ops[i].text,
                         is_grouped((enum aggregate_op)i) ? " by (" : "(");
    buf_done(&text);
    globfree(&files);
}

static int run_without_memory(void *ctx)
{
    struct script_report report = {0};
    struct err err;
    int r = script_run(span_cstr(ctx), &report, &err);
    assert_true(r != 0 || (report.n_passed == 4 && report.n_failed == 0));
    return r;
}

static void test_allocation_failures(void **state)
{
    static char script[] =
        "load_with_nhcb 1m\n  h_bucket{le=\"1\"} 1x5\n  h_sum 2x5\n\nload 1m\n  m {{}}x3 _ 1 2\n\n"
        "eval instant at 2m h\n  h {{schema:-53 count:1 sum:2 custom_values:[1] buckets:[1]}}\n\n"
        "eval instant at 5m m\n  expect no_warn\n  m 1\n\n"
        "eval instant at 5m m[1m]\n  expect range vector from 5m to 5m step 1m\n  m 1\n\n"
        "eval instant at 1m m +\n  expect fail regex: unexpected (.*)\n";
    (void)state;
    assert_in_range(memfail_each(run_without_memory, script), 30, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),      cmocka_unit_test(test_failures),
        cmocka_unit_test(test_goes_on),     cmocka_unit_test(test_wrong_scripts),
        cmocka_unit_test(test_own_scripts), cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("promql/script", tests, NULL, NULL);
}
