/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/gemini.h - Google's generateContent. Private to dialect/.
 */
#ifndef DIALECT_GEMINI_H
#define DIALECT_GEMINI_H

#include "dialect/dialect.h"

extern const struct dialect dialect_gemini;

#endif
