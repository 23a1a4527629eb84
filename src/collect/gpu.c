/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "collect/gpu_nvml.h"
#include "collect/gpu_smi.h"

enum { WORDS_MAX = 200 }; /* of a way that did not work, beside another's */

struct gpu {
    struct gpu_config config;
    struct gpu_nvml *nvml;
    struct gpu_smi *smi;
};

static void end(void *source)
{
    struct gpu *g = source;

    gpu_nvml_free(g->nvml);
    gpu_smi_free(g->smi);
    mem_free(g);
}

static int begin(const void *config, void **ret, struct err *reterr)
{
    struct gpu *g = mem_zalloc(1, sizeof(*g));
    int r;

    if (!g)
        return err_set(reterr, -ENOMEM, "out of memory");
    g->config = *(const struct gpu_config *)config;
    if (!g->config.root || strcmp(g->config.root, "/") == 0)
        g->config.root = "";
    r = gpu_nvml_new(&g->config, &g->nvml);
    if (r == 0)
        r = gpu_smi_new(&g->config, &g->smi);
    if (r < 0) {
        end(g);
        return err_set(reterr, r, "out of memory");
    }
    *ret = g;
    return 0;
}

/* --- the PCI bus --- */

static bool says(const char *root, const char *device, const char *what, const char *begins)
{
    char path[PATH_MAX];
    struct buf text;
    bool is;

    buf_init(&text, 64 * KIB);
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/%s", root, device, what);
    is = file_read(path, 32, &text) == 0 && span_starts_with(buf_span(&text), span_cstr(begins));
    buf_done(&text);
    return is;
}

/* Display and 3D controllers of NVIDIA, with a driver or without. */
static int count_on_bus(const char *root)
{
    char path[PATH_MAX];
    DIR *dir;
    int n = 0;

    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
    dir = opendir(path);
    if (!dir)
        return 0;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.' && says(root, e->d_name, "vendor", "0x10de") &&
             says(root, e->d_name, "class", "0x03");
    closedir(dir);
    return n;
}

/* --- a reading --- */

static enum source_state conclude(const struct gpu *g, enum source_state nvml,
                                  const struct err *nvml_err, enum source_state smi,
                                  const struct err *smi_err, struct err *reterr)
{
    int n_on_bus = count_on_bus(g->config.root);

    if (nvml == SOURCE_BROKEN || smi == SOURCE_BROKEN) {
        if (reterr)
            *reterr = nvml == SOURCE_BROKEN ? *nvml_err : *smi_err;
        return SOURCE_BROKEN;
    }
    if (n_on_bus == 0) {
        (void)err_set(reterr, -ENODEV, "no GPU of NVIDIA here: %.*s; %.*s", WORDS_MAX,
                      nvml_err->text, WORDS_MAX, smi_err->text);
        err_hint(reterr, "in a container, see that GPUs are given to it");
        return SOURCE_ABSENT;
    }
    (void)err_set(reterr, -ENODEV,
                  "%d GPU%s of NVIDIA on the PCI bus, and no driver tells of it: "
                  "%.*s; %.*s",
                  n_on_bus, n_on_bus > 1 ? "s" : "", WORDS_MAX - 40, nvml_err->text, WORDS_MAX - 40,
                  smi_err->text);
    err_hint(reterr, "load NVIDIA's driver, or give this container its libraries and devices");
    return SOURCE_BROKEN;
}

static bool is_unused(const char *path)
{
    return path && path[0] == '\0';
}

static enum source_state read_ways(struct gpu *g, struct source_out *o, struct err *reterr)
{
    struct err nvml_err = {.text = "NVML is not used"},
               smi_err = {.text = "nvidia-smi is not used"};
    enum source_state nvml = SOURCE_ABSENT, smi = SOURCE_ABSENT;

    if (!is_unused(g->config.nvml_path))
        nvml = gpu_nvml_read(g->nvml, o, &nvml_err);
    if (nvml == SOURCE_WORKING)
        return nvml;
    if (o->to->n > o->n_before) { /* GPUs that are lost; nvidia-smi sees them no better */
        if (reterr)
            *reterr = nvml_err;
        return nvml;
    }
    if (!is_unused(g->config.smi_path))
        smi = gpu_smi_read(g->smi, o, &smi_err);
    if (smi == SOURCE_WORKING)
        return smi;
    return conclude(g, nvml, &nvml_err, smi, &smi_err, reterr);
}

static enum source_state read_gpus(void *source, int64_t t_ms, struct batch *out,
                                   struct err *reterr)
{
    struct source_out o;
    enum source_state state;

    source_out_begin(&o, out, t_ms);
    state = read_ways(source, &o, reterr);
    return source_out_end(&o, reterr) < 0 ? SOURCE_BROKEN : state;
}

const struct source_kind source_gpu = {"gpu", begin, read_gpus, end};
