/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define CALL(member) offsetof(struct nvml_calls, member)

/* The newest name first; later ones with the same arguments. */
static const struct {
    size_t offset;
    const char *names[2];
    bool is_needed;
} symbols[] = {
    {CALL(init), {"nvmlInit_v2", "nvmlInit"}, true},
    {CALL(shutdown), {"nvmlShutdown"}, false},
    {CALL(driver_version), {"nvmlSystemGetDriverVersion"}, false},
    {CALL(device_count), {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, true},
    {CALL(device), {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, true},
    {CALL(uuid), {"nvmlDeviceGetUUID"}, false},
    {CALL(name), {"nvmlDeviceGetName"}, false},
    {CALL(utilization), {"nvmlDeviceGetUtilizationRates"}, false},
    {CALL(memory), {"nvmlDeviceGetMemoryInfo"}, false},
    {CALL(memory_v2), {"nvmlDeviceGetMemoryInfo_v2"}, false},
    {CALL(clock), {"nvmlDeviceGetClockInfo"}, false},
    {CALL(reasons),
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
     false},
    {CALL(reasons_supported),
     {"nvmlDeviceGetSupportedClocksEventReasons", "nvmlDeviceGetSupportedClocksThrottleReasons"},
     false},
    {CALL(violation), {"nvmlDeviceGetViolationStatus"}, false},
    {CALL(power), {"nvmlDeviceGetPowerUsage"}, false},
    {CALL(power_limit), {"nvmlDeviceGetEnforcedPowerLimit"}, false},
    {CALL(energy), {"nvmlDeviceGetTotalEnergyConsumption"}, false},
    {CALL(temperature), {"nvmlDeviceGetTemperature"}, false},
    {CALL(temperature_v1), {"nvmlDeviceGetTemperatureV"}, false},
    {CALL(fields), {"nvmlDeviceGetFieldValues"}, false},
    {CALL(pcie), {"nvmlDeviceGetPcieThroughput"}, false},
    {CALL(ecc), {"nvmlDeviceGetTotalEccErrors"}, false},
    {CALL(compute_processes),
     {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"},
     false},
    {CALL(graphics_processes),
     {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"},
     false},
    {CALL(compute_processes_v1), {"nvmlDeviceGetComputeRunningProcesses"}, false},
    {CALL(graphics_processes_v1), {"nvmlDeviceGetGraphicsRunningProcesses"}, false},
    {CALL(events_new), {"nvmlEventSetCreate"}, false},
    {CALL(events_register), {"nvmlDeviceRegisterEvents"}, false},
    {CALL(events_wait), {"nvmlEventSetWait_v2", "nvmlEventSetWait"}, false},
    {CALL(events_free), {"nvmlEventSetFree"}, false},
    {CALL(mig_mode), {"nvmlDeviceGetMigMode"}, false},
    {CALL(mig_max), {"nvmlDeviceGetMaxMigDeviceCount"}, false},
    {CALL(mig_device), {"nvmlDeviceGetMigDeviceHandleByIndex"}, false},
    {CALL(gpu_instance), {"nvmlDeviceGetGpuInstanceId"}, false},
    {CALL(compute_instance), {"nvmlDeviceGetComputeInstanceId"}, false},
};

static int load_failed(struct err *reterr, const char *path)
{
    const char *said = dlerror();
    bool is_there;

    said = said ? said : "no reason given";
    is_there = !strstr(said, "No such file");
    return err_set(reterr, is_there ? -ENOEXEC : -ENOENT, "\"%s\" could not be loaded: %s", path,
                   said);
}

int nvml_load(struct nvml *n, const char *path, struct err *reterr)
{
    struct nvml loaded = {._library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};

    if (!loaded._library)
        return load_failed(reterr, path);
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *at = dlsym(loaded._library, symbols[i].names[0]);

        if (!at && symbols[i].names[1])
            at = dlsym(loaded._library, symbols[i].names[1]);
        if (!at && symbols[i].is_needed) {
            nvml_unload(&loaded);
            return err_set(reterr, -ENOEXEC, "\"%s\" has no %s: it is not NVML", path,
                           symbols[i].names[0]);
        }
        /* A pointer to data made one to code, as POSIX wants it of dlsym. */
        memcpy((char *)&loaded.call + symbols[i].offset, &at, sizeof(at));
    }
    *n = loaded;
    return 0;
}

void nvml_unload(struct nvml *n)
{
    if (n->_library)
        (void)dlclose(n->_library); /* nothing to be done about it */
    *n = (struct nvml){0};
}

const char *nvml_words(int code)
{
    static const struct {
        int code;
        const char *words;
    } table[] = {
        {NVML_UNINITIALIZED, "the library was not initialised"},
        {NVML_NOT_SUPPORTED, "not supported"},
        {NVML_NO_PERMISSION, "no permission"},
        {NVML_INSUFFICIENT_POWER, "the GPU's power cables are not attached well"},
        {NVML_DRIVER_NOT_LOADED, "the driver is not loaded"},
        {NVML_TIMEOUT, "the driver timed out"},
        {NVML_IRQ_ISSUE, "interrupts of the GPU do not arrive"},
        {NVML_GPU_IS_LOST, "the GPU has fallen off the bus"},
        {NVML_RESET_REQUIRED, "the GPU has to be reset"},
        {NVML_OPERATING_SYSTEM, "the system blocks access to the GPU"},
        {NVML_VERSION_MISMATCH, "library and driver are of different versions"},
        {NVML_GPU_NOT_FOUND, "no GPU was found"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].code == code)
            return table[i].words;
    return "an error that is not explained";
}
