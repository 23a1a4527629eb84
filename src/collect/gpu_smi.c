/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_smi.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/child.h"
#include "collect/gpu_smi_table.h"

enum {
    LEARN_AGAIN_MS = 3600 * 1000, /* another driver may have come */
    LEARN_RUNS = 10,  /* of one reading: each refuses a field, and may take a deadline */
    SHOWN_BYTES = 80, /* of what it said, for people */
};

/* Its exit statuses. */
enum { NO_PERMISSION = 4, NOT_FOUND = 6, NO_DRIVER = 9 };

#define FORMAT "--format=csv,noheader,nounits"

struct gpu_smi {
    const struct gpu_config *config;
    struct child child;
    bool knows_columns;
    int64_t learnt_ms;
    struct gpu_smi_columns columns;
    struct buf processes; /* the answer about them */
    bool has_processes;
    struct gpu_reading reading;
};

int gpu_smi_new(const struct gpu_config *config, struct gpu_smi **ret)
{
    struct gpu_smi *s = mem_zalloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->config = config;
    child_init(&s->child);
    buf_init(&s->processes, CHILD_OUT_BYTES);
    *ret = s;
    return 0;
}

struct gpu_smi *gpu_smi_free(struct gpu_smi *s)
{
    if (!s)
        return NULL;
    child_done(&s->child);
    buf_done(&s->processes);
    mem_free(s);
    return NULL;
}

static const char *path_of(const struct gpu_smi *s)
{
    return s->config->smi_path ? s->config->smi_path : "nvidia-smi";
}

static int run(struct gpu_smi *s, const char *first, const char *second)
{
    const char *argv[] = {path_of(s), first, second, NULL};
    int64_t ms = s->config->smi_deadline_ms > 0 ? s->config->smi_deadline_ms : GPU_DEADLINE_MS;

    return child_run(&s->child, argv, ms * NS_PER_MS);
}

/* --- why not --- */

static enum source_state cannot_run(const struct gpu_smi *s, int r, struct err *reterr)
{
    if (r == -ENOMEM) {
        (void)err_set(reterr, r, "out of memory");
        return SOURCE_BROKEN;
    }
    if (r == -ENOENT || r == -ENOTDIR) {
        (void)err_set(reterr, r, "\"%s\" is not there", path_of(s));
        return SOURCE_ABSENT;
    }
    if (r == -EAGAIN) {
        (void)err_set(reterr, r, "which fields \"%s\" knows is still being learnt", path_of(s));
        return SOURCE_BROKEN;
    }
    if (r == -ETIMEDOUT) {
        (void)err_set(reterr, r, "\"%s\" did not end in time and was killed", path_of(s));
        err_hint(reterr, "run it by hand: a driver that hangs needs its GPU reset or the machine "
                         "restarted");
        return SOURCE_BROKEN;
    }
    (void)err_set(reterr, r, "\"%s\" could not be run: %s", path_of(s), err_str(r));
    return SOURCE_BROKEN;
}

/* The first line of what it said, in characters that can be shown. */
static void show(struct span said, char *to)
{
    struct span line = span_trim(span_split(&said, '\n'));
    size_t n = span_copy(line, to, SHOWN_BYTES);

    for (size_t i = 0; i < n; i++)
        if (to[i] < ' ' || to[i] > '~')
            to[i] = '?';
}

static enum source_state no_rows(const struct gpu_smi *s, struct err *reterr)
{
    struct span out = buf_span(&s->child.out), errors = buf_span(&s->child.errors);
    char shown[SHOWN_BYTES];

    show(span_trim(out).n > 0 ? out : errors, shown);
    if (s->child.status == NOT_FOUND || s->child.status == NO_DRIVER ||
        span_find(out, SPAN("No devices were found")) < out.n) {
        (void)err_set(reterr, -ENODEV, "\"%s\" says: %s", path_of(s), shown);
        return SOURCE_ABSENT;
    }
    if (s->child.status != 0)
        (void)err_set(reterr, -EIO, "\"%s\" ended with status %d and says: %s", path_of(s),
                      s->child.status, shown);
    else
        (void)err_set(reterr, -EBADMSG, "\"%s\" printed what is no table of GPUs: %s", path_of(s),
                      shown);
    if (s->child.status == NO_PERMISSION)
        err_hint(reterr, "let this user, or this container, reach /dev/nvidiactl and "
                         "/dev/nvidia*");
    return SOURCE_BROKEN;
}

