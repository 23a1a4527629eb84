/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/control.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int control_init(struct control *c)
{
    atomic_init(&c->successor, 0);
    atomic_init(&c->_n_asked, 0);
    c->_n_taken = 0;
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return c->fd < 0 ? -errno : 0;
}

void control_done(struct control *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

void control_wake(struct control *c)
{
    uint64_t one = 1;
    ssize_t n = write(c->fd, &one, sizeof(one));
    (void)n; /* fails only when it is readable already */
}

uint64_t control_ask_reload(struct control *c)
{
    uint64_t number = atomic_fetch_add_explicit(&c->_n_asked, 1, memory_order_relaxed) + 1;

    control_wake(c);
    return number;
}

bool control_take_reload(struct control *c, uint64_t *ret_upto)
{
    uint64_t count;
    ssize_t n = read(c->fd, &count, sizeof(count));
    uint64_t n_asked = atomic_load_explicit(&c->_n_asked, memory_order_relaxed);

    (void)n; /* nobody rang */
    if (n_asked == c->_n_taken)
        return false;
    c->_n_taken = n_asked;
    *ret_upto = n_asked;
    return true;
}
