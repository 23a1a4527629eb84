/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hops.h"

#include <string.h>

#include "base/log.h"

void hops_init(struct hops *h, struct gateway_config *config)
{
    h->_config = gateway_config_ref(config);
    for (size_t i = 0; i < GATEWAY_UPSTREAMS_MAX; i++)
        atomic_init(&h->_told_ns[i], 0);
}

void hops_done(struct hops *h)
{
    h->_config = gateway_config_unref(h->_config);
}

bool hops_is_due(struct hops *h, const char *upstream, mono_t now)
{
    for (size_t i = 0; i < h->_config->n_upstreams; i++) {
        if (strcmp(h->_config->upstreams[i].name, upstream) != 0)
            continue;
        int64_t told = atomic_load_explicit(&h->_told_ns[i], memory_order_relaxed);

        if (told != 0 && now.ns - told < HOPS_EVERY_NS)
            return false;
        /* Of several workers that come here at once one tells it. */
        return atomic_compare_exchange_strong_explicit(&h->_told_ns[i], &told, now.ns,
                                                       memory_order_relaxed, memory_order_relaxed);
    }
    return false;
}

void hops_tell(struct hops *h, const char *upstream, int buffer_bytes)
{
    if (hops_is_due(h, upstream, clock_mono()))
        LOG_WARN("something between upstream \"%s\" and here holds streams back until a buffer of "
                 "%d bytes is full: switch buffering off there (nginx: proxy_buffering off, or "
                 "X-Accel-Buffering: no in the engine's answers)",
                 upstream, buffer_bytes);
}
