/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families.h - a whole /metrics page in memory: families with type, help and samples.
 *
 * Role:      what recognition of an engine, `targets explain` and tests work on. Of a page that is
 *            scraped every ten seconds it is made once and again when names come or go; samples in
 *            between go by collect/metricpage.h.
 * Families:  are found by TYPE lines, never by the end of a name: "vllm:iteration_tokens_total" is
 *            a histogram whose samples end in _bucket, _sum, _count. A sample without a TYPE line
 *            is a family of its own name and of METRIC_UNKNOWN. Of OpenMetrics a counter "x" has
 *            samples "x_total": its family is called by the sample's name, as in format 0.0.4, so
 *            that both formats read the same; likewise an info "x" is called "x_info", and
 *            "x_created" is a gauge of its own.
 * Twice:     a family that occurs again is continued; of a series that occurs twice the later
 *            sample counts. Both are told (families.advice).
 * Histograms: of one label set: bounds sorted as numbers, cumulative counts, sum, count.
 * Ownership: the body is copied, spans are of the copy; everything lives in the struct families,
 *            which stays where it is.
 * Errors:    -ENOMEM, -E2BIG (limits). Lines that cannot be read are in `mistakes`, with line and
 *            column, and left out.
 * Threading: pure; constant once read.
 * Limits:    FAMILIES_SAMPLES_MAX samples, FAMILIES_BYTES_MAX of memory.
 */
#ifndef SCRAPE_FAMILIES_H
#define SCRAPE_FAMILIES_H

#include "base/err_list.h"
#include "scrape/text.h"

enum { FAMILIES_SAMPLES_MAX = 1000 * 1000 };
#define FAMILIES_BYTES_MAX ((size_t)1 << 30)

struct family_sample {
    struct labels labels; /* with LABEL_NAME: the sample's own name */
    double v;
    bool has_time;
    int64_t t_ms;
    size_t line;
};
struct family_bucket {
    double le; /* +Inf: the last */
    double n;  /* cumulative */
};
struct family_hist {
    struct labels labels; /* without LABEL_LE and LABEL_NAME */
    const struct family_bucket *buckets;
    size_t n_buckets;
    double sum, count; /* NaN: not there */
};
struct page_family {
    struct span name;
    enum metric_type type;
    struct span help, unit;              /* empty: not said */
    const struct family_sample *samples; /* as they came; of a histogram all its parts */
    size_t n;
    const struct family_hist *hists; /* of a histogram */
    size_t n_hists;
    size_t line; /* of its first line */
};

struct families {
    const struct page_family *at; /* sorted by name */
    size_t n;
    size_t n_samples;
    struct err_list mistakes, advice;
    size_t n_mistakes; /* lines, also those that the list has no room for */
    bool is_openmetrics;
    struct arena_budget _budget;
    struct arena _arena;
};

/* where: path or URL in mistakes, borrowed. Behind an error there is nothing to free. */
int families_read(struct span body, enum text_format format, const char *where,
                  struct families *ret) WARN_UNUSED;
void families_done(struct families *f);

const struct page_family *families_find(const struct families *f, struct span name);

/* Where the value of a series is kept, in samples and in histograms alike. */
struct family_slot {
    struct labels labels; /* with LABEL_NAME: as the page has the series */
    double *v;
};
/*
 * Copies families of these names (sorted, unique; those that are not there are left out) into the
 * arena, so that their values can be set anew when the same series come again: slots are sorted by
 * labels. Of histograms the copies have no samples but `hists`.
 */
struct families_selection {
    const struct page_family *at; /* sorted by name */
    size_t n;
    const struct family_slot *slots;
    size_t n_slots;
};
int families_select(const struct families *f, const struct span *names, size_t n, struct arena *a,
                    struct families_selection *ret) WARN_UNUSED;

#endif
