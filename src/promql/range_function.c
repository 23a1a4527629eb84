/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/range_function.c - the functions over ranges, by name, and what their kernels share.
 */
#include "promql/range.h"

static const struct range_function functions[] = {
    {.name = "avg_over_time", .kernel = kernel_avg, .aspect = SERIES_MEAN},
    {.name = "changes", .kernel = kernel_changes},
    {.name = "count_over_time", .kernel = kernel_count, .aspect = SERIES_COUNT},
    {.name = "delta", .kernel = kernel_delta},
    {.name = "deriv", .kernel = kernel_deriv, .aspect = SERIES_MEAN},
    {.name = "double_exponential_smoothing", .kernel = kernel_smoothing, .aspect = SERIES_MEAN},
    {.name = "first_over_time", .kernel = kernel_first, .keeps_name = true},
    {.name = "idelta", .kernel = kernel_idelta},
    {.name = "increase", .kernel = kernel_increase, .needs_resets = true, .is_for_counters = true},
    {.name = "irate", .kernel = kernel_irate},
    {.name = "last_over_time", .kernel = kernel_last, .keeps_name = true},
    {.name = "mad_over_time", .kernel = kernel_mad, .aspect = SERIES_MEAN},
    {.name = "max_over_time", .kernel = kernel_max, .aspect = SERIES_MAX},
    {.name = "min_over_time", .kernel = kernel_min, .aspect = SERIES_MIN},
    {.name = "predict_linear", .kernel = kernel_predict_linear, .aspect = SERIES_MEAN},
    {.name = "present_over_time", .kernel = kernel_present},
    {.name = "quantile_over_time", .kernel = kernel_quantile, .aspect = SERIES_MEAN},
    {.name = "rate", .kernel = kernel_rate, .needs_resets = true, .is_for_counters = true},
    {.name = "resets", .kernel = kernel_resets},
    {.name = "stddev_over_time", .kernel = kernel_stddev, .aspect = SERIES_MEAN},
    {.name = "stdvar_over_time", .kernel = kernel_stdvar, .aspect = SERIES_MEAN},
    {.name = "sum_over_time", .kernel = kernel_sum, .aspect = SERIES_SUM},
    {.name = "ts_of_first_over_time", .kernel = kernel_ts_first},
    {.name = "ts_of_last_over_time", .kernel = kernel_ts_last},
    {.name = "ts_of_max_over_time", .kernel = kernel_ts_max, .aspect = SERIES_MAX},
    {.name = "ts_of_min_over_time", .kernel = kernel_ts_min, .aspect = SERIES_MIN},
};
const struct range_function *range_function_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool range_call_is(const struct node *n)
{
    return n->kind == NODE_CALL && range_function_find(n->call.function->name) != NULL;
}

double *range_room(struct range_call *c, size_t n)
{
    if (n > c->n_room) {
        c->room = arena_array(&c->work, 2 * n, sizeof(*c->room));
        c->n_room = c->room ? 2 * n : 0;
    }
    return c->room;
}

int range_say(struct range_call *c, enum range_note what)
{
    struct notes *n = &c->e->notes;
    struct span name = labels_name(c->series->labels);
    if (c->said & what)
        return 0;
    c->said |= what;
    switch (what) {
    case RANGE_MIXED:
        return notes_mixed(n, c->at, name);
    case RANGE_IGNORED:
        return notes_ignored_in_range(n, c->at, name);
    case RANGE_SCHEMAS:
        return notes_mixed_schemas(n, c->at, name);
    case RANGE_RECONCILED_SUB:
        return notes_reconciled(n, c->at, "subtraction");
    case RANGE_RECONCILED_ADD:
        return notes_reconciled(n, c->at, "addition");
    case RANGE_RECONCILED_AGG:
        return notes_reconciled(n, c->at, "aggregation");
    case RANGE_HINTS:
        return notes_hints_collide(n, c->at, "aggregation");
    case RANGE_NOT_COUNTER:
        return notes_warn(n, c->at, "this native histogram metric is not a counter: \"%.*s\"",
                          SPAN_ARG(name));
    case RANGE_NOT_GAUGE:
        return notes_warn(n, c->at, "this native histogram metric is not a gauge: \"%.*s\"",
                          SPAN_ARG(name));
    case RANGE_QUANTILE:
        break; /* kernel_quantile knows the value */
    }
    return 0;
}
