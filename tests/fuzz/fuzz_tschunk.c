/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of time series. Any bytes are decoded or refused; what is decoded can be written again and
 * reads the same. The input as instructions makes a chunk that gives back what was put in.
 *
 * fuzz-links: tsdb series db sqlite3
 */
#include <stdlib.h>

#include "base/mem.h"
#include "fuzz.h"
#include "tsdb/frame.h"
#include "tsdb/tschunk.h"

static void require(int ok)
{
    if (!ok)
        abort();
}

static void append(struct tschunk *c, const struct tschunk_walk *w)
{
    int r = w->n_columns == TSCHUNK_SUMMARY ? tschunk_append_summary(c, w->t, w->values)
            : w->hist                       ? tschunk_append_hist(c, w->t, w->hist)
                                            : tschunk_append(c, w->t, w->values[0]);
    require(r == 0);
}

static int same(const struct tschunk_walk *a, const struct tschunk_walk *b)
{
    if (a->t != b->t || !a->hist != !b->hist)
        return 0;
    /* -0 as a count may become 0. */
    return a->hist ? 1 : memcmp(a->values, b->values, sizeof(a->values[0]) * a->n_columns) == 0;
}

/* Samples of any bytes, up to the first bad one, written and read again. */
static void check_bytes(struct span bytes)
{
    struct tschunk_walk w, again;
    struct tschunk c;
    struct bytes out = {0};
    if (tschunk_walk_begin(&w, bytes) < 0)
        return;
    require(tschunk_init(&c, w.n_columns) == 0);
    while (tschunk_walk_next(&w) == 1)
        append(&c, &w);
    tschunk_walk_end(&w);
    require(tschunk_write(&c, &out) == 0);
    require(tschunk_walk_begin(&again, bytes_span(&out)) == 0);
    require(tschunk_walk_begin(&w, bytes) == 0);
    for (uint32_t i = 0; i < c.n; i++) {
        require(tschunk_walk_next(&w) == 1);
        require(tschunk_walk_next(&again) == 1);
        require(same(&w, &again));
    }
    require(tschunk_walk_next(&again) == 0);
    tschunk_walk_end(&w);
    tschunk_walk_end(&again);
    tschunk_done(&c);
    bytes_done(&out);
}

/* Nine bytes a sample: how far on, and its value's bits. */
static void check_samples(struct span in)
{
    enum { SAMPLE_BYTES = 9 };
    struct tschunk c;
    struct bytes out = {0};
    struct tschunk_walk w;
    int64_t t = 0;
    struct span left = in;
    require(tschunk_init(&c, TSCHUNK_PLAIN) == 0);
    while (left.n >= SAMPLE_BYTES) {
        struct span one = span_take(&left, SAMPLE_BYTES);
        double v;
        memcpy(&v, one.p + 1, sizeof(v));
        t += 1 + (uint8_t)one.p[0];
        require(tschunk_append(&c, t, v) == 0);
    }
    require(tschunk_write(&c, &out) == 0);
    require(tschunk_walk_begin(&w, bytes_span(&out)) == 0);
    for (left = in, t = 0; left.n >= SAMPLE_BYTES;) {
        struct span one = span_take(&left, SAMPLE_BYTES);
        t += 1 + (uint8_t)one.p[0];
        require(tschunk_walk_next(&w) == 1);
        require(w.t == t && memcmp(w.values, one.p + 1, sizeof(double)) == 0);
    }
    require(tschunk_walk_next(&w) == 0);
    tschunk_walk_end(&w);
    tschunk_done(&c);
    bytes_done(&out);
}

static void check_frame(struct span blob)
{
    struct frame *f;
    struct span content;
    require(frame_new(&f) == 0);
    if (frame_open(f, blob, &content) == 0)
        check_bytes(content);
    frame_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span s = span_of(data, size);
    check_bytes(s);
    check_samples(s);
    check_frame(s);
    return 0;
}
