/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript.h - what a stream of events says, as text, read in many divisions: "data;" per event,
 * "!;" for one that is too large.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <stdio.h>

#include "base/attr.h"
#include "base/mem.h"
#include "harness.h"
#include "split.h"
#include "wire/events.h"

enum { TRANSCRIPT_MAX = 1 << 24 };

static inline void transcript_note(struct buf *text, enum event_status status,
                                   const struct event *e)
{
    assert_true(status == EVENT_WHOLE || status == EVENT_TOO_LARGE);
    assert_int_equal(e->name.n, 0);
    assert_int_equal(buf_append(text, status == EVENT_TOO_LARGE ? SPAN("!") : e->data) |
                         buf_append(text, SPAN(";")),
                     0);
}

struct transcript {
    const char *name;
    enum framing framing;
    size_t max_event_bytes;
    struct span want;
    struct events events;
    struct buf got;
    int64_t live_blocks;
};

static inline void transcript_begin(void *ctx)
{
    struct transcript *t = ctx;
    t->live_blocks = mem_live_blocks();
    events_init(&t->events, t->framing, t->max_event_bytes);
    buf_init(&t->got, TRANSCRIPT_MAX);
}

static inline void transcript_feed(void *ctx, struct span part)
{
    struct transcript *t = ctx;
    struct span in = part;
    struct event e = {{"", 0}, {"", 0}, 0};
    enum event_status status;
    size_t n_calls = 0;
    while ((status = events_next(&t->events, &in, &e)) != EVENT_MORE) {
        assert_row(t->name, e.end == part.n - in.n);
        assert_row(t->name, n_calls++ <= part.n); /* every call gets on */
        transcript_note(&t->got, status, &e);
    }
    assert_row(t->name, in.n == 0);
}

static inline void transcript_end(void *ctx, const char *how)
{
    struct transcript *t = ctx;
    struct event e;
    char row[160];
    (void)snprintf(row, sizeof(row), "%s, %s", t->name, how);
    enum event_status status = events_finish(&t->events, &e);
    if (status != EVENT_MORE) {
        assert_row(row, e.end == 0);
        transcript_note(&t->got, status, &e);
    }
    assert_row(row, events_finish(&t->events, &e) == EVENT_MORE);
    assert_row(row, events_is_between(&t->events));
    assert_row(row, events_n_comments(&t->events) == 0);
    assert_span_equal(row, buf_span(&t->got), t->want);
    buf_done(&t->got);
    /* what was kept is gone once nothing refers to it any more, but for what was no event */
    bool has_stray = events_stray(&t->events).n > 0;
    assert_row(row, mem_live_blocks() == t->live_blocks + has_stray);
    events_done(&t->events);
}

/* Every division of the input says what is wanted. Parts end at a guard page. */
static inline void transcript_check(const char *name, enum framing framing, struct span input,
                                    size_t max_event_bytes, struct span want)
{
    static const struct split_ops ops = {transcript_begin, transcript_feed, transcript_end};
    struct transcript t = {
        .name = name, .framing = framing, .max_event_bytes = max_event_bytes, .want = want};
    split_each(input, &ops, &t);
}

struct transcript_row {
    const char *name;
    struct span input;
    struct span want;
};

/* A table, with a limit that does not matter. */
static inline void transcript_rows(const struct transcript_row *rows, size_t n_rows,
                                   enum framing framing)
{
    for (size_t i = 0; i < n_rows; i++)
        transcript_check(rows[i].name, framing, rows[i].input, 1 << 20, rows[i].want);
}

#endif
