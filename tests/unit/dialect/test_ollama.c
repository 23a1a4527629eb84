/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/ollama: what one line says, whole streams and answers, requests, refusals.
 */
#include "harness.h"

#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "dialect/ollama.h"
#include "guard.h"

enum {
    TEXT = DIALECT_TEXT,
    REASON = DIALECT_REASONING,
    TOOL = DIALECT_TOOL_NAME | DIALECT_TOOL_ARGS,
    IMAGE = DIALECT_IMAGE,
};

#define CHAT(members)                                                                              \
    "{\"model\":\"m\",\"created_at\":\"2026-01-02T03:04:05.6Z\",\"message\":{\"role\":"            \
    "\"assistant\"," members "},\"done\":false}"
#define GENERATE(members)                                                                          \
    "{\"model\":\"m\",\"created_at\":\"2026-01-02T03:04:05.6Z\"," members ",\"done\":false}"

static const struct {
    const char *data;
    uint32_t kinds;
} lines[] = {
    {CHAT("\"content\":\"a\""), TEXT},
    {CHAT("\"content\":\" \""), TEXT},
    {CHAT("\"content\":\"\""), 0},
    {CHAT("\"content\":null"), 0},
    {CHAT("\"content\":5"), 0},
    {CHAT("\"c\\u006fntent\":\"a\""), TEXT},
    {CHAT("\"content\":\"\",\"thinking\":\"hm\""), REASON},
    {CHAT("\"thinking\":\"hm\",\"content\":\"a\""), REASON | TEXT},
    {CHAT("\"content\":\"\",\"thinking\":\"\""), 0},
    {CHAT("\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]"),
     TOOL},
    {CHAT("\"content\":\"a\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"index\":0,\"name\":"
          "\"f\",\"arguments\":{\"x\":1}}}]"),
     TEXT | TOOL},
    {CHAT("\"content\":\"\",\"tool_calls\":[]"), 0},
    {CHAT("\"content\":\"\",\"tool_calls\":null"), 0},
    {CHAT("\"content\":\"\",\"images\":[\"aGk=\"]"), IMAGE},
    {CHAT("\"content\":\"\",\"images\":null"), 0},
    {GENERATE("\"response\":\"a\""), TEXT},
    {GENERATE("\"response\":\"\""), 0},
    {GENERATE("\"response\":\"\",\"thinking\":\"hm\""), REASON},
    {GENERATE("\"response\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]"), TOOL},
    {GENERATE("\"response\":\"\",\"image\":\"aGk=\""), IMAGE},
    {"{\"message\":\"text\",\"response\":[\"a\"],\"done\":false}", 0},
    {"{\"message\":[{\"content\":\"a\"}]}", 0},
    {" {\"message\":{\"content\":\"a\"}} \r", TEXT},
    {"{}", 0},
};

static struct token_event line_of(struct dialect_answer *a, const char *data)
{
    struct token_event e;
    struct guard guard;
    guard_init(&guard, strlen(data));
    dialect_ollama.event(a, SPAN(""), guard_copy(&guard, span_cstr(data)), &e);
    guard_done(&guard);
    return e;
}

static void kinds_of_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = line_of(&a, lines[i].data);
        assert_row(lines[i].data, e.kinds == lines[i].kinds);
        assert_row(lines[i].data, !e.is_end && !e.is_error && !e.has_usage);
        assert_row(lines[i].data, a.n_bad_json == 0 && !dialect_ollama.is_ended(&a));
    }
}

