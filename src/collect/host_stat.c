/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_stat.c - /proc/stat, loadavg, meminfo, vmstat, pressure.
 */
#include <math.h>

#include "base/num.h"
#include "collect/host_private.h"

#define KIB_BYTES 1024.0

/* --- stat --- */

static void cpu_modes(struct span line, double ticks_per_s, struct source_out *o)
{
    static const char *const modes[] = {"user",   "nice", "system",  "idle",
                                        "iowait", "irq",  "softirq", "steal"};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        host_add_of(o, "host_cpu_seconds_total", "mode", span_cstr(modes[i]),
                    host_next(&line) / ticks_per_s);
}

void host_stat(struct span text, double ticks_per_s, struct source_out *o)
{
    static const struct {
        const char *word, *series;
    } rows[] = {
        {"btime", "host_boot_time_seconds"},
        {"procs_running", "host_processes_running"},
        {"procs_blocked", "host_processes_blocked"},
    };
    double n_cpus = 0;

    text = host_whole_lines(text);
    while (text.n > 0) {
        struct span line = span_split(&text, '\n'), word = host_word(&line);

        if (span_eq(word, SPAN("cpu")))
            cpu_modes(line, ticks_per_s, o);
        else if (span_starts_with(word, SPAN("cpu")) && !isnan(host_number(span_from(word, 3))))
            n_cpus++;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            if (span_eq(word, span_cstr(rows[i].word)))
                host_add(o, rows[i].series, host_next(&line));
    }
    host_add(o, "host_cpus", n_cpus > 0 ? n_cpus : (double)NAN);
}

void host_loadavg(struct span text, struct source_out *o)
{
    static const char *const windows[] = {"1m", "5m", "15m"};

    text = host_whole_lines(text);
    text = span_split(&text, '\n');
    for (size_t i = 0; i < ARRAY_LEN(windows); i++) {
        double v;

        if (num_parse_double(host_word(&text), &v) == 0 && v >= 0)
            host_add_of(o, "host_load", "window", span_cstr(windows[i]), v);
    }
}

/* --- meminfo, vmstat: a name and a number per line --- */

/* The values of these names, NaN for those that are not there. */
static void find_values(struct span text, const char *const *names, size_t n, double *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (double)NAN;
    while (text.n > 0) {
        struct span line = span_split(&text, '\n'), word = host_word(&line);

        for (size_t i = 0; i < n; i++)
            if (span_eq(word, span_cstr(names[i])))
                ret[i] = host_next(&line);
    }
}

void host_meminfo(struct span text, struct source_out *o)
{
    enum { TOTAL, AVAILABLE, SWAP, SWAP_FREE, COUNT };
    static const char *const names[COUNT] = {
        [TOTAL] = "MemTotal:",
        [AVAILABLE] = "MemAvailable:",
        [SWAP] = "SwapTotal:",
        [SWAP_FREE] = "SwapFree:",
    };
    double kib[COUNT];

    find_values(host_whole_lines(text), names, COUNT, kib);
    host_add(o, "host_memory_total_bytes", kib[TOTAL] * KIB_BYTES);
    host_add(o, "host_memory_available_bytes", kib[AVAILABLE] * KIB_BYTES);
    if (kib[AVAILABLE] <= kib[TOTAL])
        host_add(o, "host_memory_used_bytes", (kib[TOTAL] - kib[AVAILABLE]) * KIB_BYTES);
    host_add(o, "host_swap_total_bytes", kib[SWAP] * KIB_BYTES);
    if (kib[SWAP_FREE] <= kib[SWAP])
        host_add(o, "host_swap_used_bytes", (kib[SWAP] - kib[SWAP_FREE]) * KIB_BYTES);
}

void host_vmstat(struct span text, double page_bytes, struct source_out *o)
{
    enum { IN, OUT, FAULTS, KILLS, COUNT };
    static const char *const names[COUNT] = {
        [IN] = "pswpin",
        [OUT] = "pswpout",
        [FAULTS] = "pgmajfault",
        [KILLS] = "oom_kill",
    };
    double v[COUNT];

    find_values(host_whole_lines(text), names, COUNT, v);
    host_add(o, "host_swap_in_bytes_total", v[IN] * page_bytes);
    host_add(o, "host_swap_out_bytes_total", v[OUT] * page_bytes);
    host_add(o, "host_page_faults_major_total", v[FAULTS]);
    host_add(o, "host_oom_kills_total", v[KILLS]);
}

/* --- pressure: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" --- */

static void pressure_value(struct span word, struct label *labels, struct source_out *o)
{
    static const struct {
        const char *name, *window; /* NULL: the total */
    } rows[] = {{"avg10", "10s"}, {"avg60", "60s"}, {"avg300", "300s"}, {"total", NULL}};
    struct span name = span_split(&word, '=');
    double v;

    if (num_parse_double(word, &v) < 0 || v < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!span_eq(name, span_cstr(rows[i].name)))
            continue;
        labels[2] = (struct label){SPAN("window"), span_cstr(rows[i].window)};
        if (!rows[i].window)
            source_out_add(o, "host_pressure_seconds_total", labels, 2, v * 1e-6);
        else if (v <= 100)
            source_out_add(o, "host_pressure_ratio", labels, 3, v / 100);
    }
}

void host_pressure(struct span text, const char *resource, struct source_out *o)
{
    text = host_whole_lines(text);
    while (text.n > 0) {
        struct span line = span_split(&text, '\n'), kind = host_word(&line);
        struct label labels[3] = {{SPAN("resource"), span_cstr(resource)}, {SPAN("kind"), kind}};

        if (!span_eq(kind, SPAN("some")) && !span_eq(kind, SPAN("full")))
            continue;
        for (struct span word = host_word(&line); word.n > 0; word = host_word(&line))
            pressure_value(word, labels, o);
    }
}
