/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history made up by the test, in memory, and the review of it.
 */
#ifndef RIG_H
#define RIG_H

#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "promql/parse.h"
#include "review/review_private.h"
#include "series/memory.h"

enum { SECOND = 1000, STEP = 30 * SECOND, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
#define DAY (INT64_C(24) * HOUR)
#define T0  (INT64_C(20000) * DAY) /* 2024-10-04T00:00:00Z */

enum { RIG_SLOS = 2, RIG_FILES = 1 };
struct rig {
    struct memory *m;
    struct slo slos[RIG_SLOS];
    struct rule_file *files[RIG_FILES];
    struct review_question q;
    struct review *review;
    struct buf text; /* what was printed last */
};

/* One SLO with one objective: 99 % of requests without an error. */
static inline void rig_start(struct rig *g, const char *rules)
{
    static struct err_list errs;
    *g = (struct rig){.slos = {{.name = "chat", .window_ms = 30 * DAY, .min_bad = 6},
                               {.name = "batch", .window_ms = 30 * DAY, .min_bad = 6}}};
    g->slos[0].targets[SLO_ERRORS] = (struct slo_target){.is_set = true, .target = 0.99};
    assert_int_equal(memory_new(&g->m), 0);
    err_list_init(&errs);
    if (rules && rule_file_read(span_cstr(rules), "rules.yml", &g->files[0], &errs) != 0)
        fail_msg("line %d: %s", errs.items[0].line, errs.items[0].err.text);
    buf_init(&g->text, 16U << 20);
    g->q = (struct review_question){.from_ms = T0,
                                    .to_ms = T0 + DAY,
                                    .reader = memory_reader(g->m),
                                    .slos = g->slos,
                                    .n_slos = 1,
                                    .files = g->files,
                                    .n_files = rules ? 1 : 0};
}

static inline void rig_stop(struct rig *g)
{
    g->review = review_free(g->review);
    g->files[0] = rule_file_unref(g->files[0]);
    g->m = memory_free(g->m);
    buf_done(&g->text);
}

static inline const struct review *rig_make(struct rig *g)
{
    struct err err = {0};
    g->review = review_free(g->review);
    if (review_make(&g->q, &g->review, &err) != 0)
        fail_msg("%s", err.text);
    return g->review;
}

/* --- samples --- */

struct run_of {
    int64_t from_ms, to_ms, step_ms; /* to: not in it */
    double first, more;              /* of each sample */
    bool is_stale;                   /* a marker at the end */
};

static inline void rig_run(struct rig *g, const char *series, struct run_of run)
{
    struct arena a;
    struct labels l;
    struct promql_error error;
    struct span s = span_cstr(series);
    double v = run.first;
    arena_init(&a, NULL);
    assert_int_equal(promql_parse_series(&s, &a, &l, &error), 0);
    for (int64_t t = run.from_ms; t < run.to_ms; t += run.step_ms, v += run.more)
        assert_int_equal(memory_append(g->m, l, t, v, NULL), 0);
    if (run.is_stale)
        assert_int_equal(memory_append(g->m, l, run.to_ms, series_stale(), NULL), 0);
    arena_done(&a);
}

/* An alert that was pending, then firing, each for so long. labels: in order, alertname first. */
static inline void rig_alert(struct rig *g, const char *labels, int64_t from_ms, int64_t pending_ms,
                             int64_t firing_ms)
{
    char series[256];
    if (pending_ms > 0) {
        (void)snprintf(series, sizeof(series), "ALERTS{%s,alertstate=\"pending\"}", labels);
        rig_run(g, series, (struct run_of){from_ms, from_ms + pending_ms, STEP, 1, 0, true});
    }
    if (firing_ms > 0) {
        from_ms += pending_ms;
        (void)snprintf(series, sizeof(series), "ALERTS{%s,alertstate=\"firing\"}", labels);
        rig_run(g, series, (struct run_of){from_ms, from_ms + firing_ms, STEP, 1, 0, true});
    }
}

/* Requests of an objective, each minute, some bad ones in stretches of time. */
struct bad {
    int64_t from_ms, to_ms; /* (from, to] */
    int per_minute;
};
static inline void rig_traffic(struct rig *g, const char *labels, int64_t from_ms, int64_t to_ms,
                               int per_minute, const struct bad *bad, size_t n_bad)
{
    static const char *const names[] = {"llm_slo_total", "llm_slo_good_total"};
    for (int k = 0; k < 2; k++) {
        char series[256];
        double v = 0;
        (void)snprintf(series, sizeof(series), "%s{%s}", names[k], labels);
        for (int64_t t = from_ms; t <= to_ms; t += MINUTE) {
            rig_run(g, series, (struct run_of){t, t + 1, 2, v, 0, false});
            v += per_minute;
            for (size_t i = 0; i < n_bad && k == 1; i++)
                if (t >= bad[i].from_ms && t < bad[i].to_ms)
                    v -= bad[i].per_minute;
        }
    }
}
#define CHAT "model=\"m\",objective=\"errors\",slo=\"chat\",upstream=\"u\""

/* --- what came of it --- */

static inline const struct rule_row *rig_row(const struct review *r, const char *name)
{
    size_t i = 0;
    while (i < r->n_rows && !span_eq(r->rows[i].name, span_cstr(name)))
        i++;
    assert_true(i < r->n_rows);
    return &r->rows[i];
}

static inline void rig_print(struct rig *g, bool is_json)
{
    struct jsonw w;
    buf_clear(&g->text);
    jsonw_init(&w, &g->text);
    assert_int_equal(
        is_json ? review_write(g->review, &w) : review_print_markdown(g->review, &g->text), 0);
    assert_int_equal(buf_append(&g->text, span_of("", 1)), 0); /* to be read as a C text */
}

static inline void rig_has(const struct rig *g, const char *part)
{
    if (!strstr(buf_span(&g->text).p, part))
        fail_msg("\"%s\" is not in:\n%s", part, buf_span(&g->text).p);
}

#endif
