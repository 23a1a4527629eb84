/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu.h - GPUs of NVIDIA in this machine, asked through NVML or nvidia-smi (source_gpu).
 *
 * Role:      NVML is loaded at run time, so that the program needs none; where it is not there or
 *            does not work, nvidia-smi is run. Both are tried anew at each reading, so that a
 *            driver that comes later is found.
 * Series:    the signals of GPUs (engine/signal.h) and gpu_series, with the labels gpu (index),
 *            uuid (of the GPU) and mig (GPU instance, "3/1" where it has several compute
 *            instances). What a device does not tell is missing.
 * States:    absent: no driver and no GPU of NVIDIA on the PCI bus, or a driver that shows none;
 *            broken: there is one on the bus and nothing tells of it, a driver that fails.
 *            One GPU that is lost among others: working, and gpu_up is 0 for it (nvidia-smi has no
 *            row for it: there it is missing).
 * Hangs:     nvidia-smi is killed at its deadline. A call of NVML that hangs holds the thread.
 * Limits:    GPU_MAX devices, GPU_PROCESSES_MAX processes of each.
 * Threading: the source's.
 * Source:    NVML API reference, nvidia-smi --help-query-gpu.
 */
#ifndef COLLECT_GPU_H
#define COLLECT_GPU_H

#include "collect/source_out.h"

enum { GPU_MAX = 64, GPU_PROCESSES_MAX = 128, GPU_DEADLINE_MS = 10 * 1000 };

struct gpu_config {
    const char *nvml_path;   /* NULL: "libnvidia-ml.so.1"; "": not used */
    const char *smi_path;    /* NULL: "nvidia-smi", found in PATH; "": not used */
    const char *root;        /* where proc/ and sys/ are; NULL: "/" */
    int64_t smi_deadline_ms; /* of one run of nvidia-smi; 0: GPU_DEADLINE_MS */
};

extern const struct source_series gpu_series[];
extern const size_t gpu_series_n;

#endif
