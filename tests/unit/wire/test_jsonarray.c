/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/jsonarray: elements in every division, limits in their place, no memory, what is no array.
 */
#include "wire/jsonarray.h"

#include <errno.h>

#include "memfail.h"
#include "transcript.h"

static const struct transcript_row rows[] = {
    {"nothing", SPAN_INIT(""), SPAN_INIT("")},
    {"empty array", SPAN_INIT("[]"), SPAN_INIT("")},
    {"empty array, white space", SPAN_INIT(" [\r\n\t] \n"), SPAN_INIT("")},
    {"one element", SPAN_INIT("[{\"a\":1}]"), SPAN_INIT("{\"a\":1};")},
    {"as Gemini sends it", SPAN_INIT("[{\n  \"a\": [1]\n}\n,\r\n{\n  \"b\": 2\n}\n]\n"),
     SPAN_INIT("{\n  \"a\": [1]\n};{\n  \"b\": 2\n};")},
    {"nested", SPAN_INIT("[[[1,2],[]],{\"a\":[{},{\"b\":[3]}]}]"),
     SPAN_INIT("[[1,2],[]];{\"a\":[{},{\"b\":[3]}]};")},
    {"brackets in strings", SPAN_INIT("[{\"]}\":\"[{,\"},{\"a\":\"}]\"}]"),
     SPAN_INIT("{\"]}\":\"[{,\"};{\"a\":\"}]\"};")},
    {"escapes in strings", SPAN_INIT("[{\"a\":\"\\\"}\\\\\"},\"\\\\\\\"]\",\"\\\\\"]"),
     SPAN_INIT("{\"a\":\"\\\"}\\\\\"};\"\\\\\\\"]\";\"\\\\\";")},
    {"control characters in strings", SPAN_INIT("[\"a\n]\t,\x01\",1]"),
     SPAN_INIT("\"a\n]\t,\x01\";1;")},
    {"scalars", SPAN_INIT("[1,\"two\",null,true,-3.5e2]"),
     SPAN_INIT("1;\"two\";null;true;-3.5e2;")},
    {"scalars, white space", SPAN_INIT("[ 1 ,\n\"two\"\n, 3 ]"), SPAN_INIT("1 ;\"two\"\n;3 ;")},
    {"more commas than elements", SPAN_INIT("[,{},,[],]"), SPAN_INIT("{};[];")},
    {"no comma between", SPAN_INIT("[{}{}[]]"), SPAN_INIT("{};{};[];")},
    {"an error object", SPAN_INIT("{\"error\":{\"code\":400}}\n"),
     SPAN_INIT("{\"error\":{\"code\":400}};")},
    {"a text that is no array", SPAN_INIT("<html>[1]"), SPAN_INIT("<html>[1];")},
    {"one scalar", SPAN_INIT("7"), SPAN_INIT("7;")},
    {"cut in an element", SPAN_INIT("[{\"a\":1},{\"b\":[2"), SPAN_INIT("{\"a\":1};{\"b\":[2;")},
    {"cut in a string", SPAN_INIT("[{\"a\":\"]}"), SPAN_INIT("{\"a\":\"]};")},
    {"cut in an escape", SPAN_INIT("[{\"a\":\"\\"), SPAN_INIT("{\"a\":\"\\;")},
    {"cut behind an element", SPAN_INIT("[{\"a\":1}"), SPAN_INIT("{\"a\":1};")},
    {"cut behind a comma", SPAN_INIT("[{\"a\":1},"), SPAN_INIT("{\"a\":1};")},
    {"cut behind the bracket", SPAN_INIT("["), SPAN_INIT("")},
    {"garbage behind", SPAN_INIT("[{}]xyz,1"), SPAN_INIT("{};xyz;1;")},
    {"another array behind", SPAN_INIT("[{}][1]"), SPAN_INIT("{};[1];")},
    {"closed too often", SPAN_INIT("[{}]]]"), SPAN_INIT("{};")},
    {"closed with the wrong bracket", SPAN_INIT("[1},2]"), SPAN_INIT("1};2;")},
    {"closed but never opened", SPAN_INIT("}"), SPAN_INIT("};")},
    {"closed but never opened, often", SPAN_INIT("}}]}{},}"), SPAN_INIT("}};}{};};")},
};

static void test_elements(void **state)
{
    (void)state;
    transcript_rows(rows, ARRAY_LEN(rows), FRAMING_JSON_ARRAY);
}

