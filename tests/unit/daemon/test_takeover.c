/* SPDX-License-Identifier: Apache-2.0 */
/* Taking listening sockets over: from the real other side, and from one that does not keep to it.
 */
#include "daemon/takeover.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/handover.h"
#include "harness.h"
#include "io/listener.h"
#include "peer.h"

static char path[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/inferometer-handover-%ld", (long)getpid());
    (void)unlink(path);
    return 0;
}

/* --- a process that does as it likes --- */

struct fake {
    const char *text; /* NULL: it closes the connection at once */
    int fds[3];
    size_t n_fds;
    int listen_fd;
    pthread_t thread;
    char answer[64];
};

static void *fake_main(void *arg)
{
    struct fake *f = arg;
    union {
        char bytes[CMSG_SPACE(sizeof(f->fds))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)f->text,
                        .iov_len = f->text ? strlen(f->text) : 0};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    int fd = accept(f->listen_fd, NULL, NULL);

    if (f->n_fds > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(f->n_fds * sizeof(int));
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(f->n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.align), f->fds, f->n_fds * sizeof(int));
    }
    if (f->text && sendmsg(fd, &m, MSG_NOSIGNAL) >= 0)
        (void)recv(fd, f->answer, sizeof(f->answer) - 1, 0);
    close(fd);
    return NULL;
}

static void fake_start(struct fake *f)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    (void)span_copy(span_cstr(path), at.sun_path, sizeof(at.sun_path));
    f->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listen_fd, (struct sockaddr *)(void *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->listen_fd, 1), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, fake_main, f), 0);
}

static void fake_join(struct fake *f)
{
    pthread_join(f->thread, NULL);
    close(f->listen_fd);
    (void)unlink(path);
}

static void test_hellos(void **state)
{
    uint16_t ports[3];
    int listening[3], n_fds = fd_count();
    int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    for (int i = 0; i < 3; i++)
        listening[i] = peer_listen(&ports[i]);
    const struct {
        const char *text;
        int fds[3];
        size_t n_fds;
        int result;
    } rows[] = {
        {"inferometer-handover 1 2 3", {listening[0], listening[1]}, 2, 0},
        {"inferometer-handover 1 3 0", {listening[0], listening[1], listening[2]}, 3, 0},
        {"inferometer-handover 1 3 0", {listening[0], listening[1]}, 2, -EPROTO},
        {"inferometer-handover 1 1 0", {listening[0], listening[1]}, 2, -EPROTO},
        {"inferometer-handover 1 2 0", {listening[0], plain}, 2, -EPROTO},
        {"inferometer-handover 1 0 0", {0}, 0, -EPROTO},
        {"inferometer-handover 2 2 0", {listening[0], listening[1]}, 2, -EPROTO},
        {"inferometer-handover 1 2", {listening[0], listening[1]}, 2, -EPROTO},
        {"hello", {0}, 0, -EPROTO},
        {NULL, {0}, 0, -EACCES},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fake f = {.text = rows[i].text, .n_fds = rows[i].n_fds};
        struct inherited in = {0};
        struct takeover t;
        int r;

        memcpy(f.fds, rows[i].fds, sizeof(f.fds));
        fake_start(&f);
        takeover_init(&t);
        r = takeover_begin(&t, path, &in);
        assert_row(rows[i].text, r == rows[i].result);
        assert_row(rows[i].text, in.n == (r == 0 ? rows[i].n_fds : 0));
        assert_row(rows[i].text, takeover_is_open(&t) == (r == 0));
        for (size_t k = 0; k < in.n; k++) {
            assert_row(rows[i].text, addr_port(&in.items[k].at) == ports[k]);
            assert_row(rows[i].text, in.items[k].is_admin == (k + 1 == in.n));
            assert_row(rows[i].text, in.items[k].is_ours == (rows[i].text[25] == '3'));
        }
        takeover_ready(&t, 5);
        takeover_done(&t);
        fake_join(&f);
        assert_row(rows[i].text, r < 0 || strcmp(f.answer, "ready 5") == 0);
        inherited_done(&in);
    }
    for (int i = 0; i < 3; i++)
        close(listening[i]);
    close(plain);
    assert_int_equal(fd_count(), n_fds);
}

static void test_nobody_is_there(void **state)
{
    char long_path[200];
    struct inherited in = {0};
    struct takeover t;

    (void)state;
    takeover_init(&t);
    assert_int_equal(takeover_begin(&t, path, &in), 0);
    assert_false(takeover_is_open(&t));
    assert_int_equal(in.n, 0);
    memset(long_path, 'a', sizeof(long_path));
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(takeover_begin(&t, long_path, &in), -ENAMETOOLONG);
    takeover_ready(&t, 1); /* to nobody */
    takeover_done(&t);
}

/* --- both sides --- */

struct rig {
    struct loop *loop;
    struct listeners listeners;
    struct handover *handover;
    pid_t pid;
    uint32_t taken;
    int n_taken, n_over;
};

