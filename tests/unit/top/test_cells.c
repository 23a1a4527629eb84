/* SPDX-License-Identifier: Apache-2.0 */
/* Cells have the width that was asked for, whatever the text. */
#include "harness.h"

#include <math.h>

#include "base/attr.h"
#include "top/cells.h"

static void texts(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        enum top_align align;
        bool has_utf8;
        const char *cell;
    } rows[] = {
        {"abc", 5, TOP_LEFT, true, "abc  "},
        {"abc", 5, TOP_RIGHT, true, "  abc"},
        {"abcdef", 5, TOP_LEFT, true, "abcd\xe2\x80\xa6"},
        {"abcdef", 5, TOP_RIGHT, false, "abcd~"},
        {"abcde", 5, TOP_LEFT, true, "abcde"},
        {"", 3, TOP_LEFT, true, "   "},
        {"abc", 0, TOP_LEFT, true, ""},
        {"\xe9\x80\x9a\xe4\xb9\x89", 5, TOP_LEFT, true, "\xe9\x80\x9a\xe4\xb9\x89 "},
        {"\xe9\x80\x9a\xe4\xb9\x89", 3, TOP_LEFT, true, "\xe9\x80\x9a\xe2\x80\xa6"},
        {"\xe9\x80\x9a\xe4\xb9\x89\xe4\xb9\x89", 4, TOP_LEFT, true, "\xe9\x80\x9a\xe2\x80\xa6 "},
        {"\xe9\x80\x9a\xe4\xb9\x89", 5, TOP_LEFT, false, "??   "},
        {"e\xcc\x81x", 3, TOP_LEFT, true, "e\xcc\x81x "},
        {"a\x1b[31mb", 8, TOP_LEFT, true, "a?[31mb "},
        {"a\nb\x01\x7f", 6, TOP_LEFT, true, "a?b?? "},
        {"\xc2\x9b"
         "2J",
         4, TOP_LEFT, true, "?2J "}, /* one character that is a control */
        {"a\xe2\x80\xae"
         "b",
         4, TOP_LEFT, true, "a?b "}, /* right to left */
        {"\xff\xfe", 3, TOP_LEFT, true, "?? "},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 1000);
        assert_int_equal(top_cells_put(span_cstr(rows[i].text), rows[i].width, rows[i].align,
                                       rows[i].has_utf8, &b),
                         0);
        assert_span_equal(rows[i].text, buf_span(&b), span_cstr(rows[i].cell));
        assert_int_equal(top_cells_width(buf_span(&b)), rows[i].width);
        buf_done(&b);
    }
}

static void numbers(void **state)
{
    static const struct {
        double v;
        const char *seconds, *number, *ratio;
    } rows[] = {
        {0, "0.00ms", "0", "0%"},
        {0.0001234, "0.12ms", "0.00", "0.0%"},
        {0.0123, "12.3ms", "0.01", "1.2%"},
        {0.8125, "812ms", "0.81", "81%"},
        {0.9999, "1.00s", "1.00", "100%"},
        {12.345, "12.3s", "12.3", "1234%"},
        {99.96, "100s", "100", "9996%"},
        {200, "3m20s", "200", "20000%"},
        {999.6, "16m39s", "1.00k", "99960%"},
        {7980, "2h13m", "7.98k", "798000%"},
        {273600, "3d4h", "274k", "27360000%"},
        {(double)NAN, "-", "-", "-"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[TOP_CELL_BYTES];
        top_cells_seconds(rows[i].v, text);
        assert_string_equal(text, rows[i].seconds);
        top_cells_number(rows[i].v, text);
        assert_string_equal(text, rows[i].number);
        top_cells_ratio(rows[i].v, text);
        assert_string_equal(text, rows[i].ratio);
    }
}

static void trends(void **state)
{
    static const float v[] = {0, 1, NAN, 4};
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(top_cells_trend(v, 4, false, &b), 0);
    assert_span_equal("ASCII", buf_span(&b), SPAN("_, #"));
    buf_clear(&b);
    assert_int_equal(top_cells_trend(v, 4, true, &b), 0);
    assert_span_equal("bars", buf_span(&b), SPAN("\xe2\x96\x81\xe2\x96\x83 \xe2\x96\x88"));
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(numbers),
                                       cmocka_unit_test(trends)};
    return cmocka_run_group_tests_name("top/cells", tests, NULL, NULL);
}
