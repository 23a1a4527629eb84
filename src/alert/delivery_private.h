/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/delivery_private.h - what the files of delivery share.
 *
 * One integration has a line of what is held for it, in the order in which it may go. A held one is
 * WAITING (its token is ours), RELEASED (given back to dispatch, to be handed out anew in this very
 * run, else it has nothing to say any more), SENDING, or RESTORED (known of the last run only).
 */
#ifndef ALERT_DELIVERY_PRIVATE_H
#define ALERT_DELIVERY_PRIVATE_H

#include "alert/delivery.h"
#include "alert/map.h"
#include "alert/rate.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"

enum { SHOWN_BYTES = 200 };

enum held_state { HELD_WAITING, HELD_RELEASED, HELD_SENDING, HELD_RESTORED };

struct held {
    struct list node; /* of its integration */
    struct alert_map_node by_group;
    enum held_state state;
    uint64_t token;
    int64_t ready_ms; /* clock of waits */
    int64_t first_ms, last_ms;
    uint64_t n_attempts; /* that failed */
    bool is_given_up;
    struct err why;
    char shown[SHOWN_BYTES];
    struct span group_key; /* behind the struct */
    char _text[];
};

/* Those that send to the same address share it. */
struct shared_rate {
    struct list node;
    uint64_t address; /* hash of it */
    struct rate rate;
};

struct integration {
    struct list node;
    const char *kind;
    int index;
    struct span receiver; /* behind the struct */
    struct list held;
    struct alert_map by_group; /* the same: there may be thousands */
    struct attempt *attempt;   /* under way */
    struct held *reserved;     /* RELEASED: the next one that may go */
    struct shared_rate *rate;
    int64_t not_before_ms; /* clock of waits */
    int n_fails;           /* in a row, over all of its groups */
    uint64_t n_delivered, n_failed, n_given_up;
    int64_t last_ok_ms, last_ok_took_ms, last_failed_ms; /* wall; 0: never */
    size_t last_ok_alerts;
    struct err last_why; /* of the last failure, or what was amiss with the last success */
    bool is_last_ok;
    bool is_gone; /* from the configuration: goes with the last that is held */
    char _text[];
};

struct attempt {
    struct list node;
    struct integration *to; /* NULL: a test's */
    struct held *held;
    struct delivery_test *test;
    struct alert_file *file; /* of a test */
    const struct alert_integration *integration;
    struct receiver_request request;
    struct arena arena;
    size_t n_alerts;
    struct moment started;
};

struct delivery {
    struct transport *transport;
    transport_done done;
    void *ctx;
    struct rng rng;
    struct list integrations, rates, attempts;
    bool is_changed;
    uint64_t n_delivered, n_failed, n_given_up;
};

/* What comes behind at, which is a node or the head of the list; NULL: nothing. */
static inline struct integration *integration_after(const struct delivery *y, const struct list *at)
{
    return at->next == &y->integrations ? NULL : CONTAINER_OF(at->next, struct integration, node);
}

static inline struct held *held_after(const struct integration *to, const struct list *at)
{
    return at->next == &to->held ? NULL : CONTAINER_OF(at->next, struct held, node);
}

/* Makes the request, and sends it: it is under way then (of a log: done), or *reterr says why not.
 */
int delivery_attempt_render(struct attempt *at, const struct alert_message *m, struct moment now,
                            struct err *reterr) WARN_UNUSED;
int delivery_attempt_send(struct delivery *y, struct attempt *at, struct moment now,
                          struct err *reterr) WARN_UNUSED;
struct attempt *delivery_attempt_new(const struct alert_integration *integration) WARN_UNUSED;
struct attempt *delivery_attempt_free(struct attempt *at); /* returns NULL */

/* What was answered, without the secrets of the request that it may have repeated. */
enum verdict delivery_attempt_judge(const struct attempt *at, const struct receiver_reply *reply,
                                    int64_t *ret_wait_ms, struct err *ret_why);

/* --- delivery_held.c --- */

/* Found or made; NULL: no memory. kind is a name of receiver_table. */
struct integration *delivery_get_integration(struct delivery *y, struct span receiver, int index,
                                             const char *kind);
void delivery_integration_free(struct integration *to); /* with what is held for it */
struct held *delivery_held_get(struct integration *to, struct span group_key);
void delivery_held_free(struct integration *to, struct held *h);

/* Sets the rate that a rendered request has to keep to; without memory it is that of before. */
void delivery_find_rate(struct delivery *y, struct integration *to, const struct attempt *at);
void delivery_free_rates(struct delivery *y); /* those that nobody keeps to */

/* When an integration may send, whatever is held for it. */
int64_t delivery_free_ms(const struct integration *to);

void delivery_test_ended(struct attempt *at, enum verdict verdict,
                         const struct receiver_reply *reply, const struct err *why,
                         struct moment now);

#endif
