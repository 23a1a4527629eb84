/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns and zones by themselves: every form and width, the ends of the numbers, bytes that are no
 * column; zones and filters.
 */
#include "harness.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sample.h"
#include "store/column.h"
#include "store/segment_private.h"

enum { N = 1000 };

struct fixture {
    struct column_writer *writer;
    struct column_reader *reader;
    struct rng g;
};

static void setup(struct fixture *f)
{
    assert_int_equal(column_writer_new(&f->writer), 0);
    assert_int_equal(column_reader_new(&f->reader), 0);
    rng_seed(&f->g, 21);
}

static void teardown(struct fixture *f)
{
    column_writer_free(f->writer);
    column_reader_free(f->reader);
    assert_int_equal(mem_live_blocks(), 0);
}

static void check_numbers(struct fixture *f, const char *field, const int64_t *v, size_t n)
{
    const struct record_field *rf = sample_field(field);
    struct column_zone zone;
    struct column c;
    struct span body;
    int64_t all[N];
    assert_int_equal(column_write_numbers(f->writer, rf, v, n, &body, &zone), 0);
    assert_int_equal(column_open(f->reader, body, (int)(rf - record_fields), &c), 0);
    assert_int_equal(c.n_rows, n);
    column_numbers(&c, all);
    for (size_t i = 0; i < n; i++) {
        double value = fields_value(rf->type, v[i]);
        assert_true(all[i] == v[i] && column_number(&c, i) == v[i]);
        assert_true(isnan(value) || (value >= zone.min && value <= zone.max));
    }
}

/* Every width, with and without rows that have nothing to tell. */
static void numbers_of_every_width(void **state)
{
    (void)state;
    struct fixture f;
    int64_t v[N];
    setup(&f);
    for (unsigned width = 0; width <= 64; width++) {
        for (int sparse = 0; sparse < 2; sparse++) {
            for (size_t i = 0; i < N; i++) {
                uint64_t u = width == 0 ? 0 : rng_u64(&f.g) >> (64 - width);
                v[i] = sparse && rng_below(&f.g, 3) == 0 ? -1 : (int64_t)u;
            }
            check_numbers(&f, "ttft_ms", v, N);
        }
    }
    teardown(&f);
}

static void the_ends_of_the_numbers(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, 0, -1, 1};
    static const int64_t nothing[] = {-1, -1, -1};
    static const int64_t one[] = {12345};
    setup(&f);
    check_numbers(&f, "raw_prompt_tokens", ends, ARRAY_LEN(ends));
    check_numbers(&f, "request_bytes", ends, ARRAY_LEN(ends));
    check_numbers(&f, "started_at", ends, ARRAY_LEN(ends));
    check_numbers(&f, "ttft_ms", nothing, ARRAY_LEN(nothing));
    check_numbers(&f, "e2e_ms", one, 1);
    teardown(&f);
}

static void check_texts(struct fixture *f, const struct span *v, size_t n, enum column_form form)
{
    const struct record_field *rf = sample_field("request_id");
    struct column c;
    struct span body;
    assert_int_equal(column_write_texts(f->writer, rf, v, n, &body), 0);
    assert_int_equal(column_open(f->reader, body, (int)(rf - record_fields), &c), 0);
    assert_int_equal(c.form, form);
    for (size_t i = 0; i < n; i++)
        assert_span_equal("text", column_text(&c, i), v[i]);
}

