/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/entry, through the plan: who is refused before anything else, what the plan tells of a
 * key, limits that end with the plan, keys that change, and what of a client's head goes upstream.
 */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "memfail.h"
#include "policy/policy.h"

#define KEY   "ifm-aaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define OTHER "ifm-bbbbbbbb-BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
#define CHAT  "/v1/chat/completions"
#define GOOD  "{\"model\":\"good\",\"messages\":[]}"

/* KEY may use "good", one at a time; OTHER is of class batch. */
static struct keyring *new_ring(size_t n)
{
    static const unsigned char pepper[KEYRING_PEPPER_BYTES] = {7};
    static const char *const models[] = {"good"};
    static const char *const keys[] = {KEY, OTHER};
    struct keyring_key rows[2];
    struct keyring *r = NULL;
    for (size_t i = 0; i < 2; i++) {
        rows[i] = (struct keyring_key){.tenant = i == 0 ? "acme" : "other", .note = ""};
        memcpy(rows[i].id, keys[i] + 4, KEYRING_ID_LEN);
        assert_int_equal(keyring_hash(pepper, span_cstr(keys[i]), rows[i].hash), 0);
    }
    rows[0].models = models;
    rows[0].n_models = 1;
    rows[0].max_inflight = 1;
    rows[1].class = KEYRING_BATCH;
    assert_int_equal(keyring_new(pepper, rows, n, &r, NULL, NULL), 0);
    return r;
}

static const struct routes_upstream bare[] = {{.name = "up", .weight = 1}};
static const struct routes_upstream keyed[] = {{.name = "up", .weight = 1, .key = "secret"}};

static struct policy *new_policy(const struct routes_upstream *upstreams, struct keyring *ring,
                                 struct key_use *use)
{
    struct routes_config routes_config = {.upstreams = upstreams, .n_upstreams = 1};
    struct routes *routes = NULL;
    struct policy *p = NULL;
    assert_int_equal(routes_new(&routes_config, &routes), 0);
    struct policy_config config = {.routes = routes, .keyring = ring, .key_use = use, .seed = 1};
    assert_int_equal(policy_new(&config, &p), 0);
    routes_unref(routes);
    return p;
}

struct asked {
    struct http1_head head;
    struct policy_plan plan;
    struct policy_aim aim;
};

static mono_t test_clock(void)
{
    return (mono_t){1001 * NS_PER_S};
}

static void ask(struct policy *p, const char *target, const char *key, const char *body,
                struct asked *ret)
{
    *ret = (struct asked){.head = {.method = SPAN("POST"), .target = span_cstr(target)}};
    if (key)
        ret->head.fields[ret->head.n_fields++] =
            (struct http1_field){SPAN("x-api-key"), span_cstr(key)};
    struct policy_request req = {.head = &ret->head,
                                 .window = span_cstr(body),
                                 .is_complete = true,
                                 .now = {1000 * NS_PER_S},
                                 .now_s = 1000,
                                 .clock = test_clock};
    policy_ops.plan(p, &req, &ret->plan);
    if (ret->plan.refusal != TAP_REASON_NONE)
        return;
    struct policy_aim_request aim = {.head = &ret->head, .window = req.window, .is_complete = true};
    assert_int_equal(policy_ops.aim(p, ret->plan.exchange, &aim, &ret->aim), 0);
}

static enum tap_reason refusal_of(struct policy *p, const char *key, const char *body)
{
    struct asked a;
    ask(p, CHAT, key, body, &a);
    enum tap_reason r = a.plan.refusal;
    assert_true((r == TAP_REASON_NONE) == (a.plan.refusal_text == NULL));
    policy_ops.plan_done(p, a.plan.exchange);
    return r;
}

static void keys_are_asked_for(void **state)
{
    (void)state;
    struct keyring *ring = new_ring(2);
    struct policy *p = new_policy(bare, ring, NULL);
    keyring_unref(ring);
    assert_int_equal(refusal_of(p, NULL, GOOD), TAP_REASON_UNAUTHORIZED);
    assert_int_equal(refusal_of(p, "sk-1", GOOD), TAP_REASON_UNAUTHORIZED);
    assert_int_equal(refusal_of(p, KEY, GOOD), TAP_REASON_NONE);
    assert_int_equal(refusal_of(p, KEY, "{\"model\":\"bad\"}"), TAP_REASON_FORBIDDEN);
    assert_int_equal(refusal_of(p, KEY, "{\"model\":\"good\",\"model\":\"bad\"}"),
                     TAP_REASON_BAD_REQUEST);
    assert_int_equal(refusal_of(p, OTHER, "{\"model\":\"bad\"}"), TAP_REASON_NONE);
    policy_free(p);
}

static void the_plan_tells_whose_it_is(void **state)
{
    (void)state;
    struct keyring *ring = new_ring(2);
    struct policy *p = new_policy(bare, ring, NULL);
    struct asked a;
    keyring_unref(ring);
    ask(p, CHAT, OTHER, GOOD, &a);
    assert_string_equal(a.plan.identity.key_id, "bbbbbbbb");
    assert_string_equal(a.plan.identity.tenant, "other");
    assert_int_equal(a.plan.identity.at.ns, test_clock().ns);
    assert_int_equal(a.plan.admission_class, 1);
    assert_span_equal("tenant", a.plan.tenant, SPAN("other"));
    policy_ops.plan_done(p, a.plan.exchange);
    ask(p, CHAT, KEY, "{\"model\":\"bad\"}", &a); /* refused, and known */
    assert_string_equal(a.plan.identity.key_id, "aaaaaaaa");
    assert_int_equal(a.plan.admission_class, 0);
    policy_ops.plan_done(p, a.plan.exchange);
    ask(p, CHAT, "sk-1", GOOD, &a);
    assert_null(a.plan.identity.key_id);
    assert_int_equal(a.plan.identity.at.ns, test_clock().ns);      /* also of nobody's */
    assert_string_equal(a.plan.told.endpoint, "chat_completions"); /* for the form of the refusal */
    policy_ops.plan_done(p, a.plan.exchange);
    policy_free(p);
}

