/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_responses: a stream of typed events around a response.
 */
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return stream_fuzz("openai-responses", data, size);
}
