/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/metrics.h - all series of the process: recorded per worker, merged when read.
 *
 * Role:      the numbers behind /metrics. Families: metrics/family.h. An exchange's use is simplest
 *            through metrics/live.h.
 * Labels:    the requested model is a label value when it is configured (config.models), or once a
 *            request for it was answered with 2xx (is_model_proven); else "other". A missing
 *            upstream is "none". Labels that the operator named (business labels) are known from
 *            the start; without a value they are left out, as is the version.
 * Limits:    values per label, and series over all families; beyond them "other", with a counter
 *            (STAT_DROP_LABEL_CAP, STAT_DROP_SERIES_CAP). Series whose labels are all "other", and
 *            those without request labels, are outside the limit; their number is fixed.
 * Errors:    recording never fails. Without memory the sample is lost and counted
 *            (STAT_DROP_NO_MEMORY); every function takes a NULL set or series and counts likewise.
 * Threading: a shard belongs to one thread at a time and is the only writer of its numbers.
 *            Reading, metrics_set_bounds and metrics_allow_models: any thread, while writers run. A
 *            lock is taken at the first sight of a label set or series only, never per sample.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "metrics/family.h"
#include "record/record.h"
#include "slo/slo.h"

struct metrics;
struct metrics_shard;
struct metrics_series_set; /* the series of one label set in one shard; lives as long as metrics */
struct metrics_series;

/* Classic bounds of one histogram family: raw values (ns, tokens, thousandths), ascending. */
struct metrics_bounds {
    enum metric metric;
    const int64_t *values;
    size_t n; /* at most HIST_BOUNDS_MAX */
};

/* A label that the operator named; family_is_label says which names are taken. */
struct metrics_business {
    const char *name;    /* copied */
    uint32_t max_values; /* 0: LIMIT_LABEL_VALUES */
};

struct metrics_config {
    const char *const *models; /* label values from the start */
    size_t n_models;
    const struct metrics_bounds *bounds; /* families not listed have their default */
    size_t n_bounds;
    const struct metrics_business *business;
    size_t n_business;
    uint32_t max_label_values; /* per label; 0: LIMIT_LABEL_VALUES */
    uint32_t max_series;       /* 0: LIMIT_SERIES */
};

/* config may be NULL: defaults. -EINVAL (bounds not ascending, not of a histogram; a label without
 * a name), -ENOSPC (too many business labels), -ENOMEM. */
int metrics_new(const struct metrics_config *config, struct metrics **ret) WARN_UNUSED;

/* After the last writer and reader. NULL is allowed. Returns NULL. */
struct metrics *metrics_free(struct metrics *m);

/*
 * Reload: the complete list of bounds that differ from the defaults. Families whose bounds change
 * start anew at once, with a new created stamp, while writers go on; the others keep their data.
 * All or nothing. About 2.4 KiB per changed family stay allocated until metrics_free. -EINVAL,
 * -ENOMEM.
 */
int metrics_set_bounds(struct metrics *m, const struct metrics_bounds *bounds,
                       size_t n) WARN_UNUSED;

/* Reload: more models that are label values. */
void metrics_allow_models(struct metrics *m, const char *const *models, size_t n);

/* Series that count against the limit, now. */
uint32_t metrics_n_series(const struct metrics *m);

/* --- writing: the shard's thread --- */

/* One per worker. A released shard keeps counting and is given to the next worker. -ENOMEM. */
int metrics_shard_new(struct metrics *m, struct metrics_shard **ret) WARN_UNUSED;
struct metrics_shard *metrics_shard_release(struct metrics_shard *shard);

struct metrics_request {
    const char *model;    /* as requested, after alias resolution; NULL or "": other */
    const char *endpoint; /* of a fixed list */
    const char *upstream; /* NULL or "": none */
    bool is_stream;
    bool is_model_proven; /* answered with 2xx */
    const char *version;  /* of what the upstream serves; NULL or "": not told */
    /* Values of the business labels, one each in the order of the configuration; NULL: none has
     * one, as has an entry that is NULL or "". */
    const char *const *business;
};

/* The series of these labels; NULL without memory. Cheap: a look-up per label, no lock when known;
 * less where the labels are those of the request before. */
