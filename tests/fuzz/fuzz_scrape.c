/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text, families: a page is read without a step outside it; items come in order; labels of a
 * sample are wrong only when one is there twice; families have what the lines have, but twins.
 * The first byte chooses the format.
 * fuzz-links: scrape
 */
#include "pieces.h"

#include <errno.h>

#include "scrape/families.h"

static struct families page;

struct seen {
    size_t n_samples, n_wrong;
};

static void check_sample(const struct text_item *item, struct span body, struct arena *a,
                         struct seen *seen)
{
    struct labels l;
    const char *mistake = NULL;
    FUZZ_CHECK(pieces_is_within(item->series, body) && pieces_is_within(item->value, body));
    FUZZ_CHECK(span_starts_with(item->series, item->name) && item->name.n > 0);
    int r = text_labels(item->series, a, &l, &mistake);
    FUZZ_CHECK(r == 0 || (r == -EINVAL && mistake));
    seen->n_samples += r == 0;
    seen->n_wrong += r != 0;
    if (r == 0)
        FUZZ_CHECK(span_eq(labels_name(l), item->name));
    for (size_t i = 1; r == 0 && i < l.n; i++)
        FUZZ_CHECK(labels_cmp((struct labels){&l.at[i - 1], 1}, (struct labels){&l.at[i], 1}) < 0);
    if (item->exemplar.labels.n > 0) {
        r = text_labels(item->exemplar.labels, a, &l, &mistake);
        FUZZ_CHECK(r == 0 || r == -EINVAL);
    }
}

static void check_text(struct span body, enum text_format format, struct arena *a,
                       struct seen *seen)
{
    struct text t;
    struct text_item item;
    struct span words;
    size_t line = 0;
    text_init(&t, body, format);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item)) {
        FUZZ_CHECK(item.line > line);
        line = item.line;
        if (item.kind == TEXT_SAMPLE) {
            check_sample(&item, body, a, seen);
        } else if (item.kind == TEXT_MISTAKE) {
            FUZZ_CHECK(item.mistake && item.column >= 1);
            seen->n_wrong++;
        } else {
            FUZZ_CHECK(pieces_is_within(item.name, body) && labels_is_metric_name(item.name));
            FUZZ_CHECK(text_unescape(item.words, format, a, &words) == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span body;
    enum text_format format =
        pieces_choice(data, size, &body) % 2 == 0 ? TEXT_PROMETHEUS : TEXT_OPENMETRICS;
    struct seen seen = {0};
    struct arena a;
    size_t n = 0;
    arena_init(&a, NULL);
    check_text(body, format, &a, &seen);
    arena_done(&a);
    FUZZ_CHECK(families_read(body, format, "fuzz", &page) == 0);
    FUZZ_CHECK(page.n_mistakes == seen.n_wrong);
    for (size_t i = 0; i < page.n; i++) {
        n += page.at[i].n;
        FUZZ_CHECK(families_find(&page, page.at[i].name) == &page.at[i]);
        for (size_t h = 0; h < page.at[i].n_hists; h++)
            for (size_t b = 1; b < page.at[i].hists[h].n_buckets; b++)
                FUZZ_CHECK(page.at[i].hists[h].buckets[b - 1].le <
                           page.at[i].hists[h].buckets[b].le);
    }
    FUZZ_CHECK(n == page.n_samples && n <= seen.n_samples);
    FUZZ_CHECK(seen.n_samples - n <= page.advice.n + page.advice.n_dropped);
    families_done(&page);
    return 0;
}
