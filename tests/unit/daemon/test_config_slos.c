/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "slos": what holds, what is refused with which advice, what it does to histograms, and the series
 * that are there before any request.
 */
#include "config_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/config_slos.h"
#include "daemon/objectives.h"
#include "memfail.h"

#define UPSTREAM "upstreams: [{name: u, url: 'http://127.0.0.1:8000'}]\n"

static struct config *must_load(const char *text)
{
    struct config *c = NULL;
    int r = load_span(span_cstr(text), true, &c);

    return must_be_loaded(text, r, c);
}

static void test_presets_and_what_was_told(void **state)
{
    struct config *c =
        must_load(UPSTREAM "labels: [team]\n"
                           "slos:\n"
                           "  - chat\n"
                           "  - name: fast\n"
                           "    objectives: {ttft: 250ms, queue: none, goodput: 97.5%,\n"
                           "                 errors: {target: 99.99%}, e2e: {threshold: 2m, "
                           "target: 90 %}}\n"
                           "    preset: completion\n"
                           "    match: {model: [a, 'b*'], stream: true, team: red}\n"
                           "    window: 7d\n"
                           "    min_bad: 20\n");
    const struct slo *s;

    (void)state;
    assert_int_equal(c->slo_set->n, 2);
    s = &c->slo_set->items[0];
    assert_string_equal(s->name, "chat");
    assert_int_equal(s->n_matches, 0);
    assert_int_equal(s->window_ms, SLO_WINDOW_MS);
    assert_int_equal(s->min_bad, 6);
    assert_memory_equal(s->targets, slo_presets[0].targets, sizeof(s->targets));
    s = &c->slo_set->items[1];
    assert_int_equal(s->targets[SLO_TTFT].threshold_ns, 250 * NS_PER_MS);
    assert_true(s->targets[SLO_TTFT].target == 0.99); /* the preset's */
    assert_int_equal(s->targets[SLO_TPOT].threshold_ns, 30 * NS_PER_MS);
    assert_false(s->targets[SLO_QUEUE].is_set);
    assert_true(s->targets[SLO_ERRORS].target == 0.9999);
    assert_true(s->targets[SLO_GOODPUT].is_set && s->targets[SLO_GOODPUT].target == 0.975);
    assert_true(s->targets[SLO_E2E].target == 0.9);
    assert_int_equal(s->targets[SLO_E2E].threshold_ns, 120 * NS_PER_S);
    assert_int_equal(s->n_matches, 3);
    assert_int_equal(s->matches[0].label, SLO_LABEL_MODEL);
    assert_string_equal(s->matches[0].values[1], "b*");
    assert_int_equal(s->matches[1].label, SLO_LABEL_STREAM);
    assert_int_equal(s->matches[2].label, SLO_LABEL_BUSINESS);
    assert_string_equal(s->matches[2].name, "team");
    assert_int_equal(s->window_ms, 7 * 86400000);
    assert_int_equal(s->min_bad, 20);
    config_unref(c);
}

