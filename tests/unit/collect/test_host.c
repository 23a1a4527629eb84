/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host source over made-up trees of /proc and /sys.
 */
#include <unistd.h>

#include "base/attr.h"
#include "collect/host_private.h"
#include "memfail.h"
#include "tempdir.h"
#include "told.h"

#define KIB 1024.0

struct run {
    struct tempdir dir;
    struct host_config config;
    void *source;
    struct batch *out;
    struct err err;
    enum source_state state;
};

static void read_again(struct run *t)
{
    batch_free(t->out);
    t->out = told_new();
    t->err = (struct err){.text = ""};
    t->state = source_host.read(t->source, 1000, t->out, &t->err);
    told_check(t->out);
}

static void begin(struct run *t)
{
    *t = (struct run){0};
    tempdir_make(&t->dir);
    t->config.root = t->dir.path;
    assert_int_equal(source_host.begin(&t->config, &t->source, &t->err), 0);
}

static void end(struct run *t)
{
    source_host.end(t->source);
    batch_free(t->out);
    tempdir_remove(&t->dir);
}

static const char stat_text[] = "cpu  1000 20 300 40000 50 6 7 8 9 10\n"
                                "cpu0 500 10 150 20000 25 3 3 4 4 5\n"
                                "cpu1 500 10 150 20000 25 3 4 4 5 5\n"
                                "intr 123 0 0\n"
                                "ctxt 999\n"
                                "btime 1700000000\n"
                                "processes 4242\n"
                                "procs_running 3\n"
                                "procs_blocked 1\n";
static const char meminfo_text[] = "MemTotal:       16000000 kB\n"
                                   "MemFree:         1000000 kB\n"
                                   "MemAvailable:    4000000 kB\n"
                                   "SwapCached:            0 kB\n"
                                   "SwapTotal:       2000000 kB\n"
                                   "SwapFree:        1500000 kB\n";
static const char vmstat_text[] = "nr_free_pages 1\npgpgin 2\npswpin 10\npswpout 20\n"
                                  "pgmajfault 30\noom_kill 2\n";
static const char diskstats_text[] =
    " 259       0 nvme0n1 100 5 2000 30 200 6 4000 70 0 1500 100 0 0 0 0 5 6\n"
    " 259       1 nvme0n1p1 100 5 2000 30 200 6 4000 70 0 1500 100\n"
    "   7       0 loop0 1 1 1 1 1 1 1 1 1 1 1\n"
    " 104       0 cciss/c0d0 1 0 2 0 1 0 4 0 0 9 9\n"
    "   8      16 sdb 1 2 3\n";
