/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of rules: each text is refused with places, or read and run to its end; with it the
 * evaluator gets rules over data that nobody made for it. Rules, a line "%%", tests; files that the
 * tests name are not looked for.
 * fuzz-links: rules
 */
#include <errno.h>

#include "pieces.h"
#include "rules/rule_test_private.h"

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

static bool is_short(const struct rule_test *t)
{
    enum { STEPS_MAX = 50 };

    for (size_t i = 0; i < t->n; i++)
        if (rule_test_last_ms(&t->tests[i]) / t->interval_ms > STEPS_MAX)
            return false;
    return t->n < 10;
}

static void on_failure(void *ctx, const struct rule_test_failure *f)
{
    (void)ctx;
    FUZZ_CHECK(f->line > 0 && f->column > 0 && f->title.n > 0 && f->got.n > 0);
}

static void on_remark(void *ctx, int line, int column, struct span text)
{
    (void)ctx;
    FUZZ_CHECK(line > 0 && column > 0 && text.n > 0);
}

static void run(struct rule_test *t, struct span rules, struct err_list *errs)
{
    struct rule_test_report report = {.on_failure = on_failure, .on_remark = on_remark};
    struct rule_file *f = NULL;

    t->n_patterns = 0;
    err_list_init(errs);
    if (rule_file_read(rules, "rules", &f, errs) == 0) {
        t->files = mem_alloc(sizeof(struct rule_file *));
        FUZZ_CHECK(t->files != NULL);
        t->files[0] = f;
        t->n_files = 1;
    }
    int r = rule_test_run(t, &report, errs);
    FUZZ_CHECK(r == 0 && report.n_tests == t->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct err_list errs;
    struct span text = span_of(data, size);
    size_t at = span_find(text, SPAN("%%\n"));
    struct span rules = span_of(text.p, at);
    struct rule_test *t = NULL;

    if (is_long(text))
        return 0;
    err_list_init(&errs);
    int r = rule_test_read(span_from(text, at + 3 < size ? at + 3 : size), "t", &t, &errs);
    FUZZ_CHECK(r == 0 ? t && errs.n == 0 : r == -EINVAL && !t && errs.n > 0);
    if (t && is_short(t))
        run(t, rules, &errs);
    rule_test_free(t);
    return 0;
}
