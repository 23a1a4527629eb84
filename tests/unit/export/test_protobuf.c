/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes what was written with the generated code and compares it with the numbers recorded.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "export/export.h"
#include "metrics.pb-c.h"
#include "sample.h"

enum { FAMILIES_MAX = 128 };

struct page {
    Prom__MetricFamily *families[FAMILIES_MAX];
    size_t n;
};

static uint64_t take_varint(struct span *s)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(s->n > 0 && shift < 64);
        unsigned char byte = (unsigned char)*span_take(s, 1).p;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
}

static void page_read(struct page *page, const struct metrics *m)
{
    struct buf out;
    buf_init(&out, 16 << 20);
    assert_int_equal(protobuf_write(m, &out), 0);
    struct span rest = buf_span(&out);
    page->n = 0;
    while (rest.n > 0) {
        uint64_t n = take_varint(&rest);
        assert_true(n <= rest.n && page->n < FAMILIES_MAX);
        struct span message = span_take(&rest, n);
        Prom__MetricFamily *f =
            prom__metric_family__unpack(NULL, message.n, (const uint8_t *)message.p);
        assert_non_null(f);
        page->families[page->n++] = f;
    }
    buf_done(&out);
}

static void page_free(struct page *page)
{
    for (size_t i = 0; i < page->n; i++)
        prom__metric_family__free_unpacked(page->families[i], NULL);
}

static const Prom__MetricFamily *page_find(const struct page *page, const char *name)
{
    const Prom__MetricFamily *found = NULL;
    for (size_t i = 0; i < page->n; i++) {
        if (strcmp(page->families[i]->name, name) != 0)
            continue;
        assert_null(found);
        found = page->families[i];
    }
    assert_non_null(found);
    return found;
}

static void test_families(void **state)
{
    (void)state;
    struct page page;
    sample_clock();
    struct metrics *m = sample_metrics();
    page_read(&page, m);
    const Prom__MetricFamily *tokens = page_find(&page, "llm_tokens_total");
    assert_int_equal(tokens->type, PROM__METRIC_TYPE__COUNTER);
    assert_string_equal(tokens->unit, "tokens");
    assert_int_equal(tokens->n_metric, 2);
    assert_int_equal(tokens->metric[0]->n_label, 5);
    assert_string_equal(tokens->metric[0]->label[0]->name, "model");
    assert_string_equal(tokens->metric[0]->label[0]->value, "a\"b\\c\nd");
    assert_string_equal(tokens->metric[1]->label[4]->value, "completion");
    assert_true(tokens->metric[1]->counter->value == 64);
    assert_int_equal(tokens->metric[1]->counter->created_timestamp->seconds, 1700000000);
    assert_int_equal(tokens->metric[1]->counter->created_timestamp->nanos, 250000000);
    const Prom__MetricFamily *info = page_find(&page, "inferometer_build_info");
    assert_int_equal(info->type, PROM__METRIC_TYPE__GAUGE);
    assert_true(info->metric[0]->gauge->value == 1);
    const Prom__MetricFamily *drops = page_find(&page, "inferometer_drops_total");
    assert_true(drops->n_metric > 1);
    assert_string_equal(drops->metric[0]->label[0]->name, "cause");
    page_free(&page);
    metrics_free(m);
    fakeclock_remove();
}

static void test_histogram(void **state)
{
    (void)state;
    struct page page;
    sample_clock();
    struct metrics *m = sample_metrics();
    page_read(&page, m);
    const Prom__MetricFamily *ttft = page_find(&page, "llm_ttft_seconds");
    assert_int_equal(ttft->type, PROM__METRIC_TYPE__HISTOGRAM);
    assert_int_equal(ttft->n_metric, 1);
    const Prom__Histogram *h = ttft->metric[0]->histogram;
    assert_int_equal(h->sample_count, 3);
    assert_true(fabs(h->sample_sum - 3.51) < 1e-12);
    assert_int_equal(h->created_timestamp->seconds, 1700000000);
    static const double bounds[] = {0.05, 1, 3};
    assert_int_equal(h->n_bucket, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(h->bucket[i]->upper_bound == bounds[i]);
        assert_int_equal(h->bucket[i]->cumulative_count, i + 1);
    }
    assert_string_equal(h->bucket[0]->exemplar->label[0]->value, "req-1");
    assert_null(h->bucket[1]->exemplar);
    assert_true(h->bucket[2]->exemplar->value == 2.5);
    assert_int_equal(h->n_exemplars, 2);
    assert_int_equal(h->schema, 5);
    assert_true(h->zero_threshold == 1e-6);
    assert_int_equal(h->zero_count, 0);
    /* ceil(32 * log2(0.01)) = -212, 0 for 1 s, ceil(32 * log2(2.5)) = 43. */
    assert_int_equal(h->n_positive_span, 3);
    assert_int_equal(h->positive_span[0]->offset, -212);
    assert_int_equal(h->positive_span[1]->offset, 211);
    assert_int_equal(h->positive_span[2]->offset, 42);
    assert_int_equal(h->n_positive_delta, 3);
    assert_int_equal(h->positive_delta[0], 1);
    assert_int_equal(h->positive_delta[1], 0);
    assert_int_equal(h->positive_delta[2], 0);
    page_free(&page);
    metrics_free(m);
    fakeclock_remove();
}

