/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/policy: plans, injection and its memory, filter decision, refusals, lack of memory.
 * Names with a c and a number are cases of that number in the list of field lessons.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialect/dialect.h"
#include "memfail.h"
#include "policy/policy.h"

static struct policy *new_policy_for(const struct routes_config *routes_config, bool inject_usage)
{
    struct routes *routes = NULL;
    assert_int_equal(routes_new(routes_config, &routes), 0);
    struct policy_config config = {.routes = routes, .inject_usage = inject_usage, .seed = 1};
    struct policy *p = NULL;
    assert_int_equal(policy_new(&config, &p), 0);
    routes_unref(routes);
    return p;
}

static const struct routes_upstream two_upstreams[] = {
    {.name = "first", .weight = 1},
    {.name = "second", .weight = 1, .priority = 1},
};

static struct policy *new_policy(bool inject_usage)
{
    struct routes_config config = {.upstreams = two_upstreams, .n_upstreams = 2};
    return new_policy_for(&config, inject_usage);
}

/* The plan, and what its first attempt needs. */
struct planned {
    struct policy_plan plan;
    struct policy_aim aim;
    struct http1_head head;
    struct policy_aim_request request;
};

static void aim_again(struct policy *p, struct planned *x, size_t upstream, bool is_plain)
{
    x->request.upstream = upstream;
    x->request.is_plain = is_plain;
    x->request.head = &x->head;
    assert_int_equal(policy_ops.aim(p, x->plan.exchange, &x->request, &x->aim), 0);
}

static struct planned *plan_target(struct policy *p, const char *target, const char *body,
                                   bool is_complete)
{
    static struct planned x; /* one at a time */
    x = (struct planned){.head = {.method = SPAN("POST"), .target = span_cstr(target)}};
    struct policy_request req = {
        .head = &x.head, .window = span_cstr(body), .is_complete = is_complete};
    policy_ops.plan(p, &req, &x.plan);
    x.request = (struct policy_aim_request){.window = req.window, .is_complete = is_complete};
    if (x.plan.refusal == TAP_REASON_NONE)
        aim_again(p, &x, x.plan.candidates[0], false);
    return &x;
}

static struct planned plan_of(struct policy *p, const char *target, const char *body,
                              bool is_complete)
{
    return *plan_target(p, target, body, is_complete);
}

static struct http1_head answer(int status, const char *type, const char *coding)
{
    struct http1_head head = {.status = status};
    head.fields[head.n_fields++] = (struct http1_field){SPAN("Content-Type"), span_cstr(type)};
    if (coding)
        head.fields[head.n_fields++] =
            (struct http1_field){SPAN("content-encoding"), span_cstr(coding)};
    return head;
}

#define CHAT   "/v1/chat/completions"
#define STREAM "{\"model\":\"m\",\"stream\":true,\"max_tokens\":100,\"messages\":\"0123456789ab\"}"

static void plans_a_stream(void **state)
{
    (void)state;
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, CHAT, STREAM, true);
    assert_int_equal(x.plan.refusal, TAP_REASON_NONE);
    assert_int_equal(x.plan.candidates[0], 0);
    assert_true(x.plan.is_stream && x.plan.wants_identity);
    assert_int_equal(x.plan.estimated_tokens, 3); /* 14 bytes of prompt */
    assert_int_equal(x.plan.n_candidates, 2);
    assert_string_equal(x.plan.told.endpoint, "chat_completions");
    assert_string_equal(((const struct dialect *)x.plan.told.dialect)->name, "openai-chat");
    assert_string_equal(((const struct dialect_request *)x.plan.told.request)->model, "m");
    assert_true(x.aim.is_usage_injected);
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

static void unknown_paths_and_bodies_pass(void **state)
{
    (void)state;
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, "/v1/whatever", STREAM, true);
    assert_int_equal(x.aim.n_edits, 0);
    assert_false(x.plan.wants_identity);
    assert_null(x.plan.told.dialect);
    assert_string_equal(x.plan.told.endpoint, "other");
    policy_ops.plan_done(p, x.plan.exchange);
    x = plan_of(p, CHAT, "this is no JSON", true);
    assert_int_equal(x.aim.n_edits, 0);
    assert_int_equal(x.plan.refusal, TAP_REASON_NONE);
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

/* Usage is asked for in streams whose client did not (C28); the client's help is not needed (C34).
 */
