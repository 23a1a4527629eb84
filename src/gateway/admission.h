/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission.h - who may go to an upstream now, and who waits: one object per upstream,
 * shared by all workers.
 *
 * Role:      an exchange enters with a ticket before it connects and leaves when it is over. Where
 *            limits are set, what does not fit waits for a grant, or is rejected.
 * Limits:    all optional (0: none), changeable at any time. For the upstream and for each class:
 *            requests and tokens in flight. For each class: length of its queue, and how long one
 *            may wait, which the object only tells; the waiting exchange's own timer enforces it.
 * Order:     first come, first served inside (class, tenant). Tenants of a class take turns by
 *            tokens (deficit round-robin). Interactive goes before batch, but while both wait one
 *            grant in ten is batch's. Whose turn it is is waited for: what does not fit is not
 *            overtaken within its class, and not by the other class either where it is the
 *            upstream's limit that it does not fit under (else small requests would starve a large
 *            one). Where only its own class is full, the other class goes on. A request larger than
 *            a whole token limit goes when nothing else is in flight.
 * Grants:    cross threads. Each worker has a port per upstream; a grant puts the ticket on its
 *            port and wakes the port's loop, which hands the tickets out one by one. Nothing here
 *            calls back on the caller's stack or with the lock held.
 * Memory:    tickets are part of the exchange; nothing is allocated after admission_new. A tenant
 *            is remembered while it waits, inside its first ticket.
 * Threading: admission_*: any thread. A ticket, and all calls with it, belong to the thread of its
 *            port's loop. One lock per call.
 * Time:      is passed in (the loop's will do); only durations are used: the moving average of how
 *            long grants are held, from which a rejected client is told when to come back.
 */
#ifndef GATEWAY_ADMISSION_H
#define GATEWAY_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/span.h"
#include "io/loop.h"

enum admission_class { ADMISSION_INTERACTIVE, ADMISSION_BATCH, ADMISSION_CLASSES };

const char *admission_class_name(enum admission_class c); /* "interactive", "batch" */

enum { ADMISSION_TENANT_MAX = 64 };

struct admission;

int admission_new(struct admission **ret) WARN_UNUSED; /* without limits; -ENOMEM */
/* Every port must be closed before. Returns NULL. */
struct admission *admission_free(struct admission *a);

/* --- limits --- */

struct admission_limits {
    uint32_t max_inflight;
    uint64_t max_tokens; /* sum of the estimates in flight */
    struct admission_class_limits {
        uint32_t max_inflight;
        uint64_t max_tokens;
        uint32_t max_queue;
        int64_t max_queue_ns; /* told to those who begin to wait from now on */
    } classes[ADMISSION_CLASSES];
};

/* From now on; may grant what waits. What is in flight or waits above a lowered limit stays. */
void admission_set_limits(struct admission *a, const struct admission_limits *limits, mono_t now);

/* --- a worker's door --- */

struct admission_ticket;

struct admission_port {
    struct admission *_a;
    struct loop *_loop;
    struct watch _bell;   /* an eventfd: ringing it needs no memory */
    struct list _granted; /* tickets; under the lock */
    bool _is_rung;        /* under the lock */
    void (*_on_granted)(struct admission_ticket *t);
};

/* on_granted is called by the loop, for each ticket that had to wait, exactly once, unless it was
 * cancelled before; it may enter, leave and cancel. 0 or -errno. */
int admission_port_open(struct admission_port *p, struct admission *a, struct loop *loop,
                        void (*on_granted)(struct admission_ticket *t)) WARN_UNUSED;
/* Its tickets must have left. Idempotent; a zeroed port is closed. */
void admission_port_close(struct admission_port *p);

/* What the loop does on a wake-up, one step: the next ticket that was granted here, taken now;
 * NULL: none. */
struct admission_ticket *admission_port_take(struct admission_port *p);

/* --- a ticket --- */

enum admission_state {
    ADMISSION_OUT,     /* not entered, or left again */
    ADMISSION_WAITING, /* in the queue of its class */
    ADMISSION_CALLED,  /* granted, and on its port: not taken by its worker yet */
    ADMISSION_IN,      /* granted */
};

struct admission_ticket {
    struct admission_port *_port; /* NULL: it is out */
    struct list _link;   /* waiting: in the ring of tenants (_leads), or behind its tenant's first;
                            called: on its port */
    struct list _behind; /* _leads: who waits behind it */
    struct list _chain;  /* _leads: in the bucket of its tenant's hash */
    int64_t _deficit;    /* _leads: tokens its tenant may still take in this round */
    uint64_t _hash;
    mono_t _granted_at;
    uint32_t _tokens;
    enum admission_state _state;
    enum admission_class _class;
    bool _leads; /* the first of its tenant that waits: carries what is known of the tenant */
    uint8_t _n_tenant;
    char _tenant[ADMISSION_TENANT_MAX];

    /* Answers of admission_enter. */
    int64_t max_wait_ns;    /* QUEUED: call admission_expire then; 0: never */
    uint32_t retry_after_s; /* REJECTED: when to come back; 1 .. 60 */
};

/* Makes t a ticket that is out. tenant: at most ADMISSION_TENANT_MAX bytes are told apart; "" is a
 * tenant, too. */
void admission_ticket_init(struct admission_ticket *t, enum admission_class c, struct span tenant,
                           uint32_t estimated_tokens);

enum admission_verdict {
    ADMISSION_GRANTED,  /* t is in */
    ADMISSION_QUEUED,   /* t waits: the port's on_granted will tell; t must stay where it is */
    ADMISSION_REJECTED, /* the queue is full; t is out */
};

/* t is out. It may enter again, here or at another upstream, whenever it is out again. */
enum admission_verdict admission_enter(struct admission_port *p, struct admission_ticket *t,
                                       mono_t now);

/* In at once, or not at all: true, or t stays out and nothing is counted. */
bool admission_try(struct admission_port *p, struct admission_ticket *t, mono_t now);

/* t is in. It moves to p's upstream if it has room there at once; false: it stays where it is. */
bool admission_move(struct admission_port *p, struct admission_ticket *t, mono_t now);

/* Gives the grant back and grants on. t is in, and out afterwards. */
void admission_leave(struct admission_ticket *t, mono_t now);

/* In every state: t is out afterwards, its place or its grant is free for the next, and on_granted
 * is not called for it any more. */
void admission_cancel(struct admission_ticket *t, mono_t now);

/* It waited too long. true: t is out, counted as rejected, retry_after_s is set. false: it was
 * granted meanwhile and on_granted is about to tell (or it is in, or out, already). */
bool admission_expire(struct admission_ticket *t, mono_t now);

enum admission_state admission_ticket_state(const struct admission_ticket *t);

/* --- numbers --- */

struct admission_numbers {
    uint32_t n_inflight; /* granted and not left, at this moment */
    uint64_t tokens_inflight;
    struct admission_class_numbers {
        uint32_t n_inflight;
        uint64_t tokens_inflight;
        uint32_t n_waiting;
        uint32_t n_tenants;  /* that wait */
        uint64_t n_grants;   /* ever */
        uint64_t n_queued;   /* ever: those that had to wait */
        uint64_t n_full;     /* rejected: the queue was full */
        uint64_t n_timeouts; /* rejected: waited too long */
    } classes[ADMISSION_CLASSES];
    int64_t held_ns; /* moving average of what grants last; 0: none was given back yet */
};

/* Any thread. */
void admission_read(struct admission *a, struct admission_numbers *ret);

#endif
