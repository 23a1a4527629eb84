/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "fakeclock.h"
#include "memfail.h"
#include "metrics/live.h"
#include "metrics/metrics.h"

/* --- reading back --- */

struct query {
    const char *name;
    const char *labels; /* `model="a",...` as rendered below, or NULL: any */
    int n_found;
    int64_t value; /* summed over what was found */
    uint64_t n;    /* samples */
    int64_t created_us;
};

static void render_labels(const struct metrics_sample *s, char *dst, size_t cap)
{
    size_t n = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < s->n_labels; i++)
        n += (size_t)snprintf(dst + n, cap - n, "%s%s=%s", i > 0 ? "," : "", s->labels[i].name,
                              s->labels[i].value);
}

static int match(void *ctx, const struct metrics_sample *s)
{
    struct query *q = ctx;
    char labels[512];
    render_labels(s, labels, sizeof(labels));
    if (strcmp(s->family->name, q->name) != 0 || (q->labels && strcmp(labels, q->labels) != 0))
        return 0;
    q->n_found++;
    q->value += s->hist ? 0 : s->value;
    q->n += s->hist ? s->hist->n : 0;
    q->created_us = s->created_at.us;
    return 0;
}

static struct query find(const struct metrics *m, const char *name, const char *labels)
{
    struct query q = {.name = name, .labels = labels};
    assert_int_equal(metrics_each(m, match, &q), 0);
    return q;
}

static struct metrics *metrics_with(const struct metrics_config *config)
{
    struct metrics *m = NULL;
    assert_int_equal(metrics_new(config, &m), 0);
    return m;
}

static struct metrics_shard *shard_of(struct metrics *m)
{
    struct metrics_shard *shard = NULL;
    assert_int_equal(metrics_shard_new(m, &shard), 0);
    return shard;
}

static struct metrics_request request_for(const char *model, const char *upstream, bool is_stream,
                                          bool is_proven)
{
    return (struct metrics_request){.model = model,
                                    .endpoint = "chat",
                                    .upstream = upstream,
                                    .is_stream = is_stream,
                                    .is_model_proven = is_proven};
}

static struct metrics_series_set *set_of(struct metrics_shard *shard, const char *model,
                                         const char *upstream, bool is_stream)
{
    struct metrics_request request = request_for(model, upstream, is_stream, true);
    return metrics_shard_resolve(shard, &request);
}

/* --- labels --- */

static void test_model_rule(void **state)
{
    (void)state;
    static const char *const models[] = {"configured"};
    struct metrics *m = metrics_with(&(struct metrics_config){.models = models, .n_models = 1});
    struct metrics_shard *shard = shard_of(m);
    static const struct {
        const char *model;
        bool is_proven;
        const char *want;
    } rows[] = {
        {"configured", false, "configured"},
        {"random-1", false, "other"},
        {"answered", false, "other"},
        {"answered", true, "answered"},
        {"answered", false, "answered"}, /* a label value once, a label value for good */
        {"", true, "other"},
        {NULL, true, "other"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char labels[128];
        struct metrics_request request = request_for(rows[i].model, "u", true, rows[i].is_proven);
        snprintf(labels, sizeof(labels), "model=%s,endpoint=chat,upstream=u", rows[i].want);
        uint64_t n = find(m, "llm_queue_seconds", labels).n;
        metrics_record_queue(metrics_shard_resolve(shard, &request), 1000);
        assert_int_equal(find(m, "llm_queue_seconds", labels).n, n + 1);
    }
    static const char *const more[] = {"random-1"};
    metrics_allow_models(m, more, 1);
    struct metrics_request request = request_for("random-1", NULL, true, false);
    metrics_record_queue(metrics_shard_resolve(shard, &request), 1000);
    assert_int_equal(find(m, "llm_queue_seconds", "model=random-1,endpoint=chat,upstream=none").n,
                     1);
    metrics_free(m);
}

static void test_label_cap_across_shards(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&(struct metrics_config){.max_label_values = 3});
    struct metrics_shard *shards[] = {shard_of(m), shard_of(m)};
    for (int i = 0; i < 5; i++) {
        char model[16];
        snprintf(model, sizeof(model), "m%d", i);
        for (size_t s = 0; s < ARRAY_LEN(shards); s++)
            metrics_record_queue(set_of(shards[s], model, "u", true), 1000);
    }
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n_found, 4);
    assert_int_equal(find(m, "llm_queue_seconds", "model=m0,endpoint=chat,upstream=u").n, 2);
    assert_int_equal(find(m, "llm_queue_seconds", "model=other,endpoint=chat,upstream=u").n, 4);
    metrics_free(m);
}

