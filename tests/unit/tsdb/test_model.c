/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store against the memory reader: whatever is appended, in whatever order things are
 * committed, sealed, compacted and reopened, random selections and ranges give the same.
 */
#include <errno.h>

#include "db/db.h"
#include "faultvfs.h"
#include "rig.h"

enum { N_SERIES = 40, N_STEPS = 8000 };

struct one {
    char name[16], value[16];
    uint32_t id;
    bool is_hist;
    int64_t t;
    double v;
    struct fhist h;
    struct fhist_bucket buckets[8];
};

static struct one all[N_SERIES];

static void series_make(struct rig *g, struct rng *r, int i)
{
    struct one *s = &all[i];
    memset(s, 0, sizeof(*s));
    snprintf(s->name, sizeof(s->name), "m%d", i % 7);
    snprintf(s->value, sizeof(s->value), "i%d", i);
    s->is_hist = i % 5 == 0;
    s->t = RIG_START_MS + (int64_t)rng_below(r, 100000);
    s->h.schema = (int32_t)rng_below(r, 8);
    s->h.zero_threshold = 1e-100;
    s->h.positive = (struct fhist_side){s->buckets, 3};
    for (int b = 0; b < 8; b++)
        s->buckets[b].index = b * 3;
    s->id = rig_series(g, s->name, s->value, s->is_hist ? TSDB_HISTOGRAM : (enum tsdb_kind)(i % 3));
}

static void step_hist(struct rng *r, struct fhist *h)
{
    if (h->positive.n < 8 && rng_below(r, 10) == 0)
        h->positive.n++;
    h->positive.at[rng_below(r, h->positive.n)].count += 1;
    h->count += 1;
    h->sum += rng_unit(r);
}

static void append(struct rig *g, struct memory *m, struct rng *r, struct one *s)
{
    struct label pairs[2];
    struct labels labels = rig_labels(pairs, s->name, s->value);
    s->t += 1 + (int64_t)rng_below(r, rng_below(r, 4) == 0 ? 3 * RIG_HOUR_MS : 30000);
    s->v = rng_below(r, 30) == 0 ? series_stale() : s->v + (double)rng_below(r, 1000) / 8;
    if (s->is_hist && rng_below(r, 20) > 0) {
        step_hist(r, &s->h);
        assert_int_equal(tsdb_append_hist(g->t, s->id, s->t, &s->h), 0);
        assert_int_equal(memory_append(m, labels, s->t, 0, &s->h), 0);
    } else {
        assert_int_equal(tsdb_append(g->t, s->id, s->t, s->v), 0);
        assert_int_equal(memory_append(m, labels, s->t, s->v, NULL), 0);
    }
    assert_int_equal(tsdb_append(g->t, s->id, s->t, 1), -EINVAL);
}

static int by_labels(const void *a, const void *b)
{
    const struct series_ref *x = a, *y = b;
    return labels_cmp(x->labels, y->labels);
}

static size_t pick(struct reader *reader, const struct series_select *what, struct arena *a,
                   struct series_ref **refs)
{
    size_t n = 0;
    assert_int_equal(reader->ops->select(reader, what, a, refs, &n), 0);
    if (n > 1)
        qsort(*refs, n, sizeof(**refs), by_labels);
    return n;
}

/* Series without samples in the range may be there or not. */
static void compare_ranges(struct rig *g, struct memory *m, const struct series_select *what,
                           struct arena *a)
{
    struct reader *model = memory_reader(m);
    struct series_ref *got = NULL, *want = NULL;
    size_t n_got = pick(g->reader, what, a, &got), n_want = pick(model, what, a, &want), j = 0;
    struct samples x, y;
    samples_init(&x, NULL);
    samples_init(&y, NULL);
    for (size_t i = 0; i < n_want; i++) {
        samples_clear(&x);
        samples_clear(&y);
        assert_int_equal(
            model->ops->samples(model, want[i].id, what->from_ms, what->to_ms, SERIES_LAST, &y), 0);
        while (j < n_got && labels_cmp(got[j].labels, want[i].labels) < 0)
            j++;
        bool is_there = j < n_got && labels_eq(got[j].labels, want[i].labels);
        assert_true(is_there || y.n == 0);
        if (is_there)
            assert_int_equal(g->reader->ops->samples(g->reader, got[j].id, what->from_ms,
                                                     what->to_ms, SERIES_LAST, &x),
                             0);
        rig_same_samples(&x, &y);
    }
    samples_done(&x);
    samples_done(&y);
}

