/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/words.h"

#include "base/attr.h"
#include "base/rng.h"

void words_init(struct words *w)
{
    static const char *const list[] = {
        " the",   " model", " gives", " a",    " token", " at",   " each",  " step", " and",
        " waits", " for",   " its",   " turn", " in",    " line", " while", " time", " runs",
        " on",    " as",    " said",  " by",   " clock", " so",   " we",    " may",  " count",
    };
    size_t once;
    struct rng r;

    rng_seed(&r, 1);
    w->_n = 0;
    for (size_t i = 0; i < WORDS_MAX; i++) {
        const char *word = list[rng_below(&r, ARRAY_LEN(list))];
        size_t n = strlen(word);

        w->_start[i] = (uint16_t)w->_n;
        memcpy(w->_text + w->_n, word, n);
        w->_n += n;
    }
    once = w->_n;
    memcpy(w->_text + once, w->_text, once);
    w->_n += once;
    for (size_t i = 0; i < WORDS_MAX; i++)
        w->_start[WORDS_MAX + i] = (uint16_t)(w->_start[i] + once);
    w->_start[2 * WORDS_MAX] = (uint16_t)w->_n;
}

struct span words_get(const struct words *w, int64_t at, int64_t n)
{
    size_t first = (size_t)(at % WORDS_MAX);

    if (n > WORDS_MAX)
        n = WORDS_MAX;
    return span_of(w->_text + w->_start[first],
                   (size_t)(w->_start[first + (size_t)n] - w->_start[first]));
}
