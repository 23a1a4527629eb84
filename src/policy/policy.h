/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/policy.h - the implementation of tap/policy.h: plans, usage injection and its removal.
 *
 * Role:      what the byte path asks, answered with dialect knowledge.
 * Injection: a stream whose client did not ask for usage is sent with stream_options.include_usage;
 *            the one event that this brings is removed again. An upstream that answers 400 or 422
 *            gets the request once more without it; when that succeeds, this model of this upstream
 *            is remembered and not asked again (the newest 64; a reload forgets).
 * Failing:   without memory for its state an exchange passes unchanged and is measured less.
 * Threading: one object per worker.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "tap/policy.h"

struct policy_config {
    const char *const *upstreams; /* in the gateway's order */
    size_t n_upstreams;           /* at least 1 */
    bool inject_usage;
};

extern const struct policy_ops policy_ops;

/* Copies what it keeps. -EINVAL (no upstream), -ENOMEM. */
int policy_new(const struct policy_config *config, struct policy **ret) WARN_UNUSED;

/* From the next plan on: inject or not, and what upstreams refused is forgotten. */
void policy_reload(struct policy *p, bool inject_usage);

/* After the last plan_done. NULL is allowed. Returns NULL. */
struct policy *policy_free(struct policy *p);

#endif
