/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests an objective counts, and which of them were good: every outcome, and every reason
 * for which something is not known.
 */
#include "harness.h"

#include <string.h>

#include "slo/slo.h"

#define MS NS_PER_MS
#define G  SLO_GOOD
#define B  SLO_BAD
#define N  SLO_NOT_ELIGIBLE

static const struct slo chat = {
    .name = "chat",
    .targets = {[SLO_TTFT] = {true, 3000 * MS, 0.99},
                [SLO_TPOT] = {true, 50 * MS, 0.99},
                [SLO_QUEUE] = {true, 1000 * MS, 0.95},
                [SLO_E2E] = {true, 20000 * MS, 0.99},
                [SLO_ERRORS] = {.is_set = true, .target = 0.995}},
    .min_bad = 6,
};

/* A streamed answer of which everything is known and good. */
static struct record good(void)
{
    struct record r;

    record_init(&r);
    r.dialect = "openai-chat";
    r.endpoint = "chat_completions";
    r.is_stream = true;
    r.outcome = OUTCOME_OK;
    r.status = r.upstream_status = 200;
    r.t_request = (mono_t){NS_PER_S};
    r.t_first_token = (mono_t){2 * NS_PER_S};
    r.t_delivered = (mono_t){9 * NS_PER_S};
    r.ttft_ns = 1000 * MS;
    r.queue_ns = 100 * MS;
    r.engine_ns[ENGINE_QUEUE] = 200 * MS;
    r.e2e_ns = 8000 * MS;
    r.timing.tpot_status = TPOT_OK;
    r.timing.tpot_ns = 20 * MS;
    return r;
}

/* The same without a first token, over after waited_ms. */
static struct record without_first(enum outcome o, int64_t waited_ms)
{
    struct record r = good();

    r.outcome = o;
    r.t_first_token = MONO_NONE;
    r.ttft_ns = -1;
    r.timing.tpot_status = TPOT_NO_USAGE;
    r.timing.tpot_ns = -1;
    r.engine_ns[ENGINE_QUEUE] = -1;
    r.t_delivered = (mono_t){r.t_request.ns + waited_ms * MS};
    return r;
}

static void expect(const char *name, const struct record *r,
                   const enum slo_verdict want[SLO_OBJECTIVE_COUNT_])
{
    enum slo_verdict got[SLO_OBJECTIVE_COUNT_];

    slo_judge(&chat, r, got);
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        if (got[o] != want[o])
            print_error("%s: %s is %d, not %d\n", name, slo_objective_name((enum slo_objective)o),
                        (int)got[o], (int)want[o]);
        assert_row(name, got[o] == want[o]);
    }
}

struct row {
    enum outcome outcome;
    enum slo_verdict early, late; /* TTFT: over before and after the threshold */
    enum slo_verdict errors, goodput_early;
};