static void c28_c34_usage_is_asked_for(void **state)
{
    (void)state;
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, CHAT, "{\"stream\":true}", true);
    assert_int_equal(x.aim.n_edits, 1);
    assert_int_equal(x.aim.edits[0].at, 1);
    assert_int_equal(x.aim.edits[0].remove, 0);
    assert_span_equal("edit", x.aim.edits[0].insert,
                      SPAN("\"stream_options\":{\"include_usage\":true},"));
    policy_ops.plan_done(p, x.plan.exchange);
    x = plan_of(p, CHAT, "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}", true);
    assert_int_equal(x.aim.n_edits, 0); /* asked already, so it is not ours to remove either */
    assert_false(x.aim.is_usage_injected);
    struct http1_head head = answer(200, "text/event-stream", NULL);
    assert_false(policy_ops.wants_filter(p, x.plan.exchange, &head));
    policy_ops.plan_done(p, x.plan.exchange);
    x = plan_of(p, CHAT, "{\"stream\":true}", false); /* a window is not edited */
    assert_int_equal(x.aim.n_edits, 0);
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
    p = new_policy(false);
    x = plan_of(p, CHAT, "{\"stream\":true}", true);
    assert_int_equal(x.aim.n_edits, 0); /* switched off */
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

/* Never with stream:false, or where there is no such option. */
static void c31_only_for_streams(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *body;
    } rows[] = {
        {CHAT, "{\"stream\":false}"},
        {CHAT, "{\"model\":\"m\"}"},
        {"/v1/embeddings", "{\"stream\":true}"},
        {"/v1/responses", "{\"stream\":true}"},
    };
    struct policy *p = new_policy(true);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct planned x = plan_of(p, rows[i].target, rows[i].body, true);
        assert_row(rows[i].body, x.aim.n_edits == 0 && !x.aim.is_usage_injected);
        policy_ops.plan_done(p, x.plan.exchange);
    }
    policy_free(p);
}

static size_t filtered(struct policy *p, struct policy_exchange *x, const char *input, char *ret)
{
    struct span in = span_cstr(input);
    struct span out[4];
    size_t n = 0;
    bool is_last = false;
    for (;;) {
        size_t k = policy_ops.filter(p, x, &in, is_last, out, ARRAY_LEN(out));
        for (size_t i = 0; i < k; i++) {
            memcpy(ret + n, out[i].p, out[i].n);
            n += out[i].n;
        }
        if (is_last)
            break;
        is_last = in.n == 0;
    }
    ret[n] = '\0';
    return n;
}

/* The injected usage chunk does not reach a client that did not ask; everything else does. */
static void c29_c32_usage_chunk_is_removed_iff_injected(void **state)
{
    (void)state;
    char got[1024];
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, CHAT, "{\"stream\":true}", true);
    struct http1_head head = answer(200, "text/event-stream; charset=utf-8", NULL);
    assert_int_equal(policy_ops.answer_head(p, x.plan.exchange, &head), POLICY_PASS);
    assert_true(policy_ops.wants_filter(p, x.plan.exchange, &head));
    (void)filtered(p, x.plan.exchange,
                   "data: {\"choices\":[]}\n\ndata: {\"choices\":[{}]}\n\n"
                   "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n",
                   got);
    assert_string_equal(got,
                        "data: {\"choices\":[]}\n\ndata: {\"choices\":[{}]}\n\ndata: [DONE]\n\n");
    policy_ops.plan_done(p, x.plan.exchange);

    static const struct {
        const char *name;
        int status;
        const char *type;
        const char *coding;
    } unfiltered[] = {
        {"an error", 500, "text/event-stream", NULL},
        {"no stream", 200, "application/json", NULL},
        {"coded", 200, "text/event-stream", "gzip"},
    };
    for (size_t i = 0; i < ARRAY_LEN(unfiltered); i++) {
        x = plan_of(p, CHAT, "{\"stream\":true}", true);
        head = answer(unfiltered[i].status, unfiltered[i].type, unfiltered[i].coding);
        assert_row(unfiltered[i].name, !policy_ops.wants_filter(p, x.plan.exchange, &head));
        policy_ops.plan_done(p, x.plan.exchange);
    }
    policy_free(p);
}

static int n_edits_now(struct policy *p)
{
    struct planned x = plan_of(p, CHAT, "{\"stream\":true}", true);
    int n = (int)x.aim.n_edits;
    policy_ops.plan_done(p, x.plan.exchange);
    return n;
}

static enum policy_verdict head_of(struct policy *p, struct policy_exchange *x, int status)
{
    struct http1_head head = answer(status, "application/json", NULL);
    return policy_ops.answer_head(p, x, &head);
}

/* One repeat without our edit; the upstream is remembered only when that one succeeds. */
static void c30_refused_injection_is_repeated_and_remembered(void **state)
{
    (void)state;
    static const int refusals[] = {400, 422};
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct policy *p = new_policy(true);
        struct planned x = plan_of(p, CHAT, "{\"stream\":true}", true);
        assert_int_equal(head_of(p, x.plan.exchange, refusals[i]), POLICY_REPEAT_PLAIN);
        assert_int_equal(n_edits_now(p), 1); /* not yet known whose fault it was */
        struct http1_head head = answer(200, "text/event-stream", NULL);
        assert_int_equal(policy_ops.answer_head(p, x.plan.exchange, &head), POLICY_PASS);
        assert_false(policy_ops.wants_filter(p, x.plan.exchange, &head));
        assert_int_equal(n_edits_now(p), 0);
        policy_ops.plan_done(p, x.plan.exchange);
        policy_free(p);
    }
}

