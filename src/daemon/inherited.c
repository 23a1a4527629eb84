/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/inherited.h"

#include <string.h>
#include <unistd.h>

void inherited_add(struct inherited *in, const struct inherited_socket *s)
{
    in->items[in->n++] = *s;
}

/* Any port will do where the configuration names none. */
static bool is_meant(const struct addr *want, const struct addr *got)
{
    char wanted[ADDR_TEXT_MAX], there[ADDR_TEXT_MAX];
    struct span host;

    addr_format(want, wanted);
    addr_format(got, there);
    if (addr_is_unix(want) || addr_port(want) != 0)
        return strcmp(wanted, there) == 0;
    host = span_of(wanted, strlen(wanted) - 1); /* without the 0 */
    return span_starts_with(span_cstr(there), host) &&
           span_find_char(span_from(span_cstr(there), host.n), ':') + host.n == strlen(there);
}

struct inherited_socket *inherited_find(struct inherited *in, const struct addr *at, bool is_admin)
{
    for (size_t i = 0; i < in->n; i++) {
        struct inherited_socket *s = &in->items[i];

        if (s->fd >= 0 && s->is_admin == is_admin && is_meant(at, &s->at))
            return s;
    }
    return NULL;
}

void inherited_done(struct inherited *in)
{
    for (size_t i = 0; i < in->n; i++)
        if (in->items[i].fd >= 0)
            close(in->items[i].fd);
    in->n = 0;
}
