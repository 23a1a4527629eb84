/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_series.c - the table of series of the host.
 */
#include "collect/host.h"

#define ENGINE_LABELS "engine, pid, command"

const struct source_series host_series[] = {
    {"host_cpus", METRIC_GAUGE, "cpus", "", "CPUs that are online."},
    {"host_cpu_seconds_total", METRIC_COUNTER, "seconds", "mode",
     "Time that all CPUs together spent: user, nice, system, idle, iowait, irq, softirq, steal. "
     "Time of guests is in user."},
    {"host_load", METRIC_GAUGE, "processes", "window",
     "Processes that run or wait for a CPU or a disk, over 1m, 5m, 15m."},
    {"host_processes_running", METRIC_GAUGE, "processes", "", "Processes that can run."},
    {"host_processes_blocked", METRIC_GAUGE, "processes", "", "Processes that wait for a disk."},
    {"host_boot_time_seconds", METRIC_GAUGE, "seconds", "", "When the kernel began, Unix time."},
    {"host_memory_total_bytes", METRIC_GAUGE, "bytes", "", "Memory."},
    {"host_memory_available_bytes", METRIC_GAUGE, "bytes", "",
     "Memory that programs can have without swapping; missing before Linux 3.14."},
    {"host_memory_used_bytes", METRIC_GAUGE, "bytes", "", "Total less available."},
    {"host_swap_total_bytes", METRIC_GAUGE, "bytes", "", "Swap space."},
    {"host_swap_used_bytes", METRIC_GAUGE, "bytes", "", "Swap space in use."},
    {"host_swap_in_bytes_total", METRIC_COUNTER, "bytes", "", "Read back from swap."},
    {"host_swap_out_bytes_total", METRIC_COUNTER, "bytes", "", "Written to swap."},
    {"host_page_faults_major_total", METRIC_COUNTER, "faults", "",
     "Page faults that had to read from a disk."},
    {"host_oom_kills_total", METRIC_COUNTER, "processes", "",
     "Processes killed for lack of memory; missing before Linux 4.13."},
    {"host_disk_read_bytes_total", METRIC_COUNTER, "bytes", "device",
     "Read from a disk. Devices that lie on others (dm, md) are told beside those."},
    {"host_disk_written_bytes_total", METRIC_COUNTER, "bytes", "device", "Written to a disk."},
    {"host_disk_io_seconds_total", METRIC_COUNTER, "seconds", "device",
     "Time in which a disk had something to do."},
    {"host_network_receive_bytes_total", METRIC_COUNTER, "bytes", "device", "Received."},
    {"host_network_receive_errors_total", METRIC_COUNTER, "packets", "device",
     "Received with errors."},
    {"host_network_receive_drops_total", METRIC_COUNTER, "packets", "device",
     "Received and dropped."},
    {"host_network_transmit_bytes_total", METRIC_COUNTER, "bytes", "device", "Sent."},
    {"host_network_transmit_errors_total", METRIC_COUNTER, "packets", "device",
     "Not sent for errors."},
    {"host_network_transmit_drops_total", METRIC_COUNTER, "packets", "device",
     "Dropped instead of sent."},
    {"host_pressure_ratio", METRIC_GAUGE, "ratio", "resource, kind, window",
     "Part of the time in which some or all (kind full) tasks waited for cpu, memory or io, over "
     "10s, 60s, 300s."},
    {"host_pressure_seconds_total", METRIC_COUNTER, "seconds", "resource, kind", "That time."},
    {"host_cgroup_cpu_limit_cpus", METRIC_GAUGE, "cpus", "",
     "CPUs that this program's control group may use, the least of it and those above; missing "
     "without a limit. The same of the next ones."},
    {"host_cgroup_cpu_seconds_total", METRIC_COUNTER, "seconds", "", "CPU time of the group."},
    {"host_cgroup_cpu_periods_total", METRIC_COUNTER, "periods", "",
     "Periods in which the group's limit was looked at."},
    {"host_cgroup_cpu_throttled_periods_total", METRIC_COUNTER, "periods", "",
     "Those in which it was held back."},
    {"host_cgroup_cpu_throttled_seconds_total", METRIC_COUNTER, "seconds", "",
     "Time in which it was held back."},
    {"host_cgroup_memory_limit_bytes", METRIC_GAUGE, "bytes", "", "Memory that it may use."},
    {"host_cgroup_memory_used_bytes", METRIC_GAUGE, "bytes", "",
     "Memory in use, page cache included."},
    {"host_cgroup_oom_kills_total", METRIC_COUNTER, "processes", "",
     "Processes of the group killed for lack of memory."},
    {"host_engine_processes", METRIC_GAUGE, "processes", "engine",
     "Processes of a local engine, its descendants included; 0: not found, or not visible to this "
     "user."},
    {"host_engine_process_cpu_seconds_total", METRIC_COUNTER, "seconds", ENGINE_LABELS,
     "CPU time of a process of an engine."},
    {"host_engine_process_memory_resident_bytes", METRIC_GAUGE, "bytes", ENGINE_LABELS,
     "Memory that is resident, with what is shared."},
    {"host_engine_process_threads", METRIC_GAUGE, "threads", ENGINE_LABELS, "Its threads."},
};
const size_t host_series_n = ARRAY_LEN(host_series);
