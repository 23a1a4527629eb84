/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/talk.c - one HTTP request and its answer, over a blocking connection.
 */
#include "cli/talk.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "io/addr.h"
#include "wire/message.h"

enum { READ_BYTES = 64 * KIB };

int talk_place_parse(struct span text, struct talk_place *ret, struct err *reterr)
{
    struct span rest = text;
    if (span_starts_with(rest, SPAN("https://")))
        return err_set(reterr, -EINVAL, "\"%.*s\": only http is spoken here", SPAN_ARG(text));
    if (span_starts_with(rest, SPAN("http://")))
        rest = span_from(rest, strlen("http://"));
    bool is_unix = span_starts_with(rest, SPAN("unix:"));
    struct span host = span_take(&rest, is_unix ? rest.n : span_find_char(rest, '/'));
    while (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    if (host.n == 0 || host.n >= sizeof(ret->host) || rest.n >= sizeof(ret->prefix)) {
        (void)err_set(reterr, -EINVAL, "\"%.*s\" is no address", SPAN_ARG(text));
        err_hint(reterr, "for example http://127.0.0.1:8401");
        return -EINVAL;
    }
    (void)span_copy(host, ret->host, sizeof(ret->host));
    (void)span_copy(rest, ret->prefix, sizeof(ret->prefix));
    return 0;
}

struct span talk_user(void)
{
    static const char *const names[] = {"USER", "LOGNAME"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *name = getenv(names[i]);
        if (name && name[0])
            return span_cstr(name);
    }
    const struct passwd *p = getpwuid(geteuid());
    return span_cstr(p ? p->pw_name : "");
}

/* --- connecting --- */

/* How long one call waits. */
static void patience_set(int fd, int64_t ns)
{
    const struct timeval t = {.tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int connect_to(const struct sockaddr *at, socklen_t len, int64_t patience_ns, int *ret_fd)
{
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    patience_set(fd, patience_ns);
    if (connect(fd, at, len) < 0) {
        int r = -errno;
        close(fd);
        return r == -EINPROGRESS ? -ETIMEDOUT : r;
    }
    *ret_fd = fd;
    return 0;
}

/* A name is looked up; the first of its addresses that answers is taken. */
static int connect_name(const char *host, int64_t patience_ns, int *ret_fd)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char name[TALK_HOST_MAX];
    (void)span_copy(span_cstr(host), name, sizeof(name));
    char *colon = strrchr(name, ':');
    const char *port = colon ? colon + 1 : "80";
    int r = -EHOSTUNREACH;
    if (colon)
        *colon = '\0';
    if (getaddrinfo(name, port, &hints, &found) != 0)
        return -EHOSTUNREACH;
    for (const struct addrinfo *i = found; i && r < 0; i = i->ai_next)
        r = connect_to(i->ai_addr, i->ai_addrlen, patience_ns, ret_fd);
    freeaddrinfo(found);
    return r;
}

static int connect_place(const struct talk_place *at, int64_t patience_ns, int *ret_fd)
{
    struct addr literal;
    if (addr_parse(span_cstr(at->host), &literal, NULL) == 0)
        return connect_to((const struct sockaddr *)(const void *)&literal.ss, literal.len,
                          patience_ns, ret_fd);
    return connect_name(at->host, patience_ns, ret_fd);
}

/* --- the exchange --- */

struct exchange {
    const struct talk_question *question;
    mono_t began;
    int fd;
};

/* Before a call that may wait: whether it may, and for how long. */
static int wait_begin(const struct exchange *e)
{
    const struct talk_question *q = e->question;
    if (q->must_stop && q->must_stop())
        return -EINTR;
    if (q->patience_ns == 0)
        return 0;
    int64_t left_ns = q->patience_ns - mono_diff(clock_mono(), e->began);
    if (left_ns < NS_PER_US) /* for ever, to a socket */
        return -ETIMEDOUT;
    patience_set(e->fd, left_ns);
    return 0;
}

static int send_all(const struct exchange *e, struct span s)
{
    int r = 0;
    while (s.n > 0 && (r = wait_begin(e)) == 0) {
        ssize_t n = send(e->fd, s.p, s.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (n > 0)
            (void)span_take(&s, (size_t)n);
    }
    return r;
}

static int request_write(const struct talk_place *at, const struct talk_question *q,
                         struct buf *out)
{
    bool is_unix = strncmp(at->host, "unix:", 5) == 0;
    const char *set = getenv("INFEROMETER_TOKEN");
    struct span token = span_of(set, set ? strcspn(set, "\r\n") : 0);
    int r = buf_printf(
        out,
        "%s %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
        "Content-Type: %s\r\nAccept: %s\r\nContent-Length: %zu\r\n%s%.*s%s\r\n",
        q->method ? q->method : "POST", at->prefix, q->path, is_unix ? "localhost" : at->host,
        q->type ? q->type : "application/x-www-form-urlencoded", q->accept, q->form.n,
        token.n > 0 ? "Authorization: Bearer " : "", SPAN_ARG(token), token.n > 0 ? "\r\n" : "");
    return r ? r : buf_append(out, q->form);
}

/* Takes what was read; 1: the answer is whole. */
static int take(struct message_reader *m, struct span in, bool is_end, int *ret_status,
                struct buf *body)
{
    struct http1_head head = {.status = 0};
    struct span piece = {0};
    for (;;) {
        enum message_status s = is_end ? message_eof(m) : message_next(m, &in, &head, &piece);
        if (s == MESSAGE_HEAD)
            *ret_status = head.status;
        else if (s == MESSAGE_END)
            return 1;
        else if (s == MESSAGE_MORE)
            return 0;
        else if (s != MESSAGE_BODY)
            return s == MESSAGE_NO_MEMORY ? -ENOMEM : -EPROTO;
        else {
            int r = buf_append(body, piece);
            if (r < 0)
                return r;
        }
    }
}

static int receive(const struct exchange *e, int *ret_status, struct buf *body)
{
    static char bytes[READ_BYTES];
    struct message_reader m;
    int r = 0;
    message_init(&m, MESSAGE_RESPONSES);
    while (r == 0 && (r = wait_begin(e)) == 0) {
        ssize_t n = recv(e->fd, bytes, sizeof(bytes), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = errno == EAGAIN ? -ETIMEDOUT : -errno;
        else
            r = take(&m, span_of(bytes, (size_t)n), n == 0, ret_status, body);
        if (n == 0 && r == 0)
            r = -EPROTO; /* cut */
    }
    message_done(&m);
    return r > 0 ? 0 : r;
}

static int exchange(const struct talk_place *at, const struct talk_question *q, struct span request,
                    int *ret_status, struct buf *body)
{
    struct exchange e = {.question = q, .began = clock_mono(), .fd = -1};
    int64_t patience_ns = q->patience_ns ? q->patience_ns : TALK_PATIENCE_S * NS_PER_S;
    int r = connect_place(at, patience_ns, &e.fd);
    if (r < 0)
        return r;
    r = send_all(&e, request);
    if (r == 0)
        r = receive(&e, ret_status, body);
    close(e.fd);
    return r;
}

int talk_ask(const struct talk_place *at, const struct talk_question *q, int *ret_status,
             struct buf *body, struct err *reterr)
{
    struct buf request;
    buf_init(&request, 2 * MIB);
    int r = request_write(at, q, &request);
    if (r == 0)
        r = exchange(at, q, buf_span(&request), ret_status, body);
    buf_done(&request);
    if (r == 0)
        return 0;
    (void)err_set(reterr, r, "no answer from %s: %s", at->host, err_str(r));
    err_hint(reterr,
             "%s takes the address of the gateway's admin listener, which is admin.listen in its "
             "configuration",
             q->flag);
    return r;
}

int talk_misread(const struct talk_place *at, int status, const char *wanted, int r,
                 struct err *reterr)
{
    return err_set(reterr, r, "%s answered with status %d and no %s: %s", at->host, status, wanted,
                   r == -EPROTO ? "is it an admin listener?" : err_str(r));
}

int talk_encode(struct span s, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < s.n && r == 0; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool is_plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        r = is_plain || c == '.' || c == '_' ? buf_append(out, span_of(&s.p[i], 1))
                                             : buf_printf(out, "%%%02X", c);
    }
    return r;
}

int talk_add(struct buf *form, struct span name, struct span value)
{
    int r = buf_len(form) ? buf_append(form, SPAN("&")) : 0;
    if (r == 0)
        r = talk_encode(name, form);
    if (r == 0)
        r = buf_append(form, SPAN("="));
    return r ? r : talk_encode(value, form);
}

int talk_add_seconds(struct buf *form, struct span name, double s)
{
    char text[NUM_PLAIN_BYTES];
    return isnan(s) ? 0 : talk_add(form, name, span_of(text, num_format_plain(s, text)));
}
