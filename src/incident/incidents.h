/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents.h - the record of what went wrong, from the first alert to the last.
 *
 * Role:      an incident is opened by the first firing alert of tier P0 or P1, takes in those that
 *            begin meanwhile, and is closed once none of them fires any more and none has come back
 *            for INCIDENT_LINGER_MS. It holds the alerts, each time that they fired, with moments,
 *            values, labels and annotations (with the ids of requests that show them), curves of
 *            the stages from INCIDENT_BEFORE_MS before to INCIDENT_AFTER_MS after it, and what
 *            people did and wrote.
 *
 * Kept:      in DIR/incidents.db, keep_ms from its end, longer than raw samples and rows.
 * Curves:    PromQL expressions of a table (incident/curves.c), taken in parts while the samples
 *            are there; a column of points per series, at most INCIDENT_POINTS_MAX each, the series
 *            with the largest values first, at most INCIDENT_SERIES_MAX of an expression.
 * People:    notes (author, text, time), acknowledged by whom, and alerts that somebody marked as
 *            noise (what SLO reviews count).
 * Time:      ms since the epoch, told by the caller. A step of the clock, or a silence of minutes
 *            between two calls, ends nothing and lets nothing be forgotten.
 * Errors:    negative errno, as db/db.h; a damaged file is set aside and begun anew. What put or
 *            tick cannot write is kept in memory, and tried again with later ticks; what people say
 *            is written, or the error is theirs.
 * Threading: put and tick from the evaluator's thread; the others from any.
 */
#ifndef INCIDENT_INCIDENTS_H
#define INCIDENT_INCIDENTS_H

#include "base/err.h"
#include "base/jsonw.h"
#include "rules/notice.h"
#include "series/reader.h"

enum {
    INCIDENT_LINGER_MS = 5 * 60 * 1000,
    INCIDENT_BEFORE_MS = 30 * 60 * 1000,
    INCIDENT_AFTER_MS = 10 * 60 * 1000,
    INCIDENT_POINTS_MAX = 240,
    INCIDENT_SERIES_MAX = 20,
    INCIDENT_ID_BYTES = 24,     /* "20261130T0412-1" and NUL */
    INCIDENT_ALERTS_MAX = 1000, /* times that alerts fired, of one incident */
    INCIDENT_NOTES_MAX = 1000,  /* and as many acts of people */
    INCIDENT_AUTHOR_MAX = 200,  /* bytes */
    INCIDENT_NOTE_MAX = 16 * 1024,
};

struct incidents_config {
    const char *dir;
    int64_t keep_ms;  /* 0: 400 d */
    int64_t range_ms; /* of rates in curves, four times the interval of samples; 0: 2 min */
};

struct incidents;
int incidents_open(const struct incidents_config *config, struct incidents **ret,
                   struct err *reterr) WARN_UNUSED;
struct incidents *incidents_close(struct incidents *i);

/* Every notice of the rules, as told; alerts of other tiers are passed over. 0: what was told is on
 * disk and outlives the process. Else it is in memory only (-ENOMEM: perhaps not even there, tell
 * again). */
int incidents_put(struct incidents *i, const struct alert_notice *notices, size_t n,
                  int64_t now_ms) WARN_UNUSED;
/* What delivery found out about an alert when it began (rules' annotations included). */
int incidents_evidence(struct incidents *i, struct labels alert, struct labels annotations,
                       int64_t now_ms) WARN_UNUSED;
/* Closes what is over, takes one part of a curve that is due (r may be NULL: later), writes what
 * could not be written before, forgets what is old. To be called about every second. */
int incidents_tick(struct incidents *i, struct reader *r, int64_t now_ms) WARN_UNUSED;
/* Whether the next tick has a use for a reader. */
bool incidents_wants_reader(struct incidents *i, int64_t now_ms);

struct incidents_stats {
    size_t n_open;    /* 0, 1 */
    size_t n_waiting; /* for the rest of their curves */
    size_t n_unsaved; /* in memory only, wholly or in part */
    size_t n_lost;    /* of those, gave way to newer ones */
};
void incidents_stats(struct incidents *i, struct incidents_stats *ret);

/* JSON: a list of summaries, newest first; one whole. */
struct incidents_filter {
    int64_t from_ms, to_ms; /* 0, 0: all */
    bool only_open;
    size_t limit; /* 0: 100 */
};
int incidents_write(struct incidents *i, const struct incidents_filter *f,
                    struct jsonw *w) WARN_UNUSED;
int incidents_write_one(struct incidents *i, struct span id, struct jsonw *w) WARN_UNUSED;
/* For people and tickets: what, when, how long, alerts, numbers, curves as small plots, notes. */
int incidents_print_markdown(struct incidents *i, struct span id, struct buf *out) WARN_UNUSED;

/* -ENOENT: no such incident (or no such alert in it); -EINVAL, -EMSGSIZE: the text is empty or too
 * long; -E2BIG: there are too many. */
int incidents_note(struct incidents *i, struct span id, struct span author, struct span text,
                   int64_t now_ms, struct err *reterr) WARN_UNUSED;
int incidents_acknowledge(struct incidents *i, struct span id, struct span author, int64_t now_ms,
                          struct err *reterr) WARN_UNUSED;
/* alert: its name; "": all of the incident. */
int incidents_mark_noise(struct incidents *i, struct span id, struct span alert, bool is_noise,
                         struct span author, int64_t now_ms, struct err *reterr) WARN_UNUSED;

/* For reviews: every time that an alert fired, of every incident, in the range. Nothing of this
 * module may be called by visit, whose nonzero return ends it and is returned. */
struct incident_alert {
    struct span incident, name;
    struct labels labels;
    int64_t from_ms, to_ms; /* to_ms: now where it still fires */
    bool is_noise, is_firing;
};
int incidents_each_alert(struct incidents *i, int64_t from_ms, int64_t to_ms,
                         int (*visit)(void *ctx, const struct incident_alert *a),
                         void *ctx) WARN_UNUSED;

#endif
