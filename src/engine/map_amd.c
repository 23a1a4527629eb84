/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_amd.c - AMD's device-metrics-exporter.
 *
 * Its names are general and may have a prefix of the user's choice, so that the labels of its
 * samples have to agree. In partitioned modes only partition 0 tells power, temperature and
 * activity.
 */
#include "engine/map_private.h"

/* The largest uint32 stands for "not available". */
static bool is_not_available(double v)
{
    return v > 4294967294.5 && v < 4294967295.5;
}

static const struct engine_name names[] = {
    {"gpu_average_package_power", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"gpu_clock", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_ecc_uncorrect_total", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_edge_temperature", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_energy_consumed", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_free_vram", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_gfx_activity", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_junction_temperature", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_memory_temperature", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_nodes_total", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"gpu_package_power", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_power_usage", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"gpu_total_memory", NULL, V(1, 0, 0), V(1, 2, 0), OPTIONAL},
    {"gpu_total_vram", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_umc_activity", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_usage", NULL, V(1, 0, 0), V(1, 2, 0), OPTIONAL},
    {"gpu_used_vram", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_violation_ppt_residency_accumulated", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_violation_ppt_residency_percentage", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_violation_processor_hot_residency_percentage", NULL, V(1, 2, 1), ENGINE_NEWEST, OPTIONAL},
    {"gpu_violation_socket_thermal_residency_percentage", NULL, V(1, 2, 1), ENGINE_NEWEST,
     OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_GPU_UTIL, .part = {M("gpu_gfx_activity")}, .scale = 1e-2},
    {.signal = SIGNAL_GPU_UTIL, .part = {M("gpu_usage")}, .scale = 1e-2},
    {.signal = SIGNAL_GPU_MEM_USED, .part = {M("gpu_used_vram")}, .scale = 1048576},
    {.signal = SIGNAL_GPU_MEM_FREE, .part = {M("gpu_free_vram")}, .scale = 1048576},
    {.signal = SIGNAL_GPU_MEM_TOTAL, .part = {M("gpu_total_vram")}, .scale = 1048576},
    {.signal = SIGNAL_GPU_MEM_TOTAL,
     .part = {M("gpu_total_memory")},
     .scale = 1e6,
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "of an early version, in megabytes of 10^6 as it seems"},
    {.signal = SIGNAL_GPU_POWER, .part = {M("gpu_package_power")}},
    {.signal = SIGNAL_GPU_POWER, .part = {M("gpu_average_package_power")}},
    {.signal = SIGNAL_GPU_POWER, .part = {M("gpu_power_usage")}},
    {.signal = SIGNAL_GPU_ENERGY, .part = {M("gpu_energy_consumed")}, .scale = 1e-6},
    {.signal = SIGNAL_GPU_TEMP, .part = {M("gpu_junction_temperature")}},
    {.signal = SIGNAL_GPU_TEMP, .part = {M("gpu_edge_temperature")}},
    {.signal = SIGNAL_GPU_MEM_TEMP, .part = {M("gpu_memory_temperature")}},
    {.signal = SIGNAL_GPU_SM_CLOCK,
     .part = {OF("gpu_clock", "clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"")},
     .scale = 1e6},
    {.signal = SIGNAL_GPU_MEM_CLOCK,
     .part = {OF("gpu_clock", "clock_type=\"GPU_CLOCK_TYPE_MEMORY\"")},
     .scale = 1e6},
    {.signal = SIGNAL_GPU_THROTTLE_RATIO,
     .part = {M("gpu_violation_ppt_residency_percentage")},
     .scale = 1e-2,
     .label_is = "power"},
    {.signal = SIGNAL_GPU_THROTTLE_RATIO,
     .part = {M("gpu_violation_socket_thermal_residency_percentage")},
     .scale = 1e-2,
     .label_is = "thermal"},
    {.signal = SIGNAL_GPU_THROTTLE_RATIO,
     .part = {M("gpu_violation_processor_hot_residency_percentage")},
     .scale = 1e-2,
     .label_is = "hot"},
};

static const char *const labels[] = {
    "card_model", "gpu_id", "gpu_partition_id", "GPU_UUID", "SERIAL_NUMBER", "serial_number", NULL};

static const struct engine_prefix prefixes[] = {
    {.as = "gpu_",
     .in_table = "gpu_",
     .n_min = 1,
     .flags = ENGINE_PREFIX_EXACT | ENGINE_PREFIX_ANY},
    {.as = NULL},
};

static const enum signal expected[] = {
    SIGNAL_GPU_UTIL,  SIGNAL_GPU_MEM_USED, SIGNAL_GPU_MEM_TOTAL,
    SIGNAL_GPU_POWER, SIGNAL_GPU_TEMP,     SIGNAL_GPU_SM_CLOCK,
};

const struct engine_map map_amd = {
    .name = "amd-device-metrics-exporter",
    .title = "AMD device-metrics-exporter",
    .rank = ENGINE_RANK_ENGINE,
    .prefixes = prefixes,
    .labels = labels,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = expected,
    .n_expected = ARRAY_LEN(expected),
    .print_version = map_print_release,
    .is_sentinel = is_not_available,
};
