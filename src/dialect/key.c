/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/key.c - name to number: a streamed chunk has some fifteen keys, each looked up once.
 *
 * Each name has a slot of its own, computed from its length and three of its characters, so that a
 * key is compared with one name at most.
 */
#include "dialect/key.h"

#include <stdint.h>

#include "base/attr.h"
#include "wire/json.h"

enum { KEY_BYTES = 27, N_SLOTS = 1024 };

#define NAME(text)                                                                                 \
    {                                                                                              \
        sizeof(text) - 1, text                                                                     \
    }

static const struct {
    uint8_t n; /* 0: KEY_OTHER */
    char text[KEY_BYTES + 1];
} names[KEY_COUNT_] = {
    [KEY_ARGS] = NAME("args"),
    [KEY_ARGUMENTS] = NAME("arguments"),
    [KEY_AUDIO] = NAME("audio"),
    [KEY_BLOCK_REASON] = NAME("blockReason"),
    [KEY_CACHED_CONTENT_TOKEN_COUNT] = NAME("cachedContentTokenCount"),
    [KEY_CACHED_TOKENS] = NAME("cached_tokens"),
    [KEY_CACHE_CREATION_INPUT_TOKENS] = NAME("cache_creation_input_tokens"),
    [KEY_CACHE_CREATION_TOKENS] = NAME("cache_creation_tokens"),
    [KEY_CACHE_READ_INPUT_TOKENS] = NAME("cache_read_input_tokens"),
    [KEY_CACHE_WRITE_TOKENS] = NAME("cache_write_tokens"),
    [KEY_CANDIDATES] = NAME("candidates"),
    [KEY_CANDIDATES_TOKEN_COUNT] = NAME("candidatesTokenCount"),
    [KEY_CANDIDATE_COUNT] = NAME("candidateCount"),
    [KEY_CANDIDATE_COUNT_SNAKE] = NAME("candidate_count"),
    [KEY_CHOICES] = NAME("choices"),
    [KEY_CODE] = NAME("code"),
    [KEY_COMPLETION_TIME] = NAME("completion_time"),
    [KEY_COMPLETION_TOKENS] = NAME("completion_tokens"),
    [KEY_COMPLETION_TOKENS_DETAILS] = NAME("completion_tokens_details"),
    [KEY_CONTENT] = NAME("content"),
    [KEY_CONTENTS] = NAME("contents"),
    [KEY_CONTENT_BLOCK] = NAME("content_block"),
    [KEY_CREATED_AT] = NAME("created_at"),
    [KEY_CUSTOM] = NAME("custom"),
    [KEY_DATA] = NAME("data"),
    [KEY_DELTA] = NAME("delta"),
    [KEY_DONE] = NAME("done"),
    [KEY_DONE_REASON] = NAME("done_reason"),
    [KEY_ENCRYPTED_CONTENT] = NAME("encrypted_content"),
    [KEY_ERROR] = NAME("error"),
    [KEY_EVAL_COUNT] = NAME("eval_count"),
    [KEY_EVAL_DURATION] = NAME("eval_duration"),
    [KEY_EXECUTABLE_CODE] = NAME("executableCode"),
    [KEY_FINISH_REASON] = NAME("finish_reason"),
    [KEY_FINISH_REASON_CAMEL] = NAME("finishReason"),
    [KEY_FUNCTION] = NAME("function"),
    [KEY_FUNCTION_CALL] = NAME("function_call"),
    [KEY_FUNCTION_CALL_CAMEL] = NAME("functionCall"),
    [KEY_GENERATION_CONFIG] = NAME("generationConfig"),
    [KEY_GENERATION_CONFIG_SNAKE] = NAME("generation_config"),
    [KEY_GENERATION_TIME_MS] = NAME("generation_time_ms"),
    [KEY_IMAGE] = NAME("image"),
    [KEY_IMAGES] = NAME("images"),
    [KEY_INCLUDE_USAGE] = NAME("include_usage"),
    [KEY_INCOMPLETE_DETAILS] = NAME("incomplete_details"),
    [KEY_INDEX] = NAME("index"),
    [KEY_INLINE_DATA] = NAME("inlineData"),
    [KEY_INPUT] = NAME("input"),
    [KEY_INPUT_TOKENS] = NAME("input_tokens"),
    [KEY_INPUT_TOKENS_DETAILS] = NAME("input_tokens_details"),
    [KEY_INSTRUCTIONS] = NAME("instructions"),
    [KEY_ITEM] = NAME("item"),
    [KEY_LOAD_DURATION] = NAME("load_duration"),
    [KEY_MAX_COMPLETION_TOKENS] = NAME("max_completion_tokens"),
    [KEY_MAX_OUTPUT_TOKENS] = NAME("max_output_tokens"),
    [KEY_MAX_OUTPUT_TOKENS_CAMEL] = NAME("maxOutputTokens"),
    [KEY_MAX_TOKENS] = NAME("max_tokens"),
    [KEY_MESSAGE] = NAME("message"),
    [KEY_MESSAGES] = NAME("messages"),
    [KEY_METADATA] = NAME("metadata"),
    [KEY_METRICS] = NAME("metrics"),
    [KEY_MIME_TYPE] = NAME("mimeType"),
    [KEY_MODEL] = NAME("model"),
    [KEY_MODEL_VERSION] = NAME("modelVersion"),
    [KEY_N] = NAME("n"),
    [KEY_NAME] = NAME("name"),
    [KEY_NUM_PREDICT] = NAME("num_predict"),
    [KEY_OBFUSCATION] = NAME("obfuscation"),
    [KEY_OBJECT] = NAME("object"),
    [KEY_OPTIONS] = NAME("options"),
    [KEY_OUTPUT_TOKENS] = NAME("output_tokens"),
    [KEY_OUTPUT_TOKENS_DETAILS] = NAME("output_tokens_details"),
    [KEY_PARTIAL_ARGS] = NAME("partialArgs"),
    [KEY_PARTIAL_IMAGE_B64] = NAME("partial_image_b64"),
    [KEY_PARTIAL_JSON] = NAME("partial_json"),
    [KEY_PARTS] = NAME("parts"),
    [KEY_PREDICTED_MS] = NAME("predicted_ms"),
    [KEY_PROMPT] = NAME("prompt"),
    [KEY_PROMPT_CACHE_HIT_TOKENS] = NAME("prompt_cache_hit_tokens"),
    [KEY_PROMPT_EVAL_COUNT] = NAME("prompt_eval_count"),
    [KEY_PROMPT_EVAL_DURATION] = NAME("prompt_eval_duration"),
    [KEY_PROMPT_FEEDBACK] = NAME("promptFeedback"),
    [KEY_PROMPT_MS] = NAME("prompt_ms"),
    [KEY_PROMPT_TIME] = NAME("prompt_time"),
    [KEY_PROMPT_TOKENS] = NAME("prompt_tokens"),
    [KEY_PROMPT_TOKENS_DETAILS] = NAME("prompt_tokens_details"),
    [KEY_PROMPT_TOKEN_COUNT] = NAME("promptTokenCount"),
    [KEY_QUEUE_TIME] = NAME("queue_time"),
    [KEY_QUEUE_TIME_MS] = NAME("queue_time_ms"),
    [KEY_REASON] = NAME("reason"),
    [KEY_REASONING] = NAME("reasoning"),
    [KEY_REASONING_CONTENT] = NAME("reasoning_content"),
    [KEY_REASONING_DETAILS] = NAME("reasoning_details"),
    [KEY_REASONING_OPAQUE] = NAME("reasoning_opaque"),
    [KEY_REASONING_TEXT] = NAME("reasoning_text"),
    [KEY_REASONING_TOKENS] = NAME("reasoning_tokens"),
    [KEY_REFUSAL] = NAME("refusal"),
    [KEY_REQUEST] = NAME("request"),
    [KEY_RESPONSE] = NAME("response"),
    [KEY_SEQUENCE_NUMBER] = NAME("sequence_number"),
    [KEY_SIGNATURE] = NAME("signature"),
    [KEY_STATUS] = NAME("status"),
    [KEY_STOP_REASON] = NAME("stop_reason"),
    [KEY_STREAM] = NAME("stream"),
    [KEY_STREAM_OPTIONS] = NAME("stream_options"),
    [KEY_SUMMARY] = NAME("summary"),
    [KEY_SYSTEM] = NAME("system"),
    [KEY_SYSTEM_FINGERPRINT] = NAME("system_fingerprint"),
    [KEY_SYSTEM_INSTRUCTION] = NAME("systemInstruction"),
    [KEY_SYSTEM_INSTRUCTION_SNAKE] = NAME("system_instruction"),
    [KEY_TEXT] = NAME("text"),
    [KEY_THINKING] = NAME("thinking"),
    [KEY_THINKING_BLOCKS] = NAME("thinking_blocks"),
    [KEY_THINKING_TOKENS] = NAME("thinking_tokens"),
    [KEY_THOUGHT] = NAME("thought"),
    [KEY_THOUGHTS_TOKEN_COUNT] = NAME("thoughtsTokenCount"),
    [KEY_THOUGHT_SIGNATURE] = NAME("thoughtSignature"),
    [KEY_TIME_INFO] = NAME("time_info"),
    [KEY_TIME_TO_FIRST_TOKEN_MS] = NAME("time_to_first_token_ms"),
    [KEY_TIMINGS] = NAME("timings"),
    [KEY_TOOLS] = NAME("tools"),
    [KEY_TOOL_CALLS] = NAME("tool_calls"),
    [KEY_TOOL_USE_PROMPT_TOKEN_COUNT] = NAME("toolUsePromptTokenCount"),
    [KEY_TOTAL_DURATION] = NAME("total_duration"),
    [KEY_TOTAL_TIME] = NAME("total_time"),
    [KEY_TOTAL_TOKENS] = NAME("total_tokens"),
    [KEY_TOTAL_TOKEN_COUNT] = NAME("totalTokenCount"),
    [KEY_TRANSCRIPT] = NAME("transcript"),
    [KEY_TYPE] = NAME("type"),
    [KEY_USAGE] = NAME("usage"),
    [KEY_USAGE_METADATA] = NAME("usageMetadata"),
    [KEY_X_GROQ] = NAME("x_groq"),
};

