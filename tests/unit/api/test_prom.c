/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus' HTTP API over loopback: what each call answers, byte for byte; that long ones hold
 * up nobody else, end when nobody waits for them, and are refused when too many wait.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "api/queries.h"
#include "api/routes.h"
#include "memfail.h"
#include "rig.h"
#include "series/memory.h"

struct rig {
    struct admin admin;
    struct memory *store;
    struct api_query_limits limits;
    struct reader slow;            /* answers when it is let go */
    bool is_slow, is_off, is_busy; /* what reader_open gives; before a request */
    atomic_bool may_go;            /* the slow reader's */
    bool is_on_loop;               /* a source was asked on the loop's thread */
    pthread_t loop_thread;
    atomic_int n_open, n_in; /* readers open; of those, in a slow select */
};

static struct rig *slow_rig;

static int slow_select(struct reader *r, const struct series_select *what, struct arena *a,
                       struct series_ref **ret, size_t *ret_n)
{
    (void)r;
    (void)what;
    (void)a;
    atomic_fetch_add(&slow_rig->n_in, 1);
    while (!atomic_load(&slow_rig->may_go))
        usleep(1000);
    atomic_fetch_sub(&slow_rig->n_in, 1);
    *ret = NULL;
    *ret_n = 0;
    return 0;
}

static const struct reader_ops slow_ops = {.select = slow_select};

static int reader_open(void *arg, struct reader **ret)
{
    struct rig *r = arg;
    if (r->is_off)
        return -ENODEV;
    if (r->is_busy)
        return -EBUSY;
    atomic_fetch_add(&r->n_open, 1);
    *ret = r->is_slow ? &r->slow : memory_reader(r->store);
    return 0;
}

static void reader_close(void *arg, struct reader *reader)
{
    struct rig *r = arg;
    (void)reader;
    atomic_fetch_sub(&r->n_open, 1);
}

static void query_limits(void *arg, struct api_query_limits *ret)
{
    struct rig *r = arg;
    *ret = r->limits;
}

/* The collector may be at work on a page: nobody waits for it on the loop's thread. */
static void note_thread(struct rig *r)
{
    r->is_on_loop |= pthread_equal(pthread_self(), r->loop_thread) != 0;
}

static void dropped_counts(void *arg, struct jsonw *w)
{
    note_thread(arg);
    jsonw_key(w, "job");
    jsonw_u64(w, 3);
}

static void collected(void *arg, struct jsonw *w)
{
    note_thread(arg);
    jsonw_key(w, "targets");
    jsonw_begin_array(w);
    jsonw_end_array(w);
}

static void targets(void *arg, struct jsonw *w)
{
    note_thread(arg);
    jsonw_begin_object(w);
    jsonw_key(w, "health");
    jsonw_cstr(w, "up");
    jsonw_end_object(w);
}

static void add(struct rig *r, const char *name, const char *job, int64_t t_ms, double v,
                const struct fhist *h)
{
    const struct label pairs[] = {{SPAN(LABEL_NAME), span_cstr(name)},
                                  {SPAN("job"), span_cstr(job)},
                                  {SPAN("odd.name"), SPAN("x\"y")}};
    assert_int_equal(memory_append(r->store, (struct labels){pairs, 3}, t_ms, v, h), 0);
}

static void fill(struct rig *r)
{
    struct fhist_bucket buckets[] = {{0, 2}, {1, 1}};
    const struct fhist h = {.schema = 0,
                            .zero_threshold = 0.5,
                            .zero_count = 1,
                            .count = 4,
                            .sum = 5.5,
                            .positive = {buckets, 2}};
    for (int64_t t = 0; t <= 120; t += 30) {
        add(r, "up", "a", t * 1000, 1, NULL);
        add(r, "up", "b", t * 1000 + 500, t == 60 ? (double)NAN : (double)t / 3, NULL);
    }
    add(r, "hist", "a", 60000, 0, &h);
    add(r, "big", "a", 60000, 1e21, NULL);
    add(r, "low", "a", 60000, (double)-INFINITY, NULL);
}

