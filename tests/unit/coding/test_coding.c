/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coding: what the libraries' own encoders wrote comes back, in any division and with the read that
 * brought it; what is malformed, endless or too large ends as it is promised to.
 *
 * test-links: brotlienc
 */
#include "coding/coding.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "encode.h"
#include "guard.h"
#include "memfail.h"
#include "split.h"

enum { OUT_BYTES = 16 * 1024 }; /* what the decoder gives at once */

static const enum coding codings[ENCODINGS] = {CODING_GZIP, CODING_DEFLATE, CODING_DEFLATE,
                                               CODING_BR, CODING_ZSTD};
static const char *const titles[ENCODINGS] = {"gzip", "zlib", "bare deflate", "br", "zstd"};

/* gzip and zstd may always go on with another member or frame. */
static enum decode_status status_at_end(enum encoding as)
{
    return as == ENCODE_GZIP || as == ENCODE_ZSTD ? DECODE_MORE : DECODE_END;
}

struct decoded {
    struct decoder *decoder;
    enum decode_status status;
    struct buf out; /* what came, unless it is not kept */
    uint64_t n_out;
    bool is_kept;
};

static void take(void *arg, struct span bytes)
{
    struct decoded *d = arg;
    assert_in_range(bytes.n, 1, OUT_BYTES);
    d->n_out += bytes.n;
    if (d->is_kept)
        assert_int_equal(buf_append(&d->out, bytes), 0);
}

static void open_as(struct decoded *d, enum coding coding)
{
    *d = (struct decoded){.is_kept = true};
    buf_init(&d->out, 16 * MIB);
    assert_int_equal(decoder_new(coding, &d->decoder), 0);
}

static void feed(struct decoded *d, struct span in)
{
    d->status = decoder_feed(d->decoder, in, take, d);
}

static void finish(struct decoded *d)
{
    d->decoder = decoder_free(d->decoder);
    assert_null(d->decoder);
    buf_done(&d->out);
}

/* Feeds a whole text; what it ended with. Bytes are asserted where they are given. */
static enum decode_status decode(enum coding coding, struct span in, struct span want)
{
    struct decoded d;
    open_as(&d, coding);
    feed(&d, in);
    assert_span_equal("decoded", buf_span(&d.out), want);
    enum decode_status status = d.status;
    finish(&d);
    return status;
}

/* Text like a stream's: alike, and not the same. */
static struct span events_of(struct buf *b, size_t n_bytes)
{
    struct rng rng;
    rng_seed(&rng, n_bytes);
    buf_init(b, 64 * MIB);
    while (buf_len(b) < n_bytes)
        assert_int_equal(buf_printf(b, "data: {\"choices\":[{\"delta\":{\"content\":\"%x\"}}]}\n\n",
                                    (unsigned)rng_below(&rng, 1 << 24)),
                         0);
    buf_truncate(b, n_bytes);
    return buf_span(b);
}

static struct span noise_of(struct buf *b, size_t n_bytes)
{
    struct rng rng;
    char *p;
    rng_seed(&rng, n_bytes);
    buf_init(b, 64 * MIB);
    assert_int_equal(buf_reserve(b, n_bytes, &p), 0);
    for (size_t i = 0; i < n_bytes; i++)
        p[i] = (char)rng_below(&rng, 256);
    buf_commit(b, n_bytes);
    return buf_span(b);
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum coding want;
    } rows[] = {
        {"", CODING_IDENTITY},      {" identity\t", CODING_IDENTITY},
        {"gzip", CODING_GZIP},      {" GZip ", CODING_GZIP},
        {"x-gzip", CODING_GZIP},    {"deflate", CODING_DEFLATE},
        {"br", CODING_BR},          {"zstd", CODING_ZSTD},
        {"gzip, br", CODING_OTHER}, {"gzip,", CODING_OTHER},
        {"gzi", CODING_OTHER},      {"compress", CODING_OTHER},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].value, coding_of(span_cstr(rows[i].value)) == rows[i].want);
    assert_int_equal(coding_of((struct span){0}), CODING_IDENTITY);
}

/* --- what comes back --- */

