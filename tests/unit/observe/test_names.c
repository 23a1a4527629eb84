/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/names: the version of what an upstream serves, and business labels, from the tap to the
 * sink and the record.
 */
#include "path.h"

#include "base/mem.h"
#include "base/stat.h"

static const struct tap_label two[] = {{"tenant", "acme", 0}, {"tier", "gold", 2}};

static void labels_reach_sink_and_record(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    p.labels = two;
    p.n_labels = ARRAY_LEN(two);
    p.version = "v1";
    path_stream(&p, STREAM_BODY);
    assert_string_equal(p.seen.labels.version, "v1"); /* from the start on */
    assert_string_equal(p.seen.labels.business[0], "acme");
    assert_null(p.seen.labels.business[1]);
    assert_string_equal(p.seen.labels.business[2], "gold");
    path_read(&p, TEXT("a") FINISH("stop") DONE, 1000);
    path_end(&p, 1100);
    struct span labels = p.seen.record.labels;
    static const char want[] = "tenant\0acme\0tier\0gold"; /* and its own end */
    assert_int_equal(labels.n, sizeof(want));
    assert_memory_equal(labels.p, want, sizeof(want));
    assert_string_equal(p.seen.record.model_version, "v1");

    p.n_labels = 0; /* the same state is used again, and nothing of it is left */
    p.version = "";
    path_stream(&p, STREAM_BODY);
    assert_null(p.seen.labels.business[0]);
    path_end(&p, 1100);
    assert_int_equal(p.seen.record.labels.n, 0);
    assert_string_equal(p.seen.record.model_version, "");
    path_close(&p);
}

/* The record tells the version of the upstream that answered. */
static void the_last_attempt_tells_the_version(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    p.version = "v1";
    path_stream(&p, STREAM_BODY);
    p.version = "v2";
    path_attempt(&p, 3000);
    path_head(&p, 200, "text/event-stream", 4000);
    path_read(&p, TEXT("a") FINISH("stop") DONE, 5000);
    path_end(&p, 6000);
    assert_string_equal(p.seen.record.model_version, "v2");
    path_close(&p);
}

static void without_memory_there_are_no_labels(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    p.labels = two;
    p.n_labels = ARRAY_LEN(two);
    path_begin(&p, &path_post);
    int64_t n_lost = stat_sum(STAT_DROP_NO_MEMORY);
    mem_fail_from(1);
    path_plan(&p, "openai-chat", STREAM_BODY);
    mem_fail_off();
    assert_int_equal(stat_sum(STAT_DROP_NO_MEMORY), n_lost + 1);
    assert_int_equal(p.seen.n_started, 1);
    assert_null(p.seen.labels.business[0]);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 1000);
    assert_int_equal(p.seen.record.labels.n, 0);
    path_close(&p);
}

static void backlog_is_between_two_wall_clocks(void **state)
{
    (void)state;
    static const struct {
        const char *value; /* the request comes at 1700000000 s */
        int64_t backlog_ns;
        int n_negative, n_unreadable;
    } rows[] = {
        {"1699999998500", 1500 * NS_PER_MS, 0, 0},
        {"2023-11-14T22:13:19.25Z", 750 * NS_PER_MS, 0, 0},
        {"1700000000000", 0, 0, 0},
        {"1700000000001", -1, 1, 0},
        {"1700000000000000", -1, 0, 1},                 /* microseconds */
        {"1697408000000", 30 * 86400 * NS_PER_S, 0, 0}, /* 30 days */
        {"1697407999999", -1, 0, 1},
        {"1700000000", -1, 0, 1}, /* seconds */
        {"yesterday", -1, 0, 1},
        {"1699999998500.5", -1, 0, 1},
        {"", -1, 0, 0},
    };
    struct path p;
    path_open(&p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http1_head head = {
            .method = SPAN("POST"),
            .minor = 1,
            .n_fields = 1,
            .fields = {{SPAN_INIT("x-enqueue-time"), span_cstr(rows[i].value)}}};
        int64_t n_negative = stat_sum(STAT_BACKLOG_NEGATIVE);
        int64_t n_unreadable = stat_sum(STAT_BACKLOG_UNREADABLE);
        path_begin(&p, &head);
        path_plan(&p, "openai-chat", STREAM_BODY);
        path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 1000);
        assert_row(rows[i].value, p.seen.record.backlog_ns == rows[i].backlog_ns);
        assert_row(rows[i].value,
                   stat_sum(STAT_BACKLOG_NEGATIVE) - n_negative == rows[i].n_negative);
        assert_row(rows[i].value,
                   stat_sum(STAT_BACKLOG_UNREADABLE) - n_unreadable == rows[i].n_unreadable);
    }
    path_close(&p);
}

/* The first one that an answer tells; another attempt's answer has its own. */
static void engines_tell_a_fingerprint(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, EVENT("{\"system_fingerprint\":\"fp_1\",\"choices\":[]}"), 600);
    path_read(&p, EVENT("{\"system_fingerprint\":\"fp_2\",\"choices\":[]}"), 700);
    path_attempt(&p, 3000);
    path_head(&p, 200, "text/event-stream", 4000);
    path_read(&p, EVENT("{\"system_fingerprint\":null,\"choices\":[]}"), 4100);
    path_read(&p, EVENT("{\"system_fingerprint\":\"fp_\\u0033\",\"choices\":[]}") DONE, 4200);
    path_end(&p, 5000);
    assert_string_equal(p.seen.record.engine_fingerprint, "fp_3");
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_reach_sink_and_record),
        cmocka_unit_test(the_last_attempt_tells_the_version),
        cmocka_unit_test(without_memory_there_are_no_labels),
        cmocka_unit_test(backlog_is_between_two_wall_clocks),
        cmocka_unit_test(engines_tell_a_fingerprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
