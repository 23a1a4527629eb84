/* SPDX-License-Identifier: Apache-2.0 */
/* What opens an incident, what joins it, what ends it; the clock, and the process that ends. */
#include "rig.h"

static struct rig rig;
#define ID "20231114T2214-1"

static int setup(void **state)
{
    (void)state;
    rig_start(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_stop(&rig);
    return 0;
}

static void put(const char *name, const char *model, const char *tier, bool is_resolved)
{
    const struct told t = {name, model, tier, rig.now_ms, is_resolved, 1};
    assert_int_equal(rig_put(&rig, &t), 0);
}

static void the_first_grave_alert_opens_one(void **state)
{
    (void)state;
    static const struct {
        const char *tier;
        int n;
    } rows[] = {{"P2", 0}, {"", 0}, {"p0", 0}, {"P1", 1}, {"P0", 1}};
    assert_string_equal(rig_list(&rig), "[]");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put("Slow", "a", rows[i].tier, false);
        assert_row(rows[i].tier, rig_n(&rig) == rows[i].n);
    }
    assert_has(rig_list(&rig), "\"id\":\"" ID "\",\"state\":\"open\",\"tier\":\"P0\","
                               "\"started_at\":\"2023-11-14T22:14:00.000Z\",\"ended_at\":null,"
                               "\"alerts\":[\"Slow\"],\"times_fired\":2,\"firing\":2");
}

static void a_resolved_alert_opens_none(void **state)
{
    (void)state;
    put("Slow", "a", "P1", true);
    assert_int_equal(rig_n(&rig), 0);
}

static void alerts_that_begin_meanwhile_join(void **state)
{
    (void)state;
    put("Slow", "a", "P1", false);
    put("Slow", "b", "P1", false);
    put("Errors", "a", "P0", false);
    put("Errors", "a", "P2", false);
    assert_has(rig_list(&rig), "\"alerts\":[\"Slow\",\"Errors\"],\"times_fired\":3,\"firing\":3");
    put("Slow", "a", "P1", true);
    put("Errors", "a", "P0", true);
    rig_go(&rig, MINUTE, NULL);
    assert_has(rig_list(&rig), "\"state\":\"open\",\"tier\":\"P0\"");
    assert_has(rig_list(&rig), "\"times_fired\":3,\"firing\":1");
    put("Slow", "b", "P1", true);
    assert_has(rig_list(&rig), "\"state\":\"ending\"");
}

static void the_same_notice_changes_nothing(void **state)
{
    (void)state;
    static char before[sizeof(rig.text)];
    rig_fire(&rig, "Slow");
    strcpy(before, rig_one(&rig, ID));
    for (int i = 0; i < 30; i++) {
        rig.now_ms += MINUTE;
        rig_fire_at(&rig, "Slow", T0);
        assert_int_equal(incidents_tick(rig.incidents, NULL, rig.now_ms), 0);
    }
    assert_string_equal(rig_one(&rig, ID), before);
    rig_resolve(&rig, "Slow", T0);
    strcpy(before, rig_one(&rig, ID));
    for (int i = 0; i < 4; i++) {
        rig.now_ms += MINUTE;
        rig_resolve(&rig, "Slow", T0);
    }
    assert_string_equal(rig_one(&rig, ID), before);
}

static void it_ends_when_nothing_fires_for_a_while(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_go(&rig, 3 * MINUTE, NULL);
    rig_resolve(&rig, "Slow", T0);
    rig_go(&rig, INCIDENT_LINGER_MS - S, NULL);
    assert_has(rig_list(&rig), "\"state\":\"ending\"");
    rig_go(&rig, S, NULL);
    assert_has(rig_list(&rig), "\"state\":\"closed\",\"tier\":\"P1\","
                               "\"started_at\":\"2023-11-14T22:14:00.000Z\","
                               "\"ended_at\":\"2023-11-14T22:17:00.000Z\"");
    rig_fire(&rig, "Slow");
    assert_int_equal(rig_n(&rig), 2);
    assert_has(rig_list(&rig), "\"id\":\"20231114T2222-2\"");
}

static void flaps_are_one_incident(void **state)
{
    (void)state;
    int64_t from = rig.now_ms;
    for (int i = 0; i < 5; i++) {
        from = rig.now_ms;
        rig_fire_at(&rig, "Slow", from);
        rig_go(&rig, MINUTE, NULL);
        rig_resolve(&rig, "Slow", from);
        rig_go(&rig, INCIDENT_LINGER_MS - S, NULL);
    }
    assert_int_equal(rig_n(&rig), 1);
    assert_has(rig_list(&rig), "\"times_fired\":5,\"firing\":0");
    rig_go(&rig, S, NULL);
    assert_int_equal(rig_n_of(&rig, "closed"), 1);
}

