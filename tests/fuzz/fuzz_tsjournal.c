/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the journal of time series: any bytes are replayed or refused, and what was replayed can
 * be written again and gives the same.
 *
 * fuzz-links: tsdb series db sqlite3
 */
#include <stdlib.h>

#include "fuzz.h"
#include "tsdb/journal.h"

static void require(int ok)
{
    if (!ok)
        abort();
}

static int add(void *ctx, uint32_t id, int64_t t_ms, double v, const struct fhist *hist)
{
    require(journal_add(ctx, id, t_ms, v, hist) == 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal first = {0}, second = {0};
    int r = journal_replay(span_of(data, size), add, &first);
    require(r == 0 || r == -EBADMSG);
    require(journal_replay(bytes_span(&first.out), add, &second) == 0);
    require(second.n == first.n && span_eq(bytes_span(&first.out), bytes_span(&second.out)));
    journal_done(&first);
    journal_done(&second);
    return 0;
}