static void nothing_takes_time_where_no_keys_are(void **state)
{
    (void)state;
    struct policy *p = new_policy(bare, NULL, NULL);
    struct asked a;
    ask(p, CHAT, KEY, GOOD, &a);
    assert_false(mono_is_set(a.plan.identity.at));
    policy_ops.plan_done(p, a.plan.exchange);
    policy_free(p);
}

static void credentials_stay(void **state)
{
    (void)state;
    static const struct {
        const struct routes_upstream *upstreams;
        bool has_keys;
        const char *target;
        bool is_dropped;
    } rows[] = {
        {bare, false, CHAT "?a=1&key=k", false},
        {bare, true, CHAT "?a=1", true},
        {keyed, false, CHAT "?a=1", true},
        {keyed, true, CHAT "?a=1", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct keyring *ring = rows[i].has_keys ? new_ring(2) : NULL;
        struct policy *p = new_policy(rows[i].upstreams, ring, NULL);
        struct asked a;
        keyring_unref(ring);
        ask(p, CHAT "?a=1&key=k", KEY, GOOD, &a);
        assert_int_equal(a.plan.refusal, TAP_REASON_NONE);
        assert_int_equal(a.aim.drops_credentials, rows[i].is_dropped);
        assert_span_equal("target", a.aim.target, span_cstr(rows[i].target));
        assert_int_equal(a.aim.credential.n > 0, rows[i].upstreams == keyed);
        policy_ops.plan_done(p, a.plan.exchange);
        policy_free(p);
    }
}

static void limits_end_with_the_plan(void **state)
{
    (void)state;
    struct keyring *ring = new_ring(2);
    struct key_use *use = NULL;
    struct asked first, second;
    assert_int_equal(key_use_new(&use), 0);
    assert_int_equal(key_use_sync(use, ring), 0);
    struct policy *p = new_policy(bare, ring, use);
    ask(p, CHAT, KEY, GOOD, &first);
    assert_int_equal(first.plan.refusal, TAP_REASON_NONE);
    ask(p, CHAT, KEY, GOOD, &second);
    assert_int_equal(second.plan.refusal, TAP_REASON_REJECTED);
    assert_int_equal(second.plan.retry_after_s, 1);
    assert_non_null(strstr(second.plan.refusal_text, "1 requests in flight"));
    assert_string_equal(second.plan.identity.key_id, "aaaaaaaa");
    policy_ops.plan_done(p, second.plan.exchange); /* gives back nothing */
    assert_int_equal(refusal_of(p, KEY, GOOD), TAP_REASON_REJECTED);
    assert_int_equal(refusal_of(p, KEY, "{}"), TAP_REASON_FORBIDDEN); /* and takes nothing */
    policy_ops.plan_done(p, first.plan.exchange);
    assert_int_equal(refusal_of(p, KEY, GOOD), TAP_REASON_NONE);
    assert_int_equal(key_use_inflight(use, keyring_at(ring, 0)), 0);
    policy_free(p);
    key_use_free(use);
    keyring_unref(ring);
}

/* The plan that is under way keeps the ring it began with. */
static void keys_change(void **state)
{
    (void)state;
    struct keyring *both = new_ring(2), *one = new_ring(1);
    struct policy *p = new_policy(bare, both, NULL);
    struct asked a;
    keyring_unref(both);
    ask(p, CHAT, OTHER, GOOD, &a);
    policy_set_keyring(p, one);
    keyring_unref(one);
    assert_string_equal(a.plan.identity.tenant, "other");
    assert_int_equal(refusal_of(p, OTHER, GOOD), TAP_REASON_UNAUTHORIZED);
    assert_int_equal(refusal_of(p, KEY, GOOD), TAP_REASON_NONE);
    policy_ops.plan_done(p, a.plan.exchange);
    policy_set_keyring(p, NULL);
    assert_int_equal(refusal_of(p, NULL, GOOD), TAP_REASON_NONE);
    policy_free(p);
}

static int plan_once(void *ctx)
{
    struct asked a;
    ask(ctx, "/chat/completions", KEY, GOOD, &a);
    int r = a.plan.refusal == TAP_REASON_NONE ? 0 : -ENOMEM;
    assert_true(r == 0 || a.plan.refusal == TAP_REASON_INTERNAL);
    policy_ops.plan_done(ctx, a.plan.exchange);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    struct keyring *ring = new_ring(2);
    struct policy *p = new_policy(bare, ring, NULL);
    keyring_unref(ring);
    assert_true(memfail_each(plan_once, p) > 0);
    policy_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_asked_for),
        cmocka_unit_test(the_plan_tells_whose_it_is),
        cmocka_unit_test(nothing_takes_time_where_no_keys_are),
        cmocka_unit_test(credentials_stay),
        cmocka_unit_test(limits_end_with_the_plan),
        cmocka_unit_test(keys_change),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
