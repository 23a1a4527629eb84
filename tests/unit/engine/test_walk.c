/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every version at which a name of vLLM or SGLang comes or goes: a page with just the names of that
 * version is of a range that has it in it, and tells each signal once, from beginning to end of the
 * time in which there is one. The times are written down here once more, from the reference.
 */
#include "enginepage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"

#define V(a, b, c)       ENGINE_VERSION(a, b, c)
#define P(a, b, c, post) ENGINE_POST(a, b, c, post)
#define NEWEST           ENGINE_NEWEST

enum { SPANS_MAX = 3 };
struct lifetime {
    enum signal signal;
    struct {
        engine_version since, until;
    } at[SPANS_MAX];
};

#define V0_END V(0, 11, 0)

static const struct lifetime vllm_v0[] = {
    {SIGNAL_RUNNING, {{V(0, 2, 3), V0_END}}},
    {SIGNAL_WAITING, {{V(0, 2, 3), V0_END}}},
    {SIGNAL_INFLIGHT, {{V(0, 2, 3), V0_END}}},
    {SIGNAL_SWAPPED, {{V(0, 2, 3), V(0, 8, 3) - 1}}},
    {SIGNAL_KV_USAGE, {{V(0, 2, 3), V0_END}}},
    {SIGNAL_KV_TOTAL_TOKENS, {{V(0, 3, 3), V0_END}}},
    {SIGNAL_KV_TOTAL_BLOCKS, {{V(0, 3, 3), V0_END}}},
    {SIGNAL_PREEMPTIONS, {{V(0, 4, 3), V0_END}}},
    {SIGNAL_PROMPT_TOKENS, {{V(0, 3, 1), V0_END}}},
    {SIGNAL_GENERATION_TOKENS, {{V(0, 3, 1), V0_END}}},
    {SIGNAL_PREFIX_HIT_RATIO, {{V(0, 5, 5), V(0, 8, 3) - 1}}},
    {SIGNAL_TTFT, {{V(0, 3, 1), V0_END}}},
    {SIGNAL_ITL, {{V(0, 3, 1), V0_END}}},
    {SIGNAL_E2E, {{V(0, 3, 1), V0_END}}},
    {SIGNAL_QUEUE, {{V(0, 6, 4), V0_END}}},
    {SIGNAL_PREFILL, {{V(0, 6, 4), V0_END}}},
    {SIGNAL_DECODE, {{V(0, 6, 4), V0_END}}},
    {SIGNAL_INFERENCE, {{V(0, 6, 4), V0_END}}},
    {SIGNAL_REQUEST_PROMPT_TOKENS, {{V(0, 4, 2), V0_END}}},
    {SIGNAL_REQUEST_GENERATION_TOKENS, {{V(0, 4, 2), V0_END}}},
    {SIGNAL_ITERATION_TOKENS, {{V(0, 6, 4), V0_END}}},
    {SIGNAL_SUCCESS, {{V(0, 4, 2), V0_END}}},
    {SIGNAL_PROMPT_THROUGHPUT, {{V(0, 2, 3), P(0, 6, 6, 1)}}},
    {SIGNAL_GENERATION_THROUGHPUT, {{V(0, 2, 3), P(0, 6, 6, 1)}}},
    {SIGNAL_SPEC_DRAFT_TOKENS, {{V(0, 5, 3), V(0, 9, 2)}}},
    {SIGNAL_SPEC_ACCEPTED_TOKENS, {{V(0, 5, 3), V(0, 9, 2)}}},
};

static const struct lifetime vllm_v1[] = {
    {SIGNAL_RUNNING, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_WAITING, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_INFLIGHT, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_KV_USAGE, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_KV_TOTAL_TOKENS, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_KV_TOTAL_BLOCKS, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_PREEMPTIONS, {{V(0, 8, 0), NEWEST}}},
    {SIGNAL_PROMPT_TOKENS, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_GENERATION_TOKENS, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_CACHED_TOKENS, {{V(0, 9, 2), NEWEST}}},
    {SIGNAL_PREFIX_QUERIES, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_PREFIX_HITS, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_TTFT, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_ITL, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_TPOT, {{V(0, 11, 0), NEWEST}}},
    {SIGNAL_E2E, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_QUEUE, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_PREFILL, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_DECODE, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_INFERENCE, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_REQUEST_PROMPT_TOKENS, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_REQUEST_GENERATION_TOKENS, {{V(0, 7, 1), NEWEST}}},
    {SIGNAL_ITERATION_TOKENS, {{V(0, 7, 3), NEWEST}}},
    {SIGNAL_SUCCESS, {{V(0, 7, 2), NEWEST}}},
    {SIGNAL_FAILURE, {{V(0, 32, 0), NEWEST}}},
    {SIGNAL_SPEC_DRAFT_TOKENS, {{V(0, 8, 3), NEWEST}}},
    {SIGNAL_SPEC_ACCEPTED_TOKENS, {{V(0, 8, 3), NEWEST}}},
    {SIGNAL_SPEC_DRAFTS, {{V(0, 8, 5), NEWEST}}},
    {SIGNAL_SLEEP_STATE, {{V(0, 11, 1), NEWEST}}},
};

