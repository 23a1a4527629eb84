/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other dialects over loopback: their paths, every switch on each of them, and what the truth
 * says about them.
 */
#include "sim/sim_server.h"

#include "client.h"
#include "wire/chunked.h"
#include "wire/events.h"
#include "wire/json.h"

static struct sim_server *server;

static int setup(void **state)
{
    struct sim_config c;
    struct err e;
    (void)state;
    sim_config_init(&c);
    c.defaults.ttft_ns = 2 * NS_PER_MS;
    c.defaults.itl_ns = 1 * NS_PER_MS;
    c.n_truth = 100;
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &c.listen, &e), 0);
    return sim_server_start(&c, &server, &at, &e);
}

static int teardown(void **state)
{
    (void)state;
    server = sim_server_stop(server);
    return 0;
}

/* --- the dialects --- */

#define GEMINI "/v1beta/models/gem-1"

/* How a dialect streams: what its parts look like. */
static const struct dialect {
    const char *path, *body;
    enum framing framing;
    const char *type;    /* of the stream */
    const char *prelude; /* in the first events, or NULL */
    const char *text;    /* in a token event */
    const char *reasoning;
    const char *call;    /* or NULL */
    const char *refusal; /* or NULL */
    const char *comment; /* or NULL */
    const char *end;     /* missing without the end mark */
    const char *error;   /* in the middle */
    const char *usage;   /* its count of 4 tokens */
    const char *length;  /* the reason */
} dialects[] = {
    {"/v1/chat/completions",
     "{\"stream\":true,\"max_tokens\":4,\"messages\":[1],"
     "\"stream_options\":{\"include_usage\":true}}",
     FRAMING_SSE, "text/event-stream", "\"role\":\"assistant\"", "\"delta\":{\"content\":\" ",
     "\"reasoning_content\":\" ", "\"arguments\":\"{\\\"query\\\":\\\" ",
     "\"delta\":{\"refusal\":\" ", ": keep-alive", "data: [DONE]", "data: {\"error\":{",
     "\"completion_tokens\":4,", "\"finish_reason\":\"length\""},
    {"/v1/responses", "{\"stream\":true,\"max_output_tokens\":4,\"input\":\"hi\"}", FRAMING_SSE,
     "text/event-stream", "event: response.created", "event: response.output_text.delta",
     "event: response.reasoning_summary_text.delta",
     "event: response.function_call_arguments.delta", "event: response.refusal.delta",
     ": keep-alive", "\"usage\":{", "event: response.failed", "\"output_tokens\":4,",
     "event: response.incomplete"},
    {"/v1/messages", "{\"stream\":true,\"max_tokens\":4,\"messages\":[1]}", FRAMING_SSE,
     "text/event-stream", "event: message_start", "\"type\":\"text_delta\",\"text\":\" ",
     "\"type\":\"thinking_delta\"", "\"type\":\"input_json_delta\"", "\"stop_reason\":\"refusal\"",
     "event: ping", "event: message_stop", "event: error", "\"output_tokens\":4,",
     "\"stop_reason\":\"max_tokens\""},
    {"/api/chat", "{\"options\":{\"num_predict\":4},\"messages\":[1]}", FRAMING_NDJSON,
     "application/x-ndjson", NULL, "\"content\":\" ", "\"thinking\":\" ", "\"tool_calls\":[{", NULL,
     NULL, "\"done\":true", "{\"error\":\"", "\"eval_count\":4,", "\"done_reason\":\"length\""},
    {"/api/generate", "{\"options\":{\"num_predict\":4},\"prompt\":\"hi\"}", FRAMING_NDJSON,
     "application/x-ndjson", NULL, "\"response\":\" ", "\"thinking\":\" ", NULL, NULL, NULL,
     "\"done\":true", "{\"error\":\"", "\"eval_count\":4,", "\"done_reason\":\"length\""},
    {GEMINI ":streamGenerateContent?key=k&alt=sse",
     "{\"generationConfig\":{\"maxOutputTokens\":4},\"contents\":[1]}", FRAMING_SSE,
     "text/event-stream", NULL, "{\"text\":\" ", "\"thought\":true", "\"functionCall\":{",
     "\"finishReason\":\"SAFETY\"", ": keep-alive", "\"finishReason\"", "data: {\"error\":{",
     "\"candidatesTokenCount\":4,", "\"finishReason\":\"MAX_TOKENS\""},
    {GEMINI ":streamGenerateContent",
     "{\"generationConfig\":{\"maxOutputTokens\":4},\"contents\":[1]}", FRAMING_JSON_ARRAY,
     "application/json", NULL, "{\"text\":\" ", "\"thought\":true", "\"functionCall\":{",
     "\"finishReason\":\"SAFETY\"", NULL, "\"finishReason\"", "{\"error\":{",
     "\"candidatesTokenCount\":4,", "\"finishReason\":\"MAX_TOKENS\""},
};

