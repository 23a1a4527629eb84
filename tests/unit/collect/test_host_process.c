/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of local engines, found in made-up trees of /proc.
 */
#include <unistd.h>

#include "base/attr.h"
#include "collect/host_private.h"
#include "memfail.h"
#include "tempdir.h"
#include "told.h"

struct run {
    struct tempdir dir;
    struct host_engine engine;
    struct host_config config;
    void *source;
    struct batch *out;
    struct err err;
};

static void read_again(struct run *t)
{
    batch_free(t->out);
    t->out = told_new();
    assert_int_equal(source_host.read(t->source, 1000, t->out, &t->err), SOURCE_WORKING);
    told_check(t->out);
}

static void begin(struct run *t)
{
    *t = (struct run){.engine = {.name = "vllm"}};
    tempdir_make(&t->dir);
    t->config = (struct host_config){t->dir.path, &t->engine, 1};
    told_file(t->dir.path, "proc/stat", "cpu 1 2 3 4\n");
    assert_int_equal(source_host.begin(&t->config, &t->source, &t->err), 0);
}

static void end(struct run *t)
{
    source_host.end(t->source);
    batch_free(t->out);
    tempdir_remove(&t->dir);
}

static void add_process(const struct run *t, int pid, int parent, const char *name, int start)
{
    char path[64], text[512];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", pid);
    (void)snprintf(text, sizeof(text),
                   "%d (%s) S %d 1 1 0 -1 4194560 1 2 3 4 %d 50 0 0 20 0 %d 0 %d 1000000 %d "
                   "18446744073709551615 1 1\n",
                   pid, name, parent, 100 * pid, pid / 10, start, pid);
    told_file(t->dir.path, path, text);
}

static void add_words(const struct run *t, int pid, const char *words, size_t n)
{
    char path[64], at[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "proc/%d/cmdline", pid);
    told_file(t->dir.path, path, "");
    (void)snprintf(at, sizeof(at), "%s/%s", t->dir.path, path);
    f = fopen(at, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(words, 1, n, f), n);
    fclose(f);
}

static const char listening[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F40 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 "
    "111 1\n"
    "   1: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "222 1\n";

static void make_processes(const struct run *t)
{
    add_process(t, 1, 0, "systemd", 1);
    add_process(t, 50, 1, "python3", 20);
    add_process(t, 60, 50, "VLLM::EngineCor", 30);
    add_process(t, 70, 60, "a) S 1 (b", 40); /* a name that looks like more */
    add_process(t, 80, 1, "bash", 10);
    add_process(t, 90, 1, "python3", 25);
    add_words(t, 50, "/usr/bin/python3\0/opt/bin/vllm\0serve\0", 38);
    add_words(t, 90, "python3\0-m\0sglang.launch_server\0--port\0", 39);
    told_file(t->dir.path, "proc/99999999999/stat", "junk");
    told_file(t->dir.path, "proc/12x/stat", "junk");
}

#define LABELS(pid, command) "{command=\"" command "\", engine=\"vllm\", pid=\"" pid "\"}"

static void check_found(struct run *t)
{
    const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);

    read_again(t);
    assert_told(t->out, "host_engine_processes{engine=\"vllm\"}", 3);
    assert_told(t->out, "host_engine_process_cpu_seconds_total" LABELS("50", "python3"),
                5050 * tick);
    assert_told(t->out, "host_engine_process_threads" LABELS("60", "VLLM::EngineCor"), 6);
    assert_told(t->out, "host_engine_process_memory_resident_bytes" LABELS("70", "a) S 1 (b"),
                70 * page);
}

static void test_by_file(void **state)
{
    struct run t;
    char path[256];
    (void)state;
    begin(&t);
    make_processes(&t);
    (void)snprintf(path, sizeof(path), "%s/vllm.pid", t.dir.path);
    t.engine.pid_file = path;
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 0); /* there is no such file */
    told_file(t.dir.path, "vllm.pid", "50\n");
    check_found(&t);
    told_file(t.dir.path, "vllm.pid", "80\n");
    check_found(&t);                       /* while that one lives, it is the one */
    add_process(&t, 50, 1, "another", 99); /* its number went to another process */
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 1);
    assert_told(t.out, "host_engine_process_threads" LABELS("80", "bash"), 8);
    end(&t);
}

static void test_pid_files_that_are_none(void **state)
{
    static const char *const texts[] = {"",    "x",   "-1", "0", "99999999999999999999",
                                        "4 0", "777", "1e1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct run t;
        char path[256];
        begin(&t);
        make_processes(&t);
        (void)snprintf(path, sizeof(path), "%s/vllm.pid", t.dir.path);
        told_file(t.dir.path, "vllm.pid", texts[i]);
        t.engine.pid_file = path;
        read_again(&t);
        assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 0);
        end(&t);
    }
}

/* A file that outlived its process is no reason not to find the next one. */
static void test_stale_pid_file(void **state)
{
    struct run t;
    char path[256];
    (void)state;
    begin(&t);
    make_processes(&t);
    (void)snprintf(path, sizeof(path), "%s/vllm.pid", t.dir.path);
    told_file(t.dir.path, "vllm.pid", "777\n");
    t.engine.pid_file = path;
    t.engine.command = "vllm";
    check_found(&t);
    end(&t);
}

