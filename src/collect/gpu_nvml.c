/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_nvml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "collect/gpu_nvml_private.h"

enum { INSTANCES_MAX = 16, IS_CUT = 1 /* mode of MIG */ };

int gpu_nvml_new(const struct gpu_config *config, struct gpu_nvml **ret)
{
    struct gpu_nvml *g = mem_zalloc(1, sizeof(*g));

    if (!g)
        return -ENOMEM;
    g->config = config;
    *ret = g;
    return 0;
}

/* The library forgets everything; what was counted stays. */
static void shut_down(struct gpu_nvml *g)
{
    gpu_nvml_end_events(g);
    if (g->is_begun && g->lib.call.shutdown)
        (void)g->lib.call.shutdown();
    g->is_begun = false;
}

struct gpu_nvml *gpu_nvml_free(struct gpu_nvml *g)
{
    if (!g)
        return NULL;
    shut_down(g);
    nvml_unload(&g->lib);
    mem_free(g);
    return NULL;
}

static enum source_state fail(struct err *reterr, int code)
{
    (void)err_set(reterr, -EIO, "NVML: %s (code %d)", nvml_words(code), code);
    if (code == NVML_NO_PERMISSION || code == NVML_OPERATING_SYSTEM)
        err_hint(reterr, "let this user, or this container, reach /dev/nvidiactl and "
                         "/dev/nvidia*");
    else if (code == NVML_VERSION_MISMATCH)
        err_hint(reterr, "the driver was updated: load its kernel module anew, or restart the "
                         "machine");
    else if (code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED)
        err_hint(reterr, "look for XID lines in the kernel's log; `nvidia-smi --gpu-reset` or "
                         "restart the machine");
    return code == NVML_DRIVER_NOT_LOADED || code == NVML_GPU_NOT_FOUND ? SOURCE_ABSENT
                                                                        : SOURCE_BROKEN;
}

static enum source_state begin(struct gpu_nvml *g, int64_t t_ms, struct err *reterr)
{
    int code;

    if (!g->is_loaded) {
        const char *path = g->config->nvml_path ? g->config->nvml_path : "libnvidia-ml.so.1";
        int r = nvml_load(&g->lib, path, reterr);

        if (r < 0)
            return r == -ENOENT ? SOURCE_ABSENT : SOURCE_BROKEN;
        g->is_loaded = true;
    }
    if (g->is_begun && g->has_lost && gpu_has_passed(g->begun_ms, t_ms, GPU_NVML_RESET_MS))
        shut_down(g);
    if (g->is_begun)
        return SOURCE_WORKING;
    code = g->lib.call.init();
    if (code == NVML_VERSION_MISMATCH) { /* the one on disk may be the driver's by now */
        nvml_unload(&g->lib);
        g->is_loaded = false;
    }
    if (code != NVML_OK)
        return fail(reterr, code);
    g->is_begun = true;
    g->begun_ms = t_ms;
    g->driver[0] = '\0';
    if (g->lib.call.driver_version)
        (void)g->lib.call.driver_version(g->driver, sizeof(g->driver));
    g->driver[sizeof(g->driver) - 1] = '\0';
    return SOURCE_WORKING;
}

static const char *fault_of(int code)
{
    static const struct {
        int code;
        const char *name;
    } table[] = {
        {NVML_GPU_IS_LOST, "lost"},         {NVML_RESET_REQUIRED, "reset_required"},
        {NVML_NO_PERMISSION, "permission"}, {NVML_OPERATING_SYSTEM, "permission"},
        {NVML_INSUFFICIENT_POWER, "power"}, {NVML_IRQ_ISSUE, "irq"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].code == code)
            return table[i].name;
    return "unknown";
}

