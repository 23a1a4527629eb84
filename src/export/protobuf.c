/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/protobuf.c - MetricFamily messages, each with its length in front.
 *
 * A family may have thousands of series, so it is not built as one object: its head is packed, then
 * each series is packed and appended as one more element of the repeated field `metric`, which is
 * what the encoding of the whole message would be (concatenated encodings are one message).
 *
 * Native histograms: schema 5, or schema 3 when more than NATIVE_BUCKETS_MAX buckets are in use,
 * which scrapers commonly limit to 160. Schema 3 merges four buckets into one, exactly.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/varint.h"
#include "export/export.h"
#include "metrics.pb-c.h"
#include "metrics/expose.h"

enum {
    NATIVE_BUCKETS_MAX = 160,
    COARSE_SHIFT = 2,        /* schema 5 -> 3 */
    EMPTY_FILL_MAX = 2,      /* so many empty buckets are cheaper than another span */
    METRIC_TAG = 4 << 3 | 2, /* field 4, length-delimited */
};

/* Parts of the message that is being built; sized for the largest histogram. */
struct proto_writer {
    struct buf *out;
    struct buf family; /* packed so far */
    const char *name;  /* of the current family; NULL: none */

    Prom__LabelPair labels[METRICS_LABELS_MAX];
    Prom__LabelPair *label_list[METRICS_LABELS_MAX];
    Prom__Bucket buckets[HIST_BOUNDS_MAX + 1];
    Prom__Bucket *bucket_list[HIST_BOUNDS_MAX + 1];
    Prom__Exemplar exemplars[HIST_BOUNDS_MAX + 1];
    Prom__Exemplar *exemplar_list[HIST_BOUNDS_MAX + 1];
    Prom__LabelPair ids[HIST_BOUNDS_MAX + 1];
    Prom__LabelPair *id_list[HIST_BOUNDS_MAX + 1];
    Prom__Timestamp stamps[HIST_BOUNDS_MAX + 1];
    Prom__BucketSpan spans[HIST_BUCKETS];
    Prom__BucketSpan *span_list[HIST_BUCKETS];
    int64_t deltas[HIST_BUCKETS];
};

/* protobuf-c does not write to strings when packing, but its structs are not const. */
static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {s};
    return u.out;
}

static int append_varint(struct buf *out, uint64_t v)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    size_t n = (size_t)(varint_put(bytes, v) - bytes);
    return buf_append(out, span_of(bytes, n));
}

static int append_message(struct buf *out, const ProtobufCMessage *message)
{
    char *room;
    size_t n = protobuf_c_message_get_packed_size(message);
    if (n == 0)
        return 0;
    int r = buf_reserve(out, n, &room);
    if (r < 0)
        return r;
    protobuf_c_message_pack(message, (uint8_t *)room);
    buf_commit(out, n);
    return 0;
}

static Prom__Timestamp stamp_of(wall_t t)
{
    Prom__Timestamp stamp = PROM__TIMESTAMP__INIT;
    stamp.has_seconds = 1;
    stamp.seconds = t.us / 1000000;
    stamp.has_nanos = 1;
    stamp.nanos = (int32_t)(t.us % 1000000) * 1000;
    return stamp;
}

/* --- families --- */

static int end_family(struct proto_writer *w)
{
    if (!w->name)
        return 0;
    int r = append_varint(w->out, buf_len(&w->family));
    return r < 0 ? r : buf_append(w->out, buf_span(&w->family));
}

static int begin_family(struct proto_writer *w, const struct expose_series *s)
{
    static const Prom__MetricType types[] = {[FAMILY_COUNTER] = PROM__METRIC_TYPE__COUNTER,
                                             [FAMILY_GAUGE] = PROM__METRIC_TYPE__GAUGE,
                                             [FAMILY_HISTOGRAM] = PROM__METRIC_TYPE__HISTOGRAM};
    Prom__MetricFamily family = PROM__METRIC_FAMILY__INIT;
    int r = end_family(w);
    if (r < 0)
        return r;
    buf_clear(&w->family);
    w->name = s->name;
    family.name = text(s->name);
    family.help = text(s->help);
    family.has_type = 1;
    family.type = types[s->type];
    family.unit = *s->unit ? text(s->unit) : NULL;
    return append_message(&w->family, &family.base);
}

