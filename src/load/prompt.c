/* SPDX-License-Identifier: Apache-2.0 */
#include "load/prompt.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"

/* Room behind the longest prompt, so that prompts can begin in different places. */
enum { VARIETY_BYTES = 64 * KIB };

static void text_fill(char *text, size_t n, uint64_t seed)
{
    static const char *const words[] = {
        "a ",   "we ",   "is ",   "the ",  "and ",  "for ",  "not ",   "one ",   "how ",
        "can ", "this ", "that ", "with ", "from ", "time ", "queue ", "first ", "token ",
    };
    struct rng r;
    size_t i = 0;

    rng_seed(&r, seed);
    while (i < n) {
        struct span word = span_cstr(words[rng_below(&r, ARRAY_LEN(words))]);
        size_t take = word.n < n - i ? word.n : n - i;

        memcpy(text + i, word.p, take);
        i += take;
    }
}

static int prefix_make(struct prompt *p, const char *model)
{
    struct buf b;
    struct jsonw w;
    int r;

    buf_init(&b, 16 * KIB);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "model", model);
    r = jsonw_error(&w);
    if (r == 0)
        r = buf_append(&b, p->_is_chat ? SPAN(",\"messages\":[{\"role\":\"user\",\"content\":\"")
                                       : SPAN(",\"prompt\":\""));
    if (r == 0) {
        p->_n_prefix = buf_len(&b);
        p->_prefix = mem_strndup(buf_span(&b).p, p->_n_prefix);
        r = p->_prefix ? 0 : -ENOMEM;
    }
    buf_done(&b);
    return r;
}

int prompt_init(struct prompt *p, bool is_chat, const char *model, int64_t max_prompt_tokens,
                uint64_t seed)
{
    int r;

    *p = (struct prompt){._is_chat = is_chat};
    p->_n = (size_t)max_prompt_tokens * PROMPT_BYTES_PER_TOKEN + VARIETY_BYTES;
    p->_text = mem_alloc(p->_n);
    if (!p->_text)
        return -ENOMEM;
    text_fill(p->_text, p->_n, seed);
    r = prefix_make(p, model);
    if (r < 0)
        prompt_done(p);
    return r;
}

void prompt_done(struct prompt *p)
{
    mem_free(p->_text);
    mem_free(p->_prefix);
    *p = (struct prompt){0};
}

void prompt_body(struct prompt *p, const struct prompt_ask *ask,
                 struct span ret_parts[PROMPT_PARTS])
{
    enum { STEP = 61 }; /* prime: numbers that are near give different beginnings */
    size_t n = (size_t)ask->prompt_tokens * PROMPT_BYTES_PER_TOKEN;
    size_t at = (size_t)(ask->number * STEP % (VARIETY_BYTES - 1));
    char max_tokens[48] = "";
    int used;

    if (ask->max_tokens >= 0)
        (void)snprintf(max_tokens, sizeof(max_tokens), ",\"max_tokens\":%lld",
                       (long long)ask->max_tokens);
    used = snprintf(
        p->_suffix, sizeof(p->_suffix), "%s%s,\"stream\":%s%s}", p->_is_chat ? "\"}]" : "\"",
        max_tokens, ask->is_stream ? "true" : "false",
        ask->is_stream && ask->include_usage ? ",\"stream_options\":{\"include_usage\":true}" : "");
    ret_parts[0] = span_of(p->_prefix, p->_n_prefix);
    ret_parts[1] = span_of(p->_text + at, at + n <= p->_n ? n : p->_n - at);
    ret_parts[2] = span_of(p->_suffix, (size_t)used);
}
