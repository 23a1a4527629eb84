/* SPDX-License-Identifier: Apache-2.0 */
/* Every function by its rows; template.test.mjs compares the same with a real Prometheus. */
#include "template/builtin.h"

#include <stdio.h>

#include "alert.h"
#include "memfail.h"

struct row {
    const char *text, *want;
};

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)                                                   \
    alert_check((rows)[i].text, (rows)[i].want)

#define FAIL(name) "1:4: error calling " name ": "

static void test_compare(void **state)
{
    static const struct row rows[] = {
        {"{{ eq 1 1 }} {{ eq 1 2 3 1 }} {{ eq \"a\" `a` }} {{ eq true false }}",
         "true true true false"},
        {"{{ eq 1.5 1.5 }} {{ eq $value 1234.5 }} {{ eq nil nil }} {{ eq $value nil }}",
         "true true true false"},
        {"{{ ne 1 2 }} {{ ne `a` `a` }}", "true false"},
        {"{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1.5 1.0 }} {{ ge `b` `a` }} {{ lt `a` `ab` }}",
         "true true true true true"},
        {"{{ lt 2 1 }} {{ le 3 2 }} {{ gt 1 1 }} {{ ge `a` `b` }}", "false false false false"},
        {"{{ gt $value 5 }}",
         FAIL("gt") "incompatible types for comparison: float64 and int; write "
                    "5.0 for 5 where it is compared with a value"},
        {"{{ eq 1 `1` }}", FAIL("eq") "incompatible types for comparison: int and string"},
        {"{{ lt true false }}", FAIL("lt") "invalid type for comparison: bool"},
        {"{{ lt nil nil }}", FAIL("lt") "invalid type for comparison: <nil>"},
        {"{{ eq $labels $labels }}", FAIL("eq") "non-comparable type map[string]string"},
        {"{{ with query `up` | first }}{{ eq . . }}{{ end }}", "true"},
        {"{{ with query `hist` | first | value }}{{ eq . . }}{{ end }}", "true"},
        {"{{ not 0 }} {{ not `x` }} {{ not nil }} {{ not $labels }}", "true false true false"},
        {"{{ and 1 0 2 }} {{ and 1 `x` }} [{{ and `` 1 }}]", "0 x []"},
        {"{{ or 0 `` `x` 1 }} [{{ or 0 `` }}] {{ or 1 }}", "x [] 1"},
        {"{{ and false (index $labels 5) }} {{ or 1 (index $labels 5) }}", "false 1"},
        {"{{ 1 | and 2 }} {{ 0 | or 3 }} {{ 0 | and 3 }}", "1 3 0"},
        {"{{ or (index $labels 5) 1 }}",
         "1:8: error calling index: value has type int; should be string"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void check_nan(const char *text, const char *want)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    env.value = (double)NAN;
    buf_init(&out, 1000);
    assert_int_equal(alert_expand(span_cstr(text), &env, &out, &err), 0);
    assert_span_equal(text, buf_span(&out), span_cstr(want));
    buf_done(&out);
}

static void test_nan(void **state)
{
    (void)state;
    check_nan("{{ eq $value $value }} {{ lt $value 1.0 }} {{ le $value 1.0 }}",
              "false false false");
    check_nan("{{ gt $value 1.0 }} {{ ge $value 1.0 }}", "true true"); /* as in Go */
    check_nan("{{ if $value }}y{{ end }} {{ $value }}", "y NaN");
    check_nan("{{ humanize $value }} {{ humanize1024 $value }} {{ humanizeDuration $value }}",
              "NaN NaN NaN");
    check_nan("{{ humanizePercentage $value }} {{ humanizeTimestamp $value }}", "NaN% NaN");
}

static void test_collections(void **state)
{
    static const struct row rows[] = {
        {"{{ len `\xc3\xa4` }} {{ len $labels }} {{ len (query `up`) }} {{ len (args 1 2) }}",
         "2 3 2 2"},
        {"{{ len 3 }}", FAIL("len") "len of type int"},
        {"{{ len nil }}", FAIL("len") "len of nil pointer"},
        {"{{ index $labels `job` }} [{{ index $labels `no` }}] {{ index `abc` 1 }}", "api [] 98"},
        {"{{ index (query `up`) 1 | value }} {{ index (args 1 `x`) `arg1` }} {{ index 3 }}",
         "0.25 x 3"},
        {"{{ index `abc` 3 }}", FAIL("index") "index out of range: 3"},
        {"{{ index `abc` -1 }}", FAIL("index") "index out of range: -1"},
        {"{{ index `abc` `a` }}", FAIL("index") "cannot index slice/array with type string"},
        {"{{ index 3 1 }}", FAIL("index") "can't index item of type int"},
        {"{{ index nil 1 }}", FAIL("index") "index of untyped nil"},
        {"{{ index $labels `job` 0 }}", "97"},
        {"{{ index (args) `arg0` 1 }}", FAIL("index") "index of untyped nil"},
        {"{{ slice `abcdef` 1 3 }} {{ slice `abc` 1 }} {{ slice `abc` }} {{ slice `abc` 3 3 }}.",
         "bc bc abc ."},
        {"{{ range slice (query `up`) 1 }}{{ .Labels.host }}{{ end }}", "a"},
        {"{{ len (slice (query `none`) 0 0) }}", "0"},
        {"{{ slice `abc` 2 1 }}", FAIL("slice") "invalid slice index: 2 > 1"},
        {"{{ slice `abc` 4 }}", FAIL("slice") "index out of range: 4"},
        {"{{ slice `abc` 0 4 }}", FAIL("slice") "index out of range: 4"},
        {"{{ slice `abc` 0 1 2 }}", FAIL("slice") "too many slice indexes: 3"},
        {"{{ slice nil }}", FAIL("slice") "slice of untyped nil"},
        {"{{ slice 3 }}", FAIL("slice") "can't slice item of type int"},
        {"{{ call 3 }}", FAIL("call") "non-function of type int"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_queries(void **state)
{
    static const struct row rows[] = {
        {"{{ query `up` | first | value }}", "1"},
        {"{{ query `up` | first | label `host` }}[{{ query `up` | first | label `no` }}]", "b[]"},
        {"{{ query `up` | first | strvalue }}", "text"},
        {"{{ range query `up` | sortByLabel `host` }}{{ .Labels.host }}{{ end }}", "ab"},
        {"{{ $v := query `up` }}{{ $s := sortByLabel `host` $v }}{{ (first $v).Labels.host }}",
         "a"},
        {"{{ range sortByLabel `no` (query `up`) }}{{ .Labels.host }}{{ end }}", "ba"}, /* stable */
        {"{{ len (sortByLabel `host` (query `none`)) }}", "0"},
        {"{{ query `none` | first }}",
         "1:19: error calling first: first() called on vector with no elements"},
        {"{{ first nil }}", FAIL("first") "first() called on vector with no elements"},
        {"{{ first 1 }}", "1:4: wrong type for value; expected template.queryResult; got int"},
        {"{{ value nil }}", "1:4: invalid value; expected *template.sample"},
        {"{{ label 1 2 }}", "1:4: wrong type for value; expected string; got int"},
        {"{{ query `a b` }}", FAIL("query") "1:1: parse error: a b"},
        {"{{ args }} {{ args 1 `b` 2.5 nil }}", "map[] map[arg0:1 arg1:b arg2:2.5 arg3:<nil>]"},
        {"{{ $a := 1 }}{{ range 30000 }}{{ $a = args $a }}{{ end }}{{ $a }}",
         "1:39: error calling args: nested more than 100 deep"},
        {"{{ $a := 1 }}{{ range 3 }}{{ $a = args $a $a }}{{ end }}{{ len $a }}{{ $a.arg0.arg1 }}",
         "2map[arg0:1 arg1:1]"},
        {"{{ range $k, $v := args 0 1 2 3 4 5 6 7 8 9 10 11 }}{{ $v }} {{ end }}",
         "0 1 10 11 2 3 4 5 6 7 8 9 "},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_texts(void **state)
{
    static const struct row rows[] = {
        {"{{ toUpper `aB\xc3\xa4\xc3\xbf\xd0\xb4\xcf\x83\xcf\x82\xc2\xb5` }}",
         "AB\xc3\x84\xc5\xb8\xd0\x94\xce\xa3\xce\xa3\xce\x9c"},
        {"{{ toLower `Ab\xc3\x84\xc5\xb8\xd0\x94\xce\xa3\xc4\xb0` }}",
         "ab\xc3\xa4\xc3\xbf\xd0\xb4\xcf\x83i"},
        {"{{ toUpper `` }}{{ title `` }}.", "."},
        {"{{ toUpper \"a\\xffb\" }}", "A\xef\xbf\xbd"
                                      "B"},
        {"{{ title `aa bb CC` }}", "Aa Bb CC"},
        {"{{ title `o'neil a..b foo_bar x-y 1st e,f \xc3\xa4"
         "b` }}",
         "O'neil A..B Foo_bar X-Y 1St E,F \xc3\x84"
         "b"},
        {"{{ reReplaceAll `(.*):(\\d+)` `$2-$1` $labels.instance }}", "9100-web-1.example.com"},
        {"{{ reReplaceAll `a*` `x` `baac` }}", "xbxcx"},
        {"{{ reReplaceAll `(?P<x>b)` `<${x}>$x1$$` `abcb` }}", "a<b>$c<b>$"},
        {"{{ reReplaceAll `^` `>` \"a\\nb\" }} {{ reReplaceAll `$` `<` `ab` }}", ">a\nb ab<"},
        {"{{ reReplaceAll `.` `-` \"a\\n\xc3\xa4\" }} {{ reReplaceAll `x*` `-` `\xc3\xa4` }}",
         "-\n- -\xc3\xa4-"},
        {"{{ reReplaceAll `b` `` `abc` }} {{ reReplaceAll `z` `y` `` }}.", "ac ."},
        {"{{ reReplaceAll `(` `` `abc` }}",
         FAIL("reReplaceAll") "error parsing regexp: missing closing parenthesis at offset 1 of "
                              "`(`"},
        {"{{ match `a+` `baab` }} {{ match `^a` `ba` }} {{ match `a.b` \"a\\nb\" }} {{ match `` `` "
         "}}",
         "true false false true"},
        {"{{ match `a++` `a` }}", FAIL("match") "error parsing regexp: invalid nested repetition "
                                                "operator at offset 2 of `a++`"},
        {"{{ safeHtml `<b>` }}", "<b>"},
        {"{{ html `<a b=\"c\">&'` }} {{ html 1 `<` 2.5 true }} {{ html nil }}",
         "&lt;a b=&#34;c&#34;&gt;&amp;&#39; 1&lt;2.5 true &lt;no value&gt;"},
        {"{{ js \"<a b='c'>&\\\\\\\"\\n\" }}",
         "\\u003Ca b\\u003D\\'c\\'\\u003E\\u0026\\\\\\\"\\u000A"},
        {"{{ html \"a\\x00\" }}", "a\xef\xbf\xbd"},
        {"{{ js \"\\u00a0\\u200b\\xff\" }}", "\\u00A0\\u200B\xef\xbf\xbd"},
        {"{{ toUpper 1 }}", "1:4: wrong type for value; expected string; got int"},
        {"{{ toUpper nil }}", "1:4: invalid value; expected string"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_links(void **state)
{
    static const struct row rows[] = {
        {"{{ urlquery `a b` 1 2 `\xc3\xbc&/~-._` }}", "a+b1+2%C3%BC%26%2F~-._"},
        {"{{ urlQueryEscape `a b/` }}", "a+b%2F"},
        {"{{ graphLink `up{job=\"a b\"}` }}", "/graph?g0.expr=up%7Bjob%3D%22a+b%22%7D&g0.tab=0"},
        {"{{ tableLink `up` }}", "/graph?g0.expr=up&g0.tab=1"},
        {"{{ externalURL }}", "http://host:9090/path%20x/prefix?q=1#top"},
        {"{{ pathPrefix }}", "/path x/prefix"},
        {"{{ stripPort `h:80` }} {{ stripPort `[2001:db8::1]:80` }} {{ stripPort `2001:db8::1` }}",
         "h 2001:db8::1 2001:db8::1"},
        {"{{ stripPort `[a]::80` }} {{ stripPort `[::1]` }} {{ stripPort `h` }} [{{ stripPort "
         "`:80` }}]",
         "[a]::80 [::1] h []"},
        {"{{ stripPort `a]:80` }} {{ stripPort `[a[:80` }} {{ stripPort `a[:80` }}",
         "a]:80 [a[:80 a[:80"},
        {"{{ stripDomain `h.example.com:80` }} {{ stripDomain `h.example.com` }} {{ stripDomain "
         "`h` }}",
         "h:80 h h"},
        {"{{ stripDomain `192.0.2.1:80` }} {{ stripDomain `192.0.2.1` }} {{ stripDomain `1.2.3` }}",
         "192.0.2.1:80 192.0.2.1 1"},
        {"{{ stripDomain `[2001:db8::1]:80` }} {{ stripDomain `2001:db8::1` }} [{{ stripDomain `` "
         "}}]",
         "[2001:db8::1]:80 2001:db8::1 []"},
        {"{{ stripDomain `[fe80::1%eth0]:80` }} {{ stripDomain `[x:y.z]:80` }}",
         "[fe80::1%eth0]:80 [x:y]:80"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_path_prefix(void **state)
{
    static const struct {
        const char *url, *want;
    } rows[] = {
        {"", ""},
        {"http://h", ""},
        {"http://h/", "/"},
        {"http://h?x=/y", ""},
        {"http://h/a%2", "/a%2"},
        {"http://h/%zz%41", "/%zzA"},
        {"/only/path", "/only/path"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct template_env env = alert_env();
        struct err err;
        struct buf out;
        env.external_url = span_cstr(rows[i].url);
        buf_init(&out, 1000);
        assert_int_equal(alert_expand(SPAN("{{ pathPrefix }}"), &env, &out, &err), 0);
        assert_span_equal(rows[i].url, buf_span(&out), span_cstr(rows[i].want));
        buf_done(&out);
    }
}

static void test_humanize(void **state)
{
    static const struct {
        const char *value, *plain, *binary, *duration, *percentage;
    } rows[] = {
        {"0", "0", "0", "0s", "0%"},
        {"1", "1", "1", "1s", "100%"},
        {"-1", "-1", "-1", "-1s", "-100%"},
        {"0.12", "120m", "0.12", "120ms", "12%"},
        {".0001", "100u", "0.0001", "100us", "0.01%"},
        {"1e-30", "1e-06y", "1e-30", "1e-06ys", "1e-28%"},
        {"-7e-10", "-700p", "-7e-10", "-700ps", "-7e-08%"},
        {"1.2345", "1.234", "1.234", "1.234s", "123.4%"},
        {"59.99", "59.99", "59.99", "59.99s", "5999%"},
        {"60.5", "60.5", "60.5", "1m 0s", "6050%"},
        {"899.99", "900", "900", "14m 59s", "9e+04%"},
        {"999.99", "1000", "1000", "16m 39s", "1e+05%"},
        {"1000", "1k", "1000", "16m 40s", "1e+05%"},
        {"1024", "1.024k", "1ki", "17m 4s", "1.024e+05%"},
        {"3600", "3.6k", "3.516ki", "1h 0m 0s", "3.6e+05%"},
        {"90061", "90.06k", "87.95ki", "1d 1h 1m 1s", "9.006e+06%"},
        {"-183845", "-183.8k", "-179.5ki", "-2d 3h 4m 5s", "-1.838e+07%"},
        {"1234567", "1.235M", "1.177Mi", "14d 6h 56m 7s", "1.235e+08%"},
        {"1e15", "1P", "909.5Ti", "11574074074d 1h 46m 40s", "1e+17%"},
        {"1e30", "1e+06Y", "8.272e+05Yi", "-106751991167300d -15h -30m -8s", "1e+32%"},
        {"-1e30", "-1e+06Y", "-8.272e+05Yi", "--106751991167300d -15h -30m -8s", "-1e+32%"},
        {"Inf", "+Inf", "+Inf", "+Inf", "+Inf%"},
        {"-Inf", "-Inf", "-Inf", "-Inf", "-Inf%"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static const char *const functions[] = {"humanize", "humanize1024", "humanizeDuration",
                                                "humanizePercentage"};
        const char *want[] = {rows[i].plain, rows[i].binary, rows[i].duration, rows[i].percentage};
        for (size_t k = 0; k < ARRAY_LEN(functions); k++) {
            char text[100];
            (void)snprintf(text, sizeof(text), "{{ \"%s\" | %s }}", rows[i].value, functions[k]);
            alert_check(text, want[k]);
        }
    }
}

static void test_numbers(void **state)
{
    static const struct row rows[] = {
        {"{{ humanize 1234567 }} {{ humanize 0x10 }} {{ humanize `0x10` }}", "1.235M 16 16"},
        {"{{ humanize `one` }}", FAIL("humanize") "\"one\" is no number"},
        {"{{ humanize `1e999` }}", FAIL("humanize") "\"1e999\" is no number: out of range"},
        {"{{ humanize true }}", FAIL("humanize") "can't convert bool to float"},
        {"{{ humanize nil }}", FAIL("humanize") "can't convert <nil> to float"},
        {"{{ humanizeTimestamp 0 }}", "1970-01-01 00:00:00 +0000 UTC"},
        {"{{ humanizeTimestamp -1 }}", "1969-12-31 23:59:59 +0000 UTC"},
        {"{{ humanizeTimestamp 1435065584.128 }}", "2015-06-23 13:19:44.128 +0000 UTC"},
        {"{{ humanizeTimestamp 9223372036 }}", "2262-04-11 23:47:16 +0000 UTC"},
        {"{{ humanizeTimestamp `+Inf` }}", "+Inf"},
        {"{{ humanizeTimestamp 9223372037 }}",
         FAIL("humanizeTimestamp") "9.22337e+09 cannot be represented as a nanoseconds timestamp "
                                   "since it overflows int64"},
        {"{{ toTime `Inf` }}", FAIL("toTime") "value is NaN or Inf"},
        {"{{ now }}", "1.353755652e+09"},
        {"{{ (now | toTime).Format \"Mon Jan 2 15:04:05 2006\" }}", "Sat Nov 24 11:14:12 2012"},
        {"{{ (1800 | toDuration).String }} {{ toDuration -0.0015 }} {{ toDuration `1e-6` }}",
         "30m0s -1.5ms 1\xc2\xb5s"},
        {"{{ toDuration 1e300 }} {{ toDuration 3661.5 }} {{ toDuration 0 }} {{ toDuration 5e-9 }}",
         "-2562047h47m16.854775808s 1h1m1.5s 0s 5ns"},
        {"{{ (\"-30m\" | parseDuration | toDuration | (now | toTime).Add).UnixMilli }}",
         "1353753852000"},
        {"{{ parseDuration `1h2m10ms` }} {{ parseDuration `-1h2m10ms` }} {{ parseDuration `0` }}",
         "3720.01 -3720.01 0"},
        {"{{ parseDuration `1y` }} {{ parseDuration `1w1d` }}", "3.1536e+07 691200"},
        {"{{ parseDuration `` }}", FAIL("parseDuration") "empty duration string"},
        {"{{ parseDuration `1m1h` }}",
         FAIL("parseDuration") "not a valid duration string: \"1m1h\""},
        {"{{ parseDuration `5` }}", FAIL("parseDuration") "not a valid duration string: \"5\""},
        {"{{ parseDuration `300y` }}", FAIL("parseDuration") "duration out of range"},
        {"{{ parseDuration `99999999999999999999y` }}",
         FAIL("parseDuration") "duration out of range"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_moments(void **state)
{
    static const struct row rows[] = {
        {"{{ with toTime 1435065584.128 }}{{ .Format `2006-01-02T15:04:05.000Z07:00` }}{{ end }}",
         "2015-06-23T13:19:44.128Z"},
        {"{{ (toTime 951782400).Format `Monday Mon January Jan 01 1 02 2 _2 002 __2 06` }}",
         "Tuesday Tue February Feb 02 2 29 29 29 060  60 00"},
        {"{{ (toTime -2.3e9).Format `06 2006` }}", "97 1897"},
        {"{{ (toTime 47045.5).Format `15 03 3 04 4 05 5 PM pm MST -0700 -07:00 -07 Z0700 .0 ,00 "
         ".999` }}",
         "13 01 1 04 4 05 5 PM pm UTC +0000 +00:00 +00 Z .5 ,50 .5"},
        {"{{ (toTime 0).Format `-070000 -07:00:00 Z070000 Z07:00:00 Z07 Janet Jan. 7 _2006 .05` }}",
         "+000000 +00:00:00 Z Z Z Janet Jan. 7 _1970 .00"},
        {"{{ with toTime 1435065584.128 }}{{ .Year }} {{ .YearDay }} {{ .Day }} {{ .Hour }} "
         "{{ .Minute }} {{ .Second }} {{ .Nanosecond }}{{ end }}",
         "2015 174 23 13 19 44 128000000"},
        {"{{ with toTime -1.5 }}{{ .Unix }} {{ .UnixMilli }} {{ .UnixMicro }} {{ .UnixNano }}{{ "
         "end }}",
         "-2 -1500 -1500000 -1500000000"},
        {"{{ (toTime 1).UTC.String }} {{ toTime 1 }}",
         "1970-01-01 00:00:01 +0000 UTC 1970-01-01 00:00:01 +0000 UTC"},
        {"{{ $t := toTime 100 }}{{ $u := toTime 160 }}{{ $u.Sub $t }} {{ $t.Before $u }} "
         "{{ $t.After $u }} {{ $t.Equal $t }} {{ $u.Before $t }}",
         "1m0s true false true false"},
        {"{{ with toDuration 5400.5 }}{{ .Hours }} {{ .Minutes }} {{ .Seconds }} {{ .Milliseconds "
         "}} "
         "{{ .Microseconds }} {{ .Nanoseconds }}{{ end }}",
         "1.500138888888889 90.00833333333334 5400.5 5400500 5400500000 5400500000000"},
        {"{{ (toTime 9.2e9).Add (toDuration 9.2e9) }}", "2262-04-11 23:47:16.854775807 +0000 UTC"},
        {"{{ with (toTime -9.2e9).Add (toDuration -9.2e9) }}{{ . }} {{ .Nanosecond }}{{ end }}",
         "1677-09-21 00:12:43.145224192 +0000 UTC 145224192"},
        {"{{ (toTime -9.2e9).Sub (toTime 9.2e9) }}", "-2562047h47m16.854775808s"},
        {"{{ $t := toTime 0 }}{{ humanize 3 }} {{ $t.Format `2006` }} {{ $t.String }} {{ "
         "(toDuration 5).String }}",
         "3 1970 1970-01-01 00:00:00 +0000 UTC 5s"},
        {"{{ (toTime 1).Format }}", "1:4: wrong number of args for Format: want 1 got 0"},
        {"{{ (toTime 1).Format 1 }}", "1:4: wrong type for value; expected string; got int"},
        {"{{ (toTime 1).Foo }}", "1:4: can't evaluate field Foo in type *time.Time"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

/* No function is without a row above. */
static void test_all_are_found(void **state)
{
    static const char *const names[] = {"and",
                                        "or",
                                        "not",
                                        "len",
                                        "index",
                                        "slice",
                                        "print",
                                        "printf",
                                        "println",
                                        "eq",
                                        "ne",
                                        "lt",
                                        "le",
                                        "gt",
                                        "ge",
                                        "html",
                                        "js",
                                        "urlquery",
                                        "call",
                                        "query",
                                        "first",
                                        "label",
                                        "value",
                                        "strvalue",
                                        "args",
                                        "reReplaceAll",
                                        "safeHtml",
                                        "match",
                                        "title",
                                        "toUpper",
                                        "toLower",
                                        "graphLink",
                                        "tableLink",
                                        "sortByLabel",
                                        "stripPort",
                                        "stripDomain",
                                        "humanize",
                                        "humanize1024",
                                        "humanizeDuration",
                                        "humanizePercentage",
                                        "humanizeTimestamp",
                                        "toTime",
                                        "toDuration",
                                        "now",
                                        "pathPrefix",
                                        "externalURL",
                                        "parseDuration",
                                        "urlQueryEscape"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_row(names[i], builtin_find(span_cstr(names[i])) != NULL);
    assert_null(builtin_find(SPAN("nothing")));
}

static const char *const allocating[] = {
    "{{ range query `up` | sortByLabel `host` }}{{ . }}{{ end }}",
    "{{ args 1 2 3 | printf `%s %q %x %#v` `a` `b` `c` }}",
    "{{ reReplaceAll `(a)|b` `<$1>` `abc` }}{{ match `a+` `baa` }}",
    "{{ html `<a>` | js | urlquery | toUpper | title }}{{ html 1 2 }}",
    "{{ (toTime 5).Format `2006` }}{{ (toTime 5).String }}{{ (toDuration 5).String }}",
    "{{ humanize 1.5 }}{{ humanizeDuration 90061 }}{{ humanizeTimestamp 5 }}{{ print 1 `a` }}",
    "{{ graphLink `up` }}{{ stripDomain `a.b:80` }}{{ pathPrefix }}",
    "{{ printf `%+q %#g %10x %U %5c` `\xc3\xa4` 1.5 2.5 65 66 }}",
    "{{ query `hist` | first }}",
};

static int attempt(void *ctx)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    buf_init(&out, 1 << 20);
    int r = alert_expand(span_cstr(ctx), &env, &out, &err);
    buf_done(&out);
    return r;
}

static void test_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(allocating); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "%s", allocating[i]);
        assert_row(text, memfail_each(attempt, text) > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),       cmocka_unit_test(test_nan),
        cmocka_unit_test(test_collections),   cmocka_unit_test(test_queries),
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_links),
        cmocka_unit_test(test_path_prefix),   cmocka_unit_test(test_humanize),
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_moments),
        cmocka_unit_test(test_all_are_found), cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
