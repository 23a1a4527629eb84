/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/rate.h - at most so many messages in any minute.
 *
 * Why:       chats that allow 20 a minute are deaf for ten minutes to who sends a 21st. The last
 *            minute is looked at as it is: neither their way to count (fixed or sliding minutes)
 *            nor a burst breaks the limit.
 * Shared:    receivers that send to the same address share one of these.
 * Units:     ms of a clock that does not step.
 * Threading: one owner.
 */
#ifndef ALERT_RATE_H
#define ALERT_RATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

enum { RATE_MAX = 120, RATE_WINDOW_MS = 61 * 1000 /* a second for the way there */ };

struct rate {
    size_t per_min; /* 0: as many as one likes; at most RATE_MAX count */
    int64_t not_before_ms;
    size_t n, next; /* stamps, and where the next one goes */
    int64_t sent_ms[RATE_MAX];
};

/* When the next one may go; in the past: now. */
int64_t rate_next_ms(const struct rate *r);
void rate_sent(struct rate *r, int64_t now_ms);

#endif
