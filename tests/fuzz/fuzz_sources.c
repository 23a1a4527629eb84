/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect: files of /proc and /sys, and what nvidia-smi prints. The first byte chooses the parser;
 * what it tells are finite numbers under names of the tables, with sorted labels.
 * fuzz-links: collect
 */
#include "pieces.h"

#include <errno.h>
#include <math.h>

#include "collect/gpu_smi_table.h"
#include "collect/host_private.h"
#include "engine/signal.h"

static void parse_rows(struct span text, struct source_out *o)
{
    struct gpu_smi_columns columns;
    static struct gpu_reading reading;
    char query[GPU_SMI_ARGUMENT_BYTES];
    struct span help = span_split(&text, '\n'), refused;
    if (gpu_smi_columns_known(&columns, help) == 0)
        gpu_smi_columns_all(&columns);
    refused = gpu_smi_table_refused(span_split(&text, '\n'));
    FUZZ_CHECK(pieces_is_within(refused, span_of(help.p, (size_t)(text.p - help.p) + text.n)));
    while (gpu_smi_columns_refuse(&columns, refused))
        continue;
    gpu_smi_columns_print(&columns, query, sizeof(query));
    FUZZ_CHECK(strlen(query) + 1 < sizeof(query));
    for (unsigned i = 0; text.n > 0; i++) {
        struct span line = span_split(&text, '\n'), uuid;
        uint32_t pid;
        double bytes;
        bool is_row = gpu_smi_table_row(&columns, line, i, &reading);
        if (gpu_smi_table_process(line, &uuid, &pid, &bytes))
            gpu_reading_add_process(&reading, pid, bytes);
        reading.knows_processes = true;
        if (is_row)
            gpu_reading_tell(&reading, o);
    }
}

static void parse_stat(struct span text, struct source_out *o)
{
    host_stat(text, 100, o);
}

static void parse_vmstat(struct span text, struct source_out *o)
{
    host_vmstat(text, 4096, o);
}

static void parse_diskstats(struct span text, struct source_out *o)
{
    host_diskstats(text, NULL, NULL, o);
}

static void parse_pressure(struct span text, struct source_out *o)
{
    host_pressure(text, "cpu", o);
}

static void parse_cgroup(struct span text, struct source_out *o)
{
    double cpus = host_cgroup_cpus(text), bytes = host_cgroup_memory(text);
    struct span path = host_cgroup_path(text);
    FUZZ_CHECK(isnan(cpus) || cpus >= 0);
    FUZZ_CHECK(isnan(bytes) || bytes >= 0);
    FUZZ_CHECK(pieces_is_within(path, text) && (path.n == 0 || path.p[0] == '/'));
    host_cgroup_cpu_stat(text, o);
    host_cgroup_memory_events(text, o);
}

static void parse_process(struct span text, struct source_out *o)
{
    struct host_process p;
    (void)o;
    if (host_process_parse(text, &p))
        FUZZ_CHECK(p.pid > 0 && memchr(p.name, '\0', sizeof(p.name)) && p.threads >= 0);
    (void)host_process_socket(text, 8000);
    (void)host_process_is_command(text, SPAN("vllm"));
}

static void (*const parsers[])(struct span text, struct source_out *o) = {
    parse_rows,      parse_stat,  host_loadavg,   host_meminfo, parse_vmstat,
    parse_diskstats, host_netdev, parse_pressure, parse_cgroup, parse_process,
};

static bool is_known(struct span name)
{
    for (int i = 0; i < SIGNAL_COUNT_; i++)
        if (span_eq(name, span_cstr(signal_table[i].series)))
            return true;
    for (size_t i = 0; i < gpu_series_n; i++)
        if (span_eq(name, span_cstr(gpu_series[i].series)))
            return true;
    for (size_t i = 0; i < host_series_n; i++)
        if (span_eq(name, span_cstr(host_series[i].series)))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch *out = NULL;
    struct source_out o;
    struct span text;
    uint8_t choice = pieces_choice(data, size, &text);
    if (size > 20000 || batch_new(&out) < 0)
        return 0;
    source_out_begin(&o, out, 1);
    parsers[choice % (sizeof(parsers) / sizeof(parsers[0]))](text, &o);
    FUZZ_CHECK(o.r == 0);
    for (size_t i = 0; i < out->n; i++) {
        struct labels l = out->at[i].labels;
        FUZZ_CHECK(isfinite(out->at[i].v) && is_known(labels_name(l)));
        for (size_t k = 0; k < l.n; k++)
            FUZZ_CHECK(l.at[k].value.n > 0 &&
                       (k == 0 || labels_cmp((struct labels){&l.at[k - 1], 1},
                                             (struct labels){&l.at[k], 1}) < 0));
    }
    batch_free(out);
    return 0;
}
