/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retake.h"

#include <errno.h>

enum { BLOCKS_AT_ONCE = 64 };

/* 1: a block of it is in the database; 0: none is left. */
static int retake_block(struct spill *spill, struct rows *rows, bool is_of_other,
                        uint64_t *n_given_up)
{
    struct spill_stats before;
    struct day_block block;
    struct day_mark mark;
    int64_t day;
    spill_stats(spill, &before);
    int r = spill_next(spill, &day, &block, &mark);
    if (r == -EBADMSG) {
        *n_given_up += before.n_rows;
        return 0;
    }
    if (r <= 0)
        return r;
    mark.is_of_other = is_of_other;
    r = rows_put_block(rows, day, &block, &mark);
    if (r < 0)
        return r;
    spill_drop(spill);
    return 1;
}

int retake_blocks(struct spill *spill, struct rows *rows, bool is_of_other, uint64_t *n_given_up)
{
    int r = 1;
    for (int i = 0; i < BLOCKS_AT_ONCE && r == 1; i++)
        r = retake_block(spill, rows, is_of_other, n_given_up);
    return r;
}
