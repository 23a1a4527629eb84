/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that are scraped again: one that is remembered says the same as one that is read for the
 * first time, whatever was there before; what is told ends once. Pages stand behind one another,
 * with a byte 0 between them; the first byte chooses the format.
 * fuzz-links: collect
 */
#include <errno.h>

#include "collect/metricpage.h"
#include "pieces.h"
#include "series/reader.h"

/* Of all samples that are none of what is remembered, in whatever order. */
struct sum {
    uint64_t hash;
    size_t n, n_stale;
};

static struct sum sum_of(const struct batch *b)
{
    struct sum s = {0};

    for (size_t i = 0; i < b->n; i++) {
        const struct batch_sample *x = &b->at[i];
        uint64_t bits;
        FUZZ_CHECK(labels_is_metric_name(labels_name(x->labels)));
        memcpy(&bits, &x->v, sizeof(bits));
        s.n_stale += series_is_stale(x->v);
        if (series_is_stale(x->v) || span_eq(labels_name(x->labels), SPAN("engine_signal_missing")))
            continue;
        s.hash += labels_hash(x->labels) * (bits | 1) + (uint64_t)x->t_ms;
        s.n++;
    }
    return s;
}

static struct batch *batch(void)
{
    struct batch *b;
    FUZZ_CHECK(batch_new(&b) == 0);
    return b;
}

static int read_page(struct metricpage *p, struct span body, enum text_format format, int64_t t_ms,
                     struct sum *ret)
{
    struct metricpage_counts counts;
    const char *words = NULL;
    struct batch *b = batch();
    int r = metricpage_read(p, body, format, t_ms, b, &counts, &words);

    FUZZ_CHECK(r == 0 || (r == -EBADMSG && words && b->n == 0));
    FUZZ_CHECK(r < 0 || counts.n_kept <= counts.n_samples);
    *ret = sum_of(b);
    (void)batch_free(b);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct label label = {SPAN_INIT("job"), SPAN_INIT("fuzz")};
    static const struct scrape_job job = {.honors_timestamps = true};
    struct labels labels = {&label, 1};
    struct metricpage *p, *once;
    struct sum again, first;
    struct span left;
    enum text_format format =
        pieces_choice(data, size, &left) % 2 == 0 ? TEXT_PROMETHEUS : TEXT_OPENMETRICS;

    if (size > 20000)
        return 0;
    FUZZ_CHECK(metricpage_new(&job, labels, &p) == 0);
    for (int64_t t_ms = 1; left.n > 0; t_ms++) {
        struct span body = span_split(&left, '\0');
        FUZZ_CHECK(metricpage_new(&job, labels, &once) == 0);
        int r = read_page(p, body, format, t_ms, &again);
        FUZZ_CHECK(read_page(once, body, format, t_ms, &first) == r);
        FUZZ_CHECK(r < 0 || (again.n == first.n && again.hash == first.hash));
        FUZZ_CHECK(first.n_stale == 0);
        (void)metricpage_free(once);
    }
    for (int i = 0; i < 2; i++) { /* what is gone is gone once */
        struct batch *b = batch();
        FUZZ_CHECK(metricpage_gone(p, 1000, b) == 0);
        FUZZ_CHECK(i == 0 || b->n == 0);
        (void)batch_free(b);
    }
    (void)metricpage_free(p);
    return 0;
}
