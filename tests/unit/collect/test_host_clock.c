/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/host_clock.h"

#include "base/attr.h"
#include "memfail.h"
#include "told.h"

static struct timex answer;
static int answer_state, answer_errno;
static unsigned asked_modes;

static int fake_ask(struct timex *t)
{
    asked_modes |= t->modes;
    errno = answer_errno;
    if (answer_state >= 0)
        *t = answer;
    return answer_state;
}

static const struct host_clock_config config = {fake_ask};

static enum source_state read_once(struct batch *out, struct err *err)
{
    enum source_state s;
    void *source;

    assert_int_equal(source_clock.begin(&config, &source, err), 0);
    s = source_clock.read(source, 1000, out, err);
    source_clock.end(source);
    told_check(out);
    return s;
}

static void test_values(void **state)
{
    static const struct {
        const char *name;
        struct timex t;
        int state;
        double synchronised, offset, leap;
    } rows[] = {
        {"kept, us", {.offset = -1500, .status = STA_PLL}, TIME_OK, 1, -0.0015, 0},
        {"kept, ns", {.offset = 250000, .status = STA_PLL | STA_NANO}, TIME_OK, 1, 0.00025, 0},
        {"not kept", {.status = STA_UNSYNC}, TIME_ERROR, 0, 0, 0},
        {"the flag alone", {.status = STA_UNSYNC}, TIME_OK, 0, 0, 0},
        {"in error by its state", {.status = 0}, TIME_ERROR, 0, 0, 0},
        {"a second put in", {.status = STA_PLL | STA_INS}, TIME_INS, 1, 0, 1},
        {"one left out", {.status = STA_PLL | STA_DEL}, TIME_DEL, 1, 0, -1},
        {"it is now", {.status = STA_PLL}, TIME_OOP, 1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct batch *out = told_new();
        struct err err;
        answer = rows[i].t;
        answer.maxerror = 2000;
        answer.esterror = 30;
        answer.freq = 65536 * 12 + 32768; /* 12.5 millionths */
        answer_state = rows[i].state;
        assert_row(rows[i].name, read_once(out, &err) == SOURCE_WORKING);
        assert_told(out, "clock_synchronised", rows[i].synchronised);
        assert_told(out, "clock_offset_seconds", rows[i].offset);
        assert_told(out, "clock_error_max_seconds", 0.002);
        assert_told(out, "clock_error_estimated_seconds", 30e-6);
        assert_told(out, "clock_frequency_ratio", 12.5e-6);
        assert_told(out, "clock_leap_second", rows[i].leap);
        assert_untold(out, "clock_tai_offset_seconds"); /* 0: the kernel was not told */
        batch_free(out);
    }
    assert_int_equal(asked_modes, 0); /* nothing is ever set */
}

static void test_not_allowed(void **state)
{
    static const struct {
        int code;
        enum source_state state;
    } rows[] = {{EPERM, SOURCE_ABSENT}, {ENOSYS, SOURCE_ABSENT}, {EFAULT, SOURCE_BROKEN}};
    (void)state;
    answer_state = -1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct batch *out = told_new();
        struct err err = {.text = ""};
        answer_errno = rows[i].code;
        assert_int_equal(read_once(out, &err), rows[i].state);
        assert_int_equal(out->n, 0);
        assert_true(err.text[0] != '\0' && err.hint[0] != '\0');
        batch_free(out);
    }
}

static void test_this_machine(void **state)
{
    struct batch *out = told_new();
    struct err err;
    void *source;
    (void)state;
    assert_int_equal(source_clock.begin(NULL, &source, &err), 0);
    if (source_clock.read(source, 1000, out, &err) == SOURCE_WORKING)
        assert_true(isfinite(told(out, "clock_synchronised")));
    source_clock.end(source);
    batch_free(out);
}

static int attempt(void *ctx)
{
    struct batch *out = NULL;
    struct err err = {.text = ""};
    void *source = NULL;
    enum source_state s;
    int r = source_clock.begin(&config, &source, &err);
    (void)ctx;
    if (r < 0)
        return r;
    if (batch_new(&out) < 0) {
        source_clock.end(source);
        return -ENOMEM;
    }
    s = source_clock.read(source, 1000, out, &err);
    source_clock.end(source);
    assert_true(s == SOURCE_WORKING || out->n == 0);
    batch_free(out);
    return s == SOURCE_WORKING ? 0 : err.code;
}

static void test_without_memory(void **state)
{
    (void)state;
    answer_state = TIME_OK;
    assert_true(memfail_each(attempt, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_not_allowed),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("collect/host_clock", tests, NULL, NULL);
}
