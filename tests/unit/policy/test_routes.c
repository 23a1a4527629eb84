/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/routes: names, beginnings, aliases, defaults; order by priority and weight.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/mem.h"
#include "memfail.h"
#include "policy/routes.h"

static const char *const models_a[] = {"llama-8b", "llama-70b=meta/Llama-70B"};
static const char *const models_b[] = {"llama*", "qwen2*=Qwen", "llama-8b"};
static const char *const models_c[] = {"*"};
static const char *const aliases[] = {"gpt-4o=llama-70b", "fast=llama-8b", "odd=nobody"};

/* What the places of candidates are called. */
enum { A, B, C };
static const struct routes_upstream upstreams[] = {
    [A] = {.name = "a",
           .models = models_a,
           .n_models = 2,
           .weight = 3,
           .key = "k",
           .key_header = "h"},
    [B] = {.name = "b", .models = models_b, .n_models = 3, .weight = 1},
    [C] = {.name = "c", .models = models_c, .n_models = 1, .weight = 1},
};

static struct routes *make(const struct routes_upstream *u, size_t n)
{
    struct routes_config config = {
        .upstreams = u, .n_upstreams = n, .aliases = aliases, .n_aliases = ARRAY_LEN(aliases)};
    struct routes *r = NULL;
    assert_int_equal(routes_new(&config, &r), 0);
    return r;
}

/* "b:llama a" sorted by upstream: the candidates, with the name each is asked for where it differs.
 */
static const char *found(const struct routes *r, const char *model)
{
    static char text[512];
    struct rng rng;
    struct routes_match m;
    size_t n = 0;
    rng_seed(&rng, 1);
    routes_find(r, model, &rng, &m);
    text[0] = '\0';
    for (size_t u = 0; u < routes_n_upstreams(r); u++) {
        for (size_t i = 0; i < m.n; i++) {
            const char *served = m.candidates[i].served;
            if (m.candidates[i].upstream == u)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s%s", n > 0 ? " " : "",
                                      routes_name(r, u), served ? ":" : "", served ? served : "");
        }
    }
    return text;
}

static void a_model_finds_its_upstreams(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const char *want;
    } rows[] = {
        {"llama-8b", "a b"},               /* as it is, at two */
        {"llama-70b", "a:meta/Llama-70B"}, /* not at b, whose beginning is less than a name */
        {"llama-13b", "b"},                /* the beginning */
        {"llama", "b"},                    /* nothing behind the beginning */
        {"lama", "c"},                     /* whoever takes everything */
        {"qwen2-7b", "b:Qwen"},            /* all of them under one name */
        {"qwen", "c"},                     /* shorter than the beginning */
        {"", "c"},                         /* no model: the same */
        {"gpt-4o", "a:meta/Llama-70B"},    /* an alias, then that upstream's name for it */
        {"fast", "a:llama-8b b:llama-8b"}, /* an alias: sent as its model */
        {"odd", "c:nobody"},               /* an alias for what nobody is known to have */
        {"LLAMA-8B", "c"},                 /* names are told apart by case */
    };
    struct routes *r = make(upstreams, 3);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(found(r, rows[i].model), rows[i].want);
    assert_span_equal("its own header", routes_credential(r, A, "x-api-key").name, SPAN("h"));
    assert_span_equal("as it stands", routes_credential(r, A, NULL).value, SPAN("k"));
    assert_int_equal(routes_credential(r, B, "x-api-key").name.n, 0);
    assert_int_equal(routes_credential(r, B, NULL).value.n, 0);
    routes_unref(r);
}

static void keys_are_shown_as_the_api_wants(void **state)
{
    (void)state;
    static const struct routes_upstream plain[] = {
        {.name = "x", .weight = 1, .key = "k"},
        {.name = "y", .weight = 1, .key = "k", .key_header = "authorization"},
    };
    struct routes *r = make(plain, 2);
    assert_span_equal("name", routes_credential(r, 0, NULL).name, SPAN("Authorization"));
    assert_span_equal("bearer", routes_credential(r, 0, NULL).value, SPAN("Bearer k"));
    assert_span_equal("name", routes_credential(r, 0, "x-api-key").name, SPAN("x-api-key"));
    assert_span_equal("alone", routes_credential(r, 0, "x-api-key").value, SPAN("k"));
    assert_span_equal("named so", routes_credential(r, 1, "x-api-key").value, SPAN("Bearer k"));
    routes_unref(r);
}

static void without_anyone_who_takes_everything(void **state)
{
    (void)state;
    struct routes *r = make(upstreams, 2);
    assert_string_equal(found(r, "gpt-5"), ""); /* nobody serves it */
    assert_string_equal(found(r, ""), "a b");   /* what names no model goes anywhere */
    routes_unref(r);
}

static void upstreams_without_models_take_what_they_list_and_everything(void **state)
{
    (void)state;
    static const char *const listed[] = {"phi-3", "llama-8b"};
    static const struct routes_upstream plain[] = {
        {.name = "x", .weight = 1, .listed = listed, .n_listed = 2},
        {.name = "y", .weight = 1},
        {.name = "z",
         .weight = 1,
         .models = models_a,
         .n_models = 2,
         .listed = listed,
         .n_listed = 2},
    };
    struct routes *r = make(plain, 3);
    assert_string_equal(found(r, "phi-3"), "x"); /* z has a list from the operator */
    assert_string_equal(found(r, "llama-8b"), "x z");
    assert_string_equal(found(r, "anything"), "x y");
    routes_unref(r);
}

