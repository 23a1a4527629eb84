/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_nvml_values.c - numbers of one device. Whatever a call or a field refuses stays NaN.
 */
#include <math.h>

#include "collect/gpu_nvml_private.h"

#define KIB_BYTES 1024.0
#define NS        1e-9

_Static_assert(sizeof(struct nvml_field) == 40, "as nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_process) == 24, "as nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_event) == 32, "as nvmlEventData_t");

bool gpu_nvml_is_ok(struct gpu_nvml *g, int code)
{
    if (code == NVML_OK)
        return true;
    if (g->code != NVML_GPU_IS_LOST && g->code != NVML_RESET_REQUIRED && code != NVML_NOT_SUPPORTED)
        g->code = code;
    return false;
}

/* All bits set: not available. */
static double of_u32(uint32_t v)
{
    return v == UINT32_MAX ? (double)NAN : (double)v;
}

static double of_u64(uint64_t v)
{
    return v == UINT64_MAX ? (double)NAN : (double)v;
}

static void put(struct gpu_nvml *g, enum gpu_value what, double v)
{
    gpu_reading_put(&g->reading, what, v);
}

void gpu_nvml_utilization(struct gpu_nvml *g, nvml_device d)
{
    struct nvml_utilization u = {UINT32_MAX, UINT32_MAX};

    if (!g->lib.call.utilization || !gpu_nvml_is_ok(g, g->lib.call.utilization(d, &u)))
        return;
    put(g, GPU_UTIL, of_u32(u.gpu) / 100);
    put(g, GPU_MEM_UTIL, of_u32(u.memory) / 100);
}

void gpu_nvml_memory(struct gpu_nvml *g, nvml_device d)
{
    struct nvml_memory_v2 m = {.version = NVML_VERSIONED(struct nvml_memory_v2, 2),
                               .total = UINT64_MAX,
                               .reserved = UINT64_MAX,
                               .free = UINT64_MAX,
                               .used = UINT64_MAX};
    struct nvml_memory old = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

    if (g->lib.call.memory_v2 && g->lib.call.memory_v2(d, &m) == NVML_OK) {
        put(g, GPU_MEM_TOTAL, of_u64(m.total));
        put(g, GPU_MEM_USED, of_u64(m.used));
        put(g, GPU_MEM_FREE, of_u64(m.free));
        put(g, GPU_MEM_RESERVED, of_u64(m.reserved));
    } else if (g->lib.call.memory && gpu_nvml_is_ok(g, g->lib.call.memory(d, &old))) {
        put(g, GPU_MEM_TOTAL, of_u64(old.total));
        put(g, GPU_MEM_USED, of_u64(old.used));
        put(g, GPU_MEM_FREE, of_u64(old.free));
    }
}

/* --- calls that give one number --- */

typedef int (*get_u32)(nvml_device d, uint32_t *ret);
typedef int (*get_u64)(nvml_device d, uint64_t *ret);
typedef int (*get_u32_of)(nvml_device d, int which, uint32_t *ret);

static double ask_u32(struct gpu_nvml *g, nvml_device d, get_u32 call)
{
    uint32_t v = UINT32_MAX;

    return call && gpu_nvml_is_ok(g, call(d, &v)) ? of_u32(v) : (double)NAN;
}

static double ask_u32_of(struct gpu_nvml *g, nvml_device d, get_u32_of call, int which)
{
    uint32_t v = UINT32_MAX;

    return call && gpu_nvml_is_ok(g, call(d, which, &v)) ? of_u32(v) : (double)NAN;
}

static double ask_u64(struct gpu_nvml *g, nvml_device d, get_u64 call)
{
    uint64_t v = UINT64_MAX;

    return call && gpu_nvml_is_ok(g, call(d, &v)) ? of_u64(v) : (double)NAN;
}

static void temperature(struct gpu_nvml *g, nvml_device d)
{
    struct nvml_temperature t = {.version = NVML_VERSIONED(struct nvml_temperature, 1),
                                 .sensor = NVML_SENSOR_GPU,
                                 .celsius = INT32_MAX};

    put(g, GPU_TEMP, ask_u32_of(g, d, g->lib.call.temperature, NVML_SENSOR_GPU));
    if (isnan(g->reading.v[GPU_TEMP]) && g->lib.call.temperature_v1 &&
        gpu_nvml_is_ok(g, g->lib.call.temperature_v1(d, &t)))
        put(g, GPU_TEMP, t.celsius);
}

static void clocks(struct gpu_nvml *g, nvml_device d)
{
    double known;

    put(g, GPU_SM_CLOCK, ask_u32_of(g, d, g->lib.call.clock, NVML_CLOCK_SM) * 1e6);
    put(g, GPU_MEM_CLOCK, ask_u32_of(g, d, g->lib.call.clock, NVML_CLOCK_MEM) * 1e6);
    put(g, GPU_REASONS, ask_u64(g, d, g->lib.call.reasons));
    known = ask_u64(g, d, g->lib.call.reasons_supported);
    if (known > 0 && known <= UINT32_MAX)
        g->reading.reasons_known = (uint64_t)known;
}

