/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every voice's events and answers: whatever a table holds is rendered, and is JSON in the framing
 * of its dialect.
 */
#include "sim/speech.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "harness.h"
#include "wire/events.h"
#include "wire/json.h"

static struct voices *voices;
static struct words words;
static struct buf scratch;

static int setup(void **state)
{
    (void)state;
    words_init(&words);
    buf_init(&scratch, MIB);
    return voices_new(&voices);
}

static int teardown(void **state)
{
    (void)state;
    voices = voices_free(voices);
    buf_done(&scratch);
    return 0;
}

/* A speech that has said everything once: numbers are of one to many digits. */
static struct speech *speech(enum voice_id voice, bool is_crlf)
{
    static struct speech s;
    struct speech_head head = {.id = SPAN("0123456789abcdef01234567"),
                               .model = SPAN("m\\u0041"),
                               .created_s = 1700000000,
                               .is_crlf = is_crlf,
                               .may_tell_usage = true};

    assert_int_equal(speech_init(&s, &voices->of[voice], &words, &scratch, &head), 0);
    speech_set_usage(
        &s, (struct speech_usage){.prompt = 90, .cached = 40, .completion = 30, .reasoning = 10});
    speech_set_times(&s, (struct speech_times){.total_ns = 9000000,
                                               .queue_ns = 1500000,
                                               .prefill_ns = 2000000,
                                               .decode_ns = 5800000,
                                               .n_tokens = 30});
    speech_set_text(&s, 0, 2);
    speech_begin_block(&s);
    s.reasoning = (struct speech_range){0, 10};
    s.answer = (struct speech_range){10, 30};
    s.args = (struct speech_range){11, 30};
    return &s;
}

/* The whole event; static. */
static struct span joined(const struct chunk *c)
{
    static char text[16384];
    size_t n = 0;

    for (int i = 0; i < c->n; i++) {
        assert_true(n + c->parts[i].n < sizeof(text));
        memcpy(text + n, c->parts[i].p, c->parts[i].n);
        n += c->parts[i].n;
    }
    text[n] = '\0';
    return span_of(text, n);
}

static void assert_json(const char *name, struct span text)
{
    struct json j;

    json_init(&j, text);
    assert_row(name, json_skip(&j) && json_is_done(&j));
}

static enum framing framing_of(const struct voice *v)
{
    if (v->is_stream_array)
        return FRAMING_JSON_ARRAY;
    return strstr(v->stream_type, "ndjson") ? FRAMING_NDJSON : FRAMING_SSE;
}

/* One event in its framing: JSON, [DONE], or only white space or a comment. */
static void assert_event(const char *name, const struct voice *v, struct span text)
{
    struct events reader;
    struct event e;

    events_init(&reader, framing_of(v), MIB);
    while (events_next(&reader, &text, &e) == EVENT_WHOLE)
        if (!span_eq(e.data, SPAN("[DONE]")) && !span_eq(e.data, SPAN("]")))
            assert_json(name, e.data);
    assert_row(name, events_finish(&reader, &e) == EVENT_MORE);
    events_done(&reader);
}

static bool is_event_stage(int stage)
{
    return stage >= STAGE_COMMENT && stage <= STAGE_ERROR;
}

/* Whatever the tables hold. */
static void test_all_stages(void **state)
{
    (void)state;
    for (int voice = 0; voice < VOICE_COUNT_; voice++) {
        for (int stage = 0; stage < 4 * VOICE_STAGE_COUNT_; stage++) {
            bool is_crlf = stage / VOICE_STAGE_COUNT_ % 2;
            struct speech *s = speech((enum voice_id)voice, is_crlf);
            int n = speech_n_events(s, stage % VOICE_STAGE_COUNT_);

            s->has_usage = stage >= 2 * VOICE_STAGE_COUNT_;
            s->times = STAGE_TIMES_VLLM;
            for (int i = 0; i < n && is_event_stage(stage % VOICE_STAGE_COUNT_); i++) {
                char name[80];
                struct chunk c;
                (void)snprintf(name, sizeof(name), "%s stage %d event %d", s->voice->name, stage,
                               i);
                assert_row(name, speech_event(s, stage % VOICE_STAGE_COUNT_, i, &c) == 0);
                assert_row(name, c.n > 0 && c.n <= CHUNK_PARTS_MAX);
                assert_event(name, s->voice, joined(&c));
                assert_row(name, !is_crlf || !strstr(joined(&c).p, "\n\n"));
            }
        }
    }
}