#define SGLANG_BEGIN P(0, 3, 5, 1)

static const struct lifetime sglang[] = {
    {SIGNAL_RUNNING, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_WAITING, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_INFLIGHT, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_KV_USAGE, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_KV_USED_TOKENS, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_KV_TOTAL_TOKENS, {{V(0, 5, 6), NEWEST}}},
    {SIGNAL_PREEMPTIONS, {{P(0, 4, 9, 3), V(0, 5, 2)}, {V(0, 5, 7), NEWEST}}},
    {SIGNAL_PROMPT_TOKENS, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_GENERATION_TOKENS, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_CACHED_TOKENS, {{P(0, 4, 3, 4), NEWEST}}},
    {SIGNAL_TTFT, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_ITL, {{P(0, 4, 3, 3), NEWEST}}},
    {SIGNAL_TPOT, {{SGLANG_BEGIN, P(0, 4, 4, 3)}}},
    {SIGNAL_E2E, {{SGLANG_BEGIN, NEWEST}}},
    {SIGNAL_QUEUE, {{P(0, 4, 5, 1), NEWEST}}},
    {SIGNAL_PREFILL, {{V(0, 5, 3), NEWEST}}},
    {SIGNAL_REQUEST_PROMPT_TOKENS, {{P(0, 4, 6, 4), NEWEST}}},
    {SIGNAL_REQUEST_GENERATION_TOKENS, {{P(0, 4, 6, 4), NEWEST}}},
    {SIGNAL_SUCCESS, {{P(0, 4, 1, 6), NEWEST}}},
    {SIGNAL_FAILURE, {{V(0, 4, 7), NEWEST}}},
    {SIGNAL_GENERATION_THROUGHPUT, {{SGLANG_BEGIN, NEWEST}}},
};

struct walk {
    const char *title;
    const char *engine;
    const char *edition;
    unsigned flag; /* of names that are of the other edition */
    engine_version begin, end;
    const struct lifetime *times;
    size_t n;
    const char *prefix, *in_table; /* behind something that changes names */
    const char *like;              /* whose labels names without labels of their own have */
};

/* --- a page --- */

static const struct engine_map *map_of(const char *engine)
{
    for (size_t i = 0; i < engine_maps_n; i++)
        if (strcmp(engine_maps[i]->name, engine) == 0)
            return engine_maps[i];
    fail_msg("there is no engine %s", engine);
    return NULL;
}

static bool is_hist(const struct engine_map *map, const char *name)
{
    for (size_t i = 0; i < map->n_sources; i++) {
        const struct engine_source *s = &map->sources[i];

        if (s->part[0].metric && strcmp(s->part[0].metric, name) == 0)
            return signal_table[s->signal].type == METRIC_HISTOGRAM &&
                   (s->flags & ENGINE_SOURCE_MEAN_ONLY) == 0;
    }
    return false;
}

static bool is_of(const struct walk *w, const struct engine_name *row, engine_version v)
{
    return row->since <= v && v <= row->until && (row->flags & w->flag) == 0;
}

/* What a label of the tables has as its value here. */
static const char *label_value(const char *label)
{
    if (strcmp(label, "cache_source") == 0)
        return "total";
    return strstr(label, "rank") || strcmp(label, "engine") == 0 ? "0" : "x";
}

static bool has_labels(const struct engine_map *map, const char *name)
{
    for (size_t i = 0; i < map->n_names; i++)
        if (map->names[i].label && strcmp(map->names[i].name, name) == 0)
            return true;
    return false;
}