/* One request is behind one bucket. */
static void record_request(struct rig *r)
{
    const struct metrics_request request = {.model = "m",
                                            .endpoint = "chat_completions",
                                            .upstream = "u",
                                            .is_stream = true,
                                            .is_model_proven = true};
    struct metrics_shard *shard;
    assert_int_equal(metrics_shard_new(r->admin.metrics, &shard), 0);
    metrics_record_ttft(metrics_shard_resolve(shard, &request), 240 * NS_PER_MS, "req-1");
    metrics_shard_release(shard);
}

static int setup(void **state)
{
    static struct rig r;
    struct api_sources sources = {.reader_open = reader_open,
                                  .reader_close = reader_close,
                                  .query_limits = query_limits,
                                  .targets = targets,
                                  .dropped_counts = dropped_counts,
                                  .collected = collected,
                                  .arg = &r};
    memset(&r, 0, sizeof(r));
    r.loop_thread = pthread_self();
    slow_rig = &r;
    r.slow.ops = &slow_ops;
    assert_int_equal(memory_new(&r.store), 0);
    fill(&r);
    admin_start(&r.admin, &sources, 4);
    record_request(&r);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    atomic_store(&r->may_go, true);
    admin_stop(&r->admin);
    assert_int_equal(atomic_load(&r->n_open), 0);
    memory_free(r->store);
    return 0;
}

static int send_request(struct rig *r, const char *method, const char *target, const char *form)
{
    char fields[128];
    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n",
                   strlen(form));
    return admin_send(&r->admin, method, target, fields, form);
}

static struct span ask(struct rig *r, const char *method, const char *target, const char *form)
{
    return admin_receive(&r->admin, send_request(r, method, target, form));
}

