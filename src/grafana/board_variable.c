/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_variable.c - the choices above a dashboard.
 */
#include "base/attr.h"
#include "grafana/board_write.h"

static void begin(struct jsonw *w, const char *name, const char *label, const char *type)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", name);
    jsonw_put_cstr(w, "label", label);
    jsonw_put_cstr(w, "type", type);
    jsonw_put_i64(w, "hide", 0);
    jsonw_put_bool(w, "skipUrlSync", false);
}

static void source_variable(struct jsonw *w)
{
    begin(w, "datasource", "Data source", "datasource");
    jsonw_put_cstr(w, "query", "prometheus");
    jsonw_put_cstr(w, "regex", "");
    jsonw_put_i64(w, "refresh", 1);
    jsonw_put_bool(w, "multi", false);
    jsonw_put_bool(w, "includeAll", false);
    jsonw_end_object(w);
}

/* Values of a label. ".*" is all: series without the label as well. */
static void label_variable(struct jsonw *w, const char *name, const char *label, const char *query)
{
    begin(w, name, label, "query");
    board_source(w);
    board_object(w, "query");
    jsonw_put_cstr(w, "query", query);
    jsonw_put_cstr(w, "refId", name);
    jsonw_end_object(w);
    jsonw_put_cstr(w, "regex", "");
    jsonw_put_i64(w, "refresh", 2); /* when the range changes */
    jsonw_put_i64(w, "sort", 1);
    jsonw_put_bool(w, "multi", true);
    jsonw_put_bool(w, "includeAll", true);
    jsonw_put_cstr(w, "allValue", ".*");
    board_object(w, "current");
    jsonw_put_bool(w, "selected", true);
    jsonw_put_cstr(w, "text", "All");
    jsonw_put_cstr(w, "value", "$__all");
    jsonw_end_object(w);
    jsonw_end_object(w);
}

static void choice_write(struct jsonw *w, struct span text, bool is_chosen)
{
    jsonw_begin_object(w);
    jsonw_put_bool(w, "selected", is_chosen);
    jsonw_put_str(w, "text", text);
    jsonw_put_str(w, "value", text);
    jsonw_end_object(w);
}

/* One of some texts; the chosen one at first. */
static void choice_variable(struct jsonw *w, const char *name, const char *label,
                            const struct span *texts, size_t n, size_t chosen)
{
    struct buf all;
    int r = 0;
    buf_init(&all, 64 * 1024);
    for (size_t i = 0; i < n && r == 0; i++)
        r = buf_printf(&all, "%s%.*s", i > 0 ? "," : "", SPAN_ARG(texts[i]));
    if (r < 0)
        jsonw_fail(w, r);
    begin(w, name, label, "custom");
    jsonw_put_str(w, "query", buf_span(&all));
    jsonw_put_bool(w, "multi", false);
    jsonw_put_bool(w, "includeAll", false);
    jsonw_key(w, "options");
    jsonw_begin_array(w);
    for (size_t i = 0; i < n; i++)
        choice_write(w, texts[i], i == chosen);
    jsonw_end_array(w);
    jsonw_key(w, "current");
    choice_write(w, texts[chosen], true);
    jsonw_end_object(w);
    buf_done(&all);
}

static void quantile_variable(struct jsonw *w)
{
    static const struct span quantiles[] = {SPAN_INIT("0.5"), SPAN_INIT("0.9"), SPAN_INIT("0.95"),
                                            SPAN_INIT("0.99"), SPAN_INIT("0.999")};
    choice_variable(w, "quantile", "Quantile", quantiles, ARRAY_LEN(quantiles), 3);
}

static void split_variable(struct jsonw *w, const struct board_setup *s)
{
    static const struct span own[] = {SPAN_INIT("model"), SPAN_INIT("upstream"),
                                      SPAN_INIT("version"), SPAN_INIT("endpoint")};
    struct span labels[ARRAY_LEN(own) + BOARD_LABELS_MAX];
    size_t n = 0;
    for (; n < ARRAY_LEN(own); n++)
        labels[n] = own[n];
    for (size_t i = 0; i < s->n_labels && i < BOARD_LABELS_MAX; i++)
        labels[n++] = s->labels[i];
    choice_variable(w, "split", "Split by", labels, n, 0);
}

static void price_variables(struct jsonw *w)
{
    static const struct {
        const char *name, *label;
    } prices[] = {
        {"price_prompt", "Price of 1M prompt tokens"},
        {"price_cached", "of 1M cached"},
        {"price_completion", "of 1M completion"},
    };
    for (size_t i = 0; i < ARRAY_LEN(prices); i++) {
        begin(w, prices[i].name, prices[i].label, "textbox");
        jsonw_put_cstr(w, "query", "0");
        jsonw_key(w, "current");
        choice_write(w, SPAN("0"), true);
        jsonw_end_object(w);
    }
}

void board_variables_write(struct jsonw *w, const struct board *b, const struct board_setup *s)
{
    board_object(w, "templating");
    jsonw_key(w, "list");
    jsonw_begin_array(w);
    source_variable(w);
    if (b->variables & BOARD_MODEL) {
        label_variable(w, "model", "Model", "label_values(llm_requests_total, model)");
        label_variable(w, "upstream", "Upstream", "label_values(llm_requests_total, upstream)");
    }
    if (b->variables & BOARD_ENGINE) {
        label_variable(w, "model", "Model", "label_values(engine_running, model)");
        label_variable(w, "upstream", "Upstream", "label_values(llm_requests_total, upstream)");
    }
    if (b->variables & BOARD_QUANTILE)
        quantile_variable(w);
    if (b->variables & BOARD_SPLIT)
        split_variable(w, s);
    if (b->variables & BOARD_PRICES)
        price_variables(w);
    jsonw_end_array(w);
    jsonw_end_object(w);
}
