/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_process.c - processes of engines that run here, with what they started.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "collect/host_private.h"

enum { SEEN_MAX = 65536 }; /* processes of the machine that are looked at */

bool host_process_parse(struct span text, struct host_process *ret)
{
    enum { PARENT = 1, USER = 11, SYSTEM = 12, THREADS = 17, START = 19, RESIDENT = 21, COUNT };
    struct host_process p = {0};
    uint64_t v[COUNT] = {0}, pid;
    size_t open = span_find_char(text, '('), close = text.n;

    while (close > 0 && text.p[close - 1] != ')') /* the last one: names may have some */
        close--;
    if (open >= text.n || close <= open + 1 || close == text.n)
        return false;
    if (num_parse_u64(span_trim(span_of(text.p, open)), &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return false;
    (void)span_copy(span_of(text.p + open + 1, close - open - 2), p.name, sizeof(p.name));
    text = span_from(text, close);
    for (size_t i = 0; i < COUNT; i++) {
        struct span word = host_word(&text);

        if ((i == PARENT || i == USER || i == SYSTEM || i == THREADS || i == START ||
             i == RESIDENT) &&
            num_parse_u64(word, &v[i]) < 0)
            return false;
    }
    p.pid = (uint32_t)pid;
    p.parent = v[PARENT] <= INT32_MAX ? (uint32_t)v[PARENT] : 0;
    p.cpu_ticks = (double)v[USER] + (double)v[SYSTEM];
    p.threads = (double)v[THREADS];
    p.resident_pages = (double)v[RESIDENT];
    p.start_ticks = v[START];
    *ret = p;
    return true;
}

bool host_process_read(struct host *h, uint32_t pid, struct host_process *ret)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    return host_process_parse(host_file(h, path, NULL), ret) && ret->pid == pid;
}

/* --- the machine's processes, once per reading --- */

struct seen {
    struct host *h;
    struct host_process *at;
    size_t n, cap;
    int r;
};

static bool see(void *ctx, uint32_t pid)
{
    struct seen *s = ctx;
    struct host_process p;

    if (!host_process_read(s->h, pid, &p))
        return true;
    if (s->n == s->cap) {
        size_t cap = s->cap > 0 ? 2 * s->cap : 256;
        struct host_process *at = mem_realloc(s->at, cap * sizeof(*at));

        if (!at) {
            s->r = -ENOMEM;
            return false;
        }
        s->at = at;
        s->cap = cap;
    }
    s->at[s->n++] = p;
    return s->n < SEEN_MAX;
}

static bool is_in(const struct host_process *const *at, size_t n, uint32_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (at[i]->pid == pid)
            return true;
    return false;
}

/* The first one and what it started, and they started, as far as there is room. */
static size_t family(const struct seen *s, uint32_t first, const struct host_process **ret)
{
    size_t n = 0, n_before;

    for (size_t i = 0; i < s->n && n == 0; i++)
        if (s->at[i].pid == first)
            ret[n++] = &s->at[i];
    do {
        n_before = n;
        for (size_t i = 0; i < s->n && n > 0 && n < HOST_PROCESSES_MAX; i++)
            if (is_in(ret, n, s->at[i].parent) && !is_in(ret, n, s->at[i].pid))
                ret[n++] = &s->at[i];
    } while (n > n_before && n < HOST_PROCESSES_MAX);
    return n;
}

static void tell(const struct host_engine *e, const struct host_process *p, struct source_out *o)
{
    char pid[24];
    struct label labels[] = {
        {SPAN("engine"), span_cstr(e->name)},
        {SPAN("pid"), span_of(pid, num_format_u64(p->pid, pid))},
        {SPAN("command"), span_cstr(p->name)},
    };
    const size_t n = ARRAY_LEN(labels);

    source_out_add(o, "host_engine_process_cpu_seconds_total", labels, n,
                   p->cpu_ticks / (double)sysconf(_SC_CLK_TCK));
    source_out_add(o, "host_engine_process_memory_resident_bytes", labels, n,
                   p->resident_pages * (double)sysconf(_SC_PAGESIZE));
    source_out_add(o, "host_engine_process_threads", labels, n, p->threads);
}

/* The one found before, while it is the same; else looked for. */
static uint32_t first_of(struct host *h, size_t i)
{
    struct host_found *found = &h->found[i];
    struct host_process p;

    if (found->pid > 0 && host_process_read(h, found->pid, &p) &&
        p.start_ticks == found->start_ticks)
        return found->pid;
    *found = (struct host_found){0};
    if (host_process_find(h, &h->config.engines[i], &p))
        *found = (struct host_found){p.pid, p.start_ticks};
    return found->pid;
}

void host_processes(struct host *h, struct source_out *o)
{
    struct seen s = {.h = h};

    if (h->config.n_engines == 0)
        return;
    host_each_pid(h, see, &s);
    for (size_t i = 0; i < h->config.n_engines && s.r == 0; i++) {
        const struct host_engine *e = &h->config.engines[i];
        const struct host_process *at[HOST_PROCESSES_MAX];
        uint32_t first = first_of(h, i);
        size_t n = first > 0 ? family(&s, first, at) : 0;

        host_add_of(o, "host_engine_processes", "engine", span_cstr(e->name), (double)n);
        for (size_t k = 0; k < n; k++)
            tell(e, at[k], o);
    }
    if (o->r == 0)
        o->r = s.r;
    mem_free(s.at);
}