/* Every outcome of a stream that reached no first token. */
static void test_outcomes_without_first_token(void **state)
{
    static const struct row rows[OUTCOME_COUNT_] = {
        [OUTCOME_OK] = {OUTCOME_OK, N, B, G, G},
        [OUTCOME_HTTP_ERROR] = {OUTCOME_HTTP_ERROR, N, B, B, B},
        [OUTCOME_CONNECT_FAILED] = {OUTCOME_CONNECT_FAILED, N, B, B, B},
        [OUTCOME_BAD_RESPONSE] = {OUTCOME_BAD_RESPONSE, N, B, B, B},
        [OUTCOME_STREAM_ERROR] = {OUTCOME_STREAM_ERROR, N, B, B, B},
        [OUTCOME_TRUNCATED] = {OUTCOME_TRUNCATED, N, B, B, B},
        [OUTCOME_UPSTREAM_CUT] = {OUTCOME_UPSTREAM_CUT, N, B, B, B},
        [OUTCOME_CLIENT_GONE_BEFORE_FIRST] = {OUTCOME_CLIENT_GONE_BEFORE_FIRST, N, B, N, N},
        [OUTCOME_CLIENT_GONE_AFTER_FIRST] = {OUTCOME_CLIENT_GONE_AFTER_FIRST, N, B, N, N},
        [OUTCOME_STALLED] = {OUTCOME_STALLED, N, B, B, B},
        [OUTCOME_TIMEOUT] = {OUTCOME_TIMEOUT, N, B, B, B},
        [OUTCOME_CUT_BY_GATEWAY] = {OUTCOME_CUT_BY_GATEWAY, N, B, N, N},
        [OUTCOME_REJECTED] = {OUTCOME_REJECTED, N, B, B, B},
        [OUTCOME_UNAUTHORIZED] = {OUTCOME_UNAUTHORIZED, N, N, N, N},
        [OUTCOME_FORBIDDEN] = {OUTCOME_FORBIDDEN, N, N, N, N},
        [OUTCOME_BAD_REQUEST] = {OUTCOME_BAD_REQUEST, N, N, N, N},
        [OUTCOME_INTERNAL] = {OUTCOME_INTERNAL, N, B, B, B},
    };

    (void)state;
    for (int i = 0; i < OUTCOME_COUNT_; i++) {
        const struct row *row = &rows[i];
        struct record r = without_first((enum outcome)i, 3000);
        bool is_fault = row->late == N;

        assert_int_equal(row->outcome, i);
        r.upstream_status = i == OUTCOME_HTTP_ERROR ? 503 : 200;
        expect(outcome_name((enum outcome)i), &r,
               (enum slo_verdict[]){[SLO_TTFT] = row->early,
                                    [SLO_ERRORS] = row->errors,
                                    [SLO_GOODPUT] = row->goodput_early});
        r.t_delivered.ns++; /* one nanosecond over three seconds */
        expect(outcome_name((enum outcome)i), &r,
               (enum slo_verdict[]){[SLO_TTFT] = row->late,
                                    [SLO_ERRORS] = row->errors,
                                    [SLO_GOODPUT] = is_fault ? N : B});
    }
}

static void test_good_and_over(void **state)
{
    struct record r = good();

    (void)state;
    expect("all good", &r, (enum slo_verdict[]){G, G, G, N, G, G});
    r.ttft_ns = 3000 * MS;
    r.timing.tpot_ns = 50 * MS;
    r.queue_ns = 800 * MS;
    expect("exactly the thresholds", &r, (enum slo_verdict[]){G, G, G, N, G, G});
    r.ttft_ns++;
    expect("ttft over", &r, (enum slo_verdict[]){B, G, G, N, G, B});
    r = good();
    r.timing.tpot_ns = 50 * MS + 1;
    expect("tpot over", &r, (enum slo_verdict[]){G, B, G, N, G, B});
    r = good();
    r.queue_ns = 800 * MS + 1;
    expect("gateway and engine queue add up", &r, (enum slo_verdict[]){G, G, B, N, G, B});
}

/* How long a stream lives is no latency: an hour of good tokens is good. */
static void test_long_stream(void **state)
{
    struct record r = good();

    (void)state;
    r.e2e_ns = 3600 * NS_PER_S;
    r.t_delivered = (mono_t){3601 * NS_PER_S};
    expect("an hour", &r, (enum slo_verdict[]){G, G, G, N, G, G});
}

static void test_not_a_stream(void **state)
{
    struct record r = without_first(OUTCOME_OK, 8000);

    (void)state;
    r.is_stream = false;
    expect("whole answer", &r, (enum slo_verdict[]){N, N, N, G, G, G});
    r.e2e_ns = 20000 * MS + 1;
    expect("late", &r, (enum slo_verdict[]){N, N, N, B, G, B});
    r.outcome = OUTCOME_HTTP_ERROR;
    r.upstream_status = 500;
    r.e2e_ns = 5 * MS;
    expect("a quick error is not a fast answer", &r, (enum slo_verdict[]){N, N, N, N, B, B});
    r.outcome = OUTCOME_TIMEOUT;
    r.t_delivered = (mono_t){r.t_request.ns + 20001 * MS};
    expect("late and no answer", &r, (enum slo_verdict[]){N, N, N, B, B, B});
    r.outcome = OUTCOME_CLIENT_GONE_BEFORE_FIRST;
    expect("gone", &r, (enum slo_verdict[]){N, N, N, N, N, N});
}

