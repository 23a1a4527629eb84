/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/truth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static struct truth_entry *entry(const char *id, size_t n_events)
{
    struct truth_entry *e = truth_entry_new(n_events);

    assert_non_null(e);
    (void)snprintf(truth_entry_head(e)->id, TRUTH_ID_MAX, "%s", id);
    return e;
}

static struct truth *ring(size_t capacity)
{
    struct truth *t = NULL;

    assert_int_equal(truth_new(capacity, &t), 0);
    return t;
}

static void test_json(void **state)
{
    struct truth *t = ring(4);
    struct truth_entry *e = entry("a\"b", 2);
    struct truth_head *h = truth_entry_head(e);
    struct buf out;
    (void)state;
    h->status = 200;
    h->is_stream = true;
    h->t_request = (mono_t){1000};
    h->t_started = (mono_t){1500};
    h->prompt_tokens = 3;
    truth_entry_add(e, TRUTH_ROLE, 0, (mono_t){2000});
    truth_entry_add(e, TRUTH_TOKEN, 2, (mono_t){123456789012});
    truth_publish(t, e);
    buf_init(&out, MIB);
    assert_int_equal(truth_json_by_id(t, SPAN("a\"b"), &out), 0);
    assert_span_equal(
        "json", buf_span(&out),
        SPAN("{\"request_id\":\"a\\\"b\",\"status\":200,\"stream\":true,\"t_request_ns\":1000,"
             "\"t_started_ns\":1500,\"t_headers_ns\":null,\"queue_ns\":500,\"prompt_tokens\":3,"
             "\"completion_tokens\":0,\"events_lost\":0,\"events\":["
             "{\"t_ns\":2000,\"kind\":\"role\",\"tokens\":0},"
             "{\"t_ns\":123456789012,\"kind\":\"token\",\"tokens\":2}]}"));
    buf_clear(&out);
    assert_int_equal(truth_json_by_id(t, SPAN("b"), &out), -ENOENT);
    assert_int_equal(buf_len(&out), 0);
    buf_done(&out);
    assert_null(truth_free(t));
}

static void test_ring_keeps_the_newest(void **state)
{
    struct truth *t = ring(3);
    struct buf out;
    char id[8];
    (void)state;
    buf_init(&out, MIB);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(id, sizeof(id), "r%d", i);
        truth_publish(t, entry(id, 1));
    }
    assert_int_equal(truth_json_by_id(t, SPAN("r1"), &out), -ENOENT);
    assert_int_equal(truth_json_by_id(t, SPAN("r2"), &out), 0);
    buf_clear(&out);
    assert_int_equal(truth_json_last(t, 2, &out), 0);
    assert_true(span_find(buf_span(&out), SPAN("\"r2\"")) == buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("\"r3\"")) <
                span_find(buf_span(&out), SPAN("\"r4\"")));
    buf_clear(&out);
    assert_int_equal(truth_json_last(t, 0, &out), 0);
    assert_span_equal("none", buf_span(&out), SPAN("{\"requests\":[]}"));
    buf_done(&out);
    truth_free(t);
}

static void test_newest_of_an_id(void **state)
{
    struct truth *t = ring(4);
    struct truth_entry *e = entry("x", 1);
    struct buf out;
    (void)state;
    truth_publish(t, entry("x", 1));
    truth_entry_head(e)->status = 503;
    truth_publish(t, e);
    buf_init(&out, MIB);
    assert_int_equal(truth_json_by_id(t, SPAN("x"), &out), 0);
    assert_true(span_find(buf_span(&out), SPAN("503")) < buf_len(&out));
    buf_done(&out);
    truth_free(t);
}

static void test_restamp(void **state)
{
    struct truth *t = ring(1);
    struct truth_entry *e = entry("x", 1);
    struct buf out;
    (void)state;
    truth_entry_add(e, TRUTH_TOKEN, 1, (mono_t){100});
    truth_entry_add(e, TRUTH_TOKEN, 4095, (mono_t){101});
    truth_entry_add(e, TRUTH_DONE, 5000, (mono_t){102});
    truth_entry_restamp(e, 1, (mono_t){777});
    truth_publish(t, e);
    buf_init(&out, MIB);
    assert_int_equal(truth_json_by_id(t, SPAN("x"), &out), 0);
    assert_true(
        span_find(buf_span(&out), SPAN("{\"t_ns\":100,\"kind\":\"token\",\"tokens\":1},"
                                       "{\"t_ns\":777,\"kind\":\"token\",\"tokens\":4095},"
                                       "{\"t_ns\":777,\"kind\":\"done\",\"tokens\":4095}")) <
        buf_len(&out));
    buf_done(&out);
    truth_free(t);
}

static void test_events_are_capped(void **state)
{
    struct truth *t = ring(1);
    struct truth_entry *e = entry("x", 1);
    struct buf out;
    (void)state;
    for (int i = 0; i < TRUTH_EVENTS_MAX + 3; i++)
        truth_entry_add(e, TRUTH_TOKEN, 1, (mono_t){1 + i});
    assert_int_equal(truth_entry_len(e), TRUTH_EVENTS_MAX);
    truth_publish(t, e);
    buf_init(&out, 16 * MIB);
    assert_int_equal(truth_json_by_id(t, SPAN("x"), &out), 0);
    assert_true(span_find(buf_span(&out), SPAN("\"events_lost\":3,")) < buf_len(&out));
    buf_done(&out);
    truth_free(t);
}

static void test_total_is_capped(void **state)
{
    enum { N = TRUTH_EVENTS_TOTAL / TRUTH_EVENTS_MAX };
    struct truth *t = ring(1000);
    int64_t blocks;
    (void)state;
    for (int i = 0; i < N; i++)
        truth_publish(t, entry("x", TRUTH_EVENTS_MAX));
    blocks = mem_live_blocks();
    truth_publish(t, entry("y", TRUTH_EVENTS_MAX));
    assert_int_equal(mem_live_blocks(), blocks); /* one went for the one that came */
    truth_free(t);
}

static void test_nothing_where_there_is_no_entry(void **state)
{
    struct truth *t = ring(1);
    (void)state;
    assert_null(truth_entry_head(NULL));
    assert_int_equal(truth_entry_len(NULL), 0);
    truth_entry_add(NULL, TRUTH_TOKEN, 1, (mono_t){1});
    truth_entry_restamp(NULL, 0, (mono_t){1});
    truth_publish(t, NULL);
    assert_null(truth_entry_free(NULL));
    assert_null(truth_free(NULL));
    truth_free(t);
}

static int attempt(void *ctx)
{
    struct truth *t = NULL;
    struct truth_entry *e;
    int r = truth_new(2, &t);
    (void)ctx;
    if (r < 0) {
        assert_null(t);
        return r;
    }
    e = truth_entry_new(1);
    r = e ? 0 : -ENOMEM;
    for (int i = 0; i < 100; i++)
        truth_entry_add(e, TRUTH_TOKEN, 1, (mono_t){1 + i});
    if (e && truth_entry_len(e) < 100)
        r = -ENOMEM;
    truth_publish(t, e);
    truth_free(t);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_ring_keeps_the_newest),
        cmocka_unit_test(test_newest_of_an_id),
        cmocka_unit_test(test_restamp),
        cmocka_unit_test(test_events_are_capped),
        cmocka_unit_test(test_total_is_capped),
        cmocka_unit_test(test_nothing_where_there_is_no_entry),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("sim/truth", tests, NULL, NULL);
}
