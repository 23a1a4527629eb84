/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence: JSON of a silence is refused with a text, or is a silence that writes as JSON
 * which is taken again as the same one, and is found by the labels that it asks for.
 * fuzz-links: alert
 */
#include "pieces.h"

#include <errno.h>

#include "alert/receiver.h"
#include "alert/silence.h"

const struct receiver_kind *const receiver_table[] = {NULL};
const size_t receiver_table_n = 0;

enum { NOW_MS = 1000000000 };

/* Labels that its equations ask for, where that is possible. */
static void check_found(const struct silences *s, const struct silence *one)
{
    struct label pairs[8];
    struct labels l = {0};
    size_t n = 0;
    for (size_t i = 0; i < one->n_matchers && n < 8; i++) {
        if (one->matchers[i].op == MATCH_EQ)
            pairs[n++] = (struct label){one->matchers[i].name, one->matchers[i].value};
    }
    if (labels_normalise(pairs, n, &l, NULL) != 0)
        return;
    bool wanted = silence_state(one, NOW_MS) == SILENCE_ACTIVE &&
                  matcher_matches_all(one->matchers, one->n_matchers, l);
    struct silence_memo memo = {.n = 0};
    for (int i = 0; i < 2; i++) /* found, and remembered */
        FUZZ_CHECK((silence_match(s, &memo, l, NOW_MS) != NULL) == wanted);
    silence_memo_done(&memo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct silence *one = NULL, *again = NULL;
    struct silences *s = NULL;
    struct err err = {.text = ""};
    struct jsonw w;
    struct buf b;
    if (size > 5000)
        return 0;
    FUZZ_CHECK(silences_new(&s) == 0);
    int r = silences_set(s, span_of(data, size), NOW_MS, &one, &err);
    FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -ENOENT) && err.text[0] != '\0'));
    if (r == 0) {
        check_found(s, one);
        buf_init(&b, (size_t)1 << 20);
        jsonw_init(&w, &b);
        silence_write(one, NOW_MS, &w);
        FUZZ_CHECK(jsonw_error(&w) == 0);
        FUZZ_CHECK(silences_set(s, buf_span(&b), NOW_MS, &again, &err) == 0);
        FUZZ_CHECK(silences_n(s) == 1);
        buf_done(&b);
    }
    silences_free(s);
    return 0;
}