static const struct {
    const char *text;
    int line, column;
    const char *message, *hint;
} mistakes[] = {
    {"slos: [{preset: chta}]\n", 2, 17, "there is no preset \"chta\"", "did you mean \"chat\"?"},
    {"slos: [gold]\n", 2, 8, "there is no preset \"gold\"", "chat, completion and batch"},
    {"slos: [{objectives: {errors: 99%}}]\n", 2, 8, "an SLO without \"name\"", "name: chat"},
    {"slos: [{name: a}]\n", 2, 8, "an SLO without objectives", "preset: chat"},
    {"slos: [{name: chat, objectives: {errors: none}}]\n", 2, 8, "without objectives", ""},
    {"slos: [chat, {name: chat, preset: batch}]\n", 2, 14, "an SLO \"chat\" stands twice",
     "another name"},
    {"slos: [{name: other, preset: chat}]\n", 2, 15, "\"other\" is no name for an SLO",
     "neither other nor none"},
    {"slos: [{name: 'a b', preset: chat}]\n", 2, 15, "is no name", "letters, digits"},
    {"slos: [{name: a, objectives: {ttft: {threshold: 3, target: 99%}}}]\n", 2, 49,
     "\"3\" has no unit", "did you mean 3s?"},
    {"slos: [{name: a, objectives: {ttft: {threshold: 3s}}}]\n", 2, 31,
     "objective \"ttft\" without a target", "ttft: {threshold: 3s, target: 99%}"},
    {"slos: [{name: a, objectives: {tpot: {target: 99%}}}]\n", 2, 31,
     "objective \"tpot\" without a threshold", "tpot: {threshold"},
    {"slos: [{name: a, objectives: {errors: 101%}}]\n", 2, 39,
     "a target of 101% is more than all requests", "99.5%"},
    {"slos: [{name: a, objectives: {errors: 0%}}]\n", 2, 39, "met by nothing at all", "99.5%"},
    {"slos: [{name: a, objectives: {errors: 0.99}}]\n", 2, 39, "\"0.99\" is not a percentage",
     "99.5%"},
    {"slos: [{name: a, objectives: {errors: 9.9.9%}}]\n", 2, 39, "is not a percentage", "99.5%"},
    {"slos: [{name: a, objectives: {errors: '-5%'}}]\n", 2, 39, "is not a percentage", "99.5%"},
    {"slos: [{name: a, objectives: {errors: 100%}}]\n", 2, 31, "no budget", "99.9%"},
    {"slos: [{name: a, objectives: {errors: 80%}}]\n", 2, 31, "80 % can never page", "83.34%"},
    {"slos: [{name: a, objectives: {latency: 3s}}]\n", 2, 31, "there is no objective \"latency\"",
     "ttft, tpot, queue"},
    {"slos: [{name: a, objectives: {ttfb: 3s}}]\n", 2, 31, "there is no objective", "\"ttft\"?"},
    {"slos: [{name: a, objectives: {ttft: {treshold: 3s, target: 99%}}}]\n", 2, 38,
     "unknown key \"treshold\" in objective \"ttft\"", "\"threshold\"?"},
    {"slos: [{name: a, objectives: {errors: {threshold: 3s, target: 99%}}}]\n", 2, 40,
     "unknown key \"threshold\" in objective \"errors\"", "target"},
    {"slos: [{name: a, objectives: {ttft: {threshold: 25h, target: 99%}}}]\n", 2, 49, "at most 24h",
     "3s"},
    {"slos: [{name: a, objectives: {ttft: {threshold: 0s, target: 99%}}}]\n", 2, 49, "more than 0",
     "3s"},
    {"slos: [{name: a, objectives: [ttft]}]\n", 2, 30, "has to be a mapping from objectives", ""},
    {"slos: [{preset: chat, match: {modle: a}}]\n", 2, 31, "there is no label \"modle\"",
     "\"model\"?"},
    {"slos: [{preset: chat, match: {department: a}}]\n", 2, 31, "there is no label \"department\"",
     "\"labels\" names"},
    {"slos: [{preset: chat, match: {stream: yes}}]\n", 2, 39, "true or false", "stream: true"},
    {"slos: [{preset: chat, match: {model: []}}]\n", 2, 38, "1 to 100 values", ""},
    {"slos: [{preset: chat, match: {model: {a: b}}}]\n", 2, 38, "", ""},
    {"slos: [{preset: chat, match: qwen}]\n", 2, 30, "has to be a mapping from labels", ""},
    {"slos: [{preset: chat, match: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}}]\n", 2,
     30, "too many labels", "8"},
    {"slos: [{preset: chat, window: 90m}]\n", 2, 31, "out of range", "1d"},
    {"slos: [{preset: chat, window: 1501m}]\n", 2, 8, "no whole hours", "30d"},
    {"slos: [{preset: chat, min_bad: 0}]\n", 2, 32, "out of range", "1 to 1000000"},
    {"slos: [{preset: chat, windows: 30d}]\n", 2, 23, "unknown key \"windows\" of an SLO",
     "\"window\"?"},
    {"slos: {preset: chat}\n", 2, 7, "has to be a list", "- "},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct config *c = NULL;
        char text[512];

        snprintf(text, sizeof(text), UPSTREAM "%s", mistakes[i].text);
        assert_row(text, load_span(span_cstr(text), true, &c) == -EINVAL);
        if (errs.items[0].line != mistakes[i].line || errs.items[0].column != mistakes[i].column ||
            !strstr(errs.items[0].err.text, mistakes[i].message) ||
            !strstr(errs.items[0].err.hint, mistakes[i].hint))
            err_list_print(&errs, stderr);
        assert_row(text, errs.items[0].line == mistakes[i].line);
        assert_row(text, errs.items[0].column == mistakes[i].column);
        assert_row(text, strstr(errs.items[0].err.text, mistakes[i].message) != NULL);
        assert_row(text, strstr(errs.items[0].err.hint, mistakes[i].hint) != NULL);
        assert_null(c);
    }
}

