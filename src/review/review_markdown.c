/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review_markdown.c - a review for people: what it is from, alerts, what none told of,
 * budgets. What is advised: review_advice.c.
 */
#include <math.h>

#include "review/page.h"

enum { MISSES_SHOWN = 20, NOISY_SHOWN = 30, NOISY_OF_RULE = 3, MINUTE_MS = 60 * 1000 };

/* --- what it is from --- */

static void print_samples(struct page *p, const struct review *r)
{
    page_add(p, "- Samples: ");
    for (size_t i = r->n_stretches; i-- > 0;) {
        const struct review_stretch *s = &r->stretches[i];
        if (s->resolution_ms == 0) {
            page_add(p, "as they were written");
        } else {
            page_add(p, "one in ");
            page_for(p, s->resolution_ms);
        }
        page_add(p, " since ");
        page_moment(p, s->from_ms);
        page_add(p, i > 0 ? "; before that " : ".\n");
    }
}

static void print_alerts_range(struct page *p, const struct review *r)
{
    if (r->alerts_first_ms > r->alerts_last_ms) {
        page_add(p,
                 "- Alerts: none is recorded. Either none was pending or fired, or no rules were "
                 "evaluated here.\n");
        return;
    }
    page_add(p, "- Alerts: recorded from ");
    page_moment(p, r->alerts_first_ms);
    page_add(p, " to ");
    page_moment(p, r->alerts_last_ms);
    page_add(p, ".\n");
}

static void print_objectives_range(struct page *p, const struct review *r)
{
    int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;
    for (size_t i = 0; i < r->n_budgets; i++) {
        const struct review_budget *b = &r->budgets[i];
        first_ms = b->first_ms < first_ms ? b->first_ms : first_ms;
        last_ms = b->last_ms > last_ms ? b->last_ms : last_ms;
    }
    if (r->n_budgets == 0) {
        page_add(p, "- Objectives: none are configured (`slos`).\n");
    } else if (first_ms > last_ms) {
        page_add(p, "- Objectives: no requests are recorded for any.\n");
    } else {
        page_add(p, "- Objectives: requests counted from ");
        page_moment(p, first_ms);
        page_add(p, " to ");
        page_moment(p, last_ms);
        page_add(p, ".\n");
    }
}

static void print_data(struct page *p, const struct review *r)
{
    page_add(p, "# SLO review\n\nFrom ");
    page_moment(p, r->q.from_ms);
    page_add(p, " to ");
    page_moment(p, r->q.to_ms);
    page_add(p, " UTC (");
    page_duration(p, r->q.to_ms - r->q.from_ms);
    page_add(p, ").\n\n## What this is from\n\n");
    print_samples(p, r);
    print_alerts_range(p, r);
    print_objectives_range(p, r);
    if (r->q.incidents)
        page_add(p, "- Marks: people marked %u of %u alert%s in incidents as noise.\n", r->n_marks,
                 r->n_incident_alerts, r->n_incident_alerts == 1 ? "" : "s");
    else
        page_add(p, "- Marks: no incidents are recorded here, so nobody marked an alert as "
                    "noise.\n");
    page_add(p,
             "\nA firing is *noise* where a person marked it so, or no objective used its budget "
             "faster than it may (burn rate %g) from %d min before it to as long behind it. Where "
             "no requests were counted meanwhile it is "
             "*not judged*.\n",
             REVIEW_BURN_MIN, REVIEW_MARGIN_MS / MINUTE_MS);
}

/* --- alerts --- */

static void print_row(struct page *p, const struct rule_row *row)
{
    page_add(p, "| ");
    page_text(p, row->name);
    page_add(p, row->rule ? " | " : " (no such rule any more) | ");
    page_text(p, row->tier);
    page_add(p, " | ");
    if (row->rule)
        page_for(p, row->rule->for_ms);
    page_add(p, " | %u | ", row->n_fired);
    page_duration(p, row->firing_ms);
    page_add(p, " | ");
    page_duration(p, row->longest_ms);
    page_add(p, " | %u | %u (", row->fired.n_real, row->fired.n_noise);
    page_percent(p, (double)row->fired.n_noise / row->n_fired);
    page_add(p, ") | %u | %u | ", row->n_marked, row->fired.n_unjudged);
    page_moment(p, row->last_ms);
    page_add(p, " |\n");
}

static void print_noisy(struct page *p, const struct rule_row *row, const struct alert_series *s)
{
    page_add(p, "- ");
    page_text(p, row->name);
    page_labels(p, s->labels);
    page_add(p, ": fired ");
    page_times(p, s->n_fired);
    page_add(p, ", %u of them noise, ", s->n_noise);
    page_duration(p, s->firing_ms);
    page_add(p, " in all\n");
}

