/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/anthropic.h - the messages API of Anthropic, and of those who speak it. Private to
 * dialect/.
 */
#ifndef DIALECT_ANTHROPIC_H
#define DIALECT_ANTHROPIC_H

#include "dialect/dialect.h"

extern const struct dialect dialect_anthropic;
extern const struct dialect dialect_anthropic_count_tokens;

#endif
