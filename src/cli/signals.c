/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static sigset_t ours(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void signals_block(void)
{
    sigset_t set = ours();
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

int signals_wait(int timeout_ms)
{
    sigset_t set = ours();
    struct timespec ts = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    int sig;

    do {
        sig = timeout_ms < 0 ? sigwaitinfo(&set, NULL) : sigtimedwait(&set, NULL, &ts);
    } while (sig < 0 && timeout_ms < 0);
    return sig < 0 ? 0 : sig;
}

int signals_open(void)
{
    sigset_t set = ours();
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

int signals_wait_or(int signal_fd, int fd, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    struct signalfd_siginfo info;

    if (poll(fds, ARRAY_LEN(fds), timeout_ms) <= 0 || !(fds[0].revents & POLLIN) ||
        read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    return (int)info.ssi_signo;
}
