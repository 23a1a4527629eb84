/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/activation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "io/listener.h"

enum { FIRST_FD = 3 };

/* How many descriptors are meant for us; others' are left alone. */
static uint64_t n_descriptors(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *fds = getenv("LISTEN_FDS");
    uint64_t who, n;

    if (!pid || !fds || num_parse_u64(span_cstr(pid), &who) < 0 || who != (uint64_t)getpid() ||
        num_parse_u64(span_cstr(fds), &n) < 0)
        return 0;
    return n;
}

/* Nothing that we might start is to take them for its own. */
static void environment_clear(void)
{
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

static bool is_addr(const char *text, const struct addr *at)
{
    char there[ADDR_TEXT_MAX], wanted[ADDR_TEXT_MAX];
    struct addr a;

    if (addr_parse(span_cstr(text), &a, NULL) < 0)
        return false;
    addr_format(&a, wanted);
    addr_format(at, there);
    return strcmp(wanted, there) == 0;
}

static bool is_for_clients(const struct config *c, const struct addr *at)
{
    for (size_t i = 0; i < c->listen.n; i++)
        if (is_addr(c->listen.items[i], at))
            return true;
    return false;
}

static int adopt(const struct config *c, int fd, struct span name, struct inherited *in,
                 struct err *reterr)
{
    struct inherited_socket s = {.fd = fd};
    int r = listener_adopt(fd, &s.at);

    if (r < 0) {
        err_set(reterr, -EINVAL, "descriptor %d from the service manager is no listening socket",
                fd);
        err_hint(reterr, "the .socket unit has to say ListenStream= and Accept=no");
        return -EINVAL;
    }
    s.is_admin = span_eq(name, SPAN("admin")) ||
                 (!is_for_clients(c, &s.at) && is_addr(c->admin_listen, &s.at));
    if (s.is_admin)
        r = addr_parse(span_cstr(c->admin_listen), &s.at, reterr);
    if (r == 0 && s.is_admin && inherited_find(in, &s.at, true))
        r = err_set(reterr, -EINVAL,
                    "two sockets from the service manager are the admin "
                    "listener's");
    if (r == 0)
        inherited_add(in, &s);
    return r;
}

static int descriptors_adopt(const struct config *c, uint64_t n, struct inherited *in,
                             struct err *reterr)
{
    const char *env = getenv("LISTEN_FDNAMES");
    struct span names = span_cstr(env ? env : "");
    int r = 0;

    if (n > INHERITED_MAX)
        return err_set(reterr, -EINVAL, "%llu sockets from the service manager are too many",
                       (unsigned long long)n);
    for (int fd = FIRST_FD; r == 0 && fd < FIRST_FD + (int)n; fd++)
        r = adopt(c, fd, span_split(&names, ':'), in, reterr);
    return r;
}

/* --- which is for what --- */

/* Clients' sockets, in order. */
static size_t clients_of(struct inherited *in, struct inherited_socket **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < in->n; i++)
        if (!in->items[i].is_admin)
            ret[n++] = &in->items[i];
    return n;
}

static int stranger(const struct config *c, const struct inherited_socket *s, struct err *reterr)
{
    char text[ADDR_TEXT_MAX];

    addr_format(&s->at, text);
    err_set(reterr, -EINVAL,
            "the service manager's socket at %s (descriptor %d) is none of \"listen\"", text,
            s->fd);
    err_hint(reterr,
             "name the same addresses in ListenStream= and in \"listen\" (%s%s), or as many; the "
             "admin listener's needs FileDescriptorName=admin",
             c->listen.items[0], c->listen.n > 1 ? ", ..." : "");
    return -EINVAL;
}

static int assign(const struct config *c, struct inherited *in, struct err *reterr)
{
    struct inherited_socket *clients[INHERITED_MAX];
    size_t n = clients_of(in, clients);
    const struct inherited_socket *strange = NULL;

    for (size_t i = 0; i < n && !strange; i++)
        if (!is_for_clients(c, &clients[i]->at))
            strange = clients[i];
    if (!strange)
        return 0;
    if (n != c->listen.n)
        return stranger(c, strange, reterr);
    for (size_t i = 0; i < n; i++) {
        int r = addr_parse(span_cstr(c->listen.items[i]), &clients[i]->at, reterr);

        if (r < 0)
            return r;
    }
    return 0;
}

int activation_take(const struct config *c, struct inherited *in, struct err *reterr)
{
    uint64_t n = n_descriptors();
    int r = n > 0 ? descriptors_adopt(c, n, in, reterr) : 0;

    if (n > 0)
        environment_clear();
    return r < 0 ? r : assign(c, in, reterr);
}
