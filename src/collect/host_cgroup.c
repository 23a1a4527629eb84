/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_cgroup.c - the control group (v2) of this program: limits, throttling, kills.
 *
 * A limit of a group above counts as well; what is above a container cannot be seen from within.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "collect/host_private.h"

double host_cgroup_cpus(struct span cpu_max)
{
    struct span text = host_whole_lines(cpu_max), line = span_split(&text, '\n');
    double quota = host_next(&line), period = host_next(&line);

    return period > 0 ? quota / period : (double)NAN;
}

double host_cgroup_memory(struct span memory_max)
{
    struct span text = host_whole_lines(memory_max);

    return host_number(span_trim(span_split(&text, '\n')));
}

struct span host_cgroup_path(struct span text)
{
    while (text.n > 0) {
        struct span line = span_split(&text, '\n');

        if (span_starts_with(line, SPAN("0::/")))
            return span_from(line, 3);
    }
    return (struct span){0};
}

static void add_values(struct span text, const char *const (*rows)[2], const double *scales,
                       size_t n, struct source_out *o)
{
    text = host_whole_lines(text);
    while (text.n > 0) {
        struct span line = span_split(&text, '\n'), word = host_word(&line);
        double v = host_next(&line);

        for (size_t i = 0; i < n; i++)
            if (span_eq(word, span_cstr(rows[i][0])))
                host_add(o, rows[i][1], v * scales[i]);
    }
}

void host_cgroup_cpu_stat(struct span text, struct source_out *o)
{
    static const char *const rows[][2] = {
        {"usage_usec", "host_cgroup_cpu_seconds_total"},
        {"nr_periods", "host_cgroup_cpu_periods_total"},
        {"nr_throttled", "host_cgroup_cpu_throttled_periods_total"},
        {"throttled_usec", "host_cgroup_cpu_throttled_seconds_total"},
    };
    static const double scales[] = {1e-6, 1, 1, 1e-6};

    add_values(text, rows, scales, ARRAY_LEN(rows), o);
}

void host_cgroup_memory_events(struct span text, struct source_out *o)
{
    static const char *const rows[][2] = {{"oom_kill", "host_cgroup_oom_kills_total"}};
    static const double scales[] = {1};

    add_values(text, rows, scales, ARRAY_LEN(rows), o);
}

static double least(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static struct span group_file(struct host *h, const char *group, const char *name)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", group, name);
    return host_file(h, path, NULL);
}

void host_cgroup(struct host *h, struct source_out *o)
{
    struct span path = host_cgroup_path(host_file(h, "/proc/self/cgroup", NULL));
    struct host_limits limits = {(double)NAN, (double)NAN};
    char group[PATH_MAX - 64];

    if (path.n == 0 || path.n >= sizeof(group))
        return;
    (void)span_copy(path, group, sizeof(group));
    if (strncmp(group, "/..", 3) == 0) /* outside of what this container sees */
        group[1] = '\0';
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
    host_add(o, "host_cgroup_memory_used_bytes",
             host_cgroup_memory(group_file(h, group, "memory.current")));
    host_cgroup_memory_events(group_file(h, group, "memory.events"), o);
    if (group[0] != '\0' ||
        group_file(h, group, "cpu.max").n > 0) /* the very first has no limits */
        host_cgroup_cpu_stat(group_file(h, group, "cpu.stat"), o);
    for (;;) {
        char *slash = strrchr(group, '/');

        limits.cpus = least(limits.cpus, host_cgroup_cpus(group_file(h, group, "cpu.max")));
        limits.memory_bytes =
            least(limits.memory_bytes, host_cgroup_memory(group_file(h, group, "memory.max")));
        if (!slash)
            break;
        *slash = '\0';
    }
    host_add(o, "host_cgroup_cpu_limit_cpus", limits.cpus);
    host_add(o, "host_cgroup_memory_limit_bytes", limits.memory_bytes);
}
