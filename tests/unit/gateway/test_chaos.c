/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients and upstream connections at once that do random things, right and wrong, from a
 * fixed seed. What must hold is in the rig: the order of the tap's events, exactly one end for
 * every exchange, every plan given back, no memory, descriptor or admission left behind.
 */
#include "base/num.h"
#include "base/rng.h"
#include "rig.h"

enum { N_CLIENTS = 12, N_UPS = 16, N_STEPS = 4000 };

static struct rng rng;
static struct peer clients[N_CLIENTS], ups[N_UPS];

static const char *const requests[] = {
    "GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /a HTTP/1.0\r\n\r\n",
    "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world",
    "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\nhello world",
    "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX",
    "POST /d HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nend",
    "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n",
    "NONSENSE\r\n\r\n",
};

static const char *const answers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<cut>\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz",
    "HTTP/1.1 200 OK\r\n\r\nuntil close",
    "HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
    "SSH-2.0\r\n\r\n",
};

/* Sends some or all of text. */
static void send_some(struct peer *p, const char *text)
{
    size_t n = strlen(text);

    if (rng_below(&rng, 3) == 0)
        n = (size_t)rng_below(&rng, n + 1);
    (void)peer_write(p, span_of(text, n));
}

static void send_block(struct peer *p)
{
    static char block[400000];

    (void)peer_write(p, span_of(block, (size_t)rng_below(&rng, sizeof(block))));
}

static void leave(struct peer *p)
{
    switch (rng_below(&rng, 3)) {
    case 0:
        peer_reset(p);
        break;
    case 1:
        (void)shutdown(p->fd, SHUT_WR); /* may be broken already */
        break;
    default:
        peer_close(p);
        break;
    }
}

static void client_step(struct peer *p)
{
    if (p->fd < 0 || peer_is_gone(p)) {
        peer_done(p);
        peer_connect(p, rig.port);
    }
    switch (rng_below(&rng, 10)) {
    case 0:
        leave(p);
        break;
    case 1:
        send_block(p);
        break;
    case 2:
    case 3:
        peer_read_some(p, 30000);
        break;
    case 4:
        peer_read(p);
        peer_forget(p);
        break;
    default:
        send_some(p, requests[rng_below(&rng, ARRAY_LEN(requests))]);
        break;
    }
}

static void up_step(struct peer *p)
{
    if (p->fd < 0 || peer_is_gone(p)) {
        peer_done(p);
        (void)peer_accept(p, rig.up_listen_fd);
        return;
    }
    switch (rng_below(&rng, 12)) {
    case 0:
        leave(p);
        break;
    case 1:
        send_block(p);
        break;
    case 2:
    case 3:
    case 4:
        peer_read(p);
        peer_forget(p);
        break;
    default:
        peer_read_some(p, 1000);
        send_some(p, answers[rng_below(&rng, ARRAY_LEN(answers))]);
        break;
    }
}

static bool has_queue;

static void limits_step(void)
{
    struct admission_limits limits = {.max_inflight = 1 + (uint32_t)rng_below(&rng, 2)};

    for (int c = 0; c < ADMISSION_CLASSES; c++)
        limits.classes[c] = (struct admission_class_limits){
            .max_queue = 1, .max_queue_ns = (int64_t)rng_below(&rng, 4) * NS_PER_MS};
    admission_set_limits(rig.admission, &limits, clock_mono());
}

static void policy_step(void)
{
    struct policy_plan *plan = &rig.policy.plan;

    if (has_queue && rng_below(&rng, 20) == 0)
        limits_step();
    plan->admission_class = (int)rng_below(&rng, 2);
    plan->tenant = rng_below(&rng, 2) == 0 ? SPAN("one") : SPAN("other");
    rig.policy.aim.n_edits = (size_t)rng_below(&rng, 2);
    rig.policy.aim.edits[0] = (struct policy_edit){.at = 0, .insert = SPAN("edit")};
    rig.policy.aim.is_usage_injected = rig.policy.aim.n_edits > 0;
    plan->refusal = rng_below(&rng, 20) == 0 ? TAP_REASON_REJECTED : TAP_REASON_NONE;
    plan->refusal_text = "no";
    rig.policy.wants_filter = rng_below(&rng, 3) == 0;
    rig.policy.repeat_on = rng_below(&rng, 2) == 0 ? 400 : 0;
    rig.is_unwatched = rng_below(&rng, 20) == 0;
}

