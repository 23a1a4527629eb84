/* SPDX-License-Identifier: Apache-2.0 */
#include "io/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stat.h"
#include "io/fd.h"

enum { ACCEPTS_PER_WAKE = 8 };
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)

/* --- the file of a Unix socket --- */

/* A socket whose owner died without removing it: connecting is refused. */
static bool is_left_behind(const struct addr *at)
{
    struct stat st;
    bool is_refused;
    int fd;

    if (lstat(addr_unix_path(at), &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    is_refused = connect(fd, (const struct sockaddr *)(const void *)&at->ss, at->len) < 0 &&
                 errno == ECONNREFUSED;
    close(fd);
    return is_refused;
}

static int fd_bind(int fd, const struct addr *at)
{
    if (addr_is_unix(at) && is_left_behind(at))
        (void)unlink(addr_unix_path(at)); /* bind tells when it is there still */
    if (bind(fd, (const struct sockaddr *)(const void *)&at->ss, at->len) < 0)
        return -errno;
    /* Nobody can connect before listen, so the mode is right from the first connection on. */
    if (addr_is_unix(at) && chmod(addr_unix_path(at), LISTENER_MODE_DEFAULT) < 0) {
        int r = -errno;
        (void)unlink(addr_unix_path(at));
        return r;
    }
    return 0;
}

static bool fd_addr(int fd, struct addr *ret)
{
    struct addr a = {.len = sizeof(a.ss)};

    if (getsockname(fd, (struct sockaddr *)(void *)&a.ss, &a.len) < 0)
        return false;
    *ret = a;
    return true;
}

int listener_open(const struct addr *at, int backlog, struct addr *ret_bound)
{
    int on = 1;
    int fd = socket(at->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    fd_options_set(fd); /* inherited by accepted sockets, so their first bytes are stamped too */
    r = fd_bind(fd, at);
    if (r < 0) {
        close(fd);
        return r;
    }
    if (listen(fd, backlog) < 0) {
        r = -errno;
        listener_close(fd);
        return r;
    }
    if (ret_bound)
        (void)fd_addr(fd, ret_bound); /* cannot fail for a bound socket */
    return fd;
}

static int int_option(int fd, int option, int *ret)
{
    socklen_t len = sizeof(*ret);

    return getsockopt(fd, SOL_SOCKET, option, ret, &len) < 0 ? -errno : 0;
}

int listener_adopt(int fd, struct addr *ret_bound)
{
    int type = 0, is_listening = 0;
    struct addr bound;
    int flags, r = int_option(fd, SO_TYPE, &type);

    if (r == 0)
        r = int_option(fd, SO_ACCEPTCONN, &is_listening);
    if (r < 0)
        return r;
    if (type != SOCK_STREAM || !is_listening || !fd_addr(fd, &bound))
        return -EINVAL;
    if (bound.ss.ss_family != AF_INET && bound.ss.ss_family != AF_INET6 && !addr_is_unix(&bound))
        return -EAFNOSUPPORT;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    fd_options_set(fd);
    *ret_bound = bound;
    return 0;
}

/* To be called while it still answers: nobody else can have put a socket of theirs there. */
static void file_remove(int fd)
{
    struct addr at;

    if (fd_addr(fd, &at) && addr_is_unix(&at) && addr_unix_path(&at)[0] != '\0')
        (void)unlink(addr_unix_path(&at));
}

void listener_close(int fd)
{
    if (fd < 0)
        return;
    file_remove(fd);
    close(fd);
}

void listener_refuse(int fd)
{
    file_remove(fd);
    (void)shutdown(fd, SHUT_RDWR);
}

/* --- accepting --- */

static bool is_out_of_descriptors(int e)
{
    return e == EMFILE || e == ENFILE || e == ENOBUFS || e == ENOMEM;
}

static void spare_close(struct listener *l)
{
    if (l->_spare >= 0)
        close(l->_spare);
    l->_spare = -1;
}

static void spare_open(struct listener *l)
{
    if (l->_spare < 0)
        l->_spare = eventfd(0, EFD_CLOEXEC);
}

static int accept_one(const struct listener *l)
{
    return accept4(l->_watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* No descriptor is free but the spare one. False: that did not help either. */
static bool accept_with_spare(struct listener *l)
{
    int fd;

    if (l->_spare < 0)
        return false;
    spare_close(l);
    fd = accept_one(l);
    if (fd >= 0 && l->serves_last) {
        l->on_accept(l, fd);
        return true;
    }
    if (fd >= 0) {
        stat_inc(STAT_CONNS_REFUSED_DESCRIPTORS);
        close(fd);
    }
    spare_open(l);
    return fd >= 0;
}

/* The socket stays readable: stop looking for a moment instead of spinning. */
static void listener_pause(struct listener *l)
{
    loop_unwatch(l->_loop, &l->_watch);
    loop_timer_start(l->_loop, &l->_pause, ACCEPT_PAUSE_NS);
}

static void listener_on_ready(struct watch *w, uint32_t events)
{
    struct listener *l = CONTAINER_OF(w, struct listener, _watch);
    bool must_pause = false;

    (void)events;
    for (int i = 0; i < ACCEPTS_PER_WAKE && w->fd >= 0; i++) { /* the handler may stop it */
        int fd = accept_one(l);

        if (fd >= 0) {
            l->on_accept(l, fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno == EAGAIN)
            break;
        must_pause = is_out_of_descriptors(errno);
        stat_inc(STAT_ACCEPT_ERRORS);
        if (!must_pause || !accept_with_spare(l))
            break;
    }
    if (must_pause && w->fd >= 0)
        listener_pause(l);
}

static void listener_on_pause_over(struct timer *t)
{
    struct listener *l = CONTAINER_OF(t, struct listener, _pause);

    spare_open(l);
    if (loop_watch(l->_loop, &l->_watch, EPOLLIN | EPOLLEXCLUSIVE) < 0)
        loop_timer_start(l->_loop, t, ACCEPT_PAUSE_NS);
}

int listener_start(struct listener *l, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd))
{
    int r;

    *l = (struct listener){._loop = loop, .on_accept = on_accept};
    l->_watch.fd = fd;
    l->_watch.on_ready = listener_on_ready;
    timer_init(&l->_pause, listener_on_pause_over);
    l->_spare = -1;
    spare_open(l);
    r = loop_watch(loop, &l->_watch, EPOLLIN | EPOLLEXCLUSIVE);
    if (r < 0)
        spare_close(l);
    return r;
}

void listener_look(struct listener *l)
{
    if (!l->_loop || l->_watch.fd < 0)
        return;
    /* Registering it anew tells what waits; where that fails, the pause's end tries again. */
    loop_timer_stop(l->_loop, &l->_pause);
    loop_unwatch(l->_loop, &l->_watch);
    listener_on_pause_over(&l->_pause);
}

void listener_stop(struct listener *l)
{
    if (!l->_loop || l->_watch.fd < 0)
        return;
    loop_timer_stop(l->_loop, &l->_pause);
    loop_unwatch(l->_loop, &l->_watch);
    spare_close(l);
    l->_watch.fd = -1;
}
