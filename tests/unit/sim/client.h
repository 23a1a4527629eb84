/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - a plain client of the simulated engine, for its tests over loopback.
 */
#ifndef TESTS_UNIT_SIM_CLIENT_H
#define TESTS_UNIT_SIM_CLIENT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness.h"
#include "io/addr.h"

enum { WAIT_US = 150000 };

/* How the answer ended for the client. */
enum ending { ENDING_CHUNK, ENDING_LENGTH, ENDING_FIN, ENDING_RESET, ENDING_SILENCE };

static struct addr at; /* of the server under test */

static int client_open(void)
{
    struct timeval wait = {.tv_usec = WAIT_US};
    int fd = socket(at.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&at.ss, at.len), 0);
    return fd;
}

/* Whether a body of announced length is complete. */
static bool is_length_reached(struct span all)
{
    size_t head = span_find(all, SPAN("\r\n\r\n"));
    size_t field = span_find(all, SPAN("Content-Length: "));
    size_t n = 0;

    if (head == all.n || field > head)
        return false;
    for (size_t i = field + 16; all.p[i] >= '0' && all.p[i] <= '9'; i++)
        n = n * 10 + (size_t)(all.p[i] - '0');
    return all.n >= head + 4 + n;
}

static enum ending answer_read(int fd, struct buf *out)
{
    for (;;) {
        char *p;
        ssize_t n;
        struct span all;

        assert_int_equal(buf_reserve(out, 64 * KIB, &p), 0);
        n = recv(fd, p, 64 * KIB, 0);
        if (n == 0)
            return ENDING_FIN;
        if (n < 0)
            return errno == ECONNRESET ? ENDING_RESET : ENDING_SILENCE;
        buf_commit(out, (size_t)n);
        all = buf_span(out);
        if (span_find(all, SPAN("\r\n0\r\n\r\n")) < all.n)
            return ENDING_CHUNK;
        if (is_length_reached(all))
            return ENDING_LENGTH;
    }
}

/* One exchange on a connection of its own. body NULL: GET. */
static enum ending exchange(const char *path, const char *fields, const char *body, struct buf *out)
{
    char request[2048];
    int fd = client_open();
    int n = snprintf(
        request, sizeof(request), "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n%s",
        body ? "POST" : "GET", path, body ? strlen(body) : 0, fields, body ? body : "");
    enum ending e;

    assert_int_equal(send(fd, request, (size_t)n, MSG_NOSIGNAL), n);
    e = answer_read(fd, out);
    close(fd);
    return e;
}

/* n occurrences of needle. */
static size_t count(struct span all, const char *needle)
{
    struct span n = span_cstr(needle);
    size_t found = 0;

    for (size_t i = span_find(all, n); i < all.n; i = span_find(all, n)) {
        found++;
        all = span_from(all, i + n.n);
    }
    return found;
}

#endif