/* n is 0 where the family has no bounds of its own. */
static struct metrics_bounds bounds_of(const struct config *c, enum metric m)
{
    for (size_t i = 0; i < c->all_bounds.n; i++) {
        if (c->all_bounds.items[i].metric == m)
            return c->all_bounds.items[i];
    }
    return (struct metrics_bounds){0};
}

static bool has_bound(struct metrics_bounds b, int64_t v)
{
    for (size_t i = 0; i < b.n; i++) {
        if (b.values[i] == v)
            return true;
    }
    return false;
}

/* Every threshold is a bound of its histogram, beside those that are there anyway. */
static void test_bounds(void **state)
{
    struct config *c = must_load(
        UPSTREAM "metrics: {bounds: {llm_tpot_seconds: [10ms, 20ms], llm_icl_seconds: [5ms]}}\n"
                 "slos: [{name: a, preset: chat, objectives: {ttft: 2750ms, e2e: {threshold: 77s, "
                 "target: 99%}}}, {name: b, preset: chat, objectives: {ttft: 2750ms}}]\n");
    struct metrics_bounds ttft = bounds_of(c, METRIC_TTFT);
    struct metrics_bounds tpot = bounds_of(c, METRIC_TPOT);

    (void)state;
    assert_int_equal(ttft.n, family_table[METRIC_TTFT].n_default_bounds + 1);
    assert_true(has_bound(ttft, 2750 * NS_PER_MS) && has_bound(ttft, 3 * NS_PER_S));
    for (size_t i = 1; i < ttft.n; i++)
        assert_true(ttft.values[i] > ttft.values[i - 1]);
    assert_int_equal(tpot.n, 3);
    assert_int_equal(tpot.values[2], 50 * NS_PER_MS);
    assert_true(has_bound(bounds_of(c, METRIC_E2E), 77 * NS_PER_S));
    assert_int_equal(bounds_of(c, METRIC_QUEUE).n, family_table[METRIC_QUEUE].n_default_bounds);
    assert_int_equal(bounds_of(c, METRIC_ICL).n, 1);
    assert_int_equal(c->bounds.n, 2); /* what is shown is what was told */
    config_unref(c);
}

static void test_too_many_bounds(void **state)
{
    struct config *c = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, 64 * 1024);
    assert_int_equal(buf_append(&text, SPAN(UPSTREAM "slos:\n")), 0);
    for (int i = 0; i < 16; i++)
        assert_int_equal(buf_printf(&text,
                                    "  - {name: s%d, preset: chat, objectives: {ttft: %dms}}\n", i,
                                    1234 + i),
                         0);
    assert_int_equal(load_span(buf_span(&text), true, &c), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "llm_ttft_seconds would have 41 bounds"));
    buf_done(&text);
}