static void texts_of_every_form(void **state)
{
    (void)state;
    struct fixture f;
    static char room[N][40];
    struct span v[N];
    setup(&f);
    for (int sparse = 0; sparse < 2; sparse++) {
        for (size_t i = 0; i < N; i++) {
            rng_hex(&f.g, room[i], 32);
            v[i] = span_of(room[i], sparse && rng_below(&f.g, 2) == 0 ? 0 : 32);
        }
        check_texts(&f, v, N, COLUMN_HEX);
        for (size_t i = 0; i < N; i++)
            v[i].n = v[i].n > 0 ? 1 + rng_below(&f.g, 32) : 0;
        check_texts(&f, v, N, COLUMN_PLAIN);
        for (size_t i = 0; i < N; i++) {
            room[i][0] = (char)rng_below(&f.g, 256);
            v[i].n = v[i].n > 0 ? 1 : 0;
        }
        check_texts(&f, v, N, COLUMN_PLAIN);
        for (size_t i = 0; i < N; i++)
            room[i][0] = (char)rng_below(&f.g, 5);
        check_texts(&f, v, N, COLUMN_DICTIONARY);
    }
    teardown(&f);
}

/* Any byte changed, or any end missing: told, not read. */
static void other_bytes_are_no_column(void **state)
{
    (void)state;
    struct fixture f;
    const struct record_field *rf = sample_field("ttft_ms");
    int own = (int)(rf - record_fields);
    struct column_zone zone;
    struct column c;
    struct span body;
    int64_t v[N];
    setup(&f);
    for (size_t i = 0; i < N; i++)
        v[i] = (int64_t)rng_below(&f.g, 100000);
    assert_int_equal(column_write_numbers(f.writer, rf, v, N, &body, &zone), 0);
    char *copy = mem_must(mem_alloc(body.n));
    memcpy(copy, body.p, body.n);
    for (size_t i = 0; i < body.n; i += 7) {
        copy[i] = (char)(copy[i] ^ 1);
        assert_int_equal(column_open(f.reader, span_of(copy, body.n), own, &c), -EBADMSG);
        copy[i] = (char)(copy[i] ^ 1);
        assert_int_equal(column_open(f.reader, span_of(copy, i), own, &c), -EBADMSG);
    }
    assert_int_equal(column_open(f.reader, span_of(copy, body.n), own, &c), 0);
    int other = (int)(sample_field("model") - record_fields);
    assert_int_equal(column_open(f.reader, span_of(copy, body.n), other, &c), -EPROTO);
    mem_free(copy);
    teardown(&f);
}

static void zones_say_between_what(void **state)
{
    (void)state;
    struct buf zones;
    struct column_zone z;
    buf_init(&zones, 1000);
    assert_int_equal(segment_put_zone(&zones, 3, &(struct column_zone){1, 2}), 0);
    assert_int_equal(segment_put_zone(&zones, 300, &(struct column_zone){-5, 0.5}), 0);
    assert_int_equal(segment_put_checksum(&zones), 0);
    assert_true(segment_zone(buf_span(&zones), 300, &z));
    assert_true(z.min == -5 && z.max == 0.5);
    assert_false(segment_zone(buf_span(&zones), 4, &z));
    assert_false(segment_zone(span_of(buf_span(&zones).p, 20), 3, &z)); /* damaged: nothing known */
    buf_done(&zones);
}

/* No id that is there is missed, and few that are not are taken for it. */
static void filters_have_every_id(void **state)
{
    (void)state;
    static char room[2 * N][40];
    struct span ids[2 * N];
    struct rng g;
    struct buf filter;
    int n_wrong = 0;
    rng_seed(&g, 4);
    buf_init(&filter, 100000);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        rng_hex(&g, room[i], 32);
        ids[i] = span_of(room[i], 32);
    }
    assert_int_equal(segment_make_filter(ids, N, &filter), 0);
    for (size_t i = 0; i < N; i++)
        assert_true(segment_may_have(buf_span(&filter), ids[i]));
    for (size_t i = N; i < 2 * N; i++)
        n_wrong += segment_may_have(buf_span(&filter), ids[i]);
    assert_true(n_wrong < N / 50);
    buf_done(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_width), cmocka_unit_test(the_ends_of_the_numbers),
        cmocka_unit_test(texts_of_every_form),    cmocka_unit_test(other_bytes_are_no_column),
        cmocka_unit_test(zones_say_between_what), cmocka_unit_test(filters_have_every_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
