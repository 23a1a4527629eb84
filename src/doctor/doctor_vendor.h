/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_vendor.h - whose key it is by how it begins, whose server by its name.
 *
 * Threading: pure; tables.
 */
#ifndef DOCTOR_DOCTOR_VENDOR_H
#define DOCTOR_DOCTOR_VENDOR_H

#include <stdbool.h>

#include "base/span.h"
#include "doctor/doctor_cause.h"

enum doctor_vendor {
    VENDOR_UNKNOWN,
    VENDOR_OPENAI,
    VENDOR_ANTHROPIC,
    VENDOR_OPENROUTER,
    VENDOR_GROQ,
    VENDOR_GOOGLE,
    VENDOR_XAI,
    VENDOR_HUGGING_FACE,
    VENDOR_NVIDIA,
    VENDOR_PERPLEXITY,
    VENDOR_REPLICATE,
    VENDOR_CEREBRAS,
    VENDOR_FIREWORKS,
    VENDOR_GITHUB,
    VENDOR_AWS,
    VENDOR_DEEPSEEK,
    VENDOR_MISTRAL,
    VENDOR_TOGETHER,
    VENDOR_COUNT_
};
const char *doctor_vendor_name(enum doctor_vendor v);

/* Of keys that only one vendor gives out; "sk-" alone is many's. */
enum doctor_vendor doctor_vendor_of_key(struct span key);
enum doctor_vendor doctor_vendor_of_host(struct span host);

/*
 * What is wrong with a key as it stands: KEY_NEWLINE, KEY_QUOTES, KEY_STRAY, KEY_IS_URL,
 * KEY_BEARER, KEY_UNEXPANDED, KEY_PLACEHOLDER; NO_CAUSE.
 */
enum doctor_cause doctor_key_oddity(struct span key);

#endif