static void test_resolve_is_stable(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(NULL);
    struct metrics_shard *shard = shard_of(m);
    struct metrics_series_set *first = set_of(shard, "m0", "u", true);
    for (int i = 0; i < 150; i++) {
        char model[16];
        snprintf(model, sizeof(model), "m%d", i);
        struct metrics_series_set *set = set_of(shard, model, "u", i % 2);
        assert_ptr_equal(set_of(shard, model, "u", i % 2), set);
    }
    assert_ptr_equal(set_of(shard, "m0", "u", true), first);
    assert_ptr_not_equal(set_of(shard, "m0", "u", false), first);
    metrics_free(m);
}

/* --- version and business labels --- */

static struct metrics_series_set *set_with(struct metrics_shard *shard, const char *version,
                                           const char *first, const char *second)
{
    const char *const business[] = {first, second};
    struct metrics_request request = request_for("m", "u", true, true);
    request.version = version;
    request.business = business;
    return metrics_shard_resolve(shard, &request);
}

static const struct metrics_business tenant_and_tier[] = {{"tenant", 3}, {"tier", 0}};
static const struct metrics_config with_business = {.business = tenant_and_tier, .n_business = 2};

static void test_business_labels(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&with_business);
    struct metrics_shard *shard = shard_of(m);
    static const struct {
        const char *version, *first, *second, *want;
    } rows[] = {
        {NULL, NULL, NULL, "model=m,endpoint=chat,upstream=u"},
        {"", "", "", "model=m,endpoint=chat,upstream=u"},
        {"v1", NULL, NULL, "model=m,endpoint=chat,upstream=u,version=v1"},
        {NULL, "acme", NULL, "model=m,endpoint=chat,upstream=u,tenant=acme"},
        {NULL, NULL, "gold", "model=m,endpoint=chat,upstream=u,tier=gold"},
        {"v2", "acme", "gold", "model=m,endpoint=chat,upstream=u,version=v2,tenant=acme,tier=gold"},
        {"v2", "acme", "iron", "model=m,endpoint=chat,upstream=u,version=v2,tenant=acme,tier=iron"},
        {"none", "none", "none",
         "model=m,endpoint=chat,upstream=u,version=none,tenant=none,tier=none"},
        {NULL, "a\"b\nc", "gold\xff", "model=m,endpoint=chat,upstream=u,tenant=a\"b\nc,tier=gold?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t n = find(m, "llm_queue_seconds", rows[i].want).n;
        for (int k = 0; k < 2; k++) { /* the second time it is remembered */
            metrics_record_queue(set_with(shard, rows[i].version, rows[i].first, rows[i].second),
                                 1000);
            assert_int_equal(find(m, "llm_queue_seconds", rows[i].want).n, n + 1 + (uint64_t)k);
        }
    }
    metrics_free(m);
}