enum { N_DIALECTS = sizeof(dialects) / sizeof(dialects[0]) };

/* The body, out of its chunks; static. */
static struct span body_of(const char *name, struct span all)
{
    static char body[256 * 1024];
    struct chunked_decoder reader;
    struct span in = span_from(all, span_find(all, SPAN("\r\n\r\n")) + 4);
    size_t n = 0;

    chunked_init(&reader);
    for (;;) {
        struct span piece;
        enum chunked_status r = chunked_next(&reader, &in, &piece);

        if (r != CHUNKED_DATA) {
            assert_row(name, r == CHUNKED_END);
            break;
        }
        memcpy(body + n, piece.p, piece.n);
        n += piece.n;
    }
    body[n] = '\0';
    return span_of(body, n);
}

/* Every event is JSON (or [DONE]). Returns how many. */
static int assert_stream(const char *name, const struct dialect *d, struct span body)
{
    struct events reader;
    struct event e;
    int n = 0;

    events_init(&reader, d->framing, MIB);
    while (events_next(&reader, &body, &e) == EVENT_WHOLE) {
        struct json j;

        n++;
        json_init(&j, e.data);
        assert_row(name, span_eq(e.data, SPAN("[DONE]")) || (json_skip(&j) && json_is_done(&j)));
    }
    assert_row(name, events_finish(&reader, &e) == EVENT_MORE);
    events_done(&reader);
    return n;
}

/* --- switches --- */

enum part { NOTHING, PRELUDE, TEXT, REASONING, CALL, REFUSAL, COMMENT, END, ERROR, USAGE, LENGTH };

static const char *part_text(const struct dialect *d, enum part part)
{
    const char *const texts[] = {NULL,     d->prelude, d->text,    d->reasoning,
                                 d->call,  d->refusal, d->comment, d->end,
                                 d->error, d->usage,   d->length};

    return texts[part];
}

