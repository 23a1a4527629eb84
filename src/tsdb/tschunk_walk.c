/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tschunk_walk.c - a chunk's bytes back into samples. Any bytes are decoded or refused.
 */
#include "tsdb/tschunk.h"

static bool take_stream(struct varint_in *in, uint64_t n, struct varint_in *ret)
{
    if (n > (uint64_t)(in->end - in->p))
        return false;
    *ret = (struct varint_in){in->p, in->p + n};
    in->p += n;
    return true;
}

int tschunk_walk_begin(struct tschunk_walk *w, struct span bytes)
{
    struct varint_in in = varint_in(bytes);
    uint64_t n_columns, range, sizes[1 + TSCHUNK_SUMMARY];
    memset(w, 0, sizeof(*w));
    if (!varint_get(&in, &w->n) || !varint_get_signed(&in, &w->t_first) ||
        !varint_get(&in, &range) || !varint_get(&in, &n_columns))
        return -EBADMSG;
    if ((n_columns != TSCHUNK_PLAIN && n_columns != TSCHUNK_SUMMARY) ||
        __builtin_add_overflow(w->t_first, range, &w->t_last))
        return -EBADMSG;
    for (uint64_t i = 0; i <= n_columns; i++)
        if (!varint_get(&in, &sizes[i]))
            return -EBADMSG;
    if (!take_stream(&in, sizes[0], &w->_t))
        return -EBADMSG;
    for (uint64_t i = 0; i < n_columns; i++)
        if (!take_stream(&in, sizes[i + 1], &w->_columns[i]))
            return -EBADMSG;
    /* A sample is a byte at least, so that n is no promise of more than there is. */
    if (in.p != in.end || w->n > sizes[1])
        return -EBADMSG;
    w->n_columns = (uint32_t)n_columns;
    w->n_left = w->n;
    w->t = w->t_first;
    return 0;
}

void tschunk_walk_end(struct tschunk_walk *w)
{
    histrec_done(&w->_hist);
}

static int next_time(struct tschunk_walk *w)
{
    int64_t diff;
    if (w->n_left == w->n)
        return 0;
    if (!varint_get_signed(&w->_t, &diff))
        return -EBADMSG;
    w->_t_step = (int64_t)((uint64_t)w->_t_step + (uint64_t)diff);
    int64_t t;
    if (w->_t_step <= 0 || __builtin_add_overflow(w->t, w->_t_step, &t) || t > w->t_last)
        return -EBADMSG;
    w->t = t;
    return 0;
}

static int next_hist(struct tschunk_walk *w)
{
    int r = histrec_get(&w->_hist, &w->_columns[0]);
    if (r < 0)
        return r;
    w->hist = &w->_hist.h;
    w->values[0] = w->_hist.h.sum;
    return 0;
}

int tschunk_walk_next(struct tschunk_walk *w)
{
    if (w->n_left == 0)
        return 0;
    int r = next_time(w);
    if (UNLIKELY(r < 0))
        return r;
    w->n_left--;
    w->hist = NULL;
    for (uint32_t i = 0; i < w->n_columns; i++) {
        r = tscolumn_get(&w->_states[i], &w->_columns[i], &w->values[i]);
        if (UNLIKELY(r == 1))
            r = w->n_columns == TSCHUNK_PLAIN ? next_hist(w) : -EBADMSG;
        if (UNLIKELY(r < 0))
            return r;
    }
    return 1;
}

static double aspect_of(const struct tschunk_walk *w, enum series_aspect aspect)
{
    static const int columns[] = {
        [SERIES_LAST] = TSCHUNK_LAST, [SERIES_MIN] = TSCHUNK_MIN,     [SERIES_MAX] = TSCHUNK_MAX,
        [SERIES_SUM] = TSCHUNK_SUM,   [SERIES_COUNT] = TSCHUNK_COUNT, [SERIES_MEAN] = TSCHUNK_SUM,
    };
    double last = w->values[TSCHUNK_LAST];
    if (series_is_stale(last))
        return last;
    if (w->n_columns == TSCHUNK_PLAIN)
        return aspect == SERIES_COUNT ? 1.0 : last;
    double v = w->values[columns[aspect]];
    return aspect == SERIES_MEAN ? v / w->values[TSCHUNK_COUNT] : v;
}

static int add_hist(const struct tschunk_walk *w, struct samples *out)
{
    struct fhist *copy;
    int r = fhist_copy(&out->arena, w->hist, &copy);
    return r < 0 ? r : samples_add_hist(out, w->t, copy);
}

int tschunk_read(struct span bytes, int64_t from_ms, int64_t to_ms, enum series_aspect aspect,
                 struct samples *out)
{
    struct tschunk_walk w;
    int r = tschunk_walk_begin(&w, bytes);
    if (r < 0 || w.t_last < from_ms || w.t_first > to_ms)
        return r;
    while ((r = tschunk_walk_next(&w)) == 1 && w.t <= to_ms) {
        if (w.t < from_ms)
            continue;
        r = w.hist ? add_hist(&w, out) : samples_add(out, w.t, aspect_of(&w, aspect));
        if (r < 0)
            break;
    }
    tschunk_walk_end(&w);
    return r < 0 ? r : 0;
}
