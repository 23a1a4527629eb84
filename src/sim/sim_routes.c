/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_routes.h"

#define ANSWER(path_, end_, query_, voice_, stream_)                                               \
    {                                                                                              \
        .path = (path_), .end = (end_), .methods = "POST", .query = (query_),                      \
        .handler = SIM_HANDLE_ANSWER, .voice = VOICE_##voice_, .stream = SIM_STREAM_##stream_      \
    }
#define GET(path_, handler_)                                                                       \
    {                                                                                              \
        .path = (path_), .methods = "GET", .handler = SIM_HANDLE_##handler_                        \
    }
#define PAGE(path_, end_, methods_, engines_, page_)                                               \
    {                                                                                              \
        .path = (path_), .end = (end_), .methods = (methods_), .handler = SIM_HANDLE_PAGE,         \
        .engines = SIM_ENGINES_##engines_, .page = SIM_PAGE_##page_                                \
    }

static const struct sim_route routes[] = {
    ANSWER("/v1/chat/completions", NULL, NULL, CHAT, IN_BODY),
    ANSWER("/v1/completions", NULL, NULL, COMPLETIONS, IN_BODY),
    ANSWER("/v1/embeddings", NULL, NULL, EMBEDDINGS, NEVER),
    ANSWER("/v1/responses", NULL, NULL, RESPONSES, IN_BODY),
    ANSWER("/v1/messages", NULL, NULL, MESSAGES, IN_BODY),
    ANSWER("/v1/messages/count_tokens", NULL, NULL, COUNT_TOKENS, NEVER),
    ANSWER("/api/chat", NULL, NULL, OLLAMA_CHAT, IN_BODY),
    ANSWER("/api/generate", NULL, NULL, OLLAMA_GENERATE, IN_BODY),
    ANSWER("/api/embed", NULL, NULL, OLLAMA_EMBED, NEVER),
    ANSWER("/v1beta/models/", ":generateContent", NULL, GEMINI_SSE, NEVER),
    ANSWER("/v1beta/models/", ":streamGenerateContent", "alt=sse", GEMINI_SSE, ALWAYS),
    ANSWER("/v1beta/models/", ":streamGenerateContent", NULL, GEMINI_ARRAY, ALWAYS),
    GET("/v1/models", MODELS),
    GET("/health", HEALTH),
    GET("/sim/truth", TRUTH),
    PAGE("/metrics", NULL, "GET", LIVE, METRICS),
    PAGE("/gpu/metrics", NULL, "GET", LIVE, GPU_METRICS),
    PAGE("/version", NULL, "GET", VLLM, VERSION),
    PAGE("/load", NULL, "GET", VLLM, LOAD),
    PAGE("/tokenize", NULL, "POST", VLLM, TOKENIZE),
    PAGE("/detokenize", NULL, "POST", VLLM, DETOKENIZE),
    PAGE("/get_server_info", NULL, "GET", SGLANG, SERVER_INFO),
    PAGE("/sim/faults", NULL, "GET|POST|DELETE", LIVE, FAULTS),
    PAGE("/sim/faults/", "", "DELETE", LIVE, FAULTS),
    {.handler = SIM_HANDLE_NONE},
};

const struct sim_route sim_route_play = ANSWER("", NULL, NULL, CHAT, IN_BODY);

static bool has_parameter(struct span query, const char *parameter)
{
    while (query.n > 0)
        if (span_eq(span_split(&query, '&'), span_cstr(parameter)))
            return true;
    return false;
}

static bool is_of(const struct sim_route *r, const struct sim_version *live)
{
    if (r->engines == SIM_ENGINES_ALL || !live)
        return r->engines == SIM_ENGINES_ALL;
    if (r->engines == SIM_ENGINES_LIVE)
        return true;
    return (r->engines == SIM_ENGINES_VLLM) == (live->kind == SIM_VLLM);
}

static bool route_is(const struct sim_route *r, struct span path, struct span query,
                     struct span *ret_name)
{
    struct span begin = span_cstr(r->path);
    struct span end = span_cstr(r->end);

    if (r->query && !has_parameter(query, r->query))
        return false;
    if (!r->end)
        return span_eq(path, begin);
    if (path.n <= begin.n + end.n || !span_starts_with(path, begin) ||
        !span_eq(span_from(path, path.n - end.n), end))
        return false;
    *ret_name = span_of(path.p + begin.n, path.n - begin.n - end.n);
    return true;
}

const struct sim_route *sim_route_find(const struct sim_version *live, struct span path,
                                       struct span query, struct span *ret_name)
{
    const struct sim_route *r = routes;

    while (r->path && !(is_of(r, live) && route_is(r, path, query, ret_name)))
        r++;
    return r;
}

bool sim_route_takes(const struct sim_route *r, struct span method)
{
    struct span left = span_cstr(r->methods);

    while (left.n > 0)
        if (span_eq(span_split(&left, '|'), method))
            return true;
    return false;
}
