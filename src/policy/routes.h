/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/routes.h - which upstreams serve a model, under what name, with which credential.
 *
 * Role:      an immutable table, made from the configuration and from what upstreams list; a new
 *            one replaces it. Pure.
 * Match:     an alias is resolved first, once. Then a name goes to the upstreams that have it as it
 *            is, else to those with its longest beginning, else to those that take everything
 *            ("*", or neither models nor anything listed). No name, the same last step; where no
 *            upstream takes everything, all of them.
 * Order:     by priority; within one by chance, weighted, so that the first of them get shares as
 *            their weights are.
 * Secrets:   credentials are wiped when the table is freed.
 * Threading: reference-counted; ref, unref and find from any thread.
 */
#ifndef POLICY_ROUTES_H
#define POLICY_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/span.h"
#include "tap/policy.h"

struct routes;

/* An upstream, in the gateway's order; texts are copied. */
struct routes_upstream {
    const char *name;
    const char *const *models; /* "NAME", "PREFIX*", "*"; each with "=SERVED" behind it */
    size_t n_models;
    const char *const *listed; /* names that it listed itself; looked at where models is empty */
    size_t n_listed;
    uint32_t weight; /* at least 1 */
    uint32_t priority;
    const char *key;        /* its API key; "" none */
    const char *key_header; /* "" by dialect */
};

struct routes_config {
    const struct routes_upstream *upstreams;
    size_t n_upstreams;         /* 1 .. TAP_UPSTREAMS_MAX */
    const char *const *aliases; /* "NAME=MODEL" */
    size_t n_aliases;
};

/* Whether text is a model as in routes_upstream (or an alias, which needs "=" and no "*"). -EINVAL
 * with text and hint. */
int routes_check_model(const char *text, struct err *reterr) WARN_UNUSED;
int routes_check_alias(const char *text, struct err *reterr) WARN_UNUSED;

/* Texts that do not pass these checks match nothing. -ENOMEM. */
int routes_new(const struct routes_config *config, struct routes **ret) WARN_UNUSED;
struct routes *routes_ref(struct routes *r);
struct routes *routes_unref(struct routes *r); /* NULL is allowed; returns NULL */

struct routes_candidate {
    size_t upstream;
    const char *served; /* what this upstream calls the model; NULL: as it was asked for */
};

struct routes_match {
    const char *model; /* behind aliases: the table's, or the one given */
    size_t n;          /* 0: nobody serves it */
    struct routes_candidate candidates[POLICY_CANDIDATES_MAX];
};

/* model: "" where the request names none. rng: the caller's. */
void routes_find(const struct routes *r, const char *model, struct rng *rng,
                 struct routes_match *ret);

/* One upstream that takes everything under its own names: nothing is known that it would not tell
 * itself. */
bool routes_is_transparent(const struct routes *r);

size_t routes_n_upstreams(const struct routes *r);
const char *routes_name(const struct routes *r, size_t upstream);

/* How this upstream is shown its key: in the header that the configuration names, else in field
 * (NULL: Authorization, where it is a bearer token). name is empty where it has none. */
struct routes_credential {
    struct span name;
    struct span value; /* secret */
};
struct routes_credential routes_credential(const struct routes *r, size_t upstream,
                                           const char *field);

/* Every name that a client may ask for: aliases, models and listed ones; no beginnings. Each once,
 * in order of the alphabet. */
void routes_each_model(const struct routes *r, void (*each)(void *ctx, const char *name),
                       void *ctx);

#endif
