/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/registry.c - which dialects there are, and which path speaks which.
 *
 * Paths are matched from their end: gateways and clouds put anything in front (/v1, /openai/v1,
 * /openai/deployments/NAME), and what follows the last known segment is an id.
 */
#include "dialect/anthropic.h"
#include "dialect/dialect.h"
#include "dialect/gemini.h"
#include "dialect/ollama.h"
#include "dialect/openai_common.h"

static const struct dialect *const dialects[] = {
    &dialect_openai_chat,      &dialect_openai_completions, &dialect_openai_embeddings,
    &dialect_openai_responses, &dialect_anthropic,          &dialect_anthropic_count_tokens,
    &dialect_ollama,           &dialect_ollama_embed,       &dialect_gemini,
};

const struct dialect *dialect_at(size_t i)
{
    return i < ARRAY_LEN(dialects) ? dialects[i] : NULL;
}

const struct dialect *dialect_by_name(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        if (span_eq(span_cstr(dialects[i]->name), name))
            return dialects[i];
    }
    return NULL;
}

bool dialect_is_stream(const struct dialect *d, struct span media_type, bool is_stream_asked,
                       enum framing *ret)
{
    static const struct {
        struct span type;
        enum framing framing;
    } types[] = {
        {SPAN_INIT("text/event-stream"), FRAMING_SSE},
        {SPAN_INIT("application/x-ndjson"), FRAMING_NDJSON},
        {SPAN_INIT("application/ndjson"), FRAMING_NDJSON},
        {SPAN_INIT("application/jsonl"), FRAMING_NDJSON},
    };
    *ret = d->framing;
    if (!d->is_generating)
        return false; /* has no streams, whatever an answer calls itself */
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (span_eq_nocase(media_type, types[i].type)) {
            *ret = types[i].framing;
            return true;
        }
    }
    /* Some servers stream without saying so; JSON is what array and lines may be called, too. */
    bool is_json = span_eq_nocase(media_type, SPAN("application/json"));
    return is_stream_asked && (media_type.n == 0 || (is_json && d->framing != FRAMING_SSE));
}

enum endpoint {
    ENDPOINT_CHAT_COMPLETIONS,
    ENDPOINT_COMPLETIONS,
    ENDPOINT_EMBEDDINGS,
    ENDPOINT_RESPONSES,
    ENDPOINT_COUNT_TOKENS,
    ENDPOINT_MESSAGES,
    ENDPOINT_OLLAMA_CHAT,
    ENDPOINT_OLLAMA_GENERATE,
    ENDPOINT_OLLAMA_EMBED,
    ENDPOINT_GENERATE_CONTENT,
    ENDPOINT_STREAM_GENERATE_CONTENT,
    ENDPOINT_RERANK,
    ENDPOINT_MODERATIONS,
    ENDPOINT_TRANSCRIPTIONS,
    ENDPOINT_SPEECH,
    ENDPOINT_IMAGES,
    ENDPOINT_TOKENIZE,
    ENDPOINT_MODELS,
    ENDPOINT_HEALTH,
    ENDPOINT_METRICS,
    ENDPOINT_OTHER,
    ENDPOINT_COUNT_,
};

static const struct dialect_endpoint endpoints[ENDPOINT_COUNT_] = {
    [ENDPOINT_CHAT_COMPLETIONS] = {.label = "chat_completions", .dialect = &dialect_openai_chat},
    [ENDPOINT_COMPLETIONS] = {.label = "completions", .dialect = &dialect_openai_completions},
    [ENDPOINT_EMBEDDINGS] = {.label = "embeddings", .dialect = &dialect_openai_embeddings},
    [ENDPOINT_RESPONSES] = {.label = "responses", .dialect = &dialect_openai_responses},
    [ENDPOINT_COUNT_TOKENS] = {.label = "count_tokens", .dialect = &dialect_anthropic_count_tokens},
    [ENDPOINT_MESSAGES] = {.label = "messages", .dialect = &dialect_anthropic},
    [ENDPOINT_OLLAMA_CHAT] = {.label = "ollama_chat", .dialect = &dialect_ollama},
    [ENDPOINT_OLLAMA_GENERATE] = {.label = "ollama_generate", .dialect = &dialect_ollama},
    [ENDPOINT_OLLAMA_EMBED] = {.label = "ollama_embed", .dialect = &dialect_ollama_embed},
    [ENDPOINT_GENERATE_CONTENT] = {.label = "generate_content", .dialect = &dialect_gemini},
    [ENDPOINT_STREAM_GENERATE_CONTENT] = {.label = "stream_generate_content",
                                          .dialect = &dialect_gemini},
    [ENDPOINT_RERANK] = {.label = "rerank"},
    [ENDPOINT_MODERATIONS] = {.label = "moderations"},
    [ENDPOINT_TRANSCRIPTIONS] = {.label = "audio_transcriptions"},
    [ENDPOINT_SPEECH] = {.label = "audio_speech"},
    [ENDPOINT_IMAGES] = {.label = "images"},
    [ENDPOINT_TOKENIZE] = {.label = "tokenize"},
    [ENDPOINT_MODELS] = {.label = "models", .is_lookup = true},
    [ENDPOINT_HEALTH] = {.label = "health", .is_lookup = true},
    [ENDPOINT_METRICS] = {.label = "metrics"},
    [ENDPOINT_OTHER] = {.label = "other"},
};

