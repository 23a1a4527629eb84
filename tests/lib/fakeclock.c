/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeclock.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"

static _Atomic int64_t now_mono_ns;
static _Atomic int64_t now_real_ns;

static int64_t read_mono(void)
{
    return now_mono_ns;
}

static int64_t read_real(void)
{
    return now_real_ns;
}

void fakeclock_install(int64_t mono_ns, int64_t real_ns)
{
    now_mono_ns = mono_ns;
    now_real_ns = real_ns;
    clock_fake(read_mono, read_real);
}

void fakeclock_remove(void)
{
    clock_fake(NULL, NULL);
}

void fakeclock_advance(int64_t ns)
{
    now_mono_ns += ns;
    now_real_ns += ns;
}

void fakeclock_step_real(int64_t ns)
{
    now_real_ns += ns;
}
