/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/ndjson: lines in every division, limits in their place, no memory.
 */
#include "wire/ndjson.h"

#include <errno.h>

#include "memfail.h"
#include "transcript.h"

static const struct transcript_row rows[] = {
    {"nothing", SPAN_INIT(""), SPAN_INIT("")},
    {"one line", SPAN_INIT("{\"a\":1}\n"), SPAN_INIT("{\"a\":1};")},
    {"three lines", SPAN_INIT("{}\n[]\n7\n"), SPAN_INIT("{};[];7;")},
    {"last line without LF", SPAN_INIT("{}\n{\"a\":2}"), SPAN_INIT("{};{\"a\":2};")},
    {"only a line without LF", SPAN_INIT("{\"a\":2}"), SPAN_INIT("{\"a\":2};")},
    {"CRLF", SPAN_INIT("{}\r\n[]\r\n"), SPAN_INIT("{};[];")},
    {"last line with CR only", SPAN_INIT("{}\n[]\r"), SPAN_INIT("{};[];")},
    {"CR alone ends no line", SPAN_INIT("{}\r[]\n"), SPAN_INIT("{}\r[];")},
    {"blank lines", SPAN_INIT("\n\n{}\n\n\r\n  \t\n[]\n\n"), SPAN_INIT("{};[];")},
    {"only blank lines", SPAN_INIT("\n \r\n\t\n  "), SPAN_INIT("")},
    {"white space around", SPAN_INIT(" \t{ } \t\r\n  []  "), SPAN_INIT("{ };[];")},
    {"the content is not looked at", SPAN_INIT("{\"a\":\n}}\nnot json\n\"\\\"\n"),
     SPAN_INIT("{\"a\":;}};not json;\"\\\";")},
    {"bytes above ASCII, NUL", SPAN_INIT("\"\xc3\xa4\xff\"\na\0b\n"),
     SPAN_INIT("\"\xc3\xa4\xff\";a\0b;")},
};

static void test_lines(void **state)
{
    (void)state;
    transcript_rows(rows, ARRAY_LEN(rows), FRAMING_NDJSON);
}

/* The limit is on the line without what precedes it and its LF. */
static void test_limit(void **state)
{
    (void)state;
    static const struct transcript_row limited[] = {
        {"at the limit", SPAN_INIT("1234\n"), SPAN_INIT("1234;")},
        {"one above", SPAN_INIT("12345\n"), SPAN_INIT("!;")},
        {"in its place", SPAN_INIT("1\n123456789012345\n2\n12345"), SPAN_INIT("1;!;2;!;")},
        {"white space in front is free", SPAN_INIT("      12\n"), SPAN_INIT("12;")},
        {"white space behind is not", SPAN_INIT("12   \n"), SPAN_INIT("!;")},
        {"two in a row", SPAN_INIT("12345\n67890\n1\n"), SPAN_INIT("!;!;1;")},
    };
    for (size_t i = 0; i < ARRAY_LEN(limited); i++)
        transcript_check(limited[i].name, FRAMING_NDJSON, limited[i].input, 4, limited[i].want);
}

static void test_ends(void **state)
{
    (void)state;
    struct ndjson r;
    struct event e;
    struct span in = SPAN("\n {}\r\n\n[]\n7");
    ndjson_init(&r, 100);
    assert_int_equal(ndjson_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 6);
    assert_int_equal(ndjson_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 10);
    assert_int_equal(ndjson_next(&r, &in, &e), EVENT_MORE);
    in = SPAN("8\n"); /* offsets begin anew */
    assert_int_equal(ndjson_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 2);
    assert_span_equal("joined", e.data, SPAN("78"));
    ndjson_done(&r);
}

static void test_no_allocation_for_whole_lines(void **state)
{
    (void)state;
    struct ndjson r;
    struct event e;
    struct span in = SPAN("{\"a\":1}\n{\"b\":2}\r\n");
    struct span whole = in;
    uint64_t n_before = mem_count_total().n_allocs;
    ndjson_init(&r, 100);
    while (ndjson_next(&r, &in, &e) == EVENT_WHOLE)
        assert_true(e.data.p >= whole.p && e.data.p + e.data.n <= whole.p + whole.n);
    ndjson_done(&r);
    assert_int_equal(mem_count_total().n_allocs, n_before);
}

/* Parts of a line that grows beyond one allocation, then another one. */
static int attempt(void *ctx)
{
    struct ndjson r;
    struct event e = {{"", 0}, {"", 0}, 0};
    enum event_status status = EVENT_MORE;
    int n_events = 0;
    (void)ctx;
    ndjson_init(&r, 1 << 20);
    for (int i = 0; i < 3000 && status != EVENT_NO_MEMORY; i++) {
        struct span in = i % 1000 == 999 ? SPAN("y\n") : SPAN("x");
        while ((status = ndjson_next(&r, &in, &e)) == EVENT_WHOLE) {
            assert_int_equal(e.data.n, 1000);
            n_events++;
        }
    }
    if (status == EVENT_NO_MEMORY) {
        struct span in = SPAN("z\n");
        assert_int_equal(ndjson_next(&r, &in, &e), EVENT_NO_MEMORY);
        assert_int_equal(ndjson_finish(&r, &e), EVENT_NO_MEMORY);
    }
    ndjson_done(&r);
    if (status == EVENT_NO_MEMORY)
        return -ENOMEM;
    assert_int_equal(n_events, 3);
    return 0;
}

/* The line's last part is what does not fit any more. */
static int attempt_at_the_end(void *ctx)
{
    struct ndjson r;
    struct event e;
    (void)ctx;
    memset(&e, 0xa5, sizeof(e)); /* must not be looked at */
    static char tail[5000];
    memset(tail, 'x', sizeof(tail));
    tail[sizeof(tail) - 1] = '\n';
    ndjson_init(&r, 1 << 20);
    struct span in = SPAN("{");
    enum event_status status = ndjson_next(&r, &in, &e);
    in = span_of(tail, sizeof(tail));
    if (status == EVENT_MORE)
        status = ndjson_next(&r, &in, &e);
    ndjson_done(&r);
    assert_true(status == EVENT_WHOLE || status == EVENT_NO_MEMORY);
    return status == EVENT_WHOLE ? 0 : -ENOMEM;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
    assert_int_equal(memfail_each(attempt_at_the_end, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_allocation_for_whole_lines),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
