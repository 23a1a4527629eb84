/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables themselves: complete, sorted, and each name that is used is one that exists.
 */
#include "engine/map.h"

#include <string.h>

#include "base/attr.h"
#include "engine/recognise.h"
#include "harness.h"
#include "series/matcher.h"

static void test_signals(void **state)
{
    (void)state;
    for (int i = 0; i < SIGNAL_COUNT_; i++) {
        const struct signal_info *s = &signal_table[i];

        assert_row("a row", s->name && s->series && s->unit && s->help && s->type != 0);
        assert_row(s->name, labels_is_metric_name(span_cstr(s->series)));
        assert_row(s->name, (s->type == METRIC_COUNTER) ==
                                span_ends_with(span_cstr(s->series), SPAN("_total")));
        for (int k = 0; k < i; k++)
            assert_row(s->name, strcmp(s->name, signal_table[k].name) != 0 &&
                                    strcmp(s->series, signal_table[k].series) != 0);
    }
}

static int name_cmp(const struct engine_name *a, const struct engine_name *b)
{
    int r = strcmp(a->name, b->name);

    return r != 0 ? r : strcmp(a->label ? a->label : "", b->label ? b->label : "");
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < engine_maps_n; i++) {
        const struct engine_map *map = engine_maps[i];

        for (size_t k = 0; k < map->n_names; k++) {
            const struct engine_name *row = &map->names[k];

            assert_row(map->name, row->name != NULL);
            assert_row(row->name, labels_is_metric_name(span_cstr(row->name)));
            assert_row(row->name, row->since <= row->until);
            assert_row(row->name, k == 0 || name_cmp(&map->names[k - 1], row) <= 0);
        }
    }
}

static const struct engine_name *find(const struct engine_map *map, const char *metric)
{
    for (size_t k = 0; k < map->n_names; k++)
        if (!map->names[k].label && strcmp(map->names[k].name, metric) == 0)
            return &map->names[k];
    return NULL;
}

static void check_source(const struct engine_map *map, const struct engine_source *s)
{
    size_t n = 0;

    for (; n < ENGINE_PARTS_MAX && s->part[n].metric; n++)
        assert_row(s->part[n].metric, find(map, s->part[n].metric) != NULL);
    assert_row(map->name, n > 0);
    assert_row(s->part[0].metric,
               n >= 2 || (s->how != ENGINE_RATIO && s->how != ENGINE_ADD && s->how != ENGINE_LESS));
    assert_row(s->part[0].metric, n == 1 || (s->how != ENGINE_ONE && s->how != ENGINE_HIST_SUM));
    assert_row(s->part[0].metric,
               (!s->label_from && !s->label_is) || signal_table[s->signal].label != NULL);
}

static void test_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < engine_maps_n; i++) {
        const struct engine_map *map = engine_maps[i];

        for (size_t k = 0; k < map->n_sources; k++) {
            check_source(map, &map->sources[k]);
            assert_row(map->name, k == 0 || map->sources[k - 1].signal <= map->sources[k].signal);
        }
    }
}

/* What is expected is told by some source, or there is a reason why never. */
static void test_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < engine_maps_n; i++) {
        const struct engine_map *map = engine_maps[i];

        assert_row(map->name, map->title && map->print_version && map->n_expected > 0);
        for (size_t k = 0; k < map->n_never; k++)
            for (size_t m = 0; m < map->n_sources; m++)
                assert_row(map->name, map->never[k].signal != map->sources[m].signal);
    }
}

static void test_versions(void **state)
{
    static const struct {
        const char *engine;
        engine_version v;
        const char *want;
    } rows[] = {
        {"vllm", ENGINE_VERSION(0, 10, 2), "0.10.2"},
        {"vllm", ENGINE_VERSION(0, 16, 0) - 1, "0.15.x"},
        {"vllm", ENGINE_VERSION(0, 8, 3) - 1, "0.8.2"},
        {"vllm", ENGINE_POST(0, 9, 0, 1), "0.9.0.1"},
        {"sglang", ENGINE_POST(0, 4, 9, 3), "0.4.9.post3"},
        {"sglang", ENGINE_VERSION(1, 0, 0) - 1, "0.x"},
        {"llama.cpp", ENGINE_VERSION(0, 0, 5441), "b5441"},
        {"llama.cpp", ENGINE_VERSION(0, 0, 5441) - 1, "b5440"},
        {"triton", ENGINE_VERSION(23, 4, 0), "23.04"},
    };
    char text[ENGINE_VERSION_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < engine_maps_n; k++) {
            if (strcmp(engine_maps[k]->name, rows[i].engine) != 0)
                continue;
            engine_maps[k]->print_version(rows[i].v, text);
            assert_string_equal(text, rows[i].want);
        }
}

static void test_did_you_mean(void **state)
{
    static const struct {
        const char *name, *want;
        bool with_why;
    } rows[] = {
        {"vllm:gpu_cache_usage_ratio", "vllm:kv_cache_usage_perc", true},
        {"vllm:kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", true},
        {"vllm:gpu_cache_usage", "vllm:kv_cache_usage_perc", true},
        {"vllm:time_to_first_token_seconds_histogram", "vllm:time_to_first_token_seconds", true},
        {"vllm:time_to_first_token_seconds_histogram_bucket", "vllm:time_to_first_token_seconds",
         true},
        {"vllm:request_time_to_first_token_seconds", "vllm:time_to_first_token_seconds", true},
        {"vllm:num_generation_tokens_total", "vllm:generation_tokens_total", true},
        {"ray_vllm_gpu_cache_usage_ratio", "vllm:kv_cache_usage_perc", true},
        {"llamacpp:kv_cache_usage_ratio", NULL, true},
        {"sglang:queue_req", "sglang:num_queue_reqs", true},
        {"vllm:num_request_running", "vllm:num_requests_running", false},
        {"sglang:token_usag", "sglang:token_usage", false},
        {"DCGM_FI_DEV_GPU_UTILS", "DCGM_FI_DEV_GPU_UTIL", false},
        /* These exist, if not everywhere. */
        {"vllm:gpu_cache_usage_perc", NULL, false},
        {"vllm:time_to_first_token_seconds_bucket", NULL, false},
        {"node_cpu_seconds_total", NULL, false},
        {"", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *why, *meant = engine_did_you_mean(span_cstr(rows[i].name), &why);

        assert_span_equal(rows[i].name, span_cstr(meant), span_cstr(rows[i].want));
        assert_row(rows[i].name, (why != NULL) == rows[i].with_why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_sources),  cmocka_unit_test(test_expected),
        cmocka_unit_test(test_versions), cmocka_unit_test(test_did_you_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
