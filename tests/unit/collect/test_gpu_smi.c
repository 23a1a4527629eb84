/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU source over a made-up nvidia-smi (fake_nvidia_smi), and its table alone.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "collect/gpu.h"
#include "collect/gpu_smi_table.h"
#include "memfail.h"
#include "tempdir.h"
#include "told.h"

#define MIB                1048576.0
#define GPU_0              "gpu=\"0\", uuid=\"GPU-smi-0\""
#define GPU_1              "gpu=\"1\", uuid=\"GPU-smi-1\""
#define OF(metric, labels) metric "{" labels "}"

static const char fake[] = "tests/unit/collect/fake_nvidia_smi";

struct run {
    void *source;
    struct batch *out;
    struct err err;
    enum source_state state;
};

static int64_t t_ms = 1000;
static const char *log_dir = "/nonexistent"; /* where the fake finds its log */

static void set_mode(const char *mode)
{
    char home[512];

    (void)snprintf(home, sizeof(home), "%s/%s", log_dir, mode);
    assert_int_equal(setenv("HOME", home, 1), 0);
}

static void read_again(struct run *t, const char *mode)
{
    set_mode(mode);
    batch_free(t->out);
    t->out = told_new();
    t->err = (struct err){.text = ""};
    t->state = source_gpu.read(t->source, t_ms, t->out, &t->err);
    told_check(t->out);
    assert_true(t->state == SOURCE_WORKING || (t->err.text[0] != '\0' && t->out->n == 0));
}

static void begin(struct run *t, const char *path, const char *mode, int64_t deadline_ms)
{
    struct gpu_config config = {
        .nvml_path = "", .smi_path = path, .root = "/nonexistent", .smi_deadline_ms = deadline_ms};
    *t = (struct run){0};
    assert_int_equal(source_gpu.begin(&config, &t->source, &t->err), 0);
    read_again(t, mode);
}

static void end(struct run *t)
{
    source_gpu.end(t->source);
    batch_free(t->out);
}

static void test_all_values(void **state)
{
    struct run t;
    (void)state;
    begin(&t, fake, "good", 0);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_told(t.out, OF("gpu_up", GPU_0), 1);
    assert_told(t.out, OF("gpu_up", GPU_1), 1);
    assert_told(t.out,
                "gpu_info{driver=\"535.104.05\", gpu=\"0\", name=\"NVIDIA A10G\", "
                "uuid=\"GPU-smi-0\"}",
                1);
    assert_told(t.out, OF("gpu_utilization_ratio", GPU_1), 0.55);
    assert_told(t.out, OF("gpu_memory_utilization_ratio", GPU_1), 0.2);
    assert_told(t.out, OF("gpu_memory_total_bytes", GPU_0), 23028 * MIB);
    assert_told(t.out, OF("gpu_memory_used_bytes", GPU_0), 20000 * MIB);
    assert_told(t.out, OF("gpu_memory_free_bytes", GPU_0), 2731 * MIB);
    assert_told(t.out, OF("gpu_memory_reserved_bytes", GPU_0), 297 * MIB);
    assert_told(t.out, OF("gpu_power_watts", GPU_0), 150.52);
    assert_told(t.out, OF("gpu_power_limit_watts", GPU_0), 300);
    assert_told(t.out, OF("gpu_temperature_celsius", GPU_0), 48);
    assert_untold(t.out, OF("gpu_memory_temperature_celsius", GPU_0));
    assert_told(t.out, OF("gpu_sm_clock_hertz", GPU_0), 1710e6);
    assert_told(t.out, OF("gpu_memory_clock_hertz", GPU_0), 6250e6);
    assert_told(t.out, OF("gpu_throttle_reasons", GPU_0), 4);
    assert_told(t.out, "gpu_throttle_active{gpu=\"0\", reason=\"power\", uuid=\"GPU-smi-0\"}", 1);
    assert_told(t.out, "gpu_throttle_active{gpu=\"0\", reason=\"display\", uuid=\"GPU-smi-0\"}", 0);
    assert_told(t.out,
                "gpu_throttle_seconds_total{gpu=\"0\", reason=\"power\", uuid=\"GPU-smi-0\"}", 2.5);
    assert_told(t.out, "gpu_ecc_errors_total{gpu=\"0\", kind=\"corrected\", uuid=\"GPU-smi-0\"}",
                3);
    assert_told(t.out, OF("gpu_processes", GPU_0), 2);
    assert_told(t.out, OF("gpu_processes", GPU_1), 1);
    assert_told(t.out, "gpu_process_memory_bytes{gpu=\"0\", pid=\"4242\", uuid=\"GPU-smi-0\"}",
                1000 * MIB);
    assert_untold(t.out, "gpu_process_memory_bytes{gpu=\"0\", pid=\"4243\", uuid=\"GPU-smi-0\"}");
    end(&t);
}

