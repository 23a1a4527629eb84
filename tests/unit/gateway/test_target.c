/* SPDX-License-Identifier: Apache-2.0 */
/* Which request targets are passed on, as what, and which are refused. */
#include "rig.h"

static void ask(const char *method, const char *target)
{
    char request[256];

    (void)snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n\r\n", method, target);
    peer_done(&rig.up);
    rig_client(request);
}

/* What came to the upstream begins with that line. */
static void test_passed(void **state)
{
    static const struct {
        const char *method, *target, *line;
    } rows[] = {
        {"GET", "/", "GET /base/ HTTP/1.1\r\n"},
        {"GET", "/v1/models", "GET /base/v1/models HTTP/1.1\r\n"},
        {"GET", "/v1/models?a=http://x/", "GET /base/v1/models?a=http://x/ HTTP/1.1\r\n"},
        {"GET", "//host/v1", "GET /base//host/v1 HTTP/1.1\r\n"},
        {"GET", "http://any.host/v1/models?q", "GET /base/v1/models?q HTTP/1.1\r\n"},
        {"GET", "HTTP://any.host:80/v1", "GET /base/v1 HTTP/1.1\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ask(rows[i].method, rows[i].target);
        rig_accept_request();
        assert_row(rows[i].target, span_starts_with(peer_got(&rig.up), span_cstr(rows[i].line)));
        peer_send(&rig.up, RIG_OK("2\r\nConnection: close\r\n\r\nok"));
        RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\nok"));
    }
}

static bool is_upstream_asked(void)
{
    RIG_TURNS(2);
    return peer_accept(&rig.up, rig.up_listen_fd);
}

/* Well-formed heads whose target is no path: an exchange that is refused, and goes nowhere. */
static void test_refused(void **state)
{
    static const struct {
        const char *method, *target;
    } rows[] = {
        {"GET", "v1/models"},
        {"POST", "v1/chat/completions"},
        {"GET", "?q=1"},
        {"GET", "#top"},
        {"GET", "."},
        {"GET", "../v1/models"},
        {"GET", "host:80"}, /* authority form */
        {"GET", "user@host:80"},
        {"CONNECT", "host:80"},
        {"CONNECT", "/"},
        {"GET", "**"},
        {"GET", "*/v1"},
        {"GET", "http:/v1"},
        {"GET", "http://"},
        {"GET", "https://host/v1"},
        {"GET", "ftp://host/v1"},
        {"GET", "ws://host/v1"},
        {"GET", "http://host?q=/v1"}, /* the query is no path */
        {"GET", "xhttp://host/v1"},
        {"GET", "\\v1\\models"},
        {"GET", "%2fv1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int n_taps = rig.n_taps;

        ask(rows[i].method, rows[i].target);
        RIG_PUMP(rig.n_taps == n_taps + 1);
        rig_assert_refused(rows[i].target, 400, TAP_REASON_BAD_REQUEST);
        assert_row(rows[i].target, strcmp(rig_tap()->log, "BX") == 0);
        assert_row(rows[i].target, !is_upstream_asked());
    }
}

/* Targets that make no head at all: refused before there is an exchange. */
static void test_malformed(void **state)
{
    static const char *const targets[] = {
        "",        "/v1 /models", "/v1\tmodels", "/v1\x01", "/v1\x7f", "/v1\rmodels", "/v1\nmodels",
        "\x1b[0m", "/v1\x80",     "/v1\xc3\xa4",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        ask("GET", targets[i]);
        RIG_PUMP(peer_is_gone(&rig.client));
        assert_row(targets[i], span_starts_with(peer_got(&rig.client), SPAN("HTTP/1.1 400 ")));
        assert_row(targets[i], rig.n_taps == 0);
        assert_row(targets[i], !is_upstream_asked());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_passed),
        RIG_CASE(test_refused),
        RIG_CASE(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
