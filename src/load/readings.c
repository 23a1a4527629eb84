/* SPDX-License-Identifier: Apache-2.0 */
#include "load/readings.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_CAP = 1024 };

void readings_init(struct readings *s)
{
    *s = (struct readings){0};
}

void readings_done(struct readings *s)
{
    mem_free(s->_v);
    readings_init(s);
}

void readings_add(struct readings *s, int64_t v)
{
    if (s->_n == s->_cap) {
        size_t cap = s->_cap > 0 ? s->_cap * 2 : FIRST_CAP;
        int64_t *grown = mem_realloc(s->_v, cap * sizeof(*grown));

        if (!grown) {
            s->n_lost++;
            return;
        }
        s->_v = grown;
        s->_cap = cap;
    }
    s->_v[s->_n++] = v;
    s->_is_sorted = false;
}

size_t readings_count(const struct readings *s)
{
    return s->_n;
}

void readings_clear(struct readings *s)
{
    s->_n = 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t readings_quantile(struct readings *s, double q)
{
    size_t rank;

    if (s->_n == 0)
        return -1;
    if (!s->_is_sorted) {
        qsort(s->_v, s->_n, sizeof(*s->_v), compare);
        s->_is_sorted = true;
    }
    /* A hair less, so that 0.95 * 20 is rank 19 whatever the product rounds to. */
    rank = (size_t)fmax(1, ceil(q * (double)s->_n - 1e-9));
    return s->_v[rank <= s->_n ? rank - 1 : s->_n - 1];
}

double readings_mean(const struct readings *s)
{
    double sum = 0;

    for (size_t i = 0; i < s->_n; i++)
        sum += (double)s->_v[i];
    return s->_n > 0 ? sum / (double)s->_n : 0;
}
