/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_nvml_private.h - what the files of gpu_nvml share.
 */
#ifndef COLLECT_GPU_NVML_PRIVATE_H
#define COLLECT_GPU_NVML_PRIVATE_H

#include "collect/gpu_nvml.h"
#include "collect/nvml.h"

/* What is remembered of a device between readings. */
struct gpu_nvml_device {
    nvml_device handle;
    char uuid[96];
    bool is_watched; /* its XID events are told to us */
    uint64_t n_xids; /* since then */
    uint64_t last_xid;
    struct gpu_xid xids[GPU_XID_CODES + 1]; /* the last one: all others */
    size_t n_codes;
};

struct gpu_nvml {
    const struct gpu_config *config;
    struct nvml lib;
    bool is_loaded, is_begun;
    bool has_lost; /* some device did not answer */
    int64_t begun_ms;
    nvml_event_set events;
    struct gpu_nvml_device devices[GPU_MAX];
    struct gpu_reading reading;
    char driver[80];
    int code; /* the last that was an error, of the device being read */
    /* Entries have 24 bytes as documented, or 32 with drivers 535 to 550, under the same name. */
    unsigned char processes[GPU_PROCESSES_MAX * NVML_PROCESS_WIDE_BYTES];
};

/* Values of the device (or MIG instance) into g->reading; errors go to g->code. */
void gpu_nvml_values(struct gpu_nvml *g, nvml_device d);
void gpu_nvml_memory(struct gpu_nvml *g, nvml_device d);
void gpu_nvml_utilization(struct gpu_nvml *g, nvml_device d);
void gpu_nvml_processes(struct gpu_nvml *g, nvml_device d);
/* True when code is 0; else it is noted. */
bool gpu_nvml_is_ok(struct gpu_nvml *g, int code);

/* The event set made, if it is not; the device's events asked for. */
void gpu_nvml_watch(struct gpu_nvml *g, struct gpu_nvml_device *d);
/* Takes all events that wait. */
void gpu_nvml_take_events(struct gpu_nvml *g);
void gpu_nvml_end_events(struct gpu_nvml *g);

#endif
