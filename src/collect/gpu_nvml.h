/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_nvml.h - GPUs and MIG instances read through NVML.
 *
 * Role:      the library loaded and initialised when it can be, devices listed anew each time (they
 *            come, go and are cut into instances), XID events counted.
 * Lost:      a device that does not answer is told with its fault and nothing else. The library is
 *            begun anew GPU_NVML_RESET_MS after that, since it sees a GPU that came back only then.
 * Threading: one owner; blocks as long as the driver does.
 */
#ifndef COLLECT_GPU_NVML_H
#define COLLECT_GPU_NVML_H

#include "collect/gpu_reading.h"

enum { GPU_NVML_RESET_MS = 60 * 1000 };

struct gpu_nvml;

int gpu_nvml_new(const struct gpu_config *config, struct gpu_nvml **ret) WARN_UNUSED;
struct gpu_nvml *gpu_nvml_free(struct gpu_nvml *g); /* NULL is allowed; returns NULL */

/* Samples may have been added when it is broken: GPUs that are lost. */
enum source_state gpu_nvml_read(struct gpu_nvml *g, struct source_out *o, struct err *reterr);

#endif