static void on_taken(void *arg, pid_t pid, uint32_t taken)
{
    struct rig *r = arg;

    r->pid = pid;
    r->taken = taken;
    r->n_taken++;
}

static void on_over(void *arg)
{
    struct rig *r = arg;
    r->n_over++;
}

static void listeners_make(struct listeners *l)
{
    struct inherited none = {0};
    struct config *c;
    struct err e;

    assert_int_equal(config_defaults(&c), 0);
    mem_free(c->listen.items[0]);
    c->listen.items[0] = mem_strdup("127.0.0.1:0");
    mem_free(c->admin_listen);
    c->admin_listen = mem_strdup("127.0.0.1:0");
    assert_int_equal(listeners_open(l, c, &none, &e), 0);
    config_unref(c);
}

struct asking {
    struct takeover takeover;
    struct inherited in;
    int result;
};

static void *ask_main(void *arg)
{
    struct asking *a = arg;

    takeover_init(&a->takeover);
    a->result = takeover_begin(&a->takeover, path, &a->in);
    return NULL;
}

/* The blocking side runs on a thread of its own until it has what it asked for. */
static void ask(struct rig *r, struct asking *a)
{
    pthread_t thread;

    memset(a, 0, sizeof(*a));
    assert_int_equal(pthread_create(&thread, NULL, ask_main, a), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0)
        loop_turn(r->loop, NS_PER_MS);
    assert_int_equal(a->result, 0);
    assert_int_equal(a->in.n, 2);
}

static void test_both_sides(void **state)
{
    static struct rig r;
    struct handover_config config = {
        .path = path, .listeners = &r.listeners, .on_taken = on_taken, .arg = &r};
    int n_fds = fd_count();
    struct asking first, second;
    struct err e;

    (void)state;
    assert_int_equal(loop_new(&r.loop), 0);
    listeners_make(&r.listeners);
    assert_int_equal(handover_open(r.loop, &config, &r.handover, &e), 0);
    assert_int_equal(access(path, F_OK), -1); /* not before it serves */
    assert_int_equal(handover_publish(r.handover, &e), 0);

    ask(&r, &first); /* gives up: nothing has changed */
    assert_false(r.listeners.is_ours[0]);
    takeover_done(&first.takeover);
    PUMP(r.loop, (void)0, r.listeners.is_ours[0] && r.listeners.is_ours[1]);
    inherited_done(&first.in);

    ask(&r, &first); /* two at once: the first to be ready has it */
    ask(&r, &second);
    takeover_ready(&second.takeover, 1);
    PUMP(r.loop, (void)0, r.n_taken == 1);
    assert_int_equal(r.pid, getpid());
    assert_int_equal(r.taken, 1);
    assert_false(r.listeners.is_ours[0]);
    assert_true(r.listeners.is_ours[1]); /* it wants no more than the first socket */
    takeover_ready(&first.takeover, 3);
    assert_int_equal(takeover_watch(&first.takeover, r.loop, on_over, &r), 0);
    PUMP(r.loop, (void)0, r.n_over == 1); /* it is told that it came too late */
    assert_int_equal(r.n_taken, 1);
    assert_int_equal(takeover_watch(&second.takeover, r.loop, on_over, &r), 0);
    TURNS(r.loop, (void)0, 5);
    assert_int_equal(r.n_over, 1); /* still accepting */
    handover_finish(r.handover);
    PUMP(r.loop, (void)0, r.n_over == 2);
    inherited_done(&first.in);
    inherited_done(&second.in);
    handover_free(r.handover);
    assert_int_equal(access(path, F_OK), -1);
    listeners_close(&r.listeners);
    loop_free(r.loop);
    assert_int_equal(fd_count(), n_fds);
}

/* The file of the one that came after it stays. */
static void test_the_path_of_another(void **state)
{
    static struct rig a, b;
    struct handover_config config = {.path = path, .on_taken = on_taken, .arg = &a};
    struct err e;

    (void)state;
    assert_int_equal(loop_new(&a.loop), 0);
    listeners_make(&a.listeners);
    config.listeners = &a.listeners;
    assert_int_equal(handover_open(a.loop, &config, &a.handover, &e), 0);
    assert_int_equal(handover_publish(a.handover, &e), 0);
    assert_int_equal(handover_open(a.loop, &config, &b.handover, &e), 0);
    assert_int_equal(handover_publish(b.handover, &e), 0);
    handover_free(a.handover);
    assert_int_equal(access(path, F_OK), 0);
    handover_free(b.handover);
    assert_int_equal(access(path, F_OK), -1);
    config.path = "/nowhere/at/all";
    assert_true(handover_open(a.loop, &config, &b.handover, &e) < 0);
    assert_non_null(strstr(e.text, "/nowhere/at/all"));
    listeners_close(&a.listeners);
    loop_free(a.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hellos, setup),
        cmocka_unit_test_setup(test_nobody_is_there, setup),
        cmocka_unit_test_setup(test_both_sides, setup),
        cmocka_unit_test_setup(test_the_path_of_another, setup),
    };
    log_level_set(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests_name("daemon/takeover", tests, NULL, NULL);
}
