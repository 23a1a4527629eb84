/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <stdio.h>

#include "base/attr.h"
#include "doctor/doctor_stream.h"

enum { READS_MAX = 128, MS = 1000 * 1000 };

/* An answer put together read by read. */
struct made {
    char text[64 * 1024];
    struct doctor_read reads[READS_MAX];
    struct doctor_answer a;
};

static void begin(struct made *m)
{
    m->text[0] = '\0';
    m->a = (struct doctor_answer){.has_head = true, .status = 200, .t_sent = {1000 * MS}};
}

static void add(struct made *m, int at_ms, const char *bytes)
{
    size_t n = strlen(m->text);

    assert_true(n + strlen(bytes) < sizeof(m->text) && m->a.n_reads < READS_MAX);
    (void)snprintf(m->text + n, sizeof(m->text) - n, "%s", bytes);
    m->reads[m->a.n_reads].at = (mono_t){(1000 + (int64_t)at_ms) * MS};
    m->reads[m->a.n_reads++].end = strlen(m->text);
    m->a.t_end = m->reads[m->a.n_reads - 1].at;
}

static void look(struct made *m, const char *dialect, struct doctor_stream *ret)
{
    m->a.body = span_cstr(m->text);
    m->a.reads = m->reads;
    doctor_stream_read(&m->a, dialect_by_name(span_cstr(dialect)), ret);
}

#define ROLE                                                                                       \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
#define WORD  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"
#define END   "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"
#define DONE  "data: [DONE]\n\n"
#define BLANK "data: {\"choices\":[],\"prompt_filter_results\":[{}]}\n\n"

static void test_usual(void **state)
{
    struct made m;
    struct doctor_stream s;

    (void)state;
    begin(&m);
    add(&m, 50, ": ping\n\n" ROLE);
    add(&m, 80, WORD END);
    add(&m, 81, USAGE DONE);
    look(&m, "openai-chat", &s);
    assert_int_equal(s.n_events, 5);
    assert_int_equal(s.n_output, 1);
    assert_int_equal(s.n_reads, 1);
    assert_int_equal(s.n_comments, 1);
    assert_int_equal(s.first_ns, 80 * MS);
    assert_int_equal(s.total_ns, 81 * MS);
    assert_true(s.has_role_only_first && s.answer.has_done_marker);
    assert_false(s.has_empty_choices ||
                 s.has_filter); /* usage's empty ones are as they should be */
    assert_int_equal(s.answer.usage.completion, 1);
    assert_int_equal(s.n_with_choices, 4);
    assert_int_equal(s.n_without_choices, 0);
}

static void test_filter(void **state)
{
    struct made m;
    struct doctor_stream s;

    (void)state;
    begin(&m);
    add(&m, 10, BLANK ROLE WORD END DONE);
    look(&m, "openai-chat", &s);
    assert_true(s.has_empty_choices && s.has_filter);
    assert_int_equal(s.n_output, 1);
}

static void test_other_api(void **state)
{
    struct made m;
    struct doctor_stream s;

    (void)state;
    begin(&m);
    add(&m, 10, "data: {\"text\":\"x\"}\n\ndata: {\"text\":\"y\"}\n\n");
    look(&m, "openai-chat", &s);
    assert_int_equal(s.n_with_choices, 0);
    assert_int_equal(s.n_without_choices, 2);
    look(&m, "anthropic", &s);
    assert_int_equal(s.n_without_choices, 0); /* there they are not looked for */
}

/* Every split of a stream into two reads says the same. */
static void test_splits(void **state)
{
    static const char whole[] = BLANK ROLE WORD WORD END USAGE DONE;
    struct made m;
    struct doctor_stream s;

    (void)state;
    for (size_t at = 1; at < sizeof(whole) - 1; at++) {
        char first[sizeof(whole)];

        first[span_copy(span_of(whole, at), first, sizeof(first))] = '\0';
        begin(&m);
        add(&m, 10, first);
        add(&m, 20, whole + at);
        look(&m, "openai-chat", &s);
        assert_int_equal(s.n_events, 7);
        assert_int_equal(s.n_output, 2);
        assert_true(s.has_filter && s.answer.has_done_marker);
    }
}

static const struct {
    const char *name;
    int n, first_ms, gap_ms; /* n events, from first_ms on */
    int per_read;
    int end_ms;
    int ttft_1_ms; /* -1: unknown */
    bool has_length;
    enum doctor_flow flow;
} flows[] = {
    {"steady", 40, 50, 10, 1, 450, 50, false, FLOW_STEADY},
    {"several tokens in an event's read", 40, 50, 10, 4, 450, 50, false, FLOW_STEADY},
    {"all at the end", 40, 450, 0, 40, 450, 50, false, FLOW_AT_ONCE},
    {"all at the end in a few reads", 40, 450, 1, 10, 454, 50, false, FLOW_AT_ONCE},
    {"with its length in front", 40, 200, 0, 40, 200, 200, true, FLOW_AT_ONCE},
    {"a slow prefill and a quick engine", 40, 450, 0, 40, 450, 430, false, FLOW_TOO_FEW},
    {"one token alone was not measured", 40, 450, 0, 40, 450, -1, false, FLOW_AT_ONCE},
    {"late and then quick, token by token", 40, 2000, 1, 1, 2040, 50, false, FLOW_STEADY},
    {"a quick engine", 40, 20, 0, 40, 20, 5, false, FLOW_TOO_FEW},
    {"a short answer", 3, 450, 0, 3, 450, 50, false, FLOW_TOO_FEW},
    {"nothing", 0, 0, 0, 1, 500, 50, false, FLOW_TOO_FEW},
};

static void test_flows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
        int ttft_1_ms = flows[i].ttft_1_ms, at_ms = flows[i].first_ms;
        struct made m;
        struct doctor_stream s;

        begin(&m);
        for (int k = 0; k < flows[i].n; k += flows[i].per_read) {
            char bytes[8192] = "";

            for (int e = 0; e < flows[i].per_read; e++)
                (void)strncat(bytes, WORD, sizeof(bytes) - strlen(bytes) - 1);
            add(&m, at_ms, bytes);
            at_ms += flows[i].gap_ms;
        }
        add(&m, flows[i].end_ms, END DONE);
        m.a.has_length = flows[i].has_length;
        look(&m, "openai-chat", &s);
        assert_row(flows[i].name,
                   doctor_stream_flow(&s, &m.a, ttft_1_ms < 0 ? -1 : ttft_1_ms * (int64_t)MS) ==
                       flows[i].flow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),     cmocka_unit_test(test_filter),
        cmocka_unit_test(test_other_api), cmocka_unit_test(test_splits),
        cmocka_unit_test(test_flows),
    };
    return cmocka_run_group_tests_name("doctor/doctor_stream", tests, NULL, NULL);
}
