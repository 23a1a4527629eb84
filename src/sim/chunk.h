/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/chunk.h - one event of an answer as parts ready for one write.
 *
 * Lifetime:  the parts are views into forms, the speech and the scratch of both; valid until the
 *            next event of that speech is rendered.
 */
#ifndef SIM_CHUNK_H
#define SIM_CHUNK_H

#include "base/check.h"
#include "base/span.h"

/* At most what one write of http/http.h takes. The scratch holds the numbers. */
enum { CHUNK_PARTS_MAX = 15, CHUNK_SCRATCH_MAX = 320 };

struct chunk {
    int n;
    struct span parts[CHUNK_PARTS_MAX];
    size_t _n_scratch;
    char _scratch[CHUNK_SCRATCH_MAX];
};

static inline void chunk_begin(struct chunk *c)
{
    c->n = 0;
    c->_n_scratch = 0;
}

static inline void chunk_add(struct chunk *c, struct span part)
{
    if (part.n > 0 && ALWAYS(c->n < CHUNK_PARTS_MAX))
        c->parts[c->n++] = part;
}

#endif
