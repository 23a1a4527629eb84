/* SPDX-License-Identifier: Apache-2.0 */
/* Words and flags of a command, and what refusals say. */
#include "harness.h"

#include <errno.h>

#include "cli/dialog.h"
#include "cli/flag.h"

static void what_a_refusal_says(void **state)
{
    static const struct {
        const char *body, *says;
    } rows[] = {
        {"{\"error\":\"no \\u001bway\"}", "no ?way"},
        {"\"bad matcher\"", "bad matcher"},
        {"<html>", "<html>"},
        {"{\"error\":7}", "{\"error\":7}"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 1000);
        assert_int_equal(dialog_print_refusal(span_cstr(rows[i].body), &b), 0);
        assert_span_equal(rows[i].body, buf_span(&b), span_cstr(rows[i].says));
        buf_done(&b);
    }
}

static int take_all(struct flag *f, void *ctx, struct err *reterr)
{
    bool *is_all = ctx;
    if (!flag_is(f, "all"))
        return err_set(reterr, -EINVAL, "no such flag");
    *is_all = true;
    return 0;
}

static void words_and_flags(void **state)
{
    static const struct {
        int argc, result;
        size_t n;
        bool is_all;
        const char *argv[6];
    } rows[] = {
        {1, 1, 0, false, {"x"}},
        {4, 1, 2, true, {"x", "a", "--all", "b"}},
        {3, 0, 1, false, {"x", "a", "--help"}},
        {4, -EINVAL, 2, false, {"x", "a", "b", "c"}},
        {3, -EINVAL, 1, false, {"x", "a", "--none"}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span at[2];
        struct dialog_words w = {at, 0, 2, "; quote a text"};
        struct err err = {0};
        bool is_all = false;
        int r = dialog_read_words(rows[i].argc, (char **)(uintptr_t)rows[i].argv, &w, take_all,
                                  &is_all, &err);
        assert_int_equal(r, rows[i].result);
        assert_int_equal(w.n, rows[i].n);
        assert_int_equal(is_all, rows[i].is_all);
        assert_int_equal(r < 0, err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_refusal_says),
                                       cmocka_unit_test(words_and_flags)};
    return cmocka_run_group_tests_name("cli/dialog", tests, NULL, NULL);
}
