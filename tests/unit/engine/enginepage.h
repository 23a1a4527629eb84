/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enginepage.h - a page in the hands of a test: read, recognised, its values.
 */
#ifndef ENGINEPAGE_H
#define ENGINEPAGE_H

#include "engine/signals.h"
#include "harness.h"

struct enginepage {
    struct families families;
    struct arena arena;
    struct engine_page page;
    struct signal_value *values;
    size_t n_values;
};

static inline void enginepage_read(struct enginepage *p, struct span text)
{
    enum text_format format =
        span_find(text, SPAN("# EOF")) < text.n ? TEXT_OPENMETRICS : TEXT_PROMETHEUS;

    assert_int_equal(families_read(text, format, "page", &p->families), 0);
    assert_int_equal(p->families.n_mistakes, 0);
    arena_init(&p->arena, NULL);
    assert_int_equal(engine_recognise(&p->families, &p->arena, &p->page), 0);
    assert_int_equal(engine_values(&p->families, &p->page, &p->arena, &p->values, &p->n_values), 0);
}

static inline void enginepage_done(struct enginepage *p)
{
    arena_done(&p->arena);
    families_done(&p->families);
}

/* "0.10.2"; "": not bounded. */
static inline const char *enginepage_version(const struct engine_found *e, engine_version v,
                                             char dst[ENGINE_VERSION_TEXT_MAX])
{
    dst[0] = '\0';
    if (v != 0 && v != ENGINE_NEWEST)
        e->map->print_version(v, dst);
    return dst;
}

/* Of a signal that is missing; NULL: it is not. */
static inline const struct signal_missing *enginepage_missing(const struct enginepage *p,
                                                              enum signal s)
{
    for (size_t i = 0; i < p->page.n_missing; i++)
        if (p->page.missing[i].signal == s)
            return &p->page.missing[i];
    return NULL;
}

#endif
