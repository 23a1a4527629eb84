/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host.h - the machine that this program runs on, from /proc and /sys (source_host).
 *
 * Role:      CPU, load, memory, swap, out-of-memory kills, disks, network, pressure, the limits of
 *            the control group (v2) that this program is in, and processes of engines that run
 *            here.
 * Missing:   what this kernel or container does not tell (no PSI, no MemAvailable, a cut line).
 * States:    broken: neither /proc/stat nor /proc/meminfo can be read.
 * Limits:    HOST_DEVICES_MAX disks and as many network interfaces, HOST_PROCESSES_MAX processes of
 *            an engine; a file is read up to HOST_FILE_BYTES.
 * Threading: the source's.
 * Source:    proc(5), the kernel's Documentation: accounting/psi, admin-guide/iostats, cgroup-v2.
 */
#ifndef COLLECT_HOST_H
#define COLLECT_HOST_H

#include "collect/source_out.h"

enum {
    HOST_DEVICES_MAX = 256,
    HOST_PROCESSES_MAX = 32,
    HOST_FILE_BYTES = 16 * 1024 * 1024,
};

/* An engine that runs here: how its first process is found, by one way after the other. Its
 * descendants belong to it. */
struct host_engine {
    const char *name;     /* label engine */
    const char *pid_file; /* a file with its number; NULL: not by this */
    uint16_t port;        /* that it listens at; 0: not by this */
    const char *command;  /* its name, or the file name of one of its first arguments;
                           * the one that began first */
};

struct host_config {
    const char *root; /* where proc/ and sys/ are; NULL: "/" */
    const struct host_engine *engines;
    size_t n_engines;
};

extern const struct source_series host_series[];
extern const size_t host_series_n;

#endif
