/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/anthropic: a stream of message events; the same bytes as an answer to count_tokens, and
 * as a request, whole and cut.
 */
#include "stream.h"

static void check_request(const struct dialect *d, struct span body, uint8_t choice)
{
    struct dialect_request whole;
    struct dialect_request part;
    d->inspect((struct span){0}, body, true, &whole);
    FUZZ_CHECK(whole.n == 1 && whole.max_tokens >= -1 && whole.prompt_bytes >= 0);
    FUZZ_CHECK((uint64_t)whole.prompt_bytes <= body.n);
    size_t n = body.n * choice / 255;
    char *window = mem_must(mem_alloc(n + 1));
    memcpy(window, body.p, n);
    d->inspect((struct span){0}, span_of(window, n), false, &part);
    FUZZ_CHECK(!whole.is_json || part.is_json || n == 0 || part.prompt_bytes == 0);
    FUZZ_CHECK(part.prompt_bytes <= whole.prompt_bytes);
    mem_free(window);
}

static void check_count_tokens(struct span body)
{
    const struct dialect *d = dialect_by_name(SPAN("anthropic-count-tokens"));
    struct dialect_answer a;
    struct token_event e;
    dialect_answer_init(&a);
    d->answer(&a, body);
    d->event(&a, SPAN("message_delta"), body, &e);
    FUZZ_CHECK(!usage_is_set(&a.usage) && e.kinds == 0 && !e.has_usage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span body;
    uint8_t choice = pieces_choice(data, size, &body);
    check_request(dialect_by_name(SPAN("anthropic")), body, choice);
    check_count_tokens(body);
    return stream_fuzz("anthropic", data, size);
}