/* What each switch adds to a stream and takes from it, in the words of each dialect. */
static const struct switch_row {
    const char *fields;
    enum ending ending;
    enum part holds, lacks;
    bool is_raw; /* the body is not whole: cut, coded, ... */
} switch_rows[] = {
    {"", ENDING_CHUNK, TEXT, ERROR, false},
    {"", ENDING_CHUNK, PRELUDE, REASONING, false},
    {"", ENDING_CHUNK, END, CALL, false},
    {"", ENDING_CHUNK, LENGTH, NOTHING, false},
    {"", ENDING_CHUNK, USAGE, NOTHING, false},
    {"X-Sim-Usage: never\r\n", ENDING_CHUNK, TEXT, USAGE, false},
    {"X-Sim-Usage: every_chunk\r\n", ENDING_CHUNK, USAGE, NOTHING, false},
    {"X-Sim-Role: off\r\n", ENDING_CHUNK, TEXT, PRELUDE, false},
    {"X-Sim-Role-Delay-Ms: 4\r\n", ENDING_CHUNK, PRELUDE, NOTHING, false},
    {"X-Sim-Tokens: 0\r\n", ENDING_CHUNK, END, TEXT, false},
    {"X-Sim-Tokens: 4\r\nX-Sim-Tokens-Per-Event: 3\r\n", ENDING_CHUNK, USAGE, NOTHING, false},
    {"X-Sim-Crlf: on\r\n", ENDING_CHUNK, TEXT, NOTHING, false},
    {"X-Sim-Done: off\r\n", ENDING_CHUNK, TEXT, END, true},
    {"X-Sim-End: hold\r\n", ENDING_SILENCE, END, NOTHING, true},
    {"X-Sim-Comments: 2\r\n", ENDING_CHUNK, COMMENT, NOTHING, false},
    {"X-Sim-Reasoning: 2\r\n", ENDING_CHUNK, REASONING, NOTHING, false},
    {"X-Sim-Reasoning: 2\r\n", ENDING_CHUNK, TEXT, NOTHING, false},
    {"X-Sim-Reasoning: 4\r\n", ENDING_CHUNK, REASONING, CALL, false},
    {"X-Sim-Tool-Calls: on\r\n", ENDING_CHUNK, CALL, NOTHING, false},
    {"X-Sim-Tool-Calls: on\r\nX-Sim-Reasoning: 2\r\n", ENDING_CHUNK, CALL, NOTHING, false},
    {"X-Sim-Tool-Calls: on\r\nX-Sim-Reasoning: 2\r\n", ENDING_CHUNK, REASONING, NOTHING, false},
    {"X-Sim-Refusal: on\r\n", ENDING_CHUNK, REFUSAL, NOTHING, false},
    {"X-Sim-Error-After: 2\r\n", ENDING_CHUNK, ERROR, END, false},
    {"X-Sim-Error-After: 0\r\n", ENDING_CHUNK, ERROR, PRELUDE, false},
    {"X-Sim-Error-After: 4\r\n", ENDING_CHUNK, TEXT, END, false},
    {"X-Sim-Cut-After: 3\r\n", ENDING_FIN, TEXT, END, true},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: end\r\n", ENDING_CHUNK, TEXT, END, true},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: mid\r\n", ENDING_FIN, TEXT, END, true},
    {"X-Sim-Cut-After: 0\r\nX-Sim-Cut: mid\r\n", ENDING_FIN, NOTHING, END, true},
    {"X-Sim-Tool-Calls: on\r\nX-Sim-Cut-After: 0\r\nX-Sim-Cut: mid\r\n", ENDING_FIN, NOTHING, END,
     true},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: reset\r\n", ENDING_RESET, NOTHING, END, true},
    {"X-Sim-Hang-After: 1\r\n", ENDING_SILENCE, TEXT, END, true},
    {"X-Sim-Head: first\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Slow-Head-Ms: 15\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Batch: 3\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Batch: 100\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Split: 3\r\nX-Sim-Split-Gap-Ms: 1\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Split: 2\r\nX-Sim-Batch: 50\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Gzip: on\r\n", ENDING_CHUNK, NOTHING, TEXT, true},
    {"X-Sim-Close: on\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Early: on\r\nX-Sim-Tokens: 4\r\n", ENDING_CHUNK, END, NOTHING, false},
    {"X-Sim-Engine-Times: vllm\r\n", ENDING_CHUNK, END, NOTHING, false},
};

static void switch_check(const struct dialect *d, const struct switch_row *row)
{
    const char *holds = part_text(d, row->holds), *lacks = part_text(d, row->lacks);
    char name[400];
    struct buf out;
    struct span text;
    enum ending e;

    (void)snprintf(name, sizeof(name), "%s %s%s", d->path, row->fields, holds ? holds : "");
    if (lacks && holds && strcmp(lacks, holds) == 0)
        return; /* this dialect says both with the same words */
    buf_init(&out, MIB);
    e = exchange(d->path, row->fields, d->body, &out);
    assert_row(name, e == row->ending);
    text = row->is_raw ? buf_span(&out) : body_of(name, buf_span(&out));
    assert_row(name, !holds || span_find(text, span_cstr(holds)) < text.n);
    assert_row(name, !lacks || span_find(text, span_cstr(lacks)) == text.n);
    if (!row->is_raw)
        (void)assert_stream(name, d, text);
    buf_done(&out);
}

static void test_switches(void **state)
{
    (void)state;
    for (size_t d = 0; d < N_DIALECTS; d++)
        for (size_t i = 0; i < sizeof(switch_rows) / sizeof(switch_rows[0]); i++)
            switch_check(&dialects[d], &switch_rows[i]);
}

static void test_heads(void **state)
{
    (void)state;
    for (size_t d = 0; d < N_DIALECTS; d++) {
        char type[80];
        struct buf out;

        buf_init(&out, MIB);
        (void)snprintf(type, sizeof(type), "Content-Type: %s", dialects[d].type);
        assert_int_equal(exchange(dialects[d].path, "", dialects[d].body, &out), ENDING_CHUNK);
        assert_row(dialects[d].path, span_find(buf_span(&out), span_cstr(type)) < buf_len(&out));
        buf_done(&out);
    }
}

