/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "harness.h"
#include "memfail.h"

static void test_steps(void **state)
{
    static const struct sim_script_step wanted[] = {
        {500 * NS_PER_MS, true, SIM_FAULT_SEQS_CAP, 4},
        {30 * NS_PER_S, true, SIM_FAULT_SLOW_GPU, 1.5},
        {90 * NS_PER_S, false, SIM_FAULT_SLOW_GPU, 0},
        {90 * NS_PER_S, true, SIM_FAULT_SLOW_GPU, 3},
        {90 * NS_PER_S, true, SIM_FAULT_ERRORS, 0.1},
        {100 * NS_PER_S, false, SIM_FAULT_SLOW_GPU, 0},
    };
    struct sim_script *s = NULL;
    (void)state;
    assert_int_equal(sim_script_parse(SPAN("# what happens\n"
                                           "\n"
                                           "at 90s for 10s slow_gpu 3 # again, at once\r\n"
                                           "  at 30s\tfor 60s   slow_gpu 1.5\n"
                                           "at 1.5m errors\n"
                                           "at 500ms seqs-cap"),
                                      &s, NULL),
                     0);
    assert_int_equal(s->n, ARRAY_LEN(wanted));
    for (size_t i = 0; i < s->n; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "step %zu", i);
        assert_row(name, s->steps[i].at_ns == wanted[i].at_ns);
        assert_row(name, s->steps[i].is_on == wanted[i].is_on);
        assert_row(name, s->steps[i].fault == wanted[i].fault);
        assert_row(name, s->steps[i].strength == wanted[i].strength);
    }
    s = sim_script_free(s);
}

#define GOOD "at 1s errors\n"

static const struct row {
    const char *text;
    int result;
    const char *says, *hints;
} rows[] = {
    {"", -EINVAL, "the script says nothing", "at 30s for 60s slow_gpu 1.5"},
    {"# nothing\n\n \t\n", -EINVAL, "the script says nothing", "at 30s"},
    {GOOD "in 30s slow_gpu", -EINVAL, "line 2: \"at\" has to stand where \"in\" stands", "at 30s"},
    {GOOD "\nslow_gpu", -EINVAL, "line 3: \"at\" has to stand where \"slow_gpu\" stands", "at"},
    {"at", -EINVAL, "line 1 ends where a time like 30s has to follow", "at 30s"},
    {"at # 30s", -EINVAL, "line 1 ends where a time like 30s has to follow", "at 30s"},
    {"at noon slow_gpu", -EINVAL, "line 1: a time like 30s has to stand where \"noon\" stands", ""},
    {"at 30 slow_gpu", -EINVAL, "line 1: a time like 30s has to stand where \"30\" stands", ""},
    {"at -3s slow_gpu", -EINVAL, "line 1: a time like 30s has to stand where \"-3s\" stands", ""},
    {"at 99999999999d slow_gpu", -EINVAL, "line 1: a time like 30s", ""},
    {"at 30s", -EINVAL, "line 1 ends where the name of a fault has to follow", ""},
    {"at 30s for", -EINVAL, "line 1 ends where a length of time like 60s has to follow", ""},
    {"at 30s for slow_gpu", -EINVAL,
     "line 1: a length of time like 60s has to stand where \"slow_gpu\" stands", ""},
    {"at 30s for 0s slow_gpu", -ERANGE, "line 1: that is no length of time", ""},
    {"at 366d for 366d slow_gpu\nat 367d errors", -ERANGE, "line 2: \"367d\" is more than 366 days",
     ""},
    {"at 0s for 106751d slow_gpu", -ERANGE, "line 1: \"106751d\" is more than 366 days", ""},
    {"at 30s for 60s", -EINVAL, "line 1 ends where the name of a fault has to follow", ""},
    {"at 30s slow_gp", -ENOENT, "line 1: there is no fault \"slow_gp\"", "did you mean slow_gpu?"},
    {"at 30s weather", -ENOENT, "line 1: there is no fault \"weather\"", "--help"},
    {"at 30s slow_gpu much", -EINVAL,
     "line 1: a number (the strength) has to stand where \"much\" stands", ""},
    {"at 30s slow_gpu 1,5", -EINVAL,
     "line 1: a number (the strength) has to stand where \"1,5\" stands", ""},
    {"at 30s slow_gpu 0.5", -ERANGE, "line 1: slow_gpu takes 1 to 1000 (times), not 0.5", ""},
    {"at 30s slow_gpu 2 errors", -EINVAL,
     "line 1: the end of the line has to stand where \"errors\" stands", ""},
    {"at 30s slow_gpu for 60s", -EINVAL,
     "line 1: a number (the strength) has to stand where \"for\" stands", ""},
    {"at 30s for 60s slow_gpu\nat 89s slow_gpu 3", -EINVAL,
     "line 2: slow_gpu is on at that time already, by line 1", "let one end"},
    {"at 30s slow_gpu\nat 10s for 5s slow_gpu\nat 12s for 1s slow_gpu", -EINVAL,
     "line 3: slow_gpu is on at that time already, by line 2", ""},
    {"at 30s errors\nat 10s errors", -EINVAL,
     "line 2: errors is on at that time already, by line 1", ""},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sim_script *s = NULL;
        struct err e = {0};

        assert_row(rows[i].text,
                   sim_script_parse(span_cstr(rows[i].text), &s, &e) == rows[i].result);
        assert_row(rows[i].text, s == NULL);
        assert_row(e.text, strstr(e.text, rows[i].says) == e.text);
        assert_row(e.hint, strstr(e.hint, rows[i].hints) != NULL);
    }
}

static void test_limits(void **state)
{
    struct sim_script *s = NULL;
    struct err e = {0};
    struct buf text;
    (void)state;
    buf_init(&text, MIB);
    for (int i = 0; i < SIM_SCRIPT_LINES_MAX; i++)
        assert_int_equal(buf_printf(&text, "at %ds for 1s errors\n", i), 0);
    assert_int_equal(sim_script_parse(buf_span(&text), &s, &e), 0);
    assert_int_equal(s->n, 2 * SIM_SCRIPT_LINES_MAX);
    s = sim_script_free(s);
    assert_int_equal(buf_append(&text, SPAN("# remark\nat 2h errors")), 0);
    assert_int_equal(sim_script_parse(buf_span(&text), &s, &e), -E2BIG);
    assert_string_equal(e.text, "line 1002: a script has at most 1000 lines");
    buf_clear(&text);
    while (buf_len(&text) <= SIM_SCRIPT_BYTES_MAX)
        assert_int_equal(buf_append(&text, SPAN(GOOD)), 0);
    assert_int_equal(sim_script_parse(buf_span(&text), &s, &e), -E2BIG);
    buf_done(&text);
}

/* Of a script that is right every prefix is read or told to be wrong, and nothing else. */
static void test_prefixes(void **state)
{
    static const char text[] = "at 30s for 60s slow_gpu 1.5 # x\nat 2m seqs_cap\n";
    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        char *exact = malloc(n + 1); /* a sanitizer sees a read behind the end */
        struct sim_script *s = NULL;
        struct err e = {0};
        int r;

        assert_non_null(exact);
        memcpy(exact, text, n);
        r = sim_script_parse(span_of(exact, n), &s, &e);
        assert_true(r == 0 || (e.text[0] != '\0' && !s));
        s = sim_script_free(s);
        free(exact);
    }
}

static int attempt(void *ctx)
{
    struct sim_script *s = NULL;
    int r = sim_script_parse(SPAN(GOOD), &s, NULL);
    (void)ctx;
    if (r == -ENOMEM)
        assert_null(s);
    s = sim_script_free(s);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