struct division {
    struct decoded d;
    enum encoding as;
    struct span want;
};

static void division_begin(void *ctx)
{
    struct division *v = ctx;
    open_as(&v->d, codings[v->as]);
}

static void division_feed(void *ctx, struct span part)
{
    struct division *v = ctx;
    feed(&v->d, part);
}

static void division_end(void *ctx, const char *how)
{
    struct division *v = ctx;
    char name[96];
    (void)snprintf(name, sizeof(name), "%s of %zu, %s", titles[v->as], v->want.n, how);
    assert_span_equal(name, buf_span(&v->d.out), v->want);
    assert_row(name, v->d.status == status_at_end(v->as));
    finish(&v->d);
}

static const struct split_ops division_ops = {division_begin, division_feed, division_end};

static void in_any_division(struct span want)
{
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        struct division v = {.as = (enum encoding)as, .want = want};
        split_each(encode_whole(&e, v.as, want), &division_ops, &v);
        encoder_done(&e);
    }
}

static void the_same_bytes_in_any_division(void **state)
{
    (void)state;
    struct buf b;
    in_any_division(SPAN(""));
    in_any_division(SPAN("x"));
    in_any_division(events_of(&b, 700));
    buf_done(&b);
    in_any_division(noise_of(&b, 1500));
    buf_done(&b);
    for (size_t n = OUT_BYTES - 1; n <= OUT_BYTES + 1; n++) {
        char *zeros = mem_must(mem_zalloc(1, n)); /* about as many bytes at once as there may be */
        in_any_division(span_of(zeros, n));
        mem_free(zeros);
    }
    in_any_division(events_of(&b, 20000));
    buf_done(&b);
}

static void every_level_and_window(void **state)
{
    (void)state;
    struct buf b;
    struct span want = events_of(&b, 3000);
    for (int as = 0; as < ENCODINGS; as++) {
        for (int level = 0; level <= 9; level++) {
            struct encoder e;
            encoder_init(&e, (enum encoding)as, level);
            struct span coded = encode(&e, want, ENCODE_END);
            assert_row(titles[as],
                       decode(codings[as], coded, want) == status_at_end((enum encoding)as));
            encoder_done(&e);
        }
    }
    /* The first byte of a zlib text says the window, too; 8 is the smallest, and becomes 9. */
    for (int bits = 8; bits <= 15; bits++) {
        struct encoder e = {.as = ENCODE_ZLIB};
        buf_init(&e.out, MIB);
        assert_int_equal(deflateInit2(&e.zlib, 6, Z_DEFLATED, bits, 8, Z_FIXED), Z_OK);
        assert_int_equal(decode(CODING_DEFLATE, encode(&e, want, ENCODE_END), want), DECODE_END);
        encoder_done(&e);
    }
    buf_done(&b);
}

/* The first byte of bare deflate holds the kind of its first block: all of them are told from zlib,
 * also when they come alone. */
static void bare_deflate_by_its_first_block(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int level, strategy;
        enum encode_op first;
    } rows[] = {
        {"stored, last", 0, Z_DEFAULT_STRATEGY, ENCODE_END},
        {"stored, not last", 0, Z_DEFAULT_STRATEGY, ENCODE_FLUSH},
        {"fixed, last", 9, Z_FIXED, ENCODE_END},
        {"fixed, not last", 9, Z_FIXED, ENCODE_FLUSH},
        {"dynamic, last", 9, Z_DEFAULT_STRATEGY, ENCODE_END},
        {"dynamic, not last", 9, Z_DEFAULT_STRATEGY, ENCODE_FLUSH},
    };
    struct buf b;
    struct span want = events_of(&b, 3000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct encoder e = {.as = ENCODE_BARE};
        struct decoded d;
        buf_init(&e.out, MIB);
        assert_int_equal(deflateInit2(&e.zlib, rows[i].level, Z_DEFLATED, -15, 8, rows[i].strategy),
                         Z_OK);
        open_as(&d, CODING_DEFLATE);
        struct span coded = encode(&e, want, rows[i].first);
        feed(&d, span_take(&coded, 1));
        feed(&d, coded);
        assert_span_equal(rows[i].name, buf_span(&d.out), want);
        if (rows[i].first != ENCODE_END)
            feed(&d, encode(&e, SPAN(""), ENCODE_END));
        assert_row(rows[i].name, d.status == DECODE_END);
        finish(&d);
        encoder_done(&e);
    }
    buf_done(&b);
}