/* A rule that is gone, or a gateway that does not evaluate it any more. */
static void an_alert_that_is_not_told_any_more_ends(void **state)
{
    (void)state;
    rig_go(&rig, 20 * MINUTE, NULL);
    rig_fire(&rig, "Slow");
    rig_go(&rig, 4 * MINUTE - S, NULL);
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    rig_go(&rig, S, NULL);
    assert_has(rig_list(&rig), "\"state\":\"ending\"");
    assert_has(rig_list(&rig), "\"ended_at\":\"2023-11-14T22:38:00.000Z\"");
    rig_fire_at(&rig, "Slow", rig.now_ms - 4 * MINUTE); /* told again after all */
    assert_has(rig_list(&rig), "\"state\":\"open\"");
    assert_has(rig_list(&rig), "\"times_fired\":1");
}

static void values_and_evidence_are_kept(void **state)
{
    (void)state;
    struct told t = {"Slow", "a", "P1", T0, false, 3.5};
    const struct label labels[] = {
        {SPAN("alertname"), SPAN("Slow")}, {SPAN("model"), SPAN("a")}, {SPAN("tier"), SPAN("P1")}};
    const struct label found[] = {{SPAN("evidence"), SPAN("9 of 20 failed")},
                                  {SPAN("exemplar_requests"), SPAN("r1, r2")}};
    struct labels alert = {labels, 3}, none = {labels, 1}, evidence = {found, 2};
    assert_int_equal(rig_put(&rig, &t), 0);
    assert_int_equal(incidents_evidence(rig.incidents, alert, evidence, T0), 0);
    assert_int_equal(incidents_evidence(rig.incidents, none, evidence, T0), 0);
    t.value = 7;
    rig.now_ms += MINUTE;
    assert_int_equal(rig_put(&rig, &t), 0);
    for (int i = 0; i < 2; i++) {
        const char *one = rig_one(&rig, ID);
        assert_has(one, "\"value\":3.5,\"last_value\":7,\"labels\":{\"alertname\":\"Slow\","
                        "\"model\":\"a\",\"tier\":\"P1\"},\"annotations\":{\"summary\":"
                        "\"it is slow\"},\"evidence\":{\"evidence\":\"9 of 20 failed\","
                        "\"exemplar_requests\":\"r1, r2\"},\"requests\":[\"r1\",\"r2\"],"
                        "\"expr\":\"x > 1\",\"generator_url\":\"http://127.0.0.1/x\"");
        rig_restart(&rig);
    }
    rig_resolve(&rig, "Slow", T0);
    assert_has(rig_one(&rig, ID), "\"is_firing\":false");
}

/* --- the clock, and the end of the process --- */

static void a_restart_goes_on_in_every_state(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_go(&rig, MINUTE, NULL);
    rig_restart(&rig); /* open */
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    rig_go(&rig, 14 * MINUTE, NULL); /* longer than it was told to hold: rules begin anew */
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    rig_fire(&rig, "Slow"); /* from another moment, since its rule began anew, too */
    assert_has(rig_list(&rig), "\"times_fired\":1");
    rig_resolve(&rig, "Slow", rig.now_ms);
    rig_go(&rig, MINUTE, NULL);
    rig_restart(&rig); /* lingering */
    assert_int_equal(rig_n_of(&rig, "ending"), 1);
    rig_go(&rig, 4 * MINUTE - S, NULL);
    assert_int_equal(rig_n_of(&rig, "ending"), 1);
    rig_go(&rig, S, NULL);
    assert_int_equal(rig_n_of(&rig, "closed"), 1);
    struct incidents_stats stats;
    rig_restart(&rig); /* waiting for curves */
    incidents_stats(rig.incidents, &stats);
    assert_int_equal(stats.n_waiting, 1);
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    rig_go(&rig, 7 * MINUTE, memory_reader(m));
    incidents_stats(rig.incidents, &stats);
    assert_int_equal(stats.n_waiting, 0);
    memory_free(m);
    rig_restart(&rig); /* done */
    assert_int_equal(rig_n_of(&rig, "closed"), 1);
    assert_int_equal(rig_n(&rig), 1);
}

static void what_fired_before_a_long_pause_ends_when_nobody_tells_of_it(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_restart(&rig);
    rig.now_ms += 3 * HOUR;
    rig_go(&rig, 14 * MINUTE, NULL);
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    rig_go(&rig, 2 * MINUTE, NULL);
    assert_has(rig_list(&rig), "\"ended_at\":\"2023-11-14T22:18:00.000Z\"");
}