static void test_by_port(void **state)
{
    static const char *const files[] = {"proc/net/tcp", "proc/net/tcp6"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct run t;
        char path[256];
        begin(&t);
        make_processes(&t);
        t.engine.port = 8000;
        told_file(t.dir.path, files[i], listening);
        read_again(&t);
        assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 0); /* nobody's we can see */
        told_file(t.dir.path, "proc/50/fd/x", "");
        (void)snprintf(path, sizeof(path), "%s/proc/50/fd/7", t.dir.path);
        assert_int_equal(symlink("socket:[222]", path), 0);
        check_found(&t);
        end(&t);
    }
}

static void test_by_command(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    make_processes(&t);
    t.engine.command = "vllm";
    check_found(&t);
    end(&t);
    begin(&t);
    make_processes(&t);
    t.engine.command = "sglang.launch_server";
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 1);
    end(&t);
    begin(&t);
    make_processes(&t);
    t.engine.command = "VLLM::EngineCor"; /* by its short name */
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 2);
    end(&t);
    begin(&t);
    make_processes(&t);
    t.engine.command = "serv"; /* no part of a word */
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", 0);
    end(&t);
}

/* A family larger than there is room for, and one that goes in a circle. */
static void test_large_families(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    for (int i = 0; i < 100; i++)
        add_process(&t, 1000 + i, i == 0 ? 1099 : 1000 + i / 2, "worker", 1 + i);
    t.engine.command = "worker";
    read_again(&t);
    assert_told(t.out, "host_engine_processes{engine=\"vllm\"}", HOST_PROCESSES_MAX);
    end(&t);
}

static void test_parse(void **state)
{
    static const char good[] = "50 (a (b) c) S 1 1 1 0 -1 4194560 1 2 3 4 11 22 0 0 20 0 7 0 99 "
                               "1000 33 1";
    static const char *const bad[] = {
        "",
        "50",
        "50 (a",
        "50 a) S",
        ") (",
        "50 () S 1",
        "x (a) S 1 1 1 0 0 0 0 0 0 0 1 1 0 0 0 0 1 0 1 1 1",
        "0 (a) S 1 1 1 0 -1 4194560 1 2 3 4 11 22 0 0 20 0 7 0 99 1000 33 1",
        "50 (a) S -1 1 1 0 -1 4194560 1 2 3 4 11 22 0 0 20 0 7 0 99 1000 33 1",
    };
    struct host_process p;
    (void)state;
    assert_true(host_process_parse(span_cstr(good), &p));
    assert_string_equal(p.name, "a (b) c");
    assert_true(p.pid == 50 && p.parent == 1 && p.cpu_ticks == 33 && p.threads == 7 &&
                p.start_ticks == 99 && p.resident_pages == 33);
    for (size_t n = 0; n < strlen(good) - 4; n++)
        assert_false(host_process_parse(span_of(good, n), &p));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_row(bad[i], !host_process_parse(span_cstr(bad[i]), &p));
    assert_int_equal(host_process_socket(span_cstr(listening), 8000), 222);
    assert_int_equal(host_process_socket(span_cstr(listening), 8001), 0);
    for (size_t n = 0; n < strlen(listening) - 6; n++)
        assert_int_equal(host_process_socket(span_of(listening, n), 8000), 0);
}

/* This process, found by what it is. */
static void test_ourselves(void **state)
{
    struct host_engine engine = {.name = "vllm", .command = "unit_collect_test_host_process"};
    struct host_config config = {"/", &engine, 1};
    struct batch *out = told_new();
    struct err err;
    void *source;
    (void)state;
    assert_int_equal(source_host.begin(&config, &source, &err), 0);
    assert_int_equal(source_host.read(source, 1000, out, &err), SOURCE_WORKING);
    assert_true(told(out, "host_engine_processes{engine=\"vllm\"}") >= 1);
    source_host.end(source);
    batch_free(out);
}

static int attempt(void *ctx)
{
    const struct run *t = ctx;
    struct err err = {.text = ""};
    struct batch *out = NULL;
    void *source = NULL;
    enum source_state s;
    double n = 0;
    int r = source_host.begin(&t->config, &source, &err);
    if (r < 0)
        return r;
    if (batch_new(&out) < 0) {
        source_host.end(source);
        return -ENOMEM;
    }
    s = source_host.read(source, 1000, out, &err);
    source_host.end(source);
    assert_true(s == SOURCE_WORKING || out->n == 0);
    for (size_t i = 0; i < out->n; i++) /* without memory, which fails */
        if (span_eq(labels_name(out->at[i].labels), SPAN("host_engine_processes")))
            n = out->at[i].v;
    batch_free(out);
    return s == SOURCE_WORKING && n == 3 ? 0 : -ENOMEM;
}

static void test_without_memory(void **state)
{
    struct run t;
    (void)state;
    begin(&t);
    make_processes(&t);
    t.engine.command = "vllm";
    assert_true(memfail_each(attempt, &t) > 3);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_file),        cmocka_unit_test(test_pid_files_that_are_none),
        cmocka_unit_test(test_stale_pid_file), cmocka_unit_test(test_by_port),
        cmocka_unit_test(test_by_command),     cmocka_unit_test(test_large_families),
        cmocka_unit_test(test_parse),          cmocka_unit_test(test_ourselves),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("collect/host_process", tests, NULL, NULL);
}
