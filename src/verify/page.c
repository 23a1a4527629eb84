/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/page.h"

#include <errno.h>
#include <math.h>

static int add_histogram(struct verify_page *p, const struct signal_value *v, struct err *reterr)
{
    if (p->n > 0 && p->n != v->n_buckets)
        return err_set(reterr, -EINVAL, "the engine's histograms have different bounds");
    if (v->n_buckets > VERIFY_BUCKETS_MAX)
        return err_set(reterr, -EINVAL, "the engine's histogram has more than %d bounds",
                       VERIFY_BUCKETS_MAX);
    for (size_t i = 0; i < v->n_buckets; i++) {
        p->at[i].le = v->buckets[i].le;
        p->at[i].n += v->buckets[i].n;
    }
    p->n = v->n_buckets;
    return 0;
}

static int take_value(struct verify_page *p, const struct signal_value *v, struct err *reterr)
{
    if (v->shape != SIGNAL_HISTOGRAM && v->shape != SIGNAL_SUMS)
        return 0;
    (void)span_copy(span_cstr(v->from->engine->map->title), p->engine, sizeof(p->engine));
    (void)span_copy(v->from->metric[0], p->name, sizeof(p->name));
    p->count += isnan(v->count) ? 0 : v->count;
    p->sum += isnan(v->sum) ? 0 : v->sum;
    return v->shape == SIGNAL_HISTOGRAM ? add_histogram(p, v, reterr) : 0;
}

static int read_families(const struct families *f, struct span body, struct verify_page *ret,
                         struct err *reterr)
{
    struct engine_page page;
    struct signal_value *values = NULL;
    struct verify_page p = {.n = 0};
    const char *why = engine_why_no_page(body);
    struct arena a;
    size_t n = 0;

    arena_init(&a, NULL);
    int r = engine_recognise(f, &a, &page);
    if (r == 0)
        r = engine_values(f, &page, &a, &values, &n);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (values[i].from->signal == SIGNAL_TTFT)
            r = take_value(&p, &values[i], reterr);
    if (r == 0 && p.name[0] == '\0')
        r = err_set(reterr, -EINVAL, "%s",
                    page.n_engines > 0 ? "the page has no histogram of the time to the first token"
                    : why              ? why
                                       : "no engine's metrics were recognised");
    arena_done(&a);
    if (r == 0)
        *ret = p;
    return r;
}

int verify_page_read(struct span body, struct verify_page *ret, struct err *reterr)
{
    struct families f;
    int r = families_read(body, TEXT_PROMETHEUS, "engine", &f);

    if (r < 0)
        return err_set(reterr, r, "the page could not be read: %s", err_str(r));
    r = read_families(&f, body, ret, reterr);
    families_done(&f);
    return r;
}

bool verify_page_has(struct span body, struct span name)
{
    static const struct span parts[] = {SPAN_INIT("_bucket"), SPAN_INIT("_sum"),
                                        SPAN_INIT("_count")};
    struct families f;
    bool is_there;

    if (families_read(body, TEXT_PROMETHEUS, "engine", &f) < 0)
        return false;
    is_there = families_find(&f, name) != NULL;
    for (size_t i = 0; i < ARRAY_LEN(parts) && !is_there; i++)
        if (span_ends_with(name, parts[i]))
            is_there = families_find(&f, span_of(name.p, name.n - parts[i].n)) != NULL;
    families_done(&f);
    return is_there;
}

/* --- what rose --- */

static double bucket_before(const struct verify_page *before, size_t i, bool is_comparable)
{
    return is_comparable ? before->at[i].n : 0;
}

static void place_p99(const struct verify_page *before, const struct verify_page *after,
                      bool is_comparable, struct verify_rise *rise)
{
    double wanted = 0.99 * rise->count;

    for (size_t i = 0; i < after->n; i++) {
        rise->p99_from = i > 0 ? after->at[i - 1].le : 0;
        rise->p99_to = after->at[i].le;
        if (after->at[i].n - bucket_before(before, i, is_comparable) >= wanted)
            return;
    }
}

struct verify_rise verify_page_rise(const struct verify_page *before,
                                    const struct verify_page *after)
{
    bool is_same = after->count >= before->count;
    bool is_comparable = is_same && before->n == after->n;
    struct verify_rise rise = {.count = after->count - (is_same ? before->count : 0)};
    double sum = after->sum - (is_same ? before->sum : 0);

    rise.mean = rise.count > 0 ? sum / rise.count : (double)NAN;
    rise.has_buckets = after->n > 0 && rise.count > 0;
    if (rise.has_buckets)
        place_p99(before, after, is_comparable, &rise);
    return rise;
}
