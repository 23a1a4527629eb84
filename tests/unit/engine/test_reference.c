/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the reference beside the project, row by row: each name is in the map of its engine,
 * in the versions that the row tells, and is a source of the signal that it names. Skipped when it
 * is not there.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/num.h"
#include "corpus.h"
#include "engine/map.h"

enum { COL_ENGINE, COL_RANGE, COL_METRIC, COL_TYPE, COL_UNIT, COL_LABELS, COL_CANONICAL, COLS };

static const struct {
    const char *engine, *map;
} engines[] = {
    {"vllm-v0", "vllm"},
    {"vllm-v1", "vllm"},
    {"vllm", "vllm"},
    {"trtllm-serve", "trtllm"},
};

/* Canonical signals that are none here, each with its reason. */
static const char *const no_signals[] = {
    "engine_info", /* its labels become kv_total_tokens */
    "lora_info",   /* a time stamp and lists in labels */
    "gpu_info",    /* names of devices */
};

/* Names with a signal that this reference itself advises not to use. */
static const char *const not_used[] = {"sglang:cache_hit_rate"};

static const struct engine_map *map_of(struct span engine)
{
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        if (span_eq(engine, span_cstr(engines[i].engine)))
            engine = span_cstr(engines[i].map);
    for (size_t i = 0; i < engine_maps_n; i++)
        if (span_eq(span_cstr(engine_maps[i]->name), engine))
            return engine_maps[i];
    return NULL;
}

/* Digits at the front of *s. */
static uint64_t take_number(struct span *s)
{
    uint64_t v = 0;
    size_t n = 0;

    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    return num_parse_u64(span_take(s, n), &v) == 0 ? v : 0;
}

/* 0.8.5.post1, 0.9.0.1, b5441; false: something else. */
static bool version_of(struct span s, engine_version *ret)
{
    uint64_t part[4] = {0, 0, 0, 0};
    bool is_build = span_starts_with(s, SPAN("b"));

    if (is_build)
        s = span_from(s, 1);
    for (size_t i = 0; i < 4 && s.n > 0; i++) {
        if (span_starts_with(s, SPAN("post")))
            s = span_from(s, 4);
        if (s.p[0] < '0' || s.p[0] > '9')
            return false;
        part[i] = take_number(&s);
        if (span_starts_with(s, SPAN(".")))
            s = span_from(s, 1);
    }
    *ret =
        is_build ? ENGINE_VERSION(0, 0, part[0]) : ENGINE_POST(part[0], part[1], part[2], part[3]);
    return s.n == 0;
}

/* "a..b" or ">=a"; false: in words. */
static bool range_of(struct span s, engine_version *ret_since, engine_version *ret_until)
{
    size_t dots = span_find(s, SPAN(".."));

    *ret_until = ENGINE_NEWEST;
    if (span_starts_with(s, SPAN(">=")))
        return version_of(span_from(s, 2), ret_since);
    return dots < s.n && version_of(span_of(s.p, dots), ret_since) &&
           version_of(span_from(s, dots + 2), ret_until);
}

static bool is_covered(const struct engine_map *map, struct span name, engine_version v)
{
    for (size_t i = 0; i < map->n_names; i++) {
        const struct engine_name *row = &map->names[i];

        if (!row->label && span_eq(span_cstr(row->name), name) && row->since <= v &&
            v <= row->until)
            return true;
    }
    return false;
}

static bool has_name(const struct engine_map *map, struct span name)
{
    for (size_t i = 0; i < map->n_names; i++)
        if (!map->names[i].label && span_eq(span_cstr(map->names[i].name), name))
            return true;
    return false;
}

static bool is_source(const struct engine_map *map, struct span name, struct span signal)
{
    for (size_t i = 0; i < map->n_sources; i++) {
        const struct engine_source *s = &map->sources[i];

        for (size_t k = 0; k < ENGINE_PARTS_MAX && s->part[k].metric; k++)
            if (span_eq(span_cstr(s->part[k].metric), name) &&
                span_eq(span_cstr(signal_table[s->signal].name), signal))
                return true;
    }
    return false;
}

static bool is_one_of(const char *const *list, size_t n, struct span s)
{
    for (size_t i = 0; i < n; i++)
        if (span_eq(span_cstr(list[i]), s))
            return true;
    return false;
}

/* As the table has it: what stands in front of TensorRT-LLM's names differs by version. */
static struct span in_table(const struct engine_map *map, struct span name, char *dst, size_t cap)
{
    if (strcmp(map->name, "trtllm") != 0 || span_starts_with(name, SPAN("trtllm_")))
        return name;
    if (span_starts_with(name, SPAN("trtllm:")))
        name = span_from(name, 7);
    memcpy(dst, "trtllm_", 7);
    return span_of(dst, 7 + span_copy(name, dst + 7, cap - 7));
}

static size_t n_rows, n_ranges, n_signals;

static void check_row(const struct span *cols)
{
    char text[200], shown[200];
    const struct engine_map *map = map_of(cols[COL_ENGINE]);
    engine_version since, until;

    if (!map || cols[COL_METRIC].n == 0 ||
        span_find_char(cols[COL_METRIC], '<') < cols[COL_METRIC].n ||
        span_find_char(cols[COL_METRIC], '*') < cols[COL_METRIC].n)
        return;
    struct span name = in_table(map, cols[COL_METRIC], text, sizeof text);
    (void)span_copy(name, shown, sizeof shown);
    n_rows++;
    assert_row(shown, has_name(map, name));
    if (range_of(cols[COL_RANGE], &since, &until)) {
        n_ranges++;
        assert_row(shown, is_covered(map, name, since) && is_covered(map, name, until));
    }
    struct span signal = span_of(cols[COL_CANONICAL].p, span_find_char(cols[COL_CANONICAL], '{'));
    if (span_eq(signal, SPAN("-")) || is_one_of(no_signals, ARRAY_LEN(no_signals), signal) ||
        is_one_of(not_used, ARRAY_LEN(not_used), name))
        return;
    n_signals++;
    assert_row(shown, is_source(map, name, signal));
}

static void test_reference(void **state)
{
    struct span all = corpus_read("../shared/reference/engine-metrics.tsv"), rest = all;
    (void)state;
    if (!all.p)
        exit(HARNESS_SKIPPED);
    (void)span_split(&rest, '\n');
    while (rest.n > 0) {
        struct span line = span_split(&rest, '\n'), cols[COLS];

        for (size_t i = 0; i < COLS; i++)
            cols[i] = span_split(&line, '\t');
        check_row(cols);
    }
    assert_true(n_rows > 800 && n_ranges > 550 && n_signals > 400);
    free((void *)(uintptr_t)all.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
