/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incidents in a directory of their own, told what the test wants at its own time.
 */
#ifndef RIG_H
#define RIG_H

#include "harness.h"

#include <sqlite3.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "incident/incidents.h"
#include "series/memory.h"
#include "tempdir.h"

enum { S = 1000, MINUTE = 60 * S, HOUR = 60 * MINUTE };
#define DAY (INT64_C(24) * HOUR)
#define T0  INT64_C(1700000040000) /* 2023-11-14T22:14:00Z */

struct rig {
    struct tempdir dir;
    struct incidents *incidents;
    int64_t now_ms;
    int64_t keep_ms;
    char text[4 * 1024 * 1024]; /* what was asked last */
};

static inline void rig_open(struct rig *g)
{
    struct incidents_config config = {.dir = g->dir.path, .keep_ms = g->keep_ms};
    struct err err = {0};
    if (incidents_open(&config, &g->incidents, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void rig_start(struct rig *g)
{
    g->now_ms = T0;
    g->keep_ms = 0;
    tempdir_make(&g->dir);
    rig_open(g);
}

static inline void rig_restart(struct rig *g)
{
    g->incidents = incidents_close(g->incidents);
    rig_open(g);
}

static inline void rig_stop(struct rig *g)
{
    g->incidents = incidents_close(g->incidents);
    tempdir_remove(&g->dir);
}

/* An alert: labels in order of their names. */
struct told {
    const char *name, *model, *tier;
    int64_t from_ms;
    bool is_resolved;
    double value;
};

static inline int rig_put(struct rig *g, const struct told *t)
{
    const struct label labels[] = {{SPAN("alertname"), span_cstr(t->name)},
                                   {SPAN("model"), span_cstr(t->model)},
                                   {SPAN("tier"), span_cstr(t->tier)}};
    const struct label texts[] = {{SPAN("summary"), SPAN("it is slow")}};
    struct alert_notice n = {.labels = {labels, ARRAY_LEN(labels)},
                             .annotations = {texts, ARRAY_LEN(texts)},
                             .starts_ms = t->from_ms,
                             .ends_ms = t->is_resolved ? g->now_ms : g->now_ms + 4 * MINUTE,
                             .is_resolved = t->is_resolved,
                             .value = t->value,
                             .expr = SPAN("x > 1"),
                             .generator_url = SPAN("http://127.0.0.1/x")};
    return incidents_put(g->incidents, &n, 1, g->now_ms);
}

static inline void rig_fire_at(struct rig *g, const char *name, int64_t from_ms)
{
    const struct told t = {name, "a", "P1", from_ms, false, 3};
    assert_int_equal(rig_put(g, &t), 0);
}

static inline void rig_fire(struct rig *g, const char *name)
{
    rig_fire_at(g, name, g->now_ms);
}

static inline void rig_resolve(struct rig *g, const char *name, int64_t from_ms)
{
    const struct told t = {name, "a", "P1", from_ms, true, 3};
    assert_int_equal(rig_put(g, &t), 0);
}

/* Time goes on, in seconds, a tick each. */
static inline void rig_go(struct rig *g, int64_t ms, struct reader *r)
{
    for (int64_t end = g->now_ms + ms; g->now_ms < end;) {
        g->now_ms += S;
        assert_int_equal(incidents_tick(g->incidents, r, g->now_ms), 0);
    }
}

static inline const char *rig_keep(struct rig *g, struct buf *b)
{
    size_t n = span_copy(buf_span(b), g->text, sizeof(g->text));
    assert_int_equal(n, buf_len(b));
    buf_done(b);
    return g->text;
}

static inline const char *rig_list_of(struct rig *g, const struct incidents_filter *f)
{
    struct buf b;
    struct jsonw w;
    buf_init(&b, sizeof(g->text) - 1);
    jsonw_init(&w, &b);
    assert_int_equal(incidents_write(g->incidents, f, &w), 0);
    return rig_keep(g, &b);
}

static inline const char *rig_list(struct rig *g)
{
    struct incidents_filter f = {0};
    return rig_list_of(g, &f);
}

static inline const char *rig_one(struct rig *g, const char *id)
{
    struct buf b;
    struct jsonw w;
    buf_init(&b, sizeof(g->text) - 1);
    jsonw_init(&w, &b);
    assert_int_equal(incidents_write_one(g->incidents, span_cstr(id), &w), 0);
    return rig_keep(g, &b);
}

static inline const char *rig_markdown(struct rig *g, const char *id)
{
    struct buf b;
    buf_init(&b, sizeof(g->text) - 1);
    assert_int_equal(incidents_print_markdown(g->incidents, span_cstr(id), &b), 0);
    return rig_keep(g, &b);
}

static inline int rig_count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

/* Incidents that are there, and those of a state. */
static inline int rig_n(struct rig *g)
{
    return rig_count(rig_list(g), "\"id\":");
}

static inline int rig_n_of(struct rig *g, const char *state)
{
    char what[64];
    snprintf(what, sizeof(what), "\"state\":\"%s\"", state);
    return rig_count(rig_list(g), what);
}

#define assert_has(text, what)                                                                     \
    do {                                                                                           \
        if (!strstr(text, what))                                                                   \
            fail_msg("no %s in %s", what, text);                                                   \
    } while (0)

#endif
