/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_nvml.c - a made-up NVML, as a library that is loaded like the real one. Its prototypes are
 * written after the public interface, on purpose not with the structs of collect/nvml.h.
 */
#include "fake_nvml.h"

#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                                            \
    EXPORT int name(__VA_ARGS__);                                                                  \
    EXPORT int name(__VA_ARGS__)

enum {
    OK = 0,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    TIMEOUT = 10,
    LOST = 15
};

extern EXPORT struct fake_nvml fake_nvml;
EXPORT struct fake_nvml fake_nvml = {.n_devices = 2};

/* Devices are numbers from 1; instances have the number of theirs in the upper half. */
typedef struct handle *device;

struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};
struct utilization {
    unsigned int gpu, memory;
};
struct temperature {
    unsigned int version, sensor;
    int celsius;
};
struct violation {
    unsigned long long reference, violation;
};
struct process {
    unsigned int pid;
    unsigned long long bytes;
    unsigned int gpu_instance, compute_instance;
};
struct process_v1 {
    unsigned int pid;
    unsigned long long bytes;
};
struct field {
    unsigned int id, scope;
    long long timestamp, latency;
    int type, code;
    union {
        double d;
        unsigned int u;
        unsigned long long ull;
        long long ll;
        unsigned short us;
    } v;
};
struct event {
    device d;
    unsigned long long type, data;
    unsigned int gpu_instance, compute_instance;
};

