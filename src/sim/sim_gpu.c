/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_gpu.c - see the header.
 */
#include "sim/sim_gpu.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

#define COOL_CELSIUS 32.0
#define HOT_CELSIUS  72.0 /* at the power limit */
#define SLOW_CELSIUS 87.0 /* where the hardware slows down for its heat */

enum { THERMAL = SIM_GPU_REASON_SW_THERMAL | SIM_GPU_REASON_HW_THERMAL };

void sim_gpu_config_init(struct sim_gpu_config *c)
{
    *c = (struct sim_gpu_config){
        .n_gpus = 8,
        .model = "NVIDIA H100 80GB HBM3",
        .hostname = "sim",
        .driver = "550.54.15",
        .memory_mib = 81559,
        .used_mib = 73728,
        .sm_clock_mhz = 1980,
        .memory_clock_mhz = 2619,
        .idle_watts = 110,
        .limit_watts = 700,
    };
}

void sim_gpu_look(struct sim_gpu *g, const struct sim_gpu_config *c,
                  const struct batching_counts *counts, double speed, int64_t reasons, mono_t now)
{
    double span_s = mono_is_set(g->_t) ? (double)mono_diff(now, g->_t) / (double)NS_PER_S : 0;
    double busy_s = (double)(counts->busy_ns - g->_busy_ns) / (double)NS_PER_S;

    if (span_s > 0)
        g->util = fmin(busy_s / span_s, 1);
    g->speed = fmin(speed, 1);
    g->reasons = g->speed < 1 ? reasons : g->util > 0 ? 0 : SIM_GPU_REASON_IDLE;
    g->watts = c->idle_watts + (c->limit_watts - c->idle_watts) * g->util * g->speed;
    g->energy_joules += g->watts * span_s;
    g->celsius = COOL_CELSIUS + (HOT_CELSIUS - COOL_CELSIUS) * g->watts / c->limit_watts;
    if (g->reasons & THERMAL) {
        g->celsius = SLOW_CELSIUS;
        g->thermal_throttled_s += span_s;
    } else if (g->reasons & SIM_GPU_REASON_POWER_CAP) {
        g->power_throttled_s += span_s;
    }
    g->_t = now;
    g->_busy_ns = counts->busy_ns;
}

/* --- the page --- */

enum value {
    UTIL,
    MEMORY_UTIL,
    USED,
    FREE,
    RESERVED,
    TOTAL,
    POWER,
    LIMIT,
    ENERGY,
    TEMPERATURE,
    SM_CLOCK,
    MEMORY_CLOCK,
    XID,
    REASONS,
    POWER_THROTTLED,
    THERMAL_THROTTLED,
    ENGINE_ACTIVE,
    DRAM_ACTIVE,
    VALUE_COUNT_
};

/* How both generations call a value; its own unit here is the one of the newer names. */
static const struct {
    const char *old_name, *new_name; /* NULL: not in that one */
    double old_times, old_over;      /* into the unit of the older name */
    const char *type, *help;
} rows[VALUE_COUNT_] = {
    [UTIL] = {"DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO", 100, 1, "gauge", "Utilisation"},
    [MEMORY_UTIL] = {"DEV_MEM_COPY_UTIL", "DEV_MEMORY_UTIL_RATIO", 100, 1, "gauge",
                     "Utilisation of the memory's interface"},
    [USED] = {"DEV_FB_USED", "DEV_FB_USED_BYTES", 1, 1048576, "gauge", "Memory in use"},
    [FREE] = {"DEV_FB_FREE", "DEV_FB_FREE_BYTES", 1, 1048576, "gauge", "Memory that is free"},
    [RESERVED] = {"DEV_FB_RESERVED", "DEV_FB_RESERVED_BYTES", 1, 1048576, "gauge",
                  "Memory of the driver"},
    [TOTAL] = {NULL, "DEV_FB_CAPACITY_BYTES", 1, 1, "gauge", "Memory in all"},
    [POWER] = {"DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS", 1, 1, "gauge", "Power"},
    [LIMIT] = {"DEV_ENFORCED_POWER_LIMIT", "DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", 1, 1, "gauge",
               "Limit of the power"},
    [ENERGY] = {"DEV_TOTAL_ENERGY_CONSUMPTION", "DEV_GPU_ENERGY_JOULES_TOTAL", 1000, 1, "counter",
                "Energy"},
    [TEMPERATURE] = {"DEV_GPU_TEMP", "DEV_GPU_TEMP_CELSIUS", 1, 1, "gauge", "Temperature"},
    [SM_CLOCK] = {"DEV_SM_CLOCK", "DEV_SM_CLOCK_HERTZ", 1, 1e6, "gauge", "Clock of the processors"},
    [MEMORY_CLOCK] = {"DEV_MEM_CLOCK", "DEV_MEMORY_CLOCK_HERTZ", 1, 1e6, "gauge",
                      "Clock of the memory"},
    [XID] = {"DEV_XID_ERRORS", "DEV_XID_ERROR", 1, 1, "gauge", "Code of the last error"},
    [REASONS] = {"DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCKS_EVENT_REASONS", 1, 1, "gauge",
                 "Why the clock is not higher, bits"},
    [POWER_THROTTLED] = {"DEV_POWER_VIOLATION", "DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", 1e9, 1,
                         "counter", "Time throttled for power"},
    [THERMAL_THROTTLED] = {"DEV_THERMAL_VIOLATION", "DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", 1e9,
                           1, "counter", "Time throttled for heat"},
    [ENGINE_ACTIVE] = {"PROF_GR_ENGINE_ACTIVE", "PROF_GR_ENGINE_UTIL_RATIO", 1, 1, "gauge",
                       "Share of the time that the engine was active"},
    [DRAM_ACTIVE] = {"PROF_DRAM_ACTIVE", "PROF_DRAM_UTIL_RATIO", 1, 1, "gauge",
                     "Share of the time that the memory was active"},
};

