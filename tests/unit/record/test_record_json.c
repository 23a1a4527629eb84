/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_json, record_fields, record_markdown: exact decimals, null and absent, flags,
 * times.
 */
#include "harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "memfail.h"
#include "record/record.h"

static struct buf out;

static const char *json_of(const struct record *r)
{
    static char text[16384];
    buf_init(&out, MIB);
    assert_int_equal(record_to_json(r, &out), 0);
    (void)span_copy(buf_span(&out), text, sizeof(text));
    buf_done(&out);
    return text;
}

static void assert_has(const char *json, const char *part)
{
    if (!strstr(json, part))
        fail_msg("%s is not in %s", part, json);
}

static void assert_has_not(const char *json, const char *part)
{
    if (strstr(json, part))
        fail_msg("%s is in %s", part, json);
}

static struct record sample(void)
{
    struct record r;
    record_init(&r);
    memcpy(r.request_id, "req-1", 6);
    r.endpoint = "chat_completions";
    r.dialect = "openai-chat";
    r.is_stream = true;
    r.status = 200;
    r.started_at.us = INT64_C(1709164799123456); /* 2024-02-28T23:59:59.123456Z */
    r.ttft_ns = 12345678;
    r.e2e_ns = INT64_C(86400000000001);
    r.stage_ns[STAGE_QUEUE] = 7;
    r.flags = RECORD_COALESCED | RECORD_ESTIMATED;
    r.output_kinds = OUTPUT_TEXT | OUTPUT_TOOL_ARGS;
    r.prompt_tokens = 10;
    r.raw_cached_tokens = -1;
    r.timing.tokens_per_event = 1.25;
    return r;
}

static void durations_are_exact_milliseconds(void **state)
{
    (void)state;
    struct record r = sample();
    const char *json = json_of(&r);
    assert_has(json, "\"ttft_ms\":12.345678,");
    assert_has(json, "\"e2e_ms\":86400000.000001,"); /* a double would have lost the last digit */
    assert_has(json, "\"stage_queue_ms\":0.000007");
    assert_has(json, "{\"schema_version\":1,\"started_at\":\"2024-02-28T23:59:59.123456Z\"");
}

static void unknown_is_null_or_absent_never_a_number(void **state)
{
    (void)state;
    struct record r = sample();
    r.ttft_ns = -1;
    const char *json = json_of(&r);
    assert_has(json, "\"ttft_ms\":null");
    assert_has(json, "\"completion_tokens\":null");
    assert_has(json, "\"upstream\":null");
    assert_has_not(json, "stage_wait_ms");
    assert_has_not(json, "cached_tokens\":null");
    assert_has_not(json, "raw_prompt_tokens");
    assert_has_not(json, ":-9223372036854775808");
    assert_has(json, "\"raw_cached_tokens\":-1"); /* reported so */
    assert_has(json, "\"prompt_tokens\":10");
}

static void flags_and_names(void **state)
{
    (void)state;
    struct record r = sample();
    const char *json = json_of(&r);
    assert_has(json, "\"flags\":[\"coalesced\",\"estimated\"]");
    assert_has(json, "\"output_kinds\":[\"text\",\"tool_args\"]");
    assert_has(json, "\"outcome\":\"ok\"");
    assert_has(json, "\"usage_source\":\"none\"");
    assert_has(json, "\"tokens_per_event\":1.25");
    assert_has(json, "\"is_stream\":true");
    r.flags = 0;
    assert_has(json_of(&r), "\"flags\":[]");
}

/* Fields about the stream are not written for an answer that was none. */
static void non_streams_have_no_stream_fields(void **state)
{
    (void)state;
    struct record r = sample();
    r.is_stream = false;
    const char *json = json_of(&r);
    assert_has_not(json, "n_events");
    assert_has_not(json, "tpot_status");
    assert_has(json, "\"ttft_ms\"");
}

