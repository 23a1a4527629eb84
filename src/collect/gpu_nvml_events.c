/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_nvml_events.c - XID errors, which a driver tells as events and does not keep.
 */
#include "collect/gpu_nvml_private.h"

enum { EVENTS_MAX = 1000 }; /* of one reading: a library that always has one more */

void gpu_nvml_watch(struct gpu_nvml *g, struct gpu_nvml_device *d)
{
    const struct nvml_calls *call = &g->lib.call;

    if (d->is_watched || !call->events_new || !call->events_register || !call->events_wait)
        return;
    if (!g->events && call->events_new(&g->events) != NVML_OK)
        g->events = NULL;
    d->is_watched =
        g->events && call->events_register(d->handle, NVML_EVENT_XID, g->events) == NVML_OK;
}

static void count(struct gpu_nvml_device *d, uint64_t code)
{
    size_t i = 0;

    d->n_xids++;
    d->last_xid = code;
    while (i < d->n_codes && d->xids[i].code != code)
        i++;
    if (i >= GPU_XID_CODES) {
        i = GPU_XID_CODES;
        code = UINT64_MAX;
    }
    if (i >= d->n_codes)
        d->xids[d->n_codes++] = (struct gpu_xid){.code = code};
    d->xids[i].n++;
}

void gpu_nvml_take_events(struct gpu_nvml *g)
{
    for (int i = 0; g->events && i < EVENTS_MAX; i++) {
        struct nvml_event e = {.gpu_instance = NVML_NO_INSTANCE,
                               .compute_instance = NVML_NO_INSTANCE};

        if (g->lib.call.events_wait(g->events, &e, 0) != NVML_OK)
            return;
        for (int k = 0; k < GPU_MAX && (e.type & NVML_EVENT_XID); k++)
            if (g->devices[k].is_watched && g->devices[k].handle == e.device)
                count(&g->devices[k], e.data);
    }
}

void gpu_nvml_end_events(struct gpu_nvml *g)
{
    if (g->events && g->lib.call.events_free)
        (void)g->lib.call.events_free(g->events); /* gone one way or another */
    g->events = NULL;
    for (int i = 0; i < GPU_MAX; i++)
        g->devices[i].is_watched = false;
}
