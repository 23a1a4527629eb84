/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "harness.h"

static void test_table(void **state)
{
    const struct sim_fault_row *row;
    size_t n = 0;
    (void)state;
    for (; (row = sim_fault_row(n)); n++) {
        enum sim_fault which = SIM_FAULT_COUNT_;

        assert_int_equal(sim_fault_find(span_cstr(row->name), &which, NULL), 0);
        assert_row(row->name, which == (enum sim_fault)n);
        assert_row(row->name, row->min <= row->strength && row->strength <= row->max);
        assert_row(row->name, row->unit[0] != '\0' && row->help[0] != '\0');
        assert_row(row->name, sim_fault_check(which, row->strength, NULL) == 0);
        assert_row(row->name, sim_fault_check(which, row->max * 2 + 1, NULL) == -ERANGE);
        assert_row(row->name, sim_fault_check(which, -1, NULL) == -ERANGE);
        assert_row(row->name, sim_fault_check(which, 0.0 / 0.0, NULL) == -ERANGE);
    }
    assert_int_equal(n, SIM_FAULT_COUNT_);
    /* More is nowhere kept (sim/outlet.c). */
    assert_true(sim_fault_row(SIM_FAULT_PROXY_BUFFERING)->max < LIMIT_REQUEST_BODY_BYTES);
}

static void test_names(void **state)
{
    enum sim_fault which = SIM_FAULT_COUNT_;
    struct err e = {0};
    (void)state;
    assert_int_equal(sim_fault_find(SPAN("Slow-GPU"), &which, &e), 0);
    assert_int_equal(which, SIM_FAULT_SLOW_GPU);
    assert_int_equal(sim_fault_find(SPAN("slow_gp"), &which, &e), -ENOENT);
    assert_string_equal(e.text, "there is no fault \"slow_gp\"");
    assert_string_equal(e.hint, "did you mean slow_gpu?");
    assert_int_equal(sim_fault_find(SPAN("weather"), &which, &e), -ENOENT);
    assert_non_null(strstr(e.hint, "--help"));
    assert_int_equal(sim_fault_find(SPAN(""), &which, &e), -ENOENT);
}

static const struct row {
    const char *json;
    int result;
    const char *says; /* a part of the error and its hint */
} rows[] = {
    {"{}", 0, NULL},
    {" {\"errors\": 0.5 } ", 0, NULL},
    {"{\"\\u0065rrors\": 0.5}", 0, NULL},
    {"", -EINVAL, "not a JSON object"},
    {"[]", -EINVAL, "not a JSON object"},
    {"7", -EINVAL, "not a JSON object"},
    {"{\"errors\": 0.5", -EINVAL, "not a JSON object"},
    {"{\"errors\": 0.5} x", -EINVAL, "not a JSON object"},
    {"{\"errors\": }", -EINVAL, "not a JSON object"},
    {"{\"erors\": 1}", -ENOENT, "did you mean errors?"},
    {"{\"errors\": 1.5}", -ERANGE, "errors takes 0 to 1 (share), not 1.5"},
    {"{\"slow_gpu\": 0.5}", -ERANGE, "slow_gpu takes 1 to 1000 (times), not 0.5"},
    {"{\"errors\": \"many\"}", -EINVAL, "errors takes a number, true, false or null"},
    {"{\"errors\": [1]}", -EINVAL, "{\"errors\": 0.1}"},
    {"{\"errors\": {}}", -EINVAL, "errors takes a number"},
};

static void test_json_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sim_faults f = {0};
        struct sim_faults before;
        struct err e = {0};
        char all[2 + sizeof(e.text) + sizeof(e.hint)];

        sim_faults_set(&f, SIM_FAULT_SEQS_CAP, 3);
        before = f;
        assert_row(rows[i].json,
                   sim_faults_read(&f, span_cstr(rows[i].json), &e) == rows[i].result);
        (void)snprintf(all, sizeof(all), "%s; %s", e.text, e.hint);
        if (rows[i].result < 0) {
            assert_row(rows[i].json, memcmp(&before, &f, sizeof(f)) == 0);
            assert_row(rows[i].json, strstr(all, rows[i].says) != NULL);
        }
    }
}

/* What is right in front of a mistake does not count either. */
static void test_all_or_nothing(void **state)
{
    struct sim_faults f = {0};
    (void)state;
    assert_int_equal(sim_faults_read(&f, SPAN("{\"errors\": 1, \"slow_gpu\": 0}"), NULL), -ERANGE);
    assert_false(f.is_on[SIM_FAULT_ERRORS]);
    assert_int_equal(sim_faults_read(&f, SPAN("{\"errors\": 1, \"slow_gpu\": 2"), NULL), -EINVAL);
    assert_false(f.is_on[SIM_FAULT_ERRORS]);
}

static void test_prefixes(void **state)
{
    static const char text[] = "{\"errors\": 0.5, \"slow-gpu\": true, \"seqs_cap\": null}";
    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        char *exact = malloc(n + 1); /* a sanitizer sees a read behind the end */
        struct sim_faults f = {0};
        int r;

        assert_non_null(exact);
        memcpy(exact, text, n);
        r = sim_faults_read(&f, span_of(exact, n), NULL);
        assert_int_equal(r == 0, n == sizeof(text) - 1);
        assert_int_equal(f.is_on[SIM_FAULT_ERRORS], r == 0);
        free(exact);
    }
}

static void test_switching(void **state)
{
    struct sim_faults f = {0};
    struct jsonw w;
    struct buf out;
    (void)state;
    assert_int_equal(sim_faults_read(&f, SPAN("{\"errors\": true, \"seqs-cap\": 7}"), NULL), 0);
    assert_true(f.is_on[SIM_FAULT_ERRORS] && f.is_on[SIM_FAULT_SEQS_CAP]);
    assert_true(sim_faults_get(&f, SIM_FAULT_ERRORS, 0) == 0.1);
    assert_true(sim_faults_get(&f, SIM_FAULT_SEQS_CAP, 0) == 7);
    assert_true(sim_faults_get(&f, SIM_FAULT_SLOW_GPU, 1) == 1);
    assert_int_equal(sim_faults_read(&f, SPAN("{\"errors\": null, \"slow_gpu\": 2}"), NULL), 0);
    assert_false(f.is_on[SIM_FAULT_ERRORS]);
    assert_true(f.is_on[SIM_FAULT_SEQS_CAP]);
    buf_init(&out, MIB);
    jsonw_init(&w, &out);
    sim_faults_write(&f, &w);
    assert_int_equal(jsonw_error(&w), 0);
    assert_true(span_starts_with(
        buf_span(&out), SPAN("{\"active\":{\"slow_gpu\":2,\"seqs_cap\":7},\"faults\":[{\"name\":"
                             "\"load_surge\",\"unit\":\"requests/s\",\"default\":10,")));
    buf_done(&out);
    assert_int_equal(sim_faults_read(&f, SPAN("{\"seqs_cap\":false}"), NULL), 0);
    assert_false(f.is_on[SIM_FAULT_SEQS_CAP]);
    sim_faults_clear(&f, SIM_FAULT_SLOW_GPU);
    assert_memory_equal(&f, &(struct sim_faults){0}, sizeof(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_json_mistakes), cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_prefixes),      cmocka_unit_test(test_switching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
