/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through: bodies, heads, edits, filter; and what the tap hears of it. */
#include "base/rng.h"
#include "rig.h"

static struct rng rng;

static void check_log(const char *expect)
{
    if (strcmp(rig_tap()->log, expect) != 0)
        fail_msg("tap log is \"%s\", want \"%s\"", rig_tap()->log, expect);
}

/* A header value that the client or the upstream got; "" when it is not there. */
static const char *header_of(const struct peer *p, const char *name, char *value, size_t cap)
{
    char key[64];
    struct span rest;
    size_t at;

    (void)snprintf(key, sizeof(key), "\r\n%s: ", name);
    at = span_find(peer_got(p), span_cstr(key));
    rest = span_from(peer_got(p), at + strlen(key));
    span_copy(at < p->n ? span_of(rest.p, span_find(rest, SPAN("\r\n"))) : SPAN(""), value, cap);
    return value;
}

/* --- one exchange, exactly --- */

static void test_plain(void **state)
{
    char id[64];
    char expect[512];
    (void)state;
    rig_start("POST /v1/chat HTTP/1.1\r\nHost: h\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
    assert_string_equal(header_of(&rig.up, "X-Request-Id", id, sizeof(id)), rig_tap()->id);
    (void)snprintf(expect, sizeof(expect),
                   "POST /base/v1/chat HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nA: b\r\n"
                   "X-Request-Id: %s\r\nContent-Length: 5\r\n\r\nhello",
                   rig.up_port, id);
    RIG_PUMP(rig.up.n >= strlen(expect));
    assert_true(peer_is(&rig.up, expect));
    check_log("BQPATCS");
    peer_send(&rig.up, "HTTP/1.1 201 Made\r\nB: c\r\nContent-Length: 3\r\n\r\nyes");
    (void)snprintf(expect, sizeof(expect),
                   "HTTP/1.1 201 Made\r\nB: c\r\nX-Request-Id: %s\r\nContent-Length: 3\r\n\r\nyes",
                   id);
    RIG_PUMP(rig.client.n >= strlen(expect));
    assert_span_equal("answer", peer_got(&rig.client), span_cstr(expect));
    RIG_PUMP(rig_is_over());
    check_log("BQPATCSHDFRX");
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    assert_int_equal(rig_tap()->finish.reason, TAP_REASON_NONE);
    assert_int_equal(rig_tap()->finish.status, 201);
    assert_int_equal(rig_tap()->finish.request_bytes, 5);
    assert_int_equal(rig_tap()->finish.response_bytes, 3);
    assert_int_equal(rig_tap()->finish.client_blocked_ns, 0);
    assert_false(rig_tap()->connected.is_reused);
    assert_true(rig_tap()->finish.client.rtt_ns > 0 && rig_tap()->finish.client.rtt_min_ns > 0);
    assert_true(rig_tap()->finish.upstream.rtt_ns > 0);
    assert_int_equal(rig_tap()->finish.upstream.n_resent, 0);
}

/* Connections that were looked at just now are not asked again. */
static void test_paths_are_not_asked_for_each_request(void **state)
{
    (void)state;
    rig_pool_one();
    assert_true(rig_tap()->finish.upstream.rtt_ns > 0);
    peer_send(&rig.client, RIG_GET);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig.n_taps == 2 && rig_is_over());
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    assert_int_equal(rig_tap()->finish.client.rtt_ns, -1);
    assert_int_equal(rig_tap()->finish.upstream.rtt_ns, -1);
    assert_int_equal(rig_tap()->finish.client.n_resent, 0);
}

static void test_unwatched(void **state)
{
    (void)state;
    rig.is_unwatched = true;
    rig.policy.has_no_exchange = true;
    rig_start(RIG_GET);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    assert_int_equal(rig.n_taps, 0);
}

/* --- answer bodies: the bytes, whatever the framing and however they come --- */

enum body_kind { KIND_LENGTH, KIND_CHUNKED, KIND_CLOSE, KIND_COUNT_ };

static void fill_random(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)rng_u64(&rng);
}