/* A line that is no whole object says nothing at all. */
static void cut_lines_leave_nothing(void **state)
{
    (void)state;
    const char *line = "{\"model\":\"m\",\"message\":{\"content\":\"a\"},\"done\":true,"
                       "\"eval_count\":3,\"eval_duration\":5,\"error\":\"x\"}";
    struct guard guard;
    guard_init(&guard, strlen(line));
    for (size_t n = 0; n < strlen(line); n++) {
        struct dialect_answer a;
        struct token_event e;
        dialect_answer_init(&a);
        dialect_ollama.event(&a, SPAN(""), guard_copy(&guard, span_of(line, n)), &e);
        assert_int_equal(e.kinds, 0);
        assert_false(e.is_end || e.is_error || e.has_usage || a.has_finish || a.has_error);
        assert_int_equal(a.n_bad_json, 1);
        assert_string_equal(a.model, "");
        assert_int_equal(a.engine.decode_ns, -1);
    }
    guard_done(&guard);
}

static void done_is_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        uint32_t kinds;
        bool is_end;
        const char *finish;
    } rows[] = {
        {"{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}", 0, true,
         "stop"},
        {"{\"done_reason\":\"length\",\"done\":true}", 0, true, "length"},
        {"{\"response\":\"end\",\"done\":true}", TEXT, true, "done"},
        {"{\"done\":true,\"done_reason\":\"\"}", 0, true, "done"},
        {"{\"done\":true,\"done_reason\":null}", 0, true, "done"},
        {"{\"done\":false,\"done_reason\":\"stop\"}", 0, false, ""},
        {"{\"done_reason\":\"stop\"}", 0, false, ""},
        {"{\"done\":\"true\"}", 0, false, ""},
        {"{\"done\":1}", 0, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = line_of(&a, rows[i].data);
        assert_row(rows[i].data, e.kinds == rows[i].kinds);
        assert_row(rows[i].data, e.is_end == rows[i].is_end);
        assert_row(rows[i].data, dialect_ollama.is_ended(&a) == rows[i].is_end);
        assert_row(rows[i].data, strcmp(a.finish, rows[i].finish) == 0);
    }
    /* what another API ends with stops the reading, and is no end of this one's */
    struct dialect_answer a;
    dialect_answer_init(&a);
    assert_true(line_of(&a, "[DONE]").is_end);
    assert_true(a.has_done_marker && !dialect_ollama.is_ended(&a));
}

/* A stream is not ended by an error, and a new line with other times does not hide the text. */
static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        bool is_error;
        const char *error;
    } rows[] = {
        {"{\"error\":\"an error was encountered while running the model\"}", true, "error"},
        {"{\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}", true, "server_error"},
        {"{\"error\":\"\"}", false, ""},
        {"{\"error\":null,\"response\":\"a\"}", false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        (void)line_of(&a, CHAT("\"content\":\"a\""));
        struct token_event e = line_of(&a, rows[i].data);
        assert_row(rows[i].data, e.is_error == rows[i].is_error);
        assert_row(rows[i].data, a.has_error == rows[i].is_error);
        assert_row(rows[i].data, strcmp(a.error, rows[i].error) == 0);
        assert_row(rows[i].data, !dialect_ollama.is_ended(&a));
    }
}

#define LAST                                                                                       \
    "{\"model\":\"m:latest\",\"created_at\":\"2026-01-02T03:04:05.6Z\",\"message\":{\"role\":"     \
    "\"assistant\",\"content\":\"all of it\"},\"done_reason\":\"stop\",\"done\":true,"             \
    "\"total_duration\":5645304708,\"load_duration\":55095250,\"prompt_eval_count\":307,"          \
    "\"prompt_eval_duration\":710671250,\"eval_count\":308,\"eval_duration\":4466025455}"

static void assert_last(const struct dialect_answer *a)
{
    assert_string_equal(a->model, "m:latest");
    assert_string_equal(a->finish, "stop");
    assert_int_equal(a->usage.prompt, 307);
    assert_int_equal(a->usage.completion, 308);
    assert_int_equal(a->usage.cached, USAGE_UNTOLD);
    assert_int_equal(a->engine.load_ns, 55095250);
    assert_int_equal(a->engine.prefill_ns, 710671250);
    assert_int_equal(a->engine.decode_ns, 4466025455);
    assert_int_equal(a->engine.total_ns, 5645304708);
    assert_int_equal(a->engine.queue_ns, -1);
    assert_int_equal(a->n_choices_finished, 1);
    assert_true(dialect_ollama.is_ended(a));
    assert_false(a->has_error);
}