/* While it lingers, while it fires, while it waits. */
static void a_step_of_the_clock_ends_nothing(void **state)
{
    (void)state;
    static const int64_t steps[] = {HOUR, -HOUR, 400 * DAY, -300 * DAY};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int64_t from = rig.now_ms;
        rig_go(&rig, S, NULL);
        rig_fire_at(&rig, "Slow", from);
        rig.now_ms += steps[i];
        rig_go(&rig, 10 * MINUTE, NULL);
        assert_row("fires", rig_n_of(&rig, "open") == 1);
        rig_fire_at(&rig, "Slow", from);
        rig_resolve(&rig, "Slow", from);
        rig_go(&rig, MINUTE, NULL);
        rig.now_ms += steps[i];
        rig_go(&rig, 3 * MINUTE, NULL);
        assert_row("lingers", rig_n_of(&rig, "ending") == 1);
        rig_go(&rig, 2 * MINUTE, NULL);
        assert_row("closed", rig_n_of(&rig, "ending") == 0);
        assert_row("all", rig_n(&rig) == (int)i + 1);
    }
}

static void what_is_old_goes(void **state)
{
    (void)state;
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    rig.keep_ms = 30 * DAY;
    rig_restart(&rig);
    rig_fire(&rig, "Slow");
    rig_resolve(&rig, "Slow", T0);
    rig_go(&rig, 20 * MINUTE, memory_reader(m));
    rig_restart(&rig);
    rig.now_ms = T0 + 30 * DAY - HOUR;
    rig_go(&rig, MINUTE, NULL);
    rig_fire(&rig, "Errors");
    rig_go(&rig, 58 * MINUTE, NULL);
    assert_int_equal(rig_n(&rig), 2);
    rig_go(&rig, 5 * MINUTE, NULL);
    assert_int_equal(rig_n(&rig), 1); /* what is not over stays */
    assert_has(rig_list(&rig), "Errors");
    /* A clock that is set forward for a moment costs nothing. */
    rig_resolve(&rig, "Errors", rig.now_ms);
    rig_go(&rig, 20 * MINUTE, memory_reader(m));
    rig.now_ms += 400 * DAY;
    rig_go(&rig, 2 * HOUR, NULL);
    assert_int_equal(rig_n(&rig), 1);
    memory_free(m);
}

static void an_endless_flap_is_bounded(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < INCIDENT_ALERTS_MAX + 5; i++) {
        snprintf(name, sizeof(name), "Slow%d", i);
        rig_fire(&rig, name);
    }
    assert_has(rig_list(&rig), "\"times_fired\":1000,\"firing\":1000");
    assert_has(rig_one(&rig, ID), "\"has_more_alerts\":true");
    rig_resolve(&rig, "Slow7", T0);
    rig.now_ms += MINUTE;
    rig_fire(&rig, "Slow7"); /* goes on, since there is no room for another time */
    assert_has(rig_list(&rig), "\"times_fired\":1000,\"firing\":1000");
}

/* A template may make much of a label; that keeps nothing else from the disk. */
static void labels_of_megabytes_are_kept(void **state)
{
    (void)state;
    enum { BYTES = 2 * 1024 * 1024 };
    char *model = mem_alloc(BYTES + 1);
    assert_non_null(model);
    memset(model, 'a', BYTES);
    model[BYTES] = '\0';
    const struct told t = {"Slow", model, "P1", T0, false, 3};
    assert_int_equal(rig_put(&rig, &t), 0);
    mem_free(model);
    rig_fire(&rig, "Slow2");
    rig_restart(&rig);
    assert_has(rig_list(&rig), "\"alerts\":[\"Slow\",\"Slow2\"],\"times_fired\":2");
}

/* Nobody gives readers: old ones do without the rest of their curves. */
static void those_that_wait_are_bounded(void **state)
{
    (void)state;
    struct incidents_stats stats;
    for (int i = 0; i < 70; i++) {
        int64_t from = rig.now_ms;
        rig_fire(&rig, "Slow");
        rig_resolve(&rig, "Slow", from);
        rig_go(&rig, 6 * MINUTE, NULL);
    }
    incidents_stats(rig.incidents, &stats);
    assert_int_equal(stats.n_waiting, 64);
    assert_int_equal(stats.n_lost, 0);
    assert_int_equal(rig_n(&rig), 70);
    rig_restart(&rig);
    assert_int_equal(rig_n(&rig), 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_grave_alert_opens_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_resolved_alert_opens_none, setup, teardown),
        cmocka_unit_test_setup_teardown(alerts_that_begin_meanwhile_join, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_notice_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(it_ends_when_nothing_fires_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(flaps_are_one_incident, setup, teardown),
        cmocka_unit_test_setup_teardown(an_alert_that_is_not_told_any_more_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(values_and_evidence_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_goes_on_in_every_state, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fired_before_a_long_pause_ends_when_nobody_tells_of_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_of_the_clock_ends_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_old_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(an_endless_flap_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_of_megabytes_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(those_that_wait_are_bounded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
