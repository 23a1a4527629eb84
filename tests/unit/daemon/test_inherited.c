/* SPDX-License-Identifier: Apache-2.0 */
/* Which inherited socket is meant by an address of the configuration; what can be adopted. */
#include "daemon/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "harness.h"
#include "io/listener.h"
#include "peer.h"

static struct addr at(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse(span_cstr(text), &a, NULL), 0);
    return a;
}

static void test_find(void **state)
{
    static const struct {
        const char *there, *wanted;
        bool is_found;
    } rows[] = {
        {"127.0.0.1:80", "127.0.0.1:80", true},
        {"127.0.0.1:80", "127.0.0.1:81", false},
        {"127.0.0.1:80", "127.0.0.1:0", true},
        {"127.0.0.1:80", "127.0.0.2:0", false},
        {"127.0.0.1:80", "0.0.0.0:0", false},
        {"127.0.0.10:80", "127.0.0.1:0", false},
        {"[::1]:80", "[::1]:0", true},
        {"[::1]:80", "[::]:0", false},
        {"[::1]:80", "[::1]:80", true},
        {"unix:/a/b", "unix:/a/b", true},
        {"unix:/a/b", "unix:/a/c", false},
        {"unix:/a/b", "127.0.0.1:0", false},
        {"127.0.0.1:80", "unix:/127.0.0.1", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct inherited_socket s = {.fd = 1000000, .at = at(rows[i].there)};
        struct inherited in = {0};
        struct addr wanted = at(rows[i].wanted);

        inherited_add(&in, &s);
        assert_row(rows[i].wanted, !inherited_find(&in, &wanted, true));
        assert_row(rows[i].wanted, !!inherited_find(&in, &wanted, false) == rows[i].is_found);
        in.items[0].fd = -1; /* given away */
        assert_row(rows[i].wanted, !inherited_find(&in, &wanted, false));
    }
}

static void test_adopt(void **state)
{
    int n_fds = fd_count(), on = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t len = sizeof(on);
    struct addr here = at("127.0.0.1:0"), bound;

    (void)state;
    assert_int_equal(listener_adopt(fd, &bound), -EINVAL);
    assert_int_equal(listener_adopt(udp, &bound), -EINVAL);
    assert_int_equal(listener_adopt(1000000, &bound), -EBADF);
    assert_int_equal(listener_adopt(open("/dev/null", O_RDONLY | O_CLOEXEC), &bound), -ENOTSOCK);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&here.ss, here.len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(listener_adopt(fd, &bound), 0);
    assert_true(addr_port(&bound) != 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, &len), 0);
    assert_int_equal(on, 1);
    close(fd);
    close(udp);
    assert_int_equal(fd_count(), n_fds + 1); /* /dev/null */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_adopt),
    };
    return cmocka_run_group_tests_name("daemon/inherited", tests, NULL, NULL);
}