/* A request without values behind one with values is another label set, in either order. */
static void test_business_is_not_remembered(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&with_business);
    struct metrics_shard *shard = shard_of(m);
    struct metrics_series_set *plain = set_of(shard, "m", "u", true);
    struct metrics_series_set *acme = set_with(shard, NULL, "acme", NULL);
    assert_ptr_not_equal(plain, acme);
    assert_ptr_equal(set_of(shard, "m", "u", true), plain);
    assert_ptr_equal(set_with(shard, NULL, "acme", NULL), acme);
    assert_ptr_not_equal(set_with(shard, NULL, NULL, "acme"), acme);
    char longest[300];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct metrics_series_set *cut = set_with(shard, NULL, longest, NULL);
    assert_ptr_equal(set_with(shard, NULL, longest, NULL), cut);
    metrics_free(m);
}

static void test_business_scopes(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&with_business);
    struct metrics_series_set *set = set_with(shard_of(m), "v1", "acme", "gold");
    metrics_record_gap(set, NS_PER_MS);
    metrics_record_itl(set, NS_PER_MS, 1);
    struct record r;
    record_init(&r);
    metrics_record_done(set, &r);
    assert_int_equal(find(m, "llm_icl_seconds", "model=m,upstream=u,version=v1").n, 1);
    static const char finished[] =
        "model=m,endpoint=chat,upstream=u,version=v1,stream=true,tenant=acme,tier=gold";
    assert_int_equal(find(m, "llm_itl_seconds", finished).n, 1);
    char labels[256];
    snprintf(labels, sizeof(labels), "%s,outcome=%s", finished, outcome_name(r.outcome));
    assert_int_equal(find(m, "llm_requests_total", labels).value, 1);
    metrics_free(m);
}

/* Two shards fill the same label: one of its values is "other" from the cap on, in both. */
static void test_business_cap(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&with_business);
    struct metrics_shard *shards[] = {shard_of(m), shard_of(m)};
    int64_t n_dropped = stat_sum(STAT_DROP_LABEL_CAP);
    for (int i = 0; i < 6; i++) {
        char tenant[16];
        snprintf(tenant, sizeof(tenant), "t%d", i);
        for (size_t s = 0; s < ARRAY_LEN(shards); s++)
            metrics_record_queue(set_with(shards[s], NULL, tenant, "gold"), 1000);
    }
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n_found, 4);
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n, 12);
    assert_int_equal(
        find(m, "llm_queue_seconds", "model=m,endpoint=chat,upstream=u,tenant=t2,tier=gold").n, 2);
    assert_int_equal(
        find(m, "llm_queue_seconds", "model=m,endpoint=chat,upstream=u,tenant=other,tier=gold").n,
        6);
    assert_int_equal(stat_sum(STAT_DROP_LABEL_CAP), n_dropped + 6);
    metrics_free(m);
}

/* Over the limit of series there is one series that stands in for all, whatever the labels. */
static void test_business_series_cap(void **state)
{
    (void)state;
    static const struct metrics_business many[] = {{"tenant", 1000}};
    struct metrics *m =
        metrics_with(&(struct metrics_config){.business = many, .n_business = 1, .max_series = 10});
    struct metrics_shard *shard = shard_of(m);
    for (int i = 0; i < 100; i++) {
        char tenant[16];
        snprintf(tenant, sizeof(tenant), "t%d", i);
        metrics_record_queue(set_with(shard, i % 2 ? "v1" : "v2", i % 3 ? tenant : NULL, NULL), 1);
    }
    assert_int_equal(metrics_n_series(m), 10);
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n, 100);
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n_found, 11);
    assert_int_equal(
        find(m, "llm_queue_seconds", "model=other,endpoint=other,upstream=other,tenant=other").n,
        100 - 34 - 8);
    metrics_free(m);
}

