/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "cli/flag.h"
#include "io/addr.h"
#include "wire/http1.h"

enum { PATIENCE_S = 30, ANSWER_MAX = MIB };

/* A blocking connection: there is nothing else to do meanwhile. */
static int connect_to(const struct addr *at, int *ret_fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(at->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)(const void *)&at->ss, at->len) < 0) {
        int r = -errno;
        close(fd);
        return r == -EINPROGRESS ? -ETIMEDOUT : r;
    }
    *ret_fd = fd;
    return 0;
}

/* The whole answer, until the connection is closed. */
static int exchange(const struct addr *at, const char *host, struct buf *answer)
{
    char request[256];
    int n = snprintf(request, sizeof(request),
                     "POST /-/reload HTTP/1.1\r\nHost: %s\r\nAccept: text/plain\r\n"
                     "Content-Length: 0\r\nConnection: close\r\n\r\n",
                     host);
    int fd = -1;
    int r = connect_to(at, &fd);

    if (r < 0)
        return r;
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        r = -errno;
    if (r == 0)
        r = file_read_fd(fd, ANSWER_MAX, answer);
    close(fd);
    return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* Takes the answer apart: its status, or -EPROTO where it is none of a gateway's. */
static int answer_status(struct span answer, struct span *ret_body)
{
    struct http1_head head;
    enum http1_error error;
    size_t scanned = 0;
    ptrdiff_t n = http1_find_end(answer, &scanned, &error);

    if (n <= 0 || http1_parse_response(span_of(answer.p, (size_t)n), false, &head) != HTTP1_OK)
        return -EPROTO;
    *ret_body = span_from(answer, (size_t)n);
    return head.status;
}

static int reload(const struct addr *at)
{
    char host[ADDR_TEXT_MAX];
    struct span body = {0};
    struct buf answer;
    int status;

    addr_format(at, host);
    buf_init(&answer, 2 * ANSWER_MAX);
    status = exchange(at, host, &answer);
    if (status == 0)
        status = answer_status(buf_span(&answer), &body);
    if (status > 0)
        (void)fwrite(body.p, 1, body.n, status == 200 ? stdout : stderr);
    else
        (void)fprintf(stderr,
                      "inferometer reload: no answer from %s: %s\n"
                      "hint: --admin takes the address of the gateway's admin listener, which is "
                      "admin.listen in its configuration\n",
                      host, err_str(status));
    buf_done(&answer);
    return status == 200 ? 0 : 1;
}

static void help_print(void)
{
    (void)fputs("usage: inferometer reload [--admin ADDR:PORT]\n\n"
                "Has a running gateway read its configuration again, and tells what changed, or\n"
                "everything that is in the way; the old configuration then stays in force.\n\n"
                "  --admin ADDR:PORT  its admin listener (default 127.0.0.1:8401)\n\n"
                "exit status: 0 taken over, 1 refused or not reached, 2 wrong flags\n",
                stdout);
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct addr *ret, struct err *reterr)
{
    struct span text = SPAN("127.0.0.1:8401");
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    while ((r = flag_next(&f, reterr)) > 0) {
        if (flag_is(&f, "help"))
            return 0;
        if (!flag_is(&f, "admin"))
            return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f.name));
        r = flag_value(&f, NULL, &text, reterr);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = addr_parse(text, ret, reterr);
    return r < 0 ? r : 1;
}

int reload_main(int argc, char **argv)
{
    struct err err = {0};
    struct addr at;
    int r = options_parse(argc, argv, &at, &err);

    if (r < 0)
        return flag_complain("reload", &err);
    if (r == 0) {
        help_print();
        return 0;
    }
    return reload(&at);
}
