/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/words.h - the text that simulated answers are made of: WORDS_MAX words, one token each, every
 * one with a space in front, none needing an escape in JSON. They repeat for ever.
 */
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { WORDS_MAX = 1024 };

struct words {
    size_t _n;                          /* bytes used */
    uint16_t _start[2 * WORDS_MAX + 1]; /* offset of each word */
    char _text[2 * WORDS_MAX * 8];      /* twice the same, so that no run has to wrap around */
};

/* The same text every time. */
void words_init(struct words *w);
/* A few words over and over. */
void words_init_repeated(struct words *w);

/* The words from number `at` on, n of them (<= WORDS_MAX): a view into w. */
struct span words_get(const struct words *w, int64_t at, int64_t n);

#endif