/* --- several, and what is behind --- */

static void append_whole(struct buf *b, enum encoding as, struct span in)
{
    struct encoder e;
    assert_int_equal(buf_append(b, encode_whole(&e, as, in)), 0);
    encoder_done(&e);
}

static void append(struct buf *b, struct span s)
{
    assert_int_equal(buf_append(b, s), 0);
}

static void members_and_frames_follow_each_other(void **state)
{
    (void)state;
    static const enum encoding rows[] = {ENCODE_GZIP, ENCODE_ZSTD};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct division v = {.as = rows[i], .want = SPAN("one, two and three")};
        struct buf b;
        buf_init(&b, MIB);
        append_whole(&b, rows[i], SPAN("one,"));
        append_whole(&b, rows[i], SPAN(" two"));
        append_whole(&b, rows[i], SPAN(""));
        append_whole(&b, rows[i], SPAN(" and three"));
        split_each(buf_span(&b), &division_ops, &v);
        buf_done(&b);
    }
}

static void skippable_frames_say_nothing(void **state)
{
    (void)state;
    struct division v = {.as = ENCODE_ZSTD, .want = SPAN("onetwo")};
    struct buf b;
    buf_init(&b, MIB);
    append(&b, SPAN("\x50\x2a\x4d\x18\x03\0\0\0xyz"));
    append_whole(&b, ENCODE_ZSTD, SPAN("one"));
    append(&b, SPAN("\x5f\x2a\x4d\x18\0\0\0\0"));
    append_whole(&b, ENCODE_ZSTD, SPAN("two"));
    append(&b, SPAN("\x57\x2a\x4d\x18\x05\0\0\0x(\xb5/\xfd"));
    split_each(buf_span(&b), &division_ops, &v);
    buf_done(&b);
}

/* In the same read as the end, in one of its own, and byte by byte. */
static void what_is_behind_the_end_is_no_part_of_it(void **state)
{
    (void)state;
    static const struct span rows[] = {SPAN_INIT("\0\0\0\0\0\0\0"), SPAN_INIT("\0\x1f\x8b"),
                                       SPAN_INIT("HTTP/1.1 200 OK"), SPAN_INIT("data: x\n\n")};
    for (int as = 0; as < ENCODINGS; as++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            for (int parts = 0; parts < 3; parts++) {
                struct buf b;
                struct decoded d;
                buf_init(&b, MIB);
                append_whole(&b, (enum encoding)as, SPAN("all of it"));
                size_t n = buf_len(&b);
                append(&b, rows[i]);
                struct span rest = buf_span(&b);
                open_as(&d, codings[as]);
                if (parts > 0)
                    feed(&d, span_take(&rest, n));
                while (parts == 2 && rest.n > 1)
                    feed(&d, span_take(&rest, 1));
                feed(&d, rest);
                assert_span_equal(titles[as], buf_span(&d.out), SPAN("all of it"));
                assert_row(titles[as], d.status == DECODE_END);
                finish(&d);
                buf_done(&b);
            }
        }
    }
}

/* --- flush points --- */