static void times_are_rfc_3339(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *want;
    } rows[] = {
        {1, "1970-01-01T00:00:00.000001Z"},
        {INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z"},
        {INT64_C(4102444799999999), "2099-12-31T23:59:59.999999Z"},
        {INT64_C(1735689600000000), "2025-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct record r = sample();
        r.started_at.us = rows[i].us;
        assert_has(json_of(&r), rows[i].want);
    }
}

/* A peer's text can be anything; the line stays one line of valid JSON. */
static void text_is_escaped(void **state)
{
    (void)state;
    struct record r = sample();
    memcpy(r.model_requested, "a\"b\n\xff", 6);
    const char *json = json_of(&r);
    assert_has(json, "\"model\":\"a\\\"b\\n\xef\xbf\xbd\"");
    assert_null(strchr(json, '\n'));
}

/* The short way for plain texts writes what base/jsonw.h would: any byte at any place. */
static void any_byte_at_any_place_is_written_as_jsonw_would(void **state)
{
    (void)state;
    struct buf want;
    struct record r = sample();
    buf_init(&want, MIB);
    for (size_t n = 1; n <= 19; n++) {
        for (size_t at = 0; at < n; at++) {
            for (int byte = 1; byte <= 0xff; byte++) {
                struct jsonw w;
                memset(r.model_requested, 0, sizeof(r.model_requested));
                memset(r.model_requested, 'm', n);
                r.model_requested[at] = (char)byte;
                buf_clear(&want);
                assert_int_equal(buf_append(&want, SPAN("\"model\":")), 0);
                jsonw_init(&w, &want);
                jsonw_str(&w, span_of(r.model_requested, n));
                assert_int_equal(jsonw_error(&w), 0);
                assert_int_equal(buf_append(&want, span_of(",", 2)), 0);
                assert_has(json_of(&r), buf_span(&want).p);
            }
        }
    }
    buf_done(&want);
}

static void table_is_consistent(void **state)
{
    (void)state;
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        assert_true(f->offset + f->size <= sizeof(struct record));
        assert_true(f->help[0] != '\0' && f->group[0] != '\0');
        bool is_time = f->type == RECORD_DURATION;
        size_t n = strlen(f->name);
        assert_row(f->name, is_time == (n > 3 && strcmp(f->name + n - 3, "_ms") == 0));
        assert_row(f->name, is_time == (strcmp(f->unit, "ms") == 0));
        bool is_named = f->type == RECORD_ENUM || f->type == RECORD_FLAGS;
        assert_row(f->name, is_named == (f->enum_name != NULL));
        char quoted[96];
        (void)snprintf(quoted, sizeof(quoted), "\"%s\":", f->name);
        assert_span_equal(f->name, f->json_key, span_cstr(quoted));
        assert_row(f->name, f->json_key.n <= RECORD_KEY_ROOM);
        for (size_t k = 0; k < i; k++)
            assert_row(f->name, strcmp(f->name, record_fields[k].name) != 0);
    }
    for (int s = 0; s < STAGE_COUNT_; s++) {
        char name[64];
        int n_found = 0;
        (void)snprintf(name, sizeof(name), "stage_%s_ms", stage_name((enum stage)s));
        for (size_t i = 0; i < record_n_fields; i++)
            n_found += strcmp(record_fields[i].name, name) == 0 &&
                       record_fields[i].offset ==
                           offsetof(struct record, stage_ns) + (size_t)s * sizeof(int64_t);
        assert_row(name, n_found == 1);
    }
}

static void markdown_names_every_field(void **state)
{
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(record_to_markdown(&out), 0);
    for (size_t i = 0; i < record_n_fields; i++) {
        char cell[96];
        (void)snprintf(cell, sizeof(cell), "| `%s` |", record_fields[i].name);
        assert_row(cell, span_find(buf_span(&out), span_cstr(cell)) < buf_len(&out));
    }
    buf_done(&out);
}

static int try_both(void *ctx)
{
    const struct record *r = ctx;
    struct buf b;
    buf_init(&b, MIB);
    int error = record_to_json(r, &b);
    if (error < 0)
        assert_int_equal(buf_len(&b), 0);
    if (error == 0) {
        size_t n = buf_len(&b);
        error = record_to_markdown(&b);
        if (error < 0)
            assert_int_equal(buf_len(&b), n);
    }
    buf_done(&b);
    return error;
}