/* Fields under their old names, or not at all; whether its help says so or its refusals. */
static void test_old_drivers(void **state)
{
    static const char *const modes[] = {"old", "oldnohelp"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct run t;
        begin(&t, fake, modes[i], 0);
        if (i == 1) { /* so many refusals are for two readings */
            assert_row(t.err.text, t.state == SOURCE_BROKEN);
            assert_non_null(strstr(t.err.text, "still being learnt"));
            read_again(&t, modes[i]);
        }
        assert_row(t.err.text, t.state == SOURCE_WORKING);
        assert_told(t.out, OF("gpu_throttle_reasons", GPU_0), 4);
        assert_told(t.out, OF("gpu_sm_clock_hertz", GPU_0), 1710e6);
        assert_told(t.out, OF("gpu_power_limit_watts", GPU_0), 300);
        assert_untold(t.out, OF("gpu_memory_reserved_bytes", GPU_0));
        assert_int_equal(told_count(t.out, "gpu_throttle_seconds_total"), 0);
        end(&t);
    }
}

static size_t count_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = 0;
    assert_non_null(f);
    for (int c = fgetc(f); c != EOF; c = fgetc(f))
        n += c == '\n';
    fclose(f);
    return n;
}

/* It learns once. */
static void test_what_was_learnt_stays(void **state)
{
    struct tempdir dir;
    struct run t;
    size_t n;
    (void)state;
    tempdir_make(&dir);
    told_file(dir.path, "log", "");
    log_dir = dir.path;
    begin(&t, fake, "oldnohelp", 0);
    read_again(&t, "oldnohelp");
    n = count_lines(tempdir_file(&dir, "log"));
    assert_true(n > 5);
    read_again(&t, "oldnohelp");
    assert_int_equal(count_lines(tempdir_file(&dir, "log")), n + 2); /* processes, devices */
    t_ms += 3600 * 1000;
    read_again(&t, "good"); /* another driver came meanwhile: its fields are found by its help */
    assert_int_equal(count_lines(tempdir_file(&dir, "log")), n + 5);
    assert_told(t.out, OF("gpu_memory_reserved_bytes", GPU_0), 297 * MIB);
    log_dir = "/nonexistent";
    end(&t);
    tempdir_remove(&dir);
}

static void test_what_is_not_available(void **state)
{
    struct run t;
    (void)state;
    begin(&t, fake, "na", 0);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_told(t.out, OF("gpu_up", GPU_0), 1);
    assert_int_equal(t.out->n, 2 + 2 + 2); /* up, processes, memory of two of them */
    end(&t);
    begin(&t, fake, "sentinel", 0);
    assert_untold(t.out, OF("gpu_utilization_ratio", GPU_0));
    assert_untold(t.out, OF("gpu_power_watts", GPU_0));
    assert_untold(t.out, OF("gpu_memory_used_bytes", GPU_0));
    assert_untold(t.out, OF("gpu_temperature_celsius", GPU_0));
    assert_untold(t.out, OF("gpu_throttle_reasons", GPU_0));
    assert_untold(t.out, OF("gpu_sm_clock_hertz", GPU_0));
    assert_told(t.out, OF("gpu_memory_total_bytes", GPU_0), 23028 * MIB);
    end(&t);
}

static void test_rows_that_are_odd(void **state)
{
    static const struct {
        const char *mode;
        size_t n_gpus;
    } rows[] = {{"lost", 1}, {"extra", 2}, {"crlf", 2}, {"cut", 1}, {"twice", 1}, {"noapps", 2}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct run t;
        begin(&t, fake, rows[i].mode, 0);
        assert_row(rows[i].mode, t.state == SOURCE_WORKING);
        assert_row(rows[i].mode, told_count(t.out, "gpu_up") == rows[i].n_gpus);
        assert_told(t.out, OF("gpu_power_watts", GPU_0), 150.52);
        if (strcmp(rows[i].mode, "noapps") == 0)
            assert_untold(t.out, OF("gpu_processes", GPU_0));
        end(&t);
    }
}

