/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_panel.c - one panel: its type, how values are shown, its queries.
 */
#include <string.h>

#include "base/attr.h"
#include "grafana/board_write.h"

/* As Grafana calls them. */
static const char *const units[BOARD_UNITS] = {
    [BOARD_COUNT] = "short",
    [BOARD_SECONDS] = "s",
    [BOARD_RATIO] = "percentunit",
    [BOARD_REQUESTS_PER_S] = "reqps",
    [BOARD_TOKENS_PER_S] = "suffix: tok/s",
    [BOARD_EVENTS_PER_S] = "cps",
    [BOARD_TOKENS] = "suffix: tok",
    [BOARD_BYTES] = "bytes",
    [BOARD_BYTES_PER_S] = "Bps",
    [BOARD_WATTS] = "watt",
    [BOARD_CELSIUS] = "celsius",
    [BOARD_HERTZ] = "hertz",
    [BOARD_MONEY] = "currencyUSD",
};

/* --- how values are shown --- */

static void step_write(struct jsonw *w, const char *color, double from)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "color", color);
    jsonw_key(w, "value");
    if (from > 0)
        jsonw_double(w, from);
    else
        jsonw_null(w);
    jsonw_end_object(w);
}

static void thresholds_write(struct jsonw *w, const struct board_panel *p)
{
    board_object(w, "thresholds");
    jsonw_put_cstr(w, "mode", "absolute");
    jsonw_key(w, "steps");
    jsonw_begin_array(w);
    step_write(w, p->bad > 0 ? "green" : "text", 0);
    if (p->warn > 0 && p->warn < p->bad)
        step_write(w, "yellow", p->warn);
    if (p->bad > 0)
        step_write(w, "red", p->bad);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void lines_write(struct jsonw *w, bool is_stack)
{
    board_object(w, "custom");
    jsonw_put_cstr(w, "drawStyle", "line");
    jsonw_put_cstr(w, "lineInterpolation", "linear");
    jsonw_put_i64(w, "lineWidth", 1);
    jsonw_put_i64(w, "fillOpacity", is_stack ? 40 : 8);
    jsonw_put_cstr(w, "showPoints", "auto");
    jsonw_put_bool(w, "spanNulls", false); /* no data is no line */
    jsonw_put_cstr(w, "axisPlacement", "auto");
    board_object(w, "stacking");
    jsonw_put_cstr(w, "mode", is_stack ? "normal" : "none");
    jsonw_put_cstr(w, "group", "A");
    jsonw_end_object(w);
    jsonw_end_object(w);
}

static void field_write(struct jsonw *w, const struct board_panel *p)
{
    board_object(w, "fieldConfig");
    board_object(w, "defaults");
    jsonw_put_cstr(w, "unit", units[p->unit]);
    jsonw_put_cstr(w, "noValue", "no data");
    if (p->kind == BOARD_LINES || p->kind == BOARD_STACK)
        lines_write(w, p->kind == BOARD_STACK);
    if (p->kind != BOARD_HEATMAP)
        thresholds_write(w, p);
    jsonw_end_object(w);
    board_list(w, "overrides", NULL, 0);
    jsonw_end_object(w);
}

/* --- options of each kind --- */

static void lines_options(struct jsonw *w)
{
    static const char *const calcs[] = {"lastNotNull", "max"};
    board_object(w, "legend");
    jsonw_put_cstr(w, "displayMode", "table");
    jsonw_put_cstr(w, "placement", "bottom");
    jsonw_put_bool(w, "showLegend", true);
    board_list(w, "calcs", calcs, ARRAY_LEN(calcs));
    jsonw_end_object(w);
    board_object(w, "tooltip");
    jsonw_put_cstr(w, "mode", "multi");
    jsonw_put_cstr(w, "sort", "desc");
    jsonw_end_object(w);
}

static void reduce_options(struct jsonw *w)
{
    static const char *const calcs[] = {"lastNotNull"};
    board_object(w, "reduceOptions");
    board_list(w, "calcs", calcs, ARRAY_LEN(calcs));
    jsonw_put_cstr(w, "fields", "");
    jsonw_put_bool(w, "values", false);
    jsonw_end_object(w);
}

static void number_options(struct jsonw *w)
{
    reduce_options(w);
    jsonw_put_cstr(w, "colorMode", "value");
    jsonw_put_cstr(w, "graphMode", "area");
    jsonw_put_cstr(w, "justifyMode", "auto");
    jsonw_put_cstr(w, "orientation", "auto");
    jsonw_put_cstr(w, "textMode", "auto");
}

static void table_options(struct jsonw *w)
{
    reduce_options(w);
    jsonw_put_cstr(w, "displayMode", "basic");
    jsonw_put_cstr(w, "orientation", "horizontal");
    jsonw_put_cstr(w, "valueMode", "text");
    jsonw_put_bool(w, "showUnfilled", false);
    jsonw_put_i64(w, "minVizWidth", 0);
    jsonw_put_i64(w, "minVizHeight", 10);
}

static void heatmap_colors(struct jsonw *w)
{
    board_object(w, "color");
    jsonw_put_cstr(w, "mode", "scheme");
    jsonw_put_cstr(w, "scheme", "Oranges");
    jsonw_put_cstr(w, "scale", "exponential");
    jsonw_put_cstr(w, "fill", "dark-orange");
    jsonw_put_double(w, "exponent", 0.5);
    jsonw_put_i64(w, "steps", 64);
    jsonw_put_bool(w, "reverse", false);
    jsonw_end_object(w);
}

static void heatmap_options(struct jsonw *w)
{
    jsonw_put_bool(w, "calculate", false); /* they are buckets */
    jsonw_put_i64(w, "cellGap", 1);
    heatmap_colors(w);
    board_object(w, "yAxis");
    jsonw_put_cstr(w, "unit", "s");
    jsonw_put_cstr(w, "axisPlacement", "left");
    jsonw_end_object(w);
    board_object(w, "rowsFrame");
    jsonw_put_cstr(w, "layout", "auto");
    jsonw_end_object(w);
    board_object(w, "legend");
    jsonw_put_bool(w, "show", true);
    jsonw_end_object(w);
    board_object(w, "tooltip");
    jsonw_put_cstr(w, "mode", "single");
    jsonw_put_bool(w, "yHistogram", true);
    jsonw_put_bool(w, "showColorScale", true);
    jsonw_end_object(w);
    board_object(w, "exemplars");
    jsonw_put_cstr(w, "color", "rgba(255,0,255,0.7)");
    jsonw_end_object(w);
    jsonw_put_cstr(w, "showValue", "never");
}

/* A bar gauge shows a list of last values with their names, without transformations. */
static const struct {
    const char *type;
    void (*options)(struct jsonw *w);
} kinds[] = {
    [BOARD_LINES] = {"timeseries", lines_options}, [BOARD_STACK] = {"timeseries", lines_options},
    [BOARD_NUMBER] = {"stat", number_options},     [BOARD_HEATMAP] = {"heatmap", heatmap_options},
    [BOARD_TABLE] = {"bargauge", table_options},
};

/* --- queries --- */

static void target_write(struct jsonw *w, const struct board_panel *p, size_t i)
{
    const char ref[] = {(char)('A' + (int)i), '\0'};
    bool is_instant = p->kind == BOARD_TABLE || strstr(p->queries[i].expr, "[$__range]");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "refId", ref);
    board_source(w);
    jsonw_put_cstr(w, "expr", p->queries[i].expr);
    jsonw_put_cstr(w, "legendFormat", p->queries[i].legend);
    jsonw_put_cstr(w, "format", p->kind == BOARD_HEATMAP ? "heatmap" : "time_series");
    jsonw_put_bool(w, "instant", is_instant);
    jsonw_put_bool(w, "range", !is_instant);
    jsonw_put_cstr(w, "editorMode", "code");
    jsonw_end_object(w);
}

void board_panel_write(struct jsonw *w, const struct board_panel *p)
{
    jsonw_put_cstr(w, "type", kinds[p->kind].type);
    jsonw_put_cstr(w, "title", p->title);
    jsonw_put_cstr(w, "description", p->help);
    board_source(w);
    field_write(w, p);
    board_object(w, "options");
    kinds[p->kind].options(w);
    jsonw_end_object(w);
    jsonw_key(w, "targets");
    jsonw_begin_array(w);
    for (size_t i = 0; i < BOARD_QUERIES_MAX && p->queries[i].expr; i++)
        target_write(w, p, i);
    jsonw_end_array(w);
}