static void counts_and_times_of_the_last_line(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    struct token_event e = line_of(&a, LAST);
    assert_true(e.has_usage && e.is_end);
    assert_last(&a);
}

static void whole_answers(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    dialect_ollama.answer(&a, SPAN(LAST "\n"));
    assert_last(&a);

    dialect_answer_init(&a);
    dialect_ollama.answer(&a, SPAN("{\"error\":\"model 'x' not found\"}"));
    assert_true(a.has_error);
    assert_string_equal(a.error, "error");
    dialect_ollama.answer(&a, SPAN("404 page not found"));
    assert_int_equal(a.n_bad_json, 1);

    dialect_answer_init(&a);
    dialect_ollama_embed.answer(&a, SPAN("{\"model\":\"e\",\"embeddings\":[[0.01,-0.5],[1e-3,2]],"
                                         "\"total_duration\":14143917,\"load_duration\":1019500,"
                                         "\"prompt_eval_count\":8}"));
    assert_string_equal(a.model, "e");
    assert_int_equal(a.usage.prompt, 8);
    assert_int_equal(a.usage.completion, USAGE_UNTOLD);
    assert_int_equal(a.engine.total_ns, 14143917);
    assert_int_equal(a.n_bad_json, 0);
}

/* What is 0 is left out: the prompt of a wholly cached request. Nothing is made up for it. */
static void counts_that_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        int64_t raw_prompt, raw_completion;
        int64_t prompt, completion;
        bool is_anomalous;
    } rows[] = {
        {"{\"done\":true,\"prompt_eval_count\":7,\"eval_count\":9}", 7, 9, 7, 9, false},
        {"{\"done\":true,\"eval_count\":9}", USAGE_UNTOLD, 9, -1, 9, false},
        {"{\"done\":true,\"eval_count\":-1,\"prompt_eval_count\":\"7\"}", USAGE_UNTOLD, -1, -1, -1,
         true},
        {"{\"done\":true}", USAGE_UNTOLD, USAGE_UNTOLD, -1, -1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_anomalous = !rows[i].is_anomalous;
        bool is_told = rows[i].raw_prompt != USAGE_UNTOLD || rows[i].raw_completion != USAGE_UNTOLD;
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = line_of(&a, rows[i].data);
        assert_row(rows[i].data, a.usage.prompt == rows[i].raw_prompt);
        assert_row(rows[i].data, a.usage.completion == rows[i].raw_completion);
        assert_row(rows[i].data, e.has_usage == is_told);
        struct dialect_tokens t = dialect_normalise(&dialect_ollama, &a.usage, &is_anomalous);
        assert_row(rows[i].data, t.prompt == rows[i].prompt);
        assert_row(rows[i].data, t.completion == rows[i].completion);
        assert_row(rows[i].data, is_anomalous == rows[i].is_anomalous);
    }
}

static void lines_allocate_nothing(void **state)
{
    (void)state;
    struct mem_count before = mem_count_total();
    struct dialect_answer a;
    struct token_event e;
    dialect_answer_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        dialect_ollama.event(&a, SPAN(""), span_cstr(lines[i].data), &e);
    dialect_ollama.event(&a, SPAN(""), SPAN(LAST), &e);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
}

/* --- requests --- */

static struct dialect_request inspect(const struct dialect *d, const char *body, bool is_complete)
{
    struct dialect_request r;
    struct guard guard;
    guard_init(&guard, strlen(body) + 1);
    d->inspect(SPAN("/api/chat"), guard_copy(&guard, span_cstr(body)), is_complete, &r);
    guard_done(&guard);
    return r;
}

