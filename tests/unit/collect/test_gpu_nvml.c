/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPUs tell through NVML.
 */
#include <unistd.h>

#include "memfail.h"
#include "nvml_rig.h"
#include "tempdir.h"

/* --- what a GPU tells --- */

static void test_all_values(void **state)
{
    struct run t;
    (void)state;
    begin_fake(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
    assert_told(t.out, OF("gpu_up", GPU_A), 1);
    assert_told(t.out, OF("gpu_up", GPU_B), 1);
    assert_told(t.out,
                OF("gpu_info", "driver=\"570.86.15\", gpu=\"0\", name=\"NVIDIA H100 80GB HBM3\", "
                               "uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""),
                1);
    assert_told(t.out, OF("gpu_utilization_ratio", GPU_A), 0.87);
    assert_told(t.out, OF("gpu_memory_utilization_ratio", GPU_A), 0.40);
    assert_told(t.out, OF("gpu_memory_total_bytes", GPU_A), 80 * GIB);
    assert_told(t.out, OF("gpu_memory_used_bytes", GPU_A), 70 * GIB);
    assert_told(t.out, OF("gpu_memory_free_bytes", GPU_A), 9 * GIB);
    assert_told(t.out, OF("gpu_memory_reserved_bytes", GPU_A), GIB);
    assert_told(t.out, OF("gpu_power_watts", GPU_A), 612.345);
    assert_told(t.out, OF("gpu_power_limit_watts", GPU_A), 700);
    assert_told(t.out, OF("gpu_energy_joules_total", GPU_A), 4000);
    assert_told(t.out, OF("gpu_temperature_celsius", GPU_A), 64);
    assert_told(t.out, OF("gpu_memory_temperature_celsius", GPU_A), 71);
    assert_told(t.out, OF("gpu_sm_clock_hertz", GPU_A), 1755e6);
    assert_told(t.out, OF("gpu_memory_clock_hertz", GPU_A), 2619e6);
    assert_told(t.out, OF("gpu_throttle_reasons", GPU_A), 0x24);
    assert_told(t.out, OF("gpu_nvlink_transmit_bytes_total", GPU_A), 1000 * 1024);
    assert_told(t.out, OF("gpu_nvlink_receive_bytes_total", GPU_A), 2000 * 1024);
    assert_told(t.out, OF("gpu_pcie_transmit_bytes_per_second", GPU_A), 12e6);
    assert_told(t.out, OF("gpu_pcie_receive_bytes_per_second", GPU_A), 34e6);
    end(&t);
}

static void test_labels_of_reasons_and_kinds(void **state)
{
    struct run t;
    (void)state;
    begin_fake(&t);
#define KIND(k) "gpu=\"0\", kind=\"" k "\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""
    assert_told(t.out, OF("gpu_throttle_active", REASON("idle")), 0);
    assert_told(t.out, OF("gpu_throttle_active", REASON("power")), 1);
    assert_told(t.out, OF("gpu_throttle_active", REASON("sw_thermal")), 1);
    assert_untold(t.out, OF("gpu_throttle_active", REASON("display"))); /* not supported */
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("power")), 74);
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("sw_thermal")), 269);
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("hw_thermal")), 270);
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("hw_power_brake")), 271);
    /* Not among the fields of this driver: by the older call. */
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("board_limit")), 8);
    /* The same time is not told under two names. */
    assert_untold(t.out, OF("gpu_throttle_seconds_total", REASON("thermal")));
    assert_told(t.out, OF("gpu_ecc_errors_total", KIND("corrected")), 7);
    assert_told(t.out, OF("gpu_ecc_errors_total", KIND("uncorrected")), 0);
    end(&t);
}

static void test_nvlink5(void **state)
{
    struct run t;
    (void)state;
    fake->has_nvlink5 = true;
    begin_fake(&t);
    assert_told(t.out, OF("gpu_nvlink_transmit_bytes_total", GPU_A), 4 * 202 + 6);
    assert_told(t.out, OF("gpu_nvlink_receive_bytes_total", GPU_A), 4 * 204 + 6);
    end(&t);
}

