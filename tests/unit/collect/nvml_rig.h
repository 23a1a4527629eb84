/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_rig.h - the GPU source over a made-up NVML (fake_nvml.c), which is a library that is loaded.
 */
#ifndef NVML_RIG_H
#define NVML_RIG_H

#include <dlfcn.h>

#include "base/attr.h"
#include "collect/gpu.h"
#include "fake_nvml.h"
#include "told.h"

#define GIB                1073741824.0
#define GPU_A              "gpu=\"0\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""
#define GPU_B              "gpu=\"1\", uuid=\"GPU-00000000-0000-4000-8000-00000000000b\""
#define REASON(r)          "gpu=\"0\", reason=\"" r "\", uuid=\"GPU-00000000-0000-4000-8000-00000000000a\""
#define OF(metric, labels) metric "{" labels "}"

static struct fake_nvml *fake;

static inline struct fake_nvml *control_of(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* stays, with what it was told */
    struct fake_nvml *at;

    if (!library)
        fail_msg("%s", dlerror());
    at = dlsym(library, "fake_nvml");
    assert_non_null(at);
    return at;
}

static inline void reset(struct fake_nvml *f)
{
    *f = (struct fake_nvml){.n_devices = 2};
}

static inline int set_up(void **state)
{
    (void)state;
    fake = control_of(FAKE_NVML);
    reset(fake);
    return 0;
}

static inline struct gpu_config config_of(const char *path)
{
    return (struct gpu_config){.nvml_path = path, .smi_path = "", .root = "/nonexistent"};
}

struct run {
    void *source;
    struct batch *out;
    struct err err;
    enum source_state state;
};

static inline void begin(struct run *t, const struct gpu_config *config)
{
    *t = (struct run){.state = SOURCE_BROKEN};
    assert_int_equal(source_gpu.begin(config, &t->source, &t->err), 0);
}

static inline void read_at(struct run *t, int64_t t_ms)
{
    batch_free(t->out);
    t->out = told_new();
    t->err = (struct err){.text = ""};
    t->state = source_gpu.read(t->source, t_ms, t->out, &t->err);
    told_check(t->out);
    assert_true(t->state == SOURCE_WORKING || t->err.text[0] != '\0');
}

static inline void end(struct run *t)
{
    source_gpu.end(t->source);
    batch_free(t->out);
}

static inline void begin_fake(struct run *t)
{
    static struct gpu_config config;

    config = config_of(FAKE_NVML);
    begin(t, &config);
    read_at(t, 1000);
}

#endif