static void put_labels(const struct walk *w, const struct engine_map *map, const char *name,
                       engine_version v, struct buf *out)
{
    static const struct {
        const char *name, *labels;
    } needed[] = {
        {"vllm:cache_config_info", "num_gpu_blocks=\"100\",block_size=\"16\","},
        {"sglang:per_stage_req_latency_seconds", "stage=\"prefill_forward\","},
    };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (strcmp(needed[i].name, name) == 0)
            assert_int_equal(buf_append(out, span_cstr(needed[i].labels)), 0);
    if (!has_labels(map, name))
        name = w->like;
    for (size_t i = 0; i < map->n_names; i++) {
        const struct engine_name *row = &map->names[i];

        if (row->label && strcmp(row->name, name) == 0 && is_of(w, row, v))
            assert_int_equal(buf_printf(out, "%s=\"%s\",", row->label, label_value(row->label)), 0);
    }
}

static void put_family(const struct walk *w, const struct engine_map *map, const char *name,
                       engine_version v, struct buf *out)
{
    bool hist = is_hist(map, name);
    const char *own = name + strlen(w->in_table);
    struct buf labels;

    buf_init(&labels, 4096);
    put_labels(w, map, name, v, &labels);
    struct span l = buf_span(&labels);
    assert_int_equal(
        buf_printf(out, "# TYPE %s%s %s\n", w->prefix, own, hist ? "histogram" : "gauge"), 0);
    if (hist)
        assert_int_equal(buf_printf(out,
                                    "%s%s_bucket{%.*sle=\"+Inf\"} 1\n%s%s_sum{%.*s} 1\n"
                                    "%s%s_count{%.*s} 1\n",
                                    w->prefix, own, SPAN_ARG(l), w->prefix, own, SPAN_ARG(l),
                                    w->prefix, own, SPAN_ARG(l)),
                         0);
    else
        assert_int_equal(buf_printf(out, "%s%s{%.*s} 1\n", w->prefix, own, SPAN_ARG(l)), 0);
    buf_done(&labels);
}

static void put_page(const struct walk *w, engine_version v, bool with_optional, struct buf *out)
{
    const struct engine_map *map = map_of(w->engine);
    unsigned skipped = ENGINE_NAME_HIDDEN | (with_optional ? 0 : ENGINE_NAME_OPTIONAL);
    const char *last = "";

    for (size_t i = 0; i < map->n_names; i++) {
        const struct engine_name *row = &map->names[i];

        if (row->label || !is_of(w, row, v) || (row->flags & skipped) != 0 ||
            strncmp(row->name, w->in_table, strlen(w->in_table)) != 0 ||
            strcmp(last, row->name) == 0)
            continue;
        last = row->name;
        put_family(w, map, row->name, v, out);
    }
}

/* --- what it is taken for --- */

static void check_range(const struct walk *w, const struct enginepage *p, engine_version v)
{
    char at[ENGINE_VERSION_TEXT_MAX], since[ENGINE_VERSION_TEXT_MAX],
        until[ENGINE_VERSION_TEXT_MAX];

    assert_int_equal(p->page.n_engines, 1);
    const struct engine_found *e = &p->page.engines[0];
    assert_string_equal(e->map->name, w->engine);
    if (e->since <= v && v <= e->until && !e->is_mixed && e->is_whole &&
        (!e->edition || !w->edition || strcmp(e->edition, w->edition) == 0))
        return;
    fail_msg("%s %s is taken for %s, %s to %s", w->title, enginepage_version(e, v, at),
             e->edition ? e->edition : "", enginepage_version(e, e->since, since),
             enginepage_version(e, e->until, until));
}

static bool is_told(const struct lifetime *l, engine_version v)
{
    for (size_t i = 0; i < SPANS_MAX && l->at[i].until != 0; i++)
        if (l->at[i].since <= v && v <= l->at[i].until)
            return true;
    return false;
}

static void check_signals(const struct walk *w, const struct enginepage *p, engine_version v)
{
    size_t n_times[SIGNAL_COUNT_] = {0};
    char at[ENGINE_VERSION_TEXT_MAX];

    p->page.engines[0].map->print_version(v, at);
    for (size_t i = 0; i < p->n_values; i++)
        n_times[p->values[i].from->signal]++;
    for (size_t i = 0; i < w->n; i++) {
        size_t wanted = is_told(&w->times[i], v);

        if (n_times[w->times[i].signal] != wanted)
            fail_msg("%s %s: %s %zu times", w->title, at, signal_table[w->times[i].signal].name,
                     n_times[w->times[i].signal]);
        n_times[w->times[i].signal] = 0;
    }
    for (int s = 0; s < SIGNAL_COUNT_; s++)
        if (n_times[s] > 0)
            fail_msg("%s %s: %s is not expected", w->title, at, signal_table[s].name);
}

