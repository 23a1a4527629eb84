/* SPDX-License-Identifier: Apache-2.0 */
#include "slo/slo_set.h"

#include <errno.h>

#include "base/mem.h"

/* The copy of text, or NULL without memory. */
static const char *text_copy(struct arena *a, const char *text)
{
    return arena_dup(a, span_cstr(text)).p;
}

static int match_copy(struct arena *a, struct slo_match *m)
{
    const char **values = arena_zalloc(a, m->n_values, sizeof(*values));

    m->name = text_copy(a, m->name);
    if (!values || !m->name)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_values; i++) {
        values[i] = text_copy(a, m->values[i]);
        if (!values[i])
            return -ENOMEM;
    }
    m->values = values;
    return 0;
}

static int slo_copy(struct arena *a, struct slo *s)
{
    int r = 0;

    s->name = text_copy(a, s->name);
    for (size_t i = 0; i < s->n_matches && r == 0; i++)
        r = match_copy(a, &s->matches[i]);
    return s->name ? r : -ENOMEM;
}

int slo_set_new(const struct slo *slos, size_t n, struct slo_set **ret)
{
    struct slo_set *s = mem_zalloc(1, sizeof(*s) + n * sizeof(s->items[0]));
    int r = 0;

    if (!s)
        return -ENOMEM;
    atomic_init(&s->_refs, 1);
    arena_init(&s->_arena, NULL);
    s->n = n;
    for (size_t i = 0; i < n && r == 0; i++) {
        s->items[i] = slos[i];
        r = slo_copy(&s->_arena, &s->items[i]);
    }
    if (r < 0)
        slo_set_unref(s);
    else
        *ret = s;
    return r;
}

struct slo_set *slo_set_ref(struct slo_set *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->_refs, 1, memory_order_relaxed);
    return s;
}

struct slo_set *slo_set_unref(struct slo_set *s)
{
    if (s && atomic_fetch_sub_explicit(&s->_refs, 1, memory_order_acq_rel) == 1) {
        arena_done(&s->_arena);
        mem_free(s);
    }
    return NULL;
}