static void check(const char *name, struct span answer, int status, const char *body)
{
    char line[32];
    (void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    if (!span_starts_with(answer, span_cstr(line)))
        fail_msg("%s: %.*s", name, SPAN_ARG(answer));
    struct span got = span_from(answer, span_find(answer, SPAN("\r\n\r\n")) + 4);
    assert_span_equal(name, got, span_cstr(body));
}

#define OK(data)          "{\"status\":\"success\",\"data\":" data "}"
#define VECTOR(list)      OK("{\"resultType\":\"vector\",\"result\":[" list "]}")
#define MATRIX(list)      OK("{\"resultType\":\"matrix\",\"result\":[" list "]}")
#define FAULT(type, text) "{\"status\":\"error\",\"errorType\":\"" type "\",\"error\":\"" text "\"}"
#define BAD(text)         FAULT("bad_data", text)
#define SERIES(name, job) "{\"__name__\":\"" name "\",\"job\":\"" job "\",\"odd.name\":\"x\\\"y\"}"
#define CUT               "],\"warnings\":[\"results truncated due to limit\"]}"

static void test_calls(void **state)
{
    static const struct {
        const char *target;
        int status;
        const char *body;
    } rows[] = {
        /* At a moment. */
        {"query?query=1%2B1&time=12.5", 200,
         OK("{\"resultType\":\"scalar\",\"result\":[12.500,\"2\"]}")},
        {"query?query=%22a%22&time=0", 200, OK("{\"resultType\":\"string\",\"result\":[0,\"a\"]}")},
        {"query?query=up%7Bjob%3D%22a%22%7D&time=60", 200,
         VECTOR("{\"metric\":" SERIES("up", "a") ",\"value\":[60,\"1\"]}")},
        {"query?query=up%7Bjob%3D%22b%22%7D&time=1970-01-01T00:01:02.0017Z", 200,
         VECTOR("{\"metric\":" SERIES("up", "b") ",\"value\":[62.001,\"NaN\"]}")},
        {"query?query=big&time=60", 200,
         VECTOR("{\"metric\":" SERIES("big", "a") ",\"value\":[60,\"1e+21\"]}")},
        {"query?query=low&time=60", 200,
         VECTOR("{\"metric\":" SERIES("low", "a") ",\"value\":[60,\"-Inf\"]}")},
        {"query?query=hist&time=60", 200,
         VECTOR("{\"metric\":" SERIES(
             "hist", "a") ",\"histogram\":[60,{\"count\":\"4\",\"sum\":\"5.5\",\"buckets\":["
                          "[3,\"-0.5\",\"0.5\",\"1\"],[0,\"0.5\",\"1\",\"2\"],"
                          "[0,\"1\",\"2\",\"1\"]]}]}")},
        {"query?query=nothing&time=60", 200, VECTOR("")},
        {"query?query=up%7Bjob%3D%22a%22%7D%5B1m%5D&time=60", 200,
         MATRIX("{\"metric\":" SERIES("up", "a") ",\"values\":[[30,\"1\"],[60,\"1\"]]}")},
        {"query?query=sort(up)&time=0.5&limit=1", 200,
         "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{"
         "\"metric\":" SERIES(
             "up", "b") ",\"value\":[0.500,\"0\"]}]},\"warnings\":[\"results truncated due to "
                        "limit\"]}"},
        {"query?query=1%2B&time=0", 400,
         BAD("invalid parameter \\\"query\\\": 1:3: parse error: unexpected end of input")},
        {"query", 400,
         BAD("invalid parameter \\\"query\\\": 1:1: parse error: no expression found in input")},
        {"query?query=1&time=x", 400,
         BAD("invalid parameter \\\"time\\\": invalid time value for 'time': cannot parse "
             "\\\"x\\\" "
             "to a valid timestamp")},
        {"query?query=1&timeout=x", 400,
         BAD("invalid parameter \\\"timeout\\\": cannot parse \\\"x\\\" to a valid duration")},
        {"query?query=count_over_time(up%7Bjob%3D%22a%22%7D%5B1m%5D)&time=60&range_semantics=2",
         200, VECTOR("{\"metric\":{\"job\":\"a\",\"odd.name\":\"x\\\"y\"},\"value\":[60,\"3\"]}")},
        {"query?query=1&range_semantics=1", 400,
         BAD("invalid parameter \\\"range_semantics\\\": it is 2 or 3")},
        {"query?query=1&limit=-1", 400,
         BAD("invalid parameter \\\"limit\\\": limit must be non-negative")},
        {"query?query=%zz", 400, BAD("error parsing form values: invalid URL escape")},
        {"query?query=up&time=60&timeout=0", 503,
         FAULT("timeout", "query timed out in expression evaluation")},
        /* Over a range. */
        {"query_range?query=up%7Bjob%3D%22a%22%7D&start=0&end=60&step=30s", 200,
         MATRIX("{\"metric\":" SERIES("up", "a") ",\"values\":[[0,\"1\"],[30,\"1\"],[60,\"1\"]]}")},
        {"query_range?query=2&start=0&end=1&step=0.5", 200,
         MATRIX("{\"metric\":{},\"values\":[[0,\"2\"],[0.500,\"2\"],[1,\"2\"]]}")},
        {"query_range?query=hist&start=60&end=60&step=1", 200,
         MATRIX("{\"metric\":" SERIES(
             "hist", "a") ",\"histograms\":[[60,{\"count\":\"4\",\"sum\":\"5.5\",\"buckets\":["
                          "[3,\"-0.5\",\"0.5\",\"1\"],[0,\"0.5\",\"1\",\"2\"],"
                          "[0,\"1\",\"2\",\"1\"]]}]]}")},
        {"query_range?query=up%5B1m%5D&start=0&end=1&step=1", 400,
         BAD("invalid parameter \\\"query\\\": invalid expression type \\\"range vector\\\" for "
             "range query, must be Scalar or instant Vector")},
        {"query_range?query=1&start=2&end=1&step=1", 400,
         BAD("invalid parameter \\\"end\\\": end timestamp must not be before start time")},
        {"query_range?query=1&start=&end=1&step=1", 400,
         BAD("invalid parameter \\\"start\\\": cannot parse \\\"\\\" to a valid timestamp")},
        {"query_range?query=1&start=0&end=1&step=0", 400,
         BAD("invalid parameter \\\"step\\\": zero or negative query resolution step widths are "
             "not "
             "accepted. Try a positive integer")},
        {"query_range?query=1&start=0&end=11001&step=1", 400,
         BAD("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the "
             "query "
             "resolution (?step=XX)")},
        /* What there is. */
        {"labels", 200, OK("[\"__name__\",\"job\",\"odd.name\"]")},
        {"labels?match[]=nothing", 200, OK("[]")},
        {"labels?limit=1", 200, "{\"status\":\"success\",\"data\":[\"__name__\"" CUT},
        {"labels?match[]=%7B%7D", 400, BAD("match[] must contain at least one non-empty matcher")},
        {"label/__name__/values", 200, OK("[\"big\",\"hist\",\"low\",\"up\"]")},
        {"label/job/values?match[]=up&match[]=big", 200, OK("[\"a\",\"b\"]")},
        {"label/odd.name/values?match%5B%5D=up", 200, OK("[\"x\\\"y\"]")},
        {"label/U__odd_2e_name/values", 200, OK("[\"x\\\"y\"]")},
        {"label/nothing/values", 200, OK("[]")},
        {"label/%zz/values", 400, BAD("invalid label name: \\\"%zz\\\"")},
        {"series?match[]=up&match[]=up&match[]=%7Bjob%3D%22b%22%7D", 200,
         OK("[" SERIES("up", "a") "," SERIES("up", "b") "]")},
        {"series?match[]=up&limit=1", 200,
         "{\"status\":\"success\",\"data\":[" SERIES("up", "a") CUT},
        {"series", 400, BAD("no match[] parameter provided")},
        {"series?match[]=up%7B", 400,
         BAD("invalid parameter \\\"match[]\\\": 1:4: parse error: unexpected end of input inside "
             "braces")},
        {"query_exemplars?query=up&start=0&end=1", 200, OK("[]")},
        {"query_exemplars?query=up&start=2&end=1", 400,
         BAD("end timestamp must not be before start timestamp")},
        {"format_query?query=sum(up)by(job)", 200, OK("\"sum by (job) (up)\"")},
        {"targets", 200,
         OK("{\"activeTargets\":[{\"health\":\"up\"}],\"droppedTargets\":[],"
            "\"droppedTargetCounts\":{\"job\":3}}")},
        {"targets?state=dropped", 200,
         OK("{\"activeTargets\":[],\"droppedTargets\":[],\"droppedTargetCounts\":{\"job\":3}}")},
        {"targets?state=active", 200,
         OK("{\"activeTargets\":[{\"health\":\"up\"}],\"droppedTargets\":[],"
            "\"droppedTargetCounts\":null}")},
        {"collected", 200, "{\"targets\":[]}\n"},
        {"rules?type=alert", 200, OK("{\"groups\":[]}")},
        {"metadata?metric=nothing", 200, OK("{}")},
        {"metadata?limit=x", 400, BAD("limit must be a number")},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char target[512];
        (void)snprintf(target, sizeof(target), "/api/v1/%s", rows[i].target);
        check(target, ask(r, "GET", target, ""), rows[i].status, rows[i].body);
    }
    assert_false(r->is_on_loop);
}

static bool has(struct span text, const char *needle)
{
    return span_find(text, span_cstr(needle)) < text.n;
}

static void test_metadata_and_version(void **state)
{
    struct rig *r = *state;
    struct span all = ask(r, "GET", "/api/v1/metadata", "");
    assert_true(has(all, "\"llm_ttft_seconds\":[{\"type\":\"histogram\",\"help\":\""));
    assert_true(has(ask(r, "GET", "/api/v1/metadata?limit=1", ""), "\"unit\":\"seconds\"}]}}"));
    assert_true(has(ask(r, "GET", "/api/v1/status/buildinfo", ""), "\"version\":\"3."));
    assert_true(has(ask(r, "HEAD", "/api/v1/labels", ""), "\r\nContent-Type: application/json"));
}

/* As many points as Prometheus gives: both ends of 11,000 steps. */
static void test_most_points(void **state)
{
    struct span answer =
        ask(*state, "GET", "/api/v1/query_range?query=1&start=0&end=11000&step=1", "");
    assert_true(span_starts_with(answer, SPAN("HTTP/1.1 200 ")));
    assert_true(has(answer, ",[11000,\"1\"]]}]}}"));
}

/* What the limit of memory stops is the caller's affair, and said so. */
static void test_too_much_memory(void **state)
{
    struct rig *r = *state;
    static char text[2 << 20];
    memset(text, 'v', sizeof(text));
    struct arena_budget budget = {.max_bytes = 1 << 20};
    struct arena arena;
    struct prom_call c;
    struct buf body;
    const struct api_sources sources = {
        .reader_open = reader_open, .reader_close = reader_close, .arg = r};
    arena_init(&arena, &budget);
    buf_init(&body, 1 << 20);
    prom_init(&c, &sources, &arena, &body);
    c.budget = &budget;
    prom_run(&c, prom_labels_series, span_of(text, sizeof(text)), SPAN(""));
    assert_int_equal(c.status, 422);
    assert_true(has(buf_span(&body), "more than 1 MiB of memory"));
    buf_done(&body);
    arena_done(&arena);
}

static int attempt(void *ctx)
{
    const struct query_request *r = ctx;
    const struct api_sources sources = {.reader_open = reader_open,
                                        .reader_close = reader_close,
                                        .targets = targets,
                                        .collected = collected,
                                        .metrics = slow_rig->admin.metrics,
                                        .arg = slow_rig};
    struct buf body;
    int status = 0;
    buf_init(&body, QUERIES_ANSWER_MAX);
    queries_run_here(&sources, r, &body, &status);
    bool is_error =
        span_starts_with(buf_span(&body), SPAN("{\"status\":\"error\"")) || buf_len(&body) == 0;
    bool is_whole =
        span_ends_with(buf_span(&body), SPAN("}")) || span_ends_with(buf_span(&body), SPAN("}\n"));
    assert_true(status == 200 ? is_whole && !is_error : status == 500 && is_error);
    buf_done(&body);
    assert_int_equal(atomic_load(&slow_rig->n_open), 0);
    return status == 200 ? 0 : -ENOMEM;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const struct {
        void (*call)(struct prom_call *c);
        const char *path, *query;
    } rows[] = {
        {prom_query_instant, "", "query=sum+by(job)(up)&time=60&stats=all"},
        {prom_query_range, "", "query=hist&start=0&end=120&step=30"},
        {prom_labels_names, "", "match[]=up&match[]=hist"},
        {prom_labels_values, "/api/v1/label/U__odd_2e_name/values", "start=1"},
        {prom_labels_series, "", "match[]=up&limit=1"},
        {prom_query_format, "", "query=up"},
        {prom_exemplars_query, "", "query=llm_ttft_seconds+or+llm_ttft_seconds_bucket"},
        {prom_info_metadata, "", "limit=2"},
        {prom_info_targets, "", ""},
        {collected_get, "", ""},
        {prom_info_build, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query_request r = {.handle = rows[i].call,
                                  .path = span_cstr(rows[i].path),
                                  .query = span_cstr(rows[i].query)};
        assert_true(memfail_each(attempt, &r) >= 1);
    }
}

/* The request behind a bucket, under the names that a scrape gives. */
static void test_exemplars(void **state)
{
    static const struct {
        const char *query, *labels;
    } rows[] = {
        {"llm_ttft_seconds_bucket", "{\"__name__\":\"llm_ttft_seconds_bucket\",\"endpoint\":"
                                    "\"chat_completions\",\"le\":\"0.3\",\"model\":\"m\","
                                    "\"upstream\":\"u\"}"},
        {"sum(rate(llm_ttft_seconds[5m]))", "{\"__name__\":\"llm_ttft_seconds\",\"endpoint\":"
                                            "\"chat_completions\",\"model\":\"m\","
                                            "\"upstream\":\"u\"}"},
    };
    struct rig *r = *state;
    char target[200], wanted[400];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)snprintf(target, sizeof(target), "/api/v1/query_exemplars?query=%s", rows[i].query);
        (void)snprintf(wanted, sizeof(wanted),
                       "{\"status\":\"success\",\"data\":[{\"seriesLabels\":%s,\"exemplars\":[{"
                       "\"labels\":{\"request_id\":\"req-1\"},\"value\":\"0.24\",\"timestamp\":",
                       rows[i].labels);
        struct span answer = ask(r, "GET", target, "");
        if (!has(answer, wanted))
            fail_msg("%.*s instead of %s", SPAN_ARG(answer), wanted);
    }
    check("bucket",
          ask(r, "GET", "/api/v1/query_exemplars?query=llm_ttft_seconds_bucket{le=%221.0%22}", ""),
          200, OK("[]"));
}