/* --- histograms --- */

static void set_exemplar(struct proto_writer *w, const struct hist_snapshot *h, size_t i)
{
    const struct hist_exemplar *e = &h->exemplars[i];
    w->ids[i] = (Prom__LabelPair)PROM__LABEL_PAIR__INIT;
    w->ids[i].name = text("request_id");
    w->ids[i].value = text(e->id);
    w->id_list[i] = &w->ids[i];
    w->stamps[i] = stamp_of(e->at);
    w->exemplars[i] = (Prom__Exemplar)PROM__EXEMPLAR__INIT;
    w->exemplars[i].n_label = 1;
    w->exemplars[i].label = &w->id_list[i];
    w->exemplars[i].has_value = 1;
    w->exemplars[i].value = hist_raw_to_unit(h->bounds->layout, e->raw);
    w->exemplars[i].timestamp = &w->stamps[i];
}

/* The classic half; +Inf is implied by sample_count and sent only for its exemplar. */
static void set_classic(struct proto_writer *w, const struct hist_snapshot *h,
                        Prom__Histogram *histogram)
{
    uint64_t n = 0;
    for (size_t i = 0; i <= h->bounds->n; i++) {
        bool has_exemplar = h->exemplars[i].at.us != 0;
        n += h->classic[i];
        if (has_exemplar) {
            set_exemplar(w, h, i);
            w->exemplar_list[histogram->n_exemplars++] = &w->exemplars[i];
        }
        if (i == h->bounds->n && !has_exemplar)
            break;
        Prom__Bucket *b = &w->buckets[i];
        *b = (Prom__Bucket)PROM__BUCKET__INIT;
        b->has_cumulative_count = 1;
        b->cumulative_count = n;
        b->has_upper_bound = 1;
        b->upper_bound = i < h->bounds->n ? hist_raw_to_unit(h->bounds->layout, h->bounds->upper[i])
                                          : __builtin_inf();
        b->exemplar = has_exemplar ? &w->exemplars[i] : NULL;
        w->bucket_list[histogram->n_bucket++] = b;
    }
    histogram->bucket = w->bucket_list;
    histogram->exemplars = w->exemplar_list;
}

static size_t count_used(const struct hist_snapshot *h)
{
    size_t n = 0;
    for (uint32_t k = h->first > 1 ? h->first : 1; k < h->end; k++)
        n += h->buckets[k] > 0;
    return n;
}

/* Bucket (a, b] of a schema lies in bucket index' of a coarser one: ceil(index / 2^shift). */
static int coarser(int index, int shift)
{
    return (index + (1 << shift) - 1) >> shift;
}

/* Spans and deltas under construction. */
struct native {
    struct proto_writer *w;
    size_t n_spans, n_deltas;
    int next_index; /* behind the last bucket written */
    int64_t last;
};

static void push_delta(struct native *native, int64_t n)
{
    native->w->deltas[native->n_deltas++] = n - native->last;
    native->w->spans[native->n_spans - 1].length++;
    native->last = n;
    native->next_index++;
}

static void push_span(struct native *native, int offset)
{
    Prom__BucketSpan *span = &native->w->spans[native->n_spans];
    *span = (Prom__BucketSpan)PROM__BUCKET_SPAN__INIT;
    span->has_offset = 1;
    span->offset = offset;
    span->has_length = 1;
    native->w->span_list[native->n_spans++] = span;
}

static void push_bucket(struct native *native, int index, uint64_t n)
{
    int gap = index - native->next_index;
    if (native->n_spans == 0 || gap > EMPTY_FILL_MAX) {
        push_span(native, gap);
        native->next_index = index;
    }
    while (native->next_index < index)
        push_delta(native, 0);
    push_delta(native, (int64_t)n);
}

