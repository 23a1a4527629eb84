/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_gpu.h - the GPUs below a simulated engine, as dcgm-exporter tells of them.
 *
 * Role:      utilisation, memory, clocks, power, temperature and reasons of throttling, from what
 *            the batching engine did since the last look.
 * Model:     all GPUs do the same (tensor parallelism). Utilisation: the share of the time that
 *            the GPU's part of iterations took. The SM clock falls with the engine's speed; power =
 *            idle + utilisation * speed * the rest; temperature follows power. Memory is reserved
 *            when the engine starts and does not move with the load. An iteration that is longer
 *            than the time between two looks counts when it ends.
 * Throttled: while the speed is below 1, for the reason that is given; otherwise idle or none.
 * Names:     to 4.8 of dcgm-exporter with its units (%, MiB, MHz, mJ), or those of 4.9 (ratios,
 *            bytes, Hz, J); reasons and limits are opt-in there, and here always present.
 * Errors:    -ENOMEM, -EMSGSIZE.
 * Threading: one owner; pure.
 */
#ifndef SIM_SIM_GPU_H
#define SIM_SIM_GPU_H

#include "base/buf.h"
#include "sim/batching.h"

enum sim_gpu_names { SIM_GPU_NAMES_DCGM_4_8, SIM_GPU_NAMES_DCGM_4_9 };

/* NVML's bits. */
enum sim_gpu_reason {
    SIM_GPU_REASON_IDLE = 0x1,
    SIM_GPU_REASON_POWER_CAP = 0x4,
    SIM_GPU_REASON_HW_SLOWDOWN = 0x8,
    SIM_GPU_REASON_SW_THERMAL = 0x20,
    SIM_GPU_REASON_HW_THERMAL = 0x40,
};

struct sim_gpu_config {
    int n_gpus;
    const char *model, *hostname, *driver;
    double memory_mib, used_mib;
    double sm_clock_mhz, memory_clock_mhz; /* at full speed */
    double idle_watts, limit_watts;
};
void sim_gpu_config_init(struct sim_gpu_config *c); /* eight H100 */

struct sim_gpu {
    double util;  /* 0..1, since the look before */
    double speed; /* 0..1 */
    double watts, energy_joules, celsius;
    double power_throttled_s, thermal_throttled_s;
    int64_t reasons;
    int xid; /* the owner's: code of the last error; 0: none */
    mono_t _t;
    int64_t _busy_ns;
};

/* speed, reasons: of the engine now; reasons count while speed < 1. The first look has no span. */
void sim_gpu_look(struct sim_gpu *g, const struct sim_gpu_config *c,
                  const struct batching_counts *counts, double speed, int64_t reasons, mono_t now);

int sim_gpu_render(const struct sim_gpu *g, const struct sim_gpu_config *c,
                   enum sim_gpu_names names, struct buf *out) WARN_UNUSED;

#endif
