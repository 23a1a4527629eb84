/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_keys.c - name to number: a streamed chunk has some fifteen keys, each looked up
 * once.
 *
 * Each name has a slot of its own, computed from its length and three of its characters (the
 * multipliers were found by trying), so that a key is compared with one name at most. A new name
 * needs a free slot, or other multipliers; a test computes every slot anew.
 */
#include "dialect/openai_keys.h"

#include <stdint.h>

#include "base/attr.h"
#include "wire/json.h"

enum { KEY_BYTES = 25, N_SLOTS = 256 };

static const struct {
    uint8_t n; /* 0: no name has this slot */
    char name[KEY_BYTES + 1];
    uint8_t key;
} slots[N_SLOTS] = {
    [103] = {9, "arguments", KEY_ARGUMENTS},
    [26] = {5, "audio", KEY_AUDIO},
    [92] = {21, "cache_creation_tokens", KEY_CACHE_CREATION_TOKENS},
    [65] = {23, "cache_read_input_tokens", KEY_CACHE_READ_INPUT_TOKENS},
    [244] = {18, "cache_write_tokens", KEY_CACHE_WRITE_TOKENS},
    [135] = {13, "cached_tokens", KEY_CACHED_TOKENS},
    [193] = {7, "choices", KEY_CHOICES},
    [118] = {4, "code", KEY_CODE},
    [119] = {17, "completion_tokens", KEY_COMPLETION_TOKENS},
    [55] = {25, "completion_tokens_details", KEY_COMPLETION_TOKENS_DETAILS},
    [37] = {7, "content", KEY_CONTENT},
    [62] = {6, "custom", KEY_CUSTOM},
    [73] = {4, "data", KEY_DATA},
    [185] = {5, "delta", KEY_DELTA},
    [207] = {5, "error", KEY_ERROR},
    [63] = {13, "finish_reason", KEY_FINISH_REASON},
    [252] = {8, "function", KEY_FUNCTION},
    [157] = {13, "function_call", KEY_FUNCTION_CALL},
    [49] = {6, "images", KEY_IMAGES},
    [153] = {13, "include_usage", KEY_INCLUDE_USAGE},
    [115] = {5, "index", KEY_INDEX},
    [27] = {5, "input", KEY_INPUT},
    [200] = {20, "input_tokens_details", KEY_INPUT_TOKENS_DETAILS},
    [226] = {21, "max_completion_tokens", KEY_MAX_COMPLETION_TOKENS},
    [181] = {10, "max_tokens", KEY_MAX_TOKENS},
    [183] = {8, "messages", KEY_MESSAGES},
    [227] = {5, "model", KEY_MODEL},
    [230] = {1, "n", KEY_N},
    [44] = {4, "name", KEY_NAME},
    [114] = {6, "object", KEY_OBJECT},
    [161] = {6, "prompt", KEY_PROMPT},
    [56] = {23, "prompt_cache_hit_tokens", KEY_PROMPT_CACHE_HIT_TOKENS},
    [130] = {13, "prompt_tokens", KEY_PROMPT_TOKENS},
    [72] = {21, "prompt_tokens_details", KEY_PROMPT_TOKENS_DETAILS},
    [212] = {9, "reasoning", KEY_REASONING},
    [17] = {17, "reasoning_content", KEY_REASONING_CONTENT},
    [184] = {17, "reasoning_details", KEY_REASONING_DETAILS},
    [98] = {16, "reasoning_opaque", KEY_REASONING_OPAQUE},
    [176] = {14, "reasoning_text", KEY_REASONING_TEXT},
    [64] = {16, "reasoning_tokens", KEY_REASONING_TOKENS},
    [167] = {7, "refusal", KEY_REFUSAL},
    [59] = {9, "signature", KEY_SIGNATURE},
    [159] = {6, "stream", KEY_STREAM},
    [127] = {14, "stream_options", KEY_STREAM_OPTIONS},
    [75] = {7, "summary", KEY_SUMMARY},
    [88] = {4, "text", KEY_TEXT},
    [166] = {8, "thinking", KEY_THINKING},
    [22] = {15, "thinking_blocks", KEY_THINKING_BLOCKS},
    [186] = {10, "tool_calls", KEY_TOOL_CALLS},
    [187] = {12, "total_tokens", KEY_TOTAL_TOKENS},
    [19] = {10, "transcript", KEY_TRANSCRIPT},
    [25] = {4, "type", KEY_TYPE},
    [169] = {5, "usage", KEY_USAGE},
    [211] = {6, "x_groq", KEY_X_GROQ},
};

/* key is not empty. */
static inline uint8_t slot_of(struct span key)
{
    unsigned head = (unsigned char)key.p[0];
    unsigned middle = (unsigned char)key.p[key.n / 2];
    unsigned tail = (unsigned char)key.p[key.n - 1];
    return (uint8_t)((unsigned)key.n * 120u + head * 39u + tail * 89u + middle);
}

static inline enum openai_key find(struct span key)
{
    if (key.n == 0)
        return KEY_OTHER;
    uint8_t slot = slot_of(key);
    if (slots[slot].n != key.n || memcmp(slots[slot].name, key.p, key.n) != 0)
        return KEY_OTHER;
    return (enum openai_key)slots[slot].key;
}

/* A name that nothing is looked up for, or one that is written with escapes. Kept out of the way:
 * its buffer would cost every look-up a stack check. */
static __attribute__((noinline)) enum openai_key find_escaped(struct span raw)
{
    if (raw.n == 0 || !memchr(raw.p, '\\', raw.n))
        return KEY_OTHER;
    char text[KEY_BYTES + 2]; /* one more than any name, so that a longer one is not cut to fit */
    size_t n = json_unescape(raw, text, sizeof(text));
    return find(span_of(text, n));
}

enum openai_key openai_key_of(struct span raw)
{
    enum openai_key key = find(raw);
    return LIKELY(key != KEY_OTHER) ? key : find_escaped(raw);
}
