/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/stat.h"
#include "export/export.h"
#include "sample.h"

static struct buf unzip(struct span in)
{
    struct buf out;
    z_stream z = {0};
    int state = Z_OK;
    buf_init(&out, 64 << 20);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in.p;
    z.avail_in = (uInt)in.n;
    while (state == Z_OK) {
        char *room;
        assert_int_equal(buf_reserve(&out, 65536, &room), 0);
        z.next_out = (Bytef *)room;
        z.avail_out = 65536;
        state = inflate(&z, Z_NO_FLUSH);
        buf_commit(&out, 65536 - z.avail_out);
    }
    assert_int_equal(state, Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    inflateEnd(&z);
    return out;
}

static void test_formats(void **state)
{
    (void)state;
    static const struct {
        const char *accept, *encoding, *want_type;
        bool want_gzip;
    } rows[] = {
        {"", "", "text/plain; version=0.0.4; charset=utf-8", false},
        {"text/plain", "gzip", "text/plain; version=0.0.4; charset=utf-8", true},
        {"application/openmetrics-text", "gzip",
         "application/openmetrics-text; version=1.0.0; charset=utf-8", true},
        {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
         "delimited",
         "gzip",
         "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
         "encoding=delimited",
         true},
    };
    sample_clock();
    struct metrics *m = sample_metrics();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out, plain;
        const char *type = NULL, *plain_type = NULL;
        bool is_gzip = !rows[i].want_gzip, is_plain_gzip = true;
        int64_t n_scrapes = stat_sum(STAT_SCRAPES);
        buf_init(&out, EXPORT_BODY_BYTES_MAX);
        buf_init(&plain, EXPORT_BODY_BYTES_MAX);
        assert_int_equal(buf_append(&out, SPAN("head")), 0); /* appends */
        assert_int_equal(export_metrics(m, span_cstr(rows[i].accept), span_cstr(rows[i].encoding),
                                        &out, &type, &is_gzip),
                         0);
        assert_int_equal(stat_sum(STAT_SCRAPES), n_scrapes + 1);
        assert_string_equal(type, rows[i].want_type);
        assert_int_equal(is_gzip, rows[i].want_gzip);
        /* The same page again: count this scrape out, then they must be equal. */
        stat_add(STAT_SCRAPES, -1);
        assert_int_equal(export_metrics(m, span_cstr(rows[i].accept), SPAN(""), &plain, &plain_type,
                                        &is_plain_gzip),
                         0);
        assert_false(is_plain_gzip);
        buf_consume(&out, 4);
        if (is_gzip) {
            struct buf unzipped = unzip(buf_span(&out));
            assert_true(buf_len(&out) < buf_len(&plain));
            assert_span_equal(type, buf_span(&unzipped), buf_span(&plain));
            buf_done(&unzipped);
        } else {
            assert_span_equal(type, buf_span(&out), buf_span(&plain));
        }
        buf_done(&out);
        buf_done(&plain);
    }
    metrics_free(m);
    fakeclock_remove();
}

static void test_gzip_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    struct rng rng;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *text = mem_must(mem_alloc(sizes[i] + 1));
        for (size_t k = 0; k < sizes[i]; k++)
            text[k] = (char)rng_u64(&rng); /* does not shrink */
        struct buf out;
        buf_init(&out, 4 << 20);
        assert_int_equal(export_gzip(span_of(text, sizes[i]), &out), 0);
        struct buf back = unzip(buf_span(&out));
        assert_span_equal("random", buf_span(&back), span_of(text, sizes[i]));
        buf_done(&back);
        buf_done(&out);
        mem_free(text);
    }
}

static void test_errors(void **state)
{
    (void)state;
    struct metrics *m = sample_metrics();
    static const char *const codings[] = {"", "gzip"};
    for (size_t i = 0; i < ARRAY_LEN(codings); i++) {
        const char *type = "untouched";
        bool is_gzip = false;
        struct buf out;
        buf_init(&out, 100);
        assert_int_equal(buf_append(&out, SPAN("head")), 0);
        assert_int_equal(export_metrics(m, SPAN(""), span_cstr(codings[i]), &out, &type, &is_gzip),
                         -EMSGSIZE);
        assert_span_equal("unchanged", buf_span(&out), SPAN("head"));
        assert_string_equal(type, "untouched");
        buf_done(&out);
    }
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_gzip_sizes),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