static void test_business_refused(void **state)
{
    (void)state;
    static const struct metrics_business odd[] = {{"", 1}};
    static const struct metrics_business five[] = {
        {"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}};
    struct metrics *m = NULL;
    assert_int_equal(metrics_new(&(struct metrics_config){.business = odd, .n_business = 1}, &m),
                     -EINVAL);
    assert_int_equal(metrics_new(&(struct metrics_config){.business = five, .n_business = 5}, &m),
                     -ENOSPC);
    assert_null(m);
}

/* --- limits --- */

static void test_series_cap(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&(struct metrics_config){.max_series = 4});
    struct metrics_shard *shards[] = {shard_of(m), shard_of(m)};
    int64_t n_dropped = stat_sum(STAT_DROP_SERIES_CAP);
    for (int i = 0; i < 10; i++) {
        char model[16];
        snprintf(model, sizeof(model), "m%d", i);
        for (size_t s = 0; s < ARRAY_LEN(shards); s++) {
            struct metrics_series_set *set = set_of(shards[s], model, "u", true);
            metrics_record_queue(set, 1000);
            metrics_record_ttft(set, 1000, "id");
            metrics_record_gap(set, 1000);
        }
    }
    assert_int_equal(metrics_n_series(m), 4);
    assert_true(stat_sum(STAT_DROP_SERIES_CAP) > n_dropped);
    /* Nothing is lost, nothing is told twice. */
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n, 20);
    assert_int_equal(find(m, "llm_ttft_seconds", NULL).n, 20);
    assert_int_equal(find(m, "llm_icl_seconds", NULL).n, 20);
    assert_int_equal(find(m, "inferometer_series", NULL).value, 4);
    assert_true(find(m, "llm_queue_seconds", "model=other,endpoint=other,upstream=other").n > 0);
    metrics_free(m);
}

/* A series of a known label set that comes too late goes to "other", and its gauge stays even. */
static void test_series_cap_within_set(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&(struct metrics_config){.max_series = 3});
    struct metrics_series_set *set = set_of(shard_of(m), "m", "u", true);
    metrics_record_queue(set, 1);
    metrics_record_ttft(set, 1, NULL);
    metrics_record_ttfa(set, 1);
    struct metrics_series *inflight = metrics_inflight_begin(set);
    static const char other[] = "model=other,endpoint=other,upstream=other";
    assert_int_equal(find(m, "llm_inflight_requests", other).value, 1);
    assert_int_equal(find(m, "llm_inflight_requests", NULL).n_found, 1);
    metrics_inflight_end(inflight);
    assert_int_equal(find(m, "llm_inflight_requests", other).value, 0);
    metrics_free(m);
}

/* --- shards --- */

static void test_merge_and_retire(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(NULL);
    struct metrics_shard *a = shard_of(m);
    struct metrics_shard *b = shard_of(m);
    static const char labels[] = "model=m,endpoint=chat,upstream=u";
    metrics_record_ttft(set_of(a, "m", "u", true), NS_PER_S, "id");
    metrics_record_ttft(set_of(b, "m", "u", true), NS_PER_S, "id");
    assert_int_equal(find(m, "llm_ttft_seconds", labels).n, 2);
    assert_int_equal(find(m, "llm_ttft_seconds", labels).n_found, 1);
    metrics_shard_release(a);
    assert_int_equal(find(m, "llm_ttft_seconds", labels).n, 2);
    struct metrics_shard *c = shard_of(m); /* takes over where a stopped */
    metrics_record_ttft(set_of(c, "m", "u", true), NS_PER_S, "id");
    assert_int_equal(find(m, "llm_ttft_seconds", labels).n, 3);
    metrics_shard_release(b);
    metrics_shard_release(c);
    assert_null(metrics_shard_release(NULL));
    metrics_free(m);
}

static int stop_at_once(void *ctx, const struct metrics_sample *s)
{
    (void)s;
    return ++*(int *)ctx;
}

static void test_stop_visit(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(NULL);
    int n_visits = 0;
    assert_int_equal(metrics_each(m, stop_at_once, &n_visits), 1);
    assert_int_equal(n_visits, 1);
    metrics_free(m);
}

/* --- reload --- */

