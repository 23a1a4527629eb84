/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/pairs.h"

#include <errno.h>

#include "base/mem.h"

static struct span put(char **to, struct span s)
{
    struct span copy = {*to, s.n};
    if (s.n > 0)
        memcpy(*to, s.p, s.n);
    *to += s.n;
    return copy;
}

int pairs_new(struct labels l, struct pairs **ret)
{
    size_t n_bytes = sizeof(struct pairs) + l.n * sizeof(struct label);
    for (size_t i = 0; i < l.n; i++)
        n_bytes += l.at[i].name.n + l.at[i].value.n;
    struct pairs *p = mem_alloc(n_bytes);
    if (!p)
        return -ENOMEM;
    struct label *at = (struct label *)(void *)(p + 1);
    char *text = (char *)(at + l.n);
    for (size_t i = 0; i < l.n; i++)
        at[i] = (struct label){put(&text, l.at[i].name), put(&text, l.at[i].value)};
    *p = (struct pairs){{at, l.n}, 1};
    *ret = p;
    return 0;
}

struct pairs *pairs_ref(struct pairs *p)
{
    p->n_refs++;
    return p;
}

struct pairs *pairs_unref(struct pairs *p)
{
    if (p && --p->n_refs == 0)
        mem_free(p);
    return NULL;
}
