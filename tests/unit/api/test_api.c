/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admin listener over loopback: every route, what it refuses, and that its answers are whole.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "fakeclock.h"
#include "peer.h"
#include "rig.h"

enum { RECENT_ROWS = 64 };

struct rig {
    struct admin admin;
    bool is_ready;
    uint64_t n_reloads; /* asked for */
    bool is_stopping;
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

static void status(void *arg, struct jsonw *w)
{
    (void)arg;
    jsonw_key(w, "state");
    jsonw_cstr(w, "serving");
    jsonw_key(w, "odd");
    jsonw_cstr(w, "</script><b>");
}

static void upstreams(void *arg, struct jsonw *w)
{
    (void)arg;
    jsonw_begin_object(w);
    jsonw_key(w, "name");
    jsonw_cstr(w, "up1");
    jsonw_end_object(w);
}

static uint64_t reload(void *arg)
{
    struct rig *r = arg;
    return r->is_stopping ? 0 : ++r->n_reloads;
}

static int setup(void **state)
{
    static struct rig r;
    struct api_sources sources = {.is_ready = is_ready,
                                  .inflight = inflight,
                                  .reload = reload,
                                  .status = status,
                                  .upstreams = upstreams,
                                  .arg = &r};
    memset(&r, 0, sizeof(r));
    admin_start(&r.admin, &sources, RECENT_ROWS);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    return 0;
}

static struct span ask(struct rig *r, const char *method, const char *target, const char *fields)
{
    return admin_ask(&r->admin, method, target, fields);
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
        {"GET", "/", "", "200", "\nstate                   serving\n"},
        {"GET", "/", "Accept: */*\r\nAccept-Language: zh\r\n", "200",
         "状态                    服务中\n"},
        {"GET", "/status", "Accept: text/html,*/*;q=0.8\r\n", "200", "<html lang=\"en\">"},
        {"GET", "/status", "Accept: text/html\r\nAccept-Language: zh-CN\r\n", "200",
         "<html lang=\"zh-CN\">"},
        {"GET", "/status", "Accept: text/html\r\n", "200",
         "Content-Security-Policy: default-src 'none';"},
        {"GET", "/status", "Accept: text/html\r\n", "200",
         "\"odd\":\"\\u003c/script>\\u003cb>\",\"upstreams\":[{\"name\":\"up1\"}]}</script>"},
        {"GET", "/api/v1/status", "", "200",
         "\"odd\":\"</script><b>\",\"upstreams\":[{\"name\":\"up1\"}]}\n"},
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
        {"GET", "/-/reload", "", "405", "only POST"},
        {"HEAD", "/-/reload", "", "405", ""},
    };
    struct rig *r = *state;
    recent_push(r->admin.recent, SPAN("{\"a\":1}"));
    recent_push(r->admin.recent, SPAN("{\"a\":2}"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char status[32];
        struct span answer = ask(r, rows[i].method, rows[i].target, rows[i].fields);
        (void)snprintf(status, sizeof(status), "HTTP/1.1 %s ", rows[i].status);
        assert_row(rows[i].target, span_starts_with(answer, span_cstr(status)));
        assert_row(rows[i].target, has(answer, rows[i].body));
        assert_row(rows[i].target, has(answer, "Cache-Control: no-store"));
    }
}

/* Everything in the template is filled in. */
static void test_page_is_whole(void **state)
{
    struct span page = ask(*state, "GET", "/status", "Accept: text/html\r\n");

    assert_false(has(page, "{{"));
    assert_false(has(page, "}}<"));
    assert_true(has(page, "\"state=serving\":\"serving\""));
    assert_true(has(page, "{\"path\":\"/metrics\","));
    assert_true(span_ends_with(page, SPAN("</script>\n")));
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

/* --- readers that take nothing --- */

static void connect_small(struct rig *r, struct peer *p)
{
    const struct sockaddr_in *at = (const struct sockaddr_in *)(const void *)&r->admin.at.ss;

    peer_connect_small(p, ntohs(at->sin_port));
}

/* Rows of 1 MiB in all, far more than the kernel holds for a connection of connect_small. */
static void fill_recent(struct rig *r)
{
    static char row[RECENT_LINE_MAX];

    memset(row, '1', sizeof(row));
    for (int i = 0; i < RECENT_ROWS; i++)
        recent_push(r->admin.recent, span_of(row, sizeof(row)));
    peer_buffers(r->admin.fd, 8192, 0);
}

static const char ask_recent[] =
    "GET /api/v1/requests/recent?limit=64 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

static void turns(struct rig *r)
{
    admin_turn(&r->admin, 20);
}

/* Blocks in use once the listener has what it keeps from the first request on. */
static int64_t live_blocks(struct rig *r)
{
    (void)ask(r, "GET", "/healthz", "");
    turns(r);
    return mem_live_blocks();
}

/* What waits for a reader is held once, in its queue: beside that there are only the connection and
 * the open request. */
static void test_a_waiting_answer_is_held_once(void **state)
{
    struct rig *r = *state;
    struct peer p;
    int64_t n_before;

    fill_recent(r);
    n_before = live_blocks(r);
    connect_small(r, &p);
    peer_send(&p, ask_recent);
    turns(r);
    assert_int_equal(mem_live_blocks() - n_before, 3);
    peer_buffers(p.fd, 0, 1 << 20);
    PUMP(r->admin.loop, peer_read(&p), p.n > (size_t)RECENT_ROWS * RECENT_LINE_MAX);
    assert_true(span_starts_with(peer_got(&p), SPAN("HTTP/1.1 200 ")));
    turns(r);
    assert_int_equal(mem_live_blocks() - n_before, 1);
    peer_forget(&p);
    peer_send(&p, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); /* the connection goes on */
    PUMP(r->admin.loop, peer_read(&p), peer_has(&p, "\"ok\""));
    peer_done(&p);
}

static void pass_seconds(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        fakeclock_advance(NS_PER_S);
        TURNS(r->admin.loop, (void)0, 2);
    }
}

static void test_a_reader_that_takes_nothing_is_let_go(void **state)
{
    struct rig *r = *state;
    struct peer p;
    int64_t n_before;

    fill_recent(r);
    n_before = live_blocks(r);
    connect_small(r, &p);
    peer_send(&p, ask_recent);
    turns(r);
    fakeclock_install(clock_mono().ns, clock_wall().us * NS_PER_US);
    pass_seconds(r, 9);
    assert_int_equal(mem_live_blocks() - n_before, 3);
    pass_seconds(r, 12); /* in the first ten the kernel may have taken some */
    fakeclock_remove();
    assert_int_equal(mem_live_blocks(), n_before);
    PUMP(r->admin.loop, peer_read(&p), peer_is_gone(&p));
    assert_true(p.n < (size_t)RECENT_ROWS * RECENT_LINE_MAX);
    peer_done(&p);
}

/* However many come: each of them could ask for an answer and not take it. */
static void test_connections_are_bounded(void **state)
{
    enum { N = 134, N_SERVED = 128 };
    struct rig *r = *state;
    struct peer peers[N];
    int n_gone = 0;

    for (int i = 0; i < N; i++) {
        connect_small(r, &peers[i]);
        TURNS(r->admin.loop, (void)0, 2);
    }
    for (int i = 0; i < N; i++) {
        peer_read(&peers[i]);
        n_gone += peer_is_gone(&peers[i]);
    }
    assert_int_equal(n_gone, N - N_SERVED);
    /* Those that asked for nothing made room for those that came after them. */
    peer_send(&peers[N - 1], "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    PUMP(r->admin.loop, peer_read(&peers[N - 1]), peer_has(&peers[N - 1], "\"ok\""));
    for (int i = 0; i < N; i++)
        peer_done(&peers[i]);
    TURNS(r->admin.loop, (void)0, 3);
}

