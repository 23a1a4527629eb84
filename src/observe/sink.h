/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/sink.h - where measurements go the instant they exist.
 *
 * Role:      observe calls, daemon wires the callbacks to metrics, log and (later) store.
 * Labels:    a struct sink_labels lives as long as its exchange; `slot` is scratch for the sink
 *            (NULL at first), so that it may resolve label values once per exchange.
 * Threading: called on the worker's thread; must not block, must not fail.
 */
#ifndef OBSERVE_SINK_H
#define OBSERVE_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "tap/tap.h"

struct sink_labels {
    const char *model;    /* requested name; not yet checked against the allowed label values */
    const char *endpoint; /* static */
    const char *upstream;
    const char *version;                  /* of what that one serves; "" not told */
    const char *business[TAP_LABELS_MAX]; /* values of business labels; NULL: has none */
    bool is_stream;
    bool is_generating;     /* a dialect that produces tokens */
    const char *request_id; /* exemplar */
    int upstream_status;    /* 0 until known; a 2xx makes the model a label value of its own */
    void *slot;
};

struct sink_ops {
    void (*started)(void *sink, struct sink_labels *l); /* planned: in flight from now on */
    void (*admitted)(void *sink, struct sink_labels *l, int64_t queue_ns);
    /* An attempt has failed and another began, perhaps at another upstream: labels are its own. */
    void (*retried)(void *sink, struct sink_labels *l);
    /* The stream has passed a limit of the runaway guard; once per exchange. */
    void (*runaway)(void *sink, struct sink_labels *l);
    void (*first_token)(void *sink, struct sink_labels *l, int64_t ttft_ns);
    void (*first_answer)(void *sink, struct sink_labels *l, int64_t ttfa_ns);
    void (*gap)(void *sink, struct sink_labels *l, int64_t icl_ns);
    void (*event_overhead)(void *sink, struct sink_labels *l, int64_t overhead_ns);
    /* Token-weighted gaps of a finished request, before done. */
    void (*itl)(void *sink, struct sink_labels *l, int64_t itl_ns, uint64_t n_tokens);
    /* The finished row; valid during the call. Always the last call of an exchange. was_started
     * tells whether started was called (refused before the plan: not). */
    void (*done)(void *sink, struct sink_labels *l, const struct record *r, bool was_started);
};

#endif
