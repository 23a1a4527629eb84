/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/journal.c - samples into a row, a row into samples.
 */
#include "tsdb/journal.h"

void journal_clear(struct journal *j)
{
    struct bytes kept = j->out;
    enum { KEEP_BYTES = 1 << 20 };
    kept.n = 0;
    if (kept.cap > KEEP_BYTES)
        bytes_done(&kept);
    histrec_done(&j->hist);
    *j = (struct journal){.out = kept};
}

void journal_done(struct journal *j)
{
    bytes_done(&j->out);
    histrec_done(&j->hist);
    *j = (struct journal){0};
}

int journal_add(struct journal *j, uint32_t id, int64_t t_ms, double v, const struct fhist *hist)
{
    uint32_t n_before = j->out.n;
    uint8_t *at = bytes_room(&j->out, 2 * VARINT_MAX_BYTES + TSCOLUMN_MAX_BYTES);
    if (!at)
        return -ENOMEM;
    at = varint_put_signed(at, (int64_t)id - (int64_t)j->last_id);
    at = varint_put_signed(at, (int64_t)((uint64_t)t_ms - (uint64_t)j->last_t));
    struct tscolumn alone = {0};
    at = hist ? tscolumn_put_other(at) : tscolumn_put(&alone, at, v);
    bytes_end(&j->out, at);
    if (hist && histrec_put(&j->hist, &j->out, hist) < 0) {
        j->out.n = n_before;
        return -ENOMEM;
    }
    j->last_id = id;
    j->last_t = t_ms;
    j->n++;
    return 0;
}

int journal_replay(struct span row,
                   int (*visit)(void *ctx, uint32_t id, int64_t t_ms, double v,
                                const struct fhist *hist),
                   void *ctx)
{
    struct varint_in in = varint_in(row);
    struct histrec hist = {0};
    int64_t id = 0, t = 0, diff;
    int r = 0;
    while (r == 0 && in.p < in.end) {
        struct tscolumn alone = {0};
        double v;
        r = -EBADMSG;
        if (!varint_get_signed(&in, &diff) || __builtin_add_overflow(id, diff, &id) || id < 0 ||
            id > UINT32_MAX || !varint_get_signed(&in, &diff))
            break;
        t = (int64_t)((uint64_t)t + (uint64_t)diff);
        r = tscolumn_get(&alone, &in, &v);
        if (r == 0)
            r = visit(ctx, (uint32_t)id, t, v, NULL);
        else if (r == 1 && (r = histrec_get(&hist, &in)) == 0)
            r = visit(ctx, (uint32_t)id, t, hist.h.sum, &hist.h);
    }
    histrec_done(&hist);
    return r;
}
