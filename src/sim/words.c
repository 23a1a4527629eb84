/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/words.h"

#include "base/attr.h"
#include "base/rng.h"

static void add_word(struct words *w, size_t i, const char *word)
{
    size_t n = strlen(word);

    w->_start[i] = (uint16_t)w->_n;
    memcpy(w->_text + w->_n, word, n);
    w->_n += n;
}

/* The same once more behind what is there. */
static void close_ring(struct words *w)
{
    size_t once = w->_n;

    memcpy(w->_text + once, w->_text, once);
    w->_n += once;
    for (size_t i = 0; i < WORDS_MAX; i++)
        w->_start[WORDS_MAX + i] = (uint16_t)(w->_start[i] + once);
    w->_start[2 * WORDS_MAX] = (uint16_t)w->_n;
}

void words_init(struct words *w)
{
    static const char *const list[] = {
        " the",   " model", " gives", " a",    " token", " at",   " each",  " step", " and",
        " waits", " for",   " its",   " turn", " in",    " line", " while", " time", " runs",
        " on",    " as",    " said",  " by",   " clock", " so",   " we",    " may",  " count",
    };
    struct rng r;

    rng_seed(&r, 1);
    w->_n = 0;
    for (size_t i = 0; i < WORDS_MAX; i++)
        add_word(w, i, list[rng_below(&r, ARRAY_LEN(list))]);
    close_ring(w);
}

void words_init_repeated(struct words *w)
{
    static const char *const list[] = {" and", " so", " on", " it", " goes"};

    w->_n = 0;
    for (size_t i = 0; i < WORDS_MAX; i++)
        add_word(w, i, list[i % ARRAY_LEN(list)]);
    close_ring(w);
}

struct span words_get(const struct words *w, int64_t at, int64_t n)
{
    size_t first = (size_t)(at % WORDS_MAX);

    if (n > WORDS_MAX)
        n = WORDS_MAX;
    return span_of(w->_text + w->_start[first],
                   (size_t)(w->_start[first + (size_t)n] - w->_start[first]));
}
