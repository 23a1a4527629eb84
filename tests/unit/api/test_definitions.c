/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions: both languages have the same ones, every metric and field has one, and none is left
 * over of what there is no more.
 */
#include <string.h>

#include "api/definitions.h"
#include "base/limits.h"
#include "base/stat.h"
#include "collect/source_out.h"
#include "collect/target.h"
#include "engine/signal.h"
#include "memfail.h"
#include "metrics/family.h"
#include "record/record.h"
#include "rig.h"

static bool has_chinese(const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < definitions_zh_n; i++)
        n += strcmp(definitions_zh[i].name, name) == 0;
    return n == 1;
}

static void test_everything_is_there_in_chinese(void **state)
{
    const char *source;
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT_; i++, n++)
        assert_row(family_table[i].name, has_chinese(family_table[i].name));
    for (size_t i = 0; i < SIGNAL_COUNT_; i++, n++)
        assert_row(signal_table[i].series, has_chinese(signal_table[i].series));
    for (size_t i = 0; i < record_n_fields; i++, n++)
        assert_row(record_fields[i].name, has_chinese(record_fields[i].name));
    for (size_t i = 0; target_series_at(i); i++, n++)
        assert_row(target_series_at(i)->series, has_chinese(target_series_at(i)->series));
    for (size_t i = 0; source_out_at(i, &source); i++, n++)
        assert_row(source_out_at(i, &source)->series,
                   has_chinese(source_out_at(i, &source)->series));
    for (size_t i = 0; i < STAT_COUNT_; i++) {
        if (i > 0 && strcmp(stat_table[i].name, stat_table[i - 1].name) == 0)
            continue;
        assert_row(stat_table[i].name, has_chinese(stat_table[i].name));
        n++;
    }
    assert_int_equal(definitions_zh_n, n); /* none of something else */
}

static bool is_ascii(const char *s)
{
    for (; *s; s++)
        if (*s & 0x80)
            return false;
    return true;
}

/* Texts that are no formula are Chinese indeed. */
static void test_texts(void **state)
{
    size_t n_ascii = 0;
    (void)state;
    for (size_t i = 0; i < definitions_zh_n; i++)
        n_ascii += is_ascii(definitions_zh[i].text);
    assert_true(n_ascii < 5);
    for (size_t i = 0; i < definitions_figures_n; i++) {
        const struct definition_figure *f = &definitions_figures[i];
        assert_row(f->key, f->unit && f->title[LANGUAGE_EN][0] && f->text[LANGUAGE_EN][0]);
        assert_row(f->key, is_ascii(f->title[LANGUAGE_EN]) && is_ascii(f->text[LANGUAGE_EN]));
        assert_row(f->key, !is_ascii(f->title[LANGUAGE_ZH]) && !is_ascii(f->text[LANGUAGE_ZH]));
        for (size_t k = 0; k < i; k++)
            assert_row(f->key, strcmp(f->key, definitions_figures[k].key) != 0);
    }
}

static bool is_ready(void *arg, const char **ret_why)
{
    (void)arg;
    *ret_why = "";
    return true;
}

static bool has(struct span text, const char *needle)
{
    return span_find(text, span_cstr(needle)) < text.n;
}

static void test_answers(void **state)
{
    static const struct {
        const char *fields, *wanted;
    } rows[] = {
        {"", "{\"status\":\"success\",\"data\":[{\"name\":\"started_at\",\"kind\":\"field\","},
        {"",
         "{\"name\":\"ttft_ms\",\"kind\":\"field\",\"unit\":\"ms\",\"en\":\"Time to first token: "
         "t_first_token - t_request; streams only\",\"zh\":\"首 token 时间"},
        {"", "{\"name\":\"llm_ttft_seconds\",\"kind\":\"metric\",\"type\":\"histogram\","
             "\"unit\":\"seconds\",\"en\":\""},
        {"", "{\"name\":\"clock_offset_seconds\",\"kind\":\"metric\",\"type\":\"gauge\","},
        {"", "{\"name\":\"up\",\"kind\":\"metric\","},
        {"", "\"title_en\":\"Burn rate\",\"title_zh\":\"燃烧率\"}"},
        {"Accept-Encoding: gzip\r\n", "Content-Encoding: gzip\r\n"},
    };
    static struct admin a;
    struct api_sources sources = {.is_ready = is_ready};
    (void)state;
    admin_start(&a, &sources, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].wanted, has(admin_ask(&a, "GET", "/api/v1/definitions", rows[i].fields),
                                       rows[i].wanted));
    admin_stop(&a);
}

static int attempt(void *ctx)
{
    struct buf out;
    struct jsonw w;
    (void)ctx;
    buf_init(&out, MIB);
    jsonw_init(&w, &out);
    int r = definitions_write(&w);
    buf_done(&out);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_there_in_chinese),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("api/definitions", tests, NULL, NULL);
}
