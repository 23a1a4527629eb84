/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_reading.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/num.h"
#include "engine/signal.h"

#define ANY_COUNT     9007199254740992.0 /* 2^53: behind it doubles are not exact */
#define THROTTLED_MAX 4e9                /* seconds; all 64 bits set are more nanoseconds */

enum { NO_SIGNAL = -1, PID_LARGEST = 4 * 1024 * 1024 /* of Linux */ };

struct value_info {
    int signal;         /* or NO_SIGNAL */
    const char *series; /* of gpu_series, without a signal */
    const char *label, *is;
    double min, max;
};

static const struct value_info infos[GPU_VALUE_COUNT_] = {
    [GPU_UTIL] = {SIGNAL_GPU_UTIL, NULL, NULL, NULL, 0, 1},
    [GPU_MEM_UTIL] = {NO_SIGNAL, "gpu_memory_utilization_ratio", NULL, NULL, 0, 1},
    [GPU_MEM_TOTAL] = {SIGNAL_GPU_MEM_TOTAL, NULL, NULL, NULL, 1, 1e15},
    [GPU_MEM_USED] = {SIGNAL_GPU_MEM_USED, NULL, NULL, NULL, 0, 1e15},
    [GPU_MEM_FREE] = {SIGNAL_GPU_MEM_FREE, NULL, NULL, NULL, 0, 1e15},
    [GPU_MEM_RESERVED] = {SIGNAL_GPU_MEM_RESERVED, NULL, NULL, NULL, 0, 1e15},
    [GPU_POWER] = {SIGNAL_GPU_POWER, NULL, NULL, NULL, 0, 1e5},
    [GPU_POWER_LIMIT] = {SIGNAL_GPU_POWER_LIMIT, NULL, NULL, NULL, 0, 1e5},
    [GPU_ENERGY] = {SIGNAL_GPU_ENERGY, NULL, NULL, NULL, 0, 1e15},
    [GPU_TEMP] = {SIGNAL_GPU_TEMP, NULL, NULL, NULL, 0, 300},
    /* 0 stands for a sensor that is not there with some drivers. */
    [GPU_MEM_TEMP] = {SIGNAL_GPU_MEM_TEMP, NULL, NULL, NULL, 1, 300},
    [GPU_SM_CLOCK] = {SIGNAL_GPU_SM_CLOCK, NULL, NULL, NULL, 0, 1e11},
    [GPU_MEM_CLOCK] = {SIGNAL_GPU_MEM_CLOCK, NULL, NULL, NULL, 0, 1e11},
    [GPU_REASONS] = {SIGNAL_GPU_THROTTLE_REASONS, NULL, NULL, NULL, 0, UINT32_MAX},
    [GPU_THROTTLE_POWER] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "power", 0, THROTTLED_MAX},
    [GPU_THROTTLE_THERMAL] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "thermal", 0,
                              THROTTLED_MAX},
    [GPU_THROTTLE_SW_THERMAL] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "sw_thermal", 0,
                                 THROTTLED_MAX},
    [GPU_THROTTLE_HW_THERMAL] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "hw_thermal", 0,
                                 THROTTLED_MAX},
    [GPU_THROTTLE_POWER_BRAKE] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "hw_power_brake", 0,
                                  THROTTLED_MAX},
    [GPU_THROTTLE_SYNC_BOOST] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "sync_boost", 0,
                                 THROTTLED_MAX},
    [GPU_THROTTLE_BOARD_LIMIT] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "board_limit", 0,
                                  THROTTLED_MAX},
    [GPU_THROTTLE_LOW_UTIL] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "low_util", 0,
                               THROTTLED_MAX},
    [GPU_THROTTLE_RELIABILITY] = {SIGNAL_GPU_THROTTLE_SECONDS, NULL, "reason", "reliability", 0,
                                  THROTTLED_MAX},
    [GPU_NVLINK_SENT] = {NO_SIGNAL, "gpu_nvlink_transmit_bytes_total", NULL, NULL, 0, 1e18},
    [GPU_NVLINK_RECEIVED] = {NO_SIGNAL, "gpu_nvlink_receive_bytes_total", NULL, NULL, 0, 1e18},
    [GPU_PCIE_SENT] = {NO_SIGNAL, "gpu_pcie_transmit_bytes_per_second", NULL, NULL, 0, 1e12},
    [GPU_PCIE_RECEIVED] = {NO_SIGNAL, "gpu_pcie_receive_bytes_per_second", NULL, NULL, 0, 1e12},
    [GPU_ECC_CORRECTED] = {NO_SIGNAL, "gpu_ecc_errors_total", "kind", "corrected", 0, ANY_COUNT},
    [GPU_ECC_UNCORRECTED] = {NO_SIGNAL, "gpu_ecc_errors_total", "kind", "uncorrected", 0,
                             ANY_COUNT},
    [GPU_XID_LAST] = {SIGNAL_GPU_XID_LAST, NULL, NULL, NULL, 0, ANY_COUNT},
    [GPU_XID_EVENTS] = {NO_SIGNAL, "gpu_xid_events_total", NULL, NULL, 0, ANY_COUNT},
};

