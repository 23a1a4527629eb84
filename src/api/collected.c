/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "api/prom.h"
#include "api/routes.h"

void collected_get(struct prom_call *c)
{
    jsonw_begin_object(&c->w);
    if (c->sources->collected)
        c->sources->collected(c->sources->arg, &c->w);
    jsonw_end_object(&c->w);
    int r = jsonw_error(&c->w);
    if (r == 0)
        r = buf_append(c->body, SPAN("\n"));
    if (r == -EMSGSIZE)
        prom_fail(c, PROM_EXECUTION, "the answer is too large");
    else if (r < 0)
        prom_fail_memory(c);
}