/* --- written by scripts/gen_keys --- */
enum { BY_LENGTH = 936, BY_FIRST = 317, BY_INNER = 100, BY_LAST = 993 };

static const uint8_t slots[N_SLOTS] = {
    [444] = KEY_ARGS,
    [528] = KEY_ARGUMENTS,
    [504] = KEY_AUDIO,
    [300] = KEY_BLOCK_REASON,
    [923] = KEY_CACHED_CONTENT_TOKEN_COUNT,
    [510] = KEY_CACHED_TOKENS,
    [126] = KEY_CACHE_CREATION_INPUT_TOKENS,
    [706] = KEY_CACHE_CREATION_TOKENS,
    [530] = KEY_CACHE_READ_INPUT_TOKENS,
    [470] = KEY_CACHE_WRITE_TOKENS,
    [650] = KEY_CANDIDATES,
    [983] = KEY_CANDIDATES_TOKEN_COUNT,
    [791] = KEY_CANDIDATE_COUNT,
    [703] = KEY_CANDIDATE_COUNT_SNAKE,
    [438] = KEY_CHOICES,
    [112] = KEY_CODE,
    [644] = KEY_COMPLETION_TIME,
    [558] = KEY_COMPLETION_TOKENS,
    [802] = KEY_COMPLETION_TOKENS_DETAILS,
    [283] = KEY_CONTENT,
    [826] = KEY_CONTENTS,
    [858] = KEY_CONTENT_BLOCK,
    [567] = KEY_CREATED_AT,
    [688] = KEY_CUSTOM,
    [153] = KEY_DATA,
    [941] = KEY_DELTA,
    [429] = KEY_DONE,
    [934] = KEY_DONE_REASON,
    [37] = KEY_ENCRYPTED_CONTENT,
    [231] = KEY_ERROR,
    [329] = KEY_EVAL_COUNT,
    [151] = KEY_EVAL_DURATION,
    [562] = KEY_EXECUTABLE_CODE,
    [616] = KEY_FINISH_REASON,
    [456] = KEY_FINISH_REASON_CAMEL,
    [408] = KEY_FUNCTION,
    [878] = KEY_FUNCTION_CALL,
    [766] = KEY_FUNCTION_CALL_CAMEL,
    [138] = KEY_GENERATION_CONFIG,
    [150] = KEY_GENERATION_CONFIG_SNAKE,
    [514] = KEY_GENERATION_TIME_MS,
    [78] = KEY_IMAGE,
    [380] = KEY_IMAGES,
    [574] = KEY_INCLUDE_USAGE,
    [824] = KEY_INCOMPLETE_DETAILS,
    [313] = KEY_INDEX,
    [186] = KEY_INLINE_DATA,
    [1013] = KEY_INPUT,
    [876] = KEY_INPUT_TOKENS,
    [648] = KEY_INPUT_TOKENS_DETAILS,
    [852] = KEY_INSTRUCTIONS,
    [518] = KEY_ITEM,
    [322] = KEY_LOAD_DURATION,
    [804] = KEY_MAX_COMPLETION_TOKENS,
    [656] = KEY_MAX_OUTPUT_TOKENS,
    [432] = KEY_MAX_OUTPUT_TOKENS_CAMEL,
    [272] = KEY_MAX_TOKENS,
    [146] = KEY_MESSAGE,
    [448] = KEY_MESSAGES,
    [458] = KEY_METADATA,
    [336] = KEY_METRICS,
    [958] = KEY_MIME_TYPE,
    [929] = KEY_MODEL,
    [651] = KEY_MODEL_VERSION,
    [388] = KEY_N,
    [527] = KEY_NAME,
    [870] = KEY_NUM_PREDICT,
    [349] = KEY_OBFUSCATION,
    [3] = KEY_OBJECT,
    [22] = KEY_OPTIONS,
    [218] = KEY_OUTPUT_TOKENS,
    [962] = KEY_OUTPUT_TOKENS_DETAILS,
    [387] = KEY_PARTIAL_ARGS,
    [512] = KEY_PARTIAL_IMAGE_B64,
    [554] = KEY_PARTIAL_JSON,
    [91] = KEY_PARTS,
    [447] = KEY_PREDICTED_MS,
    [596] = KEY_PROMPT,
    [555] = KEY_PROMPT_CACHE_HIT_TOKENS,
    [376] = KEY_PROMPT_EVAL_COUNT,
    [98] = KEY_PROMPT_EVAL_DURATION,
    [819] = KEY_PROMPT_FEEDBACK,
    [711] = KEY_PROMPT_MS,
    [945] = KEY_PROMPT_TIME,
    [535] = KEY_PROMPT_TOKENS,
    [255] = KEY_PROMPT_TOKENS_DETAILS,
    [640] = KEY_PROMPT_TOKEN_COUNT,
    [326] = KEY_QUEUE_TIME,
    [252] = KEY_QUEUE_TIME_MS,
    [292] = KEY_REASON,
    [669] = KEY_REASONING,
    [62] = KEY_REASONING_CONTENT,
    [693] = KEY_REASONING_DETAILS,
    [339] = KEY_REASONING_OPAQUE,
    [926] = KEY_REASONING_TEXT,
    [905] = KEY_REASONING_TOKENS,
    [914] = KEY_REFUSAL,
    [418] = KEY_REQUEST,
    [795] = KEY_RESPONSE,
    [517] = KEY_SEQUENCE_NUMBER,
    [200] = KEY_SIGNATURE,
    [30] = KEY_STATUS,
    [569] = KEY_STOP_REASON,
    [264] = KEY_STREAM,
    [174] = KEY_STREAM_OPTIONS,
    [480] = KEY_SUMMARY,
    [664] = KEY_SYSTEM,
    [491] = KEY_SYSTEM_FINGERPRINT,
    [489] = KEY_SYSTEM_INSTRUCTION,
    [401] = KEY_SYSTEM_INSTRUCTION_SNAKE,
    [392] = KEY_TEXT,
    [867] = KEY_THINKING,
    [1003] = KEY_THINKING_BLOCKS,
    [603] = KEY_THINKING_TOKENS,
    [976] = KEY_THOUGHT,
    [404] = KEY_THOUGHTS_TOKEN_COUNT,
    [825] = KEY_THOUGHT_SIGNATURE,
    [531] = KEY_TIME_INFO,
    [1011] = KEY_TIME_TO_FIRST_TOKEN_MS,
    [907] = KEY_TIMINGS,
    [559] = KEY_TOOLS,
    [119] = KEY_TOOL_CALLS,
    [168] = KEY_TOOL_USE_PROMPT_TOKEN_COUNT,
    [722] = KEY_TOTAL_DURATION,
    [253] = KEY_TOTAL_TIME,
    [267] = KEY_TOTAL_TOKENS,
    [972] = KEY_TOTAL_TOKEN_COUNT,
    [812] = KEY_TRANSCRIPT,
    [381] = KEY_TYPE,
    [810] = KEY_USAGE,
    [954] = KEY_USAGE_METADATA,
    [53] = KEY_X_GROQ,
};
/* --- to here --- */

