/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/listeners.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/entrance.h"
#include "io/listener.h"

enum { BACKLOG = 4096, ADMIN_BACKLOG = 128 };

/* The port is in use, or not ours to take: say which and what to do. */
static int open_error(int r, const char *text, const char *flag, struct err *reterr)
{
    bool is_unix = span_starts_with(span_cstr(text), SPAN("unix:"));

    err_set(reterr, r, "could not listen on %s: %s", text, err_str(r));
    if (r == -EADDRINUSE && is_unix)
        err_hint(reterr,
                 "another program answers there, or the file is no socket; choose another path "
                 "with --%s",
                 flag);
    else if (r == -EADDRINUSE)
        err_hint(reterr, "another program uses this port; stop it or choose another with --%s",
                 flag);
    else if (r == -EACCES && is_unix)
        err_hint(reterr, "choose a directory with --%s that this user may write to", flag);
    else if (r == -EACCES)
        err_hint(reterr, "ports below 1024 need privileges; choose another with --%s", flag);
    else if (r == -EADDRNOTAVAIL)
        err_hint(reterr, "no interface of this machine has that address");
    return r;
}

static int check_public(const struct config *c, const char *text, struct err *reterr)
{
    if (c->access_keys[0] != '\0' || c->access_open)
        return 0;
    err_set(reterr, -EPERM,
            "%s is reachable from other machines, and everybody could use the upstreams: there are "
            "no keys",
            text);
    err_hint(reterr, "make one (inferometer key add --file keys.json --tenant NAME) and set "
                     "access.keys to the file; or, to serve everybody, set access.open to true");
    return -EPERM;
}

static int check_admin_public(const struct config *c, const char *text, struct err *reterr)
{
    if (entrance_is_configured(c))
        return 0;
    err_set(reterr, -EPERM,
            "%s is reachable from other machines, and everybody could use the admin listener: it "
            "has no token",
            text);
    err_hint(reterr, "make one (openssl rand -hex 32 >admin.token; chmod 600 admin.token) and set "
                     "admin.token_file to the file; or let admin.listen be an address of loopback");
    return -EPERM;
}

int listeners_check(const struct listeners *l, const struct config *c, struct err *reterr)
{
    int r = l->is_public ? check_public(c, "a listen address", reterr) : 0;

    return r == 0 && l->is_admin_public ? check_admin_public(c, l->texts[l->n], reterr) : r;
}

/* Of the address as it is told, and of an inherited socket's own. */
static int check_address(struct listeners *l, const struct config *c, const struct addr *at,
                         const char *text, bool is_admin, struct err *reterr)
{
    if (addr_is_loopback(at))
        return 0;
    if (is_admin) {
        l->is_admin_public = true;
        return check_admin_public(c, text, reterr);
    }
    l->is_public = true;
    return check_public(c, text, reterr);
}

static int open_one(struct listeners *l, const struct config *c, const char *text, bool is_admin,
                    struct inherited *in, struct err *reterr)
{
    size_t i = l->n_all;
    struct inherited_socket *s;
    struct addr at;
    int r = addr_parse(span_cstr(text), &at, reterr);

    if (r == 0)
        r = check_address(l, c, &at, text, is_admin, reterr);
    if (r < 0)
        return r;
    s = inherited_find(in, &at, is_admin);
    r = s ? s->fd : listener_open(&at, is_admin ? ADMIN_BACKLOG : BACKLOG, &at);
    if (r < 0)
        return open_error(r, text, is_admin ? "admin" : "listen", reterr);
    l->fds[i] = r;
    l->is_ours[i] = !s;
    l->is_lent[i] = s && s->is_ours;
    l->n_all++;
    if (s)
        s->fd = -1;
    if (s && listener_adopt(r, &at) < 0) /* was done already; tells the address as bound */
        return open_error(-EINVAL, text, is_admin ? "admin" : "listen", reterr);
    addr_format(&at, l->texts[i]);
    if (!is_admin && !addr_is_loopback(&at) && c->access_keys[0] == '\0' && c->access_open)
        LOG_WARN("listening on %s: reachable from other machines, and access.open serves everybody",
                 l->texts[i]);
    return check_address(l, c, &at, l->texts[i], is_admin, reterr);
}

int listeners_open(struct listeners *l, const struct config *c, struct inherited *in,
                   struct err *reterr)
{
    int r = 0;

    if (c->listen.n > LISTENERS_MAX)
        return err_set(reterr, -EINVAL, "more than %d listen addresses", LISTENERS_MAX);
    for (size_t i = 0; r == 0 && i < c->listen.n; i++)
        r = open_one(l, c, c->listen.items[i], false, in, reterr);
    l->n = l->n_all;
    return r < 0 ? r : open_one(l, c, c->admin_listen, true, in, reterr);
}

void listeners_refuse(struct listeners *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (atomic_exchange(&l->is_ours[i], false))
            listener_refuse(l->fds[i]);
    }
}

void listeners_lend(struct listeners *l)
{
    for (size_t i = 0; i < l->n_all; i++)
        if (atomic_exchange(&l->is_ours[i], false))
            l->is_lent[i] = true;
}

void listeners_own(struct listeners *l, uint32_t which)
{
    for (size_t i = 0; i < l->n_all; i++) {
        if ((which >> i & 1) && atomic_exchange(&l->is_lent[i], false))
            l->is_ours[i] = true;
    }
}

void listeners_close(struct listeners *l)
{
    for (size_t i = 0; i < l->n_all; i++) {
        if (l->is_ours[i])
            listener_close(l->fds[i]);
        else
            close(l->fds[i]);
    }
    l->n_all = 0;
}
