/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_chat: a stream of chat chunks.
 */
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return stream_fuzz("openai-chat", data, size);
}