/* Each event comes out with the bytes that its flush wrote, also when these come one by one. */
static void what_was_flushed_comes_out_at_once(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 60,    70, 5,         OUT_BYTES - 136, /* = OUT_BYTES */
                                   1, 40000, 3,  OUT_BYTES, 2 * OUT_BYTES,   200, 7};
    for (int as = 0; as < 2 * ENCODINGS; as++) {
        bool is_bytewise = as >= ENCODINGS;
        struct encoder e;
        struct decoded d;
        size_t n_in = 0;
        encoder_init(&e, (enum encoding)(as % ENCODINGS), 5);
        open_as(&d, codings[as % ENCODINGS]);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            struct buf b;
            struct span event = events_of(&b, sizes[i]);
            struct span coded = encode(&e, event, ENCODE_FLUSH);
            while (is_bytewise && coded.n > 1)
                feed(&d, span_take(&coded, 1));
            feed(&d, coded);
            n_in += event.n;
            assert_row(titles[as % ENCODINGS], buf_len(&d.out) == n_in);
            assert_span_equal(titles[as % ENCODINGS], span_from(buf_span(&d.out), n_in - event.n),
                              event);
            buf_done(&b);
        }
        feed(&d, encode(&e, SPAN(""), ENCODE_END));
        assert_int_equal(buf_len(&d.out), n_in);
        assert_row(titles[as % ENCODINGS],
                   d.status == status_at_end((enum encoding)(as % ENCODINGS)));
        finish(&d);
        encoder_done(&e);
    }
}

/* --- broken --- */

static void cut_anywhere_gives_a_beginning(void **state)
{
    (void)state;
    struct buf b;
    struct span want = events_of(&b, 700);
    struct guard g;
    guard_init(&g, 4096);
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        struct span coded = encode_whole(&e, (enum encoding)as, want);
        for (size_t n = 0; n < coded.n; n++) {
            struct decoded d;
            open_as(&d, codings[as]);
            feed(&d, guard_copy(&g, span_of(coded.p, n)));
            assert_row(titles[as], d.status == DECODE_MORE);
            assert_true(buf_len(&d.out) <= want.n);
            assert_span_equal(titles[as], buf_span(&d.out), span_of(want.p, buf_len(&d.out)));
            finish(&d);
        }
        encoder_done(&e);
    }
    guard_done(&g);
    buf_done(&b);
}

/* Feeds the events one by one, as far as ends goes, or at once. */
static void feed_events(struct decoded *d, struct span coded, const size_t *ends, size_t n)
{
    size_t n_fed = 0;
    for (size_t i = 0; i < n; i++) {
        feed(d, span_of(coded.p + n_fed, ends[i] - n_fed));
        n_fed = ends[i];
    }
    feed(d, span_from(coded, n_fed));
}

/* Ten flushed events, of which one has a bit that is wrong: those before it come, and nothing after
 * it makes it good again. Only zlib gives what the same
 * read brought before the error. */
static void a_wrong_bit_spoils_nothing_before_it(void **state)
{
    (void)state;
    enum { N = 10, EVENT = 60 };
    struct buf text;
    struct buf coded;
    struct span want = events_of(&text, (size_t)N * EVENT);
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        size_t ends[N];
        buf_init(&coded, MIB);
        encoder_init(&e, (enum encoding)as, 6);
        for (size_t i = 0; i < N; i++) {
            append(&coded, encode(&e, span_of(want.p + i * EVENT, EVENT),
                                  i + 1 < N ? ENCODE_FLUSH : ENCODE_END));
            ends[i] = buf_len(&coded);
        }
        encoder_done(&e);
        char *bytes = (char *)(uintptr_t)buf_span(&coded).p; /* our own */
        for (size_t at = 0; at < buf_len(&coded); at++) {
            for (int bit = 0; bit < 8; bit++) {
                struct decoded d;
                size_t n_good = 0;
                while (ends[n_good] <= at)
                    n_good++;
                bytes[at] = (char)(bytes[at] ^ (1 << bit));
                open_as(&d, codings[as]);
                feed_events(&d, buf_span(&coded), ends, as >= ENCODE_BR || bit % 2 ? N : 0);
                size_t n_sure = n_good * EVENT;
                assert_true(buf_len(&d.out) >= n_sure);
                assert_span_equal(titles[as], span_of(buf_span(&d.out).p, n_sure),
                                  span_of(want.p, n_sure));
                if (d.status < 0) {
                    enum decode_status status = d.status;
                    size_t n = buf_len(&d.out);
                    bytes[at] = (char)(bytes[at] ^ (1 << bit));
                    feed(&d, buf_span(&coded));
                    assert_int_equal(d.status, status);
                    assert_int_equal(buf_len(&d.out), n);
                    bytes[at] = (char)(bytes[at] ^ (1 << bit));
                }
                finish(&d);
                bytes[at] = (char)(bytes[at] ^ (1 << bit));
            }
        }
        buf_done(&coded);
    }
    buf_done(&text);
}

