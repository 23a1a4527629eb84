/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts_private.h - what the files of the door share.
 *
 * One lock is over everything that is not said to be the thread's own. It is not held by a
 * transfer, nor by the evidence of others; commits of alerts.db do not wait for the disk but for a
 * checkpoint now and then (2 s for somebody who has the file locked), and files of secrets are read
 * under it.
 */
#ifndef ALERT_ALERTS_PRIVATE_H
#define ALERT_ALERTS_PRIVATE_H

#include <pthread.h>

#include "alert/alertdb.h"
#include "alert/alertmanager.h"
#include "alert/alerts.h"
#include "alert/map.h"
#include "base/clock.h"
#include "base/list.h"

enum {
    INBOX_NOTICES_MAX = 200000,
    CLEAN_MS = 60 * 1000,
    HELD_SAVE_MS = 1000,
    CATCH_UP_MS = 5 * 1000, /* between two tries to keep what could not be kept */
    TURN_MS = 1000,
};

/* What one alerts_put brought. */
struct inbox_batch {
    struct list node;
    struct arena arena;
    struct alert_notice *at;
    size_t n, n_done;
};

/* What was found out about an alert when it began to fire. The thread's own. */
struct evidence {
    struct alert_map_node node; /* by fingerprint */
    bool is_known;              /* for this time that it fires */
    struct arena arena;
    struct labels labels;
};

/* A test of a receiver, from alerts_test to its end. */
struct alerts_job {
    struct list node;
    struct span receiver; /* behind the struct */
    struct delivery_test test;
    struct buf text;
    bool is_started, is_ended, is_abandoned;
    int error; /* -ENOENT */
    char _text[];
};

struct evidence_source {
    int (*find)(void *ctx, const struct alert_notice *n, struct arena *a, struct labels *ret);
    void *ctx;
};

struct alerts {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* of a job; monotonic clock */
    pthread_t thread;
    bool has_thread, must_stop;
    struct transport *transport; /* the thread's own, but for transport_wake */
    struct alert_file *file;
    struct dispatch *dispatch;
    struct silences *silences;
    struct delivery *delivery;
    struct alertmanagers *managers;
    struct alertdb *db; /* NULL: nothing is kept, or cannot be just now */
    char *dir;          /* of alerts.db; NULL: nothing is kept */
    struct list inbox, jobs;
    size_t n_inbox;
    struct list work;          /* batches that the thread has taken; its own */
    struct alert_map evidence; /* the thread's own */
    struct evidence_source evidence_config, evidence_now; /* configured; the thread's own */
    char *external_url;
    int64_t started_ms;
    mono_t evidence_until;                        /* of this turn; the thread's own */
    int64_t clean_ms, held_saved_ms, catch_up_ms; /* clock of waits; the thread's own */
    bool is_db_failing;
    bool is_db_behind;  /* something was not written: all of it has to be */
    bool is_db_damaged; /* it makes way for a fresh one */
    bool is_unrestored; /* alerts.db has not been read yet */
};

struct moment alerts_now(void);

/* --- alerts_keep.c: alerts.db; all with the lock --- */
/* Opens and reads; one that cannot be opened is tried again by the thread, unless it is taken
 * (-EBUSY) or there is no memory. */
int alerts_restore(struct alerts *a, struct err *reterr) WARN_UNUSED;
void alerts_keep_notices(struct alerts *a, const struct alert_notice *n, size_t count);
/* What changed since the last time, and what could not be written then. */
void alerts_keep_changes(struct alerts *a, struct moment now, bool is_last);
/* Silences that were changed at now_ms or later. */
void alerts_keep_silences(struct alerts *a, int64_t now_ms);
void alerts_keep_evidence(struct alerts *a, uint64_t fingerprint, struct labels evidence);
/* What nobody needs any more: rows, evidence, old silences. */
void alerts_clean(struct alerts *a, struct moment now);

/* --- alerts_work.c: the thread --- */
void *alerts_run(void *ctx);
/* Adds what is known of an alert to what its notice says; texts are borrowed. */
int alerts_join(struct arena *a, struct labels annotations, struct labels evidence,
                struct labels *ret) WARN_UNUSED;
struct evidence *alerts_evidence(struct alerts *a, uint64_t fingerprint); /* found or made; NULL */
void alerts_evidence_free(struct alerts *a, struct evidence *e);
void alerts_batch_free(struct inbox_batch *b);
void alerts_job_free(struct alerts_job *job);

#endif
