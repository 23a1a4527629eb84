/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertmanagers.c - which Alertmanagers there are. One that is configured no more
 * and has a request under way stays until that ended.
 */
#include <errno.h>

#include "alert/alertmanager_private.h"
#include "alert/http_config.h"
#include "base/mem.h"

/* --- one of them --- */

void alertmanagers_forget(struct alertmanager *a, struct waiting *w)
{
    alert_map_remove(&a->by_alert, &w->by_alert);
    list_remove(&w->node);
    mem_free(w->json);
    mem_free(w);
}

struct alertmanager *alertmanagers_free_one(struct alertmanager *a)
{
    if (!a)
        return NULL;
    while (!list_is_empty(&a->line))
        alertmanagers_forget(a, CONTAINER_OF(a->line.next, struct waiting, node));
    alert_map_done(&a->by_alert);
    arena_done(&a->arena);
    mem_free(a->url);
    mem_free(a->shown);
    mem_free(a);
    return NULL;
}

static char *full_url(struct span base)
{
    struct buf b;
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    buf_init(&b, 8192);
    char *ret = NULL;
    if (buf_printf(&b, "%.*s/api/v2/alerts", SPAN_ARG(base)) == 0)
        ret = mem_strndup(buf_span(&b).p, buf_len(&b));
    buf_done(&b);
    return ret;
}

static int new_one(struct span url, struct alertmanager **ret)
{
    struct arena arena;
    struct alertmanager *a = mem_zalloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    list_init(&a->line);
    alert_map_init(&a->by_alert);
    arena_init(&a->arena, NULL);
    arena_init(&arena, NULL);
    char *full = full_url(url);
    struct span shown = http_config_shown(url, &arena);
    a->url = full;
    a->shown = mem_strndup(shown.p, shown.n);
    arena_done(&arena);
    if (!full || !a->shown) {
        alertmanagers_free_one(a);
        return -ENOMEM;
    }
    *ret = a;
    return 0;
}

/* --- configuration --- */

static struct alertmanager *find(const struct alertmanagers *m, struct span url)
{
    char *full = full_url(url);
    struct alertmanager *ret = NULL;
    for (size_t i = 0; i < m->n && full && !ret; i++)
        if (strcmp(m->at[i]->url, full) == 0)
            ret = m->at[i];
    mem_free(full);
    return ret;
}

static bool is_among(struct alertmanager *const *at, size_t n, const struct alertmanager *one)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] == one)
            return true;
    return false;
}

static void let_go(struct alertmanagers *m, struct alertmanager *a)
{
    if (a->is_sending && m->n_gone < ALERTMANAGERS_MAX) {
        a->is_gone = true;
        m->gone[m->n_gone++] = a;
    } else if (!a->is_sending) {
        alertmanagers_free_one(a);
    }
}

static int make_all(const struct alertmanagers *m, const struct span *urls, size_t n,
                    struct alertmanager **at, size_t *ret_n)
{
    for (size_t i = 0; i < n; i++) {
        struct alertmanager *one = find(m, urls[i]);
        int r = one ? 0 : new_one(urls[i], &one);
        if (r < 0)
            return r;
        if (!is_among(at, *ret_n, one))
            at[(*ret_n)++] = one;
    }
    return 0;
}

int alertmanagers_configure(struct alertmanagers *m, const struct span *urls, size_t n,
                            struct labels external)
{
    struct alertmanager *at[ALERTMANAGERS_MAX];
    struct arena arena;
    struct labels copy;
    size_t n_at = 0;
    /* One that is let go while it sends needs a place until its answer came. */
    if (n > ALERTMANAGERS_MAX || m->n_gone + m->n > ALERTMANAGERS_MAX)
        return n > ALERTMANAGERS_MAX ? -EINVAL : -EBUSY;
    for (size_t i = 0; i < n; i++)
        if (!options_is_http_url(urls[i]))
            return -EINVAL;
    arena_init(&arena, NULL);
    int r = labels_copy(&arena, external, &copy);
    r = r < 0 ? r : make_all(m, urls, n, at, &n_at);
    if (r < 0) {
        for (size_t i = 0; i < n_at; i++)
            if (!is_among(m->at, m->n, at[i]))
                alertmanagers_free_one(at[i]);
        arena_done(&arena);
        return r;
    }
    for (size_t i = 0; i < m->n; i++)
        if (!is_among(at, n_at, m->at[i]))
            let_go(m, m->at[i]);
    memcpy(m->at, at, n_at * sizeof(struct alertmanager *));
    m->n = n_at;
    arena_done(&m->arena);
    m->arena = arena;
    m->external = copy;
    return 0;
}

int alertmanagers_new(struct transport *t, transport_done done, void *ctx, uint64_t seed,
                      struct alertmanagers **ret)
{
    struct alertmanagers *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->transport = t;
    m->done = done;
    m->ctx = ctx;
    rng_seed(&m->rng, seed);
    arena_init(&m->arena, NULL);
    *ret = m;
    return 0;
}

struct alertmanagers *alertmanagers_free(struct alertmanagers *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->n; i++)
        alertmanagers_free_one(m->at[i]);
    for (size_t i = 0; i < m->n_gone; i++)
        alertmanagers_free_one(m->gone[i]);
    arena_done(&m->arena);
    mem_free(m);
    return NULL;
}