/* The native half as index -> count. */
enum { INDEX_OFFSET = 2000, INDICES = 4000 };

static uint64_t decode_native(const Prom__Histogram *h, uint64_t *counts)
{
    uint64_t total = h->zero_count;
    int64_t n = 0;
    int index = 0;
    size_t d = 0;
    memset(counts, 0, INDICES * sizeof(*counts));
    for (size_t s = 0; s < h->n_positive_span; s++) {
        index += h->positive_span[s]->offset;
        assert_true(s == 0 || h->positive_span[s]->offset > 2); /* smaller gaps are filled */
        for (uint32_t i = 0; i < h->positive_span[s]->length; i++, index++) {
            assert_true(d < h->n_positive_delta);
            n += h->positive_delta[d++];
            assert_true(n >= 0);
            counts[index + INDEX_OFFSET] = (uint64_t)n;
            total += (uint64_t)n;
        }
    }
    assert_int_equal(d, h->n_positive_delta);
    return total;
}

static void check_native(double sigma, int n_values, int want_schema)
{
    static uint64_t got[INDICES], want[INDICES];
    struct metrics *m = NULL;
    struct metrics_shard *shard = NULL;
    struct metrics_request request = {.model = "m",
                                      .endpoint = "chat",
                                      .upstream = "u",
                                      .is_stream = true,
                                      .is_model_proven = true};
    struct rng rng;
    struct page page;
    rng_seed(&rng, 9);
    memset(want, 0, sizeof(want));
    assert_int_equal(metrics_new(NULL, &m), 0);
    assert_int_equal(metrics_shard_new(m, &shard), 0);
    struct metrics_series_set *set = metrics_shard_resolve(shard, &request);
    uint64_t n_zero = 0;
    for (int i = 0; i < n_values; i++) {
        int64_t v = (int64_t)rng_lognormal(&rng, 3e8, sigma);
        if (v <= 1000) {
            n_zero++;
        } else {
            /* Independent of the code: the logarithm in extended precision. */
            long double per_octave = want_schema == 5 ? 32 : 8;
            want[INDEX_OFFSET + (int)ceill(log2l((long double)v / 1e9L) * per_octave)]++;
        }
        metrics_record_ttfa(set, v);
    }
    page_read(&page, m);
    const Prom__Histogram *h = page_find(&page, "llm_ttfa_seconds")->metric[0]->histogram;
    assert_int_equal(h->schema, want_schema);
    assert_int_equal(decode_native(h, got), (uint64_t)n_values);
    assert_int_equal(h->sample_count, n_values);
    assert_int_equal(h->zero_count, n_zero);
    assert_memory_equal(got, want, sizeof(got));
    page_free(&page);
    metrics_free(m);
}

static void test_native(void **state)
{
    (void)state;
    check_native(0.0, 1000, 5);
    check_native(0.3, 20000, 5);
    check_native(2.5, 20000, 3);
    check_native(3.5, 50000, 3);
}

/* No sample yet: still a native histogram, by a span that spans nothing. */
static void test_empty(void **state)
{
    (void)state;
    static const int64_t values[] = {1, 2};
    struct metrics_bounds bounds = {METRIC_TTFT, values, 2};
    struct page page;
    struct metrics *m = sample_metrics();
    assert_int_equal(metrics_set_bounds(m, &bounds, 1), 0);
    page_read(&page, m);
    const Prom__Histogram *h = page_find(&page, "llm_ttft_seconds")->metric[0]->histogram;
    assert_int_equal(h->sample_count, 0);
    assert_int_equal(h->n_positive_span, 1);
    assert_int_equal(h->positive_span[0]->offset, 0);
    assert_int_equal(h->positive_span[0]->length, 0);
    assert_int_equal(h->n_positive_delta, 0);
    page_free(&page);
    metrics_free(m);
}

static void test_errors(void **state)
{
    (void)state;
    struct metrics *m = sample_metrics();
    struct buf out;
    for (size_t max = 0; max < 8000; max += 111) {
        buf_init(&out, max + 1);
        int r = protobuf_write(m, &out);
        assert_true(r == 0 || r == -EMSGSIZE);
        buf_done(&out);
    }
    for (uint64_t n = 1; n < 4; n++) {
        buf_init(&out, 1 << 20);
        mem_fail_from(n);
        assert_int_equal(protobuf_write(m, &out), -ENOMEM);
        mem_fail_off();
        buf_done(&out);
    }
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families), cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_native),   cmocka_unit_test(test_empty),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
