/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/rate.h"

static size_t limit(const struct rate *r)
{
    return r->per_min < RATE_MAX ? r->per_min : RATE_MAX;
}

int64_t rate_next_ms(const struct rate *r)
{
    size_t max = limit(r);
    if (max == 0 || r->n < max)
        return r->not_before_ms;
    int64_t free_ms = r->sent_ms[r->next] + RATE_WINDOW_MS; /* the oldest of the last max */
    return free_ms > r->not_before_ms ? free_ms : r->not_before_ms;
}

void rate_sent(struct rate *r, int64_t now_ms)
{
    size_t max = limit(r);
    if (max == 0)
        return;
    r->sent_ms[r->next] = now_ms;
    r->next = (r->next + 1) % max;
    r->n += r->n < max;
}
