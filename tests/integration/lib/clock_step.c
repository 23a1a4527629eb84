/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into the gateway by clock.test.mjs: steps the real-time clock as that program sees it,
 * and nothing else on the machine. From the moment the file CLOCK_STEP_FILE exists, real time is
 * off by the seconds written in it, both for clock_gettime and for the kernel's receive stamps of
 * what came after that moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long step_s;          /* 0: not stepped */
static _Atomic long long stepped_at; /* true real time, ns */

static long long to_ns(const struct timespec *ts)
{
    return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

static void look(const struct timespec *now)
{
    const char *path = getenv("CLOCK_STEP_FILE");
    long s = 0;
    FILE *f;

    if (atomic_load(&step_s) != 0 || !path || access(path, R_OK) != 0)
        return;
    f = fopen(path, "r");
    if (!f)
        return;
    if (fscanf(f, "%ld", &s) == 1 && atomic_load(&stepped_at) == 0) {
        atomic_store(&stepped_at, to_ns(now));
        atomic_store(&step_s, s);
    }
    fclose(f);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, id, ts);

    if (r == 0 && id == CLOCK_REALTIME) {
        look(ts);
        ts->tv_sec += atomic_load(&step_s);
    }
    return r;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    ssize_t n = syscall(SYS_recvmsg, fd, m, flags);

    if (n <= 0 || atomic_load(&step_s) == 0)
        return n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct timespec ts;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&ts, CMSG_DATA(c), sizeof(ts));
        if (to_ns(&ts) >= atomic_load(&stepped_at))
            ts.tv_sec += atomic_load(&step_s);
        memcpy(CMSG_DATA(c), &ts, sizeof(ts));
    }
    return n;
}

/* The kernel compares this deadline with its own clock, which was not stepped. */
int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *deadline)
{
    struct timespec ts = *deadline;
    int (*next)(pthread_t, void **, const struct timespec *);

    *(void **)&next = dlsym(RTLD_NEXT, "pthread_timedjoin_np");
    ts.tv_sec -= atomic_load(&step_s);
    return next(thread, ret, &ts);
}
