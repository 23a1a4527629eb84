/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/exchange.h - the state of one exchange and of its observer. Private to observe/.
 */
#ifndef OBSERVE_EXCHANGE_H
#define OBSERVE_EXCHANGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/stat.h"
#include "coding/coding.h"
#include "dialect/dialect.h"
#include "observe/observe.h"
#include "observe/slow.h"
#include "timing/burst.h"
#include "timing/timing.h"
#include "wire/events.h"

/* How the answer's bytes are read. */
enum reading {
    READING_NOTHING, /* no answer yet, or none that can be read */
    READING_EVENTS,  /* a stream of events, in any framing */
    READING_BODY,    /* one JSON object, kept until it is whole */
    READING_DONE,    /* everything that counts was read */
};

struct tap {
    struct list link; /* in observer.open (under its lock) or observer.spare */
    struct observer *observer;

    /* Here, in the first 64 bytes, is all that the look once a second (look.c) reads of a stream
     * that is not late. Words that begin with "shown" are read by other threads, too. */
    mono_t t_awaited; /* sent, and its answer is not over: when it was sent; not set: neither */
    mono_t t_body;    /* body of an answer in which no output is seen; not set: none yet */
    _Atomic int64_t shown_last_token_ns;
    _Atomic int64_t
        shown_stalled_since_ns; /* silent since then, by the last look; 0: not stalled */
    uint16_t upstream;          /* index */
    bool is_paused;             /* reading waits for the client */
    bool is_stream_asked;

    struct exchange *exchange; /* the path's name for it */
    struct sink_labels labels;
    char *label_texts; /* of business labels, which the record and the labels point into; or NULL */
    const struct dialect *dialect; /* NULL: measured at HTTP level only */
    int64_t n_choices;             /* asked for */
    bool is_started;               /* sink.started was called */
    uint32_t n_kernel_stamps;
    uint32_t n_clock_stamps;

    /* The answer of the current attempt. */
    enum reading reading;
    bool is_followed;     /* its events or body were read to where the answer went */
    bool is_timing_off;   /* an event was lost: times from here on would be wrong */
    bool is_inside_event; /* what was read last ends inside an event */
    /* Reading was paused for the client in this time, as far as gaps may still overlap it; one
     * interval stands for several. pause_to: INT64_MAX while it lasts. */
    mono_t pause_from, pause_to;
    uint64_t length_left; /* of a body with Content-Length, else UINT64_MAX */
    mono_t t_last_read;
    mono_t t_unread;      /* part of an event, or one that is no JSON: it may have been output */
    mono_t t_unforwarded; /* stamp of the last read if it brought output, until it was forwarded */
    struct decoder *decoder; /* of a content-coded answer that is still read */
    uint64_t n_decoded_of_read;
    int64_t n_tokens_told; /* generated, as told by the last output event that did */
    struct events events;
    struct buf body;
    bool has_told_first_token; /* once per exchange, whatever the attempts */
    bool has_told_first_answer;

    /* For observer_each_inflight, read by other threads, as is what is shown above. */
    _Atomic int64_t shown_first_token_ns;
    _Atomic uint32_t shown_n_output_events;

    /* What is above begins as zeros; these have beginnings of their own, and most of them stays
     * unused in most exchanges. rec comes first of them. */
    struct record rec;
    struct dialect_answer answer;
    struct timing timing;
    struct burst burst;
    struct timeline timeline;
    char timeline_room[TIMELINE_BYTES];
};

_Static_assert(offsetof(struct tap, exchange) <= 64, "the look reads no more of it");

enum { ESTIMATE_SLOTS = 64, SPARE_MAX = 256 };

/* Rolling tokens per event of the models seen, for answers that ended without usage. */
struct estimate_slot {
    uint64_t key; /* hash of the model's name; 0: empty */
    double tokens_per_event;
    uint64_t used_at;
};

struct estimates {
    uint64_t n_updates;
    struct estimate_slot slots[ESTIMATE_SLOTS];
};

void estimates_update(struct estimates *e, const char *model, double tokens_per_event);

/* Tokens per event of that model; < 0: never seen. */
double estimates_get(const struct estimates *e, const char *model);

struct observer {
    const struct sink_ops *ops;
    void *sink;
    struct observer_config config;
    struct estimates estimates;
    struct slow slow;
    uint64_t n_sampled_of; /* streams since the last sample */
    struct list spare;     /* taps to use again */
    size_t n_spare;
    pthread_mutex_t lock; /* guards open, and names in the taps that are in it */
    struct list open;
    size_t n_open;
    struct observe_waiting waiting[TAP_UPSTREAMS_MAX]; /* of the last look */
    mono_t heard[TAP_UPSTREAMS_MAX]; /* last sign of life; the worker's own, without lock */
};

static inline void observer_lock(struct observer *o)
{
    (void)pthread_mutex_lock(&o->lock); /* a plain mutex that was initialised: cannot fail */
}

static inline void observer_unlock(struct observer *o)
{
    (void)pthread_mutex_unlock(&o->lock); /* likewise */
}

/* runaway.c: whether the stream has passed a limit of the configuration, as of now. */
bool runaway_is(const struct tap *t, mono_t now);
/* Flags it and tells the sink, once. */
void runaway_note(struct tap *t);

/* reading.c: from the answer's head to its events. */
void reading_reset(struct tap *t);
void reading_head(struct tap *t, const struct http1_head *head, struct stamp at);
void reading_body(struct tap *t, struct span bytes, struct stamp at);
void reading_paused(struct tap *t, mono_t at);
void reading_resumed(struct tap *t, mono_t at);
void reading_end(struct tap *t, mono_t at);
/* What stood between the events so far; to be called when no more of them will come. */
void reading_read_stray(struct tap *t);
void reading_free(struct tap *t);

/* look.c */
/* What an answer brought last is not forgotten with it. */
void look_remember(struct tap *t);
/* Since when the stream has been silent for so long that it counts as stalled; not set: it is not.
 */
mono_t look_stalled_since(const struct tap *t, mono_t now);
/* It is not, or no longer: the gauge. */
void look_clear(struct tap *t);

/* verdict.c: fills outcome, outcome_reason and unobserved of t->rec. */
void verdict_decide(struct tap *t, const struct tap_finish *f);

/* names.c: header values and business labels into the record; models that differ. */
void names_from_head(struct record *r, const struct http1_head *head);
/* Without memory the exchange has no labels. */
void names_keep_labels(struct tap *t, const struct tap_label *labels, size_t n);
bool names_is_model_mismatch(const char *requested, const char *response);

/* Marks the exchange as not measured, once, and counts the reason. */
void observe_give_up(struct tap *t, const char *reason, enum stat_id stat);

#endif