static void test_reload_bounds(void **state)
{
    (void)state;
    fakeclock_install(NS_PER_S, 1000 * NS_PER_S);
    struct metrics *m = metrics_with(NULL);
    struct metrics_series_set *set = set_of(shard_of(m), "m", "u", true);
    metrics_record_ttft(set, NS_PER_S, "id");
    metrics_record_queue(set, NS_PER_S);
    assert_int_equal(find(m, "llm_ttft_seconds", NULL).created_us, 1000 * 1000000);
    fakeclock_advance(5 * NS_PER_S);
    static const int64_t values[] = {NS_PER_MS, NS_PER_S};
    struct metrics_bounds bounds = {METRIC_TTFT, values, 2};
    assert_int_equal(metrics_set_bounds(m, &bounds, 1), 0);
    struct query q = find(m, "llm_ttft_seconds", NULL);
    assert_int_equal(q.n_found, 1);
    assert_int_equal(q.n, 0); /* at once */
    assert_int_equal(q.created_us, 1005 * 1000000);
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n, 1); /* others keep theirs */
    metrics_record_ttft(set, NS_PER_S, "id");
    assert_int_equal(find(m, "llm_ttft_seconds", NULL).n, 1);
    fakeclock_advance(5 * NS_PER_S);
    assert_int_equal(metrics_set_bounds(m, &bounds, 1), 0); /* the same: nothing happens */
    assert_int_equal(find(m, "llm_ttft_seconds", NULL).n, 1);
    assert_int_equal(metrics_set_bounds(m, NULL, 0), 0); /* back to the default */
    assert_int_equal(find(m, "llm_ttft_seconds", NULL).n, 0);
    metrics_free(m);
    fakeclock_remove();
}

static void test_reload_refused(void **state)
{
    (void)state;
    static const int64_t falling[] = {2, 1}, good[] = {1, 2};
    struct metrics *m = metrics_with(NULL);
    struct metrics_series_set *set = set_of(shard_of(m), "m", "u", true);
    metrics_record_queue(set, NS_PER_S);
    struct metrics_bounds bounds[] = {{METRIC_QUEUE, good, 2}, {METRIC_TTFT, falling, 2}};
    assert_int_equal(metrics_set_bounds(m, bounds, 2), -EINVAL);
    bounds[1] = (struct metrics_bounds){METRIC_REQUESTS, good, 2};
    assert_int_equal(metrics_set_bounds(m, bounds, 2), -EINVAL);
    assert_int_equal(find(m, "llm_queue_seconds", NULL).n, 1);
    struct metrics *none = NULL;
    assert_int_equal(metrics_new(&(struct metrics_config){.bounds = bounds, .n_bounds = 2}, &none),
                     -EINVAL);
    assert_null(none);
    metrics_free(m);
}

/* --- memory --- */

static int attempt_all(void *ctx)
{
    (void)ctx;
    struct metrics *m = NULL;
    struct metrics_shard *shard = NULL;
    static const char *const models[] = {"m"};
    int64_t n_lost = stat_sum(STAT_DROP_NO_MEMORY);
    int r = metrics_new(
        &(struct metrics_config){
            .models = models, .n_models = 1, .business = tenant_and_tier, .n_business = 2},
        &m);
    if (r < 0) {
        assert_null(m);
        return r;
    }
    r = metrics_shard_new(m, &shard);
    if (r == 0) {
        struct metrics_series_set *set = set_with(shard, "v1", "acme", "gold");
        metrics_record_ttft(set, NS_PER_S, "id");
        metrics_record_gap(set, NS_PER_S);
        metrics_record_event_overhead(shard, NS_PER_MS);
        static const int64_t values[] = {1, 2};
        struct metrics_bounds bounds = {METRIC_TTFT, values, 2};
        r = metrics_set_bounds(m, &bounds, 1);
        struct query q = {.name = "llm_icl_seconds"};
        int each = metrics_each(m, match, &q);
        r = r < 0 ? r : each;
    }
    metrics_free(m);
    /* A sample that was lost is an event that is counted, too; exemplars are not counted. */
    bool is_lost = stat_sum(STAT_DROP_NO_MEMORY) > n_lost;
    return r < 0 || is_lost ? -ENOMEM : 0;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt_all, NULL) > 30);
    metrics_record_ttft(NULL, 1, "id");
    metrics_record_queue(NULL, 1);
    metrics_record_ttfa(NULL, 1);
    metrics_record_gap(NULL, 1);
    metrics_record_itl(NULL, 1, 1);
    metrics_stream_started(NULL);
    metrics_inflight_end(metrics_inflight_begin(NULL));
    struct record r;
    record_init(&r);
    metrics_record_done(NULL, &r);
}

