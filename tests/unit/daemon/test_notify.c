/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager is told, on a socket of our own. */
#include "daemon/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "harness.h"
#include "peer.h"

enum { USEC = 3000000 };

/* A socket of that name ('@': abstract), and the environment that leads there. */
static int manager_open(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t n = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && n < sizeof(at.sun_path));
    memcpy(at.sun_path, name, n);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void assert_told(int fd, const char *text)
{
    char got[1024];
    ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

    got[n < 0 ? 0 : n] = '\0';
    assert_string_equal(got, text);
}

static void test_messages(void **state)
{
    char path[64], names[2][64];

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/inferometer-notify-%ld", (long)getpid());
    (void)snprintf(names[0], sizeof(names[0]), "%s", path);
    (void)snprintf(names[1], sizeof(names[1]), "@inferometer/%ld", (long)getpid());
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int n_fds = fd_count();
        int fd = manager_open(names[i]);
        struct notify n;
        char got[256] = "";
        int64_t usec = 0;

        notify_open(&n);
        notify_ready(&n, "clients: a");
        assert_told(fd, "READY=1\nSTATUS=clients: a\n");
        notify_reloading(&n);
        assert_true(recv(fd, got, sizeof(got) - 1, 0) > 0);
        assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%" SCNd64 "\n", &usec), 1);
        assert_in_range(clock_mono().ns / NS_PER_US - usec, 0, 5000000);
        notify_alive(&n);
        assert_told(fd, "WATCHDOG=1\n");
        notify_main_pid(&n, 4711);
        assert_told(fd, "MAINPID=4711\n");
        notify_stopping(&n, "bye");
        assert_told(fd, "STOPPING=1\nSTATUS=bye\n");
        close(fd); /* a manager that is gone harms nobody */
        notify_ready(&n, "x");
        notify_close(&n);
        notify_ready(&n, "x");
        assert_int_equal(fd_count(), n_fds);
    }
    unlink(path);
    unsetenv("NOTIFY_SOCKET");
}

static void test_nobody_wants_to_know(void **state)
{
    static const char *const names[] = {"", "@", "relative", "/nowhere/at/all"};
    int n_fds = fd_count();
    struct notify n;

    (void)state;
    setenv("WATCHDOG_USEC", "3000000", 1);
    unsetenv("NOTIFY_SOCKET");
    notify_open(&n);
    notify_ready(&n, "x");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        notify_open(&n);
        assert_int_equal(n.watchdog_ns, 0);
        notify_alive(&n);
        notify_close(&n);
    }
    assert_int_equal(fd_count(), n_fds);
    unsetenv("WATCHDOG_USEC");
    unsetenv("NOTIFY_SOCKET");
}

static void test_watchdog_interval(void **state)
{
    char own[32], other[32], name[64];
    int fd;

    (void)state;
    (void)snprintf(name, sizeof(name), "@inferometer/watchdog/%ld", (long)getpid());
    (void)snprintf(own, sizeof(own), "%ld", (long)getpid());
    (void)snprintf(other, sizeof(other), "%ld", (long)getpid() + 1);
    const struct {
        const char *usec, *pid;
        int64_t ns;
    } rows[] = {
        {NULL, NULL, 0},
        {"3000000", NULL, USEC * NS_PER_US},
        {"3000000", own, USEC * NS_PER_US},
        {"3000000", other, 0},
        {"3000000", "x", 0},
        {"often", NULL, 0},
        {"18446744073709551615", NULL, 0},
    };
    fd = manager_open(name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct notify n;

        (void)(rows[i].usec ? setenv("WATCHDOG_USEC", rows[i].usec, 1) : unsetenv("WATCHDOG_USEC"));
        (void)(rows[i].pid ? setenv("WATCHDOG_PID", rows[i].pid, 1) : unsetenv("WATCHDOG_PID"));
        notify_open(&n);
        assert_row(rows[i].usec, n.watchdog_ns == rows[i].ns);
        notify_close(&n);
    }
    close(fd);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    unsetenv("NOTIFY_SOCKET");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_nobody_wants_to_know),
        cmocka_unit_test(test_watchdog_interval),
    };
    return cmocka_run_group_tests_name("daemon/notify", tests, NULL, NULL);
}
