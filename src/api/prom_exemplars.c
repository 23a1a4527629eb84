/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_exemplars.c - /api/v1/query_exemplars: requests behind the buckets of our histograms.
 *
 * They are not stored: what is told is what the program holds now, the newest request of some
 * buckets of each series (metrics/hist.h), under the names that a scrape gives: the series of the
 * bucket where the query names NAME_bucket, the native histogram where it names NAME.
 */
#include <errno.h>
#include <string.h>

#include "api/prom.h"
#include "base/num.h"
#include "metrics/expose.h"

enum { NAME_MAX_BYTES = 128, LE_BYTES = 40, PAIRS_MAX = METRICS_LABELS_MAX + 12 };

/* A call while it walks. */
struct walk {
    struct prom_call *c;
    int64_t from_ms, to_ms;
    const struct node *root;
    const struct expose_series *series;
};

/* --- one series --- */

static int write_one(struct jsonw *w, const struct hist_exemplar *e, const struct expose_series *s)
{
    char value[32];
    size_t n = num_format_double(hist_raw_to_unit(s->hist->bounds->layout, e->raw), value);
    int64_t at_ms = e->at.us / 1000;
    jsonw_begin_object(w);
    jsonw_key(w, "labels");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "request_id", e->id);
    jsonw_end_object(w);
    jsonw_put_str(w, "value", span_of(value, n));
    jsonw_put_double(w, "timestamp", (double)at_ms / 1000.0);
    jsonw_end_object(w);
    return jsonw_error(w);
}

static bool is_meant(const struct walk *k, const struct hist_exemplar *e)
{
    int64_t at_ms = e->at.us / 1000;
    return e->at.us != 0 && at_ms >= k->from_ms && at_ms <= k->to_ms;
}

/* The exemplars of buckets [first, end) as those of the series with these labels. */
static int write_series(struct walk *k, struct labels l, size_t first, size_t end)
{
    const struct hist_exemplar *all = k->series->hist->exemplars;
    struct jsonw *w = &k->c->w;
    bool is_begun = false;
    int r = 0;
    for (size_t i = first; i < end && r == 0; i++) {
        if (!is_meant(k, &all[i]))
            continue;
        if (!is_begun) {
            jsonw_begin_object(w);
            jsonw_key(w, "seriesLabels");
            labels_write(l, NULL, w);
            jsonw_key(w, "exemplars");
            jsonw_begin_array(w);
            is_begun = true;
        }
        r = write_one(w, &all[i], k->series);
    }
    if (is_begun) {
        jsonw_end_array(w);
        jsonw_end_object(w);
    }
    return r;
}

/* --- which series --- */

/* Labels of the exposed series under name, with le where it is not empty. */
static int labels_of(const struct walk *k, struct span name, struct span le, struct label *pairs,
                     struct labels *ret)
{
    const struct labels own = k->c->sources->own_labels;
    size_t n = 0;
    pairs[n++] = (struct label){SPAN(LABEL_NAME), name};
    if (le.n > 0)
        pairs[n++] = (struct label){SPAN(LABEL_LE), le};
    for (size_t i = 0; i < k->series->n_labels; i++)
        pairs[n++] = (struct label){span_cstr(k->series->labels[i].name),
                                    span_cstr(k->series->labels[i].value)};
    size_t n_told = n;
    for (size_t i = 0; i < own.n && n < PAIRS_MAX; i++) {
        bool is_told = false;
        for (size_t j = 0; j < n_told; j++)
            is_told = is_told || span_eq(pairs[j].name, own.at[i].name);
        if (!is_told)
            pairs[n++] = own.at[i];
    }
    return labels_normalise(pairs, n, ret, NULL);
}

static int match(void *ctx, const struct node *selector)
{
    const struct labels *l = ctx;
    return matcher_matches_all(selector->selector.matchers, selector->selector.n_matchers, *l);
}

/* The buckets [first, end) as one series, where a selector of the query means it. */
static int look_at(struct walk *k, struct span name, struct span le, size_t first, size_t end)
{
    struct label pairs[PAIRS_MAX];
    struct labels l;
    int r = labels_of(k, name, le, pairs, &l);
    if (r < 0)
        return r;
    return node_each_selector(k->root, match, &l) > 0 ? write_series(k, l, first, end) : 0;
}

static int on_series(void *ctx, const struct expose_series *s)
{
    struct walk *k = ctx;
    char name[NAME_MAX_BYTES];
    int r;
    if (!s->hist)
        return 0;
    k->series = s;
    size_t n_bounds = s->hist->bounds->n;
    r = look_at(k, span_cstr(s->name), SPAN(""), 0, n_bounds + 1);
    size_t n = span_copy(span_cstr(s->name), name, sizeof(name) - sizeof("_bucket"));
    memcpy(name + n, "_bucket", sizeof("_bucket"));
    for (size_t i = 0; i <= n_bounds && r == 0; i++) {
        char le[LE_BYTES] = "+Inf";
        size_t n_le = strlen(le);
        if (i < n_bounds)
            n_le = num_format_fraction(
                hist_raw_to_unit(s->hist->bounds->layout, s->hist->bounds->upper[i]), le);
        if (is_meant(k, &s->hist->exemplars[i]))
            r = look_at(k, span_cstr(name), span_of(le, n_le), i, i + 1);
    }
    return r;
}

void prom_exemplars_query(struct prom_call *c)
{
    struct walk k = {.c = c, .from_ms = PARAMS_TIME_MIN, .to_ms = PARAMS_TIME_MAX};
    if (!prom_time(c, "start", false, &k.from_ms) || !prom_time(c, "end", false, &k.to_ms))
        return;
    if (k.to_ms < k.from_ms) {
        prom_fail(c, PROM_BAD_DATA, "end timestamp must not be before start timestamp");
        return;
    }
    struct promql_expr *e = prom_parse(c, NULL);
    if (!e)
        return;
    k.root = promql_root(e);
    prom_begin(c);
    jsonw_begin_array(&c->w);
    int r = expose_each(c->sources->metrics, on_series, &k);
    jsonw_end_array(&c->w);
    if (r < 0)
        prom_fail_memory(c);
    else
        prom_end(c);
    (void)promql_free_expr(e);
}