static const char netdev_text[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
    "    lo: 1000     10    0    0    0     0          0         0     1000      10    0    0    0 "
    "    0       0          0\n"
    "  eth0:123456789012 99 1 2 0 0 0 0 98765 77 3 4 0 0 0 0\n";
static const char pressure_text[] = "some avg10=12.50 avg60=3.00 avg300=0.25 total=5000000\n"
                                    "full avg10=1.00 avg60=0.50 avg300=0.00 total=1000000\n";

static void make_tree(const struct run *t)
{
    const char *root = t->dir.path;

    told_file(root, "proc/stat", stat_text);
    told_file(root, "proc/meminfo", meminfo_text);
    told_file(root, "proc/vmstat", vmstat_text);
    told_file(root, "proc/loadavg", "0.75 1.50 2.25 3/400 12345\n");
    told_file(root, "proc/diskstats", diskstats_text);
    told_file(root, "proc/net/dev", netdev_text);
    told_file(root, "proc/pressure/cpu", pressure_text);
    told_file(root, "proc/pressure/memory", pressure_text);
    told_file(root, "proc/pressure/io", pressure_text);
    told_file(root, "sys/block/nvme0n1/x", "");
    told_file(root, "sys/block/cciss!c0d0/x", "");
    told_file(root, "sys/block/loop0/x", "");
    told_file(root, "sys/block/sdb/x", "");
}

static void test_all_values(void **state)
{
    const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
    struct run t;
    (void)state;
    begin(&t);
    make_tree(&t);
    read_again(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_told(t.out, "host_cpus", 2);
    assert_told(t.out, "host_cpu_seconds_total{mode=\"user\"}", 1000 * tick);
    assert_told(t.out, "host_cpu_seconds_total{mode=\"idle\"}", 40000 * tick);
    assert_told(t.out, "host_cpu_seconds_total{mode=\"steal\"}", 8 * tick);
    assert_int_equal(told_count(t.out, "host_cpu_seconds_total"), 8);
    assert_told(t.out, "host_boot_time_seconds", 1700000000);
    assert_told(t.out, "host_processes_running", 3);
    assert_told(t.out, "host_processes_blocked", 1);
    assert_told(t.out, "host_load{window=\"1m\"}", 0.75);
    assert_told(t.out, "host_load{window=\"15m\"}", 2.25);
    assert_told(t.out, "host_memory_total_bytes", 16000000 * KIB);
    assert_told(t.out, "host_memory_available_bytes", 4000000 * KIB);
    assert_told(t.out, "host_memory_used_bytes", 12000000 * KIB);
    assert_told(t.out, "host_swap_total_bytes", 2000000 * KIB);
    assert_told(t.out, "host_swap_used_bytes", 500000 * KIB);
    assert_told(t.out, "host_swap_in_bytes_total", 10 * page);
    assert_told(t.out, "host_swap_out_bytes_total", 20 * page);
    assert_told(t.out, "host_page_faults_major_total", 30);
    assert_told(t.out, "host_oom_kills_total", 2);
    assert_told(t.out, "host_disk_read_bytes_total{device=\"nvme0n1\"}", 2000 * 512);
    assert_told(t.out, "host_disk_written_bytes_total{device=\"nvme0n1\"}", 4000 * 512);
    assert_told(t.out, "host_disk_io_seconds_total{device=\"nvme0n1\"}", 1.5);
    assert_told(t.out, "host_disk_io_seconds_total{device=\"cciss/c0d0\"}", 0.009);
    assert_untold(t.out, "host_disk_read_bytes_total{device=\"nvme0n1p1\"}");
    assert_untold(t.out, "host_disk_read_bytes_total{device=\"loop0\"}");
    assert_told(t.out, "host_disk_read_bytes_total{device=\"sdb\"}", 3 * 512);
    assert_untold(t.out, "host_disk_written_bytes_total{device=\"sdb\"}"); /* columns are missing */
    assert_told(t.out, "host_network_receive_bytes_total{device=\"lo\"}", 1000);
    assert_told(t.out, "host_network_receive_bytes_total{device=\"eth0\"}", 123456789012.0);
    assert_told(t.out, "host_network_receive_errors_total{device=\"eth0\"}", 1);
    assert_told(t.out, "host_network_receive_drops_total{device=\"eth0\"}", 2);
    assert_told(t.out, "host_network_transmit_bytes_total{device=\"eth0\"}", 98765);
    assert_told(t.out, "host_network_transmit_errors_total{device=\"eth0\"}", 3);
    assert_told(t.out, "host_network_transmit_drops_total{device=\"eth0\"}", 4);
    assert_told(t.out, "host_pressure_ratio{kind=\"some\", resource=\"cpu\", window=\"10s\"}",
                0.125);
    assert_told(t.out, "host_pressure_ratio{kind=\"full\", resource=\"io\", window=\"60s\"}",
                0.005);
    assert_told(t.out, "host_pressure_seconds_total{kind=\"some\", resource=\"memory\"}", 5);
    assert_int_equal(told_count(t.out, "host_pressure_ratio"), 18);
    end(&t);
}

/* An old kernel, or a container that sees little: what is not there is missing, the rest is told.
 */
static void test_little_to_see(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    told_file(t.dir.path, "proc/stat", "cpu  1 2 3 4\n"); /* before Linux 2.5.41 */
    told_file(t.dir.path, "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n");
    told_file(t.dir.path, "proc/vmstat", "pswpin 1\n");
    read_again(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_int_equal(told_count(t.out, "host_cpu_seconds_total"), 4);
    assert_untold(t.out, "host_cpus");
    assert_told(t.out, "host_memory_total_bytes", 1000 * KIB);
    assert_untold(t.out, "host_memory_available_bytes");
    assert_untold(t.out, "host_memory_used_bytes");
    assert_untold(t.out, "host_swap_total_bytes");
    assert_untold(t.out, "host_oom_kills_total");
    assert_int_equal(told_count(t.out, "host_pressure_ratio"), 0);
    assert_int_equal(told_count(t.out, "host_load"), 0);
    assert_int_equal(told_count(t.out, "host_cgroup_memory_limit_bytes"), 0);
    end(&t);
}

static void test_nothing_to_see(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    read_again(&t);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_int_equal(t.out->n, 0);
    assert_non_null(strstr(t.err.text, "proc/stat"));
    assert_true(t.err.hint[0] != '\0');
    make_tree(&t);
    read_again(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
    end(&t);
}

/* This machine, whatever it is. */
static void test_this_machine(void **state)
{
    struct host_config config = {.root = NULL};
    struct batch *out = told_new();
    struct err err;
    void *source;
    (void)state;
    assert_int_equal(source_host.begin(&config, &source, &err), 0);
    assert_int_equal(source_host.read(source, 1000, out, &err), SOURCE_WORKING);
    told_check(out);
    assert_true(told(out, "host_memory_total_bytes") > 1e6);
    assert_true(told(out, "host_cpus") >= 1);
    assert_true(told(out, "host_cpu_seconds_total{mode=\"user\"}") > 0);
    source_host.end(source);
    batch_free(out);
}

static void test_numbers_that_are_none(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    told_file(t.dir.path, "proc/stat",
              "cpu  18446744073709551615 18446744073709551616 -1 4x nan inf 1e3 0x10\n");
    told_file(t.dir.path, "proc/meminfo",
              "MemTotal: 18446744073709551615 kB\nMemAvailable: 99999999999999999999999 kB\n");
    told_file(t.dir.path, "proc/loadavg", "nan -1 99999999999999999999\n");
    told_file(t.dir.path, "proc/pressure/cpu",
              "some avg10=101 avg60=-1 avg300=nan total=-5\nfull avg10= =3 avg60\nmany avg10=1\n");
    told_file(t.dir.path, "proc/vmstat", "oom_kill\npswpin x\n");
    read_again(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_int_equal(told_count(t.out, "host_cpu_seconds_total"), 1);
    assert_untold(t.out, "host_memory_available_bytes");
    assert_int_equal(told_count(t.out, "host_load"), 1);
    assert_int_equal(told_count(t.out, "host_pressure_ratio"), 0);
    assert_int_equal(told_count(t.out, "host_pressure_seconds_total"), 0);
    assert_untold(t.out, "host_oom_kills_total");
    end(&t);
}

/* --- cut files: a value is as in the whole one, or missing --- */

typedef void (*parse)(struct span text, struct source_out *o);

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

static const struct batch_sample *find(const struct batch *b, struct labels l)
{
    for (size_t i = 0; i < b->n; i++)
        if (labels_eq(b->at[i].labels, l))
            return &b->at[i];
    return NULL;
}

static void check_prefixes(const char *name, const char *text, parse call)
{
    struct batch *whole = told_new();
    struct source_out o;
    size_t n_text = strlen(text);

    source_out_begin(&o, whole, 1);
    call(span_cstr(text), &o);
    assert_row(name, whole->n > 0);
    for (size_t n = 0; n < n_text; n++) {
        struct batch *part = told_new();
        char *copy = malloc(n + 1); /* of exactly that size, for the address sanitizer */
        memcpy(copy, text, n);
        source_out_begin(&o, part, 1);
        call(span_of(copy, n), &o);
        free(copy);
        for (size_t i = 0; i < part->n; i++) {
            const struct batch_sample *s = find(whole, part->at[i].labels);
            bool is_count = span_eq(labels_name(part->at[i].labels), SPAN("host_cpus"));
            if (!s || (s->v != part->at[i].v && !is_count))
                fail_msg("%s cut at %zu tells what the whole does not", name, n);
        }
        batch_free(part);
    }
    batch_free(whole);
}

static void test_every_prefix(void **state)
{
    (void)state;
    check_prefixes("stat", stat_text, parse_stat);
    check_prefixes("meminfo", meminfo_text, host_meminfo);
    check_prefixes("vmstat", vmstat_text, parse_vmstat);
    check_prefixes("diskstats", diskstats_text, parse_diskstats);
    check_prefixes("net/dev", netdev_text, host_netdev);
    check_prefixes("pressure", pressure_text, parse_pressure);
    check_prefixes("loadavg", "0.75 1.50 2.25 3/400 12345\n", host_loadavg);
    check_prefixes("cpu.stat", "usage_usec 123\nnr_periods 45\nnr_throttled 6\n",
                   host_cgroup_cpu_stat);
    check_prefixes("memory.events", "low 0\noom_kill 31\n", host_cgroup_memory_events);
}

static void test_many_devices(void **state)
{
    struct run t;
    struct buf text;
    (void)state;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&text, "8 0 sd%d 1 2 3 4 5 6 7 8 9 10 11\n", i), 0);
    assert_int_equal(buf_append(&text, span_of("", 1)), 0);
    begin(&t);
    told_file(t.dir.path, "proc/stat", stat_text);
    told_file(t.dir.path, "proc/diskstats", buf_span(&text).p);
    read_again(&t);
    assert_int_equal(told_count(t.out, "host_disk_read_bytes_total"), HOST_DEVICES_MAX);
    end(&t);
    buf_done(&text);
}

/* --- control groups --- */

static void test_cgroup(void **state)
{
    struct run t;
    const char *root;
    (void)state;
    begin(&t);
    root = t.dir.path;
    make_tree(&t);
    told_file(root, "proc/self/cgroup", "9:name=systemd:/\n0::/kube.slice/pod1/c1\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/c1/cpu.max", "max 100000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/cpu.max", "250000 100000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/cpu.max", "800000 100000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/c1/memory.max", "2000000000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/memory.max", "max\n");
    told_file(root, "sys/fs/cgroup/kube.slice/memory.max", "9000000000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/c1/memory.current", "1500000000\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/c1/memory.events", "oom 3\noom_kill 2\n");
    told_file(root, "sys/fs/cgroup/kube.slice/pod1/c1/cpu.stat",
              "usage_usec 5000000\nuser_usec 1\nnr_periods 100\nnr_throttled 7\n"
              "throttled_usec 2500000\n");
    read_again(&t);
    assert_told(t.out, "host_cgroup_cpu_limit_cpus", 2.5);
    assert_told(t.out, "host_cgroup_memory_limit_bytes", 2e9);
    assert_told(t.out, "host_cgroup_memory_used_bytes", 1.5e9);
    assert_told(t.out, "host_cgroup_oom_kills_total", 2);
    assert_told(t.out, "host_cgroup_cpu_seconds_total", 5);
    assert_told(t.out, "host_cgroup_cpu_periods_total", 100);
    assert_told(t.out, "host_cgroup_cpu_throttled_periods_total", 7);
    assert_told(t.out, "host_cgroup_cpu_throttled_seconds_total", 2.5);
    end(&t);
}

/* In a container of its own namespace the group is "/", and has limits. */
static void test_cgroup_of_a_container(void **state)
{
    static const char *const paths[] = {"0::/\n", "0::/../outside\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct run t;
        begin(&t);
        make_tree(&t);
        told_file(t.dir.path, "proc/self/cgroup", paths[i]);
        told_file(t.dir.path, "sys/fs/cgroup/cpu.max", "50000 100000\n");
        told_file(t.dir.path, "sys/fs/cgroup/memory.max", "1000000\n");
        told_file(t.dir.path, "sys/fs/cgroup/cpu.stat", "usage_usec 1000000\n");
        read_again(&t);
        assert_told(t.out, "host_cgroup_cpu_limit_cpus", 0.5);
        assert_told(t.out, "host_cgroup_memory_limit_bytes", 1e6);
        assert_told(t.out, "host_cgroup_cpu_seconds_total", 1);
        end(&t);
    }
}

static void test_no_cgroup(void **state)
{
    /* Version 1; the first group of a machine; nonsense. */
    static const char *const texts[] = {"4:memory:/x\n", "0::/\n", "0::x\n", "", "0::"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct run t;
        begin(&t);
        make_tree(&t);
        told_file(t.dir.path, "proc/self/cgroup", texts[i]);
        told_file(t.dir.path, "sys/fs/cgroup/cpu.stat", "usage_usec 1000000\n");
        read_again(&t);
        assert_row(texts[i], t.state == SOURCE_WORKING);
        for (size_t k = 0; k < t.out->n; k++)
            assert_false(span_starts_with(labels_name(t.out->at[k].labels), SPAN("host_cgroup")));
        end(&t);
    }
}

/* --- memory --- */

static int attempt(void *ctx)
{
    const struct run *t = ctx;
    struct err err = {.text = ""};
    struct batch *out = NULL;
    void *source = NULL;
    enum source_state s;
    int r = source_host.begin(&t->config, &source, &err);
    if (r < 0)
        return r;
    if (batch_new(&out) < 0) {
        source_host.end(source);
        return -ENOMEM;
    }
    s = source_host.read(source, 1000, out, &err);
    source_host.end(source);
    if (s != SOURCE_WORKING)
        assert_int_equal(out->n, 0);
    batch_free(out);
    return s == SOURCE_WORKING ? 0 : err.code;
}

static void test_without_memory(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    make_tree(&t);
    assert_true(memfail_each(attempt, &t) > 3);
    end(&t);
}

static void test_markdown(void **state)
{
    struct buf text;
    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(source_out_to_markdown(&text), 0);
    assert_true(span_find(buf_span(&text), SPAN("| `host_oom_kills_total` | host | counter |")) <
                buf_len(&text));
    assert_true(span_find(buf_span(&text), SPAN("| `gpu_up` | gpu | gauge |")) < buf_len(&text));
    assert_true(span_find(buf_span(&text), SPAN("| `clock_offset_seconds` | clock |")) <
                buf_len(&text));
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values),
        cmocka_unit_test(test_little_to_see),
        cmocka_unit_test(test_nothing_to_see),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_many_devices),
        cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_cgroup_of_a_container),
        cmocka_unit_test(test_no_cgroup),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_markdown),
    };
    return cmocka_run_group_tests_name("collect/host", tests, NULL, NULL);
}