static void failed_allocations_leave_the_buffer(void **state)
{
    (void)state;
    struct record r = sample();
    assert_true(memfail_each(try_both, &r) > 0);
    struct buf small;
    buf_init(&small, 100);
    assert_int_equal(record_to_json(&r, &small), -EMSGSIZE);
    assert_int_equal(buf_len(&small), 0);
    assert_int_equal(record_to_markdown(&small), -EMSGSIZE);
    assert_int_equal(buf_len(&small), 0);
    buf_done(&small);
}

/* --- timelines --- */

enum { TEXT_PER_BYTE = 12, LABELS_TEXT = 6 * RECORD_LABELS_MAX };
enum { LINE_WITHOUT = RECORD_LINE_MAX - TEXT_PER_BYTE * TIMELINE_BYTES };

/* Adds an arrival of so many events and tokens. */
static void arrive(struct timeline *t, int64_t us, uint64_t n_events, int64_t n_tokens)
{
    timeline_add(t, us * NS_PER_US, false, n_tokens);
    for (uint64_t i = 1; i < n_events; i++)
        timeline_add(t, us * NS_PER_US, true, -1);
}

/* As many entries as there is room for, each of three bytes only, and long to write: the offset is
 * the sum of all before it. */
static struct span longest_timeline(struct timeline *t, char *room)
{
    int64_t us = INT64_MAX / NS_PER_US - 1000;
    timeline_init(t, room);
    arrive(t, us, 127, 127);
    for (int i = 0; i < 669; i++)
        arrive(t, ++us, 127, 127);
    return timeline_bytes(t);
}

static size_t line_bytes(const struct record *r)
{
    struct buf line;
    buf_init(&line, MIB);
    assert_int_equal(record_to_json(r, &line), 0);
    size_t n = buf_len(&line);
    buf_done(&line);
    return n;
}

/* The room for a timeline's text is TEXT_PER_BYTE times its bytes: for each length that the three
 * numbers of an entry can have, the longest text of it fits. */
static void room_for_timelines_suffices(void **state)
{
    (void)state;
    enum { FRAME = sizeof(",[.,,]") - 1, OUTER = 2, MS = 17, US = 3 };
    for (int events = 1; events <= 10; events++) {
        for (int tokens = 1; tokens <= 10; tokens++) {
            char digits[2][24];
            int n = 0;
            for (int k = 0; k < 2; k++) {
                int bytes = k == 0 ? events : tokens;
                uint64_t largest = bytes == 10 ? UINT64_MAX : (UINT64_C(1) << (7 * bytes)) - 1;
                n += snprintf(digits[k], sizeof(digits[k]), "%" PRIu64, largest);
            }
            /* the offset may have all its digits after a difference of one byte */
            assert_true(FRAME + OUTER + MS + US + n <= TEXT_PER_BYTE * (1 + events + tokens));
        }
    }
    static struct record r;
    static char room[TIMELINE_BYTES];
    struct timeline t;
    struct rng rng;
    r = sample();
    size_t n_without = line_bytes(&r);
    r.timeline = longest_timeline(&t, room);
    assert_true(r.timeline.n > 2000);
    size_t n_text = line_bytes(&r) - n_without - sizeof(",\"timeline\":") + 1;
    assert_true(n_text > 9 * r.timeline.n && n_text <= TEXT_PER_BYTE * r.timeline.n);
    rng_seed(&rng, 12);
    for (int round = 0; round < 200; round++) {
        int64_t us = (int64_t)(rng_u64(&rng) >> (11 + rng_below(&rng, 50)));
        int n = 1 + (int)rng_below(&rng, 2000);
        timeline_init(&t, room);
        for (int i = 0; i < n; i++) {
            us += (int64_t)(UINT64_C(1) << rng_below(&rng, 20));
            arrive(&t, us, 1 + rng_below(&rng, 3),
                   (int64_t)(rng_u64(&rng) >> (1 + rng_below(&rng, 63))));
        }
        r.timeline = timeline_bytes(&t);
        n_text = line_bytes(&r) - n_without - sizeof(",\"timeline\":") + 1;
        assert_true(n_text <= TEXT_PER_BYTE * r.timeline.n);
    }
}

