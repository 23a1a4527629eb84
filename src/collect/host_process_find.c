/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_process_find.c - the first process of an engine: by file, port or command.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/num.h"
#include "collect/host_private.h"

enum { PID_FILE_BYTES = 64, LISTENS = 0x0A, COMMAND_ARGS = 3 };

void host_each_pid(struct host *h, bool (*visit)(void *ctx, uint32_t pid), void *ctx)
{
    char path[PATH_MAX];
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/proc", h->config.root);
    dir = opendir(path);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        uint64_t pid;

        if (num_parse_u64(span_cstr(e->d_name), &pid) == 0 && pid > 0 && pid <= INT32_MAX &&
            !visit(ctx, (uint32_t)pid))
            break;
    }
    closedir(dir);
}

/* --- by a file with its number --- */

static uint32_t in_pid_file(const char *path)
{
    struct buf text;
    struct span rest, word;
    uint64_t pid = 0;

    buf_init(&text, 64 * KIB);
    if (file_read(path, PID_FILE_BYTES, &text) == 0) {
        rest = buf_span(&text);
        word = span_split(&rest, '\n');
        if (num_parse_u64(host_word(&word), &pid) < 0 || pid > INT32_MAX)
            pid = 0;
    }
    buf_done(&text);
    return (uint32_t)pid;
}

/* --- by the port that it listens at --- */

uint64_t host_process_socket(struct span text, uint16_t port)
{
    while (text.n > 0) {
        struct span line = span_split(&text, '\n'), local, state;
        uint64_t v, inode;

        (void)host_word(&line); /* its number */
        local = host_word(&line);
        (void)span_split(&local, ':');
        if (num_parse_hex(local, &v) < 0 || v != port)
            continue;
        (void)host_word(&line); /* the other end */
        state = host_word(&line);
        if (num_parse_hex(state, &v) < 0 || v != LISTENS)
            continue;
        for (int i = 0; i < 5; i++) /* queues, timer, retransmits, user, timeout */
            (void)host_word(&line);
        if (num_parse_u64(host_word(&line), &inode) == 0 && inode > 0)
            return inode;
    }
    return 0;
}

struct holder {
    struct host *h;
    char link[32]; /* "socket:[1234]" */
    uint32_t pid;
};

static bool holds(void *ctx, uint32_t pid)
{
    struct holder *w = ctx;
    char path[PATH_MAX], to[sizeof(w->link)];
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/proc/%u/fd", w->h->config.root, pid);
    dir = opendir(path);
    if (!dir)
        return true; /* another user's */
    for (const struct dirent *e = readdir(dir); e && w->pid == 0; e = readdir(dir)) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to));

        if (n > 0 && span_eq(span_of(to, (size_t)n), span_cstr(w->link)))
            w->pid = pid;
    }
    closedir(dir);
    return w->pid == 0;
}

static uint32_t at_port(struct host *h, uint16_t port)
{
    struct holder w = {.h = h};
    uint64_t inode = host_process_socket(host_file(h, "/proc/net/tcp", NULL), port);

    if (inode == 0)
        inode = host_process_socket(host_file(h, "/proc/net/tcp6", NULL), port);
    if (inode == 0)
        return 0;
    (void)snprintf(w.link, sizeof(w.link), "socket:[%llu]", (unsigned long long)inode);
    host_each_pid(h, holds, &w);
    return w.pid;
}

/* --- by its command --- */

static struct span file_name(struct span path)
{
    for (size_t i = path.n; i > 0; i--)
        if (path.p[i - 1] == '/')
            return span_from(path, i);
    return path;
}

bool host_process_is_command(struct span words, struct span command)
{
    for (int i = 0; i < COMMAND_ARGS && words.n > 0; i++)
        if (span_eq(file_name(span_split(&words, '\0')), command))
            return true;
    return false;
}

struct search {
    struct host *h;
    struct span command;
    struct host_process best; /* the one that began first */
};

static bool compare(void *ctx, uint32_t pid)
{
    struct search *s = ctx;
    struct host_process p;
    char path[64];
    bool is;

    if (!host_process_read(s->h, pid, &p))
        return true;
    is = span_eq(span_cstr(p.name), s->command);
    if (!is) {
        (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
        is = host_process_is_command(host_file(s->h, path, NULL), s->command);
    }
    if (is && (s->best.pid == 0 || p.start_ticks < s->best.start_ticks ||
               (p.start_ticks == s->best.start_ticks && p.pid < s->best.pid)))
        s->best = p;
    return true;
}

bool host_process_find(struct host *h, const struct host_engine *e, struct host_process *ret)
{
    struct search s = {.h = h, .command = span_cstr(e->command)};

    if (e->pid_file && host_process_read(h, in_pid_file(e->pid_file), ret))
        return true;
    if (e->port > 0 && host_process_read(h, at_port(h, e->port), ret))
        return true;
    if (e->command)
        host_each_pid(h, compare, &s);
    if (s.best.pid > 0)
        *ret = s.best;
    return s.best.pid > 0;
}
