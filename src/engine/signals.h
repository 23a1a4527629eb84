/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/signals.h - values of signals out of a page.
 *
 * Role:      what engine_recognise found, made into samples under the common names:
 *            engine_kv_usage_ratio{model="m", engine="0"}. Histograms become _bucket (le scaled),
 *            _sum and _count; a source that has sums only becomes _sum and _count, one that has a
 *            mean only NAME_mean.
 * Labels:    model (model_name, model, served_model_name, ...), engine (engine, dp_rank, replica),
 *            the signal's own one; of GPUs gpu, uuid, mig; of Kafka consumergroup, topic,
 *            partition. Samples that differ in other labels become one as the signal says (sum or
 *            maximum), histograms on the bounds that all of them have; of tensor-, pipeline- and
 *            expert-parallel ranks only the lowest counts.
 * Dropped:   sentinels and NaN; a source all of whose samples are dropped is not used.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef ENGINE_SIGNALS_H
#define ENGINE_SIGNALS_H

#include "engine/recognise.h"

enum signal_shape {
    SIGNAL_PLAIN,     /* v */
    SIGNAL_MEAN,      /* v, the mean of what should be a histogram */
    SIGNAL_HISTOGRAM, /* buckets, sum, count */
    SIGNAL_SUMS,      /* sum, count */
};
struct signal_value {
    const struct signal_found *from;
    enum signal_shape shape;
    struct labels labels; /* without LABEL_NAME */
    double v;
    const struct family_bucket *buckets;
    size_t n_buckets;
    double sum, count; /* NaN: not there */
};
/* In the arena; as page->signals, then by labels. No two of one signal have the same labels. */
int engine_values(const struct families *f, const struct engine_page *page, struct arena *a,
                  struct signal_value **ret, size_t *ret_n) WARN_UNUSED;

/*
 * The samples of a value, always in the same order: buckets, sum, count, or the one there is. tail:
 * what is behind the series' name ("_bucket", "_sum", "_count", "_mean", ""), one pointer for each;
 * le: of a bucket. What is not there (NaN) is left out. An error of visit ends it.
 */
typedef int (*signal_visit)(void *ctx, const char *tail, double le, double v);
int signal_value_each(const struct signal_value *v, signal_visit visit, void *ctx) WARN_UNUSED;
/* Labels of such a sample, with LABEL_NAME and LABEL_LE. */
int signal_sample_labels(const struct signal_value *v, const char *tail, double le, struct arena *a,
                         struct labels *ret) WARN_UNUSED;

struct signal_sample {
    struct labels labels; /* with LABEL_NAME */
    double v;
    const struct signal_found *from;
};
/* The same as samples; by signal, then by labels. */
int engine_signals(const struct families *f, const struct engine_page *page, struct arena *a,
                   struct signal_sample **ret, size_t *ret_n) WARN_UNUSED;

#endif
