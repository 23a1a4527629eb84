/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_broker.h - a Kafka broker that says what a test wants: one topic, one group, in old versions
 * of the protocol, which every client speaks.
 *
 *   struct fake_broker b = {.n_parts = 2, .parts = {{.committed = 4, .end = 10}, ...}, ...};
 *   fake_broker_start(&b);      b.address is "127.0.0.1:port"
 *   fake_broker_stop(&b);
 *
 * A thread serves all connections. What it says may be changed between readings.
 */
#ifndef FAKE_BROKER_H
#define FAKE_BROKER_H

#include "harness.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

enum { FAKE_PARTS = 8, FAKE_CONNS = 32, FAKE_FRAME_MAX = 64 * 1024 };

struct fake_part {
    int64_t committed;
    int16_t committed_err;
    int64_t end;
    int16_t end_err;
};
struct fake_broker {
    int n_parts; /* of topic "t" */
    struct fake_part parts[FAKE_PARTS];
    const char *state; /* of group "g"; NULL: it is not listed */
    int n_members;
    const char *password;   /* of SASL PLAIN; another one is refused; NULL: no SASL */
    const char *refusal;    /* the words then; NULL: none */
    atomic_bool is_silent;  /* reads and says nothing */
    atomic_bool is_garbage; /* answers with bytes that mean nothing */
    atomic_int n_connects, n_refused, n_frames;
    char address[32];
    /* its own */
    int listen_fd, stop_fd[2];
    uint16_t port;
    pthread_t thread;
};

/* --- what is written --- */

static inline void fake_put(struct buf *out, const void *p, size_t n)
{
    assert_int_equal(buf_append(out, span_of(p, n)), 0);
}
static inline void fake_int(struct buf *out, int n_bytes, int64_t v)
{
    for (int i = n_bytes - 1; i >= 0; i--) {
        char byte = (char)(v >> (8 * i));
        fake_put(out, &byte, 1);
    }
}
static inline void fake_str(struct buf *out, const char *s)
{
    fake_int(out, 2, s ? (int64_t)strlen(s) : -1);
    if (s)
        fake_put(out, s, strlen(s));
}

/* --- what is read --- */

static inline int64_t fake_take_int(struct span *in, int n_bytes)
{
    int64_t v = 0;

    assert_true(in->n >= (size_t)n_bytes);
    for (int i = 0; i < n_bytes; i++)
        v = v << 8 | (unsigned char)in->p[i];
    *in = span_from(*in, (size_t)n_bytes);
    return n_bytes == 2 ? (int16_t)v : n_bytes == 4 ? (int32_t)v : v;
}
static inline struct span fake_take_str(struct span *in)
{
    int64_t n = fake_take_int(in, 2);

    return n > 0 ? span_take(in, (size_t)n) : SPAN("");
}

/* --- answers, by request --- */

static inline void fake_versions(struct buf *out, int16_t error)
{
    static const int16_t known[][3] = {{2, 0, 1},  {3, 0, 1},  {9, 0, 1},  {10, 0, 0}, {15, 0, 0},
                                       {16, 0, 0}, {17, 0, 1}, {18, 0, 0}, {36, 0, 0}};

    fake_int(out, 2, error);
    fake_int(out, 4, ARRAY_LEN(known));
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        for (int k = 0; k < 3; k++)
            fake_int(out, 2, known[i][k]);
    }
}

static inline void fake_metadata(const struct fake_broker *b, int version, struct buf *out)
{
    fake_int(out, 4, 1);
    fake_int(out, 4, 1); /* this broker is number 1 */
    fake_str(out, "127.0.0.1");
    fake_int(out, 4, b->port);
    if (version >= 1) {
        fake_str(out, NULL);
        fake_int(out, 4, 1);
    }
    fake_int(out, 4, 1);
    fake_int(out, 2, 0);
    fake_str(out, "t");
    if (version >= 1)
        fake_int(out, 1, 0);
    fake_int(out, 4, b->n_parts);
    for (int i = 0; i < b->n_parts; i++) {
        fake_int(out, 2, 0);
        fake_int(out, 4, i);
        fake_int(out, 4, 1); /* leader */
        fake_int(out, 4, 0);
        fake_int(out, 4, 0);
    }
}

/* Offsets committed (9) or of the end (2), for the partitions that are asked about. */
static inline void fake_offsets(const struct fake_broker *b, int api, struct span in,
                                struct buf *out)
{
    int64_t n_topics;

    if (api == 9)
        (void)fake_take_str(&in);
    else
        (void)fake_take_int(&in, 4);
    n_topics = fake_take_int(&in, 4);
    fake_int(out, 4, n_topics);
    for (; n_topics > 0; n_topics--) {
        struct span name = fake_take_str(&in);
        int64_t n = fake_take_int(&in, 4);

        fake_int(out, 2, (int64_t)name.n);
        fake_put(out, name.p, name.n);
        fake_int(out, 4, n);
        for (; n > 0; n--) {
            int64_t i = fake_take_int(&in, 4);
            const struct fake_part *p = &b->parts[i % FAKE_PARTS];

            fake_int(out, 4, i);
            if (api == 9) {
                fake_int(out, 8, p->committed);
                fake_str(out, "");
                fake_int(out, 2, p->committed_err);
            } else {
                (void)fake_take_int(&in, 8);
                fake_int(out, 2, p->end_err);
                fake_int(out, 8, -1);
                fake_int(out, 8, p->end);
            }
        }
    }
}

