/* SPDX-License-Identifier: Apache-2.0 */
/* What answers say; what is no such answer changes nothing. */
#include "harness.h"

#include <errno.h>
#include <math.h>

#include "base/attr.h"
#include "base/buf.h"
#include "top/lists.h"

static void other_answers(void **state)
{
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "{}",
                                        "{\"data\":7}",
                                        "{\"requests\":{}}",
                                        "{\"data\":{\"alerts\":1,\"result\":\"x\"}}",
                                        "{\"upstreams\":3}"};
    int (*const takes[])(struct top_lists * l, struct span json) = {
        top_lists_status, top_lists_flights, top_lists_alerts, top_lists_engines};
    struct top_lists l;
    (void)state;
    top_lists_init(&l);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t k = 0; k < ARRAY_LEN(takes); k++)
            assert_int_equal(takes[k](&l, span_cstr(texts[i])), -EPROTO);
    assert_int_equal(top_lists_flights(&l, SPAN("{\"requests\":[1,{\"model\":2}]}")), 0);
    assert_int_equal(l.n_flights, 2);
    assert_true(isnan(l.flights[0].age_ms) && l.flights[0].model.n == 0);
    top_lists_done(&l);
}

static void engines(void **state)
{
    static const char answer[] =
        "{\"data\":{\"result\":["
        "{\"metric\":{\"__name__\":\"engine_running\"},\"value\":[1,\"3\"]},"
        "{\"metric\":{\"__name__\":\"engine_running\"},\"value\":[1,\"4\"]},"
        "{\"metric\":{\"__name__\":\"engine_kv_usage_ratio\"},\"value\":[1,\"0.5\"]},"
        "{\"metric\":{\"__name__\":\"engine_kv_usage_ratio\"},\"value\":[1,\"0.25\"]},"
        "{\"metric\":{\"__name__\":\"gpu_utilization_ratio\"},\"value\":[1,\"1\"]},"
        "{\"metric\":{\"__name__\":\"gpu_utilization_ratio\"},\"value\":[1,\"0\"]},"
        "{\"metric\":{\"__name__\":\"gpu_utilization_ratio\"},\"value\":[1,\"NaN\"]}]}}";
    struct top_lists l;
    (void)state;
    top_lists_init(&l);
    assert_int_equal(top_lists_engines(&l, span_cstr(answer)), 0);
    assert_true(l.running == 7 && l.kv_ratio_max == 0.5 && l.gpu_ratio_mean == 0.5);
    assert_true(isnan(l.waiting)); /* nobody tells it */
    top_lists_reset(&l);
    assert_true(isnan(l.running));
    top_lists_done(&l);
}

static void a_list_has_an_end(void **state)
{
    struct buf b;
    struct top_lists l;
    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_append(&b, SPAN("{\"requests\":[{\"age_ms\":0}")), 0);
    for (int i = 1; i < TOP_LIST_MAX + 5; i++)
        assert_int_equal(buf_printf(&b, ",{\"age_ms\":%d}", i), 0);
    assert_int_equal(buf_append(&b, SPAN("]}")), 0);
    top_lists_init(&l);
    assert_int_equal(top_lists_flights(&l, buf_span(&b)), 0);
    assert_int_equal(l.n_flights, TOP_LIST_MAX);
    assert_int_equal(l.n_more_flights, 5);
    assert_true(l.flights[0].age_ms > l.flights[1].age_ms);
    top_lists_done(&l);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_answers), cmocka_unit_test(engines),
                                       cmocka_unit_test(a_list_has_an_end)};
    return cmocka_run_group_tests_name("top/lists", tests, NULL, NULL);
}