static void timelines_are_exact_milliseconds(void **state)
{
    (void)state;
    static char room[TIMELINE_BYTES];
    struct record r = sample();
    struct timeline t;
    timeline_init(&t, room);
    arrive(&t, 0, 1, -1);
    arrive(&t, 12345, 2, 3);
    arrive(&t, INT64_C(86400000001), 1, 1);
    r.timeline = timeline_bytes(&t);
    const char *json = json_of(&r);
    assert_has(json, "\"timeline\":[[0.000,1,0],[12.345,2,3],[86400000.001,1,1]]");
    r.is_stream = false;
    assert_has_not(json_of(&r), "timeline");
    r.is_stream = true;
    r.timeline.n = 0;
    assert_has_not(json_of(&r), "timeline");
}

static void labels_are_an_object(void **state)
{
    (void)state;
    struct record r = sample();
    assert_has_not(json_of(&r), "labels");
    r.labels = span_of("tenant\0acme", sizeof("tenant\0acme"));
    assert_has(json_of(&r), ",\"labels\":{\"tenant\":\"acme\"},");
    static const char odd[] = "a\0say \"hi\"\n\0b\0\xe6\xa8\xa1\xff";
    r.labels = span_of(odd, sizeof(odd));
    assert_has(json_of(&r), ",\"labels\":{\"a\":\"say \\\"hi\\\"\\n\","
                            "\"b\":\"\xe6\xa8\xa1\xef\xbf\xbd\"},");
}

/* The longest line there can be: it has to fit into the room that the writer reserves at once. */
static void test_longest_line(void **state)
{
    static struct record r;
    struct buf line;
    (void)state;
    record_init(&r);
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        char *p = (char *)&r + f->offset;
        uint32_t bits = f->enum_name == record_flag_name ? (1u << RECORD_FLAG_BITS) - 1 : 0xffu;
        int64_t largest = INT64_MAX;
        if (f->type == RECORD_STR)
            memset(p, 1, f->size - 1); /* each becomes six bytes */
        else if (f->type == RECORD_FLAGS)
            memcpy(p, &bits, sizeof(bits));
        else if (f->type == RECORD_DURATION || f->type == RECORD_I64 || f->type == RECORD_RAW_I64)
            memcpy(p, &largest, sizeof(largest));
    }
    r.is_stream = true;
    buf_init(&line, 1 << 20);
    assert_int_equal(record_to_json(&r, &line), 0);
    assert_in_range(buf_len(&line), 5000, 14000); /* of 16 KiB */
    buf_done(&line);
    static char room[TIMELINE_BYTES];
    struct timeline t;
    static char labels[RECORD_LABELS_MAX];
    r.timeline = longest_timeline(&t, room);
    size_t n_without = line_bytes(&r);
    memset(labels, 1, sizeof(labels)); /* four of the longest */
    for (size_t i = 0; i < 4; i++)
        labels[i * 192 + 63] = labels[i * 192 + 191] = '\0';
    r.labels = span_of(labels, sizeof(labels));
    assert_in_range(line_bytes(&r) - n_without - sizeof(",\"labels\":") + 1, LABELS_TEXT - 60,
                    LABELS_TEXT);
    assert_in_range(line_bytes(&r), LINE_WITHOUT, RECORD_LINE_MAX);
    /* As much again may be asked for behind a part of it, and no more. */
    buf_init(&line, (size_t)2 * RECORD_LINE_MAX);
    assert_int_equal(record_to_json(&r, &line), 0);
    buf_done(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_line),
        cmocka_unit_test(labels_are_an_object),
        cmocka_unit_test(timelines_are_exact_milliseconds),
        cmocka_unit_test(room_for_timelines_suffices),
        cmocka_unit_test(durations_are_exact_milliseconds),
        cmocka_unit_test(unknown_is_null_or_absent_never_a_number),
        cmocka_unit_test(flags_and_names),
        cmocka_unit_test(non_streams_have_no_stream_fields),
        cmocka_unit_test(times_are_rfc_3339),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(any_byte_at_any_place_is_written_as_jsonw_would),
        cmocka_unit_test(table_is_consistent),
        cmocka_unit_test(markdown_names_every_field),
        cmocka_unit_test(failed_allocations_leave_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
