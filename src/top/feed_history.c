/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/feed_history.c - the minutes before the first look, out of the gateway's own history.
 *
 * Samples as they were stored are asked for, not values at steps: all series of a moment have the
 * same time there, and rates over exact times are exact.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "series/labels.h"
#include "top/feed_private.h"

/* Half of the room: the moments to come thin out what is older. */
enum { SEEDS_MAX = TOP_MOMENTS_MAX / 2 };

#define TIME_MS_MAX 4e12 /* some hundred years */

/* 0: none that a clock shows. */
static int64_t time_of(const json_t *pair)
{
    double ms = json_number_value(json_array_get(pair, 0)) * 1000 + 0.5;
    return ms > 0 && ms < TIME_MS_MAX ? (int64_t)ms : 0;
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* All times of the series that has the most, as far as there is room: the last one, and every
 * so-and-so many before it. */
static size_t seeds_of(const json_t *result, int64_t *times)
{
    size_t i, most = 0, n = 0;
    json_t *one, *longest = NULL;
    json_array_foreach(result, i, one)
    {
        json_t *values = json_object_get(one, "values");
        if (json_array_size(values) > most) {
            most = json_array_size(values);
            longest = values;
        }
    }
    size_t every = most / SEEDS_MAX + 1;
    for (i = 0; n < SEEDS_MAX && i * every < most; i++)
        times[n++] = time_of(json_array_get(longest, most - 1 - i * every));
    qsort(times, n, sizeof(*times), by_time);
    return n;
}

static int labels_of(json_t *metric, struct arena *a, struct labels *ret)
{
    size_t n = 0;
    const char *key;
    json_t *value;
    struct label *pairs = arena_array(a, json_object_size(metric), sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    json_object_foreach(metric, key, value)
    {
        pairs[n++] = (struct label){span_cstr(key), span_cstr(json_string_value(value))};
    }
    return labels_normalise(pairs, n, ret, NULL);
}

struct seeding {
    struct top_feed *feed;
    int64_t times[SEEDS_MAX];
    size_t caps[SEEDS_MAX];
    struct top_moment moments[SEEDS_MAX];
    size_t n;
};

static int add_values(struct seeding *s, const json_t *values, size_t number)
{
    size_t i;
    json_t *pair;
    int r = 0;
    json_array_foreach(values, i, pair)
    {
        int64_t t = time_of(pair);
        const int64_t *at = bsearch(&t, s->times, s->n, sizeof(*s->times), by_time);
        double v;
        const char *text = json_string_value(json_array_get(pair, 1));
        if (!at || r < 0 || !text || num_parse_double(span_cstr(text), &v) < 0)
            continue;
        size_t k = (size_t)(at - s->times);
        r = top_feed_moment_add(&s->moments[k], &s->caps[k], number, v);
    }
    return r;
}

static int seed(struct seeding *s, const json_t *result, struct arena *a)
{
    size_t i, number = 0;
    json_t *one;
    int r = 0;
    s->n = seeds_of(result, s->times);
    json_array_foreach(result, i, one)
    {
        struct labels l = {0};
        if (r < 0)
            break;
        r = labels_of(json_object_get(one, "metric"), a, &l);
        if (r == 0)
            r = top_feed_number(s->feed, l, &number);
        if (r > 0)
            r = add_values(s, json_object_get(one, "values"), number);
    }
    return r < 0 ? r : 0;
}

int top_feed_history(struct top_feed *f, struct span json)
{
    if (f->n_moments > 0)
        return 0;
    struct seeding *s = mem_zalloc(1, sizeof(*s));
    struct arena a;
    if (!s)
        return -ENOMEM;
    s->feed = f;
    arena_init(&a, NULL);
    json_t *all = json_loadb(json.p ? json.p : "", json.n, 0, NULL);
    const json_t *result = json_object_get(json_object_get(all, "data"), "result");
    int r = json_is_array(result) ? seed(s, result, &a) : -EPROTO;
    for (size_t i = 0; i < s->n; i++) {
        s->moments[i].t_ms = s->times[i];
        if (r == 0)
            f->moments[f->n_moments++] = s->moments[i];
        else
            mem_free(s->moments[i].v);
    }
    json_decref(all);
    arena_done(&a);
    mem_free(s);
    return r;
}
