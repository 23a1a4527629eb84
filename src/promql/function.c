/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/function.c - the functions of the language and what they take, by name.
 *
 * Source: Prometheus 3.14, those included that it calls experimental.
 */
#include "base/attr.h"
#include "promql/ast.h"

#define S PROMQL_SCALAR
#define V PROMQL_VECTOR
#define M PROMQL_MATRIX
#define T PROMQL_STRING

/* Sorted. name, returns, args, declared, least and most arguments, is not supported. */
const struct function_info function_infos[] = {
    {"abs", V, {V}, 1, 1, 1, false},
    {"absent", V, {V}, 1, 1, 1, false},
    {"absent_over_time", V, {M}, 1, 1, 1, false},
    {"acos", V, {V}, 1, 1, 1, false},
    {"acosh", V, {V}, 1, 1, 1, false},
    {"asin", V, {V}, 1, 1, 1, false},
    {"asinh", V, {V}, 1, 1, 1, false},
    {"atan", V, {V}, 1, 1, 1, false},
    {"atanh", V, {V}, 1, 1, 1, false},
    {"avg_over_time", V, {M}, 1, 1, 1, false},
    {"ceil", V, {V}, 1, 1, 1, false},
    {"changes", V, {M}, 1, 1, 1, false},
    {"clamp", V, {V, S, S}, 3, 3, 3, false},
    {"clamp_max", V, {V, S}, 2, 2, 2, false},
    {"clamp_min", V, {V, S}, 2, 2, 2, false},
    {"cos", V, {V}, 1, 1, 1, false},
    {"cosh", V, {V}, 1, 1, 1, false},
    {"count_over_time", V, {M}, 1, 1, 1, false},
    {"day_of_month", V, {V}, 1, 0, 1, false},
    {"day_of_week", V, {V}, 1, 0, 1, false},
    {"day_of_year", V, {V}, 1, 0, 1, false},
    {"days_in_month", V, {V}, 1, 0, 1, false},
    {"deg", V, {V}, 1, 1, 1, false},
    {"delta", V, {M}, 1, 1, 1, false},
    {"deriv", V, {M}, 1, 1, 1, false},
    {"double_exponential_smoothing", V, {M, S, S}, 3, 3, 3, false},
    {"end", S, {0}, 0, 0, 0, false},
    {"exp", V, {V}, 1, 1, 1, false},
    {"first_over_time", V, {M}, 1, 1, 1, false},
    {"floor", V, {V}, 1, 1, 1, false},
    {"histogram_avg", V, {V}, 1, 1, 1, false},
    {"histogram_count", V, {V}, 1, 1, 1, false},
    {"histogram_fraction", V, {S, S, V}, 3, 3, 3, false},
    {"histogram_quantile", V, {S, V}, 2, 2, 2, false},
    {"histogram_quantiles", V, {V, T, S, S}, 4, 3, 12, false},
    {"histogram_stddev", V, {V}, 1, 1, 1, false},
    {"histogram_stdvar", V, {V}, 1, 1, 1, false},
    {"histogram_sum", V, {V}, 1, 1, 1, false},
    {"hour", V, {V}, 1, 0, 1, false},
    {"idelta", V, {M}, 1, 1, 1, false},
    {"increase", V, {M}, 1, 1, 1, false},
    {"info", V, {V, V}, 2, 1, 2, true},
    {"irate", V, {M}, 1, 1, 1, false},
    {"label_join", V, {V, T, T, T}, 4, 3, PROMQL_ARGS_MAX, false},
    {"label_replace", V, {V, T, T, T, T}, 5, 5, 5, false},
    {"last_over_time", V, {M}, 1, 1, 1, false},
    {"ln", V, {V}, 1, 1, 1, false},
    {"log10", V, {V}, 1, 1, 1, false},
    {"log2", V, {V}, 1, 1, 1, false},
    {"mad_over_time", V, {M}, 1, 1, 1, false},
    {"max_of", S, {S, S}, 2, 2, 2, false},
    {"max_over_time", V, {M}, 1, 1, 1, false},
    {"min_of", S, {S, S}, 2, 2, 2, false},
    {"min_over_time", V, {M}, 1, 1, 1, false},
    {"minute", V, {V}, 1, 0, 1, false},
    {"month", V, {V}, 1, 0, 1, false},
    {"pi", S, {0}, 0, 0, 0, false},
    {"predict_linear", V, {M, S}, 2, 2, 2, false},
    {"present_over_time", V, {M}, 1, 1, 1, false},
    {"quantile_over_time", V, {S, M}, 2, 2, 2, false},
    {"rad", V, {V}, 1, 1, 1, false},
    {"range", S, {0}, 0, 0, 0, false},
    {"rate", V, {M}, 1, 1, 1, false},
    {"resets", V, {M}, 1, 1, 1, false},
    {"round", V, {V, S}, 2, 1, 2, false},
    {"scalar", S, {V}, 1, 1, 1, false},
    {"sgn", V, {V}, 1, 1, 1, false},
    {"sin", V, {V}, 1, 1, 1, false},
    {"sinh", V, {V}, 1, 1, 1, false},
    {"sort", V, {V}, 1, 1, 1, false},
    {"sort_by_label", V, {V, T}, 2, 1, PROMQL_ARGS_MAX, false},
    {"sort_by_label_desc", V, {V, T}, 2, 1, PROMQL_ARGS_MAX, false},
    {"sort_desc", V, {V}, 1, 1, 1, false},
    {"sqrt", V, {V}, 1, 1, 1, false},
    {"start", S, {0}, 0, 0, 0, false},
    {"start_timestamp", V, {V}, 1, 1, 1, false},
    {"stddev_over_time", V, {M}, 1, 1, 1, false},
    {"stdvar_over_time", V, {M}, 1, 1, 1, false},
    {"step", S, {0}, 0, 0, 0, false},
    {"sum_over_time", V, {M}, 1, 1, 1, false},
    {"tan", V, {V}, 1, 1, 1, false},
    {"tanh", V, {V}, 1, 1, 1, false},
    {"time", S, {0}, 0, 0, 0, false},
    {"timestamp", V, {V}, 1, 1, 1, false},
    {"ts_of_first_over_time", V, {M}, 1, 1, 1, false},
    {"ts_of_last_over_time", V, {M}, 1, 1, 1, false},
    {"ts_of_max_over_time", V, {M}, 1, 1, 1, false},
    {"ts_of_min_over_time", V, {M}, 1, 1, 1, false},
    {"vector", V, {S}, 1, 1, 1, false},
    {"year", V, {V}, 1, 0, 1, false},
};
const size_t n_function_infos = ARRAY_LEN(function_infos);

const struct function_info *function_find(struct span name)
{
    size_t low = 0, high = n_function_infos;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct span known = span_cstr(function_infos[middle].name);
        int c = span_cmp(known, name);
        if (c == 0)
            return &function_infos[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
