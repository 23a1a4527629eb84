/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/jsontree.h - JSON that others wrote, into a tree: answers of receivers, silences.
 *
 * Memory:    of jansson, which is told once to take it from base/mem.h.
 * Errors:    -EINVAL with where and what, -ENOMEM. A member twice is refused.
 * Threading: any thread; a tree belongs to one.
 */
#ifndef ALERT_JSONTREE_H
#define ALERT_JSONTREE_H

#include <jansson.h>

#include "base/err.h"
#include "base/span.h"

/* *ret: json_decref. */
int jsontree_read(struct span text, json_t **ret, struct err *reterr) WARN_UNUSED;

/* The text of a member; empty where it is missing or no text. Borrowed from the tree. */
struct span jsontree_text(const json_t *object, const char *key);

#endif
