/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/names.h"

#include <string.h>

#include "base/stat.h"
#include "base/suggest.h"
#include "engine/map.h"
#include "engine/recognise.h"
#include "metrics/family.h"

/* Parts of a histogram; the first two are moved with it. */
static const struct span parts[] = {SPAN_INIT("_bucket"), SPAN_INIT("_sum"), SPAN_INIT("_count")};
enum { N_MOVED_PARTS = 2 };

/* Of the gateway's own: those that the engine's first token is in. */
static const struct {
    enum metric metric;
    bool is_ttft;
} own_moved[] = {
    {METRIC_TTFT, true},           {METRIC_TTFA, true}, {METRIC_UPSTREAM_TTFT, true},
    {METRIC_TTFT_BY_PROMPT, true}, {METRIC_E2E, false},
};
static const struct {
    enum signal signal;
    bool is_ttft;
} engine_moved[] = {
    {SIGNAL_TTFT, true},
    {SIGNAL_E2E, false},
};

/* Series that are in no table: made by the gateway, its rules, or whoever scrapes. */
static const char *const others[] = {
    "up",
    "ALERTS",
    "ALERTS_FOR_STATE",
    "llm_baseline",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "scrape_samples_post_metric_relabeling",
    "scrape_series_added",
    "engine_signal_missing",
    "process_start_time_seconds",
};

/* Without _bucket, _sum, _count; *ret_is_moving: the part tells how long something took. */
static struct span base_of(struct span name, bool *ret_is_moving)
{
    *ret_is_moving = true; /* a native histogram has no parts */
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!span_ends_with(name, parts[i]) || name.n == parts[i].n)
            continue;
        *ret_is_moving = i < N_MOVED_PARTS;
        return span_of(name.p, name.n - parts[i].n);
    }
    return name;
}

static bool is_text(struct span s, const char *text)
{
    return span_eq(s, span_cstr(text));
}

/* --- the gateway's --- */

static bool own_find(struct span name, struct span base, bool is_moving,
                     struct verify_name_info *ret)
{
    for (size_t m = 0; m < METRIC_COUNT_; m++) {
        const struct family *f = &family_table[m];

        if (!is_text(f->type == FAMILY_HISTOGRAM ? base : name, f->name))
            continue;
        *ret = (struct verify_name_info){.kind = VERIFY_NAME_KNOWN};
        for (size_t i = 0; i < ARRAY_LEN(own_moved) && is_moving; i++)
            if (own_moved[i].metric == (enum metric)m)
                *ret = (struct verify_name_info){VERIFY_NAME_MOVED, own_moved[i].is_ttft, false};
        return true;
    }
    for (size_t i = 0; i < STAT_COUNT_; i++)
        if (is_text(name, stat_table[i].name)) {
            *ret = (struct verify_name_info){.kind = VERIFY_NAME_KNOWN};
            return true;
        }
    return false;
}

/* --- engines' --- */

static bool is_source(const struct engine_map *map, enum signal s, struct span base)
{
    for (size_t i = 0; i < map->n_sources; i++)
        if (map->sources[i].signal == s && map->sources[i].part[0].metric &&
            is_text(base, map->sources[i].part[0].metric))
            return true;
    return false;
}

static bool map_has(const struct engine_map *map, struct span name, struct span base)
{
    for (size_t i = 0; i < map->n_names; i++)
        if (is_text(name, map->names[i].name) || is_text(base, map->names[i].name))
            return true;
    return false;
}

static bool engine_find(struct span name, struct span base, bool is_moving,
                        struct verify_name_info *ret)
{
    const struct verify_name_info known = {VERIFY_NAME_KNOWN, false, true};
    bool is_found = false;

    for (size_t s = 0; s < SIGNAL_COUNT_ && !is_found; s++)
        is_found =
            is_text(signal_table[s].type == METRIC_HISTOGRAM ? base : name, signal_table[s].series);
    for (size_t i = 0; i < engine_maps_n && !is_found; i++)
        is_found = map_has(engine_maps[i], name, base);
    if (!is_found)
        return false;
    *ret = known;
    for (size_t k = 0; k < ARRAY_LEN(engine_moved) && is_moving; k++) {
        bool is_it = is_text(base, signal_table[engine_moved[k].signal].series);
        for (size_t i = 0; i < engine_maps_n && !is_it; i++)
            is_it = is_source(engine_maps[i], engine_moved[k].signal, base);
        if (is_it)
            *ret = (struct verify_name_info){VERIFY_NAME_MOVED, engine_moved[k].is_ttft, true};
    }
    return true;
}

struct verify_name_info verify_name_find(struct span name)
{
    struct verify_name_info info = {.kind = VERIFY_NAME_UNKNOWN};
    bool is_moving;
    struct span base = base_of(name, &is_moving);

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (is_text(name, others[i]))
            return (struct verify_name_info){.kind = VERIFY_NAME_KNOWN};
    if (!own_find(name, base, is_moving, &info))
        (void)engine_find(name, base, is_moving, &info);
    return info;
}

/* --- names that nobody has --- */

bool verify_name_is_slip(struct span name, const char *meant)
{
    enum { SLIP_MAX = 2 };
    static const char *const beginnings[] = {"llm_", "inferometer_", "vllm:", "sglang:"};

    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (span_starts_with(name, span_cstr(beginnings[i])))
            return true;
    return meant && suggest_distance(name, span_cstr(meant)) <= SLIP_MAX;
}

static void offer_all(struct suggest *s)
{
    for (size_t m = 0; m < METRIC_COUNT_; m++)
        suggest_offer(s, span_cstr(family_table[m].name));
    for (size_t i = 0; i < STAT_COUNT_; i++)
        suggest_offer(s, span_cstr(stat_table[i].name));
    for (size_t k = 0; k < SIGNAL_COUNT_; k++)
        suggest_offer(s, span_cstr(signal_table[k].series));
    for (size_t i = 0; i < engine_maps_n; i++)
        for (size_t k = 0; k < engine_maps[i]->n_names; k++)
            suggest_offer(s, span_cstr(engine_maps[i]->names[k].name));
}

const char *verify_name_suggest(struct arena *a, struct span name)
{
    bool is_gateway =
        span_starts_with(name, SPAN("llm_")) || span_starts_with(name, SPAN("inferometer_"));
    const char *why = NULL;
    const char *known = is_gateway ? NULL : engine_did_you_mean(name, &why);
    struct suggest s;
    bool is_moving;
    struct span base = base_of(name, &is_moving);
    struct buf text;
    struct span kept;

    if (known)
        return known;
    suggest_init(&s, base);
    offer_all(&s);
    if (s.best.n == 0)
        return NULL;
    /* The same part of what was meant. */
    buf_init(&text, 1024);
    if (buf_append(&text, s.best) < 0 || buf_append(&text, span_from(name, base.n)) < 0) {
        buf_done(&text);
        return NULL;
    }
    kept = arena_dup(a, buf_span(&text));
    buf_done(&text);
    return kept.p;
}
