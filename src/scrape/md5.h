/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/md5.h - the digest that hashmod spreads targets by. Not for secrets.
 *
 * Threading: pure.
 * Source:    RFC 1321.
 */
#ifndef SCRAPE_MD5_H
#define SCRAPE_MD5_H

#include <stdint.h>

#include "base/span.h"

enum { MD5_BYTES = 16 };

void md5(struct span text, uint8_t ret[MD5_BYTES]);

#endif
