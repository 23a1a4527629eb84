/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_reading.h - what one GPU or MIG instance said, whoever asked it.
 *
 * Role:      values in base units with their plausible ranges: what lies outside is a driver's way
 *            to say "not available" (all bits set, the largest int) and is missing.
 * Threading: pure.
 */
#ifndef COLLECT_GPU_READING_H
#define COLLECT_GPU_READING_H

#include "collect/gpu.h"

enum gpu_value {
    GPU_UTIL,
    GPU_MEM_UTIL,
    GPU_MEM_TOTAL, /* before the parts of it, which are held against it */
    GPU_MEM_USED,
    GPU_MEM_FREE,
    GPU_MEM_RESERVED,
    GPU_POWER,
    GPU_POWER_LIMIT,
    GPU_ENERGY,
    GPU_TEMP,
    GPU_MEM_TEMP,
    GPU_SM_CLOCK,
    GPU_MEM_CLOCK,
    GPU_REASONS,
    GPU_THROTTLE_POWER,
    GPU_THROTTLE_THERMAL, /* instead of the next two, where those are not told */
    GPU_THROTTLE_SW_THERMAL,
    GPU_THROTTLE_HW_THERMAL,
    GPU_THROTTLE_POWER_BRAKE,
    GPU_THROTTLE_SYNC_BOOST,
    GPU_THROTTLE_BOARD_LIMIT,
    GPU_THROTTLE_LOW_UTIL,
    GPU_THROTTLE_RELIABILITY,
    GPU_NVLINK_SENT,
    GPU_NVLINK_RECEIVED,
    GPU_PCIE_SENT,
    GPU_PCIE_RECEIVED,
    GPU_ECC_CORRECTED,
    GPU_ECC_UNCORRECTED,
    GPU_XID_LAST,
    GPU_XID_EVENTS,
    GPU_VALUE_COUNT_
};

enum { GPU_XID_CODES = 16, GPU_PROCESS_NAME_BYTES = 16, GPU_NUMBER_BYTES = 12 };

struct gpu_process {
    uint32_t pid;
    double bytes;                      /* NaN: not told */
    char name[GPU_PROCESS_NAME_BYTES]; /* "": not known */
};
struct gpu_xid {
    uint64_t code, n;
};

struct gpu_reading {
    char gpu[GPU_NUMBER_BYTES], uuid[96], mig[96]; /* mig "": the GPU itself */
    char name[96], driver[80];                     /* "": not told */
    const char *fault;                             /* "lost", ...; NULL: it answers */
    double v[GPU_VALUE_COUNT_];                    /* NaN: not told */
    uint64_t reasons_known;                        /* bits that the device can tell */
    const struct gpu_xid *xids;
    size_t n_xids;
    struct gpu_process processes[GPU_PROCESSES_MAX];
    size_t n_processes;
    size_t n_processes_told; /* by a driver that told no more of them: too many */
    bool knows_processes;    /* else none of these mean anything */
};

/* Whether ms have passed since then, by a clock that may be set back. */
static inline bool gpu_has_passed(int64_t since_ms, int64_t t_ms, int64_t ms)
{
    return t_ms < since_ms || t_ms - since_ms >= ms;
}

void gpu_reading_init(struct gpu_reading *r);
/* Takes v where it is plausible. */
void gpu_reading_put(struct gpu_reading *r, enum gpu_value what, double v);
/* Merges one process, which may be told as a compute and as a graphics one. */
void gpu_reading_add_process(struct gpu_reading *r, uint32_t pid, double bytes);
/* Names of processes, where their numbers are those of the proc/ below root. */
void gpu_reading_name_processes(struct gpu_reading *r, const char *root);
void gpu_reading_tell(const struct gpu_reading *r, struct source_out *o);

#endif
