/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/signals.h - values of signals out of a page.
 *
 * Role:      what engine_recognise found, made into samples under the common names:
 *            engine_kv_usage_ratio{model="m", engine="0"}. Histograms become _bucket (le scaled),
 *            _sum and _count; a source that has a mean only becomes NAME_mean.
 * Labels:    model (model_name, model, served_model_name, ...), engine (engine, dp_rank, replica),
 *            the signal's own one; of GPUs gpu, uuid, mig; of Kafka consumergroup, topic,
 *            partition. Samples that differ in other labels become one as the signal says (sum or
 *            maximum); of tensor- and pipeline-parallel ranks only the lowest counts.
 * Dropped:   sentinels, NaN of gauges; and a signal all of whose samples were dropped is missing.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef ENGINE_SIGNALS_H
#define ENGINE_SIGNALS_H

#include "engine/recognise.h"

struct signal_sample {
    struct labels labels; /* with LABEL_NAME */
    double v;
    const struct signal_found *from;
};
/* In the arena; by signal, then by labels. */
int engine_signals(const struct families *f, const struct engine_page *page, struct arena *a,
                   struct signal_sample **ret, size_t *ret_n) WARN_UNUSED;

#endif
