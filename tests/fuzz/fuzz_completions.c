/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_completions: a stream of completion chunks.
 */
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return stream_fuzz("openai-completions", data, size);
}
