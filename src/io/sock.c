/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/sock.c - edge-triggered reads and writes.
 *
 * A descriptor is registered once for everything and never changed again. So an edge that comes
 * while reading is paused, or while the per-turn budget is used up, is remembered in _is_readable
 * and served later from the loop's task list. A read shorter than the buffer means the kernel has
 * no more for now (the next segment makes a new edge), except when a FIN was announced: then
 * reading goes on until it is seen.
 *
 * A reset does not take back what came before it (the kernel keeps those bytes readable), so a
 * broken connection is read to its end before on_error: a server that refuses an upload answers and
 * resets. The first one to notice (epoll, a send, a flush) stores the error; reading tells it.
 */
#include "io/sock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "io/fd.h"
#include "io/tls_link.h"

enum { IOV_MAX_HERE = 24 };

static void sock_on_ready(struct watch *w, uint32_t events);
static void sock_on_task(struct task *t);

void sock_init(struct sock *s, struct loop *l, const struct sock_ops *ops, size_t max_queue_bytes)
{
    *s = (struct sock){.ops = ops, ._loop = l};
    s->_watch.fd = -1;
    s->_watch.on_ready = sock_on_ready;
    task_init(&s->_ready, sock_on_task);
    buf_init(&s->_queue, max_queue_bytes);
}

