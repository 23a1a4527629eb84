/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/web_bundle_none.c - instead of the files of web/, in a build without them.
 */
#include "api/web_bundle.h"

const struct web_file web_bundle[1] = {{0}};
const size_t web_bundle_n = 0;
