/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each function of NVML missing, and failing with each code.
 */
#include "collect/nvml.h"
#include "corpus.h"
#include "nvml_rig.h"
#include "tempdir.h"

/* --- each function, missing and failing --- */

static const char *const functions[] = {
    "nvmlInit_v2",
    "nvmlInit",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetSupportedClocksThrottleReasons",
    "nvmlDeviceGetViolationStatus",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait_v2",
    "nvmlEventSetFree",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
};

/* A copy of the library in which these symbols have another name. */
static const char *copy_without(const struct tempdir *dir, const char *name, const char *other,
                                const char *to)
{
    struct span bytes = corpus_read(FAKE_NVML);
    char *copy = malloc(bytes.n);
    const char *gone[] = {name, other};
    FILE *f = fopen(tempdir_file(dir, to), "w");
    int n_changed = 0;
    assert_true(bytes.p && copy && f);
    memcpy(copy, bytes.p, bytes.n);
    for (size_t i = 0; i + 1 < bytes.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(gone) && gone[k]; k++)
            if (copy[i] == '\0' && i + 2 + strlen(gone[k]) < bytes.n &&
                memcmp(copy + i + 1, gone[k], strlen(gone[k]) + 1) == 0) {
                copy[i + 1] = 'x';
                n_changed++;
            }
    assert_true(n_changed > 0);
    assert_int_equal(fwrite(copy, 1, bytes.n, f), bytes.n);
    fclose(f);
    free(copy);
    free((void *)(uintptr_t)bytes.p);
    return tempdir_file(dir, to);
}

/* Without the function, and without the older one of that purpose. */
static void test_each_function_missing(void **state)
{
    struct tempdir dir;
    (void)state;
    tempdir_make(&dir);
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        for (int both = 0; both < 2; both++) {
            char file[64];
            const char *other = both ? functions[i > 0 ? i - 1 : ARRAY_LEN(functions) - 1] : NULL;
            struct gpu_config config;
            struct fake_nvml *mine;
            struct run t;
            (void)snprintf(file, sizeof(file), "lib%zu-%d.so", i, both);
            config = config_of(copy_without(&dir, functions[i], other, file));
            mine = control_of(config.nvml_path);
            reset(mine);
            mine->is_mig[1] = true;
            mine->n_processes = 2;
            begin(&t, &config);
            read_at(&t, 1000);
            read_at(&t, 2000);
            /* Only these are needed, under one of their names. */
            bool is_needed = both && (strcmp(functions[i], "nvmlInit") == 0 ||
                                      strcmp(functions[i], "nvmlDeviceGetCount") == 0 ||
                                      strcmp(functions[i], "nvmlDeviceGetHandleByIndex") == 0);
            assert_row(functions[i], t.state == (is_needed ? SOURCE_BROKEN : SOURCE_WORKING));
            assert_row(functions[i],
                       is_needed || told_count(t.out, "gpu_utilization_ratio") ==
                                        (strstr(functions[i], "Utilization") ||
                                                 (other && strstr(other, "Utilization"))
                                             ? 0u
                                             : 2u));
            end(&t);
        }
    }
    tempdir_remove(&dir);
}

/* Older names do as well as the newest. */
static void test_old_driver(void **state)
{
    struct tempdir dir;
    struct gpu_config config;
    struct fake_nvml *old;
    struct run t;
    (void)state;
    tempdir_make(&dir);
    config = config_of(
        copy_without(&dir, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetFieldValues", "a.so"));
    old = control_of(config.nvml_path);
    reset(old);
    begin(&t, &config);
    read_at(&t, 1000);
    assert_told(t.out, OF("gpu_memory_used_bytes", GPU_A), 71 * GIB);
    assert_untold(t.out, OF("gpu_memory_reserved_bytes", GPU_A));
    assert_untold(t.out, OF("gpu_memory_temperature_celsius", GPU_A));
    assert_told(t.out, OF("gpu_energy_joules_total", GPU_A), 5000);
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("power")), 2);
    assert_told(t.out, OF("gpu_throttle_seconds_total", REASON("thermal")), 4);
    end(&t);
    config = config_of(copy_without(&dir, "nvmlDeviceGetComputeRunningProcesses_v3",
                                    "nvmlDeviceGetComputeRunningProcesses_v2", "b.so"));
    old = control_of(config.nvml_path);
    reset(old);
    old->n_processes = 3;
    begin(&t, &config);
    read_at(&t, 1000);
    assert_told(t.out, OF("gpu_processes", GPU_A), 3);
    assert_int_equal(told_count(t.out, "gpu_process_memory_bytes"), 6);
    end(&t);
    config = config_of(copy_without(&dir, "nvmlDeviceGetTemperature",
                                    "nvmlDeviceGetCurrentClocksEventReasons", "c.so"));
    reset(control_of(config.nvml_path));
    begin(&t, &config);
    read_at(&t, 1000);
    assert_told(t.out, OF("gpu_temperature_celsius", GPU_A), 64);
    assert_told(t.out, OF("gpu_throttle_reasons", GPU_A), 0x24);
    end(&t);
    tempdir_remove(&dir);
}

/* Each function with each code: what it would have told is missing, nothing else is. */
static void test_each_function_failing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        for (int code = 1; code <= 31; code++) {
            struct run t;
            bool is_fatal = code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED;
            reset(fake);
            fake->is_mig[1] = true;
            fake->n_processes = 2;
            fake->failing = functions[i];
            fake->code = code == 31 ? 999 : code;
            begin_fake(&t);
            if (strcmp(functions[i], "nvmlInit_v2") == 0 ||
                strcmp(functions[i], "nvmlDeviceGetCount_v2") == 0) {
                assert_row(functions[i], t.state != SOURCE_WORKING && t.out->n == 0);
            } else if (strcmp(functions[i], "nvmlDeviceGetHandleByIndex_v2") == 0) {
                assert_row(functions[i], t.state == SOURCE_BROKEN);
                assert_int_equal(told_count(t.out, "gpu_fault"), 2);
            } else if (!is_fatal) {
                assert_row(functions[i], t.state == SOURCE_WORKING);
                assert_told(t.out,
                            strcmp(functions[i], "nvmlDeviceGetUUID") == 0 ? "gpu_up{gpu=\"0\"}"
                                                                           : OF("gpu_up", GPU_A),
                            1);
            }
            end(&t);
        }
    }
}

static void test_everything_failing(void **state)
{
    (void)state;
    for (int code = 1; code <= 30; code++) {
        struct run t;
        reset(fake);
        begin_fake(&t);
        fake->failing = "";
        fake->code = code;
        read_at(&t, 2000);
        assert_true(t.state != SOURCE_WORKING);
        fake->failing = NULL;
        read_at(&t, 3000);
        assert_int_equal(t.state, SOURCE_WORKING);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_function_missing, set_up),
        cmocka_unit_test_setup(test_old_driver, set_up),
        cmocka_unit_test_setup(test_each_function_failing, set_up),
        cmocka_unit_test_setup(test_everything_failing, set_up),
    };
    return cmocka_run_group_tests_name("collect/gpu_nvml_calls", tests, NULL, NULL);
}
