/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of objectives: exact, from 0 on, merged over workers, within the caps.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/stat.h"
#include "memfail.h"
#include "metrics/metrics.h"

static struct metrics_series_set *set_of(struct metrics_shard *shard, const char *model)
{
    struct metrics_request request = {
        .model = model, .endpoint = "chat", .upstream = "u", .is_model_proven = true};

    return metrics_shard_resolve(shard, &request);
}

struct wanted {
    enum metric metric;
    const char *model, *slo, *objective; /* NULL: any */
    int n_found;
    int64_t value;
};

static int look(void *ctx, const struct metrics_sample *s)
{
    struct wanted *w = ctx;

    if (s->metric != w->metric)
        return 0;
    assert_int_equal(s->n_labels, 4);
    assert_string_equal(s->labels[0].name, "model");
    assert_string_equal(s->labels[1].name, "upstream");
    assert_string_equal(s->labels[2].name, "slo");
    assert_string_equal(s->labels[3].name, "objective");
    if ((w->model && strcmp(s->labels[0].value, w->model) != 0) ||
        (w->slo && strcmp(s->labels[2].value, w->slo) != 0) ||
        (w->objective && strcmp(s->labels[3].value, w->objective) != 0))
        return 0;
    w->n_found++;
    w->value += s->value;
    return 0;
}

static struct wanted found(const struct metrics *m, enum metric metric, const char *model,
                           const char *slo, const char *objective)
{
    struct wanted w = {metric, model, slo, objective, 0, 0};

    assert_int_equal(metrics_each(m, look, &w), 0);
    return w;
}

enum { JUDGED = 1u << SLO_TTFT | 1u << SLO_ERRORS | 1u << SLO_GOODPUT };
static const enum slo_verdict nothing[SLO_OBJECTIVE_COUNT_];

static void test_counts(void **state)
{
    static const enum slo_verdict late[SLO_OBJECTIVE_COUNT_] = {
        [SLO_TTFT] = SLO_BAD, [SLO_ERRORS] = SLO_GOOD, [SLO_GOODPUT] = SLO_BAD};
    static const enum slo_verdict good[SLO_OBJECTIVE_COUNT_] = {
        [SLO_TTFT] = SLO_GOOD, [SLO_ERRORS] = SLO_GOOD, [SLO_GOODPUT] = SLO_GOOD};
    struct metrics *m;
    struct metrics_shard *a, *b;

    (void)state;
    assert_int_equal(metrics_new(NULL, &m), 0);
    assert_int_equal(metrics_shard_new(m, &a), 0);
    assert_int_equal(metrics_shard_new(m, &b), 0);
    uint32_t chat = metrics_slo_id(m, "chat"), batch = metrics_slo_id(m, "batch");
    struct metrics_series_set *one = set_of(a, "one"), *other_worker = set_of(b, "one");

    /* Nothing was eligible, and all series are there. */
    metrics_record_slo(one, chat, JUDGED, nothing);
    struct wanted w = found(m, METRIC_SLO, NULL, "chat", NULL);
    assert_int_equal(w.n_found, 3);
    assert_int_equal(w.value, 0);
    assert_int_equal(found(m, METRIC_SLO_GOOD, NULL, NULL, NULL).n_found, 3);

    for (int i = 0; i < 10; i++)
        metrics_record_slo(i % 2 ? one : other_worker, chat, JUDGED, i < 7 ? good : late);
    metrics_record_slo(set_of(a, "two"), chat, JUDGED, late);
    metrics_record_slo(one, batch, 1u << SLO_GOODPUT, good);
    static const struct {
        enum metric metric;
        const char *model, *slo, *objective;
        int64_t value;
    } rows[] = {
        {METRIC_SLO, "one", "chat", "ttft", 10},    {METRIC_SLO_GOOD, "one", "chat", "ttft", 7},
        {METRIC_SLO, "one", "chat", "errors", 10},  {METRIC_SLO_GOOD, NULL, "chat", "errors", 11},
        {METRIC_SLO, "two", "chat", "goodput", 1},  {METRIC_SLO_GOOD, "two", "chat", "goodput", 0},
        {METRIC_SLO, "one", "batch", "goodput", 1}, {METRIC_SLO_GOOD, "one", "batch", NULL, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(
            found(m, rows[i].metric, rows[i].model, rows[i].slo, rows[i].objective).value,
            rows[i].value);
    assert_int_equal(found(m, METRIC_SLO, "one", "batch", NULL).n_found, 1);
    metrics_free(m);
}

/* A reload may give an SLO of the same name more objectives. */
static void test_more_objectives(void **state)
{
    struct metrics *m;
    struct metrics_shard *shard;

    (void)state;
    assert_int_equal(metrics_new(NULL, &m), 0);
    assert_int_equal(metrics_shard_new(m, &shard), 0);
    uint32_t id = metrics_slo_id(m, "chat");
    metrics_record_slo(set_of(shard, "m"), id, 1u << SLO_GOODPUT, nothing);
    assert_int_equal(found(m, METRIC_SLO, NULL, NULL, NULL).n_found, 1);
    metrics_record_slo(set_of(shard, "m"), id, JUDGED, nothing);
    assert_int_equal(found(m, METRIC_SLO, NULL, NULL, NULL).n_found, 3);
    assert_int_equal(found(m, METRIC_SLO_GOOD, NULL, NULL, NULL).n_found, 3);
    metrics_free(m);
}

/* Over the limit of series everything is in one "other", and nothing is lost from the sums. */
static void test_caps(void **state)
{
    static const enum slo_verdict good[SLO_OBJECTIVE_COUNT_] = {[SLO_GOODPUT] = SLO_GOOD};
    struct metrics_config config = {.max_series = 20, .max_label_values = 4};
    struct metrics *m;
    struct metrics_shard *shard;
    char name[16];

    (void)state;
    assert_int_equal(metrics_new(&config, &m), 0);
    assert_int_equal(metrics_shard_new(m, &shard), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "s%d", i / 10);
        uint32_t id = metrics_slo_id(m, name);
        snprintf(name, sizeof(name), "m%d", i % 10);
        metrics_record_slo(set_of(shard, name), id, 1u << SLO_GOODPUT, good);
    }
    assert_true(metrics_n_series(m) <= 20);
    assert_int_equal(found(m, METRIC_SLO, NULL, NULL, NULL).value, 100);
    assert_int_equal(found(m, METRIC_SLO_GOOD, NULL, NULL, NULL).value, 100);
    struct wanted other = found(m, METRIC_SLO, "other", "other", "goodput");
    assert_int_equal(other.n_found, 1);
    assert_true(other.value > 0);
    metrics_free(m);
}

static int attempt(void *ctx)
{
    static const enum slo_verdict good[SLO_OBJECTIVE_COUNT_] = {[SLO_GOODPUT] = SLO_GOOD};
    struct metrics *m = NULL;
    struct metrics_shard *shard = NULL;
    int64_t lost = stat_sum(STAT_DROP_NO_MEMORY);
    int r = metrics_new(NULL, &m);

    (void)ctx;
    if (r == 0)
        r = metrics_shard_new(m, &shard);
    if (r == 0)
        metrics_record_slo(set_of(shard, "m"), metrics_slo_id(m, "chat"), 1u << SLO_GOODPUT, good);
    if (r == 0 && stat_sum(STAT_DROP_NO_MEMORY) > lost)
        r = -ENOMEM; /* recording never fails; it counts */
    metrics_free(m);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
    metrics_record_slo(NULL, 2, 1, nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_more_objectives),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