static void short_times(void)
{
    rig.config->request_window_bytes = 400;
    rig.config->max_body_bytes = 3000000;
    rig.config->connect_timeout_ns = 30 * NS_PER_MS;
    rig.config->first_byte_timeout_ns = 20 * NS_PER_MS;
    rig.config->idle_timeout_ns = 15 * NS_PER_MS;
    rig.config->total_timeout_ns = 60 * NS_PER_MS;
    rig.config->client_head_timeout_ns = 15 * NS_PER_MS;
    rig.config->client_body_timeout_ns = 15 * NS_PER_MS;
    rig.config->client_idle_timeout_ns = 40 * NS_PER_MS;
    rig.config->upstream_idle_timeout_ns = 10 * NS_PER_MS;
    rig_gateway_reopen();
}

static void chaos(uint64_t seed, bool has_memory_faults)
{
    rng_seed(&rng, seed);
    for (int i = 0; i < N_CLIENTS; i++)
        clients[i] = (struct peer){.fd = -1};
    for (int i = 0; i < N_UPS; i++)
        ups[i] = (struct peer){.fd = -1};
    for (int i = 0; i < N_STEPS; i++) {
        policy_step();
        client_step(&clients[rng_below(&rng, N_CLIENTS)]);
        up_step(&ups[rng_below(&rng, N_UPS)]);
        up_step(&ups[rng_below(&rng, N_UPS)]);
        if (has_memory_faults && rng_below(&rng, 10) == 0)
            mem_fail_from(1 + rng_below(&rng, 6));
        if (rng_below(&rng, 3) > 0)
            loop_turn(rig.loop, rng_below(&rng, 8) == 0 ? NS_PER_MS : 0);
        mem_fail_off();
    }
    rig.gateway = gateway_free(rig.gateway);
    for (int i = 0; i < N_CLIENTS; i++)
        peer_done(&clients[i]);
    for (int i = 0; i < N_UPS; i++)
        peer_done(&ups[i]);
}

/* $CHAOS_ROUNDS: how many seeds to try; one is enough for every day. */
static void rounds(uint64_t seed, bool has_memory_faults)
{
    const char *text = getenv("CHAOS_ROUNDS");
    uint64_t n = 1;

    if (text)
        assert_int_equal(num_parse_u64(span_cstr(text), &n), 0);
    short_times();
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            assert_int_equal(rig_gateway_open(), 0);
        rig.n_taps = 0;
        chaos(seed + 2 * i, has_memory_faults);
        assert_true(rig.n_taps > 200);
        assert_int_equal(rig.policy.n_plans, rig.policy.n_done);
        assert_int_equal(rig_n_inflight(), 0);
    }
    assert_true(rig.policy.n_heads > (has_queue ? 30 : 100));
}

static void test_chaos(void **state)
{
    (void)state;
    rounds(1, false);
}

static void test_chaos_without_memory(void **state)
{
    (void)state;
    rounds(2, true);
}

/* Most wait, some in vain; limits change meanwhile, too (the steps of the policy). */
static void test_chaos_with_a_queue(void **state)
{
    struct admission_numbers n;
    (void)state;
    has_queue = true;
    rounds(3, false);
    rounds(4, true);
    has_queue = false;
    admission_read(rig.admission, &n);
    for (int c = 0; c < ADMISSION_CLASSES; c++) {
        assert_true(n.classes[c].n_queued > 20);
        assert_true(n.classes[c].n_full > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_chaos),
        RIG_CASE(test_chaos_without_memory),
        RIG_CASE(test_chaos_with_a_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
