/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <ctype.h>
#include <string.h>

#include "base/stat.h"
#include "metrics/family.h"
#include "record/record.h"

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        assert_non_null(f->name);
        assert_row(f->name,
                   strncmp(f->name, "llm_", 4) == 0 || strncmp(f->name, "inferometer_", 12) == 0);
        assert_row(f->name, f->help && has_suffix(f->help, "."));
        assert_row(f->name, f->unit && f->recorded);
        assert_row(f->name, (f->type == FAMILY_COUNTER) == has_suffix(f->name, "_total"));
        assert_row(f->name, (f->type == FAMILY_HISTOGRAM) == (f->n_default_bounds > 0));
        assert_row(f->name, strcmp(f->unit, "seconds") != 0 || has_suffix(f->name, "_seconds"));
        assert_row(f->name, family_find(f->name) == (enum metric)i); /* names are unique */
        assert_row(f->name, family_n_slots((enum metric)i) >= 1);
    }
    assert_int_equal(family_find("llm_nothing"), METRIC_COUNT_);
}

static void test_bounds(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        assert_row(f->name, f->n_default_bounds <= 25);
        for (size_t k = 1; k < f->n_default_bounds; k++)
            assert_row(f->name, f->default_bounds[k] > f->default_bounds[k - 1]);
    }
}

/* Thresholds of the SLO presets are bounds of the families they are about. */
static void test_slo_thresholds(void **state)
{
    (void)state;
    static const struct {
        enum metric metric;
        int64_t ms;
    } rows[] = {
        {METRIC_TTFT, 3000},  {METRIC_TTFT, 500},  {METRIC_TTFT, 30000},
        {METRIC_TPOT, 50},    {METRIC_TPOT, 30},   {METRIC_TPOT, 200},
        {METRIC_QUEUE, 1000}, {METRIC_QUEUE, 200}, {METRIC_QUEUE, 5000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct family *f = &family_table[rows[i].metric];
        bool is_there = false;
        for (size_t k = 0; k < f->n_default_bounds; k++)
            is_there |= f->default_bounds[k] == rows[i].ms * NS_PER_MS;
        assert_row(f->name, is_there);
    }
}

static void test_enum_values(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        for (int e = 0; e < FAMILY_ENUMS_MAX && f->enums[e].label; e++) {
            for (int v = 0; v < f->enums[e].n; v++) {
                const char *value = f->enums[e].value(v);
                assert_row(f->name, value && *value);
                for (int other = 0; other < v; other++)
                    assert_row(f->name, strcmp(value, f->enums[e].value(other)) != 0);
            }
        }
    }
}

static void test_status(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *want;
    } rows[] = {{200, "200"}, {204, "2xx"}, {101, "1xx"}, {302, "3xx"}, {404, "404"},
                {418, "4xx"}, {429, "429"}, {499, "499"}, {503, "503"}, {529, "529"},
                {599, "5xx"}, {0, "none"},  {-1, "none"}, {600, "none"}};
    const struct family_enum *e = &family_table[METRIC_HTTP_RESPONSES].enums[0];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int index = family_status_index(rows[i].status);
        assert_true(index >= 0 && index < e->n);
        assert_string_equal(e->value(index), rows[i].want);
    }
}

static void test_bands(void **state)
{
    (void)state;
    static const struct {
        int64_t prompt, cached;
        const char *want_prompt, *want_cached;
    } rows[] = {
        {0, -1, "le256", "unknown"},          {256, 0, "le256", "none"},
        {257, 1, "le1k", "lt_half"},          {131072, 65536, "le128k", "ge_half"},
        {131073, 65536, "gt128k", "lt_half"}, {INT64_MAX, INT64_MAX, "gt128k", "ge_half"},
    };
    const struct family_enum *e = family_table[METRIC_TTFT_BY_PROMPT].enums;
    assert_int_equal(e[0].n, 8);
    assert_int_equal(e[1].n, 4);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(e[0].value(family_prompt_band(rows[i].prompt)), rows[i].want_prompt);
        assert_string_equal(e[1].value(family_cached_band(rows[i].prompt, rows[i].cached)),
                            rows[i].want_cached);
    }
}

static void test_markdown(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 20);
    assert_int_equal(metrics_to_markdown(&out), 0);
    struct span text = buf_span(&out);
    for (int i = 0; i < METRIC_COUNT_; i++)
        assert_row(family_table[i].name, span_find(text, span_cstr(family_table[i].name)) < text.n);
    for (int i = 0; i < STAT_COUNT_; i++)
        assert_row(stat_table[i].name, span_find(text, span_cstr(stat_table[i].name)) < text.n);
    assert_true(
        span_find(text,
                  SPAN("- labels: model, endpoint, upstream, version, stream, outcome, business "
                       "labels\n")) < text.n);
    assert_true(span_find(text, SPAN("`client_gone_before_first`")) < text.n);
    buf_done(&out);
    /* Errors of the buffer come back. */
    for (size_t max = 1; max < 20000; max += 997) {
        buf_init(&out, max);
        assert_true(metrics_to_markdown(&out) < 0 || buf_len(&out) <= max);
        buf_done(&out);
    }
}

static void test_names_taken(void **state)
{
    (void)state;
    static const char *const taken[] = {"model", "endpoint", "upstream", "version",     "stream",
                                        "le",    "quantile", "outcome",  "prompt_band", "class"};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        assert_true(family_is_label(taken[i]));
    assert_false(family_is_label("tenant"));
    assert_false(family_is_label("mode"));
    assert_false(family_is_label(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_slo_thresholds), cmocka_unit_test(test_enum_values),
        cmocka_unit_test(test_status),         cmocka_unit_test(test_bands),
        cmocka_unit_test(test_names_taken),    cmocka_unit_test(test_markdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
