/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/plan.h"

#include <errno.h>
#include <math.h>

#include "verify/names.h"
#include "verify/reads.h"
#include "verify/records.h"

enum { EXPRESSION_MAX = PROMQL_QUERY_MAX * 2, WHY_MAX = 512 };

/* --- durations --- */

int64_t verify_plan_span(double factor, int64_t ms)
{
    int64_t scaled = (int64_t)llround((double)ms / factor);

    return ms > 0 && scaled == 0 ? 1 : scaled;
}

static int64_t at_least(double factor, int64_t ms, int64_t least)
{
    int64_t scaled = verify_plan_span(factor, ms);

    return factor == 1 || scaled >= least ? scaled : ms < least ? ms : least;
}

int64_t verify_plan_range(double factor, int64_t ms)
{
    return at_least(factor, ms, VERIFY_RANGE_MIN_MS);
}

int64_t verify_plan_step(double factor, int64_t ms)
{
    return at_least(factor, ms, VERIFY_STEP_MIN_MS);
}

int64_t verify_plan_interval(double factor, const struct rule_group *g)
{
    return verify_plan_step(factor, g->interval_ms > 0 ? g->interval_ms : VERIFY_INTERVAL_MS);
}

static int64_t stretch(void *ctx, enum promql_span what, int64_t ms)
{
    double factor = *(const double *)ctx;

    if (what == PROMQL_SPAN_RANGE)
        return verify_plan_range(factor, ms);
    return what == PROMQL_SPAN_STEP ? verify_plan_step(factor, ms) : verify_plan_span(factor, ms);
}

int verify_plan_print(const struct node *n, double factor, struct buf *out)
{
    return factor == 1 ? promql_print(n, out) : promql_print_stretched(n, stretch, &factor, out);
}

/* --- one alert --- */

static int set_why(struct verify_plan *p, struct verify_alert *a, enum verify_drive drive,
                   const struct buf *text)
{
    struct span kept = arena_dup(&p->arena, buf_span(text));

    a->drive = drive;
    a->why = kept.p;
    return kept.p ? 0 : -ENOMEM;
}

/* It reads a name that nobody has, and that cannot be meant for anybody else. */
static int complain_unknown(struct verify_plan *p, struct verify_alert *a, struct span name,
                            const char *meant)
{
    struct buf text;
    int r;

    buf_init(&text, WHY_MAX);
    r = buf_printf(&text, "it reads \"%.*s\", which nobody has", SPAN_ARG(name));
    if (r == 0 && meant)
        r = buf_printf(&text, "; did you mean \"%s\"?", meant);
    if (r == 0)
        r = set_why(p, a, VERIFY_BROKEN, &text);
    buf_done(&text);
    return r;
}

static int say_not_moved(struct verify_plan *p, struct verify_alert *a, struct verify_names all)
{
    enum { SHOWN = 3, NAME_SHOWN = 80 };
    struct buf text;
    int r;

    buf_init(&text, WHY_MAX);
    r = buf_printf(&text, "latency to the first token does not move what it reads%s",
                   all.n > 0 ? ":" : "");
    for (size_t i = 0; i < all.n && i < SHOWN && r == 0; i++) {
        struct span name =
            span_of(all.at[i].p, all.at[i].n < NAME_SHOWN ? all.at[i].n : NAME_SHOWN);
        r = buf_printf(&text, "%s %.*s", i > 0 ? "," : "", SPAN_ARG(name));
    }
    if (r == 0 && all.n > SHOWN)
        r = buf_printf(&text, ", ...");
    if (r == 0)
        r = set_why(p, a, VERIFY_SKIPPED, &text);
    buf_done(&text);
    return r;
}

/* Whether latency moves it; and names that must be slips. */
static int decide(struct verify_plan *p, struct verify_alert *a, struct verify_names all)
{
    bool is_moved = false;

    for (size_t i = 0; i < all.n; i++)
        is_moved |= verify_name_find(all.at[i]).kind == VERIFY_NAME_MOVED;
    for (size_t i = 0; i < a->needs.n; i++) {
        struct span name = a->needs.at[i];
        const char *meant;

        if (verify_name_find(name).kind != VERIFY_NAME_UNKNOWN)
            continue;
        meant = verify_name_suggest(&p->arena, name);
        if (verify_name_is_slip(name, meant))
            return complain_unknown(p, a, name, meant);
    }
    return is_moved ? 0 : say_not_moved(p, a, all);
}

static int fill(struct verify_plan *p, struct verify_records *records, struct verify_alert *a)
{
    struct verify_names all;
    const struct node *root = promql_root(a->rule->expr);
    int r = verify_reads_all(records, root, &all);

    if (r == 0)
        r = verify_reads_needed(records, root, &a->needs);
    return r < 0 ? r : decide(p, a, all);
}

static size_t count_alerts(const struct rule_file *const *files, size_t n)
{
    size_t count = 0;

    for (size_t f = 0; f < n; f++)
        for (size_t g = 0; g < files[f]->n; g++)
            for (size_t i = 0; i < files[f]->groups[g].n; i++)
                count += files[f]->groups[g].rules[i].is_alert;
    return count;
}

