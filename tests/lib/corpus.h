/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus.h - recorded streams that live beside the project and may be absent.
 *
 * They are looked for in $INFEROMETER_SHARED, or ../shared seen from the project's top directory
 * (the working directory of every test). A missing directory is not an error: nothing is visited.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include "base/span.h"

/*
 * Calls visit for every regular file directly in dir ("corpus/openai-chat"), in the order of
 * their names; path can be opened, content is valid during the call. suffix: only names that end
 * so, or NULL. Returns how many files were visited.
 */
int corpus_each(const char *dir, const char *suffix,
                void (*visit)(void *ctx, const char *path, struct span content), void *ctx);

/*
 * Reads one file whole. path as given to visit, or of the project. Returns content (NUL
 * terminated beyond its length; free(3) the pointer) with p NULL when the file cannot be read.
 */
struct span corpus_read(const char *path);

#endif