static void errors(struct gpu_nvml *g, nvml_device d)
{
    static const enum gpu_value to[] = {
        [NVML_ECC_CORRECTED] = GPU_ECC_CORRECTED, [NVML_ECC_UNCORRECTED] = GPU_ECC_UNCORRECTED};

    for (int kind = 0; g->lib.call.ecc && kind < (int)ARRAY_LEN(to); kind++) {
        uint64_t v = UINT64_MAX;

        if (gpu_nvml_is_ok(g, g->lib.call.ecc(d, kind, NVML_ECC_VOLATILE, &v)))
            put(g, to[kind], of_u64(v));
    }
}

/* --- fields --- */

static const struct {
    enum nvml_field_id id;
    uint32_t scope;
    enum gpu_value to;
    double scale;
} fields[] = {
    {NVML_FIELD_MEMORY_TEMP, 0, GPU_MEM_TEMP, 1},
    {NVML_FIELD_ENERGY, 0, GPU_ENERGY, 1e-3},
    {NVML_FIELD_POLICY_POWER, 0, GPU_THROTTLE_POWER, NS},
    {NVML_FIELD_POLICY_THERMAL, 0, GPU_THROTTLE_THERMAL, NS},
    {NVML_FIELD_SW_THERMAL, 0, GPU_THROTTLE_SW_THERMAL, NS},
    {NVML_FIELD_HW_THERMAL, 0, GPU_THROTTLE_HW_THERMAL, NS},
    {NVML_FIELD_HW_POWER_BRAKE, 0, GPU_THROTTLE_POWER_BRAKE, NS},
    {NVML_FIELD_POLICY_SYNC_BOOST, 0, GPU_THROTTLE_SYNC_BOOST, NS},
    {NVML_FIELD_POLICY_BOARD_LIMIT, 0, GPU_THROTTLE_BOARD_LIMIT, NS},
    {NVML_FIELD_POLICY_LOW_UTIL, 0, GPU_THROTTLE_LOW_UTIL, NS},
    {NVML_FIELD_POLICY_RELIABILITY, 0, GPU_THROTTLE_RELIABILITY, NS},
    {NVML_FIELD_NVLINK_SENT, NVML_ALL_LINKS, GPU_NVLINK_SENT, KIB_BYTES},
    {NVML_FIELD_NVLINK_RECEIVED, NVML_ALL_LINKS, GPU_NVLINK_RECEIVED, KIB_BYTES},
};

static double field_value(const struct nvml_field *f)
{
    switch (f->type) {
    case NVML_DOUBLE:
        return f->v.f64;
    case NVML_U32:
        return of_u32(f->v.u32);
    case NVML_ULONG:
    case NVML_U64:
        return of_u64(f->v.u64);
    case NVML_I64:
        return (double)f->v.i64;
    case NVML_I32:
        return f->v.i32;
    case NVML_U16:
        return f->v.u16 == UINT16_MAX ? (double)NAN : f->v.u16;
    default:
        return (double)NAN;
    }
}

