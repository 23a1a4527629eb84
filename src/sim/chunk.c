/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chunk.h"

#include <stdio.h>

#include "base/check.h"
#include "base/num.h"

static void add(struct chunk *c, struct span part)
{
    if (ALWAYS(c->n < CHUNK_PARTS_MAX))
        c->parts[c->n++] = part;
}

static void begin(struct chunk *c)
{
    c->n = 0;
    c->_n_scratch = 0;
}

static void add_number(struct chunk *c, int64_t v)
{
    char *at = c->_scratch + c->_n_scratch;
    size_t n = num_format_i64(v, at);

    c->_n_scratch += n;
    add(c, span_of(at, n));
}

static void add_end_of_event(struct chunk *c, const struct chunk_style *s)
{
    add(c, s->is_crlf ? SPAN("\r\n\r\n") : SPAN("\n\n"));
}

/* The end of the choices array, usage, and of the event. */
static void end(struct chunk *c, const struct chunk_style *s, const struct chunk_usage *usage)
{
    if (usage) {
        char *at = c->_scratch + c->_n_scratch;
        size_t n = chunk_usage_format(usage, at);

        c->_n_scratch += n;
        add(c, SPAN("],\"usage\":"));
        add(c, span_of(at, n));
        add(c, s->is_crlf ? SPAN("}\r\n\r\n") : SPAN("}\n\n"));
    } else if (s->has_null_usage) {
        add(c, s->is_crlf ? SPAN("],\"usage\":null}\r\n\r\n") : SPAN("],\"usage\":null}\n\n"));
    } else {
        add(c, s->is_crlf ? SPAN("]}\r\n\r\n") : SPAN("]}\n\n"));
    }
}

static void begin_choice(struct chunk *c, const struct chunk_style *s, int64_t choice)
{
    begin(c);
    add(c, span_of(s->prefix, s->n_prefix));
    add(c, SPAN("{\"index\":"));
    add_number(c, choice);
}

void chunk_style_init(struct chunk_style *s, bool is_chat, struct span id, int64_t created_s,
                      struct span model)
{
    int id_bytes = id.n < 32 ? (int)id.n : 32;
    int model_bytes = model.n < 128 ? (int)model.n : 128;
    int n;

    *s = (struct chunk_style){.is_chat = is_chat};
    n = snprintf(s->prefix, sizeof(s->prefix),
                 "data: {\"id\":\"%s-%.*s\",\"object\":\"%s\",\"created\":%lld,\"model\":\"%.*s\","
                 "\"service_tier\":\"default\",\"system_fingerprint\":\"fp_simulated0\","
                 "\"choices\":[",
                 is_chat ? "chatcmpl" : "cmpl", id_bytes, id.p,
                 is_chat ? "chat.completion.chunk" : "text_completion", (long long)created_s,
                 model_bytes, model.p);
    s->n_prefix = ALWAYS(n > 0 && (size_t)n < sizeof(s->prefix)) ? (size_t)n : 0;
}

size_t chunk_usage_format(const struct chunk_usage *u, char *dst)
{
    int n = snprintf(dst, CHUNK_SCRATCH_MAX - 64,
                     "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
                     "\"prompt_tokens_details\":{\"cached_tokens\":%lld},"
                     "\"completion_tokens_details\":{\"reasoning_tokens\":%lld}}",
                     (long long)u->prompt, (long long)u->completion,
                     (long long)(u->prompt + u->completion), (long long)u->cached,
                     (long long)u->reasoning);

    return n > 0 ? (size_t)n : 0;
}

void chunk_role(struct chunk *c, const struct chunk_style *s, int64_t choice)
{
    begin_choice(c, s, choice);
    add(c, SPAN(",\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},"
                "\"logprobs\":null,\"finish_reason\":null}"));
    end(c, s, NULL);
}

void chunk_text(struct chunk *c, const struct chunk_style *s, int64_t choice,
                enum chunk_field field, struct span text, const struct chunk_usage *usage)
{
    begin_choice(c, s, choice);
    if (!s->is_chat) {
        add(c, SPAN(",\"text\":\""));
        add(c, text);
        add(c, SPAN("\",\"logprobs\":null,\"finish_reason\":null}"));
    } else {
        if (field == CHUNK_CONTENT)
            add(c, SPAN(",\"delta\":{\"content\":\""));
        else if (field == CHUNK_REASONING)
            add(c, SPAN(",\"delta\":{\"reasoning_content\":\""));
        else
            add(c, SPAN(",\"delta\":{\"refusal\":\""));
        add(c, text);
        add(c, SPAN("\"},\"logprobs\":null,\"finish_reason\":null}"));
    }
    end(c, s, usage);
}

void chunk_tool_name(struct chunk *c, const struct chunk_style *s, int64_t choice,
                     const struct chunk_usage *usage)
{
    begin_choice(c, s, choice);
    add(c, SPAN(",\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_simulated0\","
                "\"type\":\"function\",\"function\":{\"name\":\"lookup\",\"arguments\":\"\"}}]},"
                "\"logprobs\":null,\"finish_reason\":null}"));
    end(c, s, usage);
}

void chunk_tool_args(struct chunk *c, const struct chunk_style *s, int64_t choice, struct span text,
                     bool is_first, bool is_last, const struct chunk_usage *usage)
{
    begin_choice(c, s, choice);
    add(c, is_first
               ? SPAN(",\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\""
                      "{\\\"query\\\":\\\"")
               : SPAN(",\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\""));
    add(c, text);
    add(c, is_last ? SPAN("\\\"}\"}}]},\"logprobs\":null,\"finish_reason\":null}")
                   : SPAN("\"}}]},\"logprobs\":null,\"finish_reason\":null}"));
    end(c, s, usage);
}

void chunk_finish(struct chunk *c, const struct chunk_style *s, int64_t choice, const char *reason)
{
    begin_choice(c, s, choice);
    if (s->is_chat)
        add(c, SPAN(",\"delta\":{},\"logprobs\":null,\"finish_reason\":\""));
    else
        add(c, SPAN(",\"text\":\"\",\"logprobs\":null,\"finish_reason\":\""));
    add(c, span_cstr(reason));
    add(c, SPAN("\"}"));
    end(c, s, NULL);
}

void chunk_bare_usage(struct chunk *c, const struct chunk_style *s, const struct chunk_usage *usage)
{
    begin(c);
    add(c, span_of(s->prefix, s->n_prefix));
    end(c, s, usage);
}

void chunk_done(struct chunk *c, const struct chunk_style *s)
{
    begin(c);
    add(c, SPAN("data: [DONE]"));
    add_end_of_event(c, s);
}

void chunk_error(struct chunk *c, const struct chunk_style *s)
{
    begin(c);
    add(c, SPAN("data: {\"error\":{\"message\":\"simulated engine failure\","
                "\"type\":\"server_error\",\"param\":null,\"code\":500}}"));
    add_end_of_event(c, s);
}

void chunk_comment(struct chunk *c, const struct chunk_style *s)
{
    begin(c);
    add(c, SPAN(": keep-alive"));
    add_end_of_event(c, s);
}
