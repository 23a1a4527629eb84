/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/policy.h - the implementation of tap/policy.h: plans, routes, usage injection and its
 * removal.
 *
 * Role:      what the byte path asks, answered with dialect knowledge.
 * Injection: a stream whose client did not ask for usage is sent with stream_options.include_usage;
 *            the one event that this brings is removed again. An upstream that answers 400 or 422
 *            gets the request once more without it; when that succeeds, this model of this upstream
 *            is remembered and not asked again (the newest 64; a reload forgets).
 * Routing:   policy/routes.h tells which upstreams; their credentials and names for the model are
 *            put in for each attempt.
 * Access:    policy/entry.h decides before anything else. Where keys are needed, a client's
 *            credentials are the gateway's and reach no upstream.
 * Labels:    policy/business.h. Where no key tells a tenant, the label "tenant" does, for the fair
 *            share of a queue.
 * Classes:   a key's; "X-Inferometer-Class: batch" makes any request a batch one, and nothing makes
 *            a batch key's interactive.
 * Failing:   without memory for its state an exchange is refused: nobody would know where to.
 * Threading: one object per worker.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "policy/business.h"
#include "policy/key_use.h"
#include "policy/keyring.h"
#include "policy/routes.h"
#include "tap/policy.h"

struct policy_config {
    struct routes *routes;     /* the caller keeps its reference */
    struct keyring *keyring;   /* NULL: open to everybody; the caller keeps its reference */
    struct key_use *key_use;   /* shared, outlives the policy; NULL: no limits */
    struct business *business; /* NULL: no business labels; the caller keeps its reference */
    bool inject_usage;
    uint64_t seed; /* of the choice among upstreams */
};

extern const struct policy_ops policy_ops;

/* -ENOMEM. */
int policy_new(const struct policy_config *config, struct policy **ret) WARN_UNUSED;

/* From the next plan on; what upstreams refused is forgotten. The seed does not matter. */
void policy_reload(struct policy *p, const struct policy_config *config);

/* From the next plan on: other keys, and nothing else. */
void policy_set_keyring(struct policy *p, struct keyring *keyring);

/* After the last plan_done. NULL is allowed. Returns NULL. */
struct policy *policy_free(struct policy *p);

#endif