/* A text that a driver wrote, ended whatever it did; without characters that are none. */
static void ask_text(struct gpu_nvml *g, nvml_device d,
                     int (*call)(nvml_device d, char *to, uint32_t n), char *to, size_t cap)
{
    to[0] = '\0';
    if (!call || !gpu_nvml_is_ok(g, call(d, to, (uint32_t)cap - 1)))
        to[0] = '\0';
    to[cap - 1] = '\0';
    for (char *p = to; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
}

static void name_reading(struct gpu_nvml *g, uint32_t index)
{
    struct gpu_reading *r = &g->reading;

    gpu_reading_init(r);
    (void)snprintf(r->gpu, sizeof(r->gpu), "%u", index);
    (void)snprintf(r->uuid, sizeof(r->uuid), "%s", g->devices[index].uuid);
}

/* --- MIG --- */

struct instance {
    nvml_device handle;
    uint32_t index, gpu, compute; /* numbers */
    bool is_numbered;
};

static size_t count_same(const struct instance *at, size_t n, const struct instance *i,
                         bool with_compute)
{
    size_t n_same = 0;

    for (size_t k = 0; k < n && i->is_numbered; k++)
        n_same += at[k].is_numbered && at[k].gpu == i->gpu &&
                  (!with_compute || at[k].compute == i->compute);
    return n_same;
}

static size_t list_instances(struct gpu_nvml *g, nvml_device d, struct instance *at)
{
    const struct nvml_calls *call = &g->lib.call;
    uint32_t max = INSTANCES_MAX;
    size_t n = 0;

    if (!call->mig_device)
        return 0;
    if (call->mig_max && call->mig_max(d, &max) != NVML_OK)
        max = INSTANCES_MAX;
    for (uint32_t i = 0; i < max && i < INSTANCES_MAX; i++) {
        struct instance one = {.index = i};

        if (call->mig_device(d, i, &one.handle) != NVML_OK)
            continue;
        one.is_numbered = call->gpu_instance && call->compute_instance &&
                          call->gpu_instance(one.handle, &one.gpu) == NVML_OK &&
                          call->compute_instance(one.handle, &one.compute) == NVML_OK;
        if (count_same(at, n, &one, true) == 0)
            at[n++] = one;
    }
    return n;
}

static void name_instance(struct gpu_nvml *g, const struct instance *at, size_t n, size_t i)
{
    char *to = g->reading.mig;
    const size_t cap = sizeof(g->reading.mig);

    if (!at[i].is_numbered) {
        ask_text(g, at[i].handle, g->lib.call.uuid, to, cap);
        if (to[0] == '\0')
            (void)snprintf(to, cap, "#%u", at[i].index);
    } else if (count_same(at, n, &at[i], false) > 1) {
        (void)snprintf(to, cap, "%u/%u", at[i].gpu, at[i].compute);
    } else {
        (void)snprintf(to, cap, "%u", at[i].gpu);
    }
}

static void read_instances(struct gpu_nvml *g, uint32_t index, struct source_out *o)
{
    struct instance at[INSTANCES_MAX];
    size_t n = list_instances(g, g->devices[index].handle, at);

    for (size_t i = 0; i < n; i++) {
        name_reading(g, index);
        name_instance(g, at, n, i);
        gpu_nvml_utilization(g, at[i].handle);
        gpu_nvml_memory(g, at[i].handle);
        gpu_nvml_processes(g, at[i].handle);
        gpu_reading_tell(&g->reading, o);
    }
}

/* --- a device --- */

static void forget_values(struct gpu_reading *r)
{
    for (int i = 0; i < GPU_VALUE_COUNT_; i++)
        r->v[i] = (double)NAN;
    r->knows_processes = false;
}

static bool has_values(const struct gpu_reading *r)
{
    for (int i = 0; i < GPU_VALUE_COUNT_; i++)
        if (isfinite(r->v[i]))
            return true;
    return false;
}

/* Another GPU than before has this number: what was counted is not its own. */
static void identify(struct gpu_nvml *g, struct gpu_nvml_device *known)
{
    char uuid[sizeof(known->uuid)];

    ask_text(g, known->handle, g->lib.call.uuid, uuid, sizeof(uuid));
    if (uuid[0] == '\0' || strcmp(uuid, known->uuid) == 0)
        return;
    *known = (struct gpu_nvml_device){.handle = known->handle};
    memcpy(known->uuid, uuid, sizeof(uuid));
}

static void add_xids(struct gpu_reading *r, const struct gpu_nvml_device *d)
{
    if (!d->is_watched && d->n_xids == 0)
        return;
    gpu_reading_put(r, GPU_XID_LAST, (double)d->last_xid);
    gpu_reading_put(r, GPU_XID_EVENTS, (double)d->n_xids);
    r->xids = d->xids;
    r->n_xids = d->n_codes;
}

/* False: it does not answer. */
static bool read_device(struct gpu_nvml *g, uint32_t index, struct source_out *o)
{
    struct gpu_nvml_device *known = &g->devices[index];
    struct gpu_reading *r = &g->reading;
    uint32_t mode = 0, pending;
    bool is_cut = false;

    g->code = g->lib.call.device(index, &known->handle);
    if (g->code == NVML_OK) {
        identify(g, known);
        gpu_nvml_watch(g, known);
        name_reading(g, index);
        ask_text(g, known->handle, g->lib.call.name, r->name, sizeof(r->name));
        (void)snprintf(r->driver, sizeof(r->driver), "%s", g->driver);
        gpu_nvml_values(g, known->handle);
        is_cut = g->lib.call.mig_mode &&
                 g->lib.call.mig_mode(known->handle, &mode, &pending) == NVML_OK && mode == IS_CUT;
        if (!is_cut)
            gpu_nvml_processes(g, known->handle);
    } else {
        name_reading(g, index);
    }
    if (g->code == NVML_GPU_IS_LOST || g->code == NVML_RESET_REQUIRED ||
        (g->code != NVML_OK && !has_values(r))) {
        r->fault = fault_of(g->code);
        forget_values(r);
    }
    add_xids(r, known);
    gpu_reading_tell(r, o);
    if (r->fault)
        return false;
    if (is_cut)
        read_instances(g, index, o);
    return true;
}

enum source_state gpu_nvml_read(struct gpu_nvml *g, struct source_out *o, struct err *reterr)
{
    enum source_state state = begin(g, o->t_ms, reterr);
    uint32_t n = 0;
    int n_answered = 0, code;

    if (state != SOURCE_WORKING)
        return state;
    code = g->lib.call.device_count(&n);
    if (code != NVML_OK) {
        shut_down(g);
        return fail(reterr, code);
    }
    if (n == 0 || n > GPU_MAX) {
        (void)err_set(reterr, -ENODEV, "NVML: the driver shows %s",
                      n ? "more GPUs than there can be" : "no GPU");
        err_hint(reterr, "in a container, see that GPUs are given to it");
        shut_down(g);
        return n ? SOURCE_BROKEN : SOURCE_ABSENT;
    }
    gpu_nvml_take_events(g);
    code = NVML_OK;
    for (uint32_t i = 0; i < n; i++) {
        n_answered += read_device(g, i, o);
        code = g->code != NVML_OK ? g->code : code;
    }
    g->has_lost = n_answered < (int)n;
    if (n_answered > 0)
        return SOURCE_WORKING;
    (void)fail(reterr, code);
    return SOURCE_BROKEN;
}
