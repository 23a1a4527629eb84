/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/registry: paths with and without prefixes, methods, ids; the tables are whole. What holds
 * for the refusals of every dialect.
 */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "dialect/dialect.h"
#include "memfail.h"

static const struct {
    const char *method;
    const char *target;
    const char *label;
    const char *dialect; /* NULL: none */
} routes[] = {
    {"POST", "/v1/chat/completions", "chat_completions", "openai-chat"},
    {"POST", "/chat/completions", "chat_completions", "openai-chat"},
    {"POST", "/openai/v1/chat/completions", "chat_completions", "openai-chat"},
    {"POST", "/api/v1/chat/completions", "chat_completions", "openai-chat"},
    {"POST", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
     "chat_completions", "openai-chat"},
    {"POST", "http://host:8000/v1/chat/completions", "chat_completions", "openai-chat"},
    {"POST", "/v1/chat/completions/", "chat_completions", "openai-chat"},
    {"GET", "/v1/chat/completions", "other", NULL},
    {"POST", "/v1/completions", "completions", "openai-completions"},
    {"POST", "/completions", "completions", "openai-completions"},
    {"POST", "/v1/mycompletions", "other", NULL},
    {"POST", "/v1/embeddings", "embeddings", "openai-embeddings"},
    {"POST", "/v1/responses", "responses", "openai-responses"},
    {"POST", "/openai/responses?api-version=2025-04-01-preview", "responses", "openai-responses"},
    {"GET", "/v1/responses/resp_1", "other", NULL},
    {"POST", "/v1/responses/resp_1/cancel", "other", NULL},
    {"POST", "/v1/messages", "messages", "anthropic"},
    {"POST", "/v1/messages/count_tokens", "count_tokens", "anthropic-count-tokens"},
    {"POST", "/api/chat", "ollama_chat", "ollama"},
    {"POST", "/ollama/api/chat", "ollama_chat", "ollama"},
    {"POST", "/api/generate", "ollama_generate", "ollama"},
    {"POST", "/api/embed", "ollama_embed", "ollama-embed"},
    {"POST", "/v1beta/models/gemini-2.0:streamGenerateContent?alt=sse", "stream_generate_content",
     "gemini"},
    {"POST", "/v1beta/models/gemini-2.0:generateContent?key=k:generateContent", "generate_content",
     "gemini"},
    {"POST",
     "/v1/projects/p/locations/l/publishers/google/models/gemini-2.0:streamGenerateContent/",
     "stream_generate_content", "gemini"},
    {"POST", "https://host/v1internal:generateContent", "generate_content", "gemini"},
    {"POST", "/v1beta/models/gemini-2.0:countTokens", "other", NULL},
    {"POST", "/v1beta/models/gemini-2.0:xgenerateContent", "other", NULL},
    {"GET", "/v1beta/models/gemini-2.0", "models", NULL},
    {"GET", "/v1/models", "models", NULL},
    {"GET", "/v1/models/gpt-4o", "models", NULL},
    {"GET", "/models", "models", NULL},
    {"POST", "/v1/models", "other", NULL},
    {"GET", "/health", "health", NULL},
    {"HEAD", "/healthz", "health", NULL},
    {"GET", "/", "other", NULL},
    {"OPTIONS", "*", "other", NULL},
    {"POST", "", "other", NULL},
    {"POST", "?a/v1/completions", "other", NULL},
    {"POST", "https://host", "other", NULL},
};

static void routes_match_from_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        const struct dialect_endpoint *e =
            dialect_endpoint(span_cstr(routes[i].method), span_cstr(routes[i].target));
        if (strcmp(e->label, routes[i].label) != 0)
            fail_msg("%s %s: %s, not %s", routes[i].method, routes[i].target, e->label,
                     routes[i].label);
        assert_row(routes[i].target, (e->dialect != NULL) == (routes[i].dialect != NULL));
        if (e->dialect)
            assert_string_equal(e->dialect->name, routes[i].dialect);
    }
}

static void tables_are_whole(void **state)
{
    (void)state;
    const struct dialect_endpoint *e;
    const char *last = "";
    for (size_t i = 0; (e = dialect_endpoint_at(i)) != NULL; i++) {
        assert_non_null(e->label);
        last = e->label;
    }
    assert_string_equal(last, "other");
    const struct dialect *d;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        assert_ptr_equal(dialect_by_name(span_cstr(d->name)), d);
        assert_non_null(d->inspect);
        assert_non_null(d->event);
        assert_non_null(d->answer);
        assert_non_null(d->is_ended);
        assert_non_null(d->refusal_body);
        assert_true(d->can_include_usage == (d->add_include_usage != NULL));
        assert_true(d->can_include_usage == (d->is_bare_usage != NULL));
        assert_true(d->can_include_usage == (d->may_be_bare_usage != NULL));
    }
    assert_null(dialect_by_name(SPAN("openai")));
    assert_null(dialect_by_name(SPAN("")));
}

static void refusals_that_do_not_fit_leave_nothing(void **state)
{
    (void)state;
    const struct dialect *d;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        struct buf b;
        buf_init(&b, 10);
        assert_int_equal(buf_append(&b, SPAN("before")), 0);
        assert_row(d->name, d->refusal_body(REFUSAL_INTERNAL, "x", &b) == -EMSGSIZE);
        assert_span_equal(d->name, buf_span(&b), SPAN("before"));
        buf_done(&b);
    }
}

static int try_refusal(void *ctx)
{
    const struct dialect *const *d = ctx;
    struct buf b;
    buf_init(&b, 4096);
    int r = (*d)->refusal_body(REFUSAL_INTERNAL, NULL, &b);
    buf_done(&b);
    return r;
}

static void refusals_without_memory(void **state)
{
    (void)state;
    const struct dialect *d;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++)
        assert_row(d->name, memfail_each(try_refusal, &d) > 0);
}

static void paths_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *prefix;
        bool is_lookup;
    } rows[] = {
        {"POST", "/v1/chat/completions", "/v1", false},
        {"POST", "/chat/completions?x=/v1", "", false},
        {"POST", "/openai/deployments/d/chat/completions", "/openai/deployments/d", false},
        {"POST", "/v1beta/models/m:generateContent", "/v1beta/models/m", false},
        {"GET", "/v1/models", "/v1", true},
        {"GET", "/v1/models/a", "/v1", true},
        {"GET", "/api/tags", "", true},
        {"GET", "/x/health", "/x", true},
        {"GET", "/metrics", "", false},
        {"POST", "/v1/whatever", "", false},
        {"POST", "http://h/v1/embeddings", "/v1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span prefix;
        struct span method = span_cstr(rows[i].method);
        struct span target = span_cstr(rows[i].target);
        const struct dialect_endpoint *e = dialect_endpoint_split(method, target, &prefix);
        assert_row(rows[i].target, e == dialect_endpoint(method, target));
        assert_row(rows[i].target, e->is_lookup == rows[i].is_lookup);
        assert_span_equal(rows[i].target, prefix, span_cstr(rows[i].prefix));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_match_from_the_end),
        cmocka_unit_test(tables_are_whole),
        cmocka_unit_test(refusals_that_do_not_fit_leave_nothing),
        cmocka_unit_test(refusals_without_memory),
        cmocka_unit_test(paths_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
