/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind makes of each answer: HTTP statuses, codes within 200, garbage, transfers that
 * broke.
 */
#include "sample.h"

#include <errno.h>

#include "alert/receiver_http.h"
#include "memfail.h"

struct answer {
    const char *name;
    const struct receiver_kind *kind;
    struct receiver_reply reply;
    enum verdict verdict;
    int64_t wait_ms;
    const char *why; /* a part of it */
};

#define ANSWER(s, b)                                                                               \
    {                                                                                              \
        .status = (s), .body = SPAN_INIT(b), .retry_after_ms = -1                                  \
    }
#define BROKEN(e, w)                                                                               \
    {                                                                                              \
        .error = (e), .words = SPAN_INIT(w), .retry_after_ms = -1                                  \
    }

static const struct answer rows[] = {
    /* by status */
    {"200", &receiver_webhook, ANSWER(200, "anything"), VERDICT_DELIVERED, -1, ""},
    {"204", &receiver_webhook, ANSWER(204, ""), VERDICT_DELIVERED, -1, ""},
    {"301", &receiver_webhook, ANSWER(301, ""), VERDICT_NEVER, -1, "a redirect"},
    {"302", &receiver_dingtalk, ANSWER(302, "{\"errcode\":0}"), VERDICT_NEVER, -1, "a redirect"},
    {"400", &receiver_webhook, ANSWER(400, "bad\r\nbody"), VERDICT_NEVER, -1,
     "answered 400: bad body"},
    {"401", &receiver_webhook, ANSWER(401, ""), VERDICT_NEVER, -1, "answered 401"},
    {"408", &receiver_webhook, ANSWER(408, ""), VERDICT_LATER, -1, "answered 408"},
    {"429",
     &receiver_webhook,
     {.status = 429, .body = SPAN_INIT(""), .retry_after_ms = 7000},
     VERDICT_LATER,
     7000,
     "answered 429"},
    {"500", &receiver_webhook, ANSWER(500, "oops"), VERDICT_LATER, -1, "answered 500: oops"},
    {"503",
     &receiver_feishu,
     {.status = 503, .body = SPAN_INIT(""), .retry_after_ms = 1000},
     VERDICT_LATER,
     1000,
     "answered 503"},
    {"refused", &receiver_webhook, BROKEN(-ECONNREFUSED, "Couldn't connect to server"),
     VERDICT_LATER, -1, "Couldn't connect"},
    {"no words", &receiver_slack, BROKEN(-ETIMEDOUT, ""), VERDICT_LATER, -1, "timed out"},
    /* DingTalk */
    {"ok", &receiver_dingtalk, ANSWER(200, "{\"errcode\":0,\"errmsg\":\"ok\"}"), VERDICT_DELIVERED,
     -1, ""},
    {"keyword", &receiver_dingtalk,
     ANSWER(200, "{\"errcode\":310000,\"errmsg\":\"keywords not in content\"}"), VERDICT_NEVER, -1,
     "errcode 310000: the robot's security settings refuse the message (keywords not"},
    {"rate", &receiver_dingtalk, ANSWER(200, "{\"errcode\":130101,\"errmsg\":\"send too fast\"}"),
     VERDICT_LATER, 600000, "too many messages"},
    {"busy", &receiver_dingtalk, ANSWER(200, "{\"errcode\":-1,\"errmsg\":\"busy\"}"), VERDICT_LATER,
     -1, "errcode -1"},
    {"unknown code", &receiver_dingtalk, ANSWER(200, "{\"errcode\":99,\"errmsg\":\"?\"}"),
     VERDICT_LATER, -1, "errcode 99: ?"},
    {"HTML", &receiver_dingtalk, ANSWER(200, "<html>login</html>"), VERDICT_LATER, -1,
     "something else than its API does: <html>"},
    {"nothing", &receiver_dingtalk, ANSWER(200, ""), VERDICT_LATER, -1, "something else"},
    {"no code", &receiver_dingtalk, ANSWER(200, "{\"errmsg\":\"ok\"}"), VERDICT_LATER, -1,
     "something else"},
    {"code as text", &receiver_dingtalk, ANSWER(200, "{\"errcode\":\"0\"}"), VERDICT_LATER, -1,
     "something else"},
    {"a list", &receiver_dingtalk, ANSWER(200, "[0]"), VERDICT_LATER, -1, "something else"},
    {"cut", &receiver_dingtalk, ANSWER(200, "{\"errcode\":0"), VERDICT_LATER, -1, "something else"},
    {"twice", &receiver_dingtalk, ANSWER(200, "{\"errcode\":0,\"errcode\":1}"), VERDICT_LATER, -1,
     "something else"},
    /* Feishu */
    {"ok", &receiver_feishu,
     ANSWER(200, "{\"StatusCode\":0,\"StatusMessage\":\"success\",\"code\":0,\"msg\":\"success\"}"),
     VERDICT_DELIVERED, -1, ""},
    {"signature", &receiver_feishu, ANSWER(200, "{\"code\":19021,\"msg\":\"sign match fail\"}"),
     VERDICT_NEVER, -1, "code 19021: the signature does not match"},
    {"IP", &receiver_feishu, ANSWER(200, "{\"code\":19022,\"msg\":\"Ip Not Allowed\"}"),
     VERDICT_NEVER, -1, "this IP address may not send"},
    {"keyword", &receiver_feishu, ANSWER(200, "{\"code\":19024,\"msg\":\"Key Words Not Found\"}"),
     VERDICT_NEVER, -1, "none of the robot's keywords"},
    {"rate", &receiver_feishu, ANSWER(200, "{\"code\":11232,\"msg\":\"frequency limited\"}"),
     VERDICT_LATER, 30000, "too many messages"},
    {"400 with a code", &receiver_feishu, ANSWER(400, "{\"code\":9499,\"msg\":\"Bad Request\"}"),
     VERDICT_NEVER, -1, "code 9499: the message has a wrong form"},
    {"400 without", &receiver_feishu, ANSWER(400, "no"), VERDICT_NEVER, -1, "answered 400: no"},
    /* WeCom */
    {"ok", &receiver_wecom, ANSWER(200, "{\"errcode\":0,\"errmsg\":\"ok\"}"), VERDICT_DELIVERED, -1,
     ""},
    {"rate", &receiver_wecom, ANSWER(200, "{\"errcode\":45009,\"errmsg\":\"api freq out of\"}"),
     VERDICT_LATER, 60000, "errcode 45009: too many messages"},
    {"key", &receiver_wecom, ANSWER(200, "{\"errcode\":93000,\"errmsg\":\"invalid webhook url\"}"),
     VERDICT_NEVER, -1, "key is not valid"},
    {"size", &receiver_wecom, ANSWER(200, "{\"errcode\":40058,\"errmsg\":\"exceed max length\"}"),
     VERDICT_NEVER, -1, "too long"},
    /* Slack */
    {"ok", &receiver_slack, ANSWER(200, "ok"), VERDICT_DELIVERED, -1, ""},
    {"ok, JSON", &receiver_slack, ANSWER(200, "{\"ok\":true}"), VERDICT_DELIVERED, -1, ""},
    {"not ok, JSON", &receiver_slack, ANSWER(200, "{\"ok\":false,\"error\":\"channel_not_found\"}"),
     VERDICT_NEVER, -1, "channel_not_found"},
    {"rate, JSON", &receiver_slack, ANSWER(200, "{\"ok\":false,\"error\":\"ratelimited\"}"),
     VERDICT_LATER, -1, "ratelimited"},
    {"garbage", &receiver_slack, ANSWER(200, "<html>"), VERDICT_LATER, -1, "answered: <html>"},
    {"404", &receiver_slack, ANSWER(404, "no_service"), VERDICT_NEVER, -1,
     "answered 404: no_service"},
    {"429",
     &receiver_slack,
     {.status = 429, .body = SPAN_INIT("rate_limited"), .retry_after_ms = 30000},
     VERDICT_LATER,
     30000,
     "answered 429"},
    {"500", &receiver_slack, ANSWER(500, "rollup_error"), VERDICT_LATER, -1, "answered 500"},
    /* mail */
    {"250", &receiver_email, ANSWER(250, ""), VERDICT_DELIVERED, -1, ""},
    {"some", &receiver_email, ANSWER(250, "550 no such user"), VERDICT_DELIVERED, -1,
     "not taken for all addresses: 550 no such user"},
    {"421", &receiver_email, ANSWER(421, "421 busy"), VERDICT_LATER, -1,
     "the mail server answered 421: 421 busy"},
    {"450", &receiver_email, ANSWER(450, "450 greylisted"), VERDICT_LATER, -1, "greylisted"},
    {"535", &receiver_email, ANSWER(535, "535 denied"), VERDICT_NEVER, -1, "535 denied"},
    {"550", &receiver_email, ANSWER(550, "550 relaying"), VERDICT_NEVER, -1, "550 relaying"},
    {"no TLS", &receiver_email, BROKEN(-EPROTONOSUPPORT, "STARTTLS not supported"), VERDICT_LATER,
     -1, "STARTTLS"},
    {"log", &receiver_log, ANSWER(0, ""), VERDICT_DELIVERED, -1, ""},
};

