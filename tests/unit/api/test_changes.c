/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of events: what comes when, who is let go, and that nothing is left behind.
 */
#include <string.h>

#include "api/changes.h"
#include "fakeclock.h"
#include "rig.h"

#define WRITE "write-token-of-32-characters-0001"
#define AUTH  "Authorization: Bearer " WRITE "\r\n"

struct rig {
    struct admin admin;
    struct api_versions versions;
    struct api_access access;
    size_t n_asked;
};

static bool is_ready(void *arg, const char **ret_why)
{
    (void)arg;
    *ret_why = "";
    return true;
}

static void versions(void *arg, struct api_versions *ret)
{
    struct rig *r = arg;
    r->n_asked++;
    *ret = r->versions;
}

static void access_now(void *arg, struct api_access *ret)
{
    struct rig *r = arg;
    *ret = r->access;
}

static int setup(void **state)
{
    static struct rig r;
    struct api_sources sources = {
        .is_ready = is_ready, .versions = versions, .access = access_now, .arg = &r};
    memset(&r, 0, sizeof(r));
    r.access.session_ns = 3600 * NS_PER_S;
    fakeclock_install(clock_mono().ns, clock_wall().us * NS_PER_US);
    admin_start(&r.admin, &sources, 1);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    fakeclock_remove();
    return 0;
}

/* A connection on which the answer goes on. */
static int listen_to(struct rig *r, const char *fields)
{
    char request[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&r->admin.at.ss, r->admin.at.len), 0);
    int n = snprintf(request, sizeof(request),
                     "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", fields);
    assert_int_equal(send(fd, request, (size_t)n, 0), n);
    return fd;
}

/* What has come since, after some turns; "" nothing; NULL: the end. */
static const char *more(struct rig *r, int fd)
{
    admin_turn(&r->admin, 20);
    ssize_t n = recv(fd, r->admin.answer, sizeof(r->admin.answer) - 1, MSG_DONTWAIT);
    if (n == 0)
        return NULL;
    r->admin.answer[n > 0 ? n : 0] = '\0';
    return r->admin.answer;
}

static const char *later(struct rig *r, int fd, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        fakeclock_advance(NS_PER_S);
        admin_turn(&r->admin, 3);
    }
    return more(r, fd);
}

static void test_what_comes_when(void **state)
{
    struct rig *r = *state;
    int fd = listen_to(r, "");
    const char *got = more(r, fd);
    assert_non_null(strstr(got, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(got, "event: state\ndata: {\"process\":"));
    assert_non_null(strstr(got, "\"requests\":0,\"alerts\":0,"));
    assert_string_equal(later(r, fd, 3), "");
    r->versions.requests = 7;
    r->versions.targets = UINT64_MAX;
    got = later(r, fd, 1);
    assert_non_null(strstr(got, "event: changed\ndata: "));
    assert_non_null(strstr(got, "\"requests\":7,\"alerts\":0,\"incidents\":0,"
                                "\"targets\":9007199254740991,\"config\":0}\n\n"));
    assert_string_equal(later(r, fd, CHANGES_BEAT_S - 2), "");
    assert_non_null(strstr(later(r, fd, 3), "event: beat\ndata: "));
    close(fd);
}

/* Who changes something here tells the others. */
static void test_a_change_through_the_listener(void **state)
{
    struct rig *r = *state;
    int fd = listen_to(r, "");
    assert_non_null(more(r, fd));
    struct span got = admin_ask(&r->admin, "POST", "/-/reload", "Content-Length: 0\r\n");
    assert_true(got.n > 0); /* there is nothing to reload: no change */
    assert_string_equal(later(r, fd, 2), "");
    close(fd);
}

static void test_who_has_left_costs_nothing(void **state)
{
    struct rig *r = *state;
    int fd = listen_to(r, "");
    assert_non_null(more(r, fd));
    close(fd);
    (void)later(r, fd, 3);
    size_t n = r->n_asked;
    (void)later(r, fd, 10);
    assert_int_equal(r->n_asked, n);
}

static void test_too_many(void **state)
{
    struct rig *r = *state;
    int fds[CHANGES_STREAMS_MAX];
    for (size_t i = 0; i < CHANGES_STREAMS_MAX; i++) {
        fds[i] = listen_to(r, "");
        assert_non_null(strstr(more(r, fds[i]), "event: state"));
    }
    struct span got = admin_ask(&r->admin, "GET", "/api/v1/events", "");
    assert_true(span_starts_with(got, SPAN("HTTP/1.1 503")));
    close(fds[0]);
    admin_turn(&r->admin, 20);
    fds[0] = listen_to(r, "");
    assert_non_null(strstr(more(r, fds[0]), "event: state"));
    for (size_t i = 0; i < CHANGES_STREAMS_MAX; i++)
        close(fds[i]);
}

/* A stream ends when what let it in is no more. */
static void test_another_token(void **state)
{
    struct rig *r = *state;
    span_copy(SPAN(WRITE), r->access.write_token, API_TOKEN_MAX);
    int fd = listen_to(r, "");
    assert_non_null(strstr(more(r, fd), "HTTP/1.1 401"));
    close(fd);
    fd = listen_to(r, AUTH);
    assert_non_null(strstr(more(r, fd), "event: state"));
    assert_string_equal(later(r, fd, 2), "");
    r->access.number++;
    assert_null(later(r, fd, 2));
    close(fd);
}

/* Who was let in with the former token, and takes his time to finish the request. */
static void test_another_token_before_the_stream(void **state)
{
    struct rig *r = *state;
    span_copy(SPAN(WRITE), r->access.write_token, API_TOKEN_MAX);
    int fd = listen_to(r, AUTH "Content-Length: 2\r\n");
    assert_string_equal(more(r, fd), "");
    r->access.number++;
    assert_int_equal(send(fd, "{}", 2, 0), 2);
    (void)more(r, fd);
    (void)later(r, fd, 2);
    assert_null(more(r, fd));
    close(fd);
}

static void test_the_end_of_a_session(void **state)
{
    struct rig *r = *state;
    char value[SESSION_VALUE_MAX], fields[256];
    span_copy(SPAN(WRITE), r->access.write_token, API_TOKEN_MAX);
    assert_int_equal(
        session_new(&r->access, SESSION_WRITE, clock_real_ns() / NS_PER_S - 3600 + 30, value), 0);
    snprintf(fields, sizeof(fields), "Cookie: inferometer_session=%s\r\n", value);
    int fd = listen_to(r, fields);
    assert_non_null(strstr(more(r, fd), "event: state"));
    assert_non_null(later(r, fd, 20));
    (void)later(r, fd, 12);
    assert_null(more(r, fd));
    close(fd);
}

/* Streams under way when everything ends. */
static void test_the_end(void **state)
{
    struct rig *r = *state;
    int fd = listen_to(r, "");
    assert_non_null(strstr(more(r, fd), "event: state"));
    struct span got = admin_ask(&r->admin, "HEAD", "/api/v1/events", "");
    assert_true(span_ends_with(got, SPAN("\r\n\r\n")));
    close(fd); /* not seen before teardown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_comes_when, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_change_through_the_listener, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_has_left_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_token_before_the_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end_of_a_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end, setup, teardown),
    };
    return cmocka_run_group_tests_name("api/changes", tests, NULL, NULL);
}