static void test_processes(void **state)
{
    struct tempdir dir;
    struct gpu_config config = config_of(FAKE_NVML);
    struct run t;
    char path[256];
    (void)state;
    tempdir_make(&dir);
    told_file(dir.path, "proc/100/comm", "VLLM::EngineCor\n");
    told_file(dir.path, "proc/self/ns/x", "");
    (void)snprintf(path, sizeof(path), "%s/proc/self/ns/pid", dir.path);
    assert_int_equal(symlink("pid:[4026531836]", path), 0);
    config.root = dir.path;
    fake->n_processes = 2;
    begin(&t, &config);
    read_at(&t, 1000);
    assert_told(t.out, OF("gpu_processes", GPU_A), 2);
    assert_told(t.out,
                OF("gpu_process_memory_bytes",
                   "gpu=\"0\", pid=\"100\", process=\"VLLM::EngineCor\", "
                   "uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""),
                GIB);
    assert_told(t.out,
                OF("gpu_process_memory_bytes",
                   "gpu=\"0\", pid=\"101\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""),
                2 * GIB);
    /* In a container the number 100 is another process. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("pid:[4026532345]", path), 0);
    read_at(&t, 2000);
    assert_told(t.out,
                OF("gpu_process_memory_bytes",
                   "gpu=\"0\", pid=\"100\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""),
                GIB);
    fake->n_processes = 300; /* more than there is room for: their number at least */
    read_at(&t, 3000);
    assert_told(t.out, OF("gpu_processes", GPU_A), 300);
    assert_int_equal(told_count(t.out, "gpu_process_memory_bytes"), 0);
    end(&t);
    tempdir_remove(&dir);
}

/* Drivers 535 to 550 have longer entries under the same name. */
static void test_longer_entries(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= GPU_PROCESSES_MAX; n++) {
        struct run t;
        reset(fake);
        fake->has_wide_processes = true;
        fake->n_processes = n;
        begin_fake(&t);
        assert_told(t.out, OF("gpu_processes", GPU_A), n);
        if (n > 1)
            assert_told(t.out,
                        OF("gpu_process_memory_bytes",
                           "gpu=\"0\", pid=\"101\", "
                           "uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""),
                        2 * GIB);
        end(&t);
    }
}

static void test_instances(void **state)
{
    struct run t;
    (void)state;
    fake->is_mig[1] = true;
    fake->n_processes = 1;
    begin_fake(&t);
    assert_int_equal(t.state, SOURCE_WORKING);
#define MIG(m) "gpu=\"1\", mig=\"" m "\", uuid=\"GPU-00000000-0000-4000-8000-00000000000b\""
    assert_told(t.out, OF("gpu_memory_total_bytes", MIG("1")), 10 * GIB);
    assert_told(t.out, OF("gpu_memory_used_bytes", MIG("2/0")), 5 * GIB);
    assert_told(t.out, OF("gpu_memory_free_bytes", MIG("2/1")), 4 * GIB);
    assert_told(t.out, OF("gpu_processes", MIG("1")), 1);
    assert_untold(t.out, OF("gpu_processes", GPU_B)); /* they are told per instance */
    assert_told(t.out, OF("gpu_processes", GPU_A), 1);
    assert_untold(t.out, OF("gpu_utilization_ratio", MIG("1"))); /* not supported there */
    assert_told(t.out, OF("gpu_power_watts", GPU_B), 612.345);
    fake->is_mig[1] = false; /* made one again */
    read_at(&t, 2000);
    assert_untold(t.out, OF("gpu_memory_total_bytes", MIG("1")));
    end(&t);
}

static void test_xids(void **state)
{
    struct run t;
    (void)state;
    begin_fake(&t);
    assert_told(t.out, OF("gpu_xid_last", GPU_A), 0);
    assert_told(t.out, OF("gpu_xid_events_total", GPU_A), 0);
    fake->events[0] = (struct fake_event){0, 79};
    fake->events[1] = (struct fake_event){0, 45};
    fake->events[2] = (struct fake_event){0, 45};
    fake->events[3] = (struct fake_event){3, 13}; /* of none that we know */
    fake->n_events = 4;
    read_at(&t, 2000);
#define XID(x) "gpu=\"0\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\", xid=\"" x "\""
    assert_told(t.out, OF("gpu_xid_last", GPU_A), 45);
    assert_told(t.out, OF("gpu_xid_events_total", GPU_A), 3);
    assert_told(t.out, OF("gpu_xid_code_events_total", XID("79")), 1);
    assert_told(t.out, OF("gpu_xid_code_events_total", XID("45")), 2);
    assert_told(t.out, OF("gpu_xid_events_total", GPU_B), 0);
    fake->n_taken = 0;
    for (uint32_t i = 0; i < FAKE_EVENTS; i++)
        fake->events[i] = (struct fake_event){1, 1000 + i};
    fake->n_events = FAKE_EVENTS;
    read_at(&t, 3000);
    assert_told(t.out, OF("gpu_xid_events_total", GPU_B), FAKE_EVENTS);
    assert_told(t.out,
                OF("gpu_xid_code_events_total",
                   "gpu=\"1\", uuid=\"GPU-00000000-0000-4000-8000-00000000000b\", xid=\"other\""),
                FAKE_EVENTS - 16);
    end(&t);
}

/* --- memory --- */

static int attempt(void *ctx)
{
    struct gpu_config config = config_of(FAKE_NVML);
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
    fake->n_processes = 3;
    assert_true(memfail_each(attempt, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_values, set_up),
        cmocka_unit_test_setup(test_labels_of_reasons_and_kinds, set_up),
        cmocka_unit_test_setup(test_nvlink5, set_up),
        cmocka_unit_test_setup(test_processes, set_up),
        cmocka_unit_test_setup(test_longer_entries, set_up),
        cmocka_unit_test_setup(test_instances, set_up),
        cmocka_unit_test_setup(test_xids, set_up),
        cmocka_unit_test_setup(test_without_memory, set_up),
    };
    return cmocka_run_group_tests_name("collect/gpu_nvml", tests, NULL, NULL);
}
