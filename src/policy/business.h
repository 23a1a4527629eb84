/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/business.h - business labels: which values a request has for the labels that the operator
 * named.
 *
 * Role:      an immutable list of labels, each with sources in order of trust; the first that tells
 *            a value wins. Pure.
 * Sources:   "key", "key:NAME"     the tenant of the gateway key for the label (or NAME) "tenant",
 *                                  else the key's own label of that name
 *            "header:NAME"         the first header of that name; none that carries credentials
 *            "metadata:NAME"       the member NAME of the body's "metadata" object: a text, a
 *                                  number, true or false; from the request window only
 * Values:    are cut at BUSINESS_VALUE_MAX - 1 bytes, at the end of a character; what is no UTF-8,
 *            and control characters, become '?'. Blanks around them do not count, and what is empty
 *            is no value. Nothing else of a request is ever read.
 * Threading: reference-counted; ref, unref and tell from any thread.
 */
#ifndef POLICY_BUSINESS_H
#define POLICY_BUSINESS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "tap/tap.h"
#include "wire/http1.h"

struct keyring_key;

enum {
    BUSINESS_NAME_MAX = 64, /* the end included, as for values */
    BUSINESS_VALUE_MAX = 128,
    BUSINESS_SOURCES_MAX = 8,
    BUSINESS_SOURCE_MAX = 128,
};

/* A label as the configuration tells it; texts are copied. */
struct business_label {
    const char *name;
    const char *const *sources;
    size_t n_sources;
};

/* Whether text is a source as above. -EINVAL with text and hint. */
int business_check_source(const char *text, struct err *reterr) WARN_UNUSED;

struct business;

/* labels: at most TAP_LABELS_MAX. -EINVAL (too many, or a source that is none), -ENOMEM. */
int business_new(const struct business_label *labels, size_t n, struct business **ret) WARN_UNUSED;
struct business *business_ref(struct business *b);   /* NULL is allowed */
struct business *business_unref(struct business *b); /* NULL is allowed; returns NULL */

struct business_asked {
    const struct http1_head *head;
    struct span metadata;          /* of struct dialect_request; may be empty */
    const struct keyring_key *key; /* NULL: none was shown */
};

/* What a request has; the names are those of the struct business. */
struct business_told {
    size_t n;
    struct tap_label labels[TAP_LABELS_MAX];
    char texts[TAP_LABELS_MAX][BUSINESS_VALUE_MAX];
};
void business_tell(const struct business *b, const struct business_asked *asked,
                   struct business_told *ret);

/* The value of the label of that name; empty: has none. Lives as long as told. */
struct span business_find(const struct business_told *told, struct span name);

#endif
