/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/truth.h - what the simulated engine really sent, and when: the reference for measurements.
 *
 * Stamps:    CLOCK_MONOTONIC in ns, read directly before the write of each event.
 * Ownership: an entry belongs to its request until truth_publish gives it to the ring.
 * Limits:    the last `capacity` requests, and TRUTH_EVENTS_TOTAL events in all of them (8 bytes
 *            each); older ones go first. TRUTH_EVENTS_MAX events of one request; the rest is
 *            counted in n_lost.
 * Threading: entries belong to one thread; the ring may be used by any.
 */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

enum {
    TRUTH_ID_MAX = 128,
    TRUTH_EVENTS_MAX = 65536,
    TRUTH_EVENTS_TOTAL = 4 * 1024 * 1024,
};

enum truth_kind {
    TRUTH_COMMENT,
    TRUTH_ROLE, /* the prelude */
    TRUTH_TOKEN,
    TRUTH_FINISH,
    TRUTH_USAGE,
    TRUTH_DONE,
    TRUTH_ERROR,
    TRUTH_CUT,
    TRUTH_HANG,
    TRUTH_BODY,  /* a whole non-stream answer */
    TRUTH_BLOCK, /* begin or end of a block of output */
    TRUTH_READ,  /* a write of a played file */
    TRUTH_KIND_COUNT_,
};
const char *truth_kind_name(enum truth_kind k);

struct truth;
struct truth_entry;

/* What is known once per request; stamps not set become null. */
struct truth_head {
    char id[TRUTH_ID_MAX];
    int status; /* 0: nothing was answered */
    bool is_stream;
    mono_t t_request;                         /* last byte of the request was received */
    mono_t t_started;                         /* left the engine's queue */
    mono_t t_headers;                         /* before the write of the response head */
    int64_t prompt_tokens, completion_tokens; /* as far as produced */
};

int truth_new(size_t capacity, struct truth **ret) WARN_UNUSED; /* capacity >= 1. -ENOMEM */
struct truth *truth_free(struct truth *t);

/* An entry with room for n_events at first. NULL: no memory. Every function takes NULL entries. */
struct truth_entry *truth_entry_new(size_t n_events);
struct truth_entry *truth_entry_free(struct truth_entry *e);

/* The fields to be filled by the owner; NULL for NULL. */
struct truth_head *truth_entry_head(struct truth_entry *e);

void truth_entry_add(struct truth_entry *e, enum truth_kind kind, int64_t n_tokens, mono_t t);
size_t truth_entry_len(const struct truth_entry *e);

/* Sets the stamp of all events from `first` on: several were sent in one write. */
void truth_entry_restamp(struct truth_entry *e, size_t first, mono_t t);

/* Gives e to the ring; it is readable from then on. */
void truth_publish(struct truth *t, struct truth_entry *e);

/* Appends one JSON object: the newest request of that id. -ENOENT, -ENOMEM, -EMSGSIZE. */
int truth_json_by_id(struct truth *t, struct span id, struct buf *out) WARN_UNUSED;

/* Appends {"requests":[...]} with the newest n, oldest first. */
int truth_json_last(struct truth *t, size_t n, struct buf *out) WARN_UNUSED;

#endif
