/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/completion.h"

#include <stdio.h>

#include "base/jsonw.h"
#include "sim/ask.h"

/* Words first..end as a JSON string. They need no escapes, so the text is taken as it is. */
static void write_words(const struct completion *c, struct jsonw *w, const char *key, int64_t first,
                        int64_t end)
{
    struct buf *b = c->scratch;
    int r;

    buf_clear(b);
    r = buf_append(b, SPAN("\""));
    for (int64_t i = first; i < end && r == 0; i += WORDS_MAX) {
        int64_t n = end - i < WORDS_MAX ? end - i : WORDS_MAX;
        r = buf_append(b, words_get(c->words, i, n));
    }
    if (r == 0)
        r = buf_append(b, SPAN("\""));
    jsonw_key(w, key);
    if (r == 0)
        jsonw_raw(w, buf_span(b));
    else
        jsonw_null(w);
}

static void write_message(const struct completion *c, struct jsonw *w)
{
    jsonw_key(w, "message");
    jsonw_begin_object(w);
    jsonw_key(w, "role");
    jsonw_cstr(w, "assistant");
    if (c->n_reasoning > 0)
        write_words(c, w, "reasoning_content", 0, c->n_reasoning);
    if (c->is_tool_call) {
        jsonw_key(w, "content");
        jsonw_null(w);
        jsonw_key(w, "tool_calls");
        jsonw_raw(w, SPAN("[{\"id\":\"call_simulated0\",\"type\":\"function\",\"function\":"
                          "{\"name\":\"lookup\",\"arguments\":"
                          "\"{\\\"query\\\":\\\"x\\\"}\"}}]"));
    } else if (c->is_refusal) {
        jsonw_key(w, "content");
        jsonw_null(w);
        write_words(c, w, "refusal", c->n_reasoning, c->n_tokens);
    } else {
        write_words(c, w, "content", c->n_reasoning, c->n_tokens);
    }
    jsonw_end_object(w);
}

static void write_choice(const struct completion *c, struct jsonw *w, int64_t choice)
{
    jsonw_begin_object(w);
    jsonw_key(w, "index");
    jsonw_i64(w, choice);
    if (c->is_chat)
        write_message(c, w);
    else
        write_words(c, w, "text", 0, c->n_tokens);
    jsonw_key(w, "logprobs");
    jsonw_null(w);
    jsonw_key(w, "finish_reason");
    jsonw_cstr(w, c->finish_reason);
    jsonw_end_object(w);
}

/* The name came escaped out of the request and goes back like that. */
static void write_model(const struct completion *c, struct jsonw *w)
{
    char text[ASK_MODEL_MAX + 2];
    int n = snprintf(text, sizeof(text), "\"%.*s\"", ASK_MODEL_MAX - 1, c->model);

    jsonw_key(w, "model");
    jsonw_raw(w, span_of(text, (size_t)n));
}

int completion_render(const struct completion *c, struct buf *out)
{
    char usage[CHUNK_SCRATCH_MAX];
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "id");
    jsonw_cstr(&w, c->id);
    jsonw_key(&w, "object");
    jsonw_cstr(&w, c->is_chat ? "chat.completion" : "text_completion");
    jsonw_key(&w, "created");
    jsonw_i64(&w, c->created_s);
    write_model(c, &w);
    jsonw_key(&w, "choices");
    jsonw_begin_array(&w);
    for (int64_t choice = 0; choice < c->n_choices; choice++)
        write_choice(c, &w, choice);
    jsonw_end_array(&w);
    if (c->usage) {
        jsonw_key(&w, "usage");
        jsonw_raw(&w, span_of(usage, chunk_usage_format(c->usage, usage)));
    }
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

int completion_render_error(struct buf *out, int status, const char *message, const char *hint)
{
    struct jsonw w;
    char text[800];

    (void)snprintf(text, sizeof(text), "%s%s%s", message, hint[0] != '\0' ? "; " : "", hint);
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_key(&w, "message");
    jsonw_cstr(&w, text);
    jsonw_key(&w, "type");
    jsonw_cstr(&w, status >= 500   ? "server_error"
                   : status == 429 ? "rate_limit_error"
                                   : "invalid_request_error");
    jsonw_key(&w, "param");
    jsonw_null(&w);
    jsonw_key(&w, "code");
    jsonw_i64(&w, status);
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}
