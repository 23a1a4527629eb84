/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_windows.c - histograms of an answer, as windows of baseline/propose.h.
 */
#include "cli/query_windows.h"

#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "promql/parse.h"
#include "wire/json.h"

static const double time_max_s = 1e11; /* year 5138 */

static double number_of(const struct json_value *v)
{
    double d;
    if (v->type != JSON_STRING)
        return (double)NAN;
    if (num_parse_double(v->raw, &d) == 0)
        return d;
    return span_eq(v->raw, SPAN("+Inf")) ? (double)INFINITY : (double)NAN;
}

/* Behind the bracket of [ends, lower, upper, count], up to its end. */
static bool take_bucket(struct json *j, struct propose_bucket *ret)
{
    double numbers[4] = {0};
    struct json_value v;
    size_t n = 0;
    while (json_item(j)) {
        if (!json_next(j, &v) || n == 4)
            return false;
        numbers[n++] = number_of(&v);
    }
    *ret = (struct propose_bucket){numbers[1], numbers[2], numbers[3]};
    return n == 4 && json_status(j) == JSON_OK && !isnan(ret->upper) && ret->count >= 0;
}

static int take_buckets(struct json *j, struct arena *a, struct propose_window *ret)
{
    struct propose_bucket *at = NULL;
    struct json_value v;
    size_t cap = 0;
    if (!json_next(j, &v) || v.type != JSON_ARRAY)
        return -EPROTO;
    while (json_item(j)) {
        at = arena_grow(a, at, ret->n, 1, &cap, sizeof(*at));
        if (!at)
            return -ENOMEM;
        if (!json_next(j, &v) || v.type != JSON_ARRAY || !take_bucket(j, &at[ret->n]))
            return -EPROTO;
        ret->at = at;
        ret->n++;
    }
    return 0;
}

/* {"count":"3","sum":"1.2","buckets":[...]} */
static int take_window(const struct query_point *p, struct arena *a, struct propose_window *ret)
{
    struct json j;
    struct json_value v;
    struct span key;
    int r = 0;
    if (!(fabs(p->t) < time_max_s))
        return -EPROTO;
    *ret = (struct propose_window){.end_ms = (int64_t)llround(p->t * 1000)};
    json_init(&j, p->text);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return -EPROTO;
    while (r == 0 && json_key(&j, &key)) {
        if (span_eq(key, SPAN("buckets")))
            r = take_buckets(&j, a, ret);
        else
            (void)json_skip(&j);
    }
    return r < 0 || json_status(&j) == JSON_OK ? r : -EPROTO;
}

static int take_series(const struct query_series *s, struct arena *a, struct propose_series *ret)
{
    struct propose_window *at = arena_array(a, s->n, sizeof(*at));
    struct promql_error error;
    struct labels l = {0};
    struct span text = s->metric;
    int r = at ? promql_parse_series(&text, a, &l, &error) : -ENOMEM;
    if (r == -EINVAL)
        r = -EPROTO;
    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = take_window(&s->at[i], a, &at[i]);
    if (r == 0)
        *ret = (struct propose_series){labels_get(l, SPAN("model")), at, s->n};
    return r;
}

int query_windows_read(const struct query_data *d, struct arena *a, struct propose_series **ret,
                       size_t *ret_n)
{
    struct propose_series *at = arena_zalloc(a, d->n_series, sizeof(*at));
    int r = at ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < d->n_series; i++)
        r = take_series(&d->series[i], a, &at[i]);
    if (r < 0)
        return r;
    *ret = at;
    *ret_n = d->n_series;
    return 0;
}
