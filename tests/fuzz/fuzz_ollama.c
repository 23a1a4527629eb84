/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/ollama: a stream of lines.
 */
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return stream_fuzz("ollama", data, size);
}