static inline void fake_groups(const struct fake_broker *b, int api, struct buf *out)
{
    if (api == 16)
        fake_int(out, 2, 0);
    fake_int(out, 4, b->state ? 1 : 0);
    if (!b->state)
        return;
    if (api == 15)
        fake_int(out, 2, 0);
    fake_str(out, "g");
    if (api == 15)
        fake_str(out, b->state);
    fake_str(out, "consumer");
    if (api == 16)
        return;
    fake_str(out, "range");
    fake_int(out, 4, b->n_members);
    for (int i = 0; i < b->n_members; i++) {
        fake_str(out, "member");
        fake_str(out, "client");
        fake_str(out, "/127.0.0.1");
        fake_int(out, 4, 0);
        fake_int(out, 4, 0);
    }
}

static inline void fake_authenticate(struct fake_broker *b, struct span in, struct buf *out)
{
    bool is_good = b->password && span_ends_with(in, span_cstr(b->password)) &&
                   in.n > strlen(b->password) && in.p[in.n - strlen(b->password) - 1] == '\0';

    b->n_refused += !is_good;
    fake_int(out, 2, is_good ? 0 : 58);
    fake_str(out, is_good ? NULL : b->refusal);
    fake_int(out, 4, 0);
}

/* One request, of which the length was taken. */
static inline void fake_answer(struct fake_broker *b, struct span in, struct buf *out)
{
    int api = (int)fake_take_int(&in, 2), version = (int)fake_take_int(&in, 2);

    fake_int(out, 4, fake_take_int(&in, 4));
    (void)fake_take_str(&in); /* who asks */
    if (api == 18)
        fake_versions(out, version > 0 ? 35 : 0);
    else if (api == 3)
        fake_metadata(b, version, out);
    else if (api == 9 || api == 2)
        fake_offsets(b, api, in, out);
    else if (api == 15 || api == 16)
        fake_groups(b, api, out);
    else if (api == 36)
        fake_authenticate(b, in, out);
    else if (api == 17) {
        fake_int(out, 2, b->password ? 0 : 33);
        fake_int(out, 4, 1);
        fake_str(out, "PLAIN");
    } else { /* 10 */
        fake_int(out, 2, 0);
        fake_int(out, 4, 1);
        fake_str(out, "127.0.0.1");
        fake_int(out, 4, b->port);
    }
}

/* --- connections --- */

static inline bool fake_serve(struct fake_broker *b, int fd)
{
    static const char garbage[] = "\x00\x00\x00\x10HTTP/1.1 400 Bad Request\r\n\r\n";
    char frame[FAKE_FRAME_MAX];
    struct span in = {frame, 4};
    struct buf out, head;
    ssize_t n;

    if (recv(fd, frame, 4, MSG_WAITALL) != 4)
        return false;
    n = (ssize_t)fake_take_int(&in, 4);
    if (n < 8 || n > FAKE_FRAME_MAX || recv(fd, frame, (size_t)n, MSG_WAITALL) != n)
        return false;
    b->n_frames++;
    if (b->is_silent)
        return true;
    if (b->is_garbage)
        return send(fd, garbage, sizeof(garbage) - 1, MSG_NOSIGNAL) > 0;
    buf_init(&out, 1 << 20);
    buf_init(&head, 16);
    fake_answer(b, span_of(frame, (size_t)n), &out);
    fake_int(&head, 4, (int64_t)buf_len(&out));
    (void)send(fd, buf_span(&head).p, 4, MSG_NOSIGNAL | MSG_MORE);
    (void)send(fd, buf_span(&out).p, buf_len(&out), MSG_NOSIGNAL);
    buf_done(&head);
    buf_done(&out);
    return true;
}

static inline void *fake_run(void *arg)
{
    struct fake_broker *b = arg;
    struct pollfd fds[FAKE_CONNS + 2] = {{b->stop_fd[0], POLLIN, 0}, {b->listen_fd, POLLIN, 0}};
    nfds_t n = 2;

    while (poll(fds, n, -1) >= 0 && fds[0].revents == 0) {
        for (nfds_t i = 2; i < n; i++) {
            if (fds[i].revents == 0 || fake_serve(b, fds[i].fd))
                continue;
            (void)close(fds[i].fd);
            fds[i--] = fds[--n];
        }
        if (fds[1].revents != 0 && n < ARRAY_LEN(fds)) {
            fds[n++] = (struct pollfd){accept(b->listen_fd, NULL, NULL), POLLIN, 0};
            b->n_connects++;
        }
    }
    for (nfds_t i = 2; i < n; i++)
        (void)close(fds[i].fd);
    return NULL;
}

static inline void fake_broker_start(struct fake_broker *b)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(at);

    b->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(b->listen_fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(b->listen_fd, FAKE_CONNS), 0);
    assert_int_equal(getsockname(b->listen_fd, (struct sockaddr *)&at, &n), 0);
    b->port = ntohs(at.sin_port);
    (void)snprintf(b->address, sizeof(b->address), "127.0.0.1:%d", b->port);
    assert_int_equal(pipe(b->stop_fd), 0);
    assert_int_equal(pthread_create(&b->thread, NULL, fake_run, b), 0);
}

static inline void fake_broker_stop(struct fake_broker *b)
{
    assert_int_equal(write(b->stop_fd[1], "x", 1), 1);
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    (void)close(b->stop_fd[0]);
    (void)close(b->stop_fd[1]);
    (void)close(b->listen_fd);
}

#endif
