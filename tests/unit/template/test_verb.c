/* SPDX-License-Identifier: Apache-2.0 */
/* Facts are what Go prints: template.test.mjs asks the same, and at random, of a real Prometheus.
 */
#include "template/verb.h"

#include "alert.h"

struct row {
    const char *text, *want;
};

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)                                                   \
    alert_check((rows)[i].text, (rows)[i].want)

static void test_integers(void **state)
{
    static const struct row rows[] = {
        {"{{ printf `%d|%5d|%-5d|%05d|%+d|% d|%v` 65 65 65 65 65 65 65 }}",
         "65|   65|65   |00065|+65| 65|65"},
        {"{{ printf `%x|%X|%#x|%#X|%o|%#o|%O|%#O|%b|%#b` 650 650 650 650 8 8 8 8 5 5 }}",
         "28a|28A|0x28a|0X28A|10|010|0o10|0o010|101|0b101"},
        {"{{ printf `%d|%5d|%-5d|%05d|%.3d|%8.3d|%08.3d|%+.3d` -65 -65 -65 -65 -65 -65 -65 65 }}",
         "-65|  -65|-65  |-0065|-065|    -065|    -065|+065"},
        {"{{ printf `[%.0d] [%5.0d] [%.0d] [%x]` 0 0 1 -255 }}", "[] [     ] [1] [-ff]"},
        {"{{ printf `%c|%5c|%-3c|%q|%+q|%U|%#U|%.6U` 65 65 65 65 8364 65 65 65 }}",
         "A|    A|A  |'A'|'\\u20ac'|U+0041|U+0041 'A'|U+000041"},
        {"{{ printf `%c%c` 9731 1114112 }} {{ printf `%q %q %q %q` 10 39 7 127 }}",
         "\xe2\x98\x83\xef\xbf\xbd '\\n' '\\'' '\\a' '\\x7f'"},
        {"{{ printf `%q %+q %#U %#U` 128 128512 10 -1 }}",
         "'\\u0080' '\\U0001f600' U+000A U+FFFFFFFFFFFFFFFF"},
        {"{{ printf `%d %d` 9223372036854775807 -9223372036854775808 }}",
         "9223372036854775807 -9223372036854775808"},
        {"{{ printf `%s %f %t %z` 1 2 3 4 }}", "%!s(int=1) %!f(int=2) %!t(int=3) %!z(int=4)"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_floats(void **state)
{
    static const struct row rows[] = {
        {"{{ 1.0 }} {{ 0.1 }} {{ 123456789.0 }} {{ 1e5 }} {{ 1e6 }} {{ 1e20 }} {{ 1e-4 }} {{ 1e-5 "
         "}}",
         "1 0.1 1.23456789e+08 100000 1e+06 1e+20 0.0001 1e-05"},
        {"{{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 0.30000000000000004 }} {{ 1e100 }} {{ -0.0 "
         "}}",
         "5e-324 1.7976931348623157e+308 0.30000000000000004 1e+100 -0"},
        {"{{ printf `%v|%g|%e|%f|%G|%E|%F` 1234.5 1234.5 1234.5 1234.5 1e-7 1234.5 1234.5 }}",
         "1234.5|1234.5|1.234500e+03|1234.500000|1E-07|1.234500E+03|1234.500000"},
        {"{{ printf `%.0f|%.2f|%.3g|%.1e|%.10g|%.f` 2.5 1.005 1234.5 1234.5 0.1 3.5 }}",
         "2|1.00|1.23e+03|1.2e+03|0.1|4"},
        {"{{ printf `%10.2f|%-10.2f|%010.2f|%+.1f|% .1f|%+08.1f` 1.5 1.5 -1.5 1.5 1.5 1.5 }}",
         "      1.50|1.50      |-000001.50|+1.5| 1.5|+00001.5"},
        {"{{ printf `%#g|%#.3f|%#.0f|%#.0e|%#g|%#G|%#.3x` 1.0 1.5 2.0 2.0 0.0 1e-7 1.0 }}",
         "1.00000|1.500|2.|2.e+00|0.00000|1.00000E-07|0x1.000p+00"},
        {"{{ printf `%x|%X|%.2x|%.0x|%x|%b|%x` 1234.5 1e-7 1.999 1.5 0.0 1.0 5e-324 }}",
         "0x1.34ap+10|0X1.AD7F29ABCAF48P-24|0x1.00p+01|0x1p+01|0x0p+00|4503599627370496p-52|"
         "0x1p-1074"},
        {"{{ printf `%.3G|%.5G` 1e-7 1234.5678 }}", "1E-07|1234.6"},
        {"{{ printf `%d|%s|%5t|%c` 1.5 2.5 1.5 1.5 }}",
         "%!d(float64=1.5)|%!s(float64=2.5)|%!t(float64=  1.5)|%!c(float64=1.5)"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void check_value(double value, const char *text, const char *want)
{
    struct template_env env = alert_env();
    struct err err;
    struct buf out;
    env.value = value;
    buf_init(&out, 1000);
    assert_int_equal(alert_expand(span_cstr(text), &env, &out, &err), 0);
    assert_span_equal(text, buf_span(&out), span_cstr(want));
    buf_done(&out);
}

static void test_no_numbers(void **state)
{
    const char *text = "{{ printf `%v|%6.2f|%06f|%+e|% g` $value $value $value $value $value }}";
    (void)state;
    check_value(HUGE_VAL, text, "+Inf|  +Inf|  +Inf|+Inf| Inf");
    check_value(-HUGE_VAL, text, "-Inf|  -Inf|  -Inf|-Inf|-Inf");
    check_value((double)NAN, text, "NaN|   NaN|   NaN|+NaN| NaN");
}

static void test_texts(void **state)
{
    static const struct row rows[] = {
        {"{{ printf `%s|%5s|%-5s|%.2s|%5.1s|%05s|%v` `abc` `abc` `abc` `\xc3\xa4\xc3\xb6\xc3\xbc` "
         "`abc` `abc` `abc` }}",
         "abc|  abc|abc  |\xc3\xa4\xc3\xb6|    a|00abc|abc"},
        {"{{ printf `%q|%#q|%+q|%10q|%#v|%.1q` \"a\\\"\\n\" `a` `\xc3\xa4\xf0\x9f\x98\x80` `a` `a` "
         "`abc` }}",
         "\"a\\\"\\n\"|`a`|\"\\u00e4\\U0001f600\"|       \"a\"|\"a\"|\"a\""},
        {"{{ printf `%q` \"\\u00a0\\u200b\\ue000\" }}", "\"\\u00a0\\u200b\\ue000\""},
        {"{{ printf `%#q|%q` \"a`\\n\" \"\\xff\\x00\" }}", "\"a`\\n\"|\"\\xff\\x00\""},
        {"{{ printf `%x|%X|% x|%#x|%# X|%.2x|%6x|%x` `abc` `az` `abc` `abc` `ab` `abc` `ab` `` }}",
         "616263|617A|61 62 63|0x616263|0X61 0X62|6162|  6162|"},
        {"{{ printf `%d|%t|%5d` `a` `b` `c` }}", "%!d(string=a)|%!t(string=b)|%!d(string=    c)"},
        {"{{ printf `%t|%v|%6t|%-6t|%q|%06t` true false true false true true }}",
         "true|false|  true|false |%!q(bool=true)|00true"},
        {"{{ printf `%v %5v %d %s` nil nil nil nil }}", "<nil> <nil> %!d(<nil>) %!s(<nil>)"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_others(void **state)
{
    static const struct row rows[] = {
        {"{{ printf `%v %s` $externalLabels $externalLabels }}", "map[cluster:c1] map[cluster:c1]"},
        {"{{ printf `%d %q` $externalLabels $externalLabels }}",
         "map[%!d(string=cluster):%!d(string=c1)] map[\"cluster\":\"c1\"]"},
        {"{{ printf `%v %+v` (query `up` | first) (query `up` | first) }}",
         "{map[__name__:up __value__:text host:b] 1} "
         "{Labels:map[__name__:up __value__:text host:b] Value:1}"},
        {"{{ query `hist` }} {{ query `none` }}",
         "[{map[__name__:up host:a] {count:3, sum:10, (1,2]:3}}] []"},
        {"{{ printf `%.1f` (args 1.25 `x`) }}",
         "map[%!f(string=a):1.2 %!f(string=a):%!f(string=x)]"},
        {"{{ printf `%s|%q|%5.2s|%d` (toTime 1) (toDuration 1) (toDuration 1) (toTime 1) }}",
         "1970-01-01 00:00:01 +0000 UTC|\"1s\"|   1s|%!d(*time.Time)"},
        {"{{ . }}", "{map[empty_like:  instance:web-1.example.com:9100 job:api] map[cluster:c1] "
                    "http://host:9090/path%20x/prefix?q=1#top 1234.5}"},
        {"{{ print 1 2 `a` `b` 3 4 }}|{{ print }}|{{ println `a` 1 }}|{{ print nil }}",
         "1 2ab3 4||a 1\n|<nil>"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_formats(void **state)
{
    static const struct row rows[] = {
        {"{{ printf `` }}{{ printf `%%|%5%|a` }}", "%|%|a"},
        {"{{ printf `%d` }} {{ printf `%d %d` 1 }}", "%!d(MISSING) 1 %!d(MISSING)"},
        {"{{ printf `x` 1 `a` 2.5 nil }}", "x%!(EXTRA int=1, string=a, float64=2.5, <nil>)"},
        {"{{ printf `%` }} {{ printf `%5` 1 }}", "%!(NOVERB) %!(NOVERB)%!(EXTRA int=1)"},
        {"{{ printf `%[2]d %[1]d` 1 2 }} {{ printf `%[1]d %d %[1]d` 1 2 }}", "2 1 1 2 1"},
        {"{{ printf `%[3]d` 1 }} {{ printf `%[x]d` 1 }} {{ printf `%[1` 1 }} {{ printf `%[0]d` 1 "
         "}}",
         "%!d(BADINDEX) %!d(BADINDEX) %!(NOVERB) %!d(BADINDEX)"},
        {"{{ printf `%[1]5d` 1 }} {{ printf `%[1].2f` 1.5 }} {{ printf `%.[1]*f` 1 2.5 }}",
         "%!d(BADINDEX) %!f(BADINDEX) 2.5"},
        {"{{ printf `%*d|%-*d|%.*f|%*s|%*d` 5 1 5 1 2 1.2345 3 `a` -3 7 }}",
         "    1|1    |1.23|  a|7  "},
        {"{{ printf `%*d` `a` 1 }} {{ printf `%.*f` -1 1.5 }} {{ printf `%*d` }}",
         "%!(BADWIDTH)1 %!(BADPREC)1.500000 %!(BADWIDTH)%!d(MISSING)"},
        {"{{ printf `%[2]*[1]d|%[3].2f` 1 5 2.5 }}", "    1|%!f(BADINDEX)"},
        {"{{ printf `%\xc3\xa4|%!|%z` 1 2 3 }}", "%!\xc3\xa4(int=1)|%!!(int=2)|%!z(int=3)"},
        {"{{ printf `%.d|%.3|` 5 6 }}", "5|%!|(int=006)"},
        {"{{ printf 1 }}", "1:4: wrong type for value; expected string; got int"},
        {"{{ printf \"%\\xff\" 1 }}", "%!\xef\xbf\xbd(int=1)"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_floats),
        cmocka_unit_test(test_no_numbers), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_others),     cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