/* --- threads --- */

enum { WORKERS = 3, EXCHANGES = 20000 };

struct worker {
    struct metrics *m;
    _Atomic int *n_running;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct metrics_shard *shard = shard_of(w->m);
    for (int i = 0; i < EXCHANGES; i++) {
        char model[16];
        struct record r;
        snprintf(model, sizeof(model), "m%d", i % 40);
        struct metrics_series_set *set = set_of(shard, model, i % 3 ? "a" : "b", i % 2);
        struct metrics_series *inflight = metrics_inflight_begin(set);
        metrics_record_ttft(set, i * NS_PER_MS, "request");
        for (int k = 0; k < 5; k++)
            metrics_record_gap(set, k * NS_PER_MS);
        metrics_record_itl(set, NS_PER_MS, 3);
        metrics_record_event_overhead(shard, 30 * NS_PER_US);
        record_init(&r);
        r.is_stream = i % 2;
        r.dialect = "openai";
        r.e2e_ns = i * NS_PER_MS;
        r.usage_source = USAGE_SOURCE_ENGINE;
        r.prompt_tokens = r.completion_tokens = i;
        metrics_record_done(set, &r);
        metrics_inflight_end(inflight);
    }
    metrics_shard_release(shard);
    atomic_fetch_sub(w->n_running, 1);
    return NULL;
}

static int check_sample(void *ctx, const struct metrics_sample *s)
{
    int *n = ctx;
    uint64_t n_classic = 0;
    (*n)++;
    for (size_t i = 0; s->hist && i <= s->hist->bounds->n; i++)
        n_classic += s->hist->classic[i];
    assert_true(!s->hist || n_classic == s->hist->n);
    for (size_t i = 0; i < s->n_labels; i++)
        assert_true(*s->labels[i].value != '\0');
    return 0;
}