static void every_answer_has_a_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct answer *row = &rows[i];
        struct err why = {.text = ""};
        int64_t wait_ms = 0;
        char name[64];
        snprintf(name, sizeof(name), "%s %s", row->kind->name, row->name);
        enum verdict verdict = row->kind->judge(NULL, &row->reply, &wait_ms, &why);
        assert_row(name, verdict == row->verdict);
        assert_row(name, verdict == VERDICT_DELIVERED || wait_ms == row->wait_ms);
        if (!strstr(why.text, row->why))
            fail_msg("%s: \"%s\" does not hold \"%s\"", name, why.text, row->why);
        assert_row(name, (row->why[0] == '\0') == (why.text[0] == '\0'));
    }
}

/* Mended by a person: every refusal says how. */
static void refusals_have_hints(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err why = {.text = ""};
        int64_t wait_ms;
        if (rows[i].kind->judge(NULL, &rows[i].reply, &wait_ms, &why) == VERDICT_NEVER &&
            rows[i].reply.status != 400)
            assert_row(rows[i].name, why.hint[0] != '\0');
    }
}

static int judge_one(void *ctx)
{
    const struct answer *row = ctx;
    struct err why = {.text = ""};
    int64_t wait_ms;
    enum verdict verdict = row->kind->judge(NULL, &row->reply, &wait_ms, &why);
    /* Without memory an answer is not understood, and the message is sent again. */
    return verdict == row->verdict && strstr(why.text, row->why) ? 0 : -ENOMEM;
}

static void without_memory_nothing_counts_as_delivered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer row = rows[i];
        (void)memfail_each(judge_one, &row);
    }
}

static int say_one(void *ctx)
{
    char said[8];
    (void)ctx;
    memset(said, 'x', sizeof(said));
    struct span s = http_receiver_said(SPAN("no\nsuch page"), said, sizeof(said));
    assert_ptr_equal(s.p, said);
    if (s.n == 0) {
        assert_int_equal(said[0], '\0');
        return -ENOMEM;
    }
    assert_string_equal(said, "no such");
    return 0;
}

static void what_was_said_is_terminated(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(say_one, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_a_meaning),
        cmocka_unit_test(refusals_have_hints),
        cmocka_unit_test(without_memory_nothing_counts_as_delivered),
        cmocka_unit_test(what_was_said_is_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
