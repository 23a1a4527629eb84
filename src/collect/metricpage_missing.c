/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage_missing.c - signals that a page does not tell, and those that it did tell.
 *
 * A signal has drifted when the page told it within a day and does not any more because its name
 * went. What comes with a first event only is no drift while the process may be a new one: names
 * that are marked so, and all counters and histograms while nothing was counted.
 */
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "collect/metricpage_private.h"

#define REMEMBERED_MS (INT64_C(24) * 3600 * 1000)

static const char *const causes[] = {
    [MISSING_NEVER] = "never",
    [MISSING_VERSION] = "version",
    [MISSING_NO_DATA] = "no_data",
    [MISSING_ABSENT] = "absent",
};

static double started_of(const struct families *f)
{
    const struct page_family *fam = families_find(f, SPAN("process_start_time_seconds"));

    return fam && fam->n > 0 ? fam->samples[0].v : (double)NAN;
}

/* Not there says nothing about what such a name means. */
static bool is_optional(const struct metricpage_told *t)
{
    for (size_t i = 0; i < t->map->n_names; i++)
        if (!t->map->names[i].label &&
            strcmp(t->map->names[i].name, t->source->part[0].metric) == 0 &&
            (t->map->names[i].flags & ENGINE_NAME_OPTIONAL) == 0)
            return false;
    return true;
}

static const struct signal_missing *missing_of(const struct engine_page *page, enum signal s)
{
    for (size_t i = 0; i < page->n_missing; i++)
        if (page->missing[i].signal == s)
            return &page->missing[i];
    return NULL;
}

/* What a page is judged by. */
struct judge {
    const struct families *f;
    bool is_same_process; /* as that of the page before */
    bool has_events;      /* something was counted */
    int64_t t_ms;
};

static bool is_of_events(enum signal s)
{
    return signal_table[s].type == METRIC_COUNTER || signal_table[s].type == METRIC_HISTOGRAM;
}

static bool has_events(const struct families *f, const struct engine_page *page)
{
    for (size_t i = 0; i < page->n_signals; i++) {
        const struct page_family *fam = families_find(f, page->signals[i].metric[0]);
        if (!fam || !is_of_events(page->signals[i].signal))
            continue;
        for (size_t k = 0; k < fam->n; k++)
            if (fam->samples[k].v > 0)
                return true;
    }
    return false;
}

/* What told it went, and not only its values. */
static bool has_gone(const struct metricpage *p, enum signal s, const struct judge *j)
{
    const struct metricpage_told *t = &p->missing.told[s];
    const struct signal_missing *missing = missing_of(&p->model->page, s);

    if (families_find(j->f, span_cstr(t->family)))
        return false;
    if (missing && (missing->cause == MISSING_VERSION || missing->cause == MISSING_NEVER))
        return true;
    if (j->is_same_process)
        return true;
    return !is_optional(t) && (j->has_events || !is_of_events(s));
}

static void forget_signal(struct metricpage_told *t)
{
    mem_free(t->family);
    *t = (struct metricpage_told){.map = NULL};
}

static void judge_signal(struct metricpage *p, enum signal s, const struct judge *j)
{
    struct metricpage_told *t = &p->missing.told[s];

    if (t->is_told) {
        t->has_drifted = false;
        return;
    }
    if (t->map && j->t_ms - t->t_ms > REMEMBERED_MS)
        forget_signal(t);
    t->has_drifted = t->map && (t->has_drifted || has_gone(p, s, j));
}

static int take_signal(struct metricpage_told *t, const struct signal_found *found, int64_t t_ms)
{
    if (!t->family || !span_eq(span_cstr(t->family), found->metric[0])) {
        char *family = mem_strndup(found->metric[0].p, found->metric[0].n);
        if (!family)
            return -ENOMEM;
        mem_free(t->family);
        t->family = family;
    }
    t->map = found->engine->map;
    t->source = found->source;
    t->t_ms = t_ms;
    t->is_told = true;
    return 0;
}