static void a_clients_own_mistake_is_not_remembered(void **state)
{
    (void)state;
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, CHAT, "{\"stream\":true}", true);
    assert_int_equal(head_of(p, x.plan.exchange, 400), POLICY_REPEAT_PLAIN);
    assert_int_equal(head_of(p, x.plan.exchange, 400), POLICY_PASS); /* once only */
    assert_int_equal(n_edits_now(p), 1);
    policy_ops.plan_done(p, x.plan.exchange);
    /* other errors, interim answers and plain requests are passed on */
    x = plan_of(p, CHAT, "{\"stream\":true}", true);
    assert_int_equal(head_of(p, x.plan.exchange, 100), POLICY_PASS);
    assert_int_equal(head_of(p, x.plan.exchange, 401), POLICY_PASS);
    assert_int_equal(head_of(p, x.plan.exchange, 500), POLICY_PASS);
    policy_ops.plan_done(p, x.plan.exchange);
    x = plan_of(p, CHAT, "{\"stream\":false}", true);
    assert_int_equal(head_of(p, x.plan.exchange, 400), POLICY_PASS);
    assert_int_equal(head_of(p, NULL, 400), POLICY_PASS);
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

/* Unknown members, also of stream_options, stay as they are. */
static void c43_unknown_fields_are_kept(void **state)
{
    (void)state;
    const char *body = "{ \"stream\":true,\t\"x\":[1, 2],\"stream_options\":{\"step_usage\" :1}}";
    struct policy *p = new_policy(true);
    struct planned x = plan_of(p, CHAT, body, true);
    assert_int_equal(x.aim.n_edits, 1);
    assert_int_equal(x.aim.edits[0].remove, 0);
    assert_int_equal(x.aim.edits[0].at, (size_t)(strstr(body, "\"step_usage\"") - body));
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

static void refusals_name_status_and_type(void **state)
{
    (void)state;
    static const struct {
        enum tap_reason reason;
        int status;
    } rows[] = {
        {TAP_REASON_BAD_REQUEST, 400},      {TAP_REASON_BODY_TOO_LARGE, 413},
        {TAP_REASON_UNAUTHORIZED, 401},     {TAP_REASON_FORBIDDEN, 403},
        {TAP_REASON_REJECTED, 429},         {TAP_REASON_CONNECT_DNS, 502},
        {TAP_REASON_CONNECT_REFUSED, 502},  {TAP_REASON_CONNECT_OTHER, 502},
        {TAP_REASON_CONNECT_TLS, 502},      {TAP_REASON_CONNECT_PROXY, 502},
        {TAP_REASON_BAD_RESPONSE, 502},     {TAP_REASON_UPSTREAM_CUT, 502},
        {TAP_REASON_TIMEOUT_CONNECT, 504},  {TAP_REASON_TIMEOUT_FIRST_BYTE, 504},
        {TAP_REASON_TIMEOUT_REQUEST, 408},  {TAP_REASON_DRAIN, 503},
        {TAP_REASON_INTERNAL, 500},         {TAP_REASON_STALLED, 504},
        {TAP_REASON_REJECTED_TIMEOUT, 429},
    };
    struct policy *p = new_policy(true);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = 0;
        const char *type = NULL;
        struct buf out;
        buf_init(&out, 4096);
        assert_int_equal(
            policy_ops.refusal_body(p, NULL, NULL, rows[i].reason, NULL, &status, &type, &out), 0);
        assert_row(tap_reason_name(rows[i].reason), status == rows[i].status);
        assert_string_equal(type, "application/json");
        assert_true(buf_len(&out) > 60);
        buf_done(&out);
    }
    policy_free(p);
}

/* --- labels and classes --- */

static const char *const tenant_sources[] = {"header:X-Tenant", "metadata:tenant"};
static const char *const tier_sources[] = {"metadata:tier"};
static const struct business_label tenant_and_tier[] = {{"tenant", tenant_sources, 2},
                                                        {"tier", tier_sources, 1}};

static struct policy *new_policy_with_labels(void)
{
    struct routes_config routes_config = {.upstreams = two_upstreams, .n_upstreams = 2};
    struct policy_config config = {.seed = 1};
    struct policy *p = NULL;
    assert_int_equal(routes_new(&routes_config, &config.routes), 0);
    assert_int_equal(business_new(tenant_and_tier, 2, &config.business), 0);
    assert_int_equal(policy_new(&config, &p), 0);
    routes_unref(config.routes);
    business_unref(config.business);
    return p;
}