static uint64_t noise(void)
{
    static uint64_t x = 88172645463325252ULL;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static uint64_t number_of(uint64_t good, uint64_t before, int bits)
{
    switch (fake_nvml.values) {
    case FAKE_ALL_BITS:
        return bits == 32 ? UINT32_MAX : UINT64_MAX;
    case FAKE_LARGEST:
        return bits == 32 ? INT32_MAX : INT64_MAX;
    case FAKE_GARBAGE:
        return noise();
    case FAKE_UNTOUCHED:
        return before;
    default:
        return good;
    }
}

static void put32(unsigned int *to, uint64_t good)
{
    *to = (unsigned int)number_of(good, *to, 32);
}

static void put64(unsigned long long *to, uint64_t good)
{
    *to = number_of(good, *to, 64);
}

static int put_text(char *to, unsigned int n, const char *good)
{
    if (fake_nvml.values == FAKE_UNTOUCHED)
        return OK;
    if (fake_nvml.values == FAKE_GARBAGE) {
        memset(to, 0x9b, n);
        return OK;
    }
    if (strlen(good) >= n)
        return TOO_SMALL;
    memcpy(to, good, strlen(good) + 1);
    return OK;
}

/* --- what may go wrong with every call --- */

static int enter(const char *name)
{
    fake_nvml.n_calls++;
    if (fake_nvml.hanging && strcmp(fake_nvml.hanging, name) == 0) {
        struct timespec step = {.tv_nsec = 1000000};

        atomic_store(&fake_nvml.is_hanging, true);
        while (!atomic_load(&fake_nvml.is_let_go))
            nanosleep(&step, NULL);
        fake_nvml.hanging = NULL;
    }
    if (fake_nvml.failing && (fake_nvml.failing[0] == '\0' || !strcmp(fake_nvml.failing, name)))
        return fake_nvml.code;
    return OK;
}

static uint32_t index_of(device d)
{
    return (uint32_t)((uintptr_t)d & 0xff) - 1;
}

static uint32_t instance_of(device d) /* 0: the device itself */
{
    return (uint32_t)((uintptr_t)d >> 8);
}

static int enter_device(const char *name, device d)
{
    int r = enter(name);
    uint32_t i = index_of(d);

    if (r != OK)
        return r;
    if (i >= fake_nvml.n_devices || i >= FAKE_DEVICES)
        return INVALID;
    if (i == 0 && fake_nvml.n_calls_good > 0 && --fake_nvml.n_calls_good == 0)
        fake_nvml.device_code[0] = LOST;
    return fake_nvml.device_code[i];
}

#define ENTER()                                                                                    \
    do {                                                                                           \
        int entered = enter(__func__);                                                             \
        if (entered != OK)                                                                         \
            return entered;                                                                        \
    } while (0)
#define ENTER_DEVICE(d)                                                                            \
    do {                                                                                           \
        int entered = enter_device(__func__, d);                                                   \
        if (entered != OK)                                                                         \
            return entered;                                                                        \
    } while (0)
#define NOT_OF_INSTANCES(d)                                                                        \
    do {                                                                                           \
        if (instance_of(d) > 0)                                                                    \
            return NOT_SUPPORTED;                                                                  \
    } while (0)

/* --- the library --- */

CALL(nvmlInit_v2, void)
{
    ENTER();
    fake_nvml.n_begun++;
    return OK;
}

CALL(nvmlInit, void)
{
    ENTER();
    fake_nvml.n_begun++;
    return OK;
}

CALL(nvmlShutdown, void)
{
    ENTER();
    fake_nvml.n_shut++;
    return OK;
}

CALL(nvmlSystemGetDriverVersion, char *to, unsigned int n)
{
    ENTER();
    return put_text(to, n, "570.86.15");
}

static int count(unsigned int *ret)
{
    *ret = fake_nvml.n_devices;
    return OK;
}

CALL(nvmlDeviceGetCount_v2, unsigned int *ret)
{
    ENTER();
    return count(ret);
}

CALL(nvmlDeviceGetCount, unsigned int *ret)
{
    ENTER();
    return count(ret);
}

CALL(nvmlDeviceGetHandleByIndex_v2, unsigned int i, device *ret)
{
    device d = (device)(uintptr_t)(i + 1);

    ENTER_DEVICE(d);
    *ret = d;
    return OK;
}

CALL(nvmlDeviceGetHandleByIndex, unsigned int i, device *ret)
{
    device d = (device)(uintptr_t)(i + 1);

    ENTER_DEVICE(d);
    *ret = d;
    return OK;
}

CALL(nvmlDeviceGetUUID, device d, char *to, unsigned int n)
{
    char uuid[] = "GPU-00000000-0000-4000-8000-00000000000?";

    ENTER_DEVICE(d);
    if (instance_of(d) > 0) {
        memcpy(uuid, "MIG", 3);
        uuid[4] = (char)('0' + instance_of(d));
    }
    uuid[sizeof(uuid) - 2] = (char)('a' + index_of(d));
    return put_text(to, n, uuid);
}

CALL(nvmlDeviceGetName, device d, char *to, unsigned int n)
{
    ENTER_DEVICE(d);
    return put_text(to, n, "NVIDIA H100 80GB HBM3");
}

CALL(nvmlDeviceGetUtilizationRates, device d, struct utilization *ret)
{
    ENTER_DEVICE(d);
    NOT_OF_INSTANCES(d);
    put32(&ret->gpu, 87);
    put32(&ret->memory, 40);
    return OK;
}

#define GIB (1ULL << 30)

CALL(nvmlDeviceGetMemoryInfo, device d, struct memory *ret)
{
    ENTER_DEVICE(d);
    put64(&ret->total, 80 * GIB);
    put64(&ret->free, 9 * GIB);
    put64(&ret->used, 71 * GIB);
    return OK;
}

CALL(nvmlDeviceGetMemoryInfo_v2, device d, struct memory_v2 *ret)
{
    ENTER_DEVICE(d);
    if (ret->version != (sizeof(*ret) | 2U << 24))
        return 25;
    put64(&ret->total, instance_of(d) > 0 ? 10 * GIB : 80 * GIB);
    put64(&ret->reserved, GIB);
    put64(&ret->free, instance_of(d) > 0 ? 4 * GIB : 9 * GIB);
    put64(&ret->used, instance_of(d) > 0 ? 5 * GIB : 70 * GIB);
    return OK;
}

CALL(nvmlDeviceGetClockInfo, device d, int which, unsigned int *ret)
{
    ENTER_DEVICE(d);
    NOT_OF_INSTANCES(d);
    put32(ret, which == 1 ? 1755 : which == 2 ? 2619 : 0);
    return OK;
}

static int reasons(unsigned long long *ret)
{
    put64(ret, 0x24);
    return OK;
}

CALL(nvmlDeviceGetCurrentClocksEventReasons, device d, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    return reasons(ret);
}

CALL(nvmlDeviceGetCurrentClocksThrottleReasons, device d, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    return reasons(ret);
}

CALL(nvmlDeviceGetSupportedClocksEventReasons, device d, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    put64(ret, 0xff);
    return OK;
}

CALL(nvmlDeviceGetSupportedClocksThrottleReasons, device d, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    put64(ret, 0xff);
    return OK;
}

CALL(nvmlDeviceGetViolationStatus, device d, int policy, struct violation *ret)
{
    ENTER_DEVICE(d);
    if (policy > 5)
        return NOT_SUPPORTED;
    put64(&ret->reference, 1);
    put64(&ret->violation, (unsigned)(policy + 1) * 2000000000ULL);
    return OK;
}

CALL(nvmlDeviceGetPowerUsage, device d, unsigned int *ret)
{
    ENTER_DEVICE(d);
    put32(ret, 612345);
    return OK;
}

CALL(nvmlDeviceGetEnforcedPowerLimit, device d, unsigned int *ret)
{
    ENTER_DEVICE(d);
    put32(ret, 700000);
    return OK;
}

CALL(nvmlDeviceGetTotalEnergyConsumption, device d, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    put64(ret, 5000000);
    return OK;
}

CALL(nvmlDeviceGetTemperature, device d, int sensor, unsigned int *ret)
{
    ENTER_DEVICE(d);
    if (sensor != 0)
        return INVALID;
    put32(ret, 64);
    return OK;
}

CALL(nvmlDeviceGetTemperatureV, device d, struct temperature *ret)
{
    ENTER_DEVICE(d);
    if (ret->version != (sizeof(*ret) | 1U << 24) || ret->sensor != 0)
        return 25;
    ret->celsius = (int)number_of(64, (uint64_t)ret->celsius, 32);
    return OK;
}

static void field(struct field *f)
{
    f->code = OK;
    f->type = 3; /* unsigned long long */
    switch (f->id) {
    case 82:
        f->type = 1; /* unsigned int */
        f->v.ull = 0;
        put32(&f->v.u, 71);
        return;
    case 83:
        put64(&f->v.ull, 4000000); /* mJ */
        return;
    case 138:
    case 139:
        f->code = fake_nvml.has_nvlink5 ? NOT_SUPPORTED : f->scope == UINT32_MAX ? OK : INVALID;
        put64(&f->v.ull, f->id == 138 ? 1000 : 2000); /* KiB */
        return;
    case 202:
    case 204:
        f->code = fake_nvml.has_nvlink5 && f->scope < 4 ? OK : NOT_SUPPORTED;
        put64(&f->v.ull, f->id + f->scope);
        return;
    case 74:
    case 269:
    case 270:
    case 271:
        put64(&f->v.ull, f->id * 1000000000ULL); /* ns */
        return;
    default:
        f->code = NOT_SUPPORTED;
    }
}

CALL(nvmlDeviceGetFieldValues, device d, int n, struct field *at)
{
    ENTER_DEVICE(d);
    for (int i = 0; i < n; i++) {
        field(&at[i]);
        if (fake_nvml.values == FAKE_GARBAGE) {
            at[i].type = (int)(noise() % 9);
            at[i].code = (int)(noise() % 3);
            at[i].id = noise() % 2 ? at[i].id : (unsigned int)noise();
        }
    }
    return OK;
}

CALL(nvmlDeviceGetPcieThroughput, device d, int which, unsigned int *ret)
{
    ENTER_DEVICE(d);
    put32(ret, which == 0 ? 12000 : 34000); /* KB/s */
    return OK;
}

CALL(nvmlDeviceGetTotalEccErrors, device d, int kind, int counter, unsigned long long *ret)
{
    ENTER_DEVICE(d);
    if (counter != 0)
        return INVALID;
    put64(ret, kind == 0 ? 7 : 0);
    return OK;
}

static unsigned int n_processes(void)
{
    return fake_nvml.values == FAKE_GARBAGE ? (unsigned int)noise() : fake_nvml.n_processes;
}

static int processes(device d, unsigned int *n, struct process *at)
{
    unsigned int room = *n, there = fake_nvml.n_processes;

    *n = n_processes();
    if (there > room)
        return TOO_SMALL;
    for (unsigned int i = 0; i < there; i++) {
        struct process p = {(unsigned int)number_of(100 + i, 0, 32),
                            number_of((i + 1) * GIB, 0, 64), instance_of(d), 0};
        char *to = (char *)at + i * (fake_nvml.has_wide_processes ? 32 : sizeof(p));

        memcpy(to, &p, sizeof(p));
        if (fake_nvml.has_wide_processes)
            memset(to + sizeof(p), 0, 8);
    }
    return OK;
}

static int processes_v1(unsigned int *n, struct process_v1 *at)
{
    unsigned int room = *n;

    *n = n_processes();
    if (fake_nvml.n_processes > room)
        return TOO_SMALL;
    for (unsigned int i = 0; i < fake_nvml.n_processes; i++)
        at[i] = (struct process_v1){(unsigned int)number_of(100 + i, 0, 32),
                                    number_of((i + 1) * GIB, 0, 64)};
    return OK;
}

CALL(nvmlDeviceGetComputeRunningProcesses_v3, device d, unsigned int *n, struct process *at)
{
    ENTER_DEVICE(d);
    return processes(d, n, at);
}

CALL(nvmlDeviceGetComputeRunningProcesses_v2, device d, unsigned int *n, struct process *at)
{
    ENTER_DEVICE(d);
    return processes(d, n, at);
}

CALL(nvmlDeviceGetComputeRunningProcesses, device d, unsigned int *n, struct process_v1 *at)
{
    ENTER_DEVICE(d);
    return processes_v1(n, at);
}

CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, device d, unsigned int *n, struct process *at)
{
    (void)at;
    ENTER_DEVICE(d);
    *n = 0;
    return OK;
}