static int take_told(struct metricpage *p, int64_t t_ms)
{
    struct metricpage_told *told = p->missing.told;
    int r = 0;

    for (int s = 0; s < SIGNAL_COUNT_; s++)
        told[s].is_told = false;
    for (size_t i = 0; i < p->model->page.n_signals && r == 0; i++) {
        const struct signal_found *f = &p->model->page.signals[i];
        if (!told[f->signal].is_told)
            r = take_signal(&told[f->signal], f, t_ms);
    }
    return r;
}

/* --- series --- */

void metricpage_missing_clear(struct metricpage_missing *m)
{
    for (size_t i = 0; i < m->n_series; i++)
        present_let_go(m->series[i]);
    m->n_series = 0;
}

void metricpage_missing_done(struct metricpage_missing *m)
{
    metricpage_missing_clear(m);
    for (int s = 0; s < SIGNAL_COUNT_; s++)
        forget_signal(&m->told[s]);
}

static int add(struct metricpage *p, enum signal s, const char *cause)
{
    struct label pairs[] = {
        {SPAN(LABEL_NAME), SPAN("engine_signal_missing")},
        {SPAN("cause"), span_cstr(cause)},
        {SPAN("signal"), span_cstr(signal_table[s].name)},
    };
    struct labels own = {pairs, ARRAY_LEN(pairs)}, labels;
    struct metricpage_missing *m = &p->missing;
    int r = metricpage_labels(p->job, p->labels, own, &p->scratch, &labels);

    if (r == 0)
        r = present_hold(&p->live, labels, &m->series[m->n_series]);
    m->n_series += r == 0;
    return r;
}

static int list(struct metricpage *p)
{
    int r = 0;

    metricpage_missing_clear(&p->missing);
    for (int i = 0; i < SIGNAL_COUNT_ && r == 0; i++) {
        enum signal s = (enum signal)i;
        const struct signal_missing *missing = missing_of(&p->model->page, s);
        if (p->missing.told[s].is_told)
            continue;
        if (p->missing.told[s].has_drifted)
            r = add(p, s, "drifted");
        else if (missing)
            r = add(p, s, causes[missing->cause]);
    }
    return r;
}

int metricpage_missing_judge(struct metricpage *p, const struct families *f, int64_t t_ms)
{
    struct metricpage_missing *m = &p->missing;
    double started_s = started_of(f);
    struct judge j = {.f = f, .t_ms = t_ms};
    int r = take_told(p, t_ms);

    j.is_same_process = !isnan(started_s) && !isnan(m->started_s) && !(started_s < m->started_s) &&
                        !(started_s > m->started_s);
    j.has_events = has_events(f, &p->model->page);
    for (int s = 0; s < SIGNAL_COUNT_ && r == 0; s++)
        judge_signal(p, (enum signal)s, &j);
    m->started_s = started_s;
    return r == 0 ? list(p) : r;
}

/* What was told long ago is forgotten; 1: something was. */
static bool forget(struct metricpage_missing *m, int64_t t_ms)
{
    bool has_forgotten = false;

    for (int s = 0; s < SIGNAL_COUNT_; s++) {
        struct metricpage_told *t = &m->told[s];
        if (t->is_told) {
            t->t_ms = t_ms;
        } else if (t->map && t_ms - t->t_ms > REMEMBERED_MS) {
            forget_signal(t);
            has_forgotten = true;
        }
    }
    return has_forgotten;
}

int metricpage_missing_tell(struct metricpage *p, int64_t t_ms, struct batch *out)
{
    struct metricpage_missing *m = &p->missing;
    int r = forget(m, t_ms) ? list(p) : 0;

    for (size_t i = 0; i < m->n_series && r == 0; i++)
        r = present_tell(&p->live, m->series[i], t_ms, 1, true, out);
    return r;
}