static void test_what_is_not_known(void **state)
{
    struct record r = good();

    (void)state;
    r.timing.tpot_status = TPOT_NO_USAGE;
    r.timing.tpot_ns = -1;
    expect("no tpot", &r, (enum slo_verdict[]){G, N, G, N, G, G});
    r = good();
    r.flags |= RECORD_MULTI_CHOICE;
    expect("interleaved choices", &r, (enum slo_verdict[]){G, N, G, N, G, G});
    r = good();
    r.engine_ns[ENGINE_QUEUE] = -1;
    r.queue_ns = 5000 * MS;
    expect("queue_unknown", &r, (enum slo_verdict[]){G, G, N, N, G, G});
    r = good();
    r.queue_ns = -1;
    expect("never admitted", &r, (enum slo_verdict[]){G, G, N, N, G, G});
    r = without_first(OUTCOME_OK, 60000);
    (void)span_copy(SPAN("malformed"), r.unobserved, sizeof(r.unobserved));
    expect("could not be followed", &r, (enum slo_verdict[]){N, N, N, N, G, G});
    r.outcome = OUTCOME_TIMEOUT;
    expect("nor when it failed", &r, (enum slo_verdict[]){N, N, N, N, B, B});
    r = without_first(OUTCOME_TIMEOUT, 60000);
    r.t_request = MONO_NONE;
    expect("no whole request", &r, (enum slo_verdict[]){N, N, N, N, B, B});
}

static void test_client_gone_after_first(void **state)
{
    struct record r = good();

    (void)state;
    r.outcome = OUTCOME_CLIENT_GONE_AFTER_FIRST;
    expect("its first token was in time", &r, (enum slo_verdict[]){G, N, N, N, N, G});
    r.ttft_ns = 3000 * MS + 1;
    expect("its first token was late", &r, (enum slo_verdict[]){B, N, N, N, N, B});
}

static void test_statuses(void **state)
{
    static const struct {
        int status;
        enum slo_verdict errors;
    } rows[] = {{400, N}, {401, N}, {404, N}, {408, B}, {413, N}, {422, N}, {429, B},
                {499, N}, {500, B}, {502, B}, {503, B}, {504, B}, {529, B}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct record r = without_first(OUTCOME_HTTP_ERROR, 10);

        r.upstream_status = rows[i].status;
        expect(
            "status", &r,
            (enum slo_verdict[]){[SLO_ERRORS] = rows[i].errors, [SLO_GOODPUT] = rows[i].errors, N});
    }
    struct record r = without_first(OUTCOME_TIMEOUT, 60000);
    (void)span_copy(SPAN("request"), r.outcome_reason, sizeof(r.outcome_reason));
    expect("slow to send it", &r, (enum slo_verdict[SLO_OBJECTIVE_COUNT_]){N});
}

/* What has no target is not counted, except in goodput: a failure is never good. */
static void test_what_is_set(void **state)
{
    struct slo s = {.name = "ttft only", .targets = {[SLO_TTFT] = {true, 3000 * MS, 0.99}}};
    struct record r = without_first(OUTCOME_CONNECT_FAILED, 5);
    enum slo_verdict v[SLO_OBJECTIVE_COUNT_];

    (void)state;
    assert_int_equal(slo_judged(&s), 1u << SLO_TTFT | 1u << SLO_GOODPUT);
    assert_int_equal(slo_judged(&chat), (1u << SLO_OBJECTIVE_COUNT_) - 1);
    slo_judge(&s, &r, v);
    assert_int_equal(v[SLO_ERRORS], N);
    assert_int_equal(v[SLO_GOODPUT], B);
    r = good();
    r.timing.tpot_ns = 10 * NS_PER_S;
    slo_judge(&s, &r, v);
    assert_int_equal(v[SLO_TPOT], N);
    assert_int_equal(v[SLO_GOODPUT], G);
}