/* SLOs come, go and change on a reload. */
static void test_reload_class(void **state)
{
    static const char *const texts[] = {
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: x}}]\n",
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: y}}]\n",
        UPSTREAM "slos: [{name: a, preset: batch, match: {model: x}}]\n",
        UPSTREAM "slos: [{name: b, preset: chat, match: {model: x}}]\n",
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: x}, objectives: {ttft: 1s}}]\n",
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: x}, window: 7d}]\n",
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: x}}, batch]\n",
        UPSTREAM,
    };
    const char *paths[CONFIG_KEYS_MAX];
    struct config *a = must_load(texts[0]), *same = must_load(texts[0]);

    (void)state;
    assert_int_equal(config_diff(a, same, CONFIG_RELOAD, paths), 0);
    for (size_t i = 1; i < ARRAY_LEN(texts); i++) {
        struct config *b = must_load(texts[i]);

        assert_row(texts[i], config_diff(a, b, CONFIG_RESTART, paths) == 0);
        assert_row(texts[i], config_diff(a, b, CONFIG_RELOAD, paths) == 1);
        assert_string_equal(paths[0], "slos");
        config_unref(b);
    }
    config_unref(same);
    config_unref(a);
}

static void test_shown(void **state)
{
    struct config *c = must_load(
        UPSTREAM "slos: [{name: a, preset: chat, match: {model: ['q*', \"x: y\"], tenant: t}, "
                 "objectives: {ttft: {threshold: 1500ms, target: 99.9%}, tpot: 40ms, queue: none, "
                 "goodput: 98.25%}}]\n");
    struct buf out;
    struct config *back = NULL;
    const char *paths[CONFIG_KEYS_MAX];

    (void)state;
    buf_init(&out, 64 * 1024);
    assert_int_equal(config_to_yaml(c, &out), 0);
    assert_int_equal(load_span(buf_span(&out), true, &back), 0);
    assert_int_equal(config_diff(c, back, CONFIG_RELOAD, paths), 0);
    buf_done(&out);
    config_unref(back);
    config_unref(c);
}

/* --- series before the first request --- */

struct seen {
    size_t n, n_named;
};

static int count_series(void *ctx, const struct metrics_sample *s)
{
    struct seen *seen = ctx;

    if (s->metric != METRIC_SLO)
        return 0;
    assert_int_equal(s->value, 0);
    seen->n++;
    seen->n_named += strcmp(s->labels[0].value, "m1") == 0 && strcmp(s->labels[1].value, "u") == 0;
    return 0;
}

static void test_announced(void **state)
{
    struct config *c = must_load(UPSTREAM "slos: [{name: a, match: {model: [m1, m2, 'q*']}, "
                                          "objectives: {errors: 99%}}, batch]\n");
    struct seen seen = {0, 0};
    struct metrics *m;

    (void)state;
    assert_int_equal(metrics_new(NULL, &m), 0);
    objectives_announce(m, c);
    objectives_announce(m, c); /* a reload makes none anew */
    assert_int_equal(metrics_each(m, count_series, &seen), 0);
    /* errors and goodput of m1, m2 and none; and five objectives of batch */
    assert_int_equal(seen.n, 3 * 2 + 5);
    assert_int_equal(seen.n_named, 2);
    metrics_free(m);
    config_unref(c);
}

static int attempt(void *ctx)
{
    struct config *c = NULL;
    int r = load_span(SPAN(UPSTREAM
                           "slos: [chat, {name: a, match: {model: [m1, 'q*'], tenant: t}, "
                           "objectives: {errors: 99%, ttft: {threshold: 1s, target: 99%}}}]\n"),
                      true, &c);

    (void)ctx;
    if (r == 0)
        config_unref(c);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

/* Whatever part of a text is read, it is taken or refused with a word. */
static void test_prefixes(void **state)
{
    static const char text[] = UPSTREAM
        "slos:\n"
        "  - {name: a, match: {model: [m1, 'q*'], tenant: t}, window: 7d,\n"
        "     objectives: {errors: 99%, ttft: {threshold: 1s, target: 99%}, queue: none}}\n"
        "  - batch\n";

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        struct config *c = NULL;
        int r = load_span(span_of(text, n), true, &c);

        assert_true(r == 0 || !err_list_is_empty(&errs));
        config_unref(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets_and_what_was_told),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_too_many_bounds),
        cmocka_unit_test(test_reload_class),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_announced),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
