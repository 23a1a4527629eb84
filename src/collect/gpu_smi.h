/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_smi.h - GPUs read by running nvidia-smi.
 *
 * Role:      learns once an hour which fields this nvidia-smi knows, from its help and from what it
 *            refuses; then runs it twice per reading: devices, processes.
 * Deadline:  of the config, for each run; learning goes on at the next reading where it was left.
 * Threading: one owner.
 */
#ifndef COLLECT_GPU_SMI_H
#define COLLECT_GPU_SMI_H

#include "collect/gpu_reading.h"

struct gpu_smi;

int gpu_smi_new(const struct gpu_config *config, struct gpu_smi **ret) WARN_UNUSED;
struct gpu_smi *gpu_smi_free(struct gpu_smi *s); /* NULL is allowed; returns NULL */

enum source_state gpu_smi_read(struct gpu_smi *s, struct source_out *o, struct err *reterr);

#endif