static void test_limit(void **state)
{
    (void)state;
    static const struct transcript_row limited[] = {
        {"at the limit", SPAN_INIT("[{\"\"}]"), SPAN_INIT("{\"\"};")},
        {"one above", SPAN_INIT("[{\"a\"}]"), SPAN_INIT("!;")},
        {"in its place", SPAN_INIT("[1,{\"a\":[1,2,3,4]},2,[[[]]]]"), SPAN_INIT("1;!;2;!;")},
        {"brackets of one too large", SPAN_INIT("[\"]}]}]}]}\",[]]"), SPAN_INIT("!;[];")},
        {"two in a row", SPAN_INIT("[12345,67890,1]"), SPAN_INIT("!;!;1;")},
        {"cut", SPAN_INIT("[1,{\"abcdef"), SPAN_INIT("1;!;")},
    };
    for (size_t i = 0; i < ARRAY_LEN(limited); i++)
        transcript_check(limited[i].name, FRAMING_JSON_ARRAY, limited[i].input, 4, limited[i].want);
}

/* Brackets only count: no depth is too much. */
static void test_deep(void **state)
{
    (void)state;
    enum { DEPTH = 3000 };
    static char input[2 * DEPTH + 6];
    static char want[2 * DEPTH + 5];
    memset(want, '[', DEPTH);
    memset(want + DEPTH, ']', DEPTH);
    memcpy(want + 2 * DEPTH, ";{};", 4);
    input[0] = '[';
    memcpy(input + 1, want, 2 * DEPTH);
    memcpy(input + 1 + 2 * DEPTH, ",{}]", 4);
    transcript_check("deep", FRAMING_JSON_ARRAY, span_of(input, 2 * DEPTH + 5), 1 << 20,
                     span_of(want, 2 * DEPTH + 4));
}

/* An element is there as soon as its bracket is, a scalar with what follows it. */
static void test_ends(void **state)
{
    (void)state;
    struct jsonarray r;
    struct event e;
    struct span in = SPAN("[ {}");
    jsonarray_init(&r, 100);
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 4);
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_MORE);
    in = SPAN(" ,12");
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_MORE);
    in = SPAN("34 ,");
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 3);
    assert_span_equal("joined", e.data, SPAN("1234 "));
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_MORE);
    in = SPAN("[]]");
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 2);
    assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_MORE);
    assert_int_equal(jsonarray_finish(&r, &e), EVENT_MORE);
    jsonarray_done(&r);
}

static void test_no_allocation_for_whole_elements(void **state)
{
    (void)state;
    struct jsonarray r;
    struct event e;
    struct span in = SPAN("[{\"a\":\"\\\"\"},{\"b\":[2]},7]");
    struct span whole = in;
    int n_events = 0;
    uint64_t n_before = mem_count_total().n_allocs;
    jsonarray_init(&r, 100);
    while (jsonarray_next(&r, &in, &e) == EVENT_WHOLE) {
        assert_true(e.data.p >= whole.p && e.data.p + e.data.n <= whole.p + whole.n);
        n_events++;
    }
    jsonarray_done(&r);
    assert_int_equal(n_events, 3);
    assert_int_equal(mem_count_total().n_allocs, n_before);
}

/* An element that comes byte by byte and grows beyond one allocation, then another one. */
static int attempt(void *ctx)
{
    struct jsonarray r;
    struct event e = {{"", 0}, {"", 0}, 0};
    enum event_status status = EVENT_MORE;
    int n_events = 0;
    (void)ctx;
    jsonarray_init(&r, 1 << 20);
    for (int i = 0; i < 2000 && status != EVENT_NO_MEMORY; i++) {
        int at = i % 1000;
        struct span in = at == 0 ? SPAN(",\"") : at == 999 ? SPAN("\",") : SPAN("]");
        while ((status = jsonarray_next(&r, &in, &e)) == EVENT_WHOLE) {
            assert_int_equal(e.data.n, 1000);
            n_events++;
        }
    }
    if (status == EVENT_NO_MEMORY) {
        struct span in = SPAN("{}");
        assert_int_equal(jsonarray_next(&r, &in, &e), EVENT_NO_MEMORY);
        assert_int_equal(jsonarray_finish(&r, &e), EVENT_NO_MEMORY);
    }
    jsonarray_done(&r);
    if (status == EVENT_NO_MEMORY)
        return -ENOMEM;
    assert_int_equal(n_events, 2);
    return 0;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_allocation_for_whole_elements),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
