/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/inhibit.h"

#include <errno.h>

#include "alert/fingerprint.h"
#include "alert/map.h"
#include "base/mem.h"

/* A source of one inhibition. */
struct inhibit_link {
    struct alert_map_node node; /* by the equal labels */
    struct inhibit_source *source;
    struct inhibit_link *next; /* of the same source */
    size_t rule;
};

struct inhibit {
    const struct alert_file *file;
    struct alert_map sources[]; /* of each inhibition */
};

int inhibit_new(const struct alert_file *f, struct inhibit **ret)
{
    struct inhibit *ih = mem_zalloc(1, sizeof(*ih) + f->n_inhibitions * sizeof(struct alert_map));
    if (!ih)
        return -ENOMEM;
    ih->file = f;
    for (size_t i = 0; i < f->n_inhibitions; i++)
        alert_map_init(&ih->sources[i]);
    *ret = ih;
    return 0;
}

static int forget(void *ctx, struct alert_map_node *node)
{
    struct inhibit_link *link = ALERT_MAP_ENTRY(node, struct inhibit_link, node);
    (void)ctx;
    link->source->_links = NULL;
    mem_free(link);
    return 0;
}

struct inhibit *inhibit_free(struct inhibit *ih)
{
    if (!ih)
        return NULL;
    for (size_t i = 0; i < ih->file->n_inhibitions; i++) {
        (void)alert_map_each(&ih->sources[i], forget, NULL); /* never ends early */
        alert_map_done(&ih->sources[i]);
    }
    mem_free(ih);
    return NULL;
}

void inhibit_remove(struct inhibit *ih, struct inhibit_source *s)
{
    struct inhibit_link *next, *link = s->_links;
    for (; link; link = next) {
        next = link->next;
        alert_map_remove(&ih->sources[link->rule], &link->node);
        mem_free(link);
    }
    s->_links = NULL;
}

static uint64_t equal_hash(const struct alert_inhibition *r, struct labels l)
{
    return alert_fingerprint_of(l, r->equal, r->n_equal);
}

int inhibit_add(struct inhibit *ih, struct inhibit_source *s)
{
    s->_links = NULL;
    for (size_t i = 0; i < ih->file->n_inhibitions; i++) {
        const struct alert_inhibition *r = &ih->file->inhibitions[i];
        if (!matcher_matches_all(r->source, r->n_source, s->labels))
            continue;
        struct inhibit_link *link = mem_zalloc(1, sizeof(*link));
        if (!link) {
            inhibit_remove(ih, s);
            return -ENOMEM;
        }
        link->source = s;
        link->rule = i;
        link->next = s->_links;
        s->_links = link;
        alert_map_add(&ih->sources[i], &link->node, equal_hash(r, s->labels));
    }
    return 0;
}

static bool is_equal(const struct alert_inhibition *r, struct labels a, struct labels b)
{
    for (size_t i = 0; i < r->n_equal; i++) {
        if (!span_eq(labels_get(a, r->equal[i]), labels_get(b, r->equal[i])))
            return false;
    }
    return true;
}

static const struct inhibit_source *find_in(const struct inhibit *ih, size_t rule, struct labels l,
                                            int64_t now_ms)
{
    const struct alert_inhibition *r = &ih->file->inhibitions[rule];
    if (ih->sources[rule].n == 0 || !matcher_matches_all(r->target, r->n_target, l))
        return NULL;
    bool is_source = matcher_matches_all(r->source, r->n_source, l);
    struct alert_map_node *node = alert_map_first(&ih->sources[rule], equal_hash(r, l));
    for (; node; node = alert_map_next(node)) {
        const struct inhibit_source *s = ALERT_MAP_ENTRY(node, struct inhibit_link, node)->source;
        if (s->until_ms > now_ms && is_equal(r, s->labels, l) &&
            !(is_source && matcher_matches_all(r->target, r->n_target, s->labels)))
            return s;
    }
    return NULL;
}

const struct inhibit_source *inhibit_find(const struct inhibit *ih, struct labels l, int64_t now_ms)
{
    for (size_t i = 0; i < ih->file->n_inhibitions; i++) {
        const struct inhibit_source *s = find_in(ih, i, l, now_ms);
        if (s)
            return s;
    }
    return NULL;
}