static void test_matching(void **state)
{
    static const char *const models[] = {"llama", "qwen*"};
    static const char *const yes[] = {"true"};
    static const char *const tenants[] = {"acme"};
    static const char *const teams[] = {"red", "blue"};
    struct slo s = {.name = "s",
                    .matches = {{SLO_LABEL_MODEL, "model", models, 2},
                                {SLO_LABEL_STREAM, "stream", yes, 1},
                                {SLO_LABEL_TENANT, "tenant", tenants, 1},
                                {SLO_LABEL_BUSINESS, "team", teams, 2}},
                    .n_matches = 4};
    struct record r = good();
    char labels[] = "tenant\0acme\0team\0blue";

    (void)state;
    r.labels = span_of(labels, sizeof(labels));
    assert_true(slo_is_for(&s, &r, "llama"));
    assert_true(slo_is_for(&s, &r, "qwen2.5-72b"));
    assert_false(slo_is_for(&s, &r, "llama-3"));
    assert_false(slo_is_for(&s, &r, "xqwen"));
    assert_false(slo_is_for(&s, &r, NULL));
    r.is_stream = false;
    assert_false(slo_is_for(&s, &r, "llama"));
    r.is_stream = true;
    (void)span_copy(SPAN("other"), r.tenant, sizeof(r.tenant)); /* a key's tenant wins */
    assert_false(slo_is_for(&s, &r, "llama"));
    (void)span_copy(SPAN("acme"), r.tenant, sizeof(r.tenant));
    assert_true(slo_is_for(&s, &r, "llama"));
    r.labels = span_of(labels, sizeof("tenant\0acme")); /* no team */
    assert_false(slo_is_for(&s, &r, "llama"));
    s.n_matches = 0;
    assert_true(slo_is_for(&s, &r, NULL));
}

static void test_other_labels(void **state)
{
    static const char *const one[] = {"one"};
    struct record r = good();

    (void)state;
    r.endpoint = "one";
    (void)span_copy(SPAN("one"), r.upstream, sizeof(r.upstream));
    (void)span_copy(SPAN("one"), r.model_version, sizeof(r.model_version));
    for (int l = SLO_LABEL_ENDPOINT; l <= SLO_LABEL_VERSION; l++) {
        const char *name = slo_label_name((enum slo_label)l);
        struct slo s = {
            .name = "s", .matches = {{(enum slo_label)l, name, one, 1}}, .n_matches = 1};

        assert_int_equal(slo_label_find(name), l);
        assert_row(name, slo_is_for(&s, &r, NULL));
    }
    assert_int_equal(slo_label_find("team"), SLO_LABEL_BUSINESS);
}

static void test_presets_and_bounds(void **state)
{
    static const int64_t want_ttft[] = {500 * MS, 3000 * MS, 30000 * MS};
    int64_t bounds[SLO_MAX];
    struct slo slos[4] = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "a again"}};

    (void)state;
    assert_int_equal(slo_n_presets, 3);
    for (size_t i = 0; i < 4; i++)
        memcpy(slos[i].targets, slo_presets[i % 3].targets, sizeof(slos[i].targets));
    assert_int_equal(slo_bounds(slos, 4, SLO_TTFT, bounds), 3);
    assert_memory_equal(bounds, want_ttft, sizeof(want_ttft));
    assert_int_equal(slo_bounds(slos, 4, SLO_ERRORS, bounds), 0);
    assert_int_equal(slo_bounds(slos, 4, SLO_E2E, bounds), 0);
    assert_ptr_equal(slo_preset_find(SPAN("completion")), &slo_presets[1]);
    assert_null(slo_preset_find(SPAN("chats")));
    assert_true(slo_presets[0].targets[SLO_ERRORS].target == 0.995);
    assert_true(slo_presets[2].targets[SLO_QUEUE].target == 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes_without_first_token),
        cmocka_unit_test(test_good_and_over),
        cmocka_unit_test(test_long_stream),
        cmocka_unit_test(test_not_a_stream),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_client_gone_after_first),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_what_is_set),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_other_labels),
        cmocka_unit_test(test_presets_and_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