/* NVML's bits, under the names that throttle times have where there are both. */
static const struct {
    uint64_t bit;
    const char *name;
} reasons[] = {
    {0x1, "idle"},        {0x2, "app_clocks"},      {0x4, "power"},
    {0x8, "hw_slowdown"}, {0x10, "sync_boost"},     {0x20, "sw_thermal"},
    {0x40, "hw_thermal"}, {0x80, "hw_power_brake"}, {0x100, "display"},
};

#define OF_GPU "gpu, uuid, mig"
const struct source_series gpu_series[] = {
    {"gpu_up", METRIC_GAUGE, "", OF_GPU, "1: the GPU answers; 0: it does not (gpu_fault)."},
    {"gpu_fault", METRIC_GAUGE, "", OF_GPU ", reason",
     "1 while a GPU does not answer: \"lost\" (fallen off the bus), \"reset_required\", "
     "\"permission\", \"power\", \"irq\", \"unknown\"."},
    {"gpu_info", METRIC_GAUGE, "", OF_GPU ", name, driver", "1."},
    {"gpu_memory_utilization_ratio", METRIC_GAUGE, "ratio", OF_GPU,
     "Part of the time in which GPU memory was read or written."},
    {"gpu_throttle_active", METRIC_GAUGE, "", OF_GPU ", reason",
     "1 while clocks are lowered for this reason: a bit of gpu_throttle_reasons that the device "
     "knows."},
    {"gpu_nvlink_transmit_bytes_total", METRIC_COUNTER, "bytes", OF_GPU,
     "Payload sent over all NVLinks; with NVLink 5 all bytes."},
    {"gpu_nvlink_receive_bytes_total", METRIC_COUNTER, "bytes", OF_GPU,
     "Payload received over all NVLinks; with NVLink 5 all bytes."},
    {"gpu_pcie_transmit_bytes_per_second", METRIC_GAUGE, "bytes/s", OF_GPU,
     "Sent over PCIe, mean of 20 ms."},
    {"gpu_pcie_receive_bytes_per_second", METRIC_GAUGE, "bytes/s", OF_GPU,
     "Received over PCIe, mean of 20 ms."},
    {"gpu_ecc_errors_total", METRIC_COUNTER, "errors", OF_GPU ", kind",
     "Memory errors since the driver was loaded; kind \"corrected\" or \"uncorrected\"."},
    {"gpu_xid_events_total", METRIC_COUNTER, "events", OF_GPU,
     "XID errors while this program watched."},
    {"gpu_xid_code_events_total", METRIC_COUNTER, "events", OF_GPU ", xid",
     "The same by code; \"other\" beyond 16 codes."},
    {"gpu_processes", METRIC_GAUGE, "processes", OF_GPU, "Processes that use the GPU."},
    {"gpu_process_memory_bytes", METRIC_GAUGE, "bytes", OF_GPU ", pid, process",
     "GPU memory of a process. process is its name, where pid is a number of this machine and not "
     "of a container's host."},
};
const size_t gpu_series_n = ARRAY_LEN(gpu_series);

void gpu_reading_init(struct gpu_reading *r)
{
    *r = (struct gpu_reading){.reasons_known = UINT64_MAX};
    for (int i = 0; i < GPU_VALUE_COUNT_; i++)
        r->v[i] = (double)NAN;
}

void gpu_reading_put(struct gpu_reading *r, enum gpu_value what, double v)
{
    bool is_part = what == GPU_MEM_USED || what == GPU_MEM_FREE || what == GPU_MEM_RESERVED;

    if (!(v >= infos[what].min && v <= infos[what].max))
        return;
    if (is_part && v > r->v[GPU_MEM_TOTAL])
        return;
    r->v[what] = v;
}

void gpu_reading_add_process(struct gpu_reading *r, uint32_t pid, double bytes)
{
    struct gpu_process *p = r->processes;
    size_t i = 0;

    if (!(bytes >= 0 && bytes <= infos[GPU_MEM_TOTAL].max) || bytes > r->v[GPU_MEM_TOTAL])
        bytes = (double)NAN;
    while (i < r->n_processes && p[i].pid != pid)
        i++;
    if (i == GPU_PROCESSES_MAX || pid == 0 || pid > PID_LARGEST)
        return;
    if (i == r->n_processes)
        p[r->n_processes++] = (struct gpu_process){.pid = pid, .bytes = (double)NAN};
    if (isnan(p[i].bytes) || bytes > p[i].bytes)
        p[i].bytes = bytes;
}

