/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/entry.h - lets one request in, or says in its plan why not: whose key, what for, how
 * often.
 *
 * Role:      access.h and key_use.h, asked on behalf of a plan.
 * Memory:    a reference to the ring while it lives; texts of a refusal are in the entry.
 * Threading: the worker's.
 */
#ifndef POLICY_ENTRY_H
#define POLICY_ENTRY_H

#include "policy/access.h"
#include "policy/key_use.h"
#include "tap/policy.h"

struct entry {
    struct keyring *keyring; /* NULL: open to everybody */
    struct key_use *use;     /* NULL: no limits */
    struct access_verdict access;
    struct key_use_ticket ticket;
};

/* Whose key the request shows: plan->identity. false: plan->refusal tells why not. Takes a
 * reference of its own to the ring; entry_done whatever the result. */
bool entry_identify(struct entry *e, struct keyring *keyring, struct key_use *use,
                    const struct policy_request *req, struct policy_plan *plan);

/* Whether that key may ask for this, now. false: plan->refusal tells why not. */
bool entry_grant(struct entry *e, const struct access_asked *asked, mono_t now,
                 struct policy_plan *plan);

/* The request is over. Zeroed is fine. */
void entry_done(struct entry *e);

#endif
