/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/relabel: lines "action|sources|separator|regex|target|replacement|modulus", an empty line,
 * lines "name=value". A rule is refused with a text and a key, or runs; what comes out is a sorted
 * label set without empty values, and the same one when the rules run once more.
 * fuzz-links: scrape
 */
#include "pieces.h"

#include <errno.h>

#include "base/num.h"
#include "scrape/relabel.h"

enum { RULES_MAX = 16, SOURCES_MAX = 8, LABELS_MAX = 32 };

static bool wish_of(struct span line, struct span *sources, struct relabel_wish *ret)
{
    struct span list;
    if (relabel_action_of(span_split(&line, '|'), &ret->action) != 0)
        return false;
    list = span_split(&line, '|');
    while (list.n > 0 && ret->n_sources < SOURCES_MAX)
        sources[ret->n_sources++] = span_split(&list, ',');
    ret->sources = sources;
    ret->separator = span_split(&line, '|');
    ret->regex = span_split(&line, '|');
    ret->target = span_split(&line, '|');
    ret->replacement = span_split(&line, '|');
    ret->has_separator = ret->separator.n > 0;
    ret->has_regex = ret->regex.n > 0;
    ret->has_replacement = ret->replacement.n > 0;
    if (num_parse_u64(line, &ret->modulus) != 0)
        ret->modulus = 0;
    return true;
}

static size_t take_rules(struct span *input, struct arena *a, const struct relabel_rule **rules)
{
    size_t n = 0;
    while (input->n > 0) {
        struct span sources[SOURCES_MAX];
        struct relabel_wish wish = {0};
        const char *field = NULL;
        struct err err = {.text = ""};
        struct span line = span_split(input, '\n');
        if (line.n == 0)
            break;
        if (n == RULES_MAX || !wish_of(line, sources, &wish))
            continue;
        int r = relabel_make(&wish, a, &rules[n], &field, &err);
        FUZZ_CHECK(r == 0 || (r == -EINVAL && field && err.text[0] != '\0'));
        n += r == 0;
    }
    return n;
}

static struct labels take_labels(struct span input, struct label *pairs)
{
    struct labels l = {0};
    size_t n = 0;
    while (input.n > 0 && n < LABELS_MAX) {
        struct span value = span_split(&input, '\n');
        struct span name = span_split(&value, '=');
        if (labels_is_label_name(name))
            pairs[n++] = (struct label){name, value};
    }
    return labels_normalise(pairs, n, &l, NULL) == 0 ? l : (struct labels){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct relabel_rule *rules[RULES_MAX];
    struct label pairs[LABELS_MAX];
    struct span input = span_of(data, size);
    struct labels got = {0}, again = {0};
    struct arena a;
    if (size > 3000)
        return 0;
    arena_init(&a, NULL);
    struct relabel_list list = {rules, take_rules(&input, &a, rules)};
    struct labels from = take_labels(input, pairs);
    int r = relabel_apply(list, from, &a, &got);
    FUZZ_CHECK(r == 0 || r == 1 || r == -E2BIG);
    for (size_t i = 0; r == 1 && i < got.n; i++) {
        FUZZ_CHECK(labels_is_label_name(got.at[i].name) && got.at[i].value.n > 0);
        FUZZ_CHECK(i == 0 || labels_cmp((struct labels){&got.at[i - 1], 1},
                                        (struct labels){&got.at[i], 1}) < 0);
    }
    int r_again = relabel_apply(list, from, &a, &again);
    /* A pattern may take the slow way a limited number of times. */
    FUZZ_CHECK(r_again == -E2BIG || (r_again == r && labels_eq(got, again)));
    relabel_done(list);
    arena_done(&a);
    return 0;
}
