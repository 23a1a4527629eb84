/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/span.h"

enum { MESSAGE_MAX = 512 };

/* A path, or with '@' in front a name in the abstract namespace. */
static socklen_t address_of(const char *name, struct sockaddr_un *ret)
{
    size_t n = strlen(name);

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof(ret->sun_path))
        return 0;
    memcpy(ret->sun_path, name, n);
    if (name[0] == '@')
        ret->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int connect_to(const char *name)
{
    struct sockaddr_un at;
    socklen_t len = address_of(name, &at);
    int fd = len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

    if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&at, len) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* WATCHDOG_PID says whom the interval is meant for. */
static int64_t watchdog_interval(void)
{
    const char *usec = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    uint64_t us, who;

    if (!usec || num_parse_u64(span_cstr(usec), &us) < 0 || us > INT64_MAX / NS_PER_US)
        return 0;
    if (pid && (num_parse_u64(span_cstr(pid), &who) < 0 || who != (uint64_t)getpid()))
        return 0;
    return (int64_t)us * NS_PER_US;
}

void notify_open(struct notify *n)
{
    const char *name = getenv("NOTIFY_SOCKET");

    n->_fd = name ? connect_to(name) : -1;
    n->watchdog_ns = n->_fd >= 0 ? watchdog_interval() : 0;
}

void notify_close(struct notify *n)
{
    if (n->_fd >= 0)
        close(n->_fd);
    n->_fd = -1;
}

static void PRINTF_LIKE(2, 3) tell(const struct notify *n, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    int len;
    ssize_t sent;

    if (n->_fd < 0)
        return;
    va_start(args, fmt);
    len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len < 0)
        return;
    if ((size_t)len >= sizeof(text))
        len = sizeof(text) - 1;
    sent = send(n->_fd, text, (size_t)len, MSG_NOSIGNAL);
    (void)sent; /* lost: nothing depends on it here */
}

void notify_ready(const struct notify *n, const char *status)
{
    tell(n, "READY=1\nSTATUS=%s\n", status);
}

void notify_reloading(const struct notify *n)
{
    tell(n, "RELOADING=1\nMONOTONIC_USEC=%lld\n", (long long)(clock_mono().ns / NS_PER_US));
}

void notify_stopping(const struct notify *n, const char *status)
{
    tell(n, "STOPPING=1\nSTATUS=%s\n", status);
}

void notify_alive(const struct notify *n)
{
    tell(n, "WATCHDOG=1\n");
}

void notify_main_pid(const struct notify *n, pid_t pid)
{
    tell(n, "MAINPID=%ld\n", (long)pid);
}
