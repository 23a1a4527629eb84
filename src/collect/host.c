/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "collect/host_private.h"

static void end(void *source)
{
    struct host *h = source;

    buf_done(&h->text);
    mem_free(h->found);
    mem_free(h);
}

static int begin(const void *config, void **ret, struct err *reterr)
{
    struct host *h = mem_zalloc(1, sizeof(*h));

    if (!h)
        return err_set(reterr, -ENOMEM, "out of memory");
    h->config = *(const struct host_config *)config;
    if (!h->config.root || strcmp(h->config.root, "/") == 0)
        h->config.root = "";
    buf_init(&h->text, HOST_FILE_BYTES + 64 * KIB);
    h->found = mem_zalloc(h->config.n_engines, sizeof(*h->found));
    if (!h->found) {
        end(h);
        return err_set(reterr, -ENOMEM, "out of memory");
    }
    *ret = h;
    return 0;
}

/* Parts of disks have no directory of their own there. */
static bool is_disk(void *ctx, struct span device)
{
    const struct host *h = ctx;
    char name[64], path[PATH_MAX];
    struct stat st;

    if (device.n >= sizeof(name))
        return false;
    (void)span_copy(device, name, sizeof(name));
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '!';
    (void)snprintf(path, sizeof(path), "%s/sys/block/%s", h->config.root, name);
    return stat(path, &st) == 0;
}

static void read_devices(struct host *h, struct source_out *o)
{
    char path[PATH_MAX];
    struct stat st;
    bool has_sys;

    (void)snprintf(path, sizeof(path), "%s/sys/block", h->config.root);
    has_sys = stat(path, &st) == 0;
    host_diskstats(host_file(h, "/proc/diskstats", NULL), has_sys ? is_disk : NULL, h, o);
    host_netdev(host_file(h, "/proc/net/dev", NULL), o);
}

static void read_pressure(struct host *h, struct source_out *o)
{
    static const char *const resources[] = {"cpu", "memory", "io"};

    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
        host_pressure(host_file(h, path, NULL), resources[i], o);
    }
}

static enum source_state read_host(void *source, int64_t t_ms, struct batch *out,
                                   struct err *reterr)
{
    struct host *h = source;
    struct source_out o;
    enum source_state state = SOURCE_WORKING;
    int r_stat, r_memory;

    source_out_begin(&o, out, t_ms);
    h->has_no_memory = false;
    host_stat(host_file(h, "/proc/stat", &r_stat), (double)sysconf(_SC_CLK_TCK), &o);
    host_meminfo(host_file(h, "/proc/meminfo", &r_memory), &o);
    if (r_stat < 0 && r_memory < 0) {
        (void)err_set(reterr, r_stat,
                      "neither \"%s/proc/stat\" nor \"%s/proc/meminfo\" can be "
                      "read: %s",
                      h->config.root, h->config.root, err_str(r_stat));
        err_hint(reterr, "mount proc there, and let this user read it");
        state = SOURCE_BROKEN;
    }
    host_loadavg(host_file(h, "/proc/loadavg", NULL), &o);
    host_vmstat(host_file(h, "/proc/vmstat", NULL), (double)sysconf(_SC_PAGESIZE), &o);
    read_devices(h, &o);
    read_pressure(h, &o);
    host_cgroup(h, &o);
    host_processes(h, &o);
    if (o.r == 0 && h->has_no_memory)
        o.r = -ENOMEM;
    return source_out_end(&o, reterr) < 0 ? SOURCE_BROKEN : state;
}

const struct source_kind source_host = {"host", begin, read_host, end};
