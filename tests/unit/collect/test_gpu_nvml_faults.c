/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries, drivers and GPUs that fail, hang, lie and get lost.
 */
#include <pthread.h>
#include <time.h>

#include "collect/gpu_nvml.h"
#include "collect/nvml.h"
#include "nvml_rig.h"
#include "tempdir.h"

/* --- what goes wrong --- */

static void test_no_library(void **state)
{
    struct gpu_config config = config_of("/nonexistent/libnvidia-ml.so.1");
    struct run t;
    (void)state;
    begin(&t, &config);
    read_at(&t, 1000);
    assert_int_equal(t.state, SOURCE_ABSENT);
    assert_int_equal(t.out->n, 0);
    assert_non_null(strstr(t.err.text, "no GPU of NVIDIA here"));
    end(&t);
}

static void test_what_is_no_library(void **state)
{
    struct tempdir dir;
    struct gpu_config config;
    struct run t;
    (void)state;
    tempdir_make(&dir);
    told_file(dir.path, "lib.so", "this is no library");
    config = config_of(tempdir_file(&dir, "lib.so"));
    begin(&t, &config);
    read_at(&t, 1000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_non_null(strstr(t.err.text, "could not be loaded"));
    end(&t);
    config = config_of("libm.so.6"); /* one, but another */
    begin(&t, &config);
    read_at(&t, 1000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_non_null(strstr(t.err.text, "it is not NVML"));
    end(&t);
    tempdir_remove(&dir);
}

static void test_errors_of_the_driver(void **state)
{
    static const struct {
        int code;
        enum source_state state;
        const char *words;
    } rows[] = {
        {NVML_DRIVER_NOT_LOADED, SOURCE_ABSENT, "driver is not loaded"},
        {NVML_GPU_NOT_FOUND, SOURCE_ABSENT, "no GPU was found"},
        {NVML_NO_PERMISSION, SOURCE_BROKEN, "no permission"},
        {NVML_OPERATING_SYSTEM, SOURCE_BROKEN, "blocks access"},
        {NVML_VERSION_MISMATCH, SOURCE_BROKEN, "different versions"},
        {NVML_UNKNOWN, SOURCE_BROKEN, "not explained"},
        {12345, SOURCE_BROKEN, "code 12345"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct run t;
        reset(fake);
        fake->failing = "nvmlInit_v2";
        fake->code = rows[i].code;
        begin_fake(&t);
        assert_row(rows[i].words, t.state == rows[i].state);
        assert_row(t.err.text, strstr(t.err.text, rows[i].words) != NULL);
        fake->failing = NULL; /* a driver that comes later is found */
        read_at(&t, 2000);
        assert_row(rows[i].words, t.state == SOURCE_WORKING);
        fake->failing = "nvmlDeviceGetCount_v2"; /* and one that goes away */
        read_at(&t, 3000);
        assert_row(rows[i].words, t.state == rows[i].state && t.out->n == 0);
        end(&t);
        assert_int_equal(fake->n_begun, fake->n_shut);
        assert_int_equal(fake->n_sets, 0);
    }
}

static void copy_library(const char *to)
{
    char command[1024];

    (void)snprintf(command, sizeof(command), "cp --remove-destination %s %s", FAKE_NVML, to);
    assert_int_equal(system(command), 0);
}

/* A driver was updated under us: its new library is loaded, not the old one asked again. */
static void test_library_that_is_exchanged(void **state)
{
    struct tempdir dir;
    struct gpu_config config;
    struct run t;
    (void)state;
    tempdir_make(&dir);
    config = config_of(tempdir_file(&dir, "lib.so"));
    copy_library(config.nvml_path);
    void *library = dlopen(config.nvml_path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    struct fake_nvml *old = dlsym(library, "fake_nvml");
    old->failing = "nvmlInit_v2";
    old->code = NVML_VERSION_MISMATCH;
    begin(&t, &config);
    read_at(&t, 1000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_int_equal(dlclose(library), 0);
    copy_library(config.nvml_path);
    read_at(&t, 2000);
    assert_int_equal(t.state, SOURCE_WORKING);
    end(&t);
    tempdir_remove(&dir);
}

static void test_no_gpu_shown(void **state)
{
    struct run t;
    (void)state;
    fake->n_devices = 0;
    begin_fake(&t);
    assert_int_equal(t.state, SOURCE_ABSENT);
    assert_non_null(strstr(t.err.text, "shows no GPU"));
    fake->n_devices = 2000000000;
    read_at(&t, 2000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    end(&t);
}

static void test_gpu_on_the_bus_without_a_driver(void **state)
{
    struct tempdir dir;
    struct gpu_config config = config_of("/nonexistent/libnvidia-ml.so.1");
    struct run t;
    (void)state;
    tempdir_make(&dir);
    told_file(dir.path, "sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
    told_file(dir.path, "sys/bus/pci/devices/0000:00:01.0/class", "0x030000\n");
    told_file(dir.path, "sys/bus/pci/devices/0000:00:02.0/vendor", "0x10de\n");
    told_file(dir.path, "sys/bus/pci/devices/0000:00:02.0/class", "0x068000\n"); /* NVSwitch */
    config.root = dir.path;
    begin(&t, &config);
    read_at(&t, 1000);
    assert_int_equal(t.state, SOURCE_ABSENT);
    told_file(dir.path, "sys/bus/pci/devices/0000:00:03.0/vendor", "0x10de\n");
    told_file(dir.path, "sys/bus/pci/devices/0000:00:03.0/class", "0x030200\n");
    read_at(&t, 2000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_non_null(strstr(t.err.text, "1 GPU of NVIDIA on the PCI bus"));
    end(&t);
    tempdir_remove(&dir);
}

/* --- lost --- */

static void test_lost_while_it_is_read(void **state)
{
    (void)state;
    for (int n = 1; n < 60; n++) {
        struct run t;
        reset(fake);
        begin_fake(&t);
        fake->n_calls_good = n;
        read_at(&t, 2000);
        assert_int_equal(t.state, SOURCE_WORKING); /* the other one is there */
        assert_told(t.out, OF("gpu_up", GPU_B), 1);
        assert_told(t.out, OF("gpu_power_watts", GPU_B), 612.345);
        if (fake->device_code[0] == 0)
            assert_told(t.out, OF("gpu_up", GPU_A), 1);
        read_at(&t, 3000);
        if (fake->device_code[0] != 0) {
            assert_told(t.out, OF("gpu_up", GPU_A), 0);
            assert_told(t.out, OF("gpu_fault", REASON("lost")), 1);
            assert_untold(t.out, OF("gpu_power_watts", GPU_A));
            assert_untold(t.out, OF("gpu_utilization_ratio", GPU_A));
            assert_told(t.out, OF("gpu_xid_events_total", GPU_A), 0); /* still counted */
        }
        end(&t);
    }
}

static void test_lost_and_back(void **state)
{
    struct run t;
    (void)state;
    begin_fake(&t);
    fake->device_code[0] = fake->device_code[1] = NVML_GPU_IS_LOST;
    read_at(&t, 2000);
    assert_int_equal(t.state, SOURCE_BROKEN);
    assert_non_null(strstr(t.err.text, "fallen off the bus"));
    assert_told(t.out, OF("gpu_up", GPU_A), 0);
    assert_told(t.out, OF("gpu_up", GPU_B), 0);
    assert_int_equal(fake->n_begun, 1);
    read_at(&t, 1000 + GPU_NVML_RESET_MS); /* begun anew after a minute, not each time */
    assert_int_equal(fake->n_begun, 2);
    read_at(&t, 2000 + GPU_NVML_RESET_MS);
    assert_int_equal(fake->n_begun, 2);
    fake->device_code[0] = fake->device_code[1] = 0;
    read_at(&t, 3000 + GPU_NVML_RESET_MS);
    assert_int_equal(t.state, SOURCE_WORKING);
    read_at(&t, 5000 + 3 * GPU_NVML_RESET_MS); /* all are well: no reason to */
    assert_int_equal(fake->n_begun, 2);
    end(&t);
}

/* The clock is set back: a GPU that came back is found within a minute all the same. */
static void test_lost_while_the_clock_goes_back(void **state)
{
    struct run t;
    (void)state;
    fake->device_code[0] = NVML_GPU_IS_LOST;
    begin_fake(&t);
    read_at(&t, 3600000);
    assert_int_equal(fake->n_begun, 2);
    read_at(&t, 1000);
    assert_int_equal(fake->n_begun, 3);
    read_at(&t, 2000);
    assert_int_equal(fake->n_begun, 3);
    end(&t);
}

/* --- lies --- */

static void test_values_that_are_none(void **state)
{
    static const enum fake_values kinds[] = {FAKE_ALL_BITS, FAKE_LARGEST, FAKE_UNTOUCHED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct run t;
        reset(fake);
        fake->n_processes = 1;
        fake->is_mig[1] = true;
        fake->values = kinds[i];
        begin_fake(&t);
        assert_int_equal(t.state, SOURCE_WORKING);
        for (size_t k = 0; k < t.out->n; k++) {
            struct span name = labels_name(t.out->at[k].labels);
            /* Only what we count ourselves, and what they are. */
            if (!span_eq(name, SPAN("gpu_up")) && !span_eq(name, SPAN("gpu_info")) &&
                !span_eq(name, SPAN("gpu_processes")) && !span_starts_with(name, SPAN("gpu_xid")))
                fail_msg("%.*s is told", SPAN_ARG(name));
        }
        end(&t);
    }
}

static void test_garbage(void **state)
{
    struct run t;
    (void)state;
    fake->values = FAKE_GARBAGE;
    fake->n_devices = 4;
    fake->is_mig[2] = true;
    fake->n_processes = 100;
    begin_fake(&t);
    for (int i = 0; i < 200; i++) { /* read_at checks what comes out */
        read_at(&t, 2000 + i);
        for (size_t k = 0; k < t.out->n; k++)
            if (span_ends_with(labels_name(t.out->at[k].labels), SPAN("_ratio")))
                assert_true(t.out->at[k].v >= 0 && t.out->at[k].v <= 1);
    }
    end(&t);
}

/* --- hangs --- */

static void *read_in_thread(void *ctx)
{
    read_at(ctx, 2000);
    return NULL;
}

/* A call that does not come back holds this thread and nothing else; afterwards all is well. */
static void test_hang(void **state)
{
    struct timespec step = {.tv_nsec = 1000000};
    struct run t;
    pthread_t thread;
    (void)state;
    begin_fake(&t);
    fake->hanging = "nvmlDeviceGetPowerUsage";
    assert_int_equal(pthread_create(&thread, NULL, read_in_thread, &t), 0);
    while (!atomic_load(&fake->is_hanging))
        nanosleep(&step, NULL);
    atomic_store(&fake->is_let_go, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_told(t.out, OF("gpu_power_watts", GPU_A), 612.345);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_library, set_up),
        cmocka_unit_test_setup(test_what_is_no_library, set_up),
        cmocka_unit_test_setup(test_errors_of_the_driver, set_up),
        cmocka_unit_test_setup(test_library_that_is_exchanged, set_up),
        cmocka_unit_test_setup(test_no_gpu_shown, set_up),
        cmocka_unit_test_setup(test_gpu_on_the_bus_without_a_driver, set_up),
        cmocka_unit_test_setup(test_lost_while_it_is_read, set_up),
        cmocka_unit_test_setup(test_lost_and_back, set_up),
        cmocka_unit_test_setup(test_lost_while_the_clock_goes_back, set_up),
        cmocka_unit_test_setup(test_values_that_are_none, set_up),
        cmocka_unit_test_setup(test_garbage, set_up),
        cmocka_unit_test_setup(test_hang, set_up),
    };
    return cmocka_run_group_tests_name("collect/gpu_nvml_faults", tests, NULL, NULL);
}
