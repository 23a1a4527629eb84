/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission_port.c - how a grant reaches the worker whose exchange waits for it: a list
 * under the admission's lock, and an eventfd in the worker's loop.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "gateway/admission_object.h"

enum { TAKEN_PER_TURN = 64 }; /* grants that one wake-up hands out */

void admission_port_ring(struct admission_port *p)
{
    uint64_t one = 1;
    ssize_t n;

    if (p->_is_rung)
        return;
    p->_is_rung = true;
    n = write(p->_bell.fd, &one, sizeof(one));
    (void)n; /* cannot be full: it is rung once before it is read */
}

struct admission_ticket *admission_port_take(struct admission_port *p)
{
    struct admission_ticket *t = NULL;

    pthread_mutex_lock(&p->_a->lock);
    p->_is_rung = false; /* who calls takes all */
    if (!list_is_empty(&p->_granted)) {
        t = CONTAINER_OF(p->_granted.next, struct admission_ticket, _link);
        list_remove(&t->_link);
        t->_state = ADMISSION_IN;
    }
    pthread_mutex_unlock(&p->_a->lock);
    return t;
}

static void port_on_bell(struct watch *w, uint32_t events)
{
    struct admission_port *p = CONTAINER_OF(w, struct admission_port, _bell);
    struct admission_ticket *t;
    uint64_t n;
    ssize_t got = read(w->fd, &n, sizeof(n));

    (void)got;
    (void)events;
    for (int i = 0; i < TAKEN_PER_TURN; i++) {
        t = admission_port_take(p);
        if (!t)
            return;
        p->_on_granted(t);
    }
    pthread_mutex_lock(&p->_a->lock);
    admission_port_ring(p); /* the others when the sockets had their turn */
    pthread_mutex_unlock(&p->_a->lock);
}

int admission_port_open(struct admission_port *p, struct admission *a, struct loop *loop,
                        void (*on_granted)(struct admission_ticket *t))
{
    int r;

    *p = (struct admission_port){._a = a, ._loop = loop, ._on_granted = on_granted};
    list_init(&p->_granted);
    p->_bell = (struct watch){.on_ready = port_on_bell};
    p->_bell.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    r = p->_bell.fd < 0 ? -errno : loop_watch(loop, &p->_bell, EPOLLIN);
    if (r == 0)
        return 0;
    if (p->_bell.fd >= 0)
        close(p->_bell.fd);
    p->_a = NULL;
    return r;
}

void admission_port_close(struct admission_port *p)
{
    if (!p->_a)
        return;
    /* A ring by another thread, for a ticket that was cancelled here, is over behind this. */
    pthread_mutex_lock(&p->_a->lock);
    ASSERT(list_is_empty(&p->_granted));
    pthread_mutex_unlock(&p->_a->lock);
    loop_unwatch(p->_loop, &p->_bell);
    close(p->_bell.fd);
    p->_a = NULL;
}
