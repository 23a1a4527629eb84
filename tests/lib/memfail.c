/* SPDX-License-Identifier: Apache-2.0 */
#include "memfail.h"

#include <errno.h>

#include "base/mem.h"
#include "harness.h"

int memfail_each(int (*attempt)(void *ctx), void *ctx)
{
    enum { TOO_MANY = 100000 }; /* an attempt that never succeeds is a bug of the test */
    for (int n = 1; n < TOO_MANY; n++) {
        int64_t n_live = mem_live_blocks();
        mem_fail_from((uint64_t)n);
        int r = attempt(ctx);
        mem_fail_off();
        if (mem_live_blocks() != n_live)
            fail_msg("allocation %d failing: %lld blocks leaked", n,
                     (long long)(mem_live_blocks() - n_live));
        if (r == 0)
            return n - 1;
        if (r != -ENOMEM)
            fail_msg("allocation %d failing: attempt returned %d", n, r);
    }
    fail_msg("no success with %d allocations", TOO_MANY);
    return -1;
}
