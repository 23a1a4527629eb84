/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"

enum { READ_BYTES = 16384, STREAMS = 2, STEP_NS = 2 * 1000 * 1000 };

void child_init(struct child *c)
{
    *c = (struct child){0};
    buf_init(&c->out, CHILD_OUT_BYTES);
    buf_init(&c->errors, CHILD_OUT_BYTES);
}

void child_done(struct child *c)
{
    buf_done(&c->out);
    buf_done(&c->errors);
}

bool child_is_left(struct child *c)
{
    if (c->_left > 0 && waitpid(c->_left, NULL, WNOHANG) != 0)
        c->_left = 0; /* reaped now, or by somebody else */
    return c->_left > 0;
}

/* The child gets no descriptor but these three, no signal mask, and a process group of its own. */
static int describe(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, const int *ends)
{
    sigset_t none, all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, ends[0], STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, ends[1], STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attr, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attr, &all);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attr, 0);
    if (r == 0)
        r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETSIGMASK);
    return -r;
}

/* Nothing of it is a key. */
static const char *const variables[] = {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", NULL};

/* posix_spawn would make a process to find that out. */
static bool is_there(const char *program)
{
    const char *where = getenv("PATH");
    struct span dirs = span_cstr(where ? where : "/bin:/usr/bin");
    char path[4096];

    if (strchr(program, '/'))
        return access(program, F_OK) == 0;
    size_t n_program = strlen(program) + 1;
    while (dirs.n > 0) {
        struct span dir = span_split(&dirs, ':');
        dir = dir.n > 0 ? dir : SPAN(".");
        if (dir.n + 1 + n_program > sizeof(path))
            continue;
        memcpy(path, dir.p, dir.n);
        path[dir.n] = '/';
        memcpy(path + dir.n + 1, program, n_program);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int start(const char *const *argv, const int *ends, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    char *args[32] = {0}, *few[ARRAY_LEN(variables)];
    int r;

    if (!is_there(argv[0]))
        return -ENOENT;
    for (size_t i = 0; argv[i] && i + 1 < ARRAY_LEN(args); i++)
        memcpy(&args[i], &argv[i], sizeof(args[i])); /* posix_spawn does not write to them */
    if (posix_spawn_file_actions_init(&files) != 0)
        return -ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return -ENOMEM;
    }
    r = describe(&files, &attr, ends);
    (void)environment_pick(variables, few, ARRAY_LEN(few));
    if (r == 0)
        r = -posix_spawnp(ret, argv[0], &files, &attr, args, few);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

/* What is there now; false: the stream is over. What has no room is dropped. */
static bool take(int fd, struct buf *to, int *r)
{
    char bytes[READ_BYTES];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    size_t room = CHILD_OUT_BYTES - buf_len(to);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    if (*r == 0 && room > 0)
        *r = buf_append(to, span_of(bytes, (size_t)n < room ? (size_t)n : room));
    return true;
}

static int remaining_ms(mono_t until)
{
    int64_t left = mono_diff(until, clock_mono());

    return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* Until both streams are over. */
static int gather(struct child *c, const int *fds, mono_t until)
{
    struct pollfd at[STREAMS] = {{.fd = fds[0], .events = POLLIN},
                                 {.fd = fds[1], .events = POLLIN}};
    struct buf *to[STREAMS] = {&c->out, &c->errors};
    int r = 0;

    while (at[0].fd >= 0 || at[1].fd >= 0) {
        int left = remaining_ms(until);

        if (left == 0)
            return -ETIMEDOUT;
        if (poll(at, STREAMS, left) < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < STREAMS; i++)
            if (at[i].fd >= 0 && at[i].revents != 0 && !take(at[i].fd, to[i], &r))
                at[i].fd = -1;
    }
    return r;
}

/* 1: reaped; 0: still there at until. */
static int reap(pid_t pid, mono_t until, int *ret_status)
{
    for (;;) {
        struct timespec step = {.tv_nsec = STEP_NS};
        pid_t got = waitpid(pid, ret_status, WNOHANG);

        if (got == pid || (got < 0 && errno != EINTR))
            return 1;
        if (remaining_ms(until) == 0)
            return 0;
        (void)nanosleep(&step, NULL);
    }
}

static int finish(struct child *c, pid_t pid, int r, mono_t until)
{
    int status = 0;

    if (r == 0 && !reap(pid, until, &status))
        r = -ETIMEDOUT;
    if (r == 0) {
        c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return 0;
    }
    (void)kill(-pid, SIGKILL); /* those that it started hold the streams, too */
    if (!reap(pid, mono_add(clock_mono(), CHILD_REAP_MS * NS_PER_MS), &status))
        c->_left = pid;
    return r;
}

int child_run(struct child *c, const char *const *argv, int64_t deadline_ns)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    mono_t until = mono_add(clock_mono(), deadline_ns);
    pid_t pid = 0;
    int r = 0;

    buf_clear(&c->out);
    buf_clear(&c->errors);
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(errors, O_CLOEXEC) < 0) {
        r = -errno;
        goto out_close;
    }
    r = start(argv, (int[]){out[1], errors[1]}, &pid);
    close(out[1]);
    close(errors[1]);
    out[1] = errors[1] = -1;
    if (r == 0)
        r = finish(c, pid, gather(c, (int[]){out[0], errors[0]}, until), until);
out_close:
    for (int i = 0; i < 2; i++) {
        if (out[i] >= 0)
            close(out[i]);
        if (errors[i] >= 0)
            close(errors[i]);
    }
    return r;
}
