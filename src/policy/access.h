/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/access.h - may this request pass? First who asks, then what for.
 *
 * Role:      identify reads the credentials of a head; permit compares what a request asks for with
 *            the models that its key is restricted to. Both fail closed.
 * Showing a key: "Authorization: Bearer KEY", or KEY alone in x-api-key, api-key or x-goog-api-key.
 *            What has not the form of a key is passed over when another field has (clients send
 *            place holders); two different keys are refused.
 * Restricted keys: a request passes only when every reader of it finds one model, and that one is
 *            allowed. So its path has to be plain (no escapes, no "//", no dot segments; 400) and
 *            made of parts that are known to name no model, or name an allowed one
 *            (/openai/deployments/NAME); its body has to be whole, JSON by its type, uncoded, and
 *            must not offer a second model (is_duplicate_model; 400). What lists models or tells
 *            health (is_lookup) needs no model. The rest is refused with 403.
 * Aliases:   the name that the client asked for decides, before it is replaced. An alias is a name
 *            of its own: whoever may use it may use what it stands for, now and after the operator
 *            points it elsewhere, and a key for "llama-70b" does not open an alias of it. So there
 *            is one name to allow, and what a key may do does not hang on where it is routed.
 * Not seen:  models inside of tools, and whatever a server makes of other members of a body.
 * Texts:     say what to do, and never a key.
 * Threading: pure; no memory of its own.
 */
#ifndef POLICY_ACCESS_H
#define POLICY_ACCESS_H

#include "dialect/dialect.h"
#include "policy/keyring.h"
#include "tap/tap.h"
#include "wire/http1.h"

enum { ACCESS_TEXT_MAX = 480 };

struct access_verdict {
    enum tap_reason refusal; /* NONE, UNAUTHORIZED, FORBIDDEN, BAD_REQUEST, INTERNAL */
    const struct keyring_key
        *key; /* NULL: none is needed, or found; an expired one is told; borrowed */
    char text[ACCESS_TEXT_MAX]; /* where refused */
};

/* ring NULL: open to everybody, without an identity. now_s: Unix time. *ret: as a whole. */
void access_identify(const struct keyring *ring, const struct http1_head *head, int64_t now_s,
                     struct access_verdict *ret);

struct access_asked {
    const struct http1_head *head;
    struct span target;                      /* path and query, as the upstream will get them */
    const struct dialect_endpoint *endpoint; /* with prefix, by dialect_endpoint_split of these */
    struct span prefix;
    const struct dialect_request *request; /* NULL: the endpoint has no dialect */
};

/* For a verdict that identify left without a refusal: adds one where its key may not do that. */
void access_permit(const struct access_asked *a, struct access_verdict *v);

#endif