CALL(nvmlEventSetCreate, void **ret)
{
    ENTER();
    *ret = &fake_nvml.n_sets;
    fake_nvml.n_sets++;
    return OK;
}

CALL(nvmlDeviceRegisterEvents, device d, unsigned long long types, void *set)
{
    ENTER_DEVICE(d);
    return set == &fake_nvml.n_sets && types == 8 ? OK : INVALID;
}

CALL(nvmlEventSetWait_v2, void *set, struct event *ret, unsigned int timeout_ms)
{
    ENTER();
    if (set != &fake_nvml.n_sets || timeout_ms > 0)
        return INVALID;
    if (fake_nvml.values == FAKE_GARBAGE) {
        *ret = (struct event){(device)(uintptr_t)(noise() % 4), noise(), noise(), 0, 0};
        return OK; /* and always one more */
    }
    if (fake_nvml.n_taken == fake_nvml.n_events)
        return TIMEOUT;
    ret->d = (device)(uintptr_t)(fake_nvml.events[fake_nvml.n_taken].device + 1);
    ret->type = 8;
    ret->data = fake_nvml.events[fake_nvml.n_taken++].xid;
    return OK;
}

CALL(nvmlEventSetFree, void *set)
{
    (void)set;
    ENTER();
    fake_nvml.n_sets--;
    return OK;
}