static void ask_fields(struct gpu_nvml *g, nvml_device d)
{
    struct nvml_field at[ARRAY_LEN(fields)] = {0};

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        at[i].id = fields[i].id;
        at[i].scope = fields[i].scope;
        at[i].code = NVML_NOT_SUPPORTED; /* where the driver does not look at it */
        at[i].v.u64 = UINT64_MAX;
    }
    if (!g->lib.call.fields || !gpu_nvml_is_ok(g, g->lib.call.fields(d, ARRAY_LEN(fields), at)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (at[i].id == fields[i].id && at[i].code == NVML_OK)
            put(g, fields[i].to, field_value(&at[i]) * fields[i].scale);
}

/* NVLink 5 counts per link only. */
static void newer_links(struct gpu_nvml *g, nvml_device d)
{
    enum { LINKS_MAX = 18, WAYS = 2 };
    static const enum nvml_field_id ids[WAYS] = {NVML_FIELD_NVLINK5_SENT,
                                                 NVML_FIELD_NVLINK5_RECEIVED};
    static const enum gpu_value to[WAYS] = {GPU_NVLINK_SENT, GPU_NVLINK_RECEIVED};
    struct nvml_field at[WAYS * LINKS_MAX] = {0};
    double sums[WAYS] = {(double)NAN, (double)NAN};

    for (uint32_t i = 0; i < ARRAY_LEN(at); i++) {
        at[i].id = ids[i % WAYS];
        at[i].scope = i / WAYS;
        at[i].code = NVML_NOT_SUPPORTED;
        at[i].v.u64 = UINT64_MAX;
    }
    if (!g->lib.call.fields || !gpu_nvml_is_ok(g, g->lib.call.fields(d, ARRAY_LEN(at), at)))
        return;
    for (uint32_t i = 0; i < ARRAY_LEN(at); i++) {
        double v =
            at[i].id == ids[i % WAYS] && at[i].code == NVML_OK ? field_value(&at[i]) : (double)NAN;
        if (isfinite(v))
            sums[i % WAYS] = isnan(sums[i % WAYS]) ? v : sums[i % WAYS] + v;
    }
    for (int i = 0; i < WAYS; i++)
        put(g, to[i], sums[i]);
}

/* The older way to ask for the same, one by one. */
static void violations(struct gpu_nvml *g, nvml_device d)
{
    static const enum gpu_value to[] = {
        [NVML_POLICY_POWER] = GPU_THROTTLE_POWER,
        [NVML_POLICY_THERMAL] = GPU_THROTTLE_THERMAL,
        [NVML_POLICY_SYNC_BOOST] = GPU_THROTTLE_SYNC_BOOST,
        [NVML_POLICY_BOARD_LIMIT] = GPU_THROTTLE_BOARD_LIMIT,
        [NVML_POLICY_LOW_UTIL] = GPU_THROTTLE_LOW_UTIL,
        [NVML_POLICY_RELIABILITY] = GPU_THROTTLE_RELIABILITY,
    };

    for (int i = 0; g->lib.call.violation && i < (int)ARRAY_LEN(to); i++) {
        struct nvml_violation v = {.violation_ns = UINT64_MAX};

        if (isnan(g->reading.v[to[i]]) && gpu_nvml_is_ok(g, g->lib.call.violation(d, i, &v)))
            put(g, to[i], of_u64(v.violation_ns) * NS);
    }
}

void gpu_nvml_values(struct gpu_nvml *g, nvml_device d)
{
    const struct nvml_calls *call = &g->lib.call;

    gpu_nvml_utilization(g, d);
    gpu_nvml_memory(g, d);
    clocks(g, d);
    temperature(g, d);
    put(g, GPU_POWER, ask_u32(g, d, call->power) * 1e-3);
    put(g, GPU_POWER_LIMIT, ask_u32(g, d, call->power_limit) * 1e-3);
    put(g, GPU_PCIE_SENT, ask_u32_of(g, d, call->pcie, NVML_PCIE_SENT) * 1e3);
    put(g, GPU_PCIE_RECEIVED, ask_u32_of(g, d, call->pcie, NVML_PCIE_RECEIVED) * 1e3);
    errors(g, d);
    ask_fields(g, d);
    if (isnan(g->reading.v[GPU_NVLINK_SENT]) && isnan(g->reading.v[GPU_NVLINK_RECEIVED]))
        newer_links(g, d);
    violations(g, d);
    if (isnan(g->reading.v[GPU_ENERGY]))
        put(g, GPU_ENERGY, ask_u64(g, d, call->energy) * 1e-3);
}

/* --- processes --- */

enum { UNTOUCHED = 0xAA };

typedef int (*get_processes)(nvml_device d, uint32_t *n, void *at);

/* What a driver wrote behind the last of n entries of 24 bytes tells that they are longer. */
static size_t stride_of(const struct gpu_nvml *g, uint32_t n)
{
    size_t end = n * sizeof(struct nvml_process);

    for (size_t i = end; i < (size_t)n * NVML_PROCESS_WIDE_BYTES; i++)
        if (g->processes[i] != UNTOUCHED)
            return NVML_PROCESS_WIDE_BYTES;
    return sizeof(struct nvml_process);
}

static void ask_processes(struct gpu_nvml *g, nvml_device d, get_processes call, bool is_v1)
{
    struct gpu_reading *r = &g->reading;
    uint32_t n = GPU_PROCESSES_MAX;
    size_t stride;
    int code;

    memset(g->processes, UNTOUCHED, sizeof(g->processes));
    code = call(d, &n, g->processes);
    if (code == NVML_INSUFFICIENT_SIZE) {
        r->knows_processes = true;
        if (n > r->n_processes_told && n < UINT16_MAX)
            r->n_processes_told = n;
        return;
    }
    if (!gpu_nvml_is_ok(g, code))
        return;
    r->knows_processes = true;
    n = n < GPU_PROCESSES_MAX ? n : GPU_PROCESSES_MAX;
    stride = is_v1 ? sizeof(struct nvml_process_v1) : stride_of(g, n);
    for (uint32_t i = 0; i < n; i++) {
        struct nvml_process_v1 p; /* all layouts begin with these */

        memcpy(&p, g->processes + i * stride, sizeof(p));
        gpu_reading_add_process(r, p.pid, of_u64(p.bytes));
    }
}

static void ask_either(struct gpu_nvml *g, nvml_device d, get_processes call, get_processes older)
{
    if (call || older)
        ask_processes(g, d, call ? call : older, !call);
}

void gpu_nvml_processes(struct gpu_nvml *g, nvml_device d)
{
    const struct nvml_calls *call = &g->lib.call;

    ask_either(g, d, call->compute_processes, call->compute_processes_v1);
    ask_either(g, d, call->graphics_processes, call->graphics_processes_v1);
    gpu_reading_name_processes(&g->reading, g->config->root);
}
