/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about incidents as people read them; what is no answer, cut anywhere. */
#include <errno.h>

#include "cli/incident_show.h"
#include "harness.h"

#define LIST                                                                                       \
    "{\"status\":\"success\",\"data\":[{\"id\":\"20231114T2214-2\",\"state\":\"open\",\"tier\":"   \
    "\"P0\",\"started_at\":\"2023-11-14T22:14:00.000Z\",\"ended_at\":null,\"alerts\":[\"Slow\","   \
    "\"Err\\u001b[2Jors\"],\"times_fired\":2,\"firing\":2,\"notes\":0,\"acknowledged_by\":null,"   \
    "\"acknowledged_at\":null,\"is_noise\":false},{\"id\":\"20231114T2014-1\",\"state\":"          \
    "\"closed\",\"tier\":\"P1\",\"started_at\":\"2023-11-14T20:14:00.000Z\",\"ended_at\":"         \
    "\"2023-11-14T20:26:05.000Z\",\"alerts\":[\"Slow\"],\"times_fired\":1,\"firing\":0,\"notes\":" \
    "1,\"acknowledged_by\":\"ann\",\"acknowledged_at\":\"2023-11-14T20:15:00.000Z\",\"is_noise\":" \
    "true}]}"

#define ONE                                                                                        \
    "{\"status\":\"success\",\"data\":{\"id\":\"20231114T2214-2\",\"state\":\"closed\",\"tier\":"  \
    "\"P0\",\"started_at\":\"2023-11-14T22:14:00.000Z\",\"ended_at\":"                             \
    "\"2023-11-14T22:17:00.000Z\",\"acknowledged_by\":\"ann\",\"alerts\":[{\"name\":\"Slow\","     \
    "\"tier\":\"P0\",\"is_firing\":false,\"is_noise\":true,\"started_at\":"                        \
    "\"2023-11-14T22:14:00.000Z\",\"ended_at\":\"2023-11-14T22:17:00.000Z\",\"value\":3.5,"        \
    "\"last_value\":null,\"labels\":{\"alertname\":\"Slow\",\"model\":\"a\",\"tier\":\"P0\"},"     \
    "\"annotations\":{\"summary\":\"it is slow\"},\"evidence\":{\"exemplar_requests\":\"r1, r2\"}" \
    "}],\"notes\":[{\"at\":\"2023-11-14T22:15:00.000Z\",\"author\":\"bob\",\"text\":\"a\\nb\"}],"  \
    "\"marks\":[{\"at\":\"2023-11-14T22:16:00.000Z\",\"author\":\"ann\",\"act\":\"noise\","        \
    "\"alert\":\"Slow\"}],\"curves\":[{\"name\":\"ttft\",\"title\":\"First token\",\"unit\":"      \
    "\"s\",\"from\":\"2023-11-14T21:44:00.000Z\",\"step_seconds\":15,\"series\":[{\"labels\":{"    \
    "\"model\":\"a\"},\"values\":[0,null,8]}]},{\"name\":\"none\",\"title\":\"Nothing\","          \
    "\"series\":[]}]}}"

static int show(int (*how)(struct span json, size_t width, struct buf *out), struct span json,
                const char *want)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    int r = how(json, 40, &b);
    if (want)
        assert_span_equal("shown", buf_span(&b), span_cstr(want));
    buf_done(&b);
    return r;
}

static void a_list(void **state)
{
    (void)state;
    assert_int_equal(show(incident_show_list, SPAN(LIST),
                          "20231114T2214-2  P0  open  from 2023-11-14 22:14:00 UTC\n"
                          "    Slow, Err?[2Jors\n"
                          "20231114T2014-1  P1  closed  from 2023-11-14 20:14:00 UTC, 12 min 5 s, "
                          "acknowledged by ann, 1 note, noise\n"
                          "    Slow\n"),
                     0);
    assert_int_equal(show(incident_show_list, SPAN("{\"data\":[]}"), "nothing went wrong\n"), 0);
}

static void one(void **state)
{
    (void)state;
    assert_int_equal(
        show(incident_show_one, SPAN(ONE),
             "20231114T2214-2  P0  closed  from 2023-11-14 22:14:00 UTC, 3 min 0 s, acknowledged "
             "by ann\n"
             "\nalerts\n"
             "  P0  Slow  from 2023-11-14 22:14:00, 3 min 0 s, value 3.5, last NaN, noise\n"
             "      model=a\n"
             "      it is slow\n"
             "      requests: r1, r2\n"
             "\ncurves (UTC)\n"
             "  First token, s, from 2023-11-14 21:44:00\n"
             "    ▁·█  up to 8  model=a\n"
             "\nnotes\n"
             "  2023-11-14 22:15:00  bob\n"
             "      a\n"
             "      b\n"
             "\nmarks\n"
             "  2023-11-14 22:16:00  ann: noise Slow\n"),
        0);
}

static void what_is_no_answer(void **state)
{
    (void)state;
    static const char *const rows[] = {"", "{}", "[]", "{\"data\":7}", "{\"data\":[7]}", "<html>"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(show(incident_show_list, span_cstr(rows[i]), NULL), -EPROTO);
        assert_int_equal(show(incident_show_one, span_cstr(rows[i]), NULL), -EPROTO);
    }
    for (size_t n = 0; n < sizeof(ONE) - 1; n++)
        assert_int_equal(show(incident_show_one, span_of(ONE, n), NULL), -EPROTO);
    for (size_t n = 0; n < sizeof(LIST) - 1; n++)
        assert_int_equal(show(incident_show_list, span_of(LIST, n), NULL), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),
        cmocka_unit_test(one),
        cmocka_unit_test(what_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
