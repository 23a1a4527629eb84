/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfail.h - runs something with its 1st, 2nd, 3rd ... allocation failing until it succeeds.
 *
 * attempt does the whole thing: set up, work, check that outputs are untouched on failure, tear
 * down. It returns 0 on success and -ENOMEM when it noticed the failure; any other value fails
 * the test, and so does a block that is still allocated when attempt has returned.
 * Only allocations through base/mem.h, by the calling thread, are counted.
 */
#ifndef MEMFAIL_H
#define MEMFAIL_H

/* Returns how many different allocations were failed (0: attempt allocates nothing). */
int memfail_each(int (*attempt)(void *ctx), void *ctx);

#endif
