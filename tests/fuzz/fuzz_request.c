/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_request: inspection of a whole body and of its first part, and the edit: its
 * result asks for usage, is JSON, and differs in nothing but the edit.
 */
#include "pieces.h"

#include "dialect/dialect.h"

static void check_edit(const struct dialect *d, struct span body, const struct dialect_edit *e)
{
    FUZZ_CHECK(e->at <= body.n && e->remove <= body.n - e->at);
    size_t n = body.n - e->remove + e->insert.n;
    char *edited = mem_must(mem_alloc(n));
    memcpy(edited, body.p, e->at);
    memcpy(edited + e->at, e->insert.p, e->insert.n);
    memcpy(edited + e->at + e->insert.n, body.p + e->at + e->remove, body.n - e->at - e->remove);

    struct dialect_request before;
    struct dialect_request after;
    struct dialect_edit again;
    d->inspect((struct span){0}, body, true, &before);
    d->inspect((struct span){0}, span_of(edited, n), true, &after);
    FUZZ_CHECK(after.is_json && after.is_stream && after.has_include_usage);
    FUZZ_CHECK(memcmp(before.model, after.model, sizeof(before.model)) == 0);
    FUZZ_CHECK(before.n == after.n && before.max_tokens == after.max_tokens);
    FUZZ_CHECK(before.prompt_bytes == after.prompt_bytes);
    FUZZ_CHECK(!d->add_include_usage(span_of(edited, n), &after, &again));
    mem_free(edited);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span body;
    struct dialect_request r;
    struct dialect_edit e;
    uint8_t choice = pieces_choice(data, size, &body);
    const struct dialect *d = dialect_by_name(SPAN("openai-chat"));
    d->inspect((struct span){0}, body, true, &r);
    FUZZ_CHECK(r.n >= 1 && r.max_tokens >= -1 && r.prompt_bytes >= 0);
    FUZZ_CHECK((uint64_t)r.prompt_bytes <= body.n);
    if (d->add_include_usage(body, &r, &e)) {
        FUZZ_CHECK(r.is_json && r.is_stream && !r.has_include_usage);
        check_edit(d, body, &e);
    }
    size_t n = body.n * choice / 255;
    char *window = mem_must(mem_alloc(n + 1));
    memcpy(window, body.p, n);
    d->inspect((struct span){0}, span_of(window, n), false, &r);
    FUZZ_CHECK(!d->add_include_usage(span_of(window, n), &r, &e));
    mem_free(window);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
