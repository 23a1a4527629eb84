/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/probe: one upstream's probe against a raw peer: what it sends, what it makes of answers.
 */
#include "daemon/probe.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stat.h"
#include "fakeclock.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

static struct loop *loop;
static struct peer up;
static int listen_fd;
static uint16_t port;
static struct metrics *metrics;
static struct metrics_shard *shard;
static struct gateway_upstream upstream;
static struct probe probe;

static int setup(void **state)
{
    char url[64];
    (void)state;
    listen_fd = peer_listen(&port);
    up = (struct peer){.fd = -1};
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(metrics_new(NULL, &metrics), 0);
    assert_int_equal(metrics_shard_new(metrics, &shard), 0);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/base/v1", (unsigned)port);
    assert_int_equal(gateway_upstream_parse("up", url, &upstream, NULL), 0);
    struct http_pool_config config = {.port = port, .max_idle = 4, .max_queue_bytes = 1 << 20};
    config.idle_timeout_ns = config.dns_ttl_ns = 30 * NS_PER_S;
    (void)span_copy(span_cstr(upstream.host), config.host, sizeof(config.host));
    probe = (struct probe){.loop = loop, .upstream = &upstream, .model = ""};
    assert_int_equal(http_pool_new(loop, NULL, &config, &probe.pool), 0);
    http_pool_set_internal(probe.pool);
    struct metrics_request labels = {.upstream = "up"};
    probe.set = metrics_shard_resolve(shard, &labels);
    probe_init(&probe);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    probe_stop(&probe);
    TURNS(loop, (void)0, 2);
    probe.pool = http_pool_free(probe.pool);
    probe_done(&probe);
    peer_done(&up);
    close(listen_fd);
    loop_free(loop);
    metrics_shard_release(shard);
    metrics_free(metrics);
    return 0;
}

/* --- what the metrics were told --- */

struct told {
    enum metric metric;
    const char *value; /* of the last label; NULL: any */
    int64_t n;
};

static int add_up(void *ctx, const struct metrics_sample *s)
{
    struct told *t = ctx;
    if (s->metric == t->metric &&
        (!t->value || strcmp(s->labels[s->n_labels - 1].value, t->value) == 0))
        t->n += s->hist ? (int64_t)s->hist->n : s->value;
    return 0;
}

static int64_t told(enum metric m, const char *value)
{
    struct told t = {m, value, 0};
    assert_int_equal(metrics_each(metrics, add_up, &t), 0);
    return t.n;
}

/* --- the other side --- */

static void take_request(void)
{
    peer_done(&up);
    up = (struct peer){.fd = -1};
    PUMP(loop, (void)0, peer_accept(&up, listen_fd));
    PUMP(loop, peer_read(&up), peer_has(&up, "}"));
}

static void answer(int status, const char *body)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s", status,
                   strlen(body), body);
    peer_send(&up, text);
}

#define TOKENS "{\"tokens\":[1]}"

static void a_question_as_it_goes_out(void **state)
{
    (void)state;
    probe.key = (struct routes_credential){SPAN("x-key"), SPAN("secret")};
    probe_begin(&probe, false);
    take_request();
    assert_true(peer_has(&up, "POST /base/tokenize HTTP/1.1\r\n"));
    assert_true(peer_has(&up, "\r\nConnection: close\r\n"));
    assert_true(peer_has(&up, "\r\nx-key: secret\r\n"));
    assert_true(peer_has(&up, "\r\nContent-Type: application/json\r\n"));
    probe_begin(&probe, true); /* one thing at a time */
    answer(200, TOKENS);
    PUMP(loop, peer_read(&up), peer_is_gone(&up)); /* is not kept, whatever the peer says */
    assert_int_equal(told(METRIC_TOKENIZE, NULL), 1);
    assert_int_equal(told(METRIC_PROBE_CONNECT, "tcp"), 1);
    assert_int_equal(told(METRIC_PROBE_FAILURES, NULL), 0);
    assert_int_equal(http_pool_n_idle(probe.pool), 0);
    assert_int_equal(probe.tokenizer, PROBE_PRESENT);
    assert_int_equal(stat_sum(STAT_BYTES_UPSTREAM_OUT), 0);
    assert_int_equal(stat_sum(STAT_CONNS_UPSTREAM_OPEN), 0);
}

static void without_a_tokenizer_only_connections(void **state)
{
    (void)state;
    probe_begin(&probe, false);
    take_request();
    answer(404, "");
    PUMP(loop, (void)0, probe.tokenizer == PROBE_ABSENT);
    probe_begin(&probe, false); /* busy: nothing */
    assert_null(probe.client);
    probe_begin(&probe, true);
    assert_non_null(probe.client);
    PUMP(loop, (void)0, !probe.client);
    assert_int_equal(told(METRIC_PROBE_CONNECT, "tcp"), 2);
    assert_int_equal(told(METRIC_TOKENIZE, NULL), 0);
}