/* The numbers that a driver tells are those of the first PID namespace. */
static bool is_first_namespace(const char *root)
{
    char path[PATH_MAX], to[64];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
    n = readlink(path, to, sizeof(to));
    return n > 0 && span_eq(span_of(to, (size_t)n), SPAN("pid:[4026531836]"));
}

void gpu_reading_name_processes(struct gpu_reading *r, const char *root)
{
    if (r->n_processes == 0 || !is_first_namespace(root))
        return;
    for (size_t i = 0; i < r->n_processes; i++) {
        char path[PATH_MAX];
        struct buf text;

        buf_init(&text, 64 * KIB);
        (void)snprintf(path, sizeof(path), "%s/proc/%u/comm", root, r->processes[i].pid);
        if (file_read(path, 32, &text) == 0) {
            struct span rest = buf_span(&text);

            (void)span_copy(span_split(&rest, '\n'), r->processes[i].name,
                            sizeof(r->processes[i].name));
        }
        buf_done(&text);
    }
}

/* A sample with the labels of the device and up to two more. */
static void add(const struct gpu_reading *r, struct source_out *o, const char *series,
                struct label a, struct label b, double v)
{
    struct label labels[] = {{SPAN("gpu"), span_cstr(r->gpu)},
                             {SPAN("uuid"), span_cstr(r->uuid)},
                             {SPAN("mig"), span_cstr(r->mig)},
                             a,
                             b};

    source_out_add(o, series, labels, b.name.n > 0 ? 5 : a.name.n > 0 ? 4 : 3, v);
}

static struct label label_of(const char *name, const char *value)
{
    return (struct label){span_cstr(name), span_cstr(value)};
}

#define NO_LABEL ((struct label){0})

static void tell_values(const struct gpu_reading *r, struct source_out *o)
{
    bool has_thermals =
        isfinite(r->v[GPU_THROTTLE_SW_THERMAL]) || isfinite(r->v[GPU_THROTTLE_HW_THERMAL]);

    for (int i = 0; i < GPU_VALUE_COUNT_; i++) {
        const struct value_info *info = &infos[i];
        const char *series =
            info->signal == NO_SIGNAL ? info->series : signal_table[info->signal].series;

        if (i != GPU_THROTTLE_THERMAL || !has_thermals)
            add(r, o, series, label_of(info->label, info->is), NO_LABEL, r->v[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(reasons) && isfinite(r->v[GPU_REASONS]); i++)
        if (r->reasons_known & reasons[i].bit)
            add(r, o, "gpu_throttle_active", label_of("reason", reasons[i].name), NO_LABEL,
                ((uint64_t)r->v[GPU_REASONS] & reasons[i].bit) != 0);
}

static void tell_xids(const struct gpu_reading *r, struct source_out *o)
{
    for (size_t i = 0; i < r->n_xids; i++) {
        char code[24] = "other";

        if (r->xids[i].code != UINT64_MAX)
            code[num_format_u64(r->xids[i].code, code)] = '\0';
        add(r, o, "gpu_xid_code_events_total", label_of("xid", code), NO_LABEL,
            (double)r->xids[i].n);
    }
}

static void tell_processes(const struct gpu_reading *r, struct source_out *o)
{
    if (!r->knows_processes)
        return;
    add(r, o, "gpu_processes", NO_LABEL, NO_LABEL,
        (double)(r->n_processes > r->n_processes_told ? r->n_processes : r->n_processes_told));
    for (size_t i = 0; i < r->n_processes; i++) {
        const struct gpu_process *p = &r->processes[i];
        char pid[24];

        pid[num_format_u64(p->pid, pid)] = '\0';
        add(r, o, "gpu_process_memory_bytes", label_of("pid", pid), label_of("process", p->name),
            p->bytes);
    }
}

void gpu_reading_tell(const struct gpu_reading *r, struct source_out *o)
{
    add(r, o, "gpu_up", NO_LABEL, NO_LABEL, r->fault == NULL);
    if (r->fault)
        add(r, o, "gpu_fault", label_of("reason", r->fault), NO_LABEL, 1);
    if (r->name[0] != '\0')
        add(r, o, "gpu_info", label_of("name", r->name), label_of("driver", r->driver), 1);
    tell_values(r, o);
    tell_xids(r, o);
    tell_processes(r, o);
}