/* An answer of this kind around body, for the wire. */
static struct span answer_build(enum body_kind kind, struct span body, struct buf *out)
{
    static const char gzip[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";

    assert_int_equal(buf_append(out, span_cstr(gzip)), 0);
    if (kind == KIND_LENGTH)
        assert_int_equal(buf_printf(out, "Content-Length: %zu\r\n\r\n", body.n), 0);
    else if (kind == KIND_CLOSE)
        assert_int_equal(buf_append(out, SPAN("\r\n")), 0);
    else
        assert_int_equal(buf_append(out, SPAN("Transfer-Encoding: chunked\r\n\r\n")), 0);
    if (kind != KIND_CHUNKED) {
        assert_int_equal(buf_append(out, body), 0);
        return buf_span(out);
    }
    while (body.n > 0) {
        size_t n = 1 + rng_below(&rng, body.n < 3000 ? body.n : 3000);
        assert_int_equal(buf_printf(out, "%zx\r\n", n), 0);
        assert_int_equal(buf_append(out, span_take(&body, n)), 0);
        assert_int_equal(buf_append(out, SPAN("\r\n")), 0);
    }
    assert_int_equal(buf_append(out, SPAN("0\r\n\r\n")), 0);
    return buf_span(out);
}

static void check_body(enum body_kind kind, size_t n, size_t max_part, bool is_1_0)
{
    char *body = malloc(n + 1);
    struct buf wire;
    struct span rest;
    struct parsed a;

    assert_non_null(body);
    fill_random(body, n);
    buf_init(&wire, 8 << 20);
    rig_start(is_1_0 ? "GET / HTTP/1.0\r\n\r\n" : "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    rest = answer_build(kind, span_of(body, n), &wire);
    while (rest.n > 0) {
        size_t part = 1 + (size_t)rng_below(&rng, max_part);
        span_take(&rest, peer_write(&rig.up, span_of(rest.p, part < rest.n ? part : rest.n)));
        if (rng_below(&rng, 3) > 0)
            RIG_TURNS(1);
    }
    if (kind == KIND_CLOSE)
        peer_close(&rig.up);
    RIG_PUMP(rig_is_over());
    if (is_1_0 && kind != KIND_LENGTH)
        RIG_PUMP(peer_is_gone(&rig.client));
    RIG_TURNS(1);
    a = rig_answer();
    assert_int_equal(a.end, MESSAGE_END);
    assert_int_equal(a.n_rest, 0);
    assert_int_equal(a.framing, kind == KIND_LENGTH ? HTTP1_BODY_LENGTH
                                : is_1_0            ? HTTP1_BODY_UNTIL_CLOSE
                                                    : HTTP1_BODY_CHUNKED);
    assert_span_equal("body", span_of(a.body, a.n_body), span_of(body, n));
    assert_span_equal("told", span_of(rig_tap()->body ? rig_tap()->body : "", rig_tap()->n_body),
                      span_of(body, n));
    assert_true(peer_has(&rig.client, "\r\nContent-Encoding: gzip\r\n"));
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    free(a.body);
    free(body);
    buf_done(&wire);
    peer_close(&rig.up);
    RIG_TURNS(2);
}

static void test_bodies(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 5000, 300000};
    static const size_t parts[] = {3, 100, 20000};
    (void)state;
    rng_seed(&rng, 7);
    for (int kind = 0; kind < KIND_COUNT_; kind++)
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
            for (size_t k = sizes[i] > 5000; k < ARRAY_LEN(parts); k++)
                for (int is_1_0 = 0; is_1_0 < 2; is_1_0++)
                    check_body((enum body_kind)kind, sizes[i], parts[k], is_1_0 != 0);
}

/* Several chunks, and even head and body, that came in one read leave in one write. */
static void test_one_read_is_one_write(void **state)
{
    int before;
    (void)state;
    rig_start(RIG_GET);
    before = sends.n;
    peer_send(&rig.up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n");
    RIG_PUMP(peer_has(&rig.client, "6\r\nabcdef\r\n"));
    assert_int_equal(sends.n, before + 1);
    peer_send(&rig.up, "1\r\ng\r\n1\r\nh\r\n");
    RIG_PUMP(peer_has(&rig.client, "2\r\ngh\r\n"));
    assert_int_equal(sends.n, before + 2);
    peer_send(&rig.up, "1\r\ni\r\n0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    RIG_TURNS(1);
    assert_true(peer_has(&rig.client, "1\r\ni\r\n0\r\n\r\n"));
    assert_int_equal(sends.n, before + 3);
    assert_int_equal(rig_tap()->n_forwarded, 3);
    /* A head alone is passed on at once. */
    rig_client(RIG_GET);
    peer_forget(&rig.up);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    RIG_PUMP(peer_has(&rig.client, "\r\n\r\n"));
    peer_send(&rig.up, "0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    assert_true(rig_tap()->connected.is_reused);
}

/* More pieces in one read than fit in one write. */
static void test_many_pieces(void **state)
{
    struct parsed a;
    struct buf wire;
    (void)state;
    buf_init(&wire, 4096);
    assert_int_equal(buf_printf(&wire, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_printf(&wire, "1\r\n%c\r\n", 'a' + i % 26), 0);
    rig_start(RIG_GET);
    assert_int_equal(peer_write(&rig.up, buf_span(&wire)), buf_len(&wire));
    buf_done(&wire);
    peer_send(&rig.up, "0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    RIG_TURNS(1);
    a = rig_answer();
    assert_int_equal(a.end, MESSAGE_END);
    assert_int_equal(a.n_body, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(a.body[i], 'a' + i % 26);
    free(a.body);
}

static void test_bodiless(void **state)
{
    static const struct {
        const char *name;
        const char *request;
        const char *answer;
        const char *end; /* of what the client gets */
    } table[] = {
        {"HEAD with length", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n"},
        {"HEAD, chunked", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\n\r\n"},
        {"HEAD of nothing", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 404 No\r\n\r\n",
         "\r\n\r\n"},
        {"204", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", "\r\n\r\n"},
        {"304", "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
         "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "\r\n\r\n"},
        {"interim first", "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
         "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
         "\r\nContent-Length: 0\r\n\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct span got;

        rig_start(table[i].request);
        assert_row(table[i].name, !peer_has(&rig.up, "Content-Length"));
        assert_row(table[i].name, !peer_has(&rig.up, "Transfer-Encoding"));
        peer_send(&rig.up, table[i].answer);
        RIG_PUMP(rig_is_over());
        RIG_PUMP(peer_has(&rig.client, "\r\n\r\n"));
        got = peer_got(&rig.client);
        assert_row(table[i].name, peer_count(&rig.client, "HTTP/1.1") == 1);
        assert_span_equal(table[i].name, span_from(got, got.n - strlen(table[i].end)),
                          span_cstr(table[i].end));
        check_log("BQPATCSHRX");
        /* Both connections go on. */
        peer_forget(&rig.up);
        peer_forget(&rig.client);
        peer_send(&rig.client, RIG_GET);
        RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
        peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
        RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\nok"));
        peer_close(&rig.up);
        RIG_TURNS(2);
    }
}

/* --- heads --- */

static void test_headers_to_upstream(void **state)
{
    (void)state;
    rig_start("POST http://elsewhere/v1/x?y=z HTTP/1.1\r\nHost: other\r\nKeep: me\r\n"
              "Connection: close, X-Hop, keep\r\nX-Hop: 1\r\nTE: trailers\r\nTrailer: x\r\n"
              "Keep-Alive: 5\r\nProxy-Connection: y\r\nProxy-Authorization: z\r\nUpgrade: h2c\r\n"
              "Authorization: Bearer k\r\nAccept-Encoding: gzip\r\nX-Request-Id: mine\r\n"
              "Content-Length: 0\r\n\r\n");
    assert_true(peer_has(&rig.up, "POST /base/v1/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert_true(peer_has(&rig.up, "\r\nAuthorization: Bearer k\r\nAccept-Encoding: gzip\r\n"));
    assert_true(peer_has(&rig.up, "\r\nX-Request-Id: mine\r\nContent-Length: 0\r\n\r\n"));
    assert_int_equal(peer_count(&rig.up, "Request-Id"), 1);
    static const char *const gone[] = {"other",   "Keep",  "Hop",     "TE",
                                       "Trailer", "Proxy", "Upgrade", "close"};
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        assert_row(gone[i], !peer_has(&rig.up, gone[i]));
    peer_send(&rig.up,
              "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"
              "Proxy-Authenticate: q\r\nX-Request-Id: theirs\r\nServer: s\r\nSet-Cookie: 1\r\n"
              "Set-Cookie: 2\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n"
              "2\r\nok\r\n0\r\nT: u\r\n\r\n");
    RIG_PUMP(peer_is_gone(&rig.client));
    assert_int_equal(rig.client.error, 0);
    assert_true(peer_has(&rig.client, "\r\nX-Upstream-Request-Id: theirs\r\nServer: s\r\n"
                                      "Set-Cookie: 1\r\nSet-Cookie: 2\r\nX-Request-Id: "));
    assert_true(peer_has(&rig.client, rig_tap()->id));
    assert_true(
        peer_has(&rig.client, "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"));
    assert_false(peer_has(&rig.client, "Hop"));
    assert_false(peer_has(&rig.client, "Keep-Alive"));
    assert_false(peer_has(&rig.client, "Proxy"));
    assert_false(peer_has(&rig.client, "Trailer"));
    assert_false(peer_has(&rig.client, "Accel"));
}

static void test_stream_headers(void **state)
{
    (void)state;
    rig.policy.plan.is_stream = true;
    rig.policy.plan.wants_identity = true;
    rig_start("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip, br\r\n\r\n");
    assert_true(peer_has(&rig.up, "\r\nAccept-Encoding: identity\r\n"));
    assert_int_equal(peer_count(&rig.up, "Accept-Encoding"), 1);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    assert_true(peer_has(&rig.client, "\r\nX-Accel-Buffering: no\r\n"));
    peer_forget(&rig.client);
    peer_forget(&rig.up);
    peer_send(&rig.client, RIG_GET);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, "HTTP/1.1 200 OK\r\nX-Accel-Buffering: yes\r\nContent-Length: 0\r\n\r\n");
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\n"));
    assert_true(peer_has(&rig.client, "\r\nX-Accel-Buffering: yes\r\n"));
    assert_int_equal(peer_count(&rig.client, "Accel"), 1);
}

/* --- the policy's part --- */

static void test_edits(void **state)
{
    struct policy_aim *aim = &rig.policy.aim;
    (void)state;
    aim->n_edits = 3;
    aim->edits[0] = (struct policy_edit){.at = 0, .remove = 0, .insert = SPAN("<<")};
    aim->edits[1] = (struct policy_edit){.at = 2, .remove = 3, .insert = SPAN("")};
    aim->edits[2] = (struct policy_edit){.at = 8, .remove = 0, .insert = SPAN(">>>>")};
    aim->is_usage_injected = true;
    rig_start("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              "4\r\n0123\r\n4\r\n4567\r\n0\r\n\r\n");
    RIG_PUMP(peer_has(&rig.up, ">>>>"));
    assert_true(peer_has(&rig.up, "\r\nContent-Length: 11\r\n\r\n<<01567>>>>"));
    assert_true(rig_tap()->is_injected);
    assert_int_equal(rig.policy.n_complete, 1);
    peer_send(&rig.up, RIG_OK("0\r\n\r\n"));
    RIG_PUMP(rig_is_over());
}

/* The upstream refuses the edit: once more without it, and never a third time. */
static void test_repeat_plain(void **state)
{
    (void)state;
    for (int is_always = 0; is_always < 2; is_always++) {
        rig.policy.aim.n_edits = 1;
        rig.policy.aim.edits[0] = (struct policy_edit){.at = 5, .insert = SPAN("+edit")};
        rig.policy.aim.is_usage_injected = true;
        rig.policy.wants_filter = true;
        rig.policy.repeat_on = is_always ? -1 : 400;
        rig_start("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        RIG_PUMP(peer_has(&rig.up, "\r\nContent-Length: 10\r\n\r\nhello+edit"));
        peer_send(&rig.up, "HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad");
        RIG_PUMP(peer_is_gone(&rig.up)); /* cannot be used again */
        rig_accept_request();
        RIG_PUMP(peer_has(&rig.up, "\r\nContent-Length: 5\r\n\r\nhello"));
        assert_false(peer_has(&rig.up, "edit"));
        peer_send(&rig.up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "5\r\n<cut>\r\n0\r\n\r\n");
        RIG_PUMP(rig_is_over());
        RIG_TURNS(1);
        assert_true(peer_has(&rig.client, "<cut>")); /* nothing of ours to remove */
        check_log("BQPATCSHTCSHDFRX");
        assert_false(rig_tap()->is_injected);
        assert_int_equal(rig_tap()->finish.n_attempts, 2);
        assert_int_equal(rig_tap()->finish.status, 200);
        peer_close(&rig.up);
        RIG_TURNS(2);
    }
}

static void check_filtered(const char *answer, const char *expect, size_t split)
{
    struct span all = span_cstr(answer);
    struct parsed a;

    rig_start(RIG_GET);
    (void)peer_write(&rig.up, span_of(all.p, split));
    RIG_TURNS(3);
    (void)peer_write(&rig.up, span_from(all, split));
    RIG_PUMP(rig_is_over());
    RIG_TURNS(1);
    a = rig_answer();
    assert_int_equal(a.end, MESSAGE_END);
    assert_int_equal(a.framing, HTTP1_BODY_CHUNKED);
    assert_span_equal("filtered", span_of(a.body, a.n_body), span_cstr(expect));
    assert_false(peer_has(&rig.client, "Content-Length"));
    free(a.body);
    peer_close(&rig.up);
    RIG_TURNS(2);
}

static void test_filter(void **state)
{
    static const struct {
        const char *answer, *expect;
    } table[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\none<cut>two<cut>th", "onetwoth"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<cut>", ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nx<<cut", "x<<cut"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na<cu\r\n3\r\nt>b\r\n0\r\n\r\n",
         "ab"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
         "<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<"},
    };
    (void)state;
    rig.policy.wants_filter = true;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t split = 0; split < strlen(table[i].answer); split++)
            check_filtered(table[i].answer, table[i].expect, split);
}

static void test_refusals(void **state)
{
    static const struct {
        enum tap_reason reason;
        int status;
    } table[] = {
        {TAP_REASON_UNAUTHORIZED, 401},
        {TAP_REASON_REJECTED, 429},
        {TAP_REASON_BAD_REQUEST, 400},
    };
    (void)state;
    rig_client("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        rig.policy.plan.refusal = table[i].reason;
        rig.policy.plan.refusal_text = "because";
        if (i > 0)
            peer_send(&rig.client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); /* it is kept alive */
        RIG_PUMP(rig.n_taps == (int)i + 1 && peer_has(&rig.client, "because"));
        rig_assert_refused("refusal", table[i].status, table[i].reason);
        check_log("BQX");
        assert_true(peer_has(&rig.client, rig_tap()->id));
        peer_forget(&rig.client);
    }
    rig_client("CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n");
    RIG_PUMP(rig.n_taps == 4);
    rig_assert_refused("CONNECT", 400, TAP_REASON_BAD_REQUEST);
}

/* --- connections --- */

static void test_pipelined(void **state)
{
    (void)state;
    rig_client("POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
               "GET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
    rig_accept();
    for (int i = 1; i <= 3; i++) {
        char expect[32];
        char answer[64];
        (void)snprintf(expect, sizeof(expect), "/base/%d HTTP", i);
        (void)snprintf(answer, sizeof(answer), RIG_OK("3\r\n\r\nno%d"), i);
        RIG_PUMP(peer_has(&rig.up, expect) && peer_has(&rig.up, "\r\n\r\n"));
        RIG_TURNS(3);
        assert_int_equal(peer_count(&rig.up, "HTTP/1.1"), 1); /* one at a time */
        assert_true(rig_tap()->is_pipelined == (i > 1));
        peer_forget(&rig.up);
        peer_send(&rig.up, answer);
        RIG_PUMP(peer_has(&rig.client, answer + strlen(answer) - 3));
    }
    RIG_PUMP(rig_is_over());
    assert_int_equal(peer_count(&rig.client, "HTTP/1.1 200"), 3);
    assert_int_equal(rig.n_taps, 3);
    assert_true(strcmp(rig.taps[0].id, rig.taps[1].id) != 0);
}

static void test_http_1_0(void **state)
{
    (void)state;
    rig_start("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_true(peer_has(&rig.up, "GET /base/ HTTP/1.1\r\n"));
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\nok"));
    assert_true(peer_has(&rig.client, "\r\nConnection: keep-alive\r\n"));
    peer_forget(&rig.client);
    peer_forget(&rig.up);
    peer_send(&rig.client, "GET / HTTP/1.0\r\n\r\n");
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
    RIG_PUMP(peer_is_gone(&rig.client));
    assert_int_equal(rig.client.error, 0);
    assert_true(peer_has(&rig.client, "\r\nConnection: close\r\n\r\nok"));
}

static void test_continue(void **state)
{
    (void)state;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    RIG_PUMP(peer_is(&rig.client, "HTTP/1.1 100 Continue\r\n\r\n"));
    peer_send(&rig.client, "ok");
    rig_accept_request();
    assert_false(peer_has(&rig.up, "Expect"));
    peer_send(&rig.up, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    RIG_TURNS(1);
    assert_int_equal(peer_count(&rig.client, "100 Continue"), 1);
}

static void test_too_large(void **state)
{
    (void)state;
    rig.config->max_body_bytes = 10;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    RIG_PUMP(rig.n_taps == 1);
    rig_assert_refused("announced", 413, TAP_REASON_BODY_TOO_LARGE);
    assert_false(peer_has(&rig.client, "100 Continue"));
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
               "6\r\n012345\r\n6\r\n678901\r\n");
    RIG_PUMP(rig.n_taps == 2);
    rig_assert_refused("actual", 413, TAP_REASON_BODY_TOO_LARGE);
    RIG_PUMP(peer_is_gone(&rig.client));
    assert_int_equal(rig.client.error, 0);
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789");
    rig_accept_request();
    peer_send(&rig.up, RIG_OK("0\r\n\r\n"));
    RIG_PUMP(rig_is_over());
}

/* --- bodies over the window --- */

static bool up_has_all(bool is_chunked, size_t total)
{
    struct span got = peer_got(&rig.up);

    if (is_chunked)
        return got.n > total && span_eq(span_from(got, got.n - 7), SPAN("\r\n0\r\n\r\n"));
    return got.n >= span_find(got, SPAN("\r\n\r\n")) + 4 + total;
}

static void check_big_request(bool is_chunked, size_t total)
{
    char *body = malloc(total);
    struct buf wire;
    struct span rest;
    struct parsed up;

    assert_non_null(body);
    fill_random(body, total);
    buf_init(&wire, total * 2 + 1000);
    assert_int_equal(
        is_chunked
            ? buf_append(&wire, SPAN("POST / HTTP/1.1\r\nHost: h\r\n"
                                     "Transfer-Encoding: chunked\r\n\r\n"))
            : buf_printf(&wire, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", total),
        0);
    for (size_t at = 0; at < total;) {
        size_t n = 1 + (size_t)rng_below(&rng, 9000);
        n = n < total - at ? n : total - at;
        if (is_chunked)
            assert_int_equal(buf_printf(&wire, "%zx\r\n", n), 0);
        assert_int_equal(buf_append(&wire, span_of(body + at, n)), 0);
        if (is_chunked)
            assert_int_equal(buf_append(&wire, SPAN("\r\n")), 0);
        at += n;
    }
    if (is_chunked)
        assert_int_equal(buf_append(&wire, SPAN("0\r\n\r\n")), 0);
    rest = buf_span(&wire);
    peer_buffers(rig.up_listen_fd, 0, 65536); /* what the kernel holds must not hide the limit */
    rig_client("");
    peer_buffers(rig.client.fd, 65536, 0);
    peer_done(&rig.up);
    /* The upstream does not read at first: the client is held back, not stored. */
    for (int i = 0; i < 400; i++) {
        span_take(&rest, peer_write(&rig.client, rest));
        loop_turn(rig.loop, 0);
        if (rig.up.fd < 0)
            (void)peer_accept(&rig.up, rig.up_listen_fd);
    }
    assert_true(rest.n > 0);
    assert_true(rig.up.fd >= 0);
    PUMP(rig.loop,
         (span_take(&rest, peer_write(&rig.client, rest)), peer_read_some(&rig.up, 300000)),
         rest.n == 0);
    RIG_PUMP(tap_had(rig_tap(), 'S') && up_has_all(is_chunked, total));
    up = rig_parse_as(&rig.up, MESSAGE_REQUESTS, false);
    assert_int_equal(up.end, MESSAGE_END);
    assert_int_equal(up.framing, is_chunked ? HTTP1_BODY_CHUNKED : HTTP1_BODY_LENGTH);
    assert_int_equal(up.n_body, total);
    assert_memory_equal(up.body, body, total);
    assert_true(rig_tap()->is_window_exceeded);
    assert_int_equal(rig.policy.n_complete, 0);
    assert_in_range(rig.policy.window_bytes, rig.config->request_window_bytes + 1,
                    rig.config->request_window_bytes + 65536);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    check_log("BPATCQSHDFRX");
    assert_int_equal(rig_tap()->finish.request_bytes, total);
    free(up.body);
    free(body);
    buf_done(&wire);
    peer_close(&rig.up);
    RIG_TURNS(2);
}

static void test_window_exceeded(void **state)
{
    (void)state;
    rng_seed(&rng, 8);
    rig.policy.aim.n_edits = 1; /* not for a body that is streamed */
    rig.policy.aim.edits[0] = (struct policy_edit){.at = 0, .insert = SPAN("edit")};
    check_big_request(false, 16 << 20);
    check_big_request(true, 16 << 20);
}

/* Just over the window, whole at once: the end came before the upstream was connected. */
static void test_window_just_exceeded(void **state)
{
    static char request[200000];
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1500\r\n\r\n";
    (void)state;
    rig.config->request_window_bytes = 1000;
    memset(request, 'x', sizeof(request));
    memcpy(request, head, strlen(head));
    request[strlen(head) + 1500] = '\0';
    rig_start(request);
    RIG_PUMP(rig.up.n > 1500 && tap_had(rig_tap(), 'S'));
    assert_true(peer_has(&rig.up, "\r\nContent-Length: 1500\r\n\r\nxxx"));
    check_log("BPATQCS");
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    peer_forget(&rig.client);
    peer_forget(&rig.up);
    peer_send(&rig.client, RIG_GET); /* reading goes on */
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

/* --- costs --- */

static void test_no_allocation_per_event(void **state)
{
    static const char event[] = "1c\r\ndata: {\"choices\":[{\"a\":1}]}\n\r\n";
    struct mem_count before = {0};
    (void)state;
    rig_start(RIG_GET);
    peer_send(&rig.up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 1010; i++) {
        size_t n = rig.client.n;
        if (i == 10)
            before = mem_count_total();
        peer_send(&rig.up, event);
        RIG_PUMP(rig.client.n > n);
    }
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
    assert_true(rig_tap()->n_forwarded > 1000);
    peer_send(&rig.up, "0\r\n\r\n");
    RIG_PUMP(rig_is_over());
}

/* A whole exchange on warm connections. */
static void test_allocations_per_exchange(void **state)
{
    uint64_t n = 0;
    (void)state;
    rig_pool_one();
    for (int i = 0; i < 3; i++) {
        n = mem_count_total().n_allocs;
        peer_send(&rig.client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        RIG_PUMP(peer_has(&rig.up, "hello"));
        peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
        RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
        n = mem_count_total().n_allocs - n;
        peer_forget(&rig.up);
        peer_forget(&rig.client);
    }
    assert_true(n <= 3); /* the exchange, its head, its window */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_plain),
        RIG_CASE(test_paths_are_not_asked_for_each_request),
        RIG_CASE(test_unwatched),
        RIG_CASE(test_bodies),
        RIG_CASE(test_one_read_is_one_write),
        RIG_CASE(test_many_pieces),
        RIG_CASE(test_bodiless),
        RIG_CASE(test_headers_to_upstream),
        RIG_CASE(test_stream_headers),
        RIG_CASE(test_edits),
        RIG_CASE(test_repeat_plain),
        RIG_CASE(test_filter),
        RIG_CASE(test_refusals),
        RIG_CASE(test_pipelined),
        RIG_CASE(test_http_1_0),
        RIG_CASE(test_continue),
        RIG_CASE(test_too_large),
        RIG_CASE(test_window_exceeded),
        RIG_CASE(test_window_just_exceeded),
        RIG_CASE(test_no_allocation_per_event),
        RIG_CASE(test_allocations_per_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
