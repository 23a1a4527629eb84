/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_private.h - what the files of host share.
 *
 * Parsers take the text of a file, whole or cut, and add what they understand.
 */
#ifndef COLLECT_HOST_PRIVATE_H
#define COLLECT_HOST_PRIVATE_H

#include "collect/host.h"

/* What was found of an engine, so that it is not looked for each time. */
struct host_found {
    uint32_t pid;
    uint64_t start_ticks; /* since boot: with the number, which process it is */
};

struct host {
    struct host_config config; /* root: "" for "/" */
    struct buf text;           /* of the file being read */
    struct host_found *found;  /* per engine; pid 0: none */
    bool has_no_memory;        /* in this reading */
};

/* --- texts --- */

/* The next word of a line, between blanks; empty at its end. */
struct span host_word(struct span *line);
/* Without a last line that has no end: its number may be half of one. */
struct span host_whole_lines(struct span text);
double host_number(struct span word); /* NaN: it is no whole number */
double host_next(struct span *line);  /* of the next word */
/* The text of ROOT/path, until the next call; empty when it cannot be read (*ret_r, may be NULL,
 * says why). More than HOST_FILE_BYTES are cut. */
struct span host_file(struct host *h, const char *path, int *ret_r);

void host_add(struct source_out *o, const char *series, double v);
void host_add_of(struct source_out *o, const char *series, const char *label, struct span is,
                 double v);

/* --- parsers --- */

void host_stat(struct span text, double ticks_per_s, struct source_out *o);
void host_loadavg(struct span text, struct source_out *o);
void host_meminfo(struct span text, struct source_out *o);
void host_vmstat(struct span text, double page_bytes, struct source_out *o);
/* is_disk: whether a device is one, not a part of one; NULL: by its name. */
void host_diskstats(struct span text, bool (*is_disk)(void *ctx, struct span device), void *ctx,
                    struct source_out *o);
void host_netdev(struct span text, struct source_out *o);
void host_pressure(struct span text, const char *resource, struct source_out *o);

/* Of one control group; NaN: no limit there. */
struct host_limits {
    double cpus, memory_bytes;
};
double host_cgroup_cpus(struct span cpu_max);
double host_cgroup_memory(struct span memory_max);
/* The path of the v2 group in /proc/self/cgroup; empty: none. */
struct span host_cgroup_path(struct span text);
void host_cgroup_cpu_stat(struct span text, struct source_out *o);
void host_cgroup_memory_events(struct span text, struct source_out *o);
void host_cgroup(struct host *h, struct source_out *o);

struct host_process {
    uint32_t pid, parent;
    char name[32];
    double cpu_ticks, threads, resident_pages;
    uint64_t start_ticks;
};
/* /proc/PID/stat, whose second word may hold anything. False: cut, or none. */
bool host_process_parse(struct span text, struct host_process *ret);
/* The socket that listens at port, of /proc/net/tcp or tcp6; 0: none. */
uint64_t host_process_socket(struct span text, uint16_t port);
/* Whether a command line (words ended by NUL) is one of that command. */
bool host_process_is_command(struct span words, struct span command);
/* The first process of the engine; false: it is not there, or may not be seen. */
bool host_process_find(struct host *h, const struct host_engine *e, struct host_process *ret);
bool host_process_read(struct host *h, uint32_t pid, struct host_process *ret);
void host_processes(struct host *h, struct source_out *o);

/* Calls visit for each number in ROOT/proc until it says false. */
void host_each_pid(struct host *h, bool (*visit)(void *ctx, uint32_t pid), void *ctx);

#endif