static void check_version(const struct walk *w, engine_version v, bool with_optional)
{
    struct enginepage p;
    struct buf text;

    buf_init(&text, 1 << 20);
    put_page(w, v, with_optional, &text);
    enginepage_read(&p, buf_span(&text));
    check_range(w, &p, v);
    if (with_optional)
        check_signals(w, &p, v);
    assert_int_equal(p.page.n_unknown, 0);
    assert_int_equal(p.page.n_foreign, 0);
    enginepage_done(&p);
    buf_done(&text);
}

static size_t walk(const struct walk *w)
{
    const struct engine_map *map = map_of(w->engine);
    size_t n = 0;

    for (size_t i = 0; i < 2 * map->n_names; i++) {
        engine_version v = i % 2 == 0 ? map->names[i / 2].since : map->names[i / 2].until;

        if (v < w->begin || v > w->end || (map->names[i / 2].flags & w->flag) != 0)
            continue;
        check_version(w, v, true);
        check_version(w, v, false);
        n += 2;
    }
    return n;
}

static void test_walk(void **state)
{
    static const struct walk walks[] = {
        {"vLLM V0", "vllm", "V0", ENGINE_NAME_V1, V(0, 2, 3), V0_END, vllm_v0, ARRAY_LEN(vllm_v0),
         "vllm:", "vllm:", "vllm:num_requests_running"},
        {"vLLM V1", "vllm", "V1", ENGINE_NAME_V0, V(0, 7, 1), NEWEST - 1, vllm_v1,
         ARRAY_LEN(vllm_v1), "vllm:", "vllm:", "vllm:num_requests_running"},
        {"Ray, old", "vllm", "V1", ENGINE_NAME_V0, V(0, 7, 1), V(0, 10, 2), vllm_v1,
         ARRAY_LEN(vllm_v1), "ray_vllm:", "vllm:", "vllm:num_requests_running"},
        {"Ray, new", "vllm", "V1", ENGINE_NAME_V0, V(0, 11, 0), NEWEST - 1, vllm_v1,
         ARRAY_LEN(vllm_v1), "ray_vllm_", "vllm:", "vllm:num_requests_running"},
        {"SGLang", "sglang", NULL, 0, SGLANG_BEGIN, NEWEST - 1, sglang, ARRAY_LEN(sglang),
         "sglang:", "sglang:", "sglang:prompt_tokens_total"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(walks); i++)
        assert_true(walk(&walks[i]) > 50);
}

/* Brackets that the reference found by hand for real pages of these versions. */
static void test_brackets(void **state)
{
    static const struct {
        struct walk walk;
        engine_version v;
        bool with_optional;
        const char *since, *until;
    } rows[] = {
        {{"", "vllm", "V0", ENGINE_NAME_V1,
          .prefix = "vllm:", .in_table = "vllm:", .like = "vllm:num_requests_running"},
         V(0, 5, 0),
         true,
         "0.4.3",
         "0.5.2"},
        {{"", "vllm", "V1", ENGINE_NAME_V0,
          .prefix = "vllm:", .in_table = "vllm:", .like = "vllm:num_requests_running"},
         V(0, 13, 0),
         false,
         "0.13.0",
         "0.15.x"},
        {{"", "sglang", NULL, 0,
          .prefix = "sglang:", .in_table = "sglang:", .like = "sglang:prompt_tokens_total"},
         V(0, 5, 7),
         true,
         "0.5.7",
         "0.5.8.post1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[ENGINE_VERSION_TEXT_MAX];
        struct enginepage p;
        struct buf page;

        buf_init(&page, 1 << 20);
        put_page(&rows[i].walk, rows[i].v, rows[i].with_optional, &page);
        enginepage_read(&p, buf_span(&page));
        const struct engine_found *e = &p.page.engines[0];
        assert_string_equal(enginepage_version(e, e->since, text), rows[i].since);
        assert_string_equal(enginepage_version(e, e->until, text), rows[i].until);
        enginepage_done(&p);
        buf_done(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk),
                                       cmocka_unit_test(test_brackets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