/* --- whole answers, refusals --- */

static const struct whole_row {
    const char *path, *fields, *body, *holds;
} whole_rows[] = {
    {"/v1/responses", "", "{\"input\":\"x\"}", "\"object\":\"response\""},
    {"/v1/responses", "X-Sim-Usage: never\r\n", "{\"input\":\"x\"}", "\"usage\":null}"},
    {"/v1/responses", "X-Sim-Choices: 3\r\n", "{\"input\":\"x\",\"max_output_tokens\":3}",
     "\"output_tokens\":3,"},
    {"/v1/messages", "X-Sim-Cached-Tokens: 9\r\nX-Sim-Prompt-Tokens: 50\r\n", "{\"messages\":[]}",
     "\"input_tokens\":41,"},
    {"/v1/messages", "X-Sim-Tool-Calls: on\r\n", "{\"messages\":[]}", "\"type\":\"tool_use\""},
    {"/v1/messages/count_tokens", "", "{\"messages\":[1234567]}", "{\"input_tokens\":3}"},
    {"/v1/messages/count_tokens", "", "{\"stream\":true,\"messages\":[1234567]}",
     "{\"input_tokens\":3}"},
    {"/api/chat", "", "{\"stream\":false,\"messages\":[]}", "\"done\":true,\"done_reason\""},
    {"/api/generate", "", "{\"stream\":false,\"prompt\":\"x\",\"model\":\"q\"}",
     "{\"model\":\"q\",\"created_at\":\"20"},
    {"/api/embed", "", "{\"input\":[\"a\",\"b\"]}", "],["},
    {"/v1/embeddings", "", "{\"input\":[\"a\",\"b\"]}", "\"index\":1"},
    {"/v1/embeddings", "X-Sim-Early: on\r\n", "{\"input\":[\"a\",\"b\"]}", "\"index\":0"},
    {GEMINI ":generateContent", "", "{\"contents\":[]}", "\"modelVersion\":\"gem-1\""},
    {GEMINI ":generateContent", "", "{\"contents\":[],\"generationConfig\":{\"candidateCount\":2}}",
     "\"index\":1}"},
    /* refused */
    {"/v1/responses", "X-Sim-Status: 429\r\n", "{\"input\":\"x\"}",
     "\"type\":\"rate_limit_error\""},
    {"/v1/messages", "X-Sim-Status: 529\r\n", "{\"messages\":[]}", "\"overloaded_error\""},
    {"/v1/messages", "X-Sim-Tokns: 1\r\n", "{\"messages\":[]}",
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"unknown"},
    {"/v1/messages", "", "{\"prompt\":1}", "\\\"messages\\\" is missing"},
    {"/api/chat", "X-Sim-Status: 503\r\n", "{\"messages\":[]}",
     "{\"error\":\"simulated error answer\"}"},
    {"/api/chat", "", "{", "{\"error\":\"the request body is not valid JSON\"}"},
    {GEMINI ":streamGenerateContent", "X-Sim-Status: 429\r\n", "{\"contents\":[]}",
     "\"status\":\"RESOURCE_EXHAUSTED\""},
    {GEMINI ":generateContent", "", "{}", "\"status\":\"INVALID_ARGUMENT\""},
    {"/v1/messages", "X-Sim-Error-After: 0\r\n", "{\"messages\":[]}", "\"type\":\"api_error\""},
    {GEMINI ":otherContent", "", "{}", "no such path"},
    {"/v1beta/models/:generateContent", "", "{}", "no such path"},
    {"/v1/embeddings", "X-Sim-Status: 500\r\n", "{\"input\":1}", "\"server_error\""},
    {"/v1/chat/completions", "X-Sim-Play: a.sse\r\n", "{}", "start the simulator with --play-dir"},
};