static void print_noisiest(struct page *p, const struct review *r)
{
    int n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct rule_row *row = r->order[i];
        for (size_t k = 0; k < row->n_top && k < NOISY_OF_RULE && n < NOISY_SHOWN; k++) {
            if (row->top[k]->n_noise == 0)
                break;
            page_add(p, n++ == 0 ? "\nWhere the noise comes from:\n\n" : "");
            print_noisy(p, row, row->top[k]);
        }
    }
}

/* Rules in force that said nothing, or nothing for long enough. */
static void print_quiet(struct page *p, const struct review *r)
{
    bool is_first = true;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct rule_row *row = r->order[i];
        if (row->n_fired > 0)
            continue;
        page_add(p, is_first ? "\nNever fired: " : ", ");
        is_first = false;
        page_text(p, row->name);
        if (row->n_pending > 0) {
            page_add(p, " (pending ");
            page_times(p, row->n_pending);
            page_add(p, ")");
        }
    }
    if (!is_first)
        page_add(p, ".\n");
}

static void print_alerts(struct page *p, const struct review *r)
{
    bool is_first = true;
    page_add(p, "\n## Alerts\n\n");
    for (size_t i = 0; i < r->n_rows; i++) {
        if (r->order[i]->n_fired == 0)
            continue;
        if (is_first)
            page_add(p, "| Rule | Tier | `for` | Fired | In all | Longest | Real | Noise | Marked "
                        "as noise | Not judged | Last time |\n"
                        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
        is_first = false;
        print_row(p, r->order[i]);
    }
    if (is_first)
        page_add(p, "No alert fired.\n");
    print_noisiest(p, r);
    print_quiet(p, r);
}

/* --- objectives --- */

static void print_miss(struct page *p, const struct review_miss *m)
{
    page_add(p, "| ");
    page_moment(p, m->from_ms);
    page_add(p, " | ");
    page_duration(p, m->to_ms - m->from_ms);
    page_add(p, " | ");
    page_text(p, span_cstr(m->slo->name));
    page_add(p, " | %s | %.0f of %.0f | ", slo_objective_name(m->objective), m->bad, m->total);
    page_percent(p, 1 - m->bad / m->total);
    page_add(p, " | %g %% | ", m->slo->targets[m->objective].target * 100);
    page_number(p, m->burn);
    page_add(p, " | ");
    page_percent(p, m->budget_ratio);
    page_add(p, " |\n");
}

static void print_missed(struct page *p, const struct review *r)
{
    page_add(p, "\n## Degradations that no alert told of\n\n");
    if (r->n_misses == 0) {
        page_add(p,
                 "None is known: in no stretch of %d min or more was an objective under its "
                 "target, with enough bad requests to matter, while no alert of tier P0 or P1 "
                 "fired.\n",
                 REVIEW_WINDOW_MS / MINUTE_MS);
        return;
    }
    page_add(p,
             "An objective was under its target for %d min or more %zu time%s, with enough bad "
             "requests to matter, and no alert of tier P0 or P1 fired.",
             REVIEW_WINDOW_MS / MINUTE_MS, r->n_misses, r->n_misses == 1 ? "" : "s");
    if (r->n_misses > MISSES_SHOWN)
        page_add(p, " The %d that took most of a budget:", MISSES_SHOWN);
    page_add(p, "\n\n| From | For | SLO | Objective | Bad | Good | Target | Burn rate | Of the "
                "period's budget |\n|---|---:|---|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < r->n_misses && i < MISSES_SHOWN; i++)
        print_miss(p, &r->misses[i]);
}

static void print_budget(struct page *p, const struct review *r, const struct review_budget *b)
{
    double target = b->slo->targets[b->objective].target;
    double allowed = b->window_total * (1 - target);
    double spent = allowed > 0 ? b->window_bad / allowed : (double)NAN;
    page_add(p, "| ");
    page_text(p, span_cstr(b->slo->name));
    page_add(p, " | %s | %g %% | %.0f | %.0f | ", slo_objective_name(b->objective), target * 100,
             b->total, b->bad);
    page_percent(p, b->total > 0 ? 1 - b->bad / b->total : (double)NAN);
    page_add(p, " | ");
    page_duration(p, r->q.to_ms - b->window_from_ms);
    page_add(p, " | ");
    page_percent(p, spent);
    page_add(p, " | ");
    page_percent(p, 1 - spent);
    page_add(p, " |\n");
}

static void print_budgets(struct page *p, const struct review *r)
{
    if (r->n_budgets == 0)
        return;
    page_add(p,
             "\n## Error budgets\n\nRequests, bad and good ones are of the whole period; what is "
             "spent and left is of the budget's window, as far as data reaches.\n\n"
             "| SLO | Objective | Target | Requests | Bad | Good | Window | Spent | Left |\n"
             "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < r->n_budgets; i++)
        print_budget(p, r, &r->budgets[i]);
}

int review_print_markdown(const struct review *r, struct buf *out)
{
    struct page p = {out, 0};
    print_data(&p, r);
    print_alerts(&p, r);
    print_missed(&p, r);
    print_budgets(&p, r);
    review_advice_print(&p, r);
    return p.error;
}