static void a_stream_is_what_comes_unasked(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool is_stream;
    } rows[] = {
        {"{\"model\":\"m\"}", true},
        {"{\"stream\":true}", true},
        {"{\"stream\":false}", false},
        {"{\"stream\":null}", true},
        {"{\"stream\":false,\"stream\":null}", true},
        {"{\"stream\":true,\"stream\":false}", false},
        {"{\"str\\u0065am\":false}", false},
        {"{\"options\":{\"stream\":false}}", true},
        {"", false},
        {"[]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_row(rows[i].body,
                   inspect(&dialect_ollama, rows[i].body, true).is_stream == rows[i].is_stream);
        assert_row(rows[i].body, !inspect(&dialect_ollama_embed, rows[i].body, true).is_stream);
    }
}

static void reads_what_is_asked(void **state)
{
    (void)state;
    struct dialect_request r =
        inspect(&dialect_ollama,
                "{\"model\":\"qwen3:4b\",\"messages\":[{\"content\":\"hi\"}],\"think\":true,"
                "\"options\":{\"num_ctx\":4096,\"num_predict\":50,\"stop\":[\"x\"]}}",
                true);
    assert_true(r.is_json && r.is_complete && r.is_stream);
    assert_false(r.is_duplicate_model || r.has_include_usage);
    assert_string_equal(r.model, "qwen3:4b");
    assert_int_equal(r.max_tokens, 50);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.prompt_bytes, strlen("[{\"content\":\"hi\"}]"));

    r = inspect(&dialect_ollama,
                "{\"prompt\":\"abc\",\"system\":\"de\",\"options\":{\"num_predict\":-1},\"model\":"
                "\"a\",\"model\":\"b\"}",
                true);
    assert_int_equal(r.prompt_bytes, 5 + 4);
    assert_int_equal(r.max_tokens, -1);
    assert_true(r.is_duplicate_model);
    assert_string_equal(r.model, "b");

    r = inspect(&dialect_ollama_embed, "{\"model\":\"e\",\"input\":[\"a\",\"b\"]}", true);
    assert_int_equal(r.prompt_bytes, 9);

    r = inspect(&dialect_ollama, "{\"model\":5,\"options\":[1],\"messages\":null}", true);
    assert_string_equal(r.model, "");
    assert_true(r.is_json);
}

static void cut_windows_keep_what_is_known(void **state)
{
    (void)state;
    struct dialect_request r =
        inspect(&dialect_ollama,
                "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"content\":\"aa", false);
    assert_true(r.is_json);
    assert_false(r.is_complete || r.is_stream);
    assert_string_equal(r.model, "m");
    assert_int_equal(r.prompt_bytes, strlen("[{\"content\":\"aa"));
    assert_false(inspect(&dialect_ollama, "{\"model\":\"m\"", true).is_json);
    assert_false(inspect(&dialect_ollama, "{\"model\":\"m\",}", false).is_json);
}

static void refusals_have_the_form(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSAL_COUNT_; i++) {
        struct buf b;
        buf_init(&b, 4096);
        assert_int_equal(dialect_ollama.refusal_body((enum dialect_refusal)i, "say \"no\"", &b), 0);
        assert_true(span_eq(buf_span(&b), SPAN("{\"error\":\"say \\\"no\\\"\"}")));
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_lines),
        cmocka_unit_test(cut_lines_leave_nothing),
        cmocka_unit_test(done_is_the_end),
        cmocka_unit_test(errors),
        cmocka_unit_test(counts_and_times_of_the_last_line),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(counts_that_are_left_out),
        cmocka_unit_test(lines_allocate_nothing),
        cmocka_unit_test(a_stream_is_what_comes_unasked),
        cmocka_unit_test(reads_what_is_asked),
        cmocka_unit_test(cut_windows_keep_what_is_known),
        cmocka_unit_test(refusals_have_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