static int gather_group(struct verify_plan *p, struct verify_records *records, size_t f,
                        const struct rule_group *g)
{
    size_t n_alerts = 0;
    int r = 0;

    for (size_t i = 0; i < g->n && r == 0; i++) {
        if (!g->rules[i].is_alert)
            continue;
        struct verify_alert *a = &p->alerts[p->n++];
        *a = (struct verify_alert){.rule = &g->rules[i],
                                   .group = g,
                                   .i_file = f,
                                   .i_rule = n_alerts,
                                   .limit = (double)NAN};
        n_alerts++;
        r = fill(p, records, a);
    }
    return r;
}

/* --- how fast --- */

static int64_t keep(int64_t most, int64_t v)
{
    return v > most ? v : most;
}

/* How they run with that factor, and the longest of those that are driven. */
static void set_times(struct verify_plan *p, struct verify_records *records, double factor)
{
    p->factor = factor;
    p->window_ms = p->for_ms = p->keep_ms = p->interval_ms = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct verify_alert *a = &p->alerts[i];
        a->interval_ms = verify_plan_interval(factor, a->group);
        a->for_ms = verify_plan_span(factor, a->rule->for_ms);
        a->keep_ms = verify_plan_span(factor, a->rule->keep_firing_ms);
        a->window_ms = verify_reads_window(records, promql_root(a->rule->expr), factor);
        if (a->drive != VERIFY_DRIVEN)
            continue;
        p->window_ms = keep(p->window_ms, a->window_ms);
        p->for_ms = keep(p->for_ms, a->for_ms);
        p->keep_ms = keep(p->keep_ms, a->keep_ms);
        p->interval_ms = keep(p->interval_ms, a->interval_ms);
    }
}

/* What a run takes besides the latencies themselves. */
static int64_t stretch_of(const struct verify_plan *p)
{
    enum { WINDOWS = 3, INTERVALS = 6 };

    return WINDOWS * p->window_ms + p->for_ms + p->keep_ms + INTERVALS * p->interval_ms;
}

/* The smallest whole factor that will do; where minima hold, more of it does not help. */
static void choose_factor(struct verify_plan *p, struct verify_records *records)
{
    double factor = 1;
    int64_t before = INT64_MAX;

    set_times(p, records, factor);
    while (stretch_of(p) > VERIFY_STRETCH_MS && stretch_of(p) < before) {
        before = stretch_of(p);
        factor = factor < 10 ? factor + 1 : ceil(factor * 1.1);
        set_times(p, records, factor);
    }
}

static int set_limits(struct verify_plan *p, struct verify_records *records)
{
    struct buf text;
    int r = 0;

    buf_init(&text, EXPRESSION_MAX);
    for (size_t i = 0; i < p->n && r == 0; i++) {
        struct verify_alert *a = &p->alerts[i];
        struct verify_limit limit;
        struct span kept;

        verify_reads_limit(records, promql_root(a->rule->expr), &limit);
        if (!limit.measured)
            continue;
        buf_clear(&text);
        r = verify_plan_print(limit.measured, p->factor, &text);
        if (r == -EINVAL || r == -EMSGSIZE) {
            r = 0;
            continue;
        }
        kept = arena_dup(&p->arena, buf_span(&text));
        if (r == 0 && !kept.p)
            r = -ENOMEM;
        a->measured = kept.p;
        a->limit = limit.value;
        a->limit_is_ttft = limit.is_ttft;
        a->limit_is_e2e = limit.is_e2e;
    }
    buf_done(&text);
    return r;
}

int verify_plan_make(const struct rule_file *const *files, size_t n_files, bool is_real_time,
                     struct verify_plan *ret)
{
    struct verify_records records;
    int r;

    *ret = (struct verify_plan){.files = files, .n_files = n_files};
    arena_init(&ret->arena, NULL);
    ret->alerts = arena_zalloc(&ret->arena, count_alerts(files, n_files), sizeof(*ret->alerts));
    r = ret->alerts ? verify_records_make(files, n_files, &ret->arena, &records) : -ENOMEM;
    for (size_t f = 0; f < n_files && r == 0; f++)
        for (size_t g = 0; g < files[f]->n && r == 0; g++)
            r = gather_group(ret, &records, f, &files[f]->groups[g]);
    if (r == 0 && is_real_time)
        set_times(ret, &records, 1);
    else if (r == 0)
        choose_factor(ret, &records);
    if (r == 0)
        r = set_limits(ret, &records);
    for (size_t i = 0; i < ret->n && r == 0; i++)
        ret->n_driven += ret->alerts[i].drive == VERIFY_DRIVEN;
    if (r < 0)
        verify_plan_done(ret);
    return r;
}

void verify_plan_done(struct verify_plan *p)
{
    arena_done(&p->arena);
    *p = (struct verify_plan){0};
}