static void set_native(struct proto_writer *w, const struct hist_snapshot *h,
                       Prom__Histogram *histogram)
{
    const struct hist_layout *layout = h->bounds->layout;
    struct native native = {.w = w};
    int shift = count_used(h) > NATIVE_BUCKETS_MAX ? COARSE_SHIFT : 0;
    int index = 0;
    uint64_t n = 0; /* of bucket `index`, not yet pushed */
    for (uint32_t k = h->first > 1 ? h->first : 1; k < h->end; k++) {
        if (h->buckets[k] == 0)
            continue;
        int at = coarser(hist_native_index(layout, k), shift);
        if (n > 0 && at != index) {
            push_bucket(&native, index, n);
            n = 0;
        }
        index = at;
        n += h->buckets[k];
    }
    if (n > 0)
        push_bucket(&native, index, n);
    if (native.n_spans == 0)
        push_span(&native, 0); /* says "native" where no bucket does */
    histogram->has_schema = 1;
    histogram->schema = HIST_SCHEMA - shift;
    histogram->has_zero_threshold = 1;
    histogram->zero_threshold = hist_raw_to_unit(layout, layout->zero_raw);
    histogram->has_zero_count = 1;
    histogram->zero_count = h->buckets[0];
    histogram->n_positive_span = native.n_spans;
    histogram->positive_span = w->span_list;
    histogram->n_positive_delta = native.n_deltas;
    histogram->positive_delta = w->deltas;
}

/* --- series --- */

static int append_metric(struct proto_writer *w, const Prom__Metric *metric)
{
    int r = append_varint(&w->family, METRIC_TAG);
    if (r == 0)
        r = append_varint(&w->family, protobuf_c_message_get_packed_size(&metric->base));
    return r < 0 ? r : append_message(&w->family, &metric->base);
}

static void set_labels(struct proto_writer *w, const struct expose_series *s, Prom__Metric *metric)
{
    for (size_t i = 0; i < s->n_labels; i++) {
        w->labels[i] = (Prom__LabelPair)PROM__LABEL_PAIR__INIT;
        w->labels[i].name = text(s->labels[i].name);
        w->labels[i].value = text(s->labels[i].value);
        w->label_list[i] = &w->labels[i];
    }
    metric->n_label = s->n_labels;
    metric->label = w->label_list;
}

static int visit(void *ctx, const struct expose_series *s)
{
    struct proto_writer *w = ctx;
    Prom__Metric metric = PROM__METRIC__INIT;
    Prom__Counter counter = PROM__COUNTER__INIT;
    Prom__Gauge gauge = PROM__GAUGE__INIT;
    Prom__Histogram histogram = PROM__HISTOGRAM__INIT;
    Prom__Timestamp created = stamp_of(s->created_at);
    int r = s->name != w->name ? begin_family(w, s) : 0;
    if (r < 0)
        return r;
    set_labels(w, s, &metric);
    switch (s->type) {
    case FAMILY_COUNTER:
        counter.has_value = 1;
        counter.value = (double)s->value;
        counter.created_timestamp = s->created_at.us != 0 ? &created : NULL;
        metric.counter = &counter;
        break;
    case FAMILY_GAUGE:
        gauge.has_value = 1;
        gauge.value = (double)s->value;
        metric.gauge = &gauge;
        break;
    case FAMILY_HISTOGRAM:
        histogram.has_sample_count = 1;
        histogram.sample_count = s->hist->n;
        histogram.has_sample_sum = 1;
        histogram.sample_sum = hist_snapshot_sum(s->hist);
        histogram.created_timestamp = s->created_at.us != 0 ? &created : NULL;
        set_classic(w, s->hist, &histogram);
        set_native(w, s->hist, &histogram);
        metric.histogram = &histogram;
        break;
    }
    return append_metric(w, &metric);
}

int protobuf_write(const struct metrics *m, struct buf *out)
{
    struct proto_writer *w = mem_zalloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->out = out;
    buf_init(&w->family, EXPORT_BODY_BYTES_MAX);
    int r = expose_each(m, visit, w);
    if (r == 0)
        r = end_family(w);
    buf_done(&w->family);
    mem_free(w);
    return r;
}
