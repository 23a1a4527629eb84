/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h - an admin listener on a port of its own, and requests to it. It is served while an answer
 * is waited for.
 */
#ifndef RIG_H
#define RIG_H

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "harness.h"
#include "io/listener.h"

struct admin {
    struct loop *loop;
    struct metrics *metrics;
    struct recent *recent;
    struct api *api;
    struct addr at;
    int fd;
    char answer[512 * 1024]; /* the last one */
};

/* sources: everything but metrics and recent, which are set here; read only while this runs. */
static inline void admin_start(struct admin *a, struct api_sources *sources, size_t n_recent)
{
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &a->at, NULL), 0);
    assert_int_equal(loop_new(&a->loop), 0);
    assert_int_equal(metrics_new(NULL, &a->metrics), 0);
    assert_int_equal(recent_new(n_recent, &a->recent), 0);
    sources->metrics = a->metrics;
    sources->recent = a->recent;
    assert_int_equal(api_new(a->loop, sources, &a->api), 0);
    a->fd = listener_open(&a->at, 64, &a->at);
    assert_true(a->fd >= 0);
    assert_int_equal(api_listen(a->api, a->fd), 0);
}

static inline void admin_stop(struct admin *a)
{
    api_free(a->api);
    close(a->fd);
    recent_free(a->recent);
    metrics_free(a->metrics);
    loop_free(a->loop);
}

static inline void admin_turn(struct admin *a, int n)
{
    for (int i = 0; i < n; i++)
        loop_turn(a->loop, NS_PER_MS);
}

/* A connection on which a request that asks to close was sent. fields: with their line ends. */
static inline int admin_send_to(struct admin *a, const char *host, const char *method,
                                const char *target, const char *fields, const char *body)
{
    char request[4096];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&a->at.ss, a->at.len), 0);
    int len = snprintf(request, sizeof(request),
                       "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n%s", method,
                       target, host, fields, body);
    assert_true(len < (int)sizeof(request));
    assert_int_equal(send(fd, request, (size_t)len, 0), len);
    return fd;
}

static inline int admin_send(struct admin *a, const char *method, const char *target,
                             const char *fields, const char *body)
{
    return admin_send_to(a, "127.0.0.1", method, target, fields, body);
}

/* Events have no end: one is enough. */
static inline bool admin_has_event(struct span answer)
{
    return span_find(answer, SPAN("text/event-stream")) < answer.n &&
           span_find(answer, SPAN("\n\n")) < answer.n;
}

/* The whole answer, with a NUL behind it, until the next one. */
static inline struct span admin_receive(struct admin *a, int fd)
{
    size_t n = 0;
    for (int turns = 0; turns < 5000; turns++) {
        admin_turn(a, 1);
        ssize_t got = recv(fd, a->answer + n, sizeof(a->answer) - 1 - n, MSG_DONTWAIT);
        if (got == 0)
            break;
        if (got > 0)
            n += (size_t)got;
        if (admin_has_event(span_of(a->answer, n)))
            break;
    }
    close(fd);
    loop_turn(a->loop, 0);
    a->answer[n] = '\0';
    return span_of(a->answer, n);
}

static inline struct span admin_ask(struct admin *a, const char *method, const char *target,
                                    const char *fields)
{
    return admin_receive(a, admin_send(a, method, target, fields, ""));
}

#endif