static void requests_get_labels(void **state)
{
    (void)state;
    struct policy *p = new_policy_with_labels();
    struct planned x = plan_of(
        p, CHAT, "{\"metadata\":{\"tier\":\"gold\",\"tenant\":\"acme\",\"more\":\"x\"}}", true);
    assert_int_equal(x.plan.told.n_labels, 2);
    assert_string_equal(x.plan.told.labels[0].name, "tenant");
    assert_string_equal(x.plan.told.labels[0].value, "acme");
    assert_string_equal(x.plan.told.labels[1].value, "gold");
    assert_span_equal("share", x.plan.tenant, SPAN("acme"));
    policy_ops.plan_done(p, x.plan.exchange);
    x = plan_of(p, CHAT, "{}", true);
    assert_int_equal(x.plan.told.n_labels, 0);
    assert_int_equal(x.plan.tenant.n, 0);
    policy_ops.plan_done(p, x.plan.exchange);
    /* What no dialect reads has no metadata. */
    x = plan_of(p, "/v1/whatever", "{\"metadata\":{\"tier\":\"gold\"}}", true);
    assert_int_equal(x.plan.told.n_labels, 0);
    policy_ops.plan_done(p, x.plan.exchange);
    policy_free(p);
}

static void clients_lower_their_class_only(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int class;
    } rows[] = {{"batch", 1}, {"Batch", 1}, {"interactive", 0}, {"", 0}, {"batches", 0}};
    struct policy *p = new_policy(false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http1_head head = {
            .method = SPAN("POST"),
            .target = SPAN(CHAT),
            .n_fields = 1,
            .fields = {{SPAN_INIT("x-inferometer-class"), span_cstr(rows[i].value)}}};
        struct policy_request req = {.head = &head, .window = SPAN("{}"), .is_complete = true};
        struct policy_plan plan;
        policy_ops.plan(p, &req, &plan);
        assert_row(rows[i].value, plan.admission_class == rows[i].class);
        policy_ops.plan_done(p, plan.exchange);
    }
    policy_free(p);
}

static int try_policy(void *ctx)
{
    static const char *const models[] = {"m=x/m"};
    static const struct routes_upstream upstreams[] = {
        {.name = "a", .weight = 1, .models = models, .n_models = 1, .key = "secret"}};
    struct routes_config routes_config = {.upstreams = upstreams, .n_upstreams = 1};
    struct routes *routes = NULL;
    struct policy *p = NULL;
    (void)ctx;
    int r = routes_new(&routes_config, &routes);
    if (r < 0)
        return r;
    struct policy_config config = {.routes = routes, .inject_usage = true, .seed = 1};
    r = policy_new(&config, &p);
    routes_unref(routes);
    if (r < 0) {
        assert_null(p);
        return r;
    }
    struct http1_head head = {.method = SPAN("POST"),
                              .target = SPAN("/chat/completions?key=client&a=b")};
    struct policy_request req = {
        .head = &head, .window = SPAN("{\"stream\":true,\"model\":\"m\"}"), .is_complete = true};
    struct policy_plan plan;
    policy_ops.plan(p, &req, &plan);
    if (plan.refusal != TAP_REASON_NONE) { /* nobody knows where to */
        assert_int_equal(plan.refusal, TAP_REASON_INTERNAL);
        r = -ENOMEM;
    }
    struct policy_aim_request aim_request = {
        .head = &head, .window = req.window, .is_complete = true};
    struct policy_aim aim;
    if (r == 0)
        r = policy_ops.aim(p, plan.exchange, &aim_request, &aim);
    if (r == 0) {
        assert_span_equal("target", aim.target, SPAN("/v1/chat/completions?a=b"));
        assert_int_equal(aim.n_edits, 2);
        assert_span_equal("credential", aim.credential, SPAN("Bearer secret"));
    }
    policy_ops.plan_done(p, plan.exchange);
    policy_free(p);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(try_policy, NULL) > 8);
    assert_null(policy_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_a_stream),
        cmocka_unit_test(unknown_paths_and_bodies_pass),
        cmocka_unit_test(c28_c34_usage_is_asked_for),
        cmocka_unit_test(c31_only_for_streams),
        cmocka_unit_test(c29_c32_usage_chunk_is_removed_iff_injected),
        cmocka_unit_test(c30_refused_injection_is_repeated_and_remembered),
        cmocka_unit_test(a_clients_own_mistake_is_not_remembered),
        cmocka_unit_test(c43_unknown_fields_are_kept),
        cmocka_unit_test(refusals_name_status_and_type),
        cmocka_unit_test(requests_get_labels),
        cmocka_unit_test(clients_lower_their_class_only),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
