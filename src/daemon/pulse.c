/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pulse.h"

void pulse_init(struct pulse *p, struct loop *l)
{
    p->_loop = l;
    atomic_init(&p->_is_answered, true);
}

static void answer(void *arg)
{
    struct pulse *p = arg;

    atomic_store_explicit(&p->_is_answered, true, memory_order_relaxed);
}

bool pulse_beats(struct pulse *p)
{
    if (!atomic_exchange_explicit(&p->_is_answered, false, memory_order_relaxed))
        return false;
    if (loop_post(p->_loop, answer, p) < 0) /* out of memory: no sign of death */
        atomic_store_explicit(&p->_is_answered, true, memory_order_relaxed);
    return true;
}
