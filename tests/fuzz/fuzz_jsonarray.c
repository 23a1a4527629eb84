/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/jsonarray: the elements of a stream do not depend on its division into reads.
 */
#include "framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return framing_fuzz(FRAMING_JSON_ARRAY, data, size);
}
