/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/nvml.h - NVIDIA's management library, loaded at run time.
 *
 * Role:      the calls that we use as pointers, under the newest name that the library has; the
 *            structures as its interface lays them out; its errors in words.
 * Missing:   a function that the library does not have is NULL; without those that list devices it
 *            is not usable.
 * Errors:    negative errno; nvml_call codes are NVML's own.
 * Threading: the library's own calls are thread-safe; a struct nvml has one owner.
 * Source:    NVML API reference (nvml.h).
 */
#ifndef COLLECT_NVML_H
#define COLLECT_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum nvml_code {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_INSUFFICIENT_POWER = 8,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_IRQ_ISSUE = 11,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17,
    NVML_VERSION_MISMATCH = 18,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };
enum { NVML_PCIE_SENT = 0, NVML_PCIE_RECEIVED = 1 };
enum { NVML_SENSOR_GPU = 0 };
enum { NVML_PROCESS_WIDE_BYTES = 32 };
enum {
    NVML_POLICY_POWER,
    NVML_POLICY_THERMAL,
    NVML_POLICY_SYNC_BOOST,
    NVML_POLICY_BOARD_LIMIT,
    NVML_POLICY_LOW_UTIL,
    NVML_POLICY_RELIABILITY
};
enum nvml_field_id {
    NVML_FIELD_POLICY_POWER = 74, /* ns; the next ones in the order of NVML_POLICY_ */
    NVML_FIELD_POLICY_THERMAL = 75,
    NVML_FIELD_POLICY_SYNC_BOOST = 76,
    NVML_FIELD_POLICY_BOARD_LIMIT = 77,
    NVML_FIELD_POLICY_LOW_UTIL = 78,
    NVML_FIELD_POLICY_RELIABILITY = 79,
    NVML_FIELD_MEMORY_TEMP = 82,
    NVML_FIELD_ENERGY = 83,       /* mJ */
    NVML_FIELD_NVLINK_SENT = 138, /* KiB; scope: the link */
    NVML_FIELD_NVLINK_RECEIVED = 139,
    NVML_FIELD_NVLINK5_SENT = 202, /* bytes; scope: the link */
    NVML_FIELD_NVLINK5_RECEIVED = 204,
    NVML_FIELD_SW_THERMAL = 269, /* ns */
    NVML_FIELD_HW_THERMAL = 270,
    NVML_FIELD_HW_POWER_BRAKE = 271,
};
#define NVML_ALL_LINKS   UINT32_MAX
#define NVML_NO_INSTANCE UINT32_MAX
#define NVML_EVENT_XID   UINT64_C(0x8)

typedef struct nvml_device *nvml_device;
typedef struct nvml_event_set *nvml_event_set;

struct nvml_utilization {
    uint32_t gpu, memory; /* percent */
};
struct nvml_memory {
    uint64_t total, free, used; /* used: with what is reserved */
};
struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};
struct nvml_temperature {
    uint32_t version, sensor;
    int32_t celsius;
};
struct nvml_violation {
    uint64_t reference_us, violation_ns;
};
struct nvml_process {
    uint32_t pid;
    uint64_t bytes;
    uint32_t gpu_instance, compute_instance;
};
struct nvml_process_v1 {
    uint32_t pid;
    uint64_t bytes;
};
enum nvml_value_type {
    NVML_DOUBLE,
    NVML_U32,
    NVML_ULONG,
    NVML_U64,
    NVML_I64,
    NVML_I32,
    NVML_U16,
};
struct nvml_field {
    uint32_t id, scope;
    int64_t t_us, latency_us;
    int32_t type; /* enum nvml_value_type */
    int32_t code; /* of this one */
    union {
        double f64;
        uint64_t u64;
        int64_t i64;
        uint32_t u32;
        int32_t i32;
        uint16_t u16;
    } v;
};
struct nvml_event {
    nvml_device device;
    uint64_t type, data; /* data: the XID code */
    uint32_t gpu_instance, compute_instance;
};
#define NVML_VERSIONED(type, version) ((uint32_t)sizeof(type) | (uint32_t)(version) << 24)

/* NULL: the library does not have it. */
struct nvml_calls {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *to, uint32_t n);
    int (*device_count)(uint32_t *ret);
    int (*device)(uint32_t index, nvml_device *ret);
    int (*uuid)(nvml_device d, char *to, uint32_t n);
    int (*name)(nvml_device d, char *to, uint32_t n);
    int (*utilization)(nvml_device d, struct nvml_utilization *ret);
    int (*memory)(nvml_device d, struct nvml_memory *ret);
    int (*memory_v2)(nvml_device d, struct nvml_memory_v2 *ret);
    int (*clock)(nvml_device d, int which, uint32_t *ret_mhz);
    int (*reasons)(nvml_device d, uint64_t *ret);
    int (*reasons_supported)(nvml_device d, uint64_t *ret);
    int (*violation)(nvml_device d, int policy, struct nvml_violation *ret);
    int (*power)(nvml_device d, uint32_t *ret_mw);
    int (*power_limit)(nvml_device d, uint32_t *ret_mw);
    int (*energy)(nvml_device d, uint64_t *ret_mj);
    int (*temperature)(nvml_device d, int sensor, uint32_t *ret);
    int (*temperature_v1)(nvml_device d, struct nvml_temperature *ret);
    int (*fields)(nvml_device d, int n, struct nvml_field *at);
    int (*pcie)(nvml_device d, int which, uint32_t *ret_kb);
    int (*ecc)(nvml_device d, int kind, int counter, uint64_t *ret);
    int (*compute_processes)(nvml_device d, uint32_t *n, void *at);
    int (*graphics_processes)(nvml_device d, uint32_t *n, void *at);
    int (*compute_processes_v1)(nvml_device d, uint32_t *n, void *at);
    int (*graphics_processes_v1)(nvml_device d, uint32_t *n, void *at);
    int (*events_new)(nvml_event_set *ret);
    int (*events_register)(nvml_device d, uint64_t types, nvml_event_set set);
    int (*events_wait)(nvml_event_set set, struct nvml_event *ret, uint32_t timeout_ms);
    int (*events_free)(nvml_event_set set);
    int (*mig_mode)(nvml_device d, uint32_t *ret_now, uint32_t *ret_pending);
    int (*mig_max)(nvml_device d, uint32_t *ret);
    int (*mig_device)(nvml_device d, uint32_t index, nvml_device *ret);
    int (*gpu_instance)(nvml_device d, uint32_t *ret);
    int (*compute_instance)(nvml_device d, uint32_t *ret);
};

struct nvml {
    struct nvml_calls call;
    void *_library;
};

/* -ENOENT: there is no such library; -ENOEXEC: it is one, and not NVML. *reterr says more. */
int nvml_load(struct nvml *n, const char *path, struct err *reterr) WARN_UNUSED;
void nvml_unload(struct nvml *n); /* also one that was never loaded */

const char *nvml_words(int code); /* static, for people */

#endif