/* --- reloads --- */

#define RELOAD_WITH(fields)                                                                        \
    "POST /-/reload HTTP/1.1\r\n" fields "Content-Length: 0\r\nConnection: close\r\n\r\n"
#define RELOAD RELOAD_WITH("Host: 127.0.0.1:8401\r\n")

static void ask_reload(struct rig *r, struct peer *p, const char *request)
{
    const struct sockaddr_in *at = (const struct sockaddr_in *)(const void *)&r->admin.at.ss;

    peer_connect(p, ntohs(at->sin_port));
    peer_send(p, request);
    turns(r);
    peer_read(p);
}

/* Nobody waits for an answer but who asked, and one attempt answers all that came before it. */
static void test_reloads_are_answered_later(void **state)
{
    struct api_reloaded first = {2, 200, SPAN("{\"a\":1}\n"), SPAN("text 1\n")};
    struct api_reloaded second = {3, 400, SPAN("{\"a\":2}\n"), SPAN("text 2\n")};
    struct rig *r = *state;
    struct peer p[3];

    ask_reload(r, &p[0], RELOAD);
    ask_reload(r, &p[1], RELOAD_WITH("Host: [::1]:8401\r\nAccept: text/plain\r\n"));
    ask_reload(r, &p[2], RELOAD);
    assert_int_equal(r->n_reloads, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(p[i].n, 0);
    assert_true(has(ask(r, "GET", "/healthz", ""), "ok"));
    api_reloaded(r->admin.api, &first);
    PUMP(r->admin.loop, (peer_read(&p[0]), peer_read(&p[1])), p[0].is_eof && p[1].is_eof);
    assert_true(peer_has(&p[0], "HTTP/1.1 200 ") && peer_has(&p[0], "\r\n\r\n{\"a\":1}\n"));
    assert_true(peer_has(&p[1], "text/plain") && peer_has(&p[1], "\r\n\r\ntext 1\n"));
    peer_read(&p[2]);
    assert_int_equal(p[2].n, 0);
    api_reloaded(r->admin.api, &second);
    PUMP(r->admin.loop, peer_read(&p[2]), p[2].is_eof);
    assert_true(peer_has(&p[2], "HTTP/1.1 400 ") && peer_has(&p[2], "{\"a\":2}"));
    for (int i = 0; i < 3; i++)
        peer_done(&p[i]);
}

/* Who leaves before there is an answer leaves nothing behind; nor does who waits at the end. */
static void test_reloads_that_nobody_waits_for(void **state)
{
    struct api_reloaded answer = {1, 200, SPAN("{}"), SPAN("t")};
    struct rig *r = *state;
    struct peer p;
    int64_t n_before = live_blocks(r);

    ask_reload(r, &p, RELOAD);
    peer_reset(&p);
    peer_done(&p);
    turns(r);
    assert_int_equal(mem_live_blocks(), n_before);
    api_reloaded(r->admin.api, &answer);
    ask_reload(r, &p, RELOAD);
    peer_done(&p);
    r->is_stopping = true;
    ask_reload(r, &p, RELOAD);
    assert_true(peer_has(&p, "HTTP/1.1 503 ") && peer_has(&p, "stopping"));
    peer_done(&p);
}

/* Pages of other sites, and names that could be made to point here. */
static void test_reloads_of_other_sites_are_refused(void **state)
{
    static const struct {
        const char *request;
        bool is_allowed;
    } rows[] = {
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: http://127.0.0.1:8401\r\n"), true},
        {RELOAD_WITH("Host: localhost:8401\r\nOrigin: http://localhost:8401\r\n"), true},
        {RELOAD_WITH("Host: LOCALHOST\r\n"), true},
        {RELOAD_WITH("Host: 10.1.2.3\r\n"), true},
        {RELOAD_WITH("Host: [fe80::1]:1\r\nOrigin: https://[fe80::1]:1\r\n"), true},
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: http://evil.test\r\n"), false},
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: null\r\n"), false},
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: \r\n"), false},
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: http://127.0.0.1:8400\r\n"), false},
        {RELOAD_WITH("Host: 127.0.0.1:8401\r\nOrigin: 127.0.0.1:8401\r\n"), false},
        {RELOAD_WITH("Host: evil.test:8401\r\n"), false},
        {RELOAD_WITH("Host: evil.test:8401\r\nOrigin: http://evil.test:8401\r\n"), false},
        {RELOAD_WITH("Host: 127.0.0.1.evil.test\r\n"), false},
        {RELOAD_WITH("Host: localhost.evil.test\r\n"), false},
    };
    struct rig *r = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t n_before = r->n_reloads;
        struct peer p;

        ask_reload(r, &p, rows[i].request);
        assert_row(rows[i].request, (r->n_reloads == n_before + 1) == rows[i].is_allowed);
        assert_row(rows[i].request, peer_has(&p, "HTTP/1.1 403 ") == !rows[i].is_allowed);
        peer_done(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_head_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ready_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gzip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_waiting_answer_is_held_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_reader_that_takes_nothing_is_let_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_connections_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reloads_are_answered_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reloads_that_nobody_waits_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reloads_of_other_sites_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("api/api", tests, NULL, NULL);
}