/* The call alone, at a moment of its own. */
static int federate(struct rig *r, const char *matches, struct buf *body, const char **ret_type)
{
    struct arena arena;
    struct prom_call c;
    const struct api_sources sources = {
        .reader_open = reader_open, .reader_close = reader_close, .arg = r};
    arena_init(&arena, NULL);
    prom_init(&c, &sources, &arena, body);
    c.now_ms = 400 * 1000;
    prom_run(&c, prom_federate_text, span_cstr(matches), SPAN(""));
    *ret_type = c.content_type;
    arena_done(&arena);
    return c.status;
}

static int federate_once(void *ctx)
{
    const char *type;
    struct buf body;
    buf_init(&body, MIB);
    int status = federate(ctx, "match[]=engine_waiting", &body, &type);
    assert_true(status == 200 ? buf_len(&body) > 0 : status == 500);
    buf_done(&body);
    assert_int_equal(atomic_load(&slow_rig->n_open), 0);
    return status == 200 ? 0 : -ENOMEM;
}

/* Samples of one metric stand together whatever its labels, each with its own time; what ended,
 * what is old, and what the text cannot have is not among them. */
static void test_federate(void **state)
{
    static const struct label one[] = {{SPAN_INIT("Host"), SPAN_INIT("h")},
                                       {SPAN_INIT(LABEL_NAME), SPAN_INIT("engine_waiting")}};
    static const struct label two[] = {{SPAN_INIT(LABEL_NAME), SPAN_INIT("engine_waiting")},
                                       {SPAN_INIT("instance"), SPAN_INIT("a\"\\\n:1")},
                                       {SPAN_INIT("job"), SPAN_INIT("upstreams")}};
    static const struct label other[] = {{SPAN_INIT(LABEL_NAME), SPAN_INIT("engine_running")}};
    static const struct label ended[] = {{SPAN_INIT(LABEL_NAME), SPAN_INIT("engine_ended")}};
    static const struct label old[] = {{SPAN_INIT(LABEL_NAME), SPAN_INIT("engine_old")}};
    static const struct {
        const struct label *pairs;
        size_t n;
        int64_t t_ms;
        double v;
    } rows[] = {
        {two, 3, 390000, 1},     {two, 3, 399123, 2.5}, {one, 2, 300000, (double)INFINITY},
        {other, 1, 100001, 0.1}, {ended, 1, 390000, 1}, {old, 1, 100000, 1},
    };
    struct rig *r = *state;
    const char *type;
    struct buf body;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(memory_append(r->store, (struct labels){rows[i].pairs, rows[i].n},
                                       rows[i].t_ms, rows[i].v, NULL),
                         0);
    assert_int_equal(
        memory_append(r->store, (struct labels){ended, 1}, 395000, series_stale(), NULL), 0);
    buf_init(&body, MIB);
    assert_int_equal(
        federate(r, "match[]=engine_waiting&match[]={__name__=~%22engine_.%2B%22}", &body, &type),
        200);
    assert_string_equal(type, "text/plain; version=0.0.4; charset=utf-8");
    assert_span_equal("all", buf_span(&body),
                      SPAN("# TYPE engine_running untyped\n"
                           "engine_running 0.1 100001\n"
                           "# TYPE engine_waiting untyped\n"
                           "engine_waiting{Host=\"h\"} +Inf 300000\n"
                           "engine_waiting{instance=\"a\\\"\\\\\\n:1\",job=\"upstreams\"} 2.5 "
                           "399123\n"));
    buf_clear(&body);
    assert_int_equal(federate(r, "match[]=up", &body, &type), 200);
    assert_span_equal("names", buf_span(&body),
                      SPAN("# 2 series are left out: native histograms, and names that this format "
                           "does not have\n"));
    buf_done(&body);
    check("without", ask(r, "GET", "/federate", ""), 400, BAD("no match[] parameter provided"));
    assert_true(has(ask(r, "GET", "/federate?match[]=a{", ""), "400 "));
    assert_true(memfail_each(federate_once, r) > 1);
}

