/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review_advice.c - what a review advises, in words, each with its numbers.
 */
#include <math.h>

#include "review/page.h"

static void print_verdicts(struct page *p, struct verdict_count c)
{
    page_times(p, c.n_real + c.n_noise + c.n_unjudged);
    page_add(p, " (%u real, %u noise, %u not judged)", c.n_real, c.n_noise, c.n_unjudged);
}

static void print_for(struct page *p, const struct advice_for *a)
{
    page_add(p, "- ");
    page_text(p, a->row->name);
    page_add(p, ": `for: ");
    page_for(p, a->for_ms);
    page_add(p, "` instead of `");
    page_for(p, a->row->rule->for_ms);
    page_add(p, "`. It fired ");
    print_verdicts(p, a->now);
    page_add(p, "; it would have fired ");
    print_verdicts(p, a->then);
    page_add(p, ", and told of what was real ");
    page_duration(p, a->for_ms - a->row->rule->for_ms);
    page_add(p, " later.\n");
}

static void print_threshold(struct page *p, const struct advice_threshold *t)
{
    const struct proposal *a = t->proposal;
    page_add(p, "- ");
    page_text(p, span_cstr(a->stage->metric));
    page_add(p, " of model ");
    page_text(p, a->model);
    page_add(p, ": ");
    page_number(p, a->threshold);
    page_add(p, " s");
    if (t->use) {
        page_add(p, " in ");
        page_text(p, t->use->rule->name);
        if (isfinite(t->now)) {
            page_add(p, " instead of ");
            page_number(p, t->now);
            page_add(p, " s");
        }
    }
    page_add(p, ". Of %.0f requests the p50 was ", a->count);
    page_number(p, a->p50);
    page_add(p, " s, the p95 ");
    page_number(p, a->p95);
    page_add(p, " s, the p99 ");
    page_number(p, a->p99);
    page_add(p, " s; an alert with that limit would have fired ");
    page_times(p, a->n_fired);
    if (a->n_fired > 0) {
        page_add(p, ", ");
        page_duration(p, a->fired_ms);
        page_add(p, " in all");
    }
    page_add(p, t->use ? ".\n" : ". No rule in force compares it with a limit.\n");
}

static void print_bounds(struct page *p, const struct advice_bounds *b)
{
    page_add(p, "- ");
    page_text(p, b->metric);
    page_add(p, ": the %g-quantile, which ", b->use->q);
    page_text(p, b->use->rule->name);
    if (b->n_uses > 1)
        page_add(p, " and %u more ask for, lies ", b->n_uses - 1);
    else
        page_add(p, " asks for, lies ");
    if (isfinite(b->upper)) {
        page_add(p, "at about ");
        page_number(p, b->value);
        page_add(p, ", in the bucket from ");
        page_number(p, b->lower);
        page_add(p, " to ");
        page_number(p, b->upper);
    } else {
        page_add(p, "behind the last bound, ");
        page_number(p, b->lower);
        page_add(p, ", so it is not known");
    }
    page_add(p, " (%.0f observations).", b->total);
    for (size_t i = 0; i < b->n_bounds; i++) {
        page_add(p, i == 0 ? " Bounds to add: " : ", ");
        page_number(p, b->bounds[i]);
    }
    page_add(p, b->n_bounds > 0 ? ".\n" : "\n");
}

static void print_fors(struct page *p, const struct review *r)
{
    if (r->n_fors == 0)
        return;
    page_add(p, "\n### Wait longer\n\nFrom the times that alerts were pending and fired, without "
                "those that the period cuts.\n\n");
    for (size_t i = 0; i < r->n_fors; i++)
        print_for(p, &r->fors[i]);
}

static void print_thresholds(struct page *p, const struct review *r)
{
    if (r->n_thresholds == 0)
        return;
    page_add(p, "\n### Thresholds\n\nWhat was usual from ");
    page_moment(p, r->proposals.from_ms);
    page_add(p, " to ");
    page_moment(p, r->proposals.to_ms);
    page_add(p, ": the p95, and half as much again.\n\n");
    for (size_t i = 0; i < r->n_thresholds; i++)
        print_threshold(p, &r->thresholds[i]);
}

static void print_all_bounds(struct page *p, const struct review *r)
{
    if (r->n_bounds == 0)
        return;
    page_add(p, "\n### Bucket bounds\n\nBuckets that are wider than a quarter of the quantile that "
                "a rule asks for, from ");
    page_moment(p, r->bounds_from_ms);
    page_add(p, " to ");
    page_moment(p, r->q.to_ms);
    page_add(p, ". Those of this gateway are set with `metrics.bounds`.\n\n");
    for (size_t i = 0; i < r->n_bounds; i++)
        print_bounds(p, &r->bounds[i]);
}

void review_advice_print(struct page *p, const struct review *r)
{
    page_add(p, "\n## Suggestions\n");
    if (r->n_fors + r->n_thresholds + r->n_bounds == 0)
        page_add(p, "\nNone.\n");
    print_fors(p, r);
    print_thresholds(p, r);
    print_all_bounds(p, r);
}