static void test_workers_reader_and_reload(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(&(struct metrics_config){.max_series = 300});
    pthread_t threads[WORKERS];
    _Atomic int n_running = WORKERS;
    struct worker worker = {m, &n_running};
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &worker), 0);
    static const int64_t values[] = {NS_PER_MS, NS_PER_S, 2 * NS_PER_S};
    for (int i = 0; atomic_load(&n_running) > 0; i++) {
        struct metrics_bounds bounds = {METRIC_TTFT, values, 1 + (size_t)i % 3};
        int n = 0;
        assert_int_equal(metrics_set_bounds(m, &bounds, 1), 0);
        assert_int_equal(metrics_each(m, check_sample, &n), 0);
        assert_true(n > 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(metrics_n_series(m), 300);
    assert_int_equal(find(m, "llm_icl_seconds", NULL).n, WORKERS * EXCHANGES * 5);
    assert_int_equal(find(m, "llm_itl_seconds", NULL).n, WORKERS * EXCHANGES * 3);
    assert_int_equal(find(m, "llm_requests_total", NULL).value, WORKERS * EXCHANGES);
    assert_int_equal(find(m, "llm_e2e_seconds", NULL).n, WORKERS * EXCHANGES);
    assert_int_equal(find(m, "llm_inflight_requests", NULL).value, 0);
    metrics_free(m);
}

/* --- one exchange --- */

static void test_live(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(NULL);
    struct live_pool *pool = NULL;
    assert_int_equal(live_pool_new(shard_of(m), &pool), 0);
    struct live_labels l = {.model = "new",
                            .endpoint = "chat",
                            .upstream = "a",
                            .request_id = "id",
                            .is_stream = true,
                            .is_generating = true};
    static const char unknown[] = "model=other,endpoint=chat,upstream=a";
    static const char known[] = "model=new,endpoint=chat,upstream=b";
    struct live *live = live_started(pool, &l);
    assert_int_equal(find(m, "llm_inflight_requests", unknown).value, 1);
    assert_int_equal(find(m, "llm_no_first_token_total", NULL).n_found, NO_FIRST_TOKEN_COUNT_);
    live_admitted(live, &l, 5);
    l.upstream = "b"; /* the answer comes from another one */
    l.upstream_status = 200;
    live_first_token(live, &l, NS_PER_S);
    live_first_answer(live, &l, NS_PER_S);
    live_gap(live, &l, NS_PER_MS);
    live_itl(live, &l, NS_PER_MS, 7);
    assert_int_equal(find(m, "llm_queue_seconds", unknown).n, 1);
    assert_int_equal(find(m, "llm_ttft_seconds", known).n, 1);
    assert_int_equal(find(m, "llm_ttfa_seconds", known).n, 1);
    assert_int_equal(find(m, "llm_icl_seconds", "model=new,upstream=b").n, 1);
    assert_int_equal(find(m, "llm_no_first_token_total", NULL).n_found, 2 * NO_FIRST_TOKEN_COUNT_);
    assert_int_equal(find(m, "llm_no_first_token_total", NULL).value, 0);
    struct record r;
    record_init(&r);
    r.is_stream = true;
    r.dialect = "openai";
    r.t_first_token = (mono_t){5};
    live_finished(pool, live, &l, &r);
    assert_int_equal(find(m, "llm_inflight_requests", unknown).value, 0);
    assert_int_equal(find(m, "llm_inflight_requests", known).n_found, 0);
    assert_int_equal(find(m, "llm_itl_seconds", NULL).n, 7);
    assert_int_equal(find(m, "llm_requests_total", NULL).value, 1);
    assert_ptr_equal(live_started(pool, &l), live); /* from the pool */
    live_finished(pool, live, &l, &r);
    live_finished(pool, NULL, &l, &r); /* refused before the plan */
    assert_int_equal(find(m, "llm_requests_total", NULL).value, 3);
    live_pool_free(pool);
    metrics_free(m);
}

static void test_live_no_memory(void **state)
{
    (void)state;
    struct metrics *m = metrics_with(NULL);
    struct live_pool *pool = NULL;
    assert_int_equal(live_pool_new(shard_of(m), &pool), 0);
    struct live_labels l = {.model = "m", .endpoint = "chat"};
    mem_fail_from(1);
    struct live *live = live_started(pool, &l);
    mem_fail_off();
    assert_null(live);
    live_admitted(live, &l, 5);
    live_gap(live, &l, 5);
    struct record r;
    record_init(&r);
    live_finished(pool, live, &l, &r);
    assert_int_equal(find(m, "llm_requests_total", NULL).value, 1);
    live_pool_free(pool);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_rule),
        cmocka_unit_test(test_label_cap_across_shards),
        cmocka_unit_test(test_resolve_is_stable),
        cmocka_unit_test(test_business_labels),
        cmocka_unit_test(test_business_is_not_remembered),
        cmocka_unit_test(test_business_scopes),
        cmocka_unit_test(test_business_cap),
        cmocka_unit_test(test_business_series_cap),
        cmocka_unit_test(test_business_refused),
        cmocka_unit_test(test_series_cap),
        cmocka_unit_test(test_series_cap_within_set),
        cmocka_unit_test(test_merge_and_retire),
        cmocka_unit_test(test_stop_visit),
        cmocka_unit_test(test_reload_bounds),
        cmocka_unit_test(test_reload_refused),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_workers_reader_and_reload),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_live_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
