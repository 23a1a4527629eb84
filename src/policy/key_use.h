/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/key_use.h - how much of its limits each key is using right now.
 *
 * Role:      requests in flight and per minute, by key id. Apart from the ring, so that a reload of
 *            the keys does not give everybody fresh limits; shared by all workers.
 * Rate:      a bucket of max_requests_per_minute, which fills evenly: so many at once, then one
 *            each 60 s / max.
 * Memory:    a row per known key, made by key_use_sync; entering allocates nothing.
 * Threading: any thread; one lock, taken for two look-ups per request. No clock: time is given.
 */
#ifndef POLICY_KEY_USE_H
#define POLICY_KEY_USE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "policy/keyring.h"

struct key_use;

/* -ENOMEM. */
int key_use_new(struct key_use **ret) WARN_UNUSED;
struct key_use *key_use_free(struct key_use *u); /* NULL is allowed; returns NULL */

/*
 * Makes room for the keys of the ring (before it is used) and forgets those that are neither in it
 * nor in flight. -ENOMEM: nothing changed.
 */
int key_use_sync(struct key_use *u, const struct keyring *ring) WARN_UNUSED;

/* Proof of one request in flight. Zeroed: none. */
struct key_use_ticket {
    uint64_t _id;
};

enum key_use_entry {
    KEY_USE_OK,
    KEY_USE_TOO_MANY, /* in flight */
    KEY_USE_TOO_FAST, /* per minute */
};

/*
 * One more request of that key, under the limits that key tells. KEY_USE_OK: *ret has to go to
 * key_use_leave. Else nothing is counted and *ret_wait_s says when to try again (at least 1). A key
 * that was never synced is not counted: it has been revoked meanwhile.
 */
enum key_use_entry key_use_enter(struct key_use *u, const struct keyring_key *key, mono_t now,
                                 struct key_use_ticket *ret, uint32_t *ret_wait_s) WARN_UNUSED;

/* That request is over. A second call with the same ticket does nothing. */
void key_use_leave(struct key_use *u, struct key_use_ticket *t);

/* Requests of that key in flight. */
uint32_t key_use_inflight(struct key_use *u, const struct keyring_key *key);

#endif