struct metrics_series_set *metrics_shard_resolve(struct metrics_shard *shard,
                                                 const struct metrics_request *request);

/* A stream that generates began: its llm_no_first_token_total and llm_buffered_streams_total exist
 * at 0 from now on. */
void metrics_stream_started(struct metrics_series_set *set);

/* In flight until metrics_inflight_end with what begin returned (NULL is allowed). */
struct metrics_series *metrics_inflight_begin(struct metrics_series_set *set);
void metrics_inflight_end(struct metrics_series *inflight);

void metrics_record_runaway(struct metrics_series_set *set);

/* An attempt there is over, and another follows it. */
void metrics_attempt_over(struct metrics_series_set *set);

/* Of the set's upstream; by one shard only, since the shards' gauges are added up. */
void metrics_set_upstream_silent(struct metrics_series_set *set, int64_t silent_ns);

/* What admission to an upstream tells of itself; the rejections are those since the start. */
struct metrics_admission {
    int64_t n_inflight, tokens_inflight;
    int64_t n_waiting[ADMISSION_METRIC_CLASS_COUNT_];
    int64_t n_rejected[ADMISSION_METRIC_CLASS_COUNT_][ADMISSION_METRIC_REASON_COUNT_];
};

/* Of the set's upstream; by one shard only, as above. */
void metrics_set_admission(struct metrics_series_set *set, const struct metrics_admission *now);
void metrics_set_breaker(struct metrics_series_set *set, bool is_open, uint64_t n_openings);

/* Probes of the set's upstream; -1: a step that was not made. */
void metrics_probe_started(struct metrics_series_set *set); /* failures are 0 from now on */
void metrics_record_probe_connect(struct metrics_series_set *set, int64_t dns_ns, int64_t tcp_ns,
                                  int64_t tls_ns);
void metrics_record_tokenize(struct metrics_series_set *set, int64_t ns);
void metrics_record_probe_failure(struct metrics_series_set *set, enum probe_failure why);

/* request_id: exemplar; may be NULL. */
void metrics_record_queue(struct metrics_series_set *set, int64_t queue_ns);
void metrics_record_ttft(struct metrics_series_set *set, int64_t ttft_ns, const char *request_id);
void metrics_record_ttfa(struct metrics_series_set *set, int64_t ttfa_ns);
void metrics_record_gap(struct metrics_series_set *set, int64_t icl_ns);
void metrics_record_itl(struct metrics_series_set *set, int64_t itl_ns, uint64_t n_tokens);
void metrics_record_event_overhead(struct metrics_shard *shard, int64_t overhead_ns);

/* Everything that is recorded at the end, but for objectives. */
void metrics_record_done(struct metrics_series_set *set, const struct record *r);

/* An SLO's name as a label value; "other" over the cap. Any thread. */
uint32_t metrics_slo_id(struct metrics *m, const char *name);

/*
 * What slo_judge said of a finished request. The series of all judged objectives (slo_judged) exist
 * from now on, at 0 where nothing was eligible.
 */
void metrics_record_slo(struct metrics_series_set *set, uint32_t slo, unsigned judged,
                        const enum slo_verdict verdicts[SLO_OBJECTIVE_COUNT_]);

/* --- reading: any thread --- */

struct metrics_label {
    const char *name;
    const char *value; /* UTF-8, not escaped */
};
enum { METRICS_LABELS_MAX = FAMILY_SCOPE_LABELS_MAX + FAMILY_BUSINESS_MAX + FAMILY_ENUMS_MAX };

/* One series, merged over all shards. Valid during the visit. */
struct metrics_sample {
    enum metric metric;
    const struct family *family;
    struct metrics_label labels[METRICS_LABELS_MAX];
    size_t n_labels;
    wall_t created_at;
    int64_t value;                    /* counters, gauges */
    const struct hist_snapshot *hist; /* histograms, else NULL */
};

/*
 * Visits every series, families in table order, a family's series together and in the order in
 * which they came into being. A visit that returns nonzero ends it. Returns that, 0, or -ENOMEM.
 */
int metrics_each(const struct metrics *m, int (*visit)(void *ctx, const struct metrics_sample *s),
                 void *ctx) WARN_UNUSED;

#endif
