/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admin listener over loopback: every route, what it refuses, and that its answers are whole.
 */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "harness.h"
#include "io/sock.h"

struct rig {
    struct loop *loop;
    struct metrics *metrics;
    struct recent *recent;
    struct api *api;
    struct addr at;
    int fd;
    bool is_ready;
    char answer[64 * 1024];
};

static bool is_ready(void *arg, const char **ret_why)
{
    struct rig *r = arg;
    *ret_why = "draining";
    return r->is_ready;
}

static void inflight(void *arg, struct jsonw *w)
{
    (void)arg;
    jsonw_begin_object(w);
    jsonw_key(w, "request_id");
    jsonw_cstr(w, "r1");
    jsonw_end_object(w);
}

static int setup(void **state)
{
    static struct rig r;
    struct err err;
    struct api_sources sources = {.is_ready = is_ready, .inflight = inflight, .arg = &r};
    memset(&r, 0, sizeof(r));
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &r.at, &err), 0);
    assert_int_equal(loop_new(&r.loop), 0);
    assert_int_equal(metrics_new(NULL, &r.metrics), 0);
    assert_int_equal(recent_new(4, &r.recent), 0);
    sources.metrics = r.metrics;
    sources.recent = r.recent;
    assert_int_equal(api_new(r.loop, &sources, &r.api), 0);
    r.fd = listener_open(&r.at, 16, &r.at);
    assert_true(r.fd >= 0);
    assert_int_equal(api_listen(r.api, r.fd), 0);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    api_free(r->api);
    close(r->fd);
    recent_free(r->recent);
    metrics_free(r->metrics);
    loop_free(r->loop);
    return 0;
}

/* Sends one request that asks to close, and reads until the server does. */
static struct span ask(struct rig *r, const char *method, const char *target, const char *fields)
{
    char request[512];
    size_t n = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&r->at.ss, r->at.len), 0);
    int len = snprintf(request, sizeof(request),
                       "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n", method, target,
                       fields);
    assert_int_equal(send(fd, request, (size_t)len, 0), len);
    for (int turns = 0; turns < 2000; turns++) {
        loop_turn(r->loop, NS_PER_MS);
        ssize_t got = recv(fd, r->answer + n, sizeof(r->answer) - 1 - n, MSG_DONTWAIT);
        if (got == 0)
            break;
        if (got > 0)
            n += (size_t)got;
    }
    close(fd);
    loop_turn(r->loop, 0);
    r->answer[n] = '\0';
    return span_of(r->answer, n);
}

static bool has(struct span text, const char *needle)
{
    return span_find(text, span_cstr(needle)) < text.n;
}

static void test_routes(void **state)
{
    static const struct {
        const char *method, *target, *fields, *status, *body;
    } rows[] = {
        {"GET", "/", "", "200", "/api/v1/inflight"},
        {"GET", "/metrics", "", "200", "# TYPE inferometer_build_info gauge"},
        {"GET", "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n", "200",
         "# EOF"},
        {"GET", "/metrics?x=1", "", "200", "inferometer_build_info"},
        {"GET", "/healthz", "", "200", "\"status\":\"ok\""},
        {"GET", "/readyz", "", "503", "\"reason\":\"draining\""},
        {"GET", "/api/v1/inflight", "", "200", "{\"requests\":[{\"request_id\":\"r1\"}]}"},
        {"GET", "/api/v1/requests/recent", "", "200", "{\"requests\":[{\"a\":2},{\"a\":1}]}"},
        {"GET", "/api/v1/requests/recent?limit=1", "", "200", "{\"requests\":[{\"a\":2}]}"},
        {"GET", "/api/v1/requests/recent?limit=0", "", "400", "limit must be"},
        {"GET", "/api/v1/requests/recent?limit=x", "", "400", "limit must be"},
        {"GET", "/api/v1/requests/recent?limit=1001", "", "400", "limit must be"},
        {"GET", "/nothing", "", "404", "no such page"},
        {"GET", "/metrics/", "", "404", "no such page"},
        {"POST", "/metrics", "Content-Length: 0\r\n", "405", "only GET and HEAD"},
        {"DELETE", "/api/v1/inflight", "", "405", "only GET and HEAD"},
    };
    struct rig *r = *state;
    recent_push(r->recent, SPAN("{\"a\":1}"));
    recent_push(r->recent, SPAN("{\"a\":2}"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char status[32];
        struct span answer = ask(r, rows[i].method, rows[i].target, rows[i].fields);
        (void)snprintf(status, sizeof(status), "HTTP/1.1 %s ", rows[i].status);
        assert_row(rows[i].target, span_starts_with(answer, span_cstr(status)));
        assert_row(rows[i].target, has(answer, rows[i].body));
        assert_row(rows[i].target, has(answer, "Cache-Control: no-store"));
    }
}

static void test_head_has_no_body(void **state)
{
    struct rig *r = *state;
    struct span answer = ask(r, "HEAD", "/healthz", "");
    assert_true(span_starts_with(answer, SPAN("HTTP/1.1 200 ")));
    assert_true(has(answer, "Content-Length: "));
    assert_int_equal(span_find(answer, SPAN("\r\n\r\n")), answer.n - 4);
}

static void test_ready_follows(void **state)
{
    struct rig *r = *state;
    r->is_ready = true;
    assert_true(span_starts_with(ask(r, "GET", "/readyz", ""), SPAN("HTTP/1.1 200 ")));
}

static void test_gzip(void **state)
{
    struct rig *r = *state;
    struct span answer = ask(r, "GET", "/metrics", "Accept-Encoding: gzip\r\n");
    assert_true(has(answer, "Content-Encoding: gzip"));
    struct span body = span_from(answer, span_find(answer, SPAN("\r\n\r\n")) + 4);
    assert_true(span_starts_with(body, SPAN("\x1f\x8b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_head_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ready_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gzip, setup, teardown),
    };
    return cmocka_run_group_tests_name("api/api", tests, NULL, NULL);
}