/* --- the way to an answer --- */

/* 0: columns are chosen, from its help or all of them. */
static int choose_columns(struct gpu_smi *s, int64_t t_ms)
{
    int r = run(s, "--help-query-gpu", NULL);

    if (r < 0)
        return r;
    if (s->child.status != 0 || gpu_smi_columns_known(&s->columns, buf_span(&s->child.out)) == 0)
        gpu_smi_columns_all(&s->columns);
    s->knows_columns = true;
    s->learnt_ms = t_ms;
    return 0;
}

/* Asks until no field is refused any more; -EAGAIN: there are more, next time. */
static int ask(struct gpu_smi *s)
{
    for (int i = 0; i < LEARN_RUNS && s->columns.n > 0; i++) {
        char query[GPU_SMI_ARGUMENT_BYTES];
        struct span refused;
        int r;

        gpu_smi_columns_print(&s->columns, query, sizeof(query));
        r = run(s, query, FORMAT);
        if (r < 0)
            return r;
        refused = gpu_smi_table_refused(buf_span(&s->child.out));
        if (refused.n == 0)
            refused = gpu_smi_table_refused(buf_span(&s->child.errors));
        if (!gpu_smi_columns_refuse(&s->columns, refused))
            return 0;
    }
    return s->columns.n > 0 ? -EAGAIN : 0;
}

/* It may not know the question, or have nothing to say: then they are missing. */
static int ask_processes(struct gpu_smi *s)
{
    int r = run(s, "--query-compute-apps=gpu_uuid,pid,used_memory", FORMAT);

    buf_clear(&s->processes);
    s->has_processes = false;
    if (r < 0)
        return r;
    if (s->child.status == 0)
        r = buf_append(&s->processes, buf_span(&s->child.out));
    s->has_processes = r == 0 && s->child.status == 0;
    return r;
}

static void add_processes(const struct gpu_smi *s, struct gpu_reading *r)
{
    struct span rest = buf_span(&s->processes);

    r->knows_processes = s->has_processes && r->uuid[0] != '\0';
    while (r->knows_processes && rest.n > 0) {
        struct span uuid;
        uint32_t pid;
        double bytes;

        if (gpu_smi_table_process(span_split(&rest, '\n'), &uuid, &pid, &bytes) &&
            span_eq(uuid, span_cstr(r->uuid)))
            gpu_reading_add_process(r, pid, bytes);
    }
    gpu_reading_name_processes(r, s->config->root);
}

static bool is_told(char (*told)[GPU_NUMBER_BYTES], size_t n, const char *gpu)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(told[i], gpu) == 0)
            return true;
    return false;
}

static size_t tell(struct gpu_smi *s, struct span rows, struct source_out *o)
{
    char told[GPU_MAX][GPU_NUMBER_BYTES];
    size_t n = 0;

    while (rows.n > 0 && n < GPU_MAX) {
        if (!gpu_smi_table_row(&s->columns, span_split(&rows, '\n'), n, &s->reading) ||
            is_told(told, n, s->reading.gpu))
            continue;
        memcpy(told[n], s->reading.gpu, sizeof(told[n]));
        add_processes(s, &s->reading);
        gpu_reading_tell(&s->reading, o);
        n++;
    }
    return n;
}

enum source_state gpu_smi_read(struct gpu_smi *s, struct source_out *o, struct err *reterr)
{
    int r;

    if (child_is_left(&s->child)) {
        (void)err_set(reterr, -EBUSY, "\"%s\" was killed and is still there: its driver hangs",
                      path_of(s));
        return SOURCE_BROKEN;
    }
    r = ask_processes(s);
    if (r == 0 && (!s->knows_columns || gpu_has_passed(s->learnt_ms, o->t_ms, LEARN_AGAIN_MS)))
        r = choose_columns(s, o->t_ms);
    if (r == 0)
        r = ask(s);
    if (r < 0)
        return cannot_run(s, r, reterr);
    if (s->columns.n > 0 && tell(s, buf_span(&s->child.out), o) > 0)
        return SOURCE_WORKING;
    s->knows_columns = false; /* another version may be there tomorrow */
    return no_rows(s, reterr);
}
