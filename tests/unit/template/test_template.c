/* SPDX-License-Identifier: Apache-2.0 */
#include "template/template.h"

#include <stdio.h>

#include "alert.h"
#include "base/mem.h"
#include "memfail.h"

struct row {
    const char *text, *want;
};

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)                                                   \
    alert_check((rows)[i].text, (rows)[i].want)

static void test_actions(void **state)
{
    static const struct row rows[] = {
        {"", ""},
        {"plain } text }}", "plain } text }}"},
        {"{{ 1 }}", "1"},
        {"a {{1}} b {{2}} c", "a 1 b 2 c"},
        {"a  {{- 1 -}}  \n b", "a1b"},
        {"a {{-1}} b", "a -1 b"},
        {"a {{- -1 -}} b", "a-1b"},
        {"a {{/* no */}} b", "a  b"},
        {"a {{- /* no */ -}} b", "ab"},
        {"{{\"a\"}}{{/* 1 */}}{{/* 2 */}}{{`b`}}", "ab"},
        {"{{ \"}}\" }}{{`a\n{{`}}", "}}a\n{{"},
        {"{{ printf\n\"%d\"\n1 }}", "1"},
        {"{{ \"a\\\"\\\\\\n\\t\\x41\\u00e4\\101\" }}", "a\"\\\n\tA\xc3\xa4"
                                                       "A"},
        {"{{ 'a' }} {{ '\\n' }} {{ '\xc3\xa4' }} {{ '\\'' }}", "97 10 228 39"},
        {"{{ true }} {{ false }}", "true false"},
        {"{{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }} {{ +3 }}", "31 3 15 15 1000 3"},
        {"{{ 1.5 }} {{ 1e3 }} {{ .5 }} {{ 0x1p4 }} {{ 1e21 }} {{ 1.0 }}",
         "1.5 1000 0.5 16 1e+21 1"},
        {"{{ 9223372036854775807 }} {{ -9223372036854775808 }}",
         "9223372036854775807 -9223372036854775808"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_data(void **state)
{
    static const struct row rows[] = {
        {"{{ $labels.job }} {{ .Labels.job }} {{ $.Labels.job }}", "api api api"},
        {"[{{ $labels.missing }}] [{{ .Labels.missing }}]", "[] []"},
        {"{{ $value }} {{ .Value }}", "1234.5 1234.5"},
        {"{{ $externalLabels.cluster }} {{ .ExternalLabels.cluster }}", "c1 c1"},
        {"{{ $externalURL }}", "http://host:9090/path%20x/prefix?q=1#top"},
        {"{{ $externalURL | len }} {{ .ExternalURL | len }}", "40 40"},
        {"{{ $labels }}", "map[empty_like:  instance:web-1.example.com:9100 job:api]"},
        {"{{ with .Labels }}{{ .job }}{{ end }}", "api"},
        {"{{ (query \"up\" | first).Value }}", "1"},
        {"{{ (query \"up\" | first).Labels.host }}", "b"},
        {"{{ (query \"hist\" | first).Value.Count }}", "3"},
        {"{{ (query \"hist\" | first).Value.Sum }}", "10"},
        {"{{ (query \"hist\" | first).Value.Foo }}",
         "1:4: can't evaluate field Foo in type *histogram.FloatHistogram"},
        {"{{ define \"x\" }}{{ .Foo }}{{ end }}{{ template \"x\" . }}",
         "1:20: can't evaluate field Foo in type struct{Labels, ExternalLabels, ExternalURL, "
         "Value}"},
        {"{{ query \"up\" | first }}", "{map[__name__:up __value__:text host:b] 1}"},
        {"{{ query \"hist\" | first | value }}", "{count:3, sum:10, (1,2]:3}"},
        {"{{ .Labels.job.x }}", "1:4: can't evaluate field x in type string"},
        {"{{ (query \"up\" | first).Foo }}",
         "1:4: can't evaluate field Foo in type *template.sample"},
        {"{{ .Value 1 }}", "1:4: Value is not a method but has arguments"},
        {"{{ (args).arg0 }}", "<no value>"},
        {"{{ (args 1 2).arg1 }}", "2"},
        {"{{ (args 1 2).arg0.x.y }}", "1:4: can't evaluate field x in type int"},
        {"{{ (args).arg0.x.y }}", "<no value>"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_control(void **state)
{
    static const struct row rows[] = {
        {"{{ if .Value }}y{{ else }}n{{ end }}", "y"},
        {"{{ if $labels.no }}y{{ else }}n{{ end }}", "n"},
        {"{{ if 0 }}a{{ else if 0.0 }}b{{ else if \"\" }}c{{ else if `x` }}d{{ else }}e{{ end }}",
         "d"},
        {"{{ if not true }}y{{ end }}.", "."},
        {"{{ with $x := 5 }}{{ $x }}{{ . }}{{ end }}", "55"},
        {"{{ with \"\" }}y{{ else }}{{ .Value }}{{ end }}", "1234.5"},
        {"{{ with \"\" }}y{{ else with 3 }}{{ . }}{{ else }}n{{ end }}", "3"},
        {"{{ if $x := 0 }}y{{ else }}{{ $x }}{{ end }}", "0"},
        {"{{ range query \"up\" }}{{ .Labels.host }}={{ .Value }};{{ end }}", "b=1;a=0.25;"},
        {"{{ range query \"none\" }}x{{ else }}nothing{{ end }}", "nothing"},
        {"{{ range $i, $e := query \"up\" }}{{ $i }}{{ $e.Labels.host }} {{ end }}", "0b 1a "},
        {"{{ range $e := query \"up\" }}{{ $e | value }} {{ end }}", "1 0.25 "},
        {"{{ range $k, $v := $labels }}{{ $k }}={{ $v }},{{ end }}",
         "empty_like= ,instance=web-1.example.com:9100,job=api,"},
        {"{{ range $k, $v := args 1 `b` nil }}{{ $k }}={{ $v }},{{ end }}",
         "arg0=1,arg1=b,arg2=<no value>,"},
        {"{{ range 3 }}{{ . }}{{ if eq . 1 }}{{ break }}{{ end }}x{{ end }}", "0x1"},
        {"{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "02"},
        {"{{ range $labels.no }}{{ end }}",
         "1:10: range can't iterate over a value of type string"},
        {"{{ range $i, $e := 3 }}{{ end }}",
         "1:10: can't use a number to iterate over more than one variable"},
        {"{{ range (args).arg1 }}x{{ else }}n{{ end }}", "n"},
        {"{{ range -3 }}x{{ else }}n{{ end }}", "n"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_variables(void **state)
{
    static const struct row rows[] = {
        {"{{ $x := 1 }}{{ $x }}{{ $x = 2 }}{{ $x }}", "12"},
        {"{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"},
        {"{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"},
        {"{{ $x := 1 }}{{ $x := printf `%d0` $x }}{{ $x }}", "10"},
        {"{{ $x := 0 }}{{ range query \"up\" }}{{ $x = .Value }}{{ end }}{{ $x }}", "0.25"},
        {"{{ $labels := 3 }}{{ $labels }}", "3"},
        {"{{ $x := $labels }}{{ $x.job }}", "api"},
        {"{{ $x }}", "1:4: undefined variable \"$x\""},
        {"{{ $x = 1 }}", "1:4: undefined variable \"$x\""},
        {"{{ $x := $x }}", "1:10: undefined variable \"$x\""},
        {"{{ if $x := 1 }}{{ end }}{{ $x }}", "1:29: undefined variable \"$x\""},
        {"{{ if 1 }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}", "1:37: undefined variable \"$x\""},
        {"{{ $a, $b := 1 }}", "1:4: too many declarations in command"},
        {"{{ range $a, $b, $c := 1 }}{{ end }}", "1:14: too many declarations in range"},
        {"{{ range $a, 1 }}{{ end }}", "1:14: range can only initialize variables"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_definitions(void **state)
{
    static const struct row rows[] = {
        {"{{ define \"x\" }}<{{ .arg0 }} {{ .arg1 }}>{{ end }}{{ template \"x\" (args 1 \"2\") }}",
         "<1 2>"},
        {"{{ template `x` }}{{ define `x` }}[{{ . }}]{{ end }}", "[<no value>]"},
        {"{{ template `x` 5 }}{{ define `x` }}{{ $ }}{{ . }}{{ end }}", "55"},
        {"{{ block \"b\" .Value }}v={{ . }}{{ end }} {{ template \"b\" 2 }}", "v=1234.5 v=2"},
        {"{{ define `x` }} {{ end }}{{ define `x` }}y{{ end }}{{ template `x` }}", "y"},
        {"{{ define `x` }}y{{ end }}{{ define `x` }} {{ end }}{{ template `x` }}", "y"},
        {"{{ define `x` }}{{ if . }}{{ . }}{{ template `x` (slice . 1) }}{{ end }}{{ end }}"
         "{{ template `x` `abc` }}",
         "abcbcc"},
        {"{{ define `x` }}y{{ end }}{{ define `x` }}z{{ end }}",
         "1:30: multiple definition of template \"x\""},
        {"{{ define `x` }}{{ $labels.job }}{{ end }}", "1:20: undefined variable \"$labels\""},
        {"{{ template `y` }}", "1:4: template \"y\" not defined"},
        {"{{ if false }}{{ template `y` }}{{ end }}", "1:18: template \"y\" not defined"},
        {"{{ define `x` }}{{ else }}{{ end }}", "1:20: unexpected {{else}} in define clause"},
        {"{{ block `x` 1 }}{{ define `y` }}{{ end }}{{ end }}",
         "1:21: unexpected {{define}}: it stands outside of everything else"},
        {"{{ if 1 }}{{ define `x` }}{{ end }}{{ end }}",
         "1:14: unexpected {{define}}: it stands outside of everything else"},
        {"{{ range 3 }}{{ template `x` }}{{ end }}{{ define `x` }}{{ break }}{{ end }}",
         "1:60: {{break}} outside {{range}}"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_mistakes(void **state)
{
    static const struct row rows[] = {
        {"{{", "1:1: unclosed action"},
        {"a\nb {{ 1", "2:3: unclosed action"},
        {"{{ }}", "1:4: missing value for command"},
        {"{{ if }}{{ end }}", "1:7: missing value for if"},
        {"{{ 1 | }}", "1:8: missing value for command"},
        {"{{ | 1 }}", "1:4: missing value for command"},
        {"{{ () }}", "1:5: missing value for parenthesized pipeline"},
        {"{{ (1 }}", "1:7: unclosed left paren"},
        {"{{ 1) }}", "1:5: unexpected right paren"},
        {"{{ foo }}", "1:4: function \"foo\" not defined"},
        {"{{ toUppr $labels.job }}", "1:4: function \"toUppr\" not defined"},
        {"{{ .Lables.job }}", "1:4: there is no field \"Lables\""},
        {"{{ $.job }}", "1:5: there is no field \"job\""},
        {"{{ if true }}x", "1:15: unexpected end of the text: {{if}} without {{end}}"},
        {"{{ end }}", "1:4: unexpected {{end}}"},
        {"x{{ else }}", "1:5: unexpected {{else}}"},
        {"{{ if 1 }}{{ else }}{{ else }}{{ end }}", "1:24: expected end; found {{else}}"},
        {"{{ range 1 }}{{ else range 2 }}{{ end }}", "1:22: unexpected \"range\" in range"},
        {"{{ if 1 }}{{ else with 2 }}{{ end }}", "1:19: unexpected \"with\" in if"},
        {"{{ end 1 }}", "1:4: unexpected {{end}}"},
        {"{{ if 1 }}{{ end 1 }}", "1:18: unexpected \"1\" in end"},
        {"{{ break }}", "1:4: {{break}} outside {{range}}"},
        {"{{ \"a }}", "1:4: unterminated quoted string"},
        {"{{ `a }}", "1:4: unterminated raw quoted string"},
        {"{{ 'a }}", "1:4: unterminated character constant"},
        {"{{ \"\\q\" }}", "1:4: malformed string: an escape that there is not"},
        {"{{ 'ab' }}", "1:4: malformed character constant"},
        {"{{ 3k }}", "1:4: bad number syntax: \"3k\""},
        {"{{ 08 }}", "1:4: bad number syntax: \"08\""},
        {"{{ 1__0 }}", "1:4: bad number syntax: \"1__0\""},
        {"{{ 9223372036854775808 }}", "1:4: number is too large"},
        {"{{ 1e999 }}", "1:4: number is too large"},
        {"{{ .foo-bar }}", "1:8: bad character '-'"},
        {"{{ $labels.foo-bar }}", "1:15: bad character '-'"},
        {"{{ # }}", "1:4: unexpected '#' in an action"},
        {"{{ 1 : 2 }}", "1:6: expected :="},
        {"{{ /* a */ }}", "1:4: unexpected '/' in an action"},
        {"{{/* a }}", "1:3: unclosed comment"},
        {"{{/* a */ 1}}", "1:3: comment ends before closing delimiter"},
        {"{{ nil }}", "1:4: nil is not a command"},
        {"{{ 1 2 }}", "1:4: can't give argument to non-function"},
        {"{{ 1 | 2 }}", "1:8: non executable command in pipeline stage 2"},
        {"{{ $value | $value }}", "1:13: non executable command in pipeline stage 2"},
        {"{{ \"a\".b }}", "1:7: unexpected . after a constant"},
        {"{{ ..a }}", "1:5: unexpected . after ."},
        {"{{ . .Value }}", "1:4: can't give argument to non-function"},
        {"{{ now.Foo }}", "1:4: can't evaluate field Foo in type float64"},
        {"{{ \"a\"\"b\" }}", "1:7: unexpected \"\"b\"\" in operand"},
        {"{{ '' }}", "1:4: malformed character constant"},
        {"{{ '\\z' }}", "1:4: malformed character constant"},
        {"{{ \"\\x4\" }}", "1:4: malformed string: an escape that there is not"},
        {"{{ \"\\ud800\" }}", "1:4: malformed string: an escape that there is not"},
        {"{{ \"\\400\" }}", "1:4: malformed string: an escape that there is not"},
        {"{{ 0x }}", "1:4: bad number syntax: \"0x\""},
        {"{{ 0xp1 }}", "1:4: bad number syntax: \"0xp1\""},
        {"{{ 1.2.3 }}", "1:4: bad number syntax: \"1.2.3\""},
        {"{{ 1_0.5 }}", "1:4: bad number syntax: \"1_0.5\""},
        {"{{ 3\"a\" }}", "1:4: bad number syntax: \"3\"\""},
        {"{{ \x01 }}", "1:4: unexpected 0x01 in an action"},
        {"{{ if 1 }}{{ end ", "1:11: unclosed action"},
        {"{{ template `x", "1:13: unterminated raw quoted string"},
        {"{{ range $x", "1:1: unclosed action"},
        {"{{ humanize }}", "1:4: wrong number of args for humanize: want 1 got 0"},
        {"{{ 1 | humanize 2 }}", "1:8: wrong number of args for humanize: want 1 got 2"},
        {"{{ printf }}", "1:4: wrong number of args for printf: want at least 1 got 0"},
        {"{{ len humanize }}", "1:8: wrong number of args for humanize: want 1 got 0"},
        {"{{ template x }}", "1:13: unexpected \"x\" in template"},
        {"{{ define }}{{ end }}", "1:11: unexpected \"}}\" in define clause"},
        {"{{ 1, 2 }}", "1:5: unexpected \",\" in operand"},
        {"{{ query \"bad\" }}", "1:4: error calling query: 1:1: parse error: bad"},
        {"a\n  {{ query \"none\" | first }}",
         "2:21: error calling first: first() called on vector with no elements"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

/* A mistyped name comes with the right one. */
static void test_hints(void **state)
{
    static const struct {
        const char *text, *hint;
    } rows[] = {
        {"{{ toUppr 1 }}", "did you mean \"toUpper\"?"},
        {"{{ .Lables.job }}", "did you mean \".Labels\"?"},
        {"{{ .job }}", "labels are at .Labels.NAME, or $labels.NAME"},
        {"{{ zzzzzzzzz }}", ""},
        {"{{ $label.job }}", "did you mean \"$labels\"?"},
        {"{{ $vlaue }}", "did you mean \"$value\"?"},
        {"{{ $own := 1 }}{{ $onw }}", "did you mean \"$own\"?"},
        {"{{ $own := 1 }}{{ $onw = 2 }}", "did you mean \"$own\"?"},
        {"{{ $zzzzzzzzz }}", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct template *t = NULL;
        struct err err;
        assert_int_equal(template_parse(span_cstr(rows[i].text), &t, &err), -EINVAL);
        assert_null(t);
        assert_string_equal(err.hint, rows[i].hint);
    }
}

static const char long_text[] =
    "{{- /* all of it */ -}}\n"
    "{{ define \"row\" }}{{ .arg0 | printf \"%-5s|%5.1f\" \"x\" }}{{ end }}"
    "{{ $n := 0 }}{{ range $i, $e := query \"up\" | sortByLabel \"host\" }}"
    "{{ if and (eq $e.Labels.host \"a\") (gt $e.Value 0.1) }}{{ $n = $i }}{{ continue }}"
    "{{ else if or false nil }}no{{ else }}{{ template \"row\" (args $e.Value 'x' -1.5e3) }}{{ end "
    "}}"
    "{{ else }}none{{ end }}{{ block \"last\" $labels.job }}{{ . | toUpper }}`{{ end }}"
    "{{ with (now | toTime).Format \"15:04\" }}{{ . }}{{ else }}{{ $value }}{{ end }}\n";

/* Whatever a text is cut at, it is either a template or refused with the place. */
static void test_prefixes(void **state)
{
    (void)state;
    alert_check(long_text, "x    |  1.0API`11:14\n");
    for (size_t n = 0; n < sizeof(long_text); n++) {
        struct template *t = NULL;
        struct err err = {.code = 0};
        int line, column, r = template_parse(span_of(long_text, n), &t, &err);
        char name[32];
        (void)snprintf(name, sizeof(name), "%zu bytes", n);
        assert_row(name, r == 0 || r == -EINVAL);
        assert_row(name, (r == 0) == (t != NULL));
        if (r != 0)
            assert_row(name, sscanf(err.text, "%d:%d: ", &line, &column) == 2 && line >= 1 &&
                                 column >= 1);
        template_free(t);
    }
}

static int attempt(void *ctx)
{
    struct template_env env = alert_env();
    struct template *t = NULL;
    struct err err = {.code = 0};
    struct buf out;
    (void)ctx;
    int r = template_parse(span_cstr(long_text), &t, &err);
    if (r != 0) {
        assert_null(t);
        assert_string_equal(err.text, "out of memory");
        return r;
    }
    buf_init(&out, 1 << 20);
    r = template_run(t, &env, &out, &err);
    if (r == 0)
        assert_span_equal("out", buf_span(&out), SPAN("x    |  1.0API`11:14\n"));
    else
        assert_string_equal(err.text, "out of memory");
    buf_done(&out);
    template_free(t);
    return r;
}

static void test_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 5);
}

static void check_limit(const char *text, const char *want)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    buf_init(&out, 1 << 20);
    int r = alert_expand(span_cstr(text), &env, &out, &err);
    assert_row(text, r == -E2BIG);
    assert_span_equal(text, span_cstr(err.text), span_cstr(want));
    buf_done(&out);
}

static void test_limits(void **state)
{
    (void)state;
    check_limit("{{ range 200000 }}{{ end }}", "1:4: the template needs more than 100000 steps");
    check_limit("{{ range 1001 }}{{ $x := query `none` }}{{ end }}",
                "1:26: the template needs more than 100000 steps");
    check_limit("{{ range 300 }}{{ printf `%1000s` . }}{{ end }}",
                "1:16: the result is longer than 262144 bytes");
    check_limit("{{ range query `many` }}{{ range query `many` }}{{ end }}{{ end }}",
                "1:28: the template needs more than 100000 steps");
    check_limit("{{ printf `%300000s` `x` }}", "1:4: error calling printf: the text is too long");
    check_limit("{{ $x := printf `%200000s` `x` }}{{ range 300 }}{{ $y := print $x . }}{{ end }}",
                "the template needs more than 16 MiB of memory");
    check_limit("{{ $x := printf `%200000s` `x` }}{{ range 300 }}{{ $y := eq $x `` }}{{ end }}",
                "1:58: the template needs more than 100000 steps");
    check_limit("{{ $x := printf `%60000s` `x` }}{{ range 100 }}{{ $y := match `a` $x }}{{ end }}",
                "1:57: the template needs more than 100000 steps");
    check_limit("{{ $x := printf `%*sb` 500 `` | reReplaceAll ` ` `a` }}"
                "{{ range 30 }}{{ $y := match `(a|aa)+$` $x }}{{ end }}",
                "1:79: the template needs more than 100000 steps");
    check_limit("{{ range 30 }}{{ $x := reReplaceAll `a?` `` (printf `%500s` ``) }}{{ end }}",
                "1:24: the template needs more than 100000 steps");
    check_limit("{{ define `x` }}{{ template `x` }}{{ end }}{{ template `x` }}",
                "1:20: nested more than 100 deep");
    check_limit("{{ $l := `1` }}{{ range 17 }}{{ $l = print $l $l }}{{ end }}"
                "{{ (now | toTime).Format (print $l `1`) }}",
                "1:64: error calling Format: the text is too long");
    check_limit("{{ $t := toTime 0 }}{{ $l := `.9` }}{{ range 16 }}{{ $l = print $l $l }}{{ end }}"
                "{{ range 300 }}{{ $y := $t.Format $l }}{{ end }}",
                "1:106: the template needs more than 100000 steps");
    check_limit("{{ reReplaceAll `.` `x` (printf `%20000s` `x`) }}",
                "1:4: error calling reReplaceAll: too much work");
}

static void test_nesting(void **state)
{
    char text[8 * 150 + 1] = "{{ ";
    size_t n = 3;
    (void)state;
    for (int i = 0; i < 101; i++)
        text[n++] = '(';
    text[n] = '\0';
    check_limit(text, "1:104: nested more than 100 deep");
    n = 0;
    for (int i = 0; i < 101; i++) {
        memcpy(text + n, "{{if 1}}", 8);
        n += 8;
    }
    text[n] = '\0';
    check_limit(text, "1:803: nested more than 100 deep");
}

static void test_long_text(void **state)
{
    struct template *t = NULL;
    struct err err;
    char *text = mem_must(mem_zalloc(TEMPLATE_TEXT_MAX + 1, 1));
    (void)state;
    memset(text, 'x', TEMPLATE_TEXT_MAX + 1);
    assert_int_equal(template_parse(span_of(text, TEMPLATE_TEXT_MAX + 1), &t, &err), -E2BIG);
    assert_int_equal(template_parse(span_of(text, TEMPLATE_TEXT_MAX), &t, &err), 0);
    assert_true(template_is_plain(t));
    template_free(t);
    assert_int_equal(template_parse(SPAN("{{ 1 }}"), &t, &err), 0);
    assert_false(template_is_plain(t));
    template_free(t);
    mem_free(text);
}

/* A full buffer of the caller ends as a long result does; what was there before does not count. */
static void test_full_buffer(void **state)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    (void)state;
    buf_init(&out, 8);
    assert_int_equal(buf_append(&out, SPAN("before")), 0);
    assert_int_equal(alert_expand(SPAN("123"), &env, &out, &err), -E2BIG);
    buf_done(&out);
    env.query = NULL;
    buf_init(&out, 100);
    assert_int_equal(alert_expand(SPAN("{{ query `up` }}"), &env, &out, &err), -EINVAL);
    assert_string_equal(err.text,
                        "1:4: error calling query: there is nothing that can be asked here");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions),        cmocka_unit_test(test_data),
        cmocka_unit_test(test_control),        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_definitions),    cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_hints),          cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_without_memory), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nesting),        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