static void nonsense_is_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum coding coding;
        struct span in;
    } rows[] = {
        {"text as gzip", CODING_GZIP, SPAN_INIT("data: x\n\n")},
        {"zlib as gzip", CODING_GZIP, SPAN_INIT("\x78\x9c\x4b\x04\x00\x00\x62\x00\x62")},
        {"a gzip method of the future", CODING_GZIP, SPAN_INIT("\x1f\x8b\x07\0\0\0\0\0\0\0")},
        {"a bad member behind a good one", CODING_GZIP,
         SPAN_INIT("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0\x1f\x8c")},
        {"a zlib text with a dictionary", CODING_DEFLATE, SPAN_INIT("\x78\xbb\0\0\0\1\0\0\0")},
        {"a zlib header with a wrong check", CODING_DEFLATE, SPAN_INIT("\x78\x9d\0\0\0")},
        {"bare deflate of a reserved kind", CODING_DEFLATE, SPAN_INIT("\x07\0\0")},
        {"text as br", CODING_BR, SPAN_INIT("data: x\n\n")},
        {"br with a large window", CODING_BR, SPAN_INIT("\x11\x1c\0\0\0\0\0\0")},
        {"text as zstd", CODING_ZSTD, SPAN_INIT("data: x\n\n")},
        {"a zstd block of a reserved kind", CODING_ZSTD,
         SPAN_INIT("\x28\xb5\x2f\xfd\x20\x05\x07\0\0\0\0\0")},
        {"a zstd frame with a dictionary", CODING_ZSTD,
         SPAN_INIT("\x28\xb5\x2f\xfd\x21\x07\x05\x29\0\0hallo")},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_row(rows[i].name, decode(rows[i].coding, rows[i].in, SPAN("")) == DECODE_MALFORMED);
    }
}

/* The library knows formats from before the standard, whose windows it does not bound, and takes
 * their four bytes for a frame of theirs wherever in a header it sees them first. */
static void zstd_before_its_standard_is_malformed(void **state)
{
    (void)state;
    static const struct span rows[] = {
        /* v0.7, v0.6, v0.5: a window of 2^27 bytes and one raw block, where it is so in v0.7 */
        SPAN_INIT("\x27\xb5\x2f\xfd\0\x88\x40\0\x03xyz\xc0\0\0"),
        SPAN_INIT("\x26\xb5\x2f\xfd\0\x88\x40\0\x03xyz\xc0\0\0"),
        SPAN_INIT("\x25\xb5\x2f\xfd\0\x88\x40\0\x03xyz\xc0\0\0"),
        SPAN_INIT("\x22\xb5\x2f\xfd\0\x88\x40\0\x03xyz\xc0\0\0"),
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct decoded d;
        struct buf b;
        assert_int_equal(decode(CODING_ZSTD, rows[i], SPAN("")), DECODE_MALFORMED);
        /* behind the beginning of a good frame, in a read of its own */
        for (size_t n = 1; n < 20; n++) {
            open_as(&d, CODING_ZSTD);
            feed(&d, span_of("\x28\xb5\x2f\xfd\0\x58\x08\0\0\0\x08\0\0\0\x08\0\0\0\x08\0", n));
            feed(&d, rows[i]);
            feed(&d, rows[i]);
            assert_int_equal(d.status, DECODE_MALFORMED);
            assert_true(span_find(buf_span(&d.out), SPAN("xyz")) == buf_len(&d.out));
            finish(&d);
        }
        /* behind a whole frame: the answer was over */
        buf_init(&b, MIB);
        append_whole(&b, ENCODE_ZSTD, SPAN("x"));
        append(&b, rows[i]);
        assert_int_equal(decode(CODING_ZSTD, buf_span(&b), SPAN("x")), DECODE_END);
        buf_done(&b);
    }
}