static void test_whole_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(whole_rows) / sizeof(whole_rows[0]); i++) {
        const struct whole_row *row = &whole_rows[i];
        char name[300];
        struct buf out;
        struct span all;
        struct json j;

        (void)snprintf(name, sizeof(name), "%s %s%s", row->path, row->fields, row->holds);
        buf_init(&out, MIB);
        assert_row(name, exchange(row->path, row->fields, row->body, &out) == ENDING_LENGTH);
        all = buf_span(&out);
        assert_row(name, span_find(all, span_cstr(row->holds)) < all.n);
        json_init(&j, span_from(all, span_find(all, SPAN("\r\n\r\n")) + 4));
        assert_row(name, json_skip(&j) && json_is_done(&j));
        buf_done(&out);
    }
}

/* --- truth --- */

static size_t truth_count(const char *id, const char *needle)
{
    char path[80];
    struct buf out;
    size_t n;

    (void)snprintf(path, sizeof(path), "/sim/truth?id=%s", id);
    buf_init(&out, MIB);
    assert_int_equal(exchange(path, "", NULL, &out), ENDING_LENGTH);
    n = count(buf_span(&out), needle);
    buf_done(&out);
    return n;
}

static void test_truth(void **state)
{
    (void)state;
    for (int d = 0; d < N_DIALECTS; d++) {
        char fields[120], id[20];
        struct buf out;

        buf_init(&out, MIB);
        (void)snprintf(id, sizeof(id), "d%d", d);
        (void)snprintf(fields, sizeof(fields),
                       "X-Request-Id: %s\r\nX-Sim-Tokens: 6\r\nX-Sim-Tokens-Per-Event: 2\r\n", id);
        assert_int_equal(exchange(dialects[d].path, fields, dialects[d].body, &out), ENDING_CHUNK);
        assert_int_equal(truth_count(id, "\"kind\":\"token\",\"tokens\":2"), 3);
        assert_int_equal(truth_count(id, "\"completion_tokens\":6,"), 1);
        assert_int_equal(truth_count(id, "\"stream\":true"), 1);
        buf_done(&out);
    }
}

/* Events are stamped one by one, whatever they are; a call that comes whole is one. */
static void test_truth_of_blocks(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, MIB);
    (void)exchange("/v1/messages", "X-Request-Id: b1\r\nX-Sim-Reasoning: 1\r\n", dialects[2].body,
                   &out);
    assert_int_equal(truth_count("b1", "\"kind\":\"role\""), 1);
    assert_int_equal(truth_count("b1", "\"kind\":\"block\""), 5);
    assert_int_equal(truth_count("b1", "\"kind\":\"finish\""), 1);
    assert_int_equal(truth_count("b1", "\"kind\":\"done\""), 1);
    buf_clear(&out);
    (void)exchange(GEMINI ":streamGenerateContent", "X-Request-Id: b2\r\nX-Sim-Tool-Calls: on\r\n",
                   dialects[6].body, &out);
    assert_int_equal(truth_count("b2", "\"kind\":\"token\",\"tokens\":4"), 1);
    buf_done(&out);
}

/* The text of the deltas is what the end says it was. */
static void test_responses_agree(void **state)
{
    static const char begin[] = "\"text\":\"";
    char want[8192];
    size_t n = sizeof(begin) - 1;
    struct buf out;
    struct span body;
    (void)state;
    buf_init(&out, MIB);
    (void)exchange("/v1/responses",
                   "X-Sim-Tokens: 70\r\nX-Sim-Itl-Ms: 0\r\nX-Sim-Tokens-Per-Event: 9\r\n",
                   dialects[1].body, &out);
    memcpy(want, begin, n);
    body = body_of("responses", buf_span(&out));
    for (size_t i = span_find(body, SPAN("\"delta\":\"")); i < body.n;
         i = span_find(body, SPAN("\"delta\":\""))) {
        struct span delta;

        body = span_from(body, i + 9);
        delta = span_split(&body, '"');
        assert_true(n + delta.n + 2 < sizeof(want));
        memcpy(want + n, delta.p, delta.n);
        n += delta.n;
    }
    memcpy(want + n, "\"", 2);
    assert_true(n > 200);
    assert_int_equal(count(body_of("responses", buf_span(&out)), want), 4);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switches),        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_whole_answers),   cmocka_unit_test(test_truth),
        cmocka_unit_test(test_truth_of_blocks), cmocka_unit_test(test_responses_agree),
    };
    return cmocka_run_group_tests_name("sim/sim_dialects", tests, setup, teardown);
}