static void compare(struct rig *g, struct memory *m, struct rng *r)
{
    static const struct {
        enum matcher_op op;
        const char *name, *value;
    } table[] = {
        {MATCH_EQ, "__name__", "m3"},      {MATCH_RE, "__name__", "m.|x"},
        {MATCH_NE, "__name__", "m3"},      {MATCH_RE, "__name__", "m1|m2|m1|no"},
        {MATCH_RE, "instance", "i[0-9]"},  {MATCH_NRE, "instance", "i1.*"},
        {MATCH_EQ, "instance", "i17"},     {MATCH_EQ, "instance", "nobody"},
        {MATCH_EQ, "missing", ""},         {MATCH_NE, "missing", ""},
        {MATCH_RE, "instance", "|i3|i30"}, {MATCH_EQ, "instance", ""},
    };
    struct arena a;
    struct matcher matchers[2];
    arena_init(&a, NULL);
    size_t n = rng_below(r, 3);
    for (size_t i = 0; i < n; i++) {
        size_t k = rng_below(r, ARRAY_LEN(table));
        assert_int_equal(matcher_init(&a, table[k].op, span_cstr(table[k].name),
                                      span_cstr(table[k].value), &matchers[i], NULL),
                         0);
    }
    int64_t span = 4 * RIG_DAY_MS;
    int64_t from = RIG_START_MS - 1000 + (int64_t)rng_below(r, (uint64_t)span);
    int64_t to = from + (int64_t)rng_below(r, (uint64_t)(rng_below(r, 2) ? span : 100000));
    struct series_select what = {matchers, n, from, to};
    compare_ranges(g, m, &what, &a);
    for (size_t i = 0; i < n; i++)
        matcher_done(&matchers[i]);
    arena_done(&a);
}

static void run(uint64_t seed)
{
    struct rig g;
    struct memory *m;
    struct rng r;
    int64_t now = RIG_START_MS;
    rng_seed(&r, seed);
    rig_init(&g);
    g.config.keep_ms[0] = 1000 * RIG_DAY_MS; /* nothing leaves the raw tier */
    rig_open(&g);
    assert_int_equal(memory_new(&m), 0);
    for (int i = 0; i < N_SERIES; i++)
        series_make(&g, &r, i);
    for (int i = 0; i < N_STEPS; i++) {
        struct one *s = &all[rng_below(&r, N_SERIES)];
        append(&g, m, &r, s);
        if (s->t > now)
            now = s->t;
        if (rng_below(&r, 20) == 0)
            assert_int_equal(tsdb_commit(g.t), 0);
        if (rng_below(&r, 50) == 0)
            assert_true(tsdb_maintain(g.t, now) >= 0);
        if (rng_below(&r, 500) == 0)
            rig_maintain(&g, now + (int64_t)rng_below(&r, 2) * RIG_DAY_MS);
        if (rng_below(&r, 300) == 0) {
            rig_close(&g);
            rig_open(&g);
            assert_false(g.was_damaged);
        }
        if (rng_below(&r, 20) == 0)
            compare(&g, m, &r);
    }
    rig_maintain(&g, now + 3 * RIG_DAY_MS);
    for (int i = 0; i < 50; i++)
        compare(&g, m, &r);
    assert_int_equal(rig_stats(&g).n_damaged, 0);
    memory_free(m);
    rig_done(&g);
}

static void test_same_as_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_the_model)};
    db_init();
    faultvfs_install(); /* for its speed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
