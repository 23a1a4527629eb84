/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps whom quiet, and that it does not take longer the more there are.
 */
#include "harness.h"

#include <stdio.h>

#include "alert/inhibit.h"
#include "alert_kinds.h"
#include "base/clock.h"
#include "base/mem.h"

#define RULES(equal)                                                                               \
    "route: {receiver: a}\nreceivers: [{name: a}]\n"                                               \
    "inhibit_rules: [{source_matchers: [tier=P0], target_matchers: [tier=~\"P.*\"], equal: "       \
    "[" equal "]}]\n"

enum { MANY = 20000, NOW = 1000 };

struct many {
    struct alert_file *file;
    struct inhibit *ih;
    struct inhibit_source *sources;
    struct label (*labels)[2];
    char (*names)[16];
};

static void many_init(struct many *m, const char *rules)
{
    m->file = kind_file(rules);
    assert_int_equal(inhibit_new(m->file, &m->ih), 0);
    m->sources = mem_zalloc(MANY, sizeof(*m->sources));
    m->labels = mem_zalloc(MANY, sizeof(*m->labels));
    m->names = mem_zalloc(MANY, sizeof(*m->names));
    for (size_t i = 0; i < MANY; i++) {
        snprintf(m->names[i], sizeof(m->names[i]), "%zu", i);
        m->labels[i][0] = (struct label){SPAN("instance"), span_cstr(m->names[i])};
        m->labels[i][1] = (struct label){SPAN("tier"), SPAN("P0")};
        m->sources[i].labels = (struct labels){m->labels[i], 2};
        m->sources[i].until_ms = NOW + 1;
        assert_int_equal(inhibit_add(m->ih, &m->sources[i]), 0);
    }
}

static void many_done(struct many *m)
{
    inhibit_free(m->ih);
    alert_file_unref(m->file);
    mem_free(m->sources);
    mem_free(m->labels);
    mem_free(m->names);
}

static const struct inhibit_source *find(const struct many *m, const char *tier)
{
    const struct label l[] = {{SPAN("instance"), SPAN("7")}, {SPAN("tier"), span_cstr(tier)}};
    return inhibit_find(m->ih, (struct labels){l, 2}, NOW);
}

static void look_at_all(const struct many *m, const char *tier, bool is_any)
{
    mono_t start = clock_mono();
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(find(m, tier) != NULL, is_any);
    assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
}

static void thousands_of_one_kind_do_not_look_at_each_other(void **state)
{
    (void)state;
    struct many m;
    many_init(&m, RULES(""));
    look_at_all(&m, "P0", false); /* targets, too: they do not inhibit each other */
    look_at_all(&m, "P1", true);
    look_at_all(&m, "Q", false);
    many_done(&m);
}

static void those_that_ended_are_not_looked_at(void **state)
{
    (void)state;
    struct many m;
    many_init(&m, RULES(""));
    for (size_t i = 0; i < MANY; i++)
        inhibit_set(&m.sources[i], INT64_MIN);
    look_at_all(&m, "P1", false);
    inhibit_set(&m.sources[MANY / 2], NOW + 1);
    assert_ptr_equal(find(&m, "P1"), &m.sources[MANY / 2]);
    look_at_all(&m, "P1", true);
    for (size_t i = 0; i < MANY; i++)
        inhibit_remove(m.ih, &m.sources[i]);
    look_at_all(&m, "P1", false);
    many_done(&m);
}

static void only_equal_ones(void **state)
{
    (void)state;
    struct many m;
    many_init(&m, RULES("instance"));
    assert_ptr_equal(find(&m, "P1"), &m.sources[7]);
    inhibit_set(&m.sources[7], NOW);
    assert_null(find(&m, "P1"));
    inhibit_remove(m.ih, &m.sources[7]);
    inhibit_remove(m.ih, &m.sources[7]); /* that is not in */
    assert_null(find(&m, "P1"));
    many_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_one_kind_do_not_look_at_each_other),
        cmocka_unit_test(those_that_ended_are_not_looked_at),
        cmocka_unit_test(only_equal_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
