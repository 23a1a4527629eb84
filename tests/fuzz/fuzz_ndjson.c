/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/ndjson: the lines of a stream do not depend on its division into reads.
 */
#include "framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return framing_fuzz(FRAMING_NDJSON, data, size);
}
