/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/prices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool is_prefix(const char *model)
{
    size_t n = strlen(model);
    return n > 0 && model[n - 1] == '*';
}

/* Whole names, then prefixes, the longest first; so the first that fits is the one that counts. */
static int by_rank(const void *a, const void *b)
{
    const struct config_price *x = *(const struct config_price *const *)a;
    const struct config_price *y = *(const struct config_price *const *)b;
    size_t nx = strlen(x->model), ny = strlen(y->model);

    if (is_prefix(x->model) != is_prefix(y->model))
        return is_prefix(x->model) ? 1 : -1;
    return nx != ny ? (nx < ny ? 1 : -1) : strcmp(x->model, y->model);
}

static void price_write(const struct config_price *p, struct jsonw *w)
{
    const struct {
        const char *key;
        double v;
    } amounts[] = {
        {"prompt", p->prompt},
        {"cached", p->cached < 0 ? p->prompt : p->cached},
        {"completion", p->completion},
    };

    jsonw_begin_object(w);
    jsonw_put_cstr(w, "model", p->model);
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
        jsonw_put_double(w, amounts[i].key, amounts[i].v);
    jsonw_end_object(w);
}

void prices_write(const struct config *c, struct jsonw *w)
{
    const struct config_price **rows = mem_zalloc(c->prices.n + 1, sizeof(*rows));

    if (!rows) {
        jsonw_fail(w, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < c->prices.n; i++)
        rows[i] = &c->prices.items[i];
    qsort(rows, c->prices.n, sizeof(*rows), by_rank);
    jsonw_put_cstr(w, "currency", c->currency);
    jsonw_put_i64(w, "tokens", PRICES_TOKENS);
    jsonw_key(w, "models");
    jsonw_begin_array(w);
    for (size_t i = 0; i < c->prices.n; i++)
        price_write(rows[i], w);
    jsonw_end_array(w);
    mem_free(rows);
}
