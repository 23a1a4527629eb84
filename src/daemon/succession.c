/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/succession.h"

#include "base/log.h"

void succession_init(struct succession *s, struct listeners *l, struct control *c)
{
    *s = (struct succession){._listeners = l, ._control = c};
    takeover_init(&s->_former);
}

/* --- before --- */

void succession_ask(struct succession *s, const char *path, struct inherited *in)
{
    int r;

    s->_first = in->n;
    r = path[0] ? takeover_begin(&s->_former, path, in) : 0;
    if (r < 0) /* the addresses may be free all the same */
        LOG_WARN("no listening sockets from the process at \"%s\": %s", path, err_str(r));
}

void succession_note(struct succession *s, const struct inherited *in)
{
    for (size_t i = s->_first; i < in->n; i++)
        s->_taken |= (uint32_t)(in->items[i].fd < 0) << (i - s->_first);
}

static void former_watch(void *arg)
{
    struct succession *s = arg;

    if (takeover_is_open(&s->_former) &&
        takeover_watch(&s->_former, s->_loop, s->_on_former_over, s->_arg) < 0)
        LOG_WARN("the end of the former process will not be seen: out of memory");
}

/* --- after --- */

/* On the loop's thread. */
static void on_taken(void *arg, pid_t pid, uint32_t taken)
{
    struct succession *s = arg;

    (void)taken;
    s->_control->successor = pid;
    control_wake(s->_control);
}

int succession_open(struct succession *s, struct loop *l, const char *path, struct err *reterr)
{
    struct handover_config config = {
        .path = path, .listeners = s->_listeners, .on_taken = on_taken, .arg = s};

    s->_loop = l;
    return path[0] ? handover_open(l, &config, &s->_next, reterr) : 0;
}

void succession_serve(struct succession *s, void (*on_former_over)(void *arg), void *arg)
{
    struct err err;

    if (s->_next && handover_publish(s->_next, &err) < 0)
        LOG_WARN("%s; the next process will not get the listening sockets", err.text);
    if (!takeover_is_open(&s->_former))
        return;
    LOG_INFO("taking over from the former process");
    takeover_ready(&s->_former, s->_taken);
    listeners_own(s->_listeners, UINT32_MAX);
    s->_on_former_over = on_former_over;
    s->_arg = arg;
    if (loop_post(s->_loop, former_watch, s) < 0)
        LOG_WARN("the end of the former process will not be seen: out of memory");
}

void succession_finish(struct succession *s)
{
    handover_finish(s->_next);
}

void succession_done(struct succession *s)
{
    s->_next = handover_free(s->_next);
    takeover_done(&s->_former);
}
