/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/recent.h - the last finished requests, as the JSON lines that went to the log.
 *
 * Memory:    at most `capacity` lines of at most RECENT_LINE_MAX bytes; a longer one is left out.
 * Threading: one lock; recent_push by the log thread, recent_write by the admin thread.
 */
#ifndef API_RECENT_H
#define API_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/jsonw.h"
#include "base/span.h"

enum { RECENT_LINE_MAX = 48 * 1024 };

struct recent;

int recent_new(size_t capacity, struct recent **ret) WARN_UNUSED; /* -EINVAL, -ENOMEM */
struct recent *recent_free(struct recent *r);

/* line: one JSON object, with or without line end. */
void recent_push(struct recent *r, struct span line);

/* How many were pushed so far; any thread. */
uint64_t recent_n_pushed(struct recent *r);

/* Writes up to max objects into the array that is open in w, the newest first. */
void recent_write(struct recent *r, size_t max, struct jsonw *w);

#endif