static void test_failures(void **state)
{
    static const struct {
        const char *mode;
        enum source_state state;
        const char *words;
    } rows[] = {
        {"nodriver", SOURCE_ABSENT, "couldn't communicate"},
        {"nodevices", SOURCE_ABSENT, "No devices were found"},
        {"noperm", SOURCE_BROKEN, "Insufficient Permissions"},
        {"mismatch", SOURCE_BROKEN, "version mismatch"},
        {"garbage", SOURCE_BROKEN, "no table of GPUs"},
        {"html", SOURCE_BROKEN, "no table of GPUs: <html>"},
        {"huge", SOURCE_BROKEN, "no table of GPUs"},
        {"silent", SOURCE_BROKEN, "no table of GPUs"},
        {"none", SOURCE_BROKEN, "is not a valid field"},
        {"killed", SOURCE_BROKEN, "status 137"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct run t;
        begin(&t, fake, rows[i].mode, 0);
        for (int k = 0; k < 9 && strstr(t.err.text, "being learnt"); k++)
            read_again(&t, rows[i].mode);
        assert_row(rows[i].mode, t.state == rows[i].state);
        if (!strstr(t.err.text, rows[i].words))
            fail_msg("%s: \"%s\"", rows[i].mode, t.err.text);
        read_again(&t, "good"); /* nothing of it stays */
        assert_row(rows[i].mode, t.state == SOURCE_WORKING);
        end(&t);
    }
}

/* Killed at the deadline, with what it started, and reaped. */
static void test_hangs(void **state)
{
    static const char *const modes[] = {"hang", "left", "closed", "stubborn"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct run t;
        mono_t before = clock_mono();
        begin(&t, fake, modes[i], 300);
        assert_row(modes[i], t.state == SOURCE_BROKEN);
        assert_row(t.err.text, strstr(t.err.text, "did not end in time") != NULL);
        assert_row(modes[i], mono_diff(clock_mono(), before) < 20 * NS_PER_S);
        end(&t);
    }
}

static void test_no_program(void **state)
{
    struct tempdir dir;
    struct run t;
    (void)state;
    tempdir_make(&dir);
    begin(&t, "/nonexistent/nvidia-smi", "good", 0);
    assert_int_equal(t.state, SOURCE_ABSENT);
    assert_non_null(strstr(t.err.text, "no GPU of NVIDIA here: NVML is not used; "
                                       "\"/nonexistent/nvidia-smi\" is not there"));
    end(&t);
    told_file(dir.path, "nvidia-smi", "#!/bin/sh\n");
    begin(&t, tempdir_file(&dir, "nvidia-smi"), "good", 0);
    assert_int_equal(t.state, SOURCE_BROKEN); /* not executable */
    assert_non_null(strstr(t.err.text, "ermission denied"));
    end(&t);
    /* Found in PATH. */
    assert_int_equal(setenv("PATH_BEFORE", getenv("PATH"), 1), 0);
    assert_int_equal(setenv("PATH", dir.path, 1), 0);
    begin(&t, NULL, "good", 0);
    assert_int_equal(t.state, SOURCE_BROKEN);
    end(&t);
    assert_int_equal(unlink(tempdir_file(&dir, "nvidia-smi")), 0);
    begin(&t, NULL, "good", 0);
    assert_int_equal(t.state, SOURCE_ABSENT);
    end(&t);
    assert_int_equal(setenv("PATH", getenv("PATH_BEFORE"), 1), 0);
    tempdir_remove(&dir);
}

/* --- the table --- */

static void test_refusals(void **state)
{
    static const struct {
        const char *said, *field;
    } rows[] = {
        {"Field \"clocks_event_reasons.active\" is not a valid field to query.\n",
         "clocks_event_reasons.active"},
        {"Say \"x\".\nField \"uuid\" is not a valid field", "uuid"},
        {"Field uuid is not a valid field to query", ""},
        {"is not a valid field", ""},
        {"Field \"uuid\" is all right", ""},
        {"", ""},
    };
    struct gpu_smi_columns c;
    char before[GPU_SMI_ARGUMENT_BYTES], after[GPU_SMI_ARGUMENT_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_span_equal(rows[i].said, gpu_smi_table_refused(span_cstr(rows[i].said)),
                          span_cstr(rows[i].field));
    gpu_smi_columns_all(&c);
    gpu_smi_columns_print(&c, before, sizeof(before));
    assert_true(strlen(before) + 1 < sizeof(before)); /* all of it had room */
    assert_false(gpu_smi_columns_refuse(&c, SPAN("nonsense")));
    assert_false(gpu_smi_columns_refuse(&c, SPAN("")));
    gpu_smi_columns_print(&c, after, sizeof(after));
    assert_string_equal(before, after);
    assert_true(gpu_smi_columns_refuse(&c, SPAN("uuid")));
    gpu_smi_columns_print(&c, after, sizeof(after));
    assert_non_null(strstr(after, ",gpu_uuid,"));
    assert_true(gpu_smi_columns_refuse(&c, SPAN("gpu_uuid")));
    assert_false(gpu_smi_columns_refuse(&c, SPAN("gpu_uuid")));
    gpu_smi_columns_print(&c, after, sizeof(after));
    assert_null(strstr(after, "uuid"));
}

/* A help that mentions a name in its words does not list it. */
static void test_help(void **state)
{
    struct gpu_smi_columns c;
    char text[GPU_SMI_ARGUMENT_BYTES];
    (void)state;
    assert_int_equal(gpu_smi_columns_known(&c, SPAN("index, uuid or name, as \"index of it\"")), 0);
    assert_int_equal(gpu_smi_columns_known(&c, SPAN("\"clocks.current.sm\" or \"clocks.sm\"\n"
                                                    "\"gpu_name\"\n\"power.limit\"")),
                     3);
    gpu_smi_columns_print(&c, text, sizeof(text));
    assert_string_equal(text, "--query-gpu=gpu_name,power.limit,clocks.current.sm");
}

static void test_every_prefix_of_a_row(void **state)
{
    const struct span row =
        SPAN("1, GPU-x, NVIDIA H100, 550.1, 10, 5, 1000, 10, 900, 90, 1.5, 2.5, "
             "30, 40, 100, 200, 0x0000000000000001, 0xff, 1, 2, 3, 4, 5, 6, 7");
    struct gpu_smi_columns c;
    struct gpu_reading r;
    (void)state;
    gpu_smi_columns_all(&c);
    assert_true(gpu_smi_table_row(&c, row, 0, &r));
    assert_true(r.v[GPU_TEMP] == 30 && r.v[GPU_ECC_UNCORRECTED] == 7 && r.reasons_known == 0xff);
    for (size_t n = 0; n + 3 < row.n; n++)
        assert_false(gpu_smi_table_row(&c, span_of(row.p, n), 0, &r));
}

/* --- memory --- */

static int attempt(void *ctx)
{
    struct gpu_config config = {.nvml_path = "", .smi_path = fake, .root = "/nonexistent"};
    struct err err = {.text = ""};
    struct batch *out = NULL;
    void *source = NULL;
    enum source_state s;
    int r = source_gpu.begin(&config, &source, &err);
    (void)ctx;
    if (r < 0)
        return r;
    if (batch_new(&out) < 0) {
        source_gpu.end(source);
        return -ENOMEM;
    }
    s = source_gpu.read(source, 1000, out, &err);
    source_gpu.end(source);
    if (s != SOURCE_WORKING)
        assert_int_equal(out->n, 0);
    batch_free(out);
    return s == SOURCE_WORKING ? 0 : err.code;
}

static void test_without_memory(void **state)
{
    (void)state;
    set_mode("good");
    assert_true(memfail_each(attempt, NULL) > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values),
        cmocka_unit_test(test_old_drivers),
        cmocka_unit_test(test_what_was_learnt_stays),
        cmocka_unit_test(test_what_is_not_available),
        cmocka_unit_test(test_rows_that_are_odd),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_every_prefix_of_a_row),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("collect/gpu_smi", tests, NULL, NULL);
}