/* key is not empty. */
static inline unsigned slot_of(struct span key)
{
    unsigned first = (unsigned char)key.p[0];
    unsigned inner = (unsigned char)key.p[key.n * 3 / 4];
    unsigned last = (unsigned char)key.p[key.n - 1];
    unsigned sum = (unsigned)key.n * BY_LENGTH + first * BY_FIRST + inner * BY_INNER;
    return (sum + last * BY_LAST) % N_SLOTS;
}

static inline uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t load4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Names are short: comparing them in place, in words that may overlap, takes less than a call. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            if (load8(a + i) != load8(b + i))
                return false;
        }
        return load8(a + n - 8) == load8(b + n - 8);
    }
    if (n >= 4)
        return load4(a) == load4(b) && load4(a + n - 4) == load4(b + n - 4);
    return n > 0 && a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

/* Whether one of the 8 bytes is a backslash. */
static inline bool is_backslash_in(uint64_t word)
{
    uint64_t x = word ^ UINT64_C(0x5c5c5c5c5c5c5c5c);
    return ((x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080)) != 0;
}

static inline bool has_backslash(struct span s)
{
    if (s.n >= 8) {
        for (size_t i = 0; i + 8 < s.n; i += 8) {
            if (is_backslash_in(load8(s.p + i)))
                return true;
        }
        return is_backslash_in(load8(s.p + s.n - 8));
    }
    bool is_found = false;
    for (size_t i = 0; i < s.n; i++)
        is_found = is_found || s.p[i] == '\\';
    return is_found;
}

static inline enum key find(struct span key)
{
    if (key.n == 0)
        return KEY_OTHER;
    uint8_t at = slots[slot_of(key)];
    if (names[at].n != key.n || !is_same(names[at].text, key.p, key.n))
        return KEY_OTHER;
    return (enum key)at;
}

/* A name that nothing is looked up for, or one that is written with escapes. Kept out of the way:
 * its buffer would cost every look-up a stack check. */
static __attribute__((noinline)) enum key find_escaped(struct span raw)
{
    if (raw.n == 0 || !has_backslash(raw))
        return KEY_OTHER;
    char text[KEY_BYTES + 2]; /* one more than any name, so that a longer one is not cut to fit */
    size_t n = json_unescape(raw, text, sizeof(text));
    return find(span_of(text, n));
}

enum key key_of(struct span raw)
{
    enum key key = find(raw);
    return LIKELY(key != KEY_OTHER) ? key : find_escaped(raw);
}
