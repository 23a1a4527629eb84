/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/delivery.h - attempts: what is sent now, what has to wait, and what came of it.
 *
 * Role:      between dispatch (what is due) and transport (how it gets there). What cannot go now
 *            is held back and handed in again at its time, so that it then says what is true by
 *            then.
 * Order:     an integration has one message under way; the others of it wait in line. Different
 *            integrations do not know of each other, but for the rate of those that send to the
 *            same address (alert/rate.h).
 * Failures:  again after 1 s, 2 s, 4 s ... 5 min, each a fifth more or less; when the receiver says
 *            when, then (up to an hour). What the receiver will not take (VERDICT_NEVER) is counted
 *            as given up and still tried every 5 min: somebody may have mended it. It is kept and
 *            shown until it went through or its group has nothing to say any more.
 * Threading: one owner.
 */
#ifndef ALERT_DELIVERY_H
#define ALERT_DELIVERY_H

#include "alert/dispatch.h"
#include "alert/transport.h"

enum {
    DELIVERY_FIRST_WAIT_MS = 1000,
    DELIVERY_LONGEST_WAIT_MS = 5 * 60 * 1000,
    DELIVERY_ASKED_WAIT_MAX_MS = 60 * 60 * 1000,
};

/* The same moment on both clocks: of people and groups, of waits. */
struct moment {
    int64_t wall_ms, mono_ms;
};

/* A delivery that failed and waits, for lists and for the next start. */
struct delivery_held {
    struct span receiver, group_key;
    const char *kind;
    int integration;
    int64_t first_ms, last_ms, next_ms; /* wall; attempts, and when the next one may be */
    uint64_t n_attempts;                /* that failed */
    bool is_given_up;
    struct span why, hint, shown;
};

/* What came of a test. */
struct delivery_test {
    struct buf *text; /* a line for each integration */
    size_t n_waiting; /* attempts under way */
    size_t n_failed;
    int error;                                         /* of sending at all */
    void (*ended)(void *ctx, struct delivery_test *t); /* when n_waiting has come to 0 */
    void *ctx;
};

struct delivery_stats {
    size_t n_waiting;
    uint64_t n_delivered, n_failed_attempts, n_given_up;
};

struct delivery;
/* done: what hands the end of an attempt on to delivery_ended. seed: of the waits' jitter. The
 * transport goes first. */
int delivery_new(struct transport *t, transport_done done, void *ctx, uint64_t seed,
                 struct delivery **ret) WARN_UNUSED;
struct delivery *delivery_free(struct delivery *y);

/* Starts what may go now. -ENOMEM: not everything; again later. */
int delivery_run(struct delivery *y, struct dispatch *d, const struct silences *s,
                 struct moment now) WARN_UNUSED;
/* What transport says of an attempt: its tag. */
void delivery_ended(struct delivery *y, struct dispatch *d, void *tag,
                    const struct receiver_reply *reply, struct moment now);
/* When something held back may go, on the clock of waits; INT64_MAX: nothing waits. */
int64_t delivery_next_ms(const struct delivery *y);

/* Other receivers: waits are over, what belongs to none of them goes. */
void delivery_configure(struct delivery *y, const struct alert_file *file);

/* Sends m to every integration of a receiver at once. t lives until ended; the file, too. */
void delivery_test(struct delivery *y, const struct alert_receiver *r, struct alert_file *file,
                   const struct alert_message *m, struct delivery_test *t, struct moment now);

int delivery_each_held(const struct delivery *y, struct moment now,
                       int (*visit)(void *ctx, const struct delivery_held *h),
                       void *ctx) WARN_UNUSED;
/* From the last run: counts on until it is handed out again or was not for 10 min. */
int delivery_restore(struct delivery *y, const struct delivery_held *one,
                     struct moment now) WARN_UNUSED;
/* Whether anything of delivery_each_held changed since the last call. */
bool delivery_take_changed(struct delivery *y);

/* Into an object that is open: "waiting", "receivers". */
void delivery_write(const struct delivery *y, struct moment now, struct jsonw *w);
void delivery_stats(const struct delivery *y, struct delivery_stats *ret);

#endif