static enum decode_status status_of_window(int window_log)
{
    struct encoder e;
    encoder_init(&e, ENCODE_ZSTD, 3);
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(e.zstd, ZSTD_c_windowLog, window_log)));
    struct span coded = encode(&e, SPAN("abc"), ENCODE_FLUSH); /* its size is not known yet */
    struct decoded d;
    open_as(&d, CODING_ZSTD);
    feed(&d, coded);
    enum decode_status status = d.status;
    assert_int_equal(buf_len(&d.out), status == DECODE_MORE ? 3 : 0);
    finish(&d);
    encoder_done(&e);
    return status;
}

static void zstd_windows_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(status_of_window(10), DECODE_MORE);
    assert_int_equal(status_of_window(23), DECODE_MORE);
    assert_int_equal(status_of_window(24), DECODE_MALFORMED);
    assert_int_equal(status_of_window(27), DECODE_MALFORMED);
    /* A frame of one segment says its size instead: 9 MiB. */
    assert_int_equal(decode(CODING_ZSTD, SPAN("\x28\xb5\x2f\xfd\xa0\0\0\x90\0\1\0\0x"), SPAN("")),
                     DECODE_MALFORMED);
}

/* --- bombs --- */

/* Feeds the input in parts until it is too large; the work that was done until then. */
static uint64_t explode(enum coding coding, struct span bomb, size_t n_part)
{
    struct decoded d;
    open_as(&d, coding);
    d.is_kept = false;
    while (bomb.n > 0 && d.status == DECODE_MORE)
        feed(&d, span_take(&bomb, n_part < bomb.n ? n_part : bomb.n));
    assert_int_equal(d.status, DECODE_TOO_LARGE);
    uint64_t n = d.n_out;
    feed(&d, SPAN("more"));
    assert_int_equal(d.status, DECODE_TOO_LARGE);
    assert_int_equal(d.n_out, n);
    finish(&d);
    return n;
}

static void bombs_by_their_ratio(void **state)
{
    (void)state;
    enum { BOMB = 64 * MIB, WINDOW = 16 * MIB };
    char *zeros = mem_must(mem_zalloc(1, BOMB));
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        encoder_init(&e, (enum encoding)as, 5);
        struct span bomb = encode(&e, span_of(zeros, BOMB), ENCODE_END);
        uint64_t n_before = mem_count_total().n_bytes;
        uint64_t n_out = explode(codings[as], bomb, SIZE_MAX);
        assert_in_range(n_out, LIMIT_DECODED_FREE_BYTES - OUT_BYTES, LIMIT_DECODED_FREE_BYTES);
        (void)explode(codings[as], bomb, 1);
        /* Two decoders' memory: a window that doubles until it is large enough, and their own. */
        assert_true(mem_count_total().n_bytes - n_before < 2 * (2 * WINDOW + MIB));
        encoder_done(&e);
    }
    mem_free(zeros);
}

/* Within the ratio, and without end: members of 1 MiB, one after the other. */
static void bombs_by_their_size(void **state)
{
    (void)state;
    struct buf text;
    struct encoder e;
    struct decoded d;
    buf_init(&text, 2 * MIB);
    struct buf noise;
    for (struct span rest = noise_of(&noise, 32 * KIB); rest.n > 0;) {
        append(&text, span_take(&rest, 256));
        append(&text, span_of((char[8 *KIB]){0}, 8 * KIB));
    }
    buf_done(&noise);
    size_t n_each = buf_len(&text);
    struct span member = encode_whole(&e, ENCODE_ZSTD, buf_span(&text));
    assert_true(n_each / member.n < LIMIT_DECODED_RATIO);
    open_as(&d, CODING_ZSTD);
    d.is_kept = false;
    for (uint64_t i = 0; i < LIMIT_DECODED_BYTES / n_each; i++) {
        feed(&d, member);
        assert_int_equal(d.status, DECODE_MORE);
        assert_int_equal(d.n_out, (i + 1) * n_each);
    }
    feed(&d, member);
    assert_int_equal(d.status, DECODE_TOO_LARGE);
    assert_true(d.n_out <= LIMIT_DECODED_BYTES);
    finish(&d);
    encoder_done(&e);
    buf_done(&text);
}

