/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call.c - see call.h.
 */
#include "promql/call.h"

#include <errno.h>
#include <math.h>

#include "promql/range.h"

static const struct call_function functions[] = {
    {.name = "abs", .eval = call_map, .apply = fabs},
    {.name = "absent", .eval = call_absent},
    {.name = "absent_over_time", .eval = call_absent_over_time},
    {.name = "acos", .eval = call_map, .apply = acos},
    {.name = "acosh", .eval = call_map, .apply = acosh},
    {.name = "asin", .eval = call_map, .apply = asin},
    {.name = "asinh", .eval = call_map, .apply = asinh},
    {.name = "atan", .eval = call_map, .apply = atan},
    {.name = "atanh", .eval = call_map, .apply = atanh},
    {.name = "ceil", .eval = call_map, .apply = ceil},
    {.name = "clamp", .eval = call_clamp},
    {.name = "clamp_max", .eval = call_clamp},
    {.name = "clamp_min", .eval = call_clamp},
    {.name = "cos", .eval = call_map, .apply = cos},
    {.name = "cosh", .eval = call_map, .apply = cosh},
    {.name = "day_of_month",
     .eval = call_dates,
     .apply = call_date_day_of_month,
     .depends_on_time = 1},
    {.name = "day_of_week",
     .eval = call_dates,
     .apply = call_date_day_of_week,
     .depends_on_time = 1},
    {.name = "day_of_year",
     .eval = call_dates,
     .apply = call_date_day_of_year,
     .depends_on_time = 1},
    {.name = "days_in_month",
     .eval = call_dates,
     .apply = call_date_days_in_month,
     .depends_on_time = 1},
    {.name = "deg", .eval = call_map, .apply = call_deg},
    {.name = "end", .eval = call_query_times},
    {.name = "exp", .eval = call_map, .apply = exp},
    {.name = "floor", .eval = call_map, .apply = floor},
    {.name = "histogram_avg", .eval = call_histogram_number},
    {.name = "histogram_count", .eval = call_histogram_number},
    {.name = "histogram_fraction", .eval = call_histogram_fraction},
    {.name = "histogram_quantile", .eval = call_histogram_quantile},
    {.name = "histogram_quantiles", .eval = call_histogram_quantiles},
    {.name = "histogram_stddev", .eval = call_histogram_number},
    {.name = "histogram_stdvar", .eval = call_histogram_number},
    {.name = "histogram_sum", .eval = call_histogram_number},
    {.name = "hour", .eval = call_dates, .apply = call_date_hour, .depends_on_time = 1},
    {.name = "label_join", .eval = call_label_join},
    {.name = "label_replace", .eval = call_label_replace},
    {.name = "ln", .eval = call_map, .apply = log},
    {.name = "log10", .eval = call_map, .apply = log10},
    {.name = "log2", .eval = call_map, .apply = log2},
    {.name = "max_of", .eval = call_extreme_of},
    {.name = "min_of", .eval = call_extreme_of},
    {.name = "minute", .eval = call_dates, .apply = call_date_minute, .depends_on_time = 1},
    {.name = "month", .eval = call_dates, .apply = call_date_month, .depends_on_time = 1},
    {.name = "pi", .eval = call_pi},
    {.name = "rad", .eval = call_map, .apply = call_rad},
    {.name = "range", .eval = call_query_times},
    {.name = "round", .eval = call_round},
    {.name = "scalar", .eval = call_scalar},
    {.name = "sgn", .eval = call_map, .apply = call_sgn},
    {.name = "sin", .eval = call_map, .apply = sin},
    {.name = "sinh", .eval = call_map, .apply = sinh},
    {.name = "sort", .eval = call_sort},
    {.name = "sort_by_label", .eval = call_sort_by_label},
    {.name = "sort_by_label_desc", .eval = call_sort_by_label},
    {.name = "sort_desc", .eval = call_sort},
    {.name = "sqrt", .eval = call_map, .apply = sqrt},
    {.name = "start", .eval = call_query_times},
    {.name = "step", .eval = call_query_times},
    {.name = "tan", .eval = call_map, .apply = tan},
    {.name = "tanh", .eval = call_map, .apply = tanh},
    {.name = "time", .eval = call_time, .depends_on_time = 1},
    {.name = "timestamp", .eval = call_timestamp, .depends_on_time = 1},
    {.name = "vector", .eval = call_vector},
    {.name = "year", .eval = call_dates, .apply = call_date_year, .depends_on_time = 1},
};

const struct call_function *call_function_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

int call_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
              struct value *ret)
{
    const char *name = n->call.function->name;
    const struct call_function *f = call_function_find(name);
    if (f)
        return f->eval(e, n, g, a, ret);
    if (range_call_is(n))
        return range_call_eval(e, n, g, a, ret);
    return eval_fail(e, -EINVAL, n, "function %s is not supported", name);
}

int call_scalar_arg(struct eval *e, const struct node *n, size_t i, const struct grid *g,
                    struct arena *a, double **ret)
{
    return eval_scalar(e, call_arg(n, i), g, a, ret);
}
