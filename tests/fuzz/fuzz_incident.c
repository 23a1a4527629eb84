/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident: curves and labels as they are kept, and texts of others in Markdown. Whatever the bytes
 * are, reading stays within them; what could be read can be written and reads the same; a text
 * stays one line that closes no table. fuzz-links: incident zstd
 */
#include <zstd.h>

#include "pieces.h"

#include "base/limits.h"
#include "incident/codec.h"
#include "incident/curve.h"
#include "incident/markdown.h"

/* The frame is ours: with a checksum no change would come through. */
static void check_curve(struct span raw)
{
    struct arena a;
    struct curve c, again;
    struct buf packed;
    size_t cap = ZSTD_compressBound(raw.n);
    char *frame = mem_must(mem_alloc(cap));
    size_t n = ZSTD_compress(frame, cap, raw.p, raw.n, 1);
    FUZZ_CHECK(!ZSTD_isError(n));
    arena_init(&a, NULL);
    buf_init(&packed, 16 * MIB);
    if (curve_unpack(span_of(frame, n), &a, &c) == 0) {
        FUZZ_CHECK(curve_pack(&c, &packed) == 0);
        FUZZ_CHECK(curve_unpack(buf_span(&packed), &a, &again) == 0);
        FUZZ_CHECK(again.n_series == c.n_series && again.n_points == c.n_points &&
                   again.step_ms == c.step_ms);
        for (size_t i = 0; i < c.n_series; i++) {
            FUZZ_CHECK(labels_eq(again.series[i].labels, c.series[i].labels));
            FUZZ_CHECK(memcmp(again.series[i].at, c.series[i].at, c.n_points * sizeof(float)) == 0);
        }
    }
    int r = curve_unpack(raw, &a, &c); /* no frame, mostly */
    (void)r;
    buf_done(&packed);
    arena_done(&a);
    mem_free(frame);
}

static void check_labels(struct span raw)
{
    struct arena a;
    struct codec_reader in = {.rest = raw};
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    struct labels l = codec_labels(&in, &a);
    if (in.error == 0 && codec_put_labels(&out, l) == 0) {
        struct codec_reader back = {.rest = buf_span(&out)};
        FUZZ_CHECK(labels_eq(codec_labels(&back, &a), l) && back.error == 0 && back.rest.n == 0);
    }
    buf_done(&out);
    arena_done(&a);
}

/* Every character that could be markup has its backslash. */
static void check_text(struct span raw)
{
    struct buf out;
    buf_init(&out, MIB);
    FUZZ_CHECK(markdown_text(raw, &out) == 0);
    struct span s = buf_span(&out);
    for (size_t i = 0; i < s.n; i++) {
        FUZZ_CHECK((unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f);
        if (s.p[i] == '\\' && i + 1 < s.n)
            i++;
        else
            FUZZ_CHECK(!strchr("|<>`*_[]&", s.p[i]));
    }
    buf_clear(&out);
    FUZZ_CHECK(markdown_quote(raw, &out) == 0);
    for (s = buf_span(&out); s.n > 0;)
        FUZZ_CHECK(span_starts_with(span_split(&s, '\n'), SPAN(">")));
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span raw = span_of(data, size);
    if (size > 64 * KIB)
        return 0;
    check_curve(raw);
    check_labels(raw);
    check_text(raw);
    return 0;
}