/* What is small may be as repetitive as it likes. */
static void a_mebibyte_is_free(void **state)
{
    (void)state;
    char *zeros = mem_must(mem_zalloc(1, LIMIT_DECODED_FREE_BYTES));
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        struct span want = span_of(zeros, LIMIT_DECODED_FREE_BYTES);
        struct span coded = encode_whole(&e, (enum encoding)as, want);
        assert_row(titles[as],
                   decode(codings[as], coded, want) == status_at_end((enum encoding)as));
        encoder_done(&e);
    }
    mem_free(zeros);
}

/* --- memory --- */

struct attempt {
    enum encoding as;
    struct span coded;
    struct span left; /* of what is to come; nothing is allocated here */
};

static void expect(void *arg, struct span bytes)
{
    struct attempt *a = arg;
    assert_true(bytes.n <= a->left.n);
    assert_span_equal(titles[a->as], bytes, span_take(&a->left, bytes.n));
}

static int try_to_decode(void *ctx)
{
    struct attempt a = *(const struct attempt *)ctx;
    struct decoder *d = NULL;
    int r = decoder_new(codings[a.as], &d);
    if (r < 0) {
        assert_null(d);
        return r;
    }
    enum decode_status status = decoder_feed(d, span_of(a.coded.p, a.coded.n / 2), expect, &a);
    if (status == DECODE_MORE)
        status = decoder_feed(d, span_from(a.coded, a.coded.n / 2), expect, &a);
    if (status == DECODE_NO_MEMORY) {
        mem_fail_off();
        assert_int_equal(decoder_feed(d, a.coded, expect, &a), DECODE_NO_MEMORY);
        r = -ENOMEM;
    } else {
        assert_int_equal(status, status_at_end(a.as));
        assert_int_equal(a.left.n, 0);
    }
    assert_null(decoder_free(d));
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    struct buf b;
    struct span want = events_of(&b, 100000);
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        struct attempt a = {.as = (enum encoding)as, .left = want};
        encoder_init(&e, a.as, 9);
        a.coded = encode(&e, want, ENCODE_END);
        assert_row(titles[as], memfail_each(try_to_decode, &a) >= (as == ENCODE_ZSTD ? 1 : 3));
        encoder_done(&e);
    }
    buf_done(&b);
}

/* Freed at once, and in the middle of everything. */
static void ends_anywhere(void **state)
{
    (void)state;
    int64_t n_live = mem_live_blocks();
    assert_null(decoder_free(NULL));
    for (int as = 0; as < ENCODINGS; as++) {
        struct encoder e;
        struct decoded d;
        open_as(&d, codings[as]);
        feed(&d, SPAN(""));
        assert_int_equal(d.status, DECODE_MORE);
        finish(&d);
        struct span coded = encode_whole(&e, (enum encoding)as, SPAN("abc"));
        open_as(&d, codings[as]);
        feed(&d, span_of(coded.p, coded.n / 2));
        finish(&d);
        encoder_done(&e);
    }
    assert_int_equal(mem_live_blocks(), n_live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(the_same_bytes_in_any_division),
        cmocka_unit_test(every_level_and_window),
        cmocka_unit_test(bare_deflate_by_its_first_block),
        cmocka_unit_test(members_and_frames_follow_each_other),
        cmocka_unit_test(skippable_frames_say_nothing),
        cmocka_unit_test(what_is_behind_the_end_is_no_part_of_it),
        cmocka_unit_test(what_was_flushed_comes_out_at_once),
        cmocka_unit_test(cut_anywhere_gives_a_beginning),
        cmocka_unit_test(a_wrong_bit_spoils_nothing_before_it),
        cmocka_unit_test(nonsense_is_malformed),
        cmocka_unit_test(zstd_before_its_standard_is_malformed),
        cmocka_unit_test(zstd_windows_are_bounded),
        cmocka_unit_test(bombs_by_their_ratio),
        cmocka_unit_test(bombs_by_their_size),
        cmocka_unit_test(a_mebibyte_is_free),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(ends_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