/* What must stand in them. */
static void test_events_hold(void **state)
{
    static const struct {
        enum voice_id voice;
        int stage, event;
        bool has_usage;
        const char *holds;
    } rows[] = {
        {VOICE_CHAT, STAGE_PRELUDE, 0, 0, "\"delta\":{\"role\":\"assistant\",\"content\":\"\""},
        {VOICE_CHAT, STAGE_PRELUDE, 0, 0, "],\"usage\":null}\n\n"},
        {VOICE_CHAT, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "{\"index\":7,\"delta\":{\"content\":\" "},
        {VOICE_CHAT, STAGE_TOKEN + BLOCK_TEXT, 0, 1, "\"completion_tokens\":30,"},
        {VOICE_CHAT, STAGE_TOKEN + BLOCK_REASONING, 0, 0, "{\"reasoning_content\":\" "},
        {VOICE_CHAT, STAGE_TOKEN + BLOCK_REFUSAL, 0, 0, "\"delta\":{\"refusal\":\" "},
        {VOICE_CHAT, STAGE_CALL_NAME, 0, 0, "\"name\":\"lookup\",\"arguments\":\"\""},
        {VOICE_CHAT, STAGE_FINISH, 0, 0, "\"finish_reason\":\"stop\""},
        {VOICE_CHAT, STAGE_USAGE, 0, 1, "\"choices\":[],\"usage\":{\"prompt_tokens\":90,"},
        {VOICE_CHAT, STAGE_DONE, 0, 0, "data: [DONE]\n\n"},
        {VOICE_CHAT, STAGE_ERROR, 0, 0, "data: {\"error\":{"},
        {VOICE_COMPLETIONS, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "{\"index\":7,\"text\":\" "},
        {VOICE_COMPLETIONS, STAGE_FINISH, 0, 0, "\"text\":\"\",\"logprobs\":null,"},
        {VOICE_RESPONSES, STAGE_PRELUDE, 0, 0, "event: response.created\ndata: {"},
        {VOICE_RESPONSES, STAGE_PRELUDE, 1, 0, "\"status\":\"in_progress\""},
        {VOICE_RESPONSES, STAGE_OPEN + BLOCK_TEXT, 0, 0, "\"type\":\"message\""},
        {VOICE_RESPONSES, STAGE_OPEN + BLOCK_REASONING, 0, 0, "\"type\":\"reasoning\""},
        {VOICE_RESPONSES, STAGE_TOKEN + BLOCK_TEXT, 0, 0,
         "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":0,"},
        {VOICE_RESPONSES, STAGE_TOKEN + BLOCK_REFUSAL, 0, 0, "\"delta\":\" "},
        {VOICE_RESPONSES, STAGE_CALL_NAME, 0, 0, "\"name\":\"lookup\",\"arguments\":\"\""},
        {VOICE_RESPONSES, STAGE_DONE, 0, 1, "\"output_tokens\":30,"},
        {VOICE_RESPONSES, STAGE_DONE, 0, 0, "\"usage\":null"},
        {VOICE_RESPONSES, STAGE_ERROR, 1, 0, "event: response.failed\n"},
        {VOICE_MESSAGES, STAGE_PRELUDE, 0, 1, "\"input_tokens\":50,"},
        {VOICE_MESSAGES, STAGE_PRELUDE, 0, 1, "\"cache_read_input_tokens\":40,\"output_tokens\":1"},
        {VOICE_MESSAGES, STAGE_COMMENT, 0, 0, "event: ping\ndata: {\"type\":\"ping\"}\n\n"},
        {VOICE_MESSAGES, STAGE_OPEN + BLOCK_TEXT, 0, 0, "\"index\":0,\"content_block\":{"},
        {VOICE_MESSAGES, STAGE_TOKEN + BLOCK_REASONING, 0, 0, "\"thinking\":\" "},
        {VOICE_MESSAGES, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "{\"type\":\"text_delta\",\"text\":\" "},
        {VOICE_MESSAGES, STAGE_CLOSE + BLOCK_REASONING, 0, 0, "signature_delta"},
        {VOICE_MESSAGES, STAGE_CLOSE + BLOCK_REASONING, 1, 0, "content_block_stop"},
        {VOICE_MESSAGES, STAGE_FINISH, 0, 1, "\"output_tokens\":30,"},
        {VOICE_MESSAGES, STAGE_FINISH, 0, 0, "\"stop_reason\":\"end_turn\""},
        {VOICE_MESSAGES, STAGE_ERROR, 0, 0, "event: error\ndata: {\"type\":\"error\","},
        {VOICE_OLLAMA_CHAT, STAGE_TOKEN + BLOCK_TEXT, 0, 0,
         "\"message\":{\"role\":\"assistant\",\"content\":\" "},
        {VOICE_OLLAMA_CHAT, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "\"done\":false}\n"},
        {VOICE_OLLAMA_CHAT, STAGE_CALL_NAME, 0, 0, "\"arguments\":{\"query\":\" "},
        {VOICE_OLLAMA_CHAT, STAGE_DONE, 0, 1, "\"total_duration\":9000000,\"load_duration\":1500"},
        {VOICE_OLLAMA_CHAT, STAGE_DONE, 0, 1, "\"eval_count\":30,\"eval_duration\":5800000}\n"},
        {VOICE_OLLAMA_CHAT, STAGE_DONE, 0, 0, "\"load_duration\":1500000}\n"},
        {VOICE_OLLAMA_GENERATE, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "\"response\":\" "},
        {VOICE_OLLAMA_GENERATE, STAGE_TOKEN + BLOCK_REASONING, 0, 0, "\"thinking\":\" "},
        {VOICE_OLLAMA_GENERATE, STAGE_ERROR, 0, 0, "{\"error\":\""},
        {VOICE_GEMINI_SSE, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "data: {\"candidates\":[{"},
        {VOICE_GEMINI_SSE, STAGE_TOKEN + BLOCK_REASONING, 0, 0, "\"thought\":true"},
        {VOICE_GEMINI_SSE, STAGE_FINISH, 0, 1,
         "\"candidatesTokenCount\":20,\"thoughtsTokenCount\""
         ":10,\"totalTokenCount\":120}"},
        {VOICE_GEMINI_SSE, STAGE_CALL_NAME, 0, 0, "\"functionCall\":{\"name\":\"lookup\""},
        {VOICE_GEMINI_ARRAY, STAGE_TOKEN + BLOCK_TEXT, 0, 0, "[{\"candidates\":[{"},
        {VOICE_GEMINI_ARRAY, STAGE_DONE, 0, 0, "]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct speech *s = speech(rows[i].voice, false);
        struct chunk c;
        struct span text;

        s->choice = 7;
        s->has_usage = rows[i].has_usage;
        assert_int_equal(speech_event(s, rows[i].stage, rows[i].event, &c), 0);
        text = joined(&c);
        assert_row(rows[i].holds, strstr(text.p, rows[i].holds) != NULL);
    }
}

static void test_whole_answers(void **state)
{
    static const struct {
        enum voice_id voice;
        enum voice_block block;
        const char *holds;
    } rows[] = {
        {VOICE_CHAT, BLOCK_TEXT, "\"reasoning_content\":\" "},
        {VOICE_CHAT, BLOCK_CALL, "\"arguments\":\"{\\\"query\\\":\\\" "},
        {VOICE_CHAT, BLOCK_REFUSAL, "\"content\":null,\"refusal\":\" "},
        {VOICE_COMPLETIONS, BLOCK_CALL, "\"text\":\" "},
        {VOICE_EMBEDDINGS, BLOCK_TEXT, "\"object\":\"embedding\",\"index\":0"},
        {VOICE_RESPONSES, BLOCK_TEXT, "\"status\":\"completed\""},
        {VOICE_RESPONSES, BLOCK_REFUSAL, "{\"type\":\"refusal\",\"refusal\":\" "},
        {VOICE_RESPONSES, BLOCK_CALL, "\"type\":\"function_call\""},
        {VOICE_MESSAGES, BLOCK_TEXT, "{\"type\":\"thinking\",\"thinking\":\" "},
        {VOICE_MESSAGES, BLOCK_CALL, "\"input\":{\"query\":\" "},
        {VOICE_COUNT_TOKENS, BLOCK_TEXT, "{\"input_tokens\":90}"},
        {VOICE_OLLAMA_CHAT, BLOCK_TEXT, "\"thinking\":\" "},
        {VOICE_OLLAMA_CHAT, BLOCK_CALL, "\"tool_calls\":[{"},
        {VOICE_OLLAMA_GENERATE, BLOCK_CALL, "\"response\":\" "},
        {VOICE_OLLAMA_EMBED, BLOCK_TEXT, "\"embeddings\":[["},
        {VOICE_GEMINI_ARRAY, BLOCK_TEXT, "{\"candidates\":[{\"content\""},
        {VOICE_GEMINI_SSE, BLOCK_CALL, "\"functionCall\""},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct speech *s = speech(rows[i / 2].voice, false);
        struct buf out;

        buf_init(&out, MIB);
        s->block = rows[i / 2].block;
        s->has_usage = i % 2 == 0;
        s->times = STAGE_TIMES_LLAMACPP;
        assert_int_equal(
            speech_whole(s, s->voice->max_choices < 3 ? s->voice->max_choices : 3, &out), 0);
        assert_json(s->voice->name, buf_span(&out));
        assert_row(rows[i / 2].holds,
                   span_find(buf_span(&out), span_cstr(rows[i / 2].holds)) < buf_len(&out));
        buf_done(&out);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        enum voice_id voice;
        int status;
        const char *expect;
    } rows[] = {
        {VOICE_CHAT, 404,
         "{\"error\":{\"message\":\"no \\\"x\\\"; look\",\"type\":"
         "\"invalid_request_error\",\"param\":null,\"code\":404}}"},
        {VOICE_RESPONSES, 503,
         "{\"error\":{\"message\":\"no \\\"x\\\"; look\",\"type\":"
         "\"server_error\",\"param\":null,\"code\":null}}"},
        {VOICE_MESSAGES, 529,
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
         "\"message\":\"no \\\"x\\\"; look\"},\"request_id\":"
         "\"req_simulated0\"}"},
        {VOICE_OLLAMA_CHAT, 500, "{\"error\":\"no \\\"x\\\"; look\"}"},
        {VOICE_GEMINI_ARRAY, 429,
         "{\"error\":{\"code\":429,\"message\":\"no \\\"x\\\"; look\","
         "\"status\":\"RESOURCE_EXHAUSTED\"}}"},
        {VOICE_GEMINI_SSE, 418,
         "{\"error\":{\"code\":418,\"message\":\"no \\\"x\\\"; look\","
         "\"status\":\"INVALID_ARGUMENT\"}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, MIB);
        assert_int_equal(
            speech_refuse(&voices->of[rows[i].voice], rows[i].status, "no \"x\"", "look", &out), 0);
        assert_span_equal(rows[i].expect, buf_span(&out), span_cstr(rows[i].expect));
        buf_done(&out);
    }
}

/* Arguments in pieces are the whole ones. */
static void test_arguments(void **state)
{
    struct speech *s = speech(VOICE_MESSAGES, false);
    struct chunk c;
    (void)state;
    speech_set_args(s, 11, 1, true, false);
    assert_int_equal(speech_event(s, STAGE_TOKEN + BLOCK_CALL, 0, &c), 0);
    assert_non_null(strstr(joined(&c).p, "\"partial_json\":\"{\\\"query\\\":\\\" "));
    speech_set_args(s, 12, 1, false, false);
    assert_int_equal(speech_event(s, STAGE_TOKEN + BLOCK_CALL, 0, &c), 0);
    assert_non_null(strstr(joined(&c).p, "\"partial_json\":\" "));
    speech_set_args(s, 13, 1, false, true);
    assert_int_equal(speech_event(s, STAGE_TOKEN + BLOCK_CALL, 0, &c), 0);
    assert_non_null(strstr(joined(&c).p, "\\\"}\"}}"));
}

/* What the engine tells of its own time. */
static void test_times(void **state)
{
    struct speech *s = speech(VOICE_CHAT, false);
    struct chunk c;
    (void)state;
    s->has_usage = true;
    s->times = STAGE_TIMES_VLLM;
    assert_int_equal(speech_event(s, STAGE_USAGE, 0, &c), 0);
    assert_non_null(strstr(joined(&c).p, "},\"metrics\":{\"queue_time_ms\":1.5,"
                                         "\"time_to_first_token_ms\":2,\"generation_time_ms\":5.8,"
                                         "\"mean_itl_ms\":0.2}}\n\n"));
    s->times = STAGE_TIMES_LLAMACPP;
    assert_int_equal(speech_event(s, STAGE_USAGE, 0, &c), 0);
    assert_non_null(strstr(joined(&c).p, "\"timings\":{\"cache_n\":40,\"prompt_n\":50,\"prompt_ms\""
                                         ":2,\"prompt_per_token_ms\":0.04,\"prompt_per_second\":"
                                         "25000,\"predicted_n\":30,\"predicted_ms\":5.8,"));
    s->has_usage = false;
    assert_int_equal(speech_event(s, STAGE_USAGE, 0, &c), 0);
    assert_null(strstr(joined(&c).p, "timings"));
}

/* The longest that can be named, the largest numbers. */
static void test_extremes_fit(void **state)
{
    char model[ASK_MODEL_MAX - 1];
    struct speech_head head = {.id = SPAN("0123456789012345678901234567890123456789"),
                               .model = span_of(model, sizeof(model)),
                               .created_s = INT64_MAX,
                               .is_crlf = true};
    (void)state;
    memset(model, 'm', sizeof(model));
    for (int voice = 0; voice < VOICE_COUNT_; voice++) {
        struct speech s;
        struct chunk c;
        assert_int_equal(speech_init(&s, &voices->of[voice], &words, &scratch, &head), 0);
        speech_set_usage(
            &s, (struct speech_usage){.prompt = INT64_MAX / 2, .completion = INT64_MAX / 2});
        s.choice = INT64_MAX;
        s._sequence = s._block = INT64_MAX - 9;
        s.has_usage = true;
        for (int b = 0; b < BLOCK_COUNT_; b++) {
            if (speech_n_events(&s, STAGE_TOKEN + b) > 0)
                assert_int_equal(speech_event(&s, STAGE_TOKEN + b, 0, &c), 0);
        }
    }
}

/* What is rendered per token must not allocate. */
static void test_no_allocation(void **state)
{
    (void)state;
    for (int voice = 0; voice < VOICE_COUNT_; voice++) {
        struct speech *s = speech((enum voice_id)voice, false);
        uint64_t before = mem_count_total().n_allocs;
        struct chunk c;

        for (int64_t i = 0; i < 2000 && s->voice->has_output; i++) {
            s->has_usage = voice == VOICE_CHAT && i % 2 == 1;
            speech_set_text(s, i, 1 + i % 64);
            assert_int_equal(speech_event(s, STAGE_TOKEN + BLOCK_TEXT, 0, &c), 0);
        }
        assert_int_equal(mem_count_total().n_allocs, before);
    }
}

/* Any run of tokens is the same words, in however many events. */
static void test_words_run_on(void **state)
{
    static char one[64 * 1024], other[64 * 1024];
    size_t n_one = 0, n_other = 0;
    (void)state;
    for (int64_t i = 0; i < 3000; i++) {
        struct span w = words_get(&words, i, 1);
        memcpy(one + n_one, w.p, w.n);
        n_one += w.n;
    }
    for (int64_t i = 0; i < 3000; i += 60) {
        struct span w = words_get(&words, i, 60);
        memcpy(other + n_other, w.p, w.n);
        n_other += w.n;
    }
    assert_span_equal("words", span_of(one, n_one), span_of(other, n_other));
    assert_true(words_get(&words, 12345, WORDS_MAX + 1).n > WORDS_MAX);
}

static void test_out_of_memory(void **state)
{
    struct voices *v = NULL;
    (void)state;
    mem_fail_from(1);
    assert_true(voices_new(&v) < 0);
    mem_fail_from(2);
    assert_true(voices_new(&v) < 0);
    mem_fail_off();
    assert_null(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_stages),    cmocka_unit_test(test_events_hold),
        cmocka_unit_test(test_whole_answers), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_arguments),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_extremes_fit),  cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_words_run_on),  cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("sim/speech", tests, setup, teardown);
}
