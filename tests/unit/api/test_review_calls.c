/* SPDX-License-Identifier: Apache-2.0 */
/* The SLO review over HTTP: both forms, its period, what it says where it cannot be made. */
#include <errno.h>

#include "rig.h"
#include "series/memory.h"

#define NAME "llm_slo_total"

struct rig {
    struct admin admin;
    struct memory *store;
    struct slo slo;
    int error; /* of review_use */
};

static int reader_open(void *arg, struct reader **ret)
{
    struct rig *r = arg;
    if (!r->store)
        return -EBUSY;
    *ret = memory_reader(r->store);
    return 0;
}

static void reader_close(void *arg, struct reader *reader)
{
    (void)arg;
    (void)reader;
}

static int review_use(void *arg, void (*use)(void *ctx, const struct review_question *from),
                      void *ctx)
{
    struct rig *r = arg;
    const struct review_question from = {.slos = &r->slo, .n_slos = 1};
    if (r->error == 0)
        use(ctx, &from);
    return r->error;
}

static int setup(void **state)
{
    static struct rig r;
    static struct api_sources sources;
    r = (struct rig){.slo = {.name = "chat", .window_ms = SLO_WINDOW_MS, .min_bad = 6}};
    r.slo.targets[SLO_ERRORS] = (struct slo_target){.is_set = true, .target = 0.99};
    assert_int_equal(memory_new(&r.store), 0);
    const struct label pairs[] = {{SPAN(LABEL_NAME), SPAN(NAME)},
                                  {SPAN("objective"), SPAN("errors")},
                                  {SPAN("slo"), SPAN("chat")}};
    for (int i = 0; i < 100; i++)
        assert_int_equal(memory_append(r.store, (struct labels){pairs, 3},
                                       INT64_C(1700000000000) + i * 60000, i * 10, NULL),
                         0);
    sources = (struct api_sources){.reader_open = reader_open,
                                   .reader_close = reader_close,
                                   .review_use = review_use,
                                   .arg = &r};
    admin_start(&r.admin, &sources, 4);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    r->store = memory_free(r->store);
    return 0;
}

static void ask(struct rig *r, const char *target, const char *status, const char *what)
{
    const char *all = admin_ask(&r->admin, "GET", target, "").p;
    if (!strstr(all, status) || !strstr(all, what))
        fail_msg("%s: %s", target, all);
}

static void it_is_answered(void **state)
{
    struct rig *r = *state;
    ask(r, "/api/v1/slo/review?since=1h&to=1700003600", "Content-Type: application/json",
        "\"data\":{\"from\":\"2023-11-14T22:13:20.000Z\",\"to\":\"2023-11-14T23:13:20.000Z\"");
    ask(r, "/api/v1/slo/review?since=3600&to=1700003600&format=json", " 200 ",
        "\"requests\":600,\"bad\":600,");
    ask(r, "/api/v1/slo/review?since=1h&to=1700003600&format=markdown",
        "Content-Type: text/markdown; charset=utf-8\r\n",
        "\r\n\r\n# SLO review\n\nFrom 2023-11-14 22:13:20 to 2023-11-14 23:13:20 UTC (1 h 0 min)");
    ask(r, "/api/v1/slo/review", " 200 ", "\"objectives\":null");
    ask(r, "/api/v1/slo/review?since=3600&to=1700003600&only=budgets", " 200 ",
        "\"to\":\"2023-11-14T23:13:20.000Z\",\"budgets\":[{");
}

static void wrong_questions(void **state)
{
    struct rig *r = *state;
    ask(r, "/api/v1/slo/review?only=alerts", " 400 ", "only");
    ask(r, "/api/v1/slo/review?only=budgets&format=markdown", " 400 ", "only");
    ask(r, "/api/v1/slo/review?since=x", " 400 ", "cannot parse");
    ask(r, "/api/v1/slo/review?since=0s", " 400 ", "at most 400d");
    ask(r, "/api/v1/slo/review?since=401d", " 400 ", "at most 400d");
    ask(r, "/api/v1/slo/review?to=x", " 400 ", "valid timestamp");
    ask(r, "/api/v1/slo/review?format=html", " 400 ", "json or markdown");
}

static void it_cannot_be_made(void **state)
{
    struct rig *r = *state;
    r->error = -EBUSY;
    ask(r, "/api/v1/slo/review?format=markdown", "Content-Type: application/json",
        "another process has the data directory");
    r->error = -ENODEV;
    ask(r, "/api/v1/slo/review", " 503 ", "no rules are evaluated here");
    r->store = memory_free(r->store);
    ask(r, "/api/v1/slo/review", " 503 ", "the store is not open yet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_questions, setup, teardown),
        cmocka_unit_test_setup_teardown(it_cannot_be_made, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
