/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/ollama.h - Ollama's own API. Private to dialect/.
 */
#ifndef DIALECT_OLLAMA_H
#define DIALECT_OLLAMA_H

#include "dialect/dialect.h"

extern const struct dialect dialect_ollama;       /* /api/chat and /api/generate */
extern const struct dialect dialect_ollama_embed; /* /api/embed */

#endif