static void values_of(const struct sim_gpu *g, const struct sim_gpu_config *c, double *ret)
{
    const double mib = 1048576, reserved_mib = 0.008 * c->memory_mib;

    ret[UTIL] = ret[ENGINE_ACTIVE] = g->util;
    ret[MEMORY_UTIL] = ret[DRAM_ACTIVE] = 0.6 * g->util; /* reading weights and KV */
    ret[USED] = c->used_mib * mib;
    ret[RESERVED] = floor(reserved_mib) * mib;
    ret[TOTAL] = c->memory_mib * mib;
    ret[FREE] = ret[TOTAL] - ret[USED] - ret[RESERVED];
    ret[POWER] = g->watts;
    ret[LIMIT] = c->limit_watts;
    ret[ENERGY] = g->energy_joules;
    ret[TEMPERATURE] = floor(g->celsius);
    ret[SM_CLOCK] = floor(c->sm_clock_mhz * g->speed) * 1e6;
    ret[MEMORY_CLOCK] = c->memory_clock_mhz * 1e6;
    ret[XID] = g->xid;
    ret[REASONS] = (double)g->reasons;
    ret[POWER_THROTTLED] = g->power_throttled_s;
    ret[THERMAL_THROTTLED] = g->thermal_throttled_s;
}

static int put_sample(const struct sim_gpu_config *c, bool is_new, const char *name, int gpu,
                      double v, struct buf *out)
{
    char text[32];
    size_t n = num_format_double(v, text);

    return buf_printf(out,
                      "DCGM_FI_%s{gpu=\"%d\",UUID=\"GPU-00000000-0000-0000-0000-%012d\","
                      "pci_bus_id=\"00000000:%02X:00.0\",device=\"nvidia%d\",modelName=\"%s\","
                      "%s=\"%s\",%s=\"%s\"} %.*s\n",
                      name, gpu, gpu, 0x10U + (unsigned)gpu, gpu, c->model,
                      is_new ? "hostname" : "Hostname", c->hostname,
                      is_new ? "DCGM_FI_SYSTEM_DRIVER_VERSION" : "DCGM_FI_DRIVER_VERSION",
                      c->driver, (int)n, text);
}

int sim_gpu_render(const struct sim_gpu *g, const struct sim_gpu_config *c,
                   enum sim_gpu_names names, struct buf *out)
{
    bool is_new = names == SIM_GPU_NAMES_DCGM_4_9;
    double values[VALUE_COUNT_];
    int r = 0;

    values_of(g, c, values);
    for (size_t i = 0; i < VALUE_COUNT_ && r == 0; i++) {
        const char *name = is_new ? rows[i].new_name : rows[i].old_name;

        if (!name)
            continue;
        r = buf_printf(out, "# HELP DCGM_FI_%s %s\n# TYPE DCGM_FI_%s %s\n", name, rows[i].help,
                       name, rows[i].type);
        for (int gpu = 0; gpu < c->n_gpus && r == 0; gpu++)
            r = put_sample(c, is_new, name, gpu,
                           is_new ? values[i] : values[i] * rows[i].old_times / rows[i].old_over,
                           out);
    }
    return r;
}
