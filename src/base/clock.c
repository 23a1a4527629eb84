/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/clock.c - reads the clocks, or the fake ones of a test.
 *
 * clock_gettime is served by the vdso without a system call (about 20 ns); the fake hook costs one
 * load and a branch that is always predicted. The hook pointers are plain variables because
 * clock_fake may only be called while no other thread runs.
 */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

#include "base/attr.h"

static int64_t (*fake_mono_ns)(void);
static int64_t (*fake_real_ns)(void);

static int64_t read_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

mono_t clock_mono(void)
{
    if (UNLIKELY(fake_mono_ns != NULL))
        return (mono_t){fake_mono_ns()};
    return (mono_t){read_ns(CLOCK_MONOTONIC)};
}

int64_t clock_real_ns(void)
{
    if (UNLIKELY(fake_real_ns != NULL))
        return fake_real_ns();
    return read_ns(CLOCK_REALTIME);
}

wall_t clock_wall(void)
{
    return (wall_t){clock_real_ns() / NS_PER_US};
}

void clock_fake(int64_t (*mono_ns)(void), int64_t (*real_ns)(void))
{
    fake_mono_ns = mono_ns;
    fake_real_ns = real_ns;
}