static void star_with_a_name_takes_everything(void **state)
{
    (void)state;
    static const char *const models[] = {"*=one"};
    static const struct routes_upstream one[] = {
        {.name = "x", .weight = 1, .models = models, .n_models = 1}};
    struct routes *r = make(one, 1);
    assert_string_equal(found(r, "anything"), "x:one");
    routes_unref(r);
}

static void priority_orders_and_weight_shares(void **state)
{
    (void)state;
    static const struct routes_upstream many[] = {
        {.name = "late", .weight = 100, .priority = 2},
        {.name = "light", .weight = 1, .priority = 1},
        {.name = "heavy", .weight = 3, .priority = 1},
        {.name = "latest", .weight = 1, .priority = 9},
    };
    enum { N = 8000 };
    struct routes *r = make(many, 4);
    struct rng rng;
    int n_heavy = 0;
    rng_seed(&rng, 7);
    for (int i = 0; i < N; i++) {
        struct routes_match m;
        routes_find(r, "m", &rng, &m);
        assert_int_equal(m.n, 4);
        assert_int_equal(m.candidates[0].upstream + m.candidates[1].upstream, 1 + 2);
        assert_int_equal(m.candidates[2].upstream, 0);
        assert_int_equal(m.candidates[3].upstream, 3);
        n_heavy += m.candidates[0].upstream == 2;
    }
    assert_in_range(n_heavy, N * 3 / 4 - 200, N * 3 / 4 + 200); /* 5 deviations */
    routes_unref(r);
}

static void more_upstreams_than_candidates(void **state)
{
    (void)state;
    struct routes_upstream many[TAP_UPSTREAMS_MAX];
    char names[TAP_UPSTREAMS_MAX][8];
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "u%zu", i);
        many[i] = (struct routes_upstream){.name = names[i], .weight = 1};
    }
    struct routes *r = make(many, ARRAY_LEN(many));
    struct rng rng;
    struct routes_match m;
    bool is_seen[TAP_UPSTREAMS_MAX] = {0};
    rng_seed(&rng, 3);
    for (int i = 0; i < 4000; i++) {
        routes_find(r, "m", &rng, &m);
        assert_int_equal(m.n, POLICY_CANDIDATES_MAX);
        is_seen[m.candidates[0].upstream] = true;
    }
    for (size_t i = 0; i < ARRAY_LEN(is_seen); i++)
        assert_true(is_seen[i]);
    routes_unref(r);
}

static void add_name(void *ctx, const char *name)
{
    char *text = ctx;
    (void)snprintf(text + strlen(text), 256 - strlen(text), "%s ", name);
}

static void every_model_once(void **state)
{
    (void)state;
    char text[256] = "";
    struct routes *r = make(upstreams, 3);
    routes_each_model(r, add_name, text);
    assert_string_equal(text, "fast gpt-4o llama-70b llama-8b odd ");
    routes_unref(r);
}

static void what_is_written_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_model, is_alias;
    } rows[] = {
        {"a", true, false},    {"a*", true, false},   {"*", true, false},     {"a=b", true, true},
        {"a*=b", true, false}, {"a=b=c", true, true}, {"", false, false},     {"=b", false, false},
        {"a=", false, false},  {"a*b", false, false}, {"a=b*", false, false}, {"**", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err e = {0};
        assert_row(rows[i].text, (routes_check_model(rows[i].text, &e) == 0) == rows[i].is_model);
        assert_row(rows[i].text, (routes_check_alias(rows[i].text, &e) == 0) == rows[i].is_alias);
    }
    /* Such texts match nothing, and do no harm. */
    static const char *const bad[] = {"", "=", "a*b", "a="};
    static const struct routes_upstream one[] = {
        {.name = "x", .weight = 0, .models = bad, .n_models = 4}};
    struct routes *r = make(one, 1);
    assert_string_equal(found(r, "a"), "");
    routes_unref(r);
}

static int attempt(void *ctx)
{
    struct routes_config config = {
        .upstreams = upstreams, .n_upstreams = 3, .aliases = aliases, .n_aliases = 3};
    struct routes *r = NULL;
    (void)ctx;
    int error = routes_new(&config, &r);
    routes_unref(r);
    return error;
}

static void without_memory(void **state)
{
    (void)state;
    int64_t n_live = mem_live_blocks();
    assert_true(memfail_each(attempt, NULL) > 20);
    assert_int_equal(mem_live_blocks(), n_live);
    assert_null(routes_unref(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_finds_its_upstreams),
        cmocka_unit_test(keys_are_shown_as_the_api_wants),
        cmocka_unit_test(without_anyone_who_takes_everything),
        cmocka_unit_test(upstreams_without_models_take_what_they_list_and_everything),
        cmocka_unit_test(star_with_a_name_takes_everything),
        cmocka_unit_test(priority_orders_and_weight_shares),
        cmocka_unit_test(more_upstreams_than_candidates),
        cmocka_unit_test(every_model_once),
        cmocka_unit_test(what_is_written_wrong),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