CALL(nvmlDeviceGetMigMode, device d, unsigned int *now, unsigned int *pending)
{
    ENTER_DEVICE(d);
    NOT_OF_INSTANCES(d);
    *now = *pending = fake_nvml.is_mig[index_of(d)];
    return OK;
}

CALL(nvmlDeviceGetMaxMigDeviceCount, device d, unsigned int *ret)
{
    ENTER_DEVICE(d);
    put32(ret, 7);
    return OK;
}

CALL(nvmlDeviceGetMigDeviceHandleByIndex, device d, unsigned int i, device *ret)
{
    ENTER_DEVICE(d);
    if (!fake_nvml.is_mig[index_of(d)] || i == 1 || i > 3)
        return NOT_FOUND; /* numbers have gaps */
    *ret = (device)((uintptr_t)d | (uintptr_t)(i + 1) << 8);
    return OK;
}

/* Instance 1 of the index 0, instance 2 of 2 and 3. */
CALL(nvmlDeviceGetGpuInstanceId, device d, unsigned int *ret)
{
    ENTER_DEVICE(d);
    if (instance_of(d) == 0)
        return NOT_SUPPORTED;
    *ret = instance_of(d) == 1 ? 1 : 2;
    return OK;
}

CALL(nvmlDeviceGetComputeInstanceId, device d, unsigned int *ret)
{
    ENTER_DEVICE(d);
    *ret = instance_of(d) == 4;
    return OK;
}