static void forms_one_after_the_other(void **state)
{
    (void)state;
    static const char *const members[] = {"\"prompt\":", "\"model\":\"m\"",
                                          "\"content\":", "\"inputs\":"};
    probe.model = "m";
    probe_begin(&probe, false);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        take_request();
        assert_true(peer_has(&up, members[i]));
        answer(i % 2 == 0 ? 422 : 200, "{}");
        enum tokenizer_form asked = probe.form;
        PUMP(loop, (void)0, probe.form != asked);
        if (probe.client) /* the next one was not sent yet */
            assert_false(mono_is_set(probe.t_sent));
    }
    PUMP(loop, (void)0, probe.tokenizer == PROBE_ABSENT);
    assert_null(probe.client);
    assert_int_equal(told(METRIC_PROBE_FAILURES, NULL), 0);
}

/* The engine was exchanged for another one. */
static void another_engine_is_found_anew(void **state)
{
    (void)state;
    probe_begin(&probe, false);
    take_request();
    answer(200, TOKENS);
    PUMP(loop, (void)0, probe.tokenizer == PROBE_PRESENT);
    probe_begin(&probe, false);
    take_request();
    answer(422, "");
    PUMP(loop, (void)0, probe.tokenizer == PROBE_UNKNOWN);
    assert_null(probe.client);
    assert_int_equal(probe.form, TOKENIZER_PROMPT);
}

static void answers_come_late(void **state)
{
    (void)state;
    probe_begin(&probe, false);
    take_request();
    fakeclock_install(clock_mono().ns + 11 * NS_PER_S, clock_wall().us * NS_PER_US);
    PUMP(loop, (void)0, !probe.client);
    fakeclock_remove();
    assert_int_equal(told(METRIC_PROBE_FAILURES, "timeout"), 1);
    assert_int_equal(probe.n_failed, 1);
    PUMP(loop, peer_read(&up), peer_is_gone(&up));
}

static void answers_have_a_limit(void **state)
{
    (void)state;
    char *page = mem_zalloc(1, 66 * 1024 + 1);
    assert_non_null(page);
    memset(page, ' ', 66 * 1024);
    probe_begin(&probe, false);
    take_request();
    peer_send(&up, "HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n");
    peer_send(&up, page);
    PUMP(loop, (void)0, !probe.client);
    assert_int_equal(told(METRIC_PROBE_FAILURES, "other"), 1);
    mem_free(page);
}

static void failures_are_told_apart(void **state)
{
    (void)state;
    probe_begin(&probe, false);
    take_request();
    peer_reset(&up);
    PUMP(loop, (void)0, !probe.client);
    assert_int_equal(told(METRIC_PROBE_FAILURES, "other"), 1);
    probe_begin(&probe, false); /* left out: it failed */
    assert_null(probe.client);
    close(listen_fd);
    probe_begin(&probe, true);
    PUMP(loop, (void)0, !probe.client);
    assert_int_equal(told(METRIC_PROBE_FAILURES, "connect"), 1);
    assert_int_equal(probe.n_failed, 0); /* what comes back may be another one */
    listen_fd = peer_listen(&port);
}

/* As far as the question; nobody answers. */
static int try_once(void *ctx)
{
    (void)ctx;
    probe_forget(&probe);
    probe_begin(&probe, true);
    PUMP(loop, (void)0, !probe.client || mono_is_set(probe.t_sent));
    probe_stop(&probe);
    buf_done(&probe.head);
    buf_done(&probe.request);
    TURNS(loop, (void)0, 2);
    return mono_is_set(probe.t_sent) ? 0 : -ENOMEM;
}

static void without_memory(void **state)
{
    (void)state;
    metrics_probe_started(probe.set);
    /* Series, resources of the loop and the pages of histograms that any duration falls into are
     * there from now on. */
    (void)try_once(NULL);
    for (int64_t ns = 1; ns < 100 * NS_PER_S; ns *= 2)
        metrics_record_probe_connect(probe.set, ns, ns, ns);
    assert_true(memfail_each(try_once, NULL) > 0);
    assert_true(told(METRIC_PROBE_FAILURES, "other") > 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_question_as_it_goes_out), CASE(without_a_tokenizer_only_connections),
        CASE(forms_one_after_the_other), CASE(another_engine_is_found_anew),
        CASE(answers_come_late),         CASE(answers_have_a_limit),
        CASE(failures_are_told_apart),   CASE(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
