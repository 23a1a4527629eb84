/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"

enum { CONNS_MAX = 4, BACKLOG = 4, PATH_MAX_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };

struct conn {
    struct handover *owner;
    struct watch watch; /* fd -1: free */
    pid_t pid;
};

struct handover {
    struct loop *loop;
    struct handover_config config;
    struct watch watch; /* of the listening socket */
    struct conn conns[CONNS_MAX];
    struct conn *taker;        /* who serves now */
    char path[PATH_MAX_BYTES]; /* of the socket as it is now */
    struct stat file;
};

static void watch_close(struct loop *l, struct watch *w)
{
    int fd = w->fd;

    if (fd < 0)
        return;
    loop_unwatch(l, w);
    w->fd = -1;
    close(fd);
}

/* --- one that wants to come after us --- */

/* What nobody but us and those that we lend it to holds. */
static uint32_t ours_of(const struct listeners *l)
{
    uint32_t ours = 0;

    for (size_t i = 0; i < l->n_all; i++)
        ours |= (uint32_t)(l->is_ours[i] || l->is_lent[i]) << i;
    return ours;
}

static int sockets_send(const struct handover *h, int fd)
{
    const struct listeners *l = h->config.listeners;
    union {
        char bytes[CMSG_SPACE(sizeof(l->fds))];
        struct cmsghdr align;
    } control = {0};
    char text[HANDOVER_PACKET_MAX];
    struct iovec iov = {.iov_base = text};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(l->n_all * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    iov.iov_len =
        (size_t)snprintf(text, sizeof(text), HANDOVER_HELLO "%zu %u", l->n_all, ours_of(l));
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(l->n_all * sizeof(int));
    memcpy(CMSG_DATA(c), l->fds, l->n_all * sizeof(int));
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static size_t n_conns(const struct handover *h)
{
    size_t n = 0;

    for (size_t i = 0; i < CONNS_MAX; i++)
        n += h->conns[i].watch.fd >= 0;
    return n;
}

static void conn_on_ready(struct watch *w, uint32_t events)
{
    struct conn *c = CONTAINER_OF(w, struct conn, watch);
    struct handover *h = c->owner;
    char text[HANDOVER_PACKET_MAX];
    ssize_t n = recv(w->fd, text, sizeof(text), MSG_DONTWAIT);
    struct span answer = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t taken;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (!h->taker && span_starts_with(answer, SPAN(HANDOVER_READY)) &&
        num_parse_u64(span_from(answer, sizeof(HANDOVER_READY) - 1), &taken) == 0) {
        h->taker = c;
        listeners_own(h->config.listeners, ~(uint32_t)taken);
        h->config.on_taken(h->config.arg, c->pid, (uint32_t)taken);
        return;
    }
    if (!h->taker)
        LOG_WARN("process %ld asked for the listening sockets and gave up, going on", (long)c->pid);
    watch_close(h->loop, w);
    if (!h->taker && n_conns(h) == 0)
        listeners_own(h->config.listeners, UINT32_MAX);
}

static bool is_allowed(int fd, struct ucred *ret_peer)
{
    socklen_t len = sizeof(*ret_peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) == 0 &&
           (ret_peer->uid == 0 || ret_peer->uid == geteuid());
}

/* Takes over fd, or -errno. */
static int conn_begin(struct handover *h, int fd, pid_t pid)
{
    struct conn *c = NULL;
    int r;

    for (size_t i = 0; i < CONNS_MAX; i++)
        if (h->conns[i].watch.fd < 0)
            c = &h->conns[i];
    if (!c)
        return -EBUSY;
    c->pid = pid;
    c->watch.fd = fd;
    r = loop_watch(h->loop, &c->watch, EPOLLIN);
    if (r == 0)
        r = sockets_send(h, fd);
    if (r == 0) {
        listeners_lend(h->config.listeners);
        LOG_INFO("process %ld has got the listening sockets", (long)pid);
        return 0;
    }
    loop_unwatch(h->loop, &c->watch);
    c->watch.fd = -1;
    return r;
}

static void on_connect(struct watch *w, uint32_t events)
{
    struct handover *h = CONTAINER_OF(w, struct handover, watch);
    struct ucred peer = {0};
    int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int r;

    (void)events;
    if (fd < 0)
        return;
    r = is_allowed(fd, &peer) ? conn_begin(h, fd, peer.pid) : -EACCES;
    if (r < 0) {
        LOG_WARN("process %ld of user %ld did not get the listening sockets: %s", (long)peer.pid,
                 (long)peer.uid, err_str(r));
        close(fd);
    }
}

/* --- the socket --- */

static int listen_at(struct handover *h)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    (void)span_copy(span_of(h->path, strlen(h->path)), at.sun_path, sizeof(at.sun_path));
    (void)unlink(h->path); /* a process with our id that died */
    /* Nobody can connect before listen: the mode is right from the first moment on. */
    if (bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) < 0 ||
        chmod(h->path, S_IRUSR | S_IWUSR) < 0 || stat(h->path, &h->file) < 0 ||
        listen(fd, BACKLOG) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    h->watch.fd = fd;
    return loop_watch(h->loop, &h->watch, EPOLLIN);
}

int handover_open(struct loop *l, const struct handover_config *config, struct handover **ret,
                  struct err *reterr)
{
    struct handover *h = mem_zalloc(1, sizeof(*h));
    int n, r;

    if (!h)
        return err_set(reterr, -ENOMEM, "out of memory");
    h->loop = l;
    h->config = *config;
    h->watch = (struct watch){.fd = -1, .on_ready = on_connect};
    for (size_t i = 0; i < CONNS_MAX; i++)
        h->conns[i] = (struct conn){.owner = h, .watch = {.fd = -1, .on_ready = conn_on_ready}};
    n = snprintf(h->path, sizeof(h->path), "%s.%ld", config->path, (long)getpid());
    r = n < 0 || (size_t)n >= sizeof(h->path) ? -ENAMETOOLONG : listen_at(h);
    if (r < 0) {
        err_set(reterr, r, "could not open the handover socket \"%s\": %s", h->path, err_str(r));
        err_hint(reterr,
                 "\"handover\" names a file, of about %d bytes at most, in a directory "
                 "that exists and this user may write to",
                 PATH_MAX_BYTES - 12);
        handover_free(h);
        return r;
    }
    *ret = h;
    return 0;
}

int handover_publish(struct handover *h, struct err *reterr)
{
    if (rename(h->path, h->config.path) < 0)
        return err_set(reterr, -errno, "could not put the handover socket to \"%s\": %s",
                       h->config.path, err_str(-errno));
    (void)span_copy(span_cstr(h->config.path), h->path, sizeof(h->path));
    return 0;
}

void handover_finish(struct handover *h)
{
    if (!h)
        return;
    watch_close(h->loop, &h->watch);
    for (size_t i = 0; i < CONNS_MAX; i++)
        watch_close(h->loop, &h->conns[i].watch);
}

/* Another process may have put its socket there. */
static void file_remove(const struct handover *h)
{
    struct stat now;

    if (h->file.st_ino != 0 && stat(h->path, &now) == 0 && now.st_ino == h->file.st_ino &&
        now.st_dev == h->file.st_dev)
        (void)unlink(h->path);
}

struct handover *handover_free(struct handover *h)
{
    if (!h)
        return NULL;
    file_remove(h);
    handover_finish(h);
    mem_free(h);
    return NULL;
}