static int sock_register(struct sock *s, int fd)
{
    int r;

    s->_watch.fd = fd;
    r = loop_watch(s->_loop, &s->_watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    if (r < 0) {
        close(fd);
        s->_watch.fd = -1;
        return r;
    }
    s->_is_open = true;
    return 0;
}

int sock_attach(struct sock *s, int fd)
{
    fd_options_set(fd);
    return sock_register(s, fd);
}

int sock_connect(struct sock *s, const struct addr *to)
{
    int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    fd_options_set(fd);
    if (connect(fd, (const struct sockaddr *)(const void *)&to->ss, to->len) < 0 &&
        errno != EINPROGRESS) {
        int r = -errno;
        close(fd);
        return r;
    }
    s->_is_connecting = true;
    return sock_register(s, fd);
}

int sock_detach(struct sock *s)
{
    int fd = s->_watch.fd;

    ASSERT(s->_is_open && !s->_tls && buf_len(&s->_queue) == 0);
    s->_is_open = false;
    task_cancel(&s->_ready);
    loop_unwatch(s->_loop, &s->_watch);
    s->_watch.fd = -1;
    return fd;
}

void sock_close(struct sock *s, bool with_reset)
{
    if (!s->_is_open)
        return;
    if (s->_tls) { /* a goodbye behind lost bytes would be a lie */
        tls_link_free(s->_tls, !with_reset && s->_error == 0 && buf_len(&s->_queue) == 0);
        s->_tls = NULL;
    }
    s->_is_open = false;
    task_cancel(&s->_ready);
    loop_unwatch(s->_loop, &s->_watch);
    if (with_reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(s->_watch.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    close(s->_watch.fd);
    s->_watch.fd = -1;
    buf_done(&s->_queue);
}

static void sock_fail(struct sock *s, int error)
{
    sock_close(s, false);
    s->ops->on_error(s, error);
}

/* Nothing can be sent any more; what there is to read comes first, from the task list. */
void sock_break(struct sock *s, int error)
{
    if (s->_error == 0)
        s->_error = error;
    buf_done(&s->_queue);
    s->_is_full = false;
    s->_must_shut = false;
    s->_is_readable = true;
    loop_defer(s->_loop, &s->_ready);
}

/* --- reading --- */

static void sock_tell_eof(struct sock *s)
{
    struct stamp now = {.at = clock_mono()};

    if (s->_is_eof_told)
        return;
    s->_is_eof_told = true;
    s->ops->on_eof(s, now);
}

/* A read brought nothing. error 0: end of the stream, which a reset looks like once its error was
 * told elsewhere. */
static void sock_read_ended(struct sock *s, int error)
{
    if (s->_error < 0)
        sock_fail(s, s->_error);
    else if (error == 0)
        sock_tell_eof(s);
    else if (error != -EAGAIN)
        sock_fail(s, error);
}

/* Bytes, or 0 and *ret_end: 0 (end of the stream), -EAGAIN or an error. */
static size_t read_once(struct sock *s, char *dst, struct stamp *ret_at, int *ret_end)
{
    int64_t real_ns;
    ssize_t n;

    if (UNLIKELY(s->_tls != NULL))
        return tls_link_read(s->_tls, dst, ret_at, ret_end);
    n = fd_read(s->_watch.fd, dst, LIMIT_READ_BYTES, &real_ns);
    if (n <= 0) {
        *ret_end = n < 0 ? -errno : 0;
        return 0;
    }
    *ret_at = stamp_map(loop_stamps(s->_loop), real_ns, s->_last_stamp, clock_mono());
    s->_last_stamp = ret_at->at;
    return (size_t)n;
}

static bool has_more(const struct sock *s, size_t n)
{
    return s->_tls ? tls_link_has_more(s->_tls) : n == LIMIT_READ_BYTES;
}

static void sock_read(struct sock *s)
{
    char *dst = loop_read_buffer(s->_loop);

    for (int i = 0; i < LIMIT_READS_PER_TURN; i++) {
        struct stamp at;
        size_t n;
        int end;

        if (s->_is_paused || s->_is_eof_told) {
            s->_is_readable = true;
            return;
        }
        n = read_once(s, dst, &at, &end);
        if (n == 0) {
            sock_read_ended(s, end);
            return;
        }
        s->ops->on_data(s, span_of(dst, n), at);
        if (!s->_is_open || s->_is_securing) /* it goes on from the task list */
            return;
        if (!has_more(s, n) && !s->_has_hangup && s->_error == 0)
            return;
    }
    s->_is_readable = true;
    if (!s->_is_paused)
        loop_defer(s->_loop, &s->_ready);
}

/* One step of the handshake; false: nothing is to be read now. */
static bool sock_secure(struct sock *s)
{
    int r = tls_link_handshake(s->_tls);

    if (r == -EAGAIN && s->_error == 0)
        return false;
    if (r < 0) {
        sock_fail(s, r == -EAGAIN ? s->_error : r);
        return false;
    }
    s->_is_securing = false;
    if (s->ops->on_secured)
        s->ops->on_secured(s);
    return s->_is_open;
}

/* A paused reader still learns that the peer is gone. */
static void sock_read_and_tell(struct sock *s)
{
    if (s->_is_securing && !sock_secure(s))
        return;
    if (s->_error < 0 && (s->_is_eof_told || (s->_is_paused && s->ops->on_hangup))) {
        sock_fail(s, s->_error); /* nothing to read first, or nobody who wants it */
        return;
    }
    sock_read(s);
    if (s->_is_open && s->_is_paused && s->_has_hangup && !s->_is_eof_told && s->ops->on_hangup)
        s->ops->on_hangup(s);
}

static void sock_on_task(struct task *t)
{
    struct sock *s = CONTAINER_OF(t, struct sock, _ready);

    if (s->_is_open && s->_is_readable && (!s->_is_paused || s->_error < 0 || s->_is_securing)) {
        s->_is_readable = false;
        sock_read_and_tell(s);
    }
}

void sock_pause(struct sock *s)
{
    s->_is_paused = true;
}

void sock_resume(struct sock *s)
{
    if (!s->_is_paused)
        return;
    s->_is_paused = false;
    if (s->_is_open && s->_is_readable)
        loop_defer(s->_loop, &s->_ready);
}

bool sock_is_paused(const struct sock *s)
{
    return s->_is_paused;
}

/* --- writing --- */

/* Queues what lies behind the first `skip` bytes of iov. */
static int queue_rest(struct sock *s, const struct iovec *iov, int n, size_t skip)
{
    for (int i = 0; i < n; i++) {
        struct span part = span_of(iov[i].iov_base, iov[i].iov_len);
        int r;

        if (skip >= part.n) {
            skip -= part.n;
            continue;
        }
        r = buf_append(&s->_queue, span_from(part, skip));
        if (r < 0)
            return r;
        skip = 0;
    }
    if (buf_len(&s->_queue) > LIMIT_SEND_HIGH_BYTES)
        s->_is_full = true;
    return 0;
}

static inline int put(struct sock *s, const struct iovec *iov, int n, mono_t *ret_before)
{
    size_t sent = 0;

    if (ret_before)
        *ret_before = clock_mono();
    if (buf_len(&s->_queue) == 0 && !s->_is_connecting) {
        ssize_t r = fd_send(s->_watch.fd, iov, n);
        if (r < 0) {
            int error = -errno;
            sock_break(s, error);
            return error;
        }
        sent = (size_t)r;
    }
    return queue_rest(s, iov, n, sent);
}

int sock_put(struct sock *s, const struct iovec *iov, int n, mono_t *ret_before)
{
    return put(s, iov, n, ret_before);
}

int sock_send(struct sock *s, const struct iovec *iov, int n, mono_t *ret_before)
{
    ASSERT(n <= IOV_MAX_HERE);
    if (!s->_is_open || s->_error < 0)
        return -EPIPE;
    return s->_tls ? tls_link_send(s->_tls, iov, n, ret_before) : put(s, iov, n, ret_before);
}

static void sock_flush(struct sock *s)
{
    bool was_queued = buf_len(&s->_queue) > 0;
    bool is_drained = false;

    while (buf_len(&s->_queue) > 0) {
        struct span q = buf_span(&s->_queue);
        union {
            const char *in;
            void *out;
        } u = {.in = q.p};
        struct iovec iov = {.iov_base = u.out, .iov_len = q.n};
        ssize_t r = fd_send(s->_watch.fd, &iov, 1);

        if (r < 0) {
            bool was_full = s->_is_full;
            sock_break(s, -errno);
            if (was_full && s->_is_paused && !s->ops->on_hangup)
                s->ops->on_drained(s); /* no reader can be told now: the writer finds out */
            return;
        }
        if (r == 0)
            break;
        buf_consume(&s->_queue, (size_t)r);
    }
    if (buf_len(&s->_queue) == 0 && s->_must_shut) {
        s->_must_shut = false;
        (void)shutdown(s->_watch.fd, SHUT_WR);
    }
    if (s->_is_full && buf_len(&s->_queue) < LIMIT_SEND_LOW_BYTES) {
        s->_is_full = false;
        is_drained = true;
    }
    if (is_drained || (was_queued && buf_len(&s->_queue) == 0))
        s->ops->on_drained(s);
}

void sock_shutdown(struct sock *s)
{
    if (!s->_is_open)
        return;
    if (s->_tls)
        tls_link_shutdown(s->_tls);
    if (buf_len(&s->_queue) > 0)
        s->_must_shut = true;
    else
        (void)shutdown(s->_watch.fd, SHUT_WR);
}

bool sock_is_full(const struct sock *s)
{
    return s->_is_full;
}

size_t sock_queued_bytes(const struct sock *s)
{
    return buf_len(&s->_queue);
}

bool sock_is_open(const struct sock *s)
{
    return s->_is_open;
}

bool sock_is_broken(const struct sock *s)
{
    return s->_error < 0;
}

/* --- TLS --- */

static int sock_start_tls(struct sock *s, struct tls_peer *peer, struct tls_context *context)
{
    int r;

    if (NEVER(!s->_is_open || s->_is_connecting || s->_tls || buf_len(&s->_queue) > 0))
        return -EINVAL;
    r = tls_link_new(s, peer, context, &s->_tls);
    if (r < 0)
        return r;
    s->_is_securing = true;
    s->_is_readable = true;
    loop_defer(s->_loop, &s->_ready);
    return 0;
}

int sock_start_tls_client(struct sock *s, struct tls_peer *peer)
{
    return sock_start_tls(s, peer, NULL);
}

int sock_start_tls_server(struct sock *s, struct tls_context *context)
{
    return sock_start_tls(s, NULL, context);
}

const char *sock_tls_error(const struct sock *s)
{
    return s->_tls_error;
}

bool sock_tls_validity(const struct sock *s, int64_t *ret_from_s, int64_t *ret_until_s)
{
    return s->_tls && tls_link_validity(s->_tls, ret_from_s, ret_until_s);
}

/* --- events --- */

static void sock_on_ready(struct watch *w, uint32_t events)
{
    struct sock *s = CONTAINER_OF(w, struct sock, _watch);

    if (s->_is_connecting) {
        int e = fd_error(w->fd);
        if (e < 0 || (events & EPOLLERR)) {
            sock_fail(s, e < 0 ? e : -ECONNREFUSED);
            return;
        }
        if (!(events & EPOLLOUT))
            return;
        s->_is_connecting = false;
        s->ops->on_connected(s);
        if (!s->_is_open)
            return;
    }
    if ((events & EPOLLOUT) && buf_len(&s->_queue) > 0) {
        sock_flush(s);
        if (!s->_is_open)
            return;
    }
    if (events & (EPOLLRDHUP | EPOLLHUP))
        s->_has_hangup = true;
    if ((events & EPOLLERR) && s->_error == 0) {
        int e = fd_error(w->fd);
        sock_break(s, e < 0 ? e : -ECONNRESET);
    }
    if (s->_error < 0)
        sock_read_and_tell(s);
    else if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
        sock_read_and_tell(s);
}