static void test_forms(void **state)
{
    struct rig *r = *state;
    /* The form goes before the query string; + is a space. */
    check("link of an alert", ask(r, "GET", "/graph?g0.expr=1+%2B+1&g0.tab=1&time=7", ""), 200,
          OK("{\"resultType\":\"scalar\",\"result\":[7,\"2\"]}"));
    check("wrong link", ask(r, "GET", "/graph?query=1", ""), 400,
          BAD("invalid parameter \\\"g0.expr\\\": 1:1: parse error: no expression found in input"));
    check("form", ask(r, "POST", "/api/v1/query?query=3&time=7", "query=1+%2B+1"), 200,
          OK("{\"resultType\":\"scalar\",\"result\":[7,\"2\"]}"));
    check("range",
          ask(r, "POST", "/api/v1/query_range", "query=1&start=0&end=0&step=15&timeout=10s"), 200,
          MATRIX("{\"metric\":{},\"values\":[[0,\"1\"]]}"));
    check("labels", ask(r, "POST", "/api/v1/labels", "match%5B%5D=nothing"), 200, OK("[]"));
    assert_true(has(ask(r, "DELETE", "/api/v1/query", ""), "\r\nAllow: GET, HEAD, POST\r\n"));
}

static void test_a_form_has_a_limit(void **state)
{
    enum { FORM = 2 * 1024 * 1024 + 1 };
    struct rig *r = *state;
    char head[256];
    static char body[FORM];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    memset(body, 'a', sizeof(body));
    (void)connect(fd, (struct sockaddr *)(void *)&r->admin.at.ss, r->admin.at.len);
    admin_turn(&r->admin, 1);
    int n = snprintf(
        head, sizeof(head),
        "POST /api/v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: "
        "application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n",
        FORM);
    assert_int_equal(send(fd, head, (size_t)n, 0), n);
    for (size_t at = 0; at < FORM;) {
        ssize_t sent = send(fd, body + at, FORM - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at += sent > 0 ? (size_t)sent : 0;
        admin_turn(&r->admin, 1);
    }
    assert_true(span_starts_with(admin_receive(&r->admin, fd), SPAN("HTTP/1.1 413 ")));
}

static void test_without_a_store(void **state)
{
    struct rig *r = *state;
    r->is_off = true;
    check("off", ask(r, "GET", "/api/v1/query?query=1", ""), 503,
          FAULT("unavailable", "there is no store to query: it is switched off"));
    r->is_off = false;
    r->is_busy = true;
    check("busy", ask(r, "GET", "/api/v1/query?query=1", ""), 503,
          FAULT("unavailable", "the store is not open yet; /api/v1/status says what it waits for"));
}

static void test_limits(void **state)
{
    struct rig *r = *state;
    r->limits.max_samples = 1;
    assert_true(has(ask(r, "GET", "/api/v1/query_range?query=up&start=0&end=120&step=1", ""),
                    "HTTP/1.1 422 "));
    r->limits = (struct api_query_limits){.timeout_ns = 1};
    check("late", ask(r, "GET", "/api/v1/query?query=up&time=60", ""), 503,
          FAULT("timeout", "query timed out in query queue"));
}

/* Turns until so many slow selects are under way. */
static void wait_for(struct rig *r, const atomic_int *what, int n)
{
    for (int i = 0; i < 5000 && atomic_load(what) != n; i++)
        admin_turn(&r->admin, 1);
    assert_int_equal(atomic_load(what), n);
}

static void test_others_are_not_held_up(void **state)
{
    struct rig *r = *state;
    r->is_slow = true;
    int a = send_request(r, "GET", "/api/v1/query?query=up&time=1", "");
    int b = send_request(r, "GET", "/api/v1/labels", "");
    wait_for(r, &r->n_in, 2);
    assert_true(has(ask(r, "GET", "/healthz", ""), "\"status\":\"ok\""));
    assert_true(has(ask(r, "GET", "/metrics", ""), "inferometer_build_info"));
    assert_true(has(ask(r, "GET", "/api/v1/rules", ""), "\"groups\":[]"));
    atomic_store(&r->may_go, true);
    check("query", admin_receive(&r->admin, a), 200, VECTOR(""));
    check("labels", admin_receive(&r->admin, b), 200, OK("[]"));
}

static void test_too_many_are_refused(void **state)
{
    enum { N = QUERIES_AT_ONCE + QUERIES_WAITING };
    struct rig *r = *state;
    int fds[N];
    r->is_slow = true;
    for (int i = 0; i < N; i++) {
        fds[i] = send_request(r, "GET", "/api/v1/query?query=up&time=1", "");
        if (i < QUERIES_AT_ONCE)
            wait_for(r, &r->n_in, i + 1);
    }
    admin_turn(&r->admin, 50);
    check("one more", ask(r, "GET", "/api/v1/query?query=up", ""), 503,
          FAULT("unavailable", "2 queries run and 32 wait already; ask again later"));
    /* Those that wait and go make room. */
    close(fds[N - 1]);
    admin_turn(&r->admin, 50);
    fds[N - 1] = send_request(r, "GET", "/api/v1/query?query=up&time=1", "");
    admin_turn(&r->admin, 50);
    atomic_store(&r->may_go, true);
    for (int i = 0; i < N; i++)
        check("served", admin_receive(&r->admin, fds[i]), 200, VECTOR(""));
}

static void test_nobody_waits_any_more(void **state)
{
    struct rig *r = *state;
    r->is_slow = true;
    int fd = send_request(r, "GET", "/api/v1/query?query=up&time=1", "");
    wait_for(r, &r->n_in, 1);
    close(fd);
    admin_turn(&r->admin, 50);
    atomic_store(&r->may_go, true);
    wait_for(r, &r->n_open, 0);
    r->is_slow = false;
    check("next", ask(r, "GET", "/api/v1/query?query=1&time=1", ""), 200,
          OK("{\"resultType\":\"scalar\",\"result\":[1,\"1\"]}"));
}

/* Ten clients that read nothing of 17 MB each; one that reads has its answer all the same. */
static void test_slow_readers_have_a_limit(void **state)
{
    enum { N = 10, LEAST = 3000 };
    static const char big[] = "/api/v1/query?query=vector(1)[1000000s:1s]";
    static char answers[N][LEAST];
    struct rig *r = *state;
    int fds[N];
    int n_refused = 0, n_served = 0;
    mono_t start = clock_mono();
    r->limits.timeout_ns = 120 * NS_PER_S;
    for (int i = 0; i < N; i++) {
        fds[i] = send_request(r, "GET", big, "");
        for (int turns = 0;
             turns < 20000 && recv(fds[i], answers[i], LEAST, MSG_PEEK | MSG_DONTWAIT) <= 0;
             turns++)
            admin_turn(&r->admin, 1);
        n_served += memcmp(answers[i], "HTTP/1.1 200 ", 13) == 0;
        n_refused += memcmp(answers[i], "HTTP/1.1 503 ", 13) == 0;
    }
    assert_int_equal(n_served + n_refused, N);
    /* Who reads nothing for 10 s is gone and makes room; then nobody may be refused. */
    bool made_room = mono_diff(clock_mono(), start) > 10 * NS_PER_S;
    assert_true(n_served >= 6 && (n_served < N || made_room));
    for (int i = 0; i < N; i++)
        assert_true(
            memcmp(answers[i], "HTTP/1.1 503 ", 13) != 0 ||
            has(span_of(answers[i], LEAST), "clients have not read 128 MiB of answers yet"));
    assert_true(has(ask(r, "GET", "/metrics", ""), "inferometer_build_info"));
    for (int i = 0; i < N; i++)
        close(fds[i]);
    admin_turn(&r->admin, 50);
    int fd = send_request(r, "GET", big, "");
    for (int turns = 0; turns < 20000 && recv(fd, answers[0], LEAST, MSG_PEEK | MSG_DONTWAIT) <= 0;
         turns++)
        admin_turn(&r->admin, 1);
    assert_memory_equal(answers[0], "HTTP/1.1 200 ", 13);
    close(fd);
    admin_turn(&r->admin, 1);
}

/* The listener goes while a query runs and others wait. */
static void test_stopped_under_way(void **state)
{
    struct rig *r = *state;
    int fds[4];
    r->is_slow = true;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = send_request(r, "GET", "/api/v1/query?query=up&time=1", "");
    wait_for(r, &r->n_in, 2);
    atomic_store(&r->may_go, true);
    r->admin.api = api_free(r->admin.api);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_calls),
        TEST(test_metadata_and_version),
        TEST(test_most_points),
        TEST(test_too_much_memory),
        TEST(test_failing_allocations),
        TEST(test_exemplars),
        TEST(test_federate),
        TEST(test_forms),
        TEST(test_a_form_has_a_limit),
        TEST(test_without_a_store),
        TEST(test_limits),
        TEST(test_others_are_not_held_up),
        TEST(test_too_many_are_refused),
        TEST(test_nobody_waits_any_more),
        TEST(test_slow_readers_have_a_limit),
        TEST(test_stopped_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
