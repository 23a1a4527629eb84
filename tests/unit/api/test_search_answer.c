/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept requests over loopback: pages, single ones, what is said where there are none; a question
 * ends when nobody waits for it any more, when its time is over, and when the listener goes.
 */
#include <errno.h>
#include <stdatomic.h>

#include "api/queries.h"
#include "api/routes.h"
#include "api/search.h"
#include "memfail.h"
#include "rig.h"
#include "tempdir.h"

enum { N_ROWS = 10 };

static const int64_t first_us = INT64_C(1796004600000000); /* 2026-11-30T02:10:00Z */

struct rig {
    struct tempdir dir;
    struct admin admin;
    struct api_sources sources;
    int open_error; /* what rows_open says instead */
    struct api_query_limits limits;
};

static struct rig rig;

static int rows_open_here(void *arg, struct rows_reader **ret)
{
    struct rig *r = arg;
    return r->open_error ? r->open_error : rows_reader_open(r->dir.path, ret, NULL);
}

static void query_limits(void *arg, struct api_query_limits *ret)
{
    struct rig *r = arg;
    *ret = r->limits;
}

/* Request i ends i seconds after the first one; of 0 to 9, 7 has no ttft, 3 and 4 the same. */
static void fill(struct rig *r)
{
    struct rows *w;
    assert_int_equal(rows_open(r->dir.path, NULL, &w, NULL), 0);
    for (int i = 0; i < N_ROWS; i++) {
        struct record row;
        record_init(&row);
        row.endpoint = "chat_completions";
        (void)snprintf(row.request_id, sizeof(row.request_id), "id-%d", i);
        (void)snprintf(row.client_request_id, sizeof(row.client_request_id), "client-%d", i / 2);
        (void)snprintf(row.model_requested, sizeof(row.model_requested), "m%d", i % 2);
        row.started_at.us = first_us + i * US_PER_S;
        row.is_stream = true;
        row.status = 200;
        row.ttft_ns = i == 7 ? -1 : i == 4 ? 3 * NS_PER_MS : i * NS_PER_MS;
        assert_int_equal(rows_append(w, &row), 0);
    }
    assert_int_equal(rows_commit(w), 0);
    rows_close(w);
}

static int setup(void **state)
{
    struct rig *r = &rig;
    memset(r, 0, sizeof(*r));
    tempdir_make(&r->dir);
    fill(r);
    r->sources =
        (struct api_sources){.rows_open = rows_open_here, .query_limits = query_limits, .arg = r};
    admin_start(&r->admin, &r->sources, 4);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    tempdir_remove(&r->dir);
    return 0;
}

