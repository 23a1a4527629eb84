/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/entry.h"

#include <stdio.h>

static bool take_verdict(const struct access_verdict *v, struct policy_plan *plan)
{
    if (v->refusal == TAP_REASON_NONE)
        return true;
    plan->refusal = v->refusal;
    plan->refusal_text = v->text;
    return false;
}

bool entry_identify(struct entry *e, struct keyring *keyring, struct key_use *use,
                    const struct policy_request *req, struct policy_plan *plan)
{
    e->keyring = keyring_ref(keyring);
    e->use = use;
    access_identify(keyring, req->head, req->now_s, &e->access);
    if (e->access.key)
        plan->identity =
            (struct tap_identity){.key_id = e->access.key->id, .tenant = e->access.key->tenant};
    if (keyring && req->clock)
        plan->identity.at = req->clock();
    return take_verdict(&e->access, plan);
}

static void refuse_for_now(struct entry *e, enum key_use_entry why, uint32_t wait_s,
                           struct policy_plan *plan)
{
    const struct keyring_key *k = e->access.key;
    if (why == KEY_USE_TOO_MANY)
        (void)snprintf(e->access.text, sizeof(e->access.text),
                       "this key has %u requests in flight, as many as it may; try again in %u s",
                       k->max_inflight, wait_s);
    else
        (void)snprintf(e->access.text, sizeof(e->access.text),
                       "this key may make %u requests a minute; try again in %u s",
                       k->max_requests_per_minute, wait_s);
    e->access.refusal = TAP_REASON_REJECTED;
    plan->retry_after_s = wait_s;
}

bool entry_grant(struct entry *e, const struct access_asked *asked, mono_t now,
                 struct policy_plan *plan)
{
    uint32_t wait_s = 0;
    const struct keyring_key *k = e->access.key;
    access_permit(asked, &e->access);
    if (e->access.refusal == TAP_REASON_NONE && k && e->use) {
        enum key_use_entry entry = key_use_enter(e->use, k, now, &e->ticket, &wait_s);
        if (entry != KEY_USE_OK)
            refuse_for_now(e, entry, wait_s, plan);
    }
    if (k) {
        plan->admission_class = k->class == KEYRING_BATCH;
        plan->tenant = span_cstr(k->tenant);
    }
    return take_verdict(&e->access, plan);
}

void entry_done(struct entry *e)
{
    if (e->use)
        key_use_leave(e->use, &e->ticket);
    e->keyring = keyring_unref(e->keyring);
}
