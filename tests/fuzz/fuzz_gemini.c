/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/gemini: a stream of events, or one array.
 */
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return stream_fuzz("gemini", data, size);
}