/* The body of the answer; the loop turns meanwhile. */
static const char *ask(struct rig *r, int status, const char *target)
{
    char path[1024], line[32];
    (void)snprintf(path, sizeof(path), "/api/v1/%s", target);
    struct span answer = admin_ask(&r->admin, "GET", path, "");
    (void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    const char *body = strstr(answer.p, "\r\n\r\n");
    if (!span_starts_with(answer, span_cstr(line)) || !body)
        fail_msg("%s: %s", target, answer.p);
    return body + 4;
}

/* "0 3 4": the numbers of the rows in an answer; the key of the next page. */
static void ids_of(const char *body, char *ids, char *next)
{
    const char *at = body;
    size_t n = 0;
    ids[0] = '\0';
    while ((at = strstr(at, "\"request_id\":\"id-")) != NULL) {
        at += strlen("\"request_id\":\"id-");
        ids[n++] = *at;
        ids[n] = '\0';
    }
    next[0] = '\0';
    at = strstr(body, "],\"next\":");
    assert_non_null(at);
    at += strlen("],\"next\":");
    if (*at == '"')
        (void)span_copy(span_of(at + 1, strcspn(at + 1, "\"")), next, SEARCH_KEY_BYTES);
    else
        assert_string_equal(at, "null}\n");
}

static void test_pages(void **state)
{
    static const struct {
        const char *query, *pages[5];
    } rows[] = {
        {"limit=1000", {"9876543210"}},
        {"limit=4", {"9876", "5432", "10"}},
        {"limit=5", {"98765", "43210"}},
        {"limit=4&order=time", {"0123", "4567", "89"}},
        {"limit=4&order=-ttft", {"9865", "4321", "0"}},
        {"limit=2&order=ttft", {"01", "23", "45", "68", "9"}},
        {"limit=2&order=-ttft&model=m1", {"95", "31"}},
        {"model=m0&ttft>2&ttft<=6", {"64"}},
        {"ttft=", {"7"}},
        {"client_request_id=client-2", {"54"}},
        {"from=1796004603&to=1796004606", {"543"}},
        {"from=2026-11-30T02:10:08Z", {"98"}},
        {"model=nobody", {""}},
        {"order=-tokens_per_event", {""}},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char ids[N_ROWS + 1], next[SEARCH_KEY_BYTES] = "";
        for (size_t k = 0; k < ARRAY_LEN(rows[i].pages) && rows[i].pages[k]; k++) {
            char target[300];
            (void)snprintf(target, sizeof(target), "requests?%s&after=%s", rows[i].query, next);
            ids_of(ask(r, 200, target), ids, next);
            if (strcmp(ids, rows[i].pages[k]) != 0)
                fail_msg("%s, page %zu: %s", rows[i].query, k, ids);
            bool is_last = k + 1 == ARRAY_LEN(rows[i].pages) || !rows[i].pages[k + 1];
            assert_int_equal(next[0] == '\0', is_last);
        }
    }
}

static void test_one(void **state)
{
    static const char row[] =
        "{\"schema_version\":1,\"started_at\":\"2026-11-30T02:10:03.000000Z\","
        "\"request_id\":\"id-3\",\"client_request_id\":\"client-1\",";
    struct rig *r = *state;
    const char *body = ask(r, 200, "requests/id-3");
    assert_memory_equal(body, row, strlen(row));
    assert_string_equal(body + strlen(body) - 2, "}\n");
    assert_memory_equal(ask(r, 200, "requests/id%2d3"), row, strlen(row));
    /* The last one of that name. */
    assert_memory_equal(ask(r, 200, "requests/client-1"), row, strlen(row));
    assert_non_null(strstr(ask(r, 404, "requests/id-33"),
                           "\"errorType\":\"not_found\",\"error\":\"no request \\\"id-33\\\" is "
                           "kept; one that has just ended"));
    assert_non_null(strstr(ask(r, 400, "requests/%zz"), "no request id"));
    /* Another resource. */
    assert_string_equal(ask(r, 200, "requests/recent"), "{\"requests\":[]}\n");
}

static void test_mistakes(void **state)
{
    struct rig *r = *state;
    assert_string_equal(
        ask(r, 400, "requests?ttf_ms=5"),
        "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parameter \\\"ttf_ms\\\": a "
        "request has no such field; did you mean \\\"ttft_ms\\\"?\"}");
    assert_non_null(strstr(ask(r, 400, "requests?limit=-1"), "from 1 to 1000"));
}

static void test_nothing_is_kept(void **state)
{
    struct rig *r = *state;
    r->open_error = -ENODEV;
    assert_non_null(strstr(ask(r, 503, "requests"), "no requests are kept; data_dir"));
    assert_non_null(strstr(ask(r, 503, "requests/id-3"), "no requests are kept; data_dir"));
    r->open_error = -EACCES;
    assert_non_null(strstr(ask(r, 500, "requests"), "cannot be read: permission denied"));
}

static void test_late(void **state)
{
    struct rig *r = *state;
    r->limits.timeout_ns = 1;
    assert_non_null(strstr(ask(r, 503, "requests"), "\"errorType\":\"timeout\""));
}

static int attempt(void *ctx)
{
    const struct query_request *request = ctx;
    struct buf body;
    int status = 0;
    buf_init(&body, QUERIES_ANSWER_MAX);
    queries_run_here(&rig.sources, request, &body, &status);
    buf_done(&body);
    return status == 200 ? 0 : -ENOMEM;
}

static void test_failing_allocations(void **state)
{
    struct query_request requests[] = {
        {.handle = search_list, .path = SPAN("/api/v1/requests"), .query = SPAN("labels.a!=b")},
        {.handle = search_one, .path = SPAN("/api/v1/requests/client-1")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        assert_true(memfail_each(attempt, &requests[i]) >= 1);
}

/* --- questions that end early --- */

static struct early {
    atomic_bool is_held, may_ask, is_over;
    atomic_int result;
    int status;
} early;

static int ignore(void *ctx, uint64_t key, const struct record *record)
{
    (void)ctx;
    (void)key;
    (void)record;
    return 0;
}

/* Asks when it is let go; whoever cancels did it before that. */
static void ask_slowly(struct prom_call *c)
{
    struct rows_reader *rows;
    const struct rows_question q = {.to = {INT64_MAX}, .limit = 1};
    assert_int_equal(rows_reader_open(rig.dir.path, &rows, NULL), 0);
    c->hold(c->ctx, rows);
    atomic_store(&early.is_held, true);
    while (!atomic_load(&early.may_ask))
        usleep(1000);
    atomic_store(&early.result, rows_ask(rows, &q, ignore, NULL));
    c->hold(c->ctx, NULL);
    rows_reader_close(rows);
    atomic_store(&early.is_over, true);
}

static void on_answer(void *owner, int status, const char *type, struct buf *body)
{
    (void)owner;
    (void)type;
    (void)body;
    early.status = status;
}

static void turn_until(struct rig *r, const atomic_bool *what)
{
    for (int i = 0; i < 5000 && !atomic_load(what); i++)
        admin_turn(&r->admin, 1);
    assert_true(atomic_load(what));
}

static struct queries *begin_slowly(struct rig *r, struct query **ret)
{
    struct queries *q;
    const struct query_request request = {.handle = ask_slowly, .on_answer = on_answer};
    memset(&early, 0, sizeof(early));
    assert_int_equal(queries_new(r->admin.loop, &r->sources, &q), 0);
    assert_int_equal(queries_start(q, &request, ret), 0);
    turn_until(r, &early.is_held);
    return q;
}

static void test_a_client_that_leaves_ends_its_question(void **state)
{
    struct rig *r = *state;
    struct query *query;
    struct queries *q = begin_slowly(r, &query);
    queries_leave(query);
    atomic_store(&early.may_ask, true);
    turn_until(r, &early.is_over);
    assert_int_equal(atomic_load(&early.result), -ECANCELED);
    queries_free(q);
    assert_int_equal(early.status, 0); /* nobody was told */
}

static void test_time_that_is_over_ends_a_question(void **state)
{
    struct rig *r = *state;
    struct query *query;
    r->limits.timeout_ns = 20 * NS_PER_MS;
    struct queries *q = begin_slowly(r, &query);
    mono_t end = mono_add(clock_mono(), 50 * NS_PER_MS);
    while (mono_diff(clock_mono(), end) < 0)
        admin_turn(&r->admin, 1);
    atomic_store(&early.may_ask, true);
    turn_until(r, &early.is_over);
    assert_int_equal(atomic_load(&early.result), -ECANCELED);
    queries_free(q);
}

/* The one that asks is let go by its cancellation alone. */
static void ask_until_over(struct prom_call *c)
{
    struct rows_reader *rows;
    const struct rows_question q = {.to = {INT64_MAX}, .limit = 1};
    int result = 0;
    assert_int_equal(rows_reader_open(rig.dir.path, &rows, NULL), 0);
    c->hold(c->ctx, rows);
    atomic_store(&early.is_held, true);
    while (result == 0)
        result = rows_ask(rows, &q, ignore, NULL);
    atomic_store(&early.result, result);
    c->hold(c->ctx, NULL);
    rows_reader_close(rows);
}

static void test_the_end_of_all_ends_questions(void **state)
{
    struct rig *r = *state;
    struct queries *q;
    struct query *query;
    const struct query_request request = {.handle = ask_until_over, .on_answer = on_answer};
    memset(&early, 0, sizeof(early));
    assert_int_equal(queries_new(r->admin.loop, &r->sources, &q), 0);
    assert_int_equal(queries_start(q, &request, &query), 0);
    turn_until(r, &early.is_held);
    queries_free(q);
    assert_int_equal(atomic_load(&early.result), -ECANCELED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pages),
        TEST(test_one),
        TEST(test_mistakes),
        TEST(test_nothing_is_kept),
        TEST(test_late),
        TEST(test_failing_allocations),
        TEST(test_a_client_that_leaves_ends_its_question),
        TEST(test_time_that_is_over_ends_a_question),
        TEST(test_the_end_of_all_ends_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
