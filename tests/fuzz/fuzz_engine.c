/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/recognise, signals: any page of metrics. What comes out is sound: versions in order, no
 * series twice, labels sorted, values that are numbers, a signal told or missing and not both.
 * fuzz-links: engine
 */
#include "pieces.h"

#include <errno.h>
#include <math.h>

#include "engine/signals.h"

static void check_page(const struct engine_page *page)
{
    for (size_t i = 0; i < page->n_engines; i++) {
        FUZZ_CHECK(page->engines[i].since <= page->engines[i].until);
        FUZZ_CHECK(page->engines[i].alias != NULL);
    }
    for (size_t i = 0; i < page->n_missing; i++) {
        FUZZ_CHECK(page->missing[i].why != NULL);
        for (size_t k = 0; k < page->n_signals; k++)
            FUZZ_CHECK(page->signals[k].signal != page->missing[i].signal ||
                       page->signals[k].engine != page->missing[i].engine);
    }
    FUZZ_CHECK(page->n_engines > 0 || (page->n_signals == 0 && page->remark != NULL));
}

static void check_samples(const struct signal_sample *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(!isnan(at[i].v) && labels_name(at[i].labels).n > 0);
        for (size_t k = 1; k < at[i].labels.n; k++)
            FUZZ_CHECK(!span_eq(at[i].labels.at[k - 1].name, at[i].labels.at[k].name));
        FUZZ_CHECK(i == 0 || at[i - 1].from->signal != at[i].from->signal ||
                   labels_cmp(at[i - 1].labels, at[i].labels) < 0);
    }
}

static void check_families(const struct families *f)
{
    struct engine_page page;
    struct signal_sample *samples;
    struct arena a;
    size_t n;

    arena_init(&a, NULL);
    FUZZ_CHECK(engine_recognise(f, &a, &page) == 0);
    check_page(&page);
    FUZZ_CHECK(engine_signals(f, &page, &a, &samples, &n) == 0);
    check_samples(samples, n);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of(data, size);
    const char *why;
    struct families f;
    int r = families_read(text, TEXT_PROMETHEUS, "page", &f);

    FUZZ_CHECK(r == 0 || r == -E2BIG);
    if (r == 0) {
        check_families(&f);
        families_done(&f);
    }
    (void)engine_why_no_page(text);
    if (size < 100) /* slow: it compares with all names */
        FUZZ_CHECK(engine_did_you_mean(text, &why) == NULL || size > 0);
    return 0;
}
