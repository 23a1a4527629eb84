/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "api/prom.h"
#include "api/routes.h"

/* An object whose members a source writes. */
static void answer(struct prom_call *c, void (*write)(void *arg, struct jsonw *w))
{
    jsonw_begin_object(&c->w);
    if (write)
        write(c->sources->arg, &c->w);
    jsonw_end_object(&c->w);
    int r = jsonw_error(&c->w);
    if (r == 0)
        r = buf_append(c->body, SPAN("\n"));
    if (r == -EMSGSIZE)
        prom_fail(c, PROM_EXECUTION, "the answer is too large");
    else if (r < 0)
        prom_fail_memory(c);
}

void collected_get(struct prom_call *c)
{
    answer(c, c->sources->collected);
}

void collected_prices(struct prom_call *c)
{
    answer(c, c->sources->prices);
}
