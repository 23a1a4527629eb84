/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script: a script runs to its end or tells the line that is wrong; with it the evaluator
 * gets expressions over data that nobody made for it.
 * fuzz-links: promql series
 */
#include "pieces.h"

#include <errno.h>

#include "promql/script.h"

/* Long runs are no fault, and take the fuzzer's time. */
static bool is_long(struct span s)
{
    enum { DIGITS_MAX = 3 };
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n = s.p[i] >= '0' && s.p[i] <= '9' ? n + 1 : 0;
        if (n > DIGITS_MAX)
            return true;
    }
    return s.n > 4000;
}

static void on_failure(void *ctx, const struct script_failure *f)
{
    (void)ctx;
    FUZZ_CHECK(f->line > 0 && f->query.n > 0);
    FUZZ_CHECK(f->wanted.n > 0 && f->got.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script_report report = {.on_failure = on_failure};
    struct err err = {.text = ""};
    struct span text = span_of(data, size);
    if (is_long(text))
        return 0;
    int r = script_run(text, &report, &err);
    FUZZ_CHECK(r == 0 ||
               ((r == -EINVAL || r == -E2BIG) && err.text[0] >= '1' && err.text[0] <= '9'));
    return 0;
}