struct route {
    struct span suffix;
    const char *method; /* NULL: GET or HEAD */
    enum endpoint endpoint;
    bool may_have_id; /* one more segment may follow */
};

/* Longer suffixes stand before those that they end with. */
static const struct route routes[] = {
    {SPAN_INIT("/chat/completions"), "POST", ENDPOINT_CHAT_COMPLETIONS, false},
    {SPAN_INIT("/completions"), "POST", ENDPOINT_COMPLETIONS, false},
    {SPAN_INIT("/embeddings"), "POST", ENDPOINT_EMBEDDINGS, false},
    {SPAN_INIT("/responses"), "POST", ENDPOINT_RESPONSES, false},
    {SPAN_INIT("/messages/count_tokens"), "POST", ENDPOINT_COUNT_TOKENS, false},
    {SPAN_INIT("/v1/messages"), "POST", ENDPOINT_MESSAGES, false},
    {SPAN_INIT("/api/chat"), "POST", ENDPOINT_OLLAMA_CHAT, false},
    {SPAN_INIT("/api/generate"), "POST", ENDPOINT_OLLAMA_GENERATE, false},
    {SPAN_INIT("/api/embed"), "POST", ENDPOINT_OLLAMA_EMBED, false},
    {SPAN_INIT(":generateContent"), "POST", ENDPOINT_GENERATE_CONTENT, false},
    {SPAN_INIT(":streamGenerateContent"), "POST", ENDPOINT_STREAM_GENERATE_CONTENT, false},
    {SPAN_INIT("/rerank"), "POST", ENDPOINT_RERANK, false},
    {SPAN_INIT("/moderations"), "POST", ENDPOINT_MODERATIONS, false},
    {SPAN_INIT("/audio/transcriptions"), "POST", ENDPOINT_TRANSCRIPTIONS, false},
    {SPAN_INIT("/audio/speech"), "POST", ENDPOINT_SPEECH, false},
    {SPAN_INIT("/images/generations"), "POST", ENDPOINT_IMAGES, false},
    {SPAN_INIT("/tokenize"), "POST", ENDPOINT_TOKENIZE, false},
    {SPAN_INIT("/models"), NULL, ENDPOINT_MODELS, true},
    {SPAN_INIT("/api/tags"), NULL, ENDPOINT_MODELS, false},
    {SPAN_INIT("/health"), NULL, ENDPOINT_HEALTH, false},
    {SPAN_INIT("/healthz"), NULL, ENDPOINT_HEALTH, false},
    {SPAN_INIT("/ping"), NULL, ENDPOINT_HEALTH, false},
    {SPAN_INIT("/metrics"), NULL, ENDPOINT_METRICS, false},
};

/* The path of a request target: no query, no scheme and authority, no slash at its end. */
static struct span path_of(struct span target)
{
    struct span path = {target.p, span_find_char(target, '?')};
    if (path.n > 0 && path.p[0] != '/') {
        size_t authority = span_find(path, SPAN("://"));
        path = span_from(path, authority + 3);
        path = span_from(path, span_find_char(path, '/'));
    }
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

static struct span without_last_segment(struct span path)
{
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    return (struct span){path.p, path.n > 0 ? path.n - 1 : 0};
}

static bool is_method(const struct route *r, struct span method)
{
    if (r->method)
        return span_eq(method, span_cstr(r->method));
    return span_eq(method, SPAN("GET")) || span_eq(method, SPAN("HEAD"));
}

/* Whether the path is this route's; then *ret_prefix is what stands in front of it. */
static bool is_path(const struct route *r, struct span path, struct span *ret_prefix)
{
    struct span parent = without_last_segment(path);
    if (span_ends_with(path, r->suffix))
        *ret_prefix = (struct span){path.p, path.n - r->suffix.n};
    else if (r->may_have_id && span_ends_with(parent, r->suffix))
        *ret_prefix = (struct span){parent.p, parent.n - r->suffix.n};
    else
        return false;
    return true;
}

const struct dialect_endpoint *dialect_endpoint_split(struct span method, struct span target,
                                                      struct span *ret_prefix)
{
    struct span path = path_of(target);
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        const struct route *r = &routes[i];
        if (is_path(r, path, ret_prefix) && is_method(r, method))
            return &endpoints[r->endpoint];
    }
    *ret_prefix = (struct span){path.p, 0};
    return &endpoints[ENDPOINT_OTHER];
}

const struct dialect_endpoint *dialect_endpoint(struct span method, struct span target)
{
    struct span prefix;
    return dialect_endpoint_split(method, target, &prefix);
}

const struct dialect_endpoint *dialect_endpoint_at(size_t i)
{
    return i < ENDPOINT_COUNT_ ? &endpoints[i] : NULL;
}
